// Schemes: how an item becomes the positions of its bits (module/core/scheme.c). Each takes the item's
// bytes, the seed in the file and m, and gives the function whose value for i = 0n, 1n, ..., modulo m,
// is position i. Those with large hash functions are not here: ROCKSDB and REDISSON.

import { murmur128, murmur32, murmurSpark } from "./murmur3.js";
import { BLOCK, LINE } from "./rate.js";
import { u64, xxh64 } from "./xxh64.js";

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

// LevelDB's hash, but the bytes of the tail have a sign.
function rocksdbHash32(item) {
  const view = new DataView(item.buffer, item.byteOffset, item.byteLength), mul = 0xc6a4a793;
  let h = 0xbc9f1d34 ^ Math.imul(item.length, mul), at = 0;
  for (; at + 4 <= item.length; at += 4) {
    h = Math.imul(h + view.getInt32(at, true), mul);
    h ^= h >>> 16;
  }
  if (at === item.length) return h >>> 0;
  for (let i = at; i < item.length; i++) h += view.getInt8(i) << (8 * (i - at));
  h = Math.imul(h, mul);
  return (h ^ (h >>> 24)) >>> 0;
}

// All bits in one line of 64 bytes.
function rocksdb4(item, _, m) {
  const h = rocksdbHash32(item), line = BigInt((h % (m / LINE)) * LINE);
  const step = BigInt(((h >>> 17) | (h << 15)) >>> 0);
  return (i) => line + low32(BigInt(h) + i * step) % BigInt(LINE);
}

export const SCHEMES = {
  XXH64: (item) => stride(xxh64(item, 0n), xxh64(item, 1n)),
  FNV1A: (item) => stride(...fnv1aPair(item)),
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
