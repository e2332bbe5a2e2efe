// node-redis: client.mjs PORT PROTOCOL
import { createClient, RESP_TYPES } from 'redis';
import { BINARY, MANY, check, dumpOf, finish, four, newCommands, pairs, port, protocol, refused } from '../shared/checks.mjs';

const client = await createClient({ RESP: protocol, socket: { port } }).connect();
// Without this a dump arrives as text, with every byte over 127 replaced.
const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
const call = (...words) => client.sendCommand(words);
const bf = client.bf;

check('protocol', /resp=(\d)/.exec(await call('CLIENT', 'INFO'))[1], String(protocol));

check('reserve', await bf.reserve('plain', 0.01, 1000), 'OK');
check('reserve expansion', await bf.reserve('grown', 0.001, 100, { EXPANSION: 4 }), 'OK');
check('reserve nonscaling', await bf.reserve('fixed', 1e-7, 2, { NONSCALING: true }), 'OK');
await refused('reserve again', 'ERR item exists', bf.reserve('plain', 0.01, 1000));

check('add', await bf.add('plain', 'a'), true);
check('add again', await bf.add('plain', 'a'), false);
check('add binary', await bf.add('plain', BINARY), true);
check('madd', await bf.mAdd('plain', ['a', 'b', 'c']), [false, true, true]);
check('insert', await bf.insert('inserted', ['x', 'y', 'x'], { CAPACITY: 500, ERROR: 0.001, EXPANSION: 3 }),
  [true, true, false]);
check('insert nocreate', await bf.insert('inserted', 'z', { NOCREATE: true }), [true]);
check('insert nonscaling', await bf.insert('small', 'x', { CAPACITY: 2, NONSCALING: true }), [true]);
check('insert plain', await bf.insert('default', 'x'), [true]);
await refused('insert nocreate missing', 'ERR not found', bf.insert('missing', 'z', { NOCREATE: true }));

check('exists', await bf.exists('plain', 'a'), true);
check('exists absent', await bf.exists('plain', 'absent'), false);
check('exists binary', await bf.exists('plain', BINARY), true);
check('exists binary cut', await bf.exists('plain', BINARY.subarray(0, -1)), false);
check('exists missing', await bf.exists('missing', 'a'), false);
check('mexists', await bf.mExists('plain', ['a', 'absent', 'c']), [true, false, true]);
check('card', await bf.card('plain'), 4);
check('card missing', await bf.card('missing'), 0);

const info = await bf.info('plain');
check('info', four(info), [1000, 1, 4, 2]);
check('info size', info.Size > 1000, true);
check('info has five fields', Object.keys(info).length, 5);
check('info inserted', four(await bf.info('inserted')), [500, 1, 3, 3]);
check('info nonscaling', four(await bf.info('fixed')), [2, 1, 0, null]);
await refused('info missing', 'ERR not found', bf.info('missing'));

// Over RESP2 the library turns everything that is not 1 into false, the error at the end too.
const full = await bf.mAdd('fixed', ['p', 'q', 'r', 's']);
check('madd full', [...full.slice(0, 2), full.length], [true, true, 3]);
check('madd full ends in an error', protocol === 3 ? full[2].message : full[2],
  protocol === 3 ? 'ERR non scaling filter is full' : false);
await refused('add full', 'ERR non scaling filter is full', bf.add('fixed', 'r'));
check('add full, known', await bf.add('fixed', 'p'), false);
await client.set('text', 'x');
await refused('add wrong type', 'WRONGTYPE', bf.add('text', 'a'));
await refused('exists wrong type', 'WRONGTYPE', bf.exists('text', 'a'));

const answers = await bf.mAdd('grown', MANY);
check('grow', answers.filter(Boolean).length > 990, true);
check('info grown', four(await bf.info('grown')).slice(0, 2), [2100, 3]);
const scandump = async (key, iterator) => {
  const { iterator: next, chunk } = await binary.bf.scanDump(key, iterator);
  return [next, chunk];
};
const dump = await dumpOf(scandump, 'grown');
check('scandump', dump.length, 4);
check('scandump has bytes over 127', dump[1][1].some((byte) => byte > 127), true);
for (const [iterator, data] of dump) {
  check('loadchunk', await bf.loadChunk('loaded', iterator, data), 'OK');
}
check('dump of the copy', await dumpOf(scandump, 'loaded'), dump);
check('mexists in the copy', await bf.mExists('loaded', ['item-0', 'item-999', 'absent']), [true, true, false]);

await newCommands({
  call,
  bytes: (...words) => binary.sendCommand(words),
  yes: protocol === 3 ? true : 1,
  no: protocol === 3 ? false : 0,
  map: (reply) => (protocol === 3 ? reply : pairs(reply)),
  real: protocol === 3 ? 'number' : 'string',
});
finish('redis');
