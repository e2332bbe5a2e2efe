// Files of several layers: the tool's dump, which build and pull write, and the filters of RedisBloom and
// valkey-bloom, as pull keeps them (rdb/FORMAT.md, sections 2, 6 and 7). Each is read as
//
//   format, layout   layout CLASSIC, BLOCKED or COUNTING, of all layers
//   scheme, seed     as those of formats.js
//   layers           { k, m, at, bytes, ones, items, capacity } each, the oldest first: where its array is;
//                    `ones` if the file says it
//   isCounted        the items are a count, not an estimate
//
// or as null, if the file is none. One that is damaged, or cannot be shown, is an Error that says so.

import { whole } from "./text.js";
import { xxh64 } from "./xxh64.js";

const DUMP_SCHEMES = ["XXH64", "FNV1A", "MURMUR", "SIP13", "LEVELDB", "GUAVA32", "GUAVA64", "SPARK1", "SPARK2", "CASSANDRA2",
                      "CASSANDRA3", "GO", "BIP37", "ROCKSDB", "ROCKSDB4", "DATASKETCHES", "REDISSON"];
const LAYOUTS = ["CLASSIC", "BLOCKED", "COUNTING"];
const MOST_LAYERS = 65536;
const numberAt = (view, at) => Number(view.getBigUint64(at, true));

// ---- Dumps

const refuseDump = (what) => {
  throw new Error(`It looks like a dump, but ${what}.`);
};

function seedOf(scheme, bytes, view) {
  if (scheme === "SPARK2") return view.getInt32(64, true);
  if (scheme === "BIP37") return view.getUint32(64, true);
  if (scheme === "DATASKETCHES") return view.getBigUint64(64, true);
  return scheme === "SIP13" ? bytes.slice(64, 96) : undefined;
}

// The header's length, if it is whole and undamaged.
function headerEnd(bytes, view, first, size) {
  const nlayers = view.getUint32(20, true), end = first + size * nlayers + 8;
  if (nlayers < 1 || nlayers > MOST_LAYERS) refuseDump("its header is damaged");
  if (bytes.length < end) refuseDump("it was cut short");
  const isSound = view.getBigUint64(end - 8, true) === xxh64(bytes.subarray(0, end - 8), 0n);
  return isSound ? end : refuseDump("its header is damaged");
}

function dumpLayers(bytes, view, { first, size, end, layout }) {
  const layers = [];
  for (let row = first, at = end; row < end - 8; row += size) {
    const [capacity, items, ones, m] = [0, 8, 16, 36].map((field) => numberAt(view, row + field));
    const length = Math.ceil(m / (layout === "COUNTING" ? 2 : 8));
    layers.push({ k: view.getUint32(row + 32, true), m, at, bytes: length, ones, items, capacity });
    at += length;
  }
  const { at, bytes: length } = layers.at(-1), all = at + length;
  if (all === bytes.length) return layers;
  throw new Error(`Its header is that of a dump of ${whole(all)} bytes, but the file has ${whole(bytes.length)}: `
    + (bytes.length < all ? "it was cut short." : "something was added."));
}

function readDump(bytes, view) {
  if (new TextDecoder("latin1").decode(bytes.subarray(0, 8)) !== "BLOOMPRT") return null;
  if (bytes.length < 48) refuseDump("it was cut short");
  const version = view.getUint32(8, true);
  if (version !== 1 && version !== 2) refuseDump(`its version is ${version}, which this page does not know`);
  const [first, size] = version === 1 ? [48, 44] : [128, 64], end = headerEnd(bytes, view, first, size);
  const scheme = DUMP_SCHEMES[bytes[12]], layout = LAYOUTS[bytes[13]], flags = view.getUint16(14, true);
  if (!scheme || !layout) refuseDump("its hash or layout is one that this page does not know");
  if (flags & 1) refuseDump("it was loaded in part only");
  if (version === 2 && view.getUint32(48, true))
    throw new Error("It is a window: what it holds depends on the time. Look items up with the tool: bloomport check.");
  const layers = dumpLayers(bytes, view, { first, size, end, layout });
  return { format: "dump", layout, scheme, seed: seedOf(scheme, bytes, view), layers, isCounted: !(flags & 2) };
}

// ---- RedisBloom's

function readRedisbloom(bytes, view) {
  const nlayers = bytes.length < 20 ? 0 : view.getUint32(8, true);
  let at = 20 + 53 * nlayers;
  if (nlayers < 1 || nlayers > MOST_LAYERS || at > bytes.length || ![5, 13].includes(view.getUint32(12, true))) return null;
  const layers = [];
  for (let row = 20; row < 20 + 53 * nlayers; row += 53) {
    const [length, m, items, capacity] = [0, 8, 16, 44].map((field) => numberAt(view, row + field));
    if (m !== 8 * length) return null;
    layers.push({ k: view.getUint32(row + 40, true), m, at, bytes: length, items, capacity });
    at += length;
  }
  return at === bytes.length ? { format: "redisbloom", layout: "CLASSIC", scheme: "MURMUR", layers, isCounted: true } : null;
}

// ---- valkey-bloom's

const inside = (rate) => rate > 0 && rate < 1;

// The length of a layer, its array, its items and capacity; the array begins with 45 bytes.
function readValkeybloom(bytes, view) {
  const end = bytes.length;
  if (end < 30 || bytes[0] !== 1 || bytes[21] > 1 || !inside(view.getFloat64(5, true)) || !inside(view.getFloat64(13, true))) return null;
  const nlayers = numberAt(view, 22), layers = [];
  if (nlayers < 1 || nlayers > MOST_LAYERS) return null;
  let at = 30;
  for (let i = 0; i < nlayers; i++) {
    const length = at + 53 > end ? 0 : numberAt(view, at) - 45, after = at + 53 + length;
    if (length < 1 || after + 16 > end || bytes[at + 8] !== 1 || numberAt(view, at + 9) !== length) return null;
    layers.push({ k: view.getUint32(at + 17, true), m: 8 * length, at: at + 53, bytes: length, items: numberAt(view, after),
                  capacity: numberAt(view, after + 8) });
    at = after + 16;
  }
  if (at !== end) return null;
  return { format: "valkeybloom", layout: "CLASSIC", scheme: "SIP13", seed: bytes.slice(51, 83), layers, isCounted: true };
}

export function readLayers(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readDump(bytes, view) ?? readRedisbloom(bytes, view) ?? readValkeybloom(bytes, view);
}
