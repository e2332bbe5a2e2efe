// A filter in a file: its format, its fill and estimates, and lookups. The formats are those of
// BF.EXPORT (rdb/FORMAT.md); the checks are BF.IMPORT's.

import { BLOCK, rateBlocked } from "./rate.js";
import { LN2, ln } from "./real.js";
import { xxh64 } from "./xxh64.js";
import { whole } from "./text.js";

const MAX_HASHES = 255;
const SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
const PARQUET_TAIL = [0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00];

// ---- Formats: each reads its header, { k, m (BigInt), at (where the bits begin) }, or null.

function readPortable(view) {
  return view.byteLength < 12 ? null : { k: view.getUint32(0, true), m: view.getBigUint64(4, true), at: 12 };
}

function readSstable(view) {
  return view.byteLength < 16 ? null : { k: view.getUint32(8, true), m: view.getBigUint64(0, true), at: 16 };
}

// A Thrift header: 0x15, the number of bytes as a zigzag varint, three empty unions.
function readParquet(view) {
  if (view.byteLength < 3 || view.getUint8(0) !== 0x15) return null;
  let zigzag = 0n, at = 1, byte = 128;
  for (let shift = 0n; byte & 128; shift += 7n) {
    if (at >= view.byteLength || shift > 28n) return null;
    byte = view.getUint8(at++);
    zigzag |= BigInt(byte & 127) << shift;
  }
  const tailFits = PARQUET_TAIL.every((b, i) => at + i < view.byteLength && view.getUint8(at + i) === b);
  if (!tailFits || zigzag % 64n !== 0n) return null; // an even zigzag is positive; 32 bytes a block
  return { k: 8, m: (zigzag / 2n) * 8n, at: at + PARQUET_TAIL.length, blocked: true };
}

const FORMATS = { parquet: readParquet, portable: readPortable, sstable: readSstable };

const isPossible = (h) => h && h.k >= 1 && h.k <= MAX_HASHES && h.m >= 1n && h.m < 1n << 53n;

// A header of a file that was truncated or extended.
function nearMiss(view) {
  for (const [format, read] of Object.entries(FORMATS)) {
    const h = read(view);
    if (!isPossible(h) || h.m >= 1n << 40n || (format !== "parquet" && h.k > 64)) continue;
    const should = h.at + Number((h.m + 7n) / 8n), is = view.byteLength;
    if (is === should + 1 && view.getUint8(is - 1) === 10)
      return `It is a ${format} filter with a newline at its end, which redis-cli adds. Export it with --raw -D ''.`;
    if (is >= should / 64 && is <= should * 64)
      return `Its header is that of a ${format} filter of ${whole(should)} bytes, but the file has ${whole(is)}: ` +
             (is < should ? "it was cut short." : "something was added.");
  }
  return null;
}

function complaint(bytes, view) {
  const starts = (text) => [...text].every((c, i) => bytes[i] === c.charCodeAt(0));
  if (bytes.length === 0) return "The file is empty.";
  if (starts("REDIS") || starts("VALKEY")) return "That is a snapshot of a whole server. Export one filter with BF.EXPORT.";
  if (starts("(error)") || starts("ERR ") || starts("WRONGTYPE"))
    return `That is an error message: ${new TextDecoder().decode(bytes.subarray(0, 200)).trim()}`;
  return nearMiss(view) ?? "That is not a filter in the format portable, sstable or parquet.";
}

/** Opens the bytes of a file, or throws an Error that says what is wrong with them. */
export function openFilter(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const [format, read] of Object.entries(FORMATS)) {
    const h = read(view);
    if (!isPossible(h) || BigInt(bytes.length - h.at) !== (h.m + 7n) / 8n) continue;
    const bits = bytes.subarray(h.at), m = Number(h.m);
    if (m % 8 && bits[bits.length - 1] >> m % 8)
      throw new Error(`It looks like a ${format} filter, but bits beyond its end are set: it is damaged.`);
    return new FilterFile(format, h.k, m, Boolean(h.blocked), bits);
  }
  throw new Error(complaint(bytes, view));
}

/** A portable filter of these items: the page's example. */
export function exampleFilter(items, k, m) {
  const filter = new FilterFile("portable", k, m, false, new Uint8Array(Math.ceil(m / 8)));
  for (const item of items)
    for (const p of filter.positions(item)) filter.bits[p >> 3] |= 1 << (p & 7);
  return filter.counted();
}

// ---- Hashes

const utf8 = new TextEncoder();
const mask64 = (x) => BigInt.asUintN(64, x);

// FNV-1a and SplitMix64's finaliser, as published; low and high half.
function fnv1aPair(item) {
  let h = 0xcbf29ce484222325n;
  for (const byte of item) h = mask64((h ^ BigInt(byte)) * 0x100000001b3n);
  h = mask64(h + 0x9e3779b97f4a7c15n);
  h = mask64((h ^ (h >> 30n)) * 0xbf58476d1ce4e5b9n);
  h = mask64((h ^ (h >> 27n)) * 0x94d049bb133111ebn);
  h ^= h >> 31n;
  return [h & 0xffffffffn, h >> 32n];
}

const popcounts = Uint8Array.from({ length: 256 }, (_, i) => i.toString(2).replaceAll("0", "").length);

class FilterFile {
  constructor(format, k, m, blocked, bits) {
    Object.assign(this, { format, k, m, blocked, bits, hash: "XXH64" });
    this.counted();
  }

  counted() {
    this.ones = 0;
    for (const byte of this.bits) this.ones += popcounts[byte];
    return this;
  }

  get fill() {
    return this.ones / this.m;
  }

  /** -(m/k) ln(1 - fill): the number of items, estimated from the set bits. */
  get estimate() {
    const { ones, m, k } = this;
    return ones === m ? m : (-m / k) * ln(1 - ones / m);
  }

  /** The count that the server gives an imported filter: the estimate, limited to what is possible. */
  get estimatedItems() {
    const { ones, m, k } = this;
    if (ones === 0 || ones === m) return ones;
    const least = Math.floor((ones - 1) / k) + 1;
    return Math.min(Math.max(Math.floor(this.estimate + 0.5), least), ones);
  }

  /** The false-positive rate now, as BF.STATS has it. CLASSIC: the fill to the power k. BLOCKED: more,
   *  because some blocks are fuller than others. */
  get currentErrorRate() {
    if (this.ones === this.m) return 1;
    if (this.blocked) return rateBlocked(this.estimate, this.m / BLOCK);
    let rate = 1;
    for (let i = 0; i < this.k; i++) rate *= this.fill;
    return rate;
  }

  /** The items that this size is best for. */
  get bestCapacity() {
    return Math.max(1, Math.floor((this.m * LN2) / this.k));
  }

  /** Where an item's bits are; the item is text or bytes. */
  positions(item) {
    const bytes = typeof item === "string" ? utf8.encode(item) : item;
    if (this.blocked) return this.blockPositions(xxh64(bytes, 0n));
    const [a, b] = this.hash === "FNV1A" ? fnv1aPair(bytes) : [xxh64(bytes, 0n), xxh64(bytes, 1n)];
    return Array.from({ length: this.k }, (_, i) => Number(mask64(a + BigInt(i) * b) % BigInt(this.m)));
  }

  // One bit in each of the eight words of a block.
  blockPositions(h) {
    const block = Number(((h >> 32n) * BigInt(this.m / BLOCK)) >> 32n), x = Number(h & 0xffffffffn);
    return SALTS.map((salt, i) => block * BLOCK + 32 * i + (Math.imul(x, salt) >>> 27));
  }

  isSet(p) {
    return ((this.bits[Math.floor(p / 8)] >> p % 8) & 1) === 1;
  }

  /** False: surely absent. True: maybe present. */
  has(item) {
    return this.positions(item).every((p) => this.isSet(p));
  }

  /** The share of set bits in each of at most `most` equal parts; a part is one bit, or whole bytes. */
  fillOfParts(most) {
    if (this.m <= most) return { size: 1, parts: Array.from({ length: this.m }, (_, p) => (this.isSet(p) ? 1 : 0)) };
    const bytes = Math.ceil(this.bits.length / most), parts = [];
    for (let at = 0; at < this.bits.length; at += bytes) {
      const slice = this.bits.subarray(at, at + bytes);
      let ones = 0;
      for (const byte of slice) ones += popcounts[byte];
      parts.push(ones / Math.min(8 * bytes, this.m - 8 * at));
    }
    return { size: 8 * bytes, parts };
  }
}
