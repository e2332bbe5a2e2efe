// iovalkey: client.mjs PORT PROTOCOL
import { Redis } from 'iovalkey';
import { everyCommandOf } from '../shared/ioredis.mjs';
import { finish, port } from '../shared/checks.mjs';

await everyCommandOf(new Redis({ port }));
finish('iovalkey');
