// valkey-glide: client.mjs PORT PROTOCOL
import { Decoder, GlideClient, ProtocolVersion } from '@valkey/valkey-glide';
import { check, everyCommand, finish, pairs, port, protocol, refused } from '../shared/checks.mjs';

const client = await GlideClient.createClient({
  addresses: [{ host: '127.0.0.1', port }],
  protocol: protocol === 3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2,
});
const call = (...words) => client.customCommand(words);

await everyCommand({
  call,
  bytes: (...words) => client.customCommand(words, { decoder: Decoder.Bytes }),
  yes: protocol === 3 ? true : 1,
  no: protocol === 3 ? false : 0,
  map: (reply) => (protocol === 3 ? Object.fromEntries(reply.map(({ key, value }) => [key, value])) : pairs(reply)),
  real: protocol === 3 ? 'number' : 'string',
  // An error inside an array fails the whole call; what was added before it stays added.
  full: async (what, promise) => {
    await refused(what, 'non scaling filter is full', promise);
    check(`${what}: card`, await call('BF.CARD', 'fixed'), 2);
  },
});
finish('@valkey/valkey-glide');
