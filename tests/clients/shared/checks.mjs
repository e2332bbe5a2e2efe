// What the JavaScript clients share: comparing and counting, and the calls to libraries without
// methods for BF.*. ../README.md lists the calls and the reasons.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, inspect } from 'node:util';

export const [port, protocol] = process.argv.slice(2).map(Number);
export const BINARY = Buffer.from([0x00, 0xff, 0x0d, 0x0a, 0x80]);
// One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one).
const ONE = Buffer.from('01020000007b14ae47e17a843f000000000000e03f0101000000000000002f000000000000000102000000000000000b00000'
  + '04564a07b0cc930b9e2e1fe54c4b2e464096547f4af40208ae0f36175b9fa97c6abd601000000000000000100000000000000', 'hex');
export const MANY = Array.from({ length: 1000 }, (_, i) => `item-${i}`);

let checks = 0;
let wrong = 0;

/** Equal, and of the same type: 1 is not true. */
export function check(what, got, wanted) {
  checks += 1;
  if (isDeepStrictEqual(got, wanted)) return;
  wrong += 1;
  const show = (value) => inspect(value, { breakLength: Infinity }).slice(0, 300).replaceAll('\n', ' ');
  console.log(`wrong: ${what}, got ${show(got)}, wanted ${show(wanted)}`);
}

/** The promise fails with an error that contains these words. */
export async function refused(what, words, promise) {
  try {
    check(what, await promise, words);
  } catch (error) {
    check(what, error.message.includes(words) ? words : error.message, words);
  }
}

export function finish(name) {
  console.log(`version ${JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version}`);
  console.log(`checks ${checks}`);
  process.exit(wrong ? 1 : 0);
}

/** BF.INFO without the size, which depends on the layout of structures in memory. */
export const four = (info) =>
  [info.Capacity, info['Number of filters'], info['Number of items inserted'], info['Expansion rate']];

/** Names and values in a row, RESP2's form of a map, as an object. */
export const pairs = (flat) => Object.fromEntries(
  Array.from({ length: flat.length / 2 }, (_, i) => flat.slice(2 * i, 2 * i + 2)));

/** All [iterator, data] of a dump; scandump(key, iterator) gives one. */
export async function dumpOf(scandump, key) {
  const found = [];
  for (let iterator = 0; ;) {
    const [next, data] = await scandump(key, iterator);
    if (next === 0) return found;
    found.push([next, data]);
    iterator = next;
  }
}

/**
 * Every command through a library that takes any: call(...words) gives text, bytes(...words)
 * buffers; yes and no are what it makes of 1/0; map turns its form of a map into an object; real is
 * the type it has for a real number; full(what, promise) checks a BF.MADD of four into a filter that
 * has room for two.
 */
export async function everyCommand({ call, bytes, yes, no, map, real, full }) {
  check('protocol', /resp=(\d)/.exec(await call('CLIENT', 'INFO'))[1], String(protocol));

  check('reserve', await call('BF.RESERVE', 'plain', '0.01', '1000'), 'OK');
  check('reserve expansion', await call('BF.RESERVE', 'grown', '0.001', '100', 'EXPANSION', '4'), 'OK');
  check('reserve nonscaling', await call('BF.RESERVE', 'fixed', '1e-7', '2', 'NONSCALING'), 'OK');
  await refused('reserve again', 'item exists', call('BF.RESERVE', 'plain', '0.01', '1000'));

  check('add', await call('BF.ADD', 'plain', 'a'), yes);
  check('add again', await call('BF.ADD', 'plain', 'a'), no);
  check('add binary', await call('BF.ADD', 'plain', BINARY), yes);
  check('madd', await call('BF.MADD', 'plain', 'a', 'b', 'c'), [no, yes, yes]);
  check('insert', await call('BF.INSERT', 'inserted', 'CAPACITY', '500', 'ERROR', '0.001',
    'EXPANSION', '3', 'ITEMS', 'x', 'y', 'x'), [yes, yes, no]);
  check('insert nocreate', await call('BF.INSERT', 'inserted', 'NOCREATE', 'ITEMS', 'z'), [yes]);
  check('insert nonscaling',
    await call('BF.INSERT', 'small', 'CAPACITY', '2', 'NONSCALING', 'ITEMS', 'x'), [yes]);
  await refused('insert nocreate missing', 'not found',
    call('BF.INSERT', 'missing', 'NOCREATE', 'ITEMS', 'z'));

  check('exists', await call('BF.EXISTS', 'plain', 'a'), yes);
  check('exists absent', await call('BF.EXISTS', 'plain', 'absent'), no);
  check('exists binary', await call('BF.EXISTS', 'plain', BINARY), yes);
  check('exists binary cut', await call('BF.EXISTS', 'plain', BINARY.subarray(0, -1)), no);
  check('exists missing', await call('BF.EXISTS', 'missing', 'a'), no);
  check('mexists', await call('BF.MEXISTS', 'plain', 'a', 'absent', 'c'), [yes, no, yes]);
  check('card', await call('BF.CARD', 'plain'), 4);
  check('card missing', await call('BF.CARD', 'missing'), 0);

  const info = map(await call('BF.INFO', 'plain'));
  check('info', four(info), [1000, 1, 4, 2]);
  check('info size', info.Size > 1000, true);
  check('info has five fields', Object.keys(info).length, 5);
  check('info inserted', four(map(await call('BF.INFO', 'inserted'))), [500, 1, 3, 3]);
  check('info nonscaling', four(map(await call('BF.INFO', 'fixed'))), [2, 1, 0, null]);
  await refused('info missing', 'not found', call('BF.INFO', 'missing'));

  await full('madd full', call('BF.MADD', 'fixed', 'p', 'q', 'r', 's'));
  await refused('add full', 'non scaling filter is full', call('BF.ADD', 'fixed', 'r'));
  check('add full, known', await call('BF.ADD', 'fixed', 'p'), no);
  await call('SET', 'text', 'x');
  await refused('add wrong type', 'WRONGTYPE', call('BF.ADD', 'text', 'a'));
  await refused('exists wrong type', 'WRONGTYPE', call('BF.EXISTS', 'text', 'a'));

  const answers = await call('BF.MADD', 'grown', ...MANY);
  check('grow', answers.filter((answer) => answer === yes).length > 990, true);
  check('info grown', four(map(await call('BF.INFO', 'grown'))).slice(0, 2), [2100, 3]);
  const scandump = (key, iterator) => bytes('BF.SCANDUMP', key, String(iterator));
  const dump = await dumpOf(scandump, 'grown');
  check('scandump', dump.length, 4);
  check('scandump has bytes over 127', dump[1][1].some((byte) => byte > 127), true);
  for (const [iterator, data] of dump) {
    check('loadchunk', await call('BF.LOADCHUNK', 'loaded', String(iterator), data), 'OK');
  }
  check('dump of the copy', await dumpOf(scandump, 'loaded'), dump);
  check('mexists in the copy',
    await call('BF.MEXISTS', 'loaded', 'item-0', 'item-999', 'absent'), [yes, yes, no]);

  await newCommands({ call, bytes, yes, no, map, real });
}

/** What no library has a method for yet. */
export async function newCommands({ call, bytes, yes, no, map, real }) {
  const debug = await call('BF.DEBUG', 'plain');
  check('debug', [debug.length, debug[0], debug[1].slice(0, 6)], [2, 'size:4', 'bytes:']);
  const data = await bytes('BF.EXPORT', 'plain');
  check('import', await call('BF.IMPORT', 'imported', 'FORMAT', 'portable', 'DATA', data), 'OK');
  check('export of the copy', await bytes('BF.EXPORT', 'imported'), data);
  check('exists in the copy', await call('BF.EXISTS', 'imported', BINARY), yes);
  await refused('import cut', 'bad data',
    call('BF.IMPORT', 'bad', 'FORMAT', 'portable', 'DATA', data.subarray(0, -1)));

  const stats = map(await call('BF.STATS', 'plain'));
  check('stats has 17 fields', Object.keys(stats).length, 17);
  check('stats', [stats.layout, stats.items, stats.capacity], ['CLASSIC', 4, 1000]);
  check('stats, a real', [typeof stats.utilisation, Number(stats.utilisation)], [real, 0.004]);
  check('stats, a flag', stats['items are estimated'], no);
  check('stats layers', stats.layers.map(map).map(({ bits, hashes }) => [bits, hashes]), [[10595, 7]]);
  await refused('stats missing', 'not found', call('BF.STATS', 'missing'));

  await call('BF.RESERVE', 'other', '0.01', '1000');
  await call('BF.MADD', 'other', 'a', 'only');
  check('merge', await call('BF.MERGE', 'merged', 'plain', 'other'), 'OK');
  check('mexists merged', await call('BF.MEXISTS', 'merged', 'b', 'only', 'absent'), [yes, yes, no]);
  check('interstore', await call('BF.INTERSTORE', 'common', 'plain', 'other'), 'OK');
  check('mexists common', await call('BF.MEXISTS', 'common', 'a', 'b', 'only'), [yes, no, no]);
  check('clear', await call('BF.CLEAR', 'merged'), 'OK');
  check('exists cleared', await call('BF.EXISTS', 'merged', 'a'), no);

  check('reserve counting', await call('BF.RESERVE', 'counting', '0.01', '100', 'LAYOUT', 'COUNTING'), 'OK');
  check('madd counting', await call('BF.MADD', 'counting', 'a', 'b', 'a'), [yes, yes, no]);
  check('count', await call('BF.COUNT', 'counting', 'a'), 2);
  check('del', await call('BF.DEL', 'counting', 'a', 'absent'), [yes, no]);
  check('count after del', await call('BF.COUNT', 'counting', 'a'), 1);
  check('del missing', await call('BF.DEL', 'missing', 'a'), [no]);
  check('reserve window', await call('BF.RESERVE', 'seen', '0.01', '100', 'WINDOW', '3600'), 'OK');
  check('rotate', await call('BF.ROTATE', 'seen'), 'OK');
  await refused('rotate missing', 'not found', call('BF.ROTATE', 'missing'));

  check('load', await call('BF.LOAD', 'moved', ONE), 'OK');
  check('card of the loaded', await call('BF.CARD', 'moved'), 1);
  await refused('load cut', 'bloom object decoding failed', call('BF.LOAD', 'bad', ONE.subarray(0, -1)));

  check('bulkadd', await bytes('BF.BULKADD', 'bulky', 'LINES', 'a\nb\na'), Buffer.from([0xc0]));
  check('bulkexists', await bytes('BF.BULKEXISTS', 'bulky', 'WIDTH', '1', 'axb'), Buffer.from([0xa0]));
  await refused('bulkadd cut', 'no whole number of items of 2 bytes', call('BF.BULKADD', 'bulky', 'WIDTH', '2', 'abc'));
}
