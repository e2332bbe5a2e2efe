// MurmurHash3 of a Uint8Array, as published, and the variants that Spark and Cassandra have of its tail:
// module/core/hash/murmur3.c in JavaScript.

import { rotl, u64 } from "./xxh64.js";

// ---- 32 bits: numbers, signed or not, as the operators leave them

const rotl32 = (x, r) => (x << r) | (x >>> (32 - r));
const mix32 = (word) => Math.imul(rotl32(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
const block32 = (h, word) => Math.imul(rotl32(h ^ mix32(word), 13), 5) + 0xe6546b64;

function blocks32(bytes, h) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 4 <= bytes.length; at += 4) h = block32(h, view.getInt32(at, true));
  return h;
}

function finish32(h, length) {
  h ^= length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const tailOf = (bytes, block) => bytes.subarray(bytes.length - (bytes.length % block));

export function murmur32(bytes, seed) {
  const tail = tailOf(bytes, 4).reduceRight((word, byte) => (word << 8) | byte, 0);
  return finish32(blocks32(bytes, seed) ^ mix32(tail), bytes.length);
}

/** Every byte of the tail is a block of its own, with its sign. */
export function murmurSpark(bytes, seed) {
  return finish32(new Int8Array(tailOf(bytes, 4)).reduce(block32, blocks32(bytes, seed)), bytes.length);
}

// ---- 128 bits: two BigInts

const M1 = 0x87c37b91114253d5n, M2 = 0x4cf5ad432745937fn;
const mixFirst = (word) => u64(rotl(u64(word * M1), 31n) * M2);
const mixSecond = (word) => u64(rotl(u64(word * M2), 33n) * M1);

function avalanche(h) {
  h = u64((h ^ (h >> 33n)) * 0xff51afd7ed558ccdn);
  h = u64((h ^ (h >> 33n)) * 0xc4ceb9fe1a85ec53n);
  return h ^ (h >> 33n);
}

function blocks128(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let a = 0n, b = 0n;
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    a = u64((rotl(a ^ mixFirst(view.getBigUint64(at, true)), 27n) + b) * 5n + 0x52dce729n);
    b = u64((rotl(b ^ mixSecond(view.getBigUint64(at + 8, true)), 31n) + a) * 5n + 0x38495ab5n);
  }
  return [a, b];
}

/** [first word, second word]. In Cassandra the bytes of the tail have a sign, whose copies overlap the
 *  bytes after it. */
export function murmur128(bytes, hasSigns = false) {
  const words = [0n, 0n], length = BigInt(bytes.length);
  const tail = tailOf(bytes, 16);
  (hasSigns ? new Int8Array(tail) : tail).forEach((byte, i) => {
    words[i >> 3] ^= u64(BigInt(byte) << BigInt(8 * (i & 7)));
  });
  let [a, b] = blocks128(bytes);
  a ^= mixFirst(words[0]) ^ length;
  b ^= mixSecond(words[1]) ^ length;
  const sum = u64(a + b);
  a = avalanche(sum);
  b = avalanche(u64(sum + b));
  return [u64(a + b), u64(a + b + b)];
}
