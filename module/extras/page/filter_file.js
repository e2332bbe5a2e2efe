// A filter in a file: its fill and estimates, and lookups; or why the file cannot be read. The checks are
// BF.IMPORT's.

import { FORMATS, fileBytes } from "./formats.js";
import { readLayers } from "./layers.js";
import { BLOCK, LINE, rateBlockedNow, rateLines4Now, rateLinesNow, rateNow } from "./rate.js";
import { LN2, ln } from "./real.js";
import { SCHEMES } from "./schemes.js";
import { whole } from "./text.js";

const MAX_HASHES = 255;
const ROCKSDB_TABLE = 0x88e241b785f4cff7n; // the last 8 bytes of an .sst
const REACH = { GUAVA32: 2 ** 31, SPARK1: 2 ** 31 }; // the bits that they use of a larger array

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const hasHashes = (h) => h.k >= 1 && h.k <= MAX_HASHES;
const hasBits = (h) => h.m >= 1 && h.m < 2 ** 53;

// ---- What is wrong

// What is wrong with a file that has the header of a format and does not fit it: k, or else its length.
function nearMiss(view) {
  const is = view.byteLength, near = [];
  for (const [format, read] of Object.entries(FORMATS)) {
    const h = read(view, "4.x"), should = h?.isSure && hasBits(h) && h.m < 2 ** 40 ? fileBytes(h) : 0;
    if (is === should) return `It looks like a ${format} filter, but its k is ${whole(h.k)}: it is damaged.`;
    const isLikely = should && hasHashes(h) && (format === "parquet" || h.k <= 64);
    if (isLikely && is >= should / 64 && is <= should * 64) near.push([format, should]);
  }
  return near.map(([format, should]) => `Its header is that of a ${format} filter of ${whole(should)} bytes, but the file has `
    + `${whole(is)}: ${is < should ? "it was cut short" : "something was added"}.`)[0];
}

function otherFile(bytes, view) {
  const text = new TextDecoder().decode(bytes.subarray(0, 200)), end = bytes.length;
  if (end === 0) return "The file is empty.";
  if (/^(REDIS|VALKEY)/.test(text)) return "That is a snapshot of a whole server. Export one filter with BF.EXPORT.";
  if (/^(\(error\)|ERR |WRONGTYPE)/.test(text)) return `That is an error message: ${text.trim()}`;
  if (/^\{"m":\d+,"k":/.test(text)) return "That is the JSON of a Go filter. Write it with WriteTo instead.";
  if (end >= 53 && view.getBigUint64(end - 8, true) === ROCKSDB_TABLE)
    return "That is a whole table of RocksDB: the page opens its filter block alone.";
  return null;
}

function complaint(bytes, view) {
  const last = bytes.length - 1, before = bytes[last] === 10 ? findFormat(bytes.subarray(0, last), "4.x") : null;
  if (before) return `It is a ${before[0]} filter with a newline at its end, which redis-cli adds. Export it with --raw -D ''.`;
  return otherFile(bytes, view) ?? nearMiss(view) ?? "That is not a filter in a format that can be recognised: "
    + `dump, redisbloom, valkeybloom, ${Object.keys(FORMATS).join(", ")}. LevelDB's and Redisson's have no header: use the tool.`;
}

// ---- Opening

// [format, header], or null. A file fits one format only.
function findFormat(bytes, variant) {
  const view = viewOf(bytes);
  for (const [format, read] of Object.entries(FORMATS)) {
    const h = read(view, variant);
    if (h && hasHashes(h) && hasBits(h) && fileBytes(h) === bytes.length) return [format, h];
  }
  return null;
}

// Each group of 8 bytes in reverse.
function fromWords(words) {
  const bytes = words.slice(), view = viewOf(bytes);
  for (let at = 0; at < bytes.length; at += 8) {
    const high = view.getUint32(at), low = view.getUint32(at + 4);
    view.setUint32(at, low, true);
    view.setUint32(at + 4, high, true);
  }
  return bytes;
}

// The m bits in bytes, or null if there are more that are set.
function takeBits(bytes, h) {
  if (h.isEmpty) return new Uint8Array(h.m / 8);
  const stored = bytes.subarray(h.at, bytes.length - (h.after ?? 0)), all = h.hasWords ? fromWords(stored) : stored;
  const end = Math.ceil(h.m / 8), isClean = !(h.m % 8 && all[end - 1] >> h.m % 8) && !all.subarray(end).some(Boolean);
  return isClean ? all.subarray(0, end) : null;
}

// A bit for each counter of 4 bits that is over 0.
function fromCounters(counters) {
  const bits = new Uint8Array(Math.ceil(counters.length / 4));
  counters.forEach((byte, i) => {
    bits[i >> 2] |= ((byte & 15 ? 1 : 0) | (byte >> 4 ? 2 : 0)) << (2 * (i & 3));
  });
  return bits;
}

function openLayers(bytes, file) {
  const damaged = (what) => new Error(`It looks like a ${file.format} filter, but ${what}: it is damaged.`);
  const { format, layout, seed } = file, scheme = layout === "BLOCKED" ? layout : file.scheme;
  const layers = file.layers.map(({ k, m, at, bytes: length, ones }) => {
    if (k < 1 || !hasBits({ m })) throw damaged(k < 1 ? "its k is 0" : "its number of bits is 0");
    const array = bytes.subarray(at, at + length), bits = layout === "COUNTING" ? fromCounters(array) : array;
    const taken = takeBits(bits, { m, at: 0 });
    if (!taken) throw damaged("bits beyond its end are set");
    const layer = new FilterFile(format, { k, m, scheme, seed }, taken);
    if (ones !== undefined && ones !== layer.ones) throw damaged("its number of set bits is another than it says");
    return layer;
  });
  return new LayeredFile(file, layers);
}

/** Opens the bytes of a file, or throws an Error that says what is wrong with them. A cassandra file does
 *  not say of which variant it is. */
export function openFilter(bytes, variant = "4.x") {
  const many = readLayers(bytes);
  if (many) return openLayers(bytes, many);
  const found = findFormat(bytes, variant);
  if (!found) throw new Error(complaint(bytes, viewOf(bytes)));
  const [format, h] = found, bits = h.fault ? null : takeBits(bytes, h);
  const damaged = (what) => new Error(`It looks like a ${format} filter, but ${what}: it is damaged.`);
  if (!bits) throw damaged(h.fault ?? "bits beyond its end are set");
  const filter = new FilterFile(format, h, bits);
  if (h.ones !== undefined && h.ones !== filter.ones) throw damaged("its number of set bits is another than it says");
  return filter;
}

/** A portable filter of these items: the page's example. */
export function exampleFilter(items, k, m) {
  const filter = new FilterFile("portable", { k, m, scheme: "XXH64" }, new Uint8Array(Math.ceil(m / 8)));
  for (const item of items)
    for (const p of filter.positions(item)) filter.bits[p >> 3] |= 1 << (p & 7);
  return filter.counted();
}

// ---- The filter

const utf8 = new TextEncoder();

const popcounts = Uint8Array.from({ length: 256 }, (_, i) => i.toString(2).replaceAll("0", "").length);

class FilterFile {
  constructor(format, { k, m, scheme, seed, variant }, bits) {
    Object.assign(this, { format, k, m, scheme, seed, variant, bits });
    this.blocked = scheme === "BLOCKED";
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

  get layout() {
    return this.blocked ? "BLOCKED" : "CLASSIC";
  }

  /** What the file does not say, though lookups need it; "": nothing. */
  get question() {
    if (this.scheme === "XXH64" || this.scheme === "FNV1A") return "which hash";
    return this.variant ? "which Cassandra" : "";
  }

  /** The bytes of the arrays. */
  get arrayBytes() {
    return this.bits.length;
  }

  /** Where the picture ends, in bits. */
  get end() {
    return this.m;
  }

  /** The bits that items can have. */
  get reach() {
    return Math.min(this.m, REACH[this.scheme] ?? this.m);
  }

  /** -(m/k) ln(1 - fill): the number of items, estimated from the set bits. */
  get estimate() {
    const { ones, reach, k } = this;
    return ones >= reach ? reach : (-reach / k) * ln(1 - ones / reach);
  }

  /** The count that the server gives an imported filter: the estimate, limited to what is possible. */
  get estimatedItems() {
    const { ones, k } = this;
    if (ones === 0) return 0;
    const least = Math.floor((ones - 1) / k) + 1;
    return Math.min(Math.max(Math.floor(this.estimate + 0.5), least), ones);
  }

  /** The false-positive rate now, as BF.STATS has it. */
  get currentErrorRate() {
    const rate = this.rateByPositions, { ones, reach, k } = this;
    // Where an item's words follow from 32 bits, another item has the same once in 2^32.
    const isNarrow = this.scheme === "LEVELDB" || this.scheme === "ROCKSDB4";
    if (!isNarrow || rate >= 1 || ones <= 0) return rate;
    return Math.min(1, rate + ((1 - rate) * ((-reach / k) * ln(1 - ones / reach))) / 4294967296.0);
  }

  get rateByPositions() {
    const { ones, reach, m, k } = this;
    if (this.blocked) return rateBlockedNow(this.fill, m / BLOCK);
    if (this.scheme === "ROCKSDB") return rateLinesNow(this.fill, m / LINE, k);
    if (this.scheme === "ROCKSDB4") return rateLines4Now(this.fill, m / LINE, k);
    return rateNow(ones, reach, k, this.scheme);
  }

  /** The items that this size is best for. */
  get bestCapacity() {
    return Math.max(1, Math.floor((this.m * LN2) / this.k));
  }

  /** False: the hash function is not in this page. */
  get hasLookups() {
    return this.scheme in SCHEMES;
  }

  /** Where an item's bits are; the item is text or bytes. */
  positions(item) {
    const bytes = typeof item === "string" ? utf8.encode(item) : item;
    const value = SCHEMES[this.scheme](bytes, this.seed, this.m);
    return Array.from({ length: this.k }, (_, i) => Number(value(BigInt(i)) % BigInt(this.m)));
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
    if (this.end <= most) return { size: 1, parts: Array.from({ length: this.end }, (_, p) => (this.isSet(p) ? 1 : 0)) };
    const bytes = Math.ceil(this.bits.length / most), parts = [];
    for (let at = 0; at < this.bits.length; at += bytes) {
      const slice = this.bits.subarray(at, at + bytes);
      let ones = 0;
      for (const byte of slice) ones += popcounts[byte];
      parts.push(ones / Math.min(8 * bytes, this.end - 8 * at));
    }
    return { size: 8 * bytes, parts };
  }
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

function joined(arrays) {
  if (arrays.length === 1) return arrays[0];
  const all = new Uint8Array(sum(arrays.map((one) => one.length)));
  let at = 0;
  for (const one of arrays) {
    all.set(one, at);
    at += one.length;
  }
  return all;
}

/** One or more layers. `bits` has them one after the other, each from a byte of its own on. */
class LayeredFile extends FilterFile {
  constructor({ format, scheme, seed, layout, layers: rows, isCounted }, layers) {
    const bits = joined(layers.map((layer) => layer.bits));
    super(format, { k: layers[0].k, m: sum(layers.map((layer) => layer.m)), scheme: layers[0].scheme, seed }, bits);
    Object.assign(this, { layers, layoutName: layout, hash: scheme, isCounted });
    this.items = sum(rows.map((row) => row.items));
    this.capacity = sum(rows.map((row) => row.capacity));
    this.storedBytes = sum(rows.map((row) => row.bytes));
  }

  get layout() {
    return this.layoutName;
  }

  get question() {
    return "";
  }

  get arrayBytes() {
    return this.storedBytes;
  }

  get end() {
    return this.layers.length > 1 ? 8 * this.bits.length : this.m;
  }

  get estimate() {
    return sum(this.layers.map((layer) => layer.estimate));
  }

  get estimatedItems() {
    return Math.floor(this.estimate + 0.5);
  }

  /** An absent item is found if any layer finds it. */
  get currentErrorRate() {
    return this.layers.reduce((rate, layer) => rate + (1 - rate) * layer.currentErrorRate, 0);
  }

  get bestCapacity() {
    return this.capacity;
  }

  /** Of all layers, as numbers of the bits above. */
  positions(item) {
    let at = 0;
    return this.layers.flatMap((layer) => {
      const start = at;
      at += 8 * layer.bits.length;
      return layer.positions(item).map((p) => start + p);
    });
  }

  has(item) {
    return this.layers.some((layer) => layer.has(item));
  }
}
