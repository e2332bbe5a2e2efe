<?php
// phpredis: client.php PORT PROTOCOL. ../README.md lists the calls and the reasons.
// It has no methods for BF.*: rawCommand takes any command. Strings are bytes, so dumps are safe,
// as long as no serializer or compression is set (OPT_SERIALIZER, OPT_COMPRESSION).

const BINARY = "\x00\xff\r\n\x80";
// One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one).
const ONE = '01020000007b14ae47e17a843f000000000000e03f0101000000000000002f000000000000000102000000000000000b00000'
    . '04564a07b0cc930b9e2e1fe54c4b2e464096547f4af40208ae0f36175b9fa97c6abd601000000000000000100000000000000';
const FULL = 'ERR non scaling filter is full';
$r = new Redis();
$r->connect('127.0.0.1', (int)$argv[1]);
$r->setOption(Redis::OPT_REPLY_LITERAL, true); // else OK and the names in maps arrive as true
$checks = $wrong = 0;

function check(string $what, mixed $got, mixed $wanted): void
{
    global $checks, $wrong;
    $checks++;
    if ($got !== $wanted) {
        $wrong++;
        printf("wrong: %s, got %.300s, wanted %.300s\n", $what, json($got), json($wanted));
    }
}

function json(mixed $value): string
{
    return json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE);
}

/** The answer; an error is its text (phpredis gives false and keeps the text). */
function call(mixed ...$words): mixed
{
    global $r;
    $r->clearLastError();
    $answer = $r->rawCommand(...$words);
    return $answer === false && $r->getLastError() !== null ? $r->getLastError() : $answer;
}

/** A map, which is names and values in a row, by name. */
function table(array $flat): array
{
    return array_column(array_chunk($flat, 2), 1, 0);
}

/** BF.INFO by name, without the size. */
function four(string $key): array
{
    $info = table(call('BF.INFO', $key));
    return [$info['Capacity'], $info['Number of filters'], $info['Number of items inserted'], $info['Expansion rate']];
}

function dump(string $key): array
{
    $found = [];
    for ($iterator = 0; ;) {
        [$iterator, $data] = call('BF.SCANDUMP', $key, $iterator);
        if ($iterator === 0) {
            return $found;
        }
        $found[] = [$iterator, $data];
    }
}

check('protocol', str_contains(json($r->rawCommand('CLIENT', 'INFO')), "resp=$argv[2]"), true);

check('reserve', call('BF.RESERVE', 'plain', 0.01, 1000), 'OK');
check('reserve expansion', call('BF.RESERVE', 'grown', 0.001, 100, 'EXPANSION', 4), 'OK');
check('reserve nonscaling', call('BF.RESERVE', 'fixed', 1e-7, 2, 'NONSCALING'), 'OK');
check('reserve again', call('BF.RESERVE', 'plain', 0.01, 1000), 'ERR item exists');

check('add', call('BF.ADD', 'plain', 'a'), 1);
check('add again', call('BF.ADD', 'plain', 'a'), 0);
check('add binary', call('BF.ADD', 'plain', BINARY), 1);
check('madd', call('BF.MADD', 'plain', 'a', 'b', 'c'), [0, 1, 1]);
check('insert', call('BF.INSERT', 'inserted', 'CAPACITY', 500, 'ERROR', 0.001, 'EXPANSION', 3, 'ITEMS', 'x', 'y', 'x'), [1, 1, 0]);
check('insert nocreate', call('BF.INSERT', 'inserted', 'NOCREATE', 'ITEMS', 'z'), [1]);
check('insert nonscaling', call('BF.INSERT', 'small', 'CAPACITY', 2, 'NONSCALING', 'ITEMS', 'x'), [1]);
check('insert nocreate missing', call('BF.INSERT', 'missing', 'NOCREATE', 'ITEMS', 'z'), 'ERR not found');

check('exists', call('BF.EXISTS', 'plain', 'a'), 1);
check('exists absent', call('BF.EXISTS', 'plain', 'absent'), 0);
check('exists binary', call('BF.EXISTS', 'plain', BINARY), 1);
check('exists binary cut', call('BF.EXISTS', 'plain', substr(BINARY, 0, -1)), 0);
check('exists missing', call('BF.EXISTS', 'missing', 'a'), 0);
check('mexists', call('BF.MEXISTS', 'plain', 'a', 'absent', 'c'), [1, 0, 1]);
check('card', call('BF.CARD', 'plain'), 4);
check('card missing', call('BF.CARD', 'missing'), 0);

check('info', four('plain'), [1000, 1, 4, 2]);
check('info has five fields', count(call('BF.INFO', 'plain')), 10);
check('info inserted', four('inserted'), [500, 1, 3, 3]);
check('info nonscaling', four('fixed'), [2, 1, 0, false]); // false is phpredis's null
check('info items', call('BF.INFO', 'plain', 'ITEMS'), [4]);
check('info missing', call('BF.INFO', 'missing'), 'ERR not found');

check('madd full', call('BF.MADD', 'fixed', 'p', 'q', 'r', 's'), [1, 1, false]);
check('madd full: the error', $r->getLastError(), FULL);
check('add full', call('BF.ADD', 'fixed', 'r'), FULL);
check('add full, known', call('BF.ADD', 'fixed', 'p'), 0);
$r->set('text', 'x');
check('add wrong type', substr(call('BF.ADD', 'text', 'a'), 0, 9), 'WRONGTYPE');
check('exists wrong type', substr(call('BF.EXISTS', 'text', 'a'), 0, 9), 'WRONGTYPE');

$answers = call('BF.MADD', 'grown', ...array_map(fn($i) => "item-$i", range(0, 999)));
check('grow', array_sum($answers) > 990, true);
check('info grown', array_slice(four('grown'), 0, 2), [2100, 3]);
$dump = dump('grown');
check('scandump', count($dump), 4);
foreach ($dump as [$iterator, $data]) {
    check('loadchunk', call('BF.LOADCHUNK', 'loaded', $iterator, $data), 'OK');
}
check('dump of the copy', dump('loaded'), $dump);
check('mexists in the copy', call('BF.MEXISTS', 'loaded', 'item-0', 'item-999', 'absent'), [1, 1, 0]);

$debug = call('BF.DEBUG', 'plain');
check('debug', [count($debug), $debug[0], substr($debug[1], 0, 6)], [2, 'size:4', 'bytes:']);
$data = call('BF.EXPORT', 'plain');
check('import', call('BF.IMPORT', 'imported', 'FORMAT', 'portable', 'DATA', $data), 'OK');
check('export of the copy', call('BF.EXPORT', 'imported'), $data);
check('exists in the copy', call('BF.EXISTS', 'imported', BINARY), 1);
check('import cut', substr(call('BF.IMPORT', 'bad', 'FORMAT', 'portable', 'DATA', substr($data, 1)), 0, 12), 'ERR bad data');

$stats = table(call('BF.STATS', 'plain'));
check('stats has 17 fields', count($stats), 17);
check('stats', [$stats['layout'], $stats['items'], $stats['capacity']], ['CLASSIC', 4, 1000]);
check('stats, a real', [is_string($stats['utilisation']), (float)$stats['utilisation']], [true, 0.004]);
check('stats, a flag', $stats['items are estimated'], 0);
$layers = array_map(table(...), $stats['layers']);
check('stats layers', array_map(fn($layer) => [$layer['bits'], $layer['hashes']], $layers), [[10595, 7]]);
check('stats missing', call('BF.STATS', 'missing'), 'ERR not found');

call('BF.RESERVE', 'other', 0.01, 1000);
call('BF.MADD', 'other', 'a', 'only');
check('merge', call('BF.MERGE', 'merged', 'plain', 'other'), 'OK');
check('mexists merged', call('BF.MEXISTS', 'merged', 'b', 'only', 'absent'), [1, 1, 0]);
check('interstore', call('BF.INTERSTORE', 'common', 'plain', 'other'), 'OK');
check('mexists common', call('BF.MEXISTS', 'common', 'a', 'b', 'only'), [1, 0, 0]);
check('clear', call('BF.CLEAR', 'merged'), 'OK');
check('exists cleared', call('BF.EXISTS', 'merged', 'a'), 0);

check('reserve counting', call('BF.RESERVE', 'counting', 0.01, 100, 'LAYOUT', 'COUNTING'), 'OK');
check('madd counting', call('BF.MADD', 'counting', 'a', 'b', 'a'), [1, 1, 0]);
check('count', call('BF.COUNT', 'counting', 'a'), 2);
check('del', call('BF.DEL', 'counting', 'a', 'absent'), [1, 0]);
check('count after del', call('BF.COUNT', 'counting', 'a'), 1);
check('del missing', call('BF.DEL', 'missing', 'a'), [0]);
check('reserve window', call('BF.RESERVE', 'seen', 0.01, 100, 'WINDOW', 3600), 'OK');
check('rotate', call('BF.ROTATE', 'seen'), 'OK');
check('rotate missing', call('BF.ROTATE', 'missing'), 'ERR not found');

$one = hex2bin(ONE);
check('load', call('BF.LOAD', 'moved', $one), 'OK');
check('card of the loaded', call('BF.CARD', 'moved'), 1);
check('load cut', call('BF.LOAD', 'bad', substr($one, 0, -1)), 'ERR bloom object decoding failed');

check('bulkadd', call('BF.BULKADD', 'bulky', 'LINES', "a\nb\na"), "\xc0");
check('bulkexists', call('BF.BULKEXISTS', 'bulky', 'WIDTH', 1, 'axb'), "\xa0");
check('bulkadd cut', call('BF.BULKADD', 'bulky', 'WIDTH', 2, 'abc'), 'ERR the data is no whole number of items of 2 bytes');

echo 'version ', phpversion('redis'), "\nchecks $checks\n";
exit($wrong > 0 ? 1 : 0);
