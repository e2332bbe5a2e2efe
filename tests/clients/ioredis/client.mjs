// ioredis: client.mjs PORT PROTOCOL
import { Redis } from 'ioredis';
import { everyCommandOf } from '../shared/ioredis.mjs';
import { check, finish, four, port, protocol } from '../shared/checks.mjs';

const redis = new Redis({ port, protocol });
await everyCommandOf(redis);
if (protocol === 3) {
  const modern = new Redis({ port, protocol, replyMapping: 'resp3' });
  check('info as an object', four(await modern.call('BF.INFO', 'plain')), [1000, 1, 4, 2]);
  check('add as a boolean', await modern.call('BF.ADD', 'plain', 'a'), false);
}
finish('ioredis');
