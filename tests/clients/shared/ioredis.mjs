// ioredis and its fork iovalkey: the same class, one package name apart.
import { check, everyCommand, pairs } from './checks.mjs';

/** Both give the RESP2 forms over either protocol: 1 and 0, and maps as flat arrays. */
export async function everyCommandOf(redis) {
  await everyCommand({
    call: (...words) => redis.call(...words),
    bytes: (...words) => redis.callBuffer(...words), // call() makes text of dumps, and breaks them
    yes: 1,
    no: 0,
    map: pairs,
    real: 'string',
    full: async (what, promise) => {
      const [first, second, last, ...rest] = await promise;
      check(what, [first, second, last.message, rest.length], [1, 1, 'ERR non scaling filter is full', 0]);
    },
  });
}
