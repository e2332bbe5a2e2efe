// Schemes: how an item becomes the positions of its bits (module/core/hash/scheme.c). Each takes the item's
// bytes, the seed in the file and m, and gives the function whose value for i = 0n, 1n, ..., modulo m,
// is position i. Those with large hash functions are not here: ROCKSDB and REDISSON. SIP13's seed is its 32
// bytes of keys.

import { murmur128, murmur32, murmurSpark } from "./murmur3.js";
import { BLOCK, LINE } from "./rate.js";
import { rotl, u64, xxh64 } from "./xxh64.js";

const SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
const low32 = (x) => x & 0xffffffffn;

const stride = (a, b) => (i) => u64(a + i * b);

// A signed sum of so many bits that begins with i = 1; of a negative one the complement.
const folded = (size, a, b) => (i) => {
  const sum = BigInt.asIntN(size, a + (i + 1n) * b);
  return sum < 0n ? ~sum : sum;
};

function magnitude([a, b]) {
  return (i) => {
    const sum = BigInt.asIntN(64, a + i * b);
    return sum < 0n ? -sum : sum;
  };
}

// FNV-1a and SplitMix64's finaliser, as published; low and high half.
function fnv1aPair(item) {
  let h = 0xcbf29ce484222325n;
  for (const byte of item) h = u64((h ^ BigInt(byte)) * 0x100000001b3n);
  h = u64(h + 0x9e3779b97f4a7c15n);
  h = u64((h ^ (h >> 30n)) * 0xbf58476d1ce4e5b9n);
  h = u64((h ^ (h >> 27n)) * 0x94d049bb133111ebn);
  h ^= h >> 31n;
  return [low32(h), h >> 32n];
}

// MurmurHash64A, as published: RedisBloom's.
function murmur64a(item, seed) {
  const mul = 0xc6a4a7935bd1e995n, view = new DataView(item.buffer, item.byteOffset, item.byteLength);
  const shifted = (x) => x ^ (x >> 47n);
  let h = seed ^ u64(BigInt(item.length) * mul), at = 0;
  for (; at + 8 <= item.length; at += 8)
    h = u64((h ^ u64(shifted(u64(view.getBigUint64(at, true) * mul)) * mul)) * mul);
  for (let i = at; i < item.length; i++) h ^= BigInt(item[i]) << BigInt(8 * (i - at));
  if (at < item.length) h = u64(h * mul);
  return shifted(u64(shifted(h) * mul));
}

function murmur(item) {
  const a = murmur64a(item, 0xc6a4a7935bd1e995n);
  return stride(a, murmur64a(item, a));
}

function sipRound(v) {
  for (const [a, b, c, d, r, s] of [[0, 1, 2, 3, 13n, 16n], [2, 1, 0, 3, 17n, 21n]]) {
    v[a] = u64(v[a] + v[b]);
    v[c] = u64(v[c] + v[d]);
    v[b] = rotl(v[b], r) ^ v[a];
    v[d] = rotl(v[d], s) ^ v[c];
    v[a] = rotl(v[a], 32n);
  }
}

// SipHash-1-3, as published, of whole words and of the last bytes under their number.
function siphash13(message, key) {
  const view = new DataView(message.buffer), keys = new DataView(key.buffer, key.byteOffset, 16);
  const [a, b] = [keys.getBigUint64(0, true), keys.getBigUint64(8, true)], end = message.length;
  const v = [a ^ 0x736f6d6570736575n, b ^ 0x646f72616e646f6dn, a ^ 0x6c7967656e657261n, b ^ 0x7465646279746573n];
  const words = [];
  let at = 0, last = BigInt(end % 256) << 56n;
  for (; at + 8 <= end; at += 8) words.push(view.getBigUint64(at, true));
  for (let i = at; i < end; i++) last |= BigInt(message[i]) << BigInt(8 * (i - at));
  for (const word of [...words, last]) {
    v[3] ^= word;
    sipRound(v);
    v[0] ^= word;
  }
  v[2] ^= 0xffn;
  for (let i = 0; i < 3; i++) sipRound(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// Of the item after its length.
function sip13(item, seed) {
  const message = new Uint8Array(8 + item.length);
  new DataView(message.buffer).setBigUint64(0, BigInt(item.length), true);
  message.set(item, 8);
  const a = siphash13(message, seed), b = siphash13(message, seed.subarray(16));
  return (i) => (i === 0n ? a : i === 1n ? b : u64(a + i * b) % 0xffffffffffffffc5n);
}

// One bit in each of the eight words of a block.
function splitBlock(item, _, m) {
  const h = xxh64(item, 0n), block = ((h >> 32n) * BigInt(m / BLOCK)) >> 32n, x = Number(low32(h));
  return (i) => block * BigInt(BLOCK) + 32n * i + BigInt(Math.imul(x, SALTS[i]) >>> 27);
}

function spark(item, seed) {
  const first = murmurSpark(item, seed);
  return [BigInt(first | 0), BigInt(murmurSpark(item, first) | 0)];
}

function spark2(item, seed) {
  const [a, b] = spark(item, seed);
  return folded(64, a * 0x7fffffffn, b);
}

// The words of the item, and of the item with a byte 1 after it.
function go(item) {
  const longer = new Uint8Array(item.length + 1).fill(1);
  longer.set(item);
  const from = murmur128(item), step = murmur128(longer);
  return (i) => u64(from[i % 2n] + i * step[((i + (i % 2n)) % 4n) / 2n]);
}

function datasketches(item, seed) {
  const a = xxh64(item, seed), b = xxh64(item, a);
  return (i) => u64(a + (i + 1n) * b) >> 1n;
}

// LevelDB's hash. To RocksDB the bytes of the tail have a sign.
function leveldbHash(item, hasSigns) {
  const view = new DataView(item.buffer, item.byteOffset, item.byteLength), mul = 0xc6a4a793;
  let h = 0xbc9f1d34 ^ Math.imul(item.length, mul), at = 0;
  for (; at + 4 <= item.length; at += 4) {
    h = Math.imul(h + view.getInt32(at, true), mul);
    h ^= h >>> 16;
  }
  if (at === item.length) return h >>> 0;
  for (let i = at; i < item.length; i++) h += (hasSigns ? view.getInt8(i) : item[i]) << (8 * (i - at));
  h = Math.imul(h, mul);
  return (h ^ (h >>> 24)) >>> 0;
}

const turned = (h) => BigInt(((h >>> 17) | (h << 15)) >>> 0);

function leveldb(item) {
  const h = leveldbHash(item, false), step = turned(h);
  return (i) => low32(BigInt(h) + i * step);
}

// All bits in one line of 64 bytes.
function rocksdb4(item, _, m) {
  const h = leveldbHash(item, true), step = turned(h), line = BigInt((h % (m / LINE)) * LINE);
  return (i) => line + low32(BigInt(h) + i * step) % BigInt(LINE);
}

export const SCHEMES = {
  XXH64: (item) => stride(xxh64(item, 0n), xxh64(item, 1n)),
  FNV1A: (item) => stride(...fnv1aPair(item)),
  MURMUR: murmur,
  SIP13: sip13,
  LEVELDB: leveldb,
  BLOCKED: splitBlock,
  GUAVA32: (item) => {
    const [word] = murmur128(item);
    return folded(32, low32(word), word >> 32n);
  },
  GUAVA64: (item) => {
    const value = stride(...murmur128(item));
    return (i) => BigInt.asUintN(63, value(i));
  },
  SPARK1: (item) => folded(32, ...spark(item, 0)),
  SPARK2: spark2,
  CASSANDRA2: (item) => magnitude(murmur128(item, true)),
  CASSANDRA3: (item) => magnitude(murmur128(item, true).reverse()),
  GO: go,
  BIP37: (item, tweak) => (i) => BigInt(murmur32(item, Math.imul(Number(i), 0xfba4c795) + tweak)),
  ROCKSDB4: rocksdb4,
  DATASKETCHES: datasketches,
};
