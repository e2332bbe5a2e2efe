// The formats of filters in files: those of BF.EXPORT (rdb/FORMAT.md) that can be recognised by their bytes.
// Each reads the header of a file, or returns null if it is none of this format:
//
//   k, m           hashes and bits
//   at, after      the bytes before the bits, and after them
//   hasWords       the bits are in big-endian words of 64 bits
//   scheme, seed   how an item becomes positions (schemes.js)
//   isSure         the header alone is sign enough: a file of another length was truncated or extended
//   isEmpty        all bits are 0 and not in the file
//   ones           the number of set bits that the file claims
//   fault          what else is wrong

const PARQUET_TAIL = [0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00];
const u64At = (view, at, isLittle) => Number(view.getBigUint64(at, isLittle)); // over 2^53 it is refused

function readPortable(view) {
  if (view.byteLength < 12) return null;
  return { k: view.getUint32(0, true), m: u64At(view, 4, true), at: 12, scheme: "XXH64", isSure: true };
}

function readSstable(view) {
  if (view.byteLength < 16) return null;
  return { k: view.getUint32(8, true), m: u64At(view, 0, true), at: 16, scheme: "XXH64", isSure: true };
}

// A Thrift header: 0x15, the number of bytes as a zigzag varint, three empty unions.
function readParquet(view) {
  if (view.byteLength < 3 || view.getUint8(0) !== 0x15) return null;
  let zigzag = 0, at = 1, byte = 128;
  for (let shift = 0; byte & 128; shift += 7) {
    if (at >= view.byteLength || shift > 28) return null;
    byte = view.getUint8(at++);
    zigzag += (byte & 127) * 2 ** shift;
  }
  const tailFits = PARQUET_TAIL.every((b, i) => at + i < view.byteLength && view.getUint8(at + i) === b);
  if (!tailFits || zigzag % 64 !== 0) return null; // an even zigzag is positive; 32 bytes a block
  return { k: 8, m: zigzag * 4, at: at + PARQUET_TAIL.length, scheme: "BLOCKED", isSure: true };
}

function readGuava(view) {
  if (view.byteLength < 6 || view.getUint8(0) > 1) return null;
  const scheme = view.getUint8(0) ? "GUAVA64" : "GUAVA32";
  return { k: view.getUint8(1), m: 64 * view.getUint32(2), at: 6, hasWords: true, scheme, isSure: true };
}

function readSpark(view) {
  const version = view.byteLength < 16 ? 0 : view.getUint32(0);
  if (version !== 1 && version !== 2) return null;
  const at = version === 2 ? 16 : 12;
  return { k: view.getUint32(4), m: 64 * view.getUint32(at - 4), at, hasWords: true, scheme: `SPARK${version}`,
           seed: view.getInt32(8), isSure: true };
}

function readGo(view) {
  if (view.byteLength < 24 || view.getBigUint64(0) !== view.getBigUint64(16)) return null;
  return { k: u64At(view, 8), m: u64At(view, 0), at: 24, hasWords: true, scheme: "GO", isSure: true };
}

function readCassandra(view, variant) {
  if (view.byteLength < 8) return null;
  return { k: view.getUint32(0), m: 64 * view.getUint32(4), at: 8, hasWords: variant !== "4.x", variant,
           scheme: variant === "old" ? "CASSANDRA2" : "CASSANDRA3", isSure: true };
}

// The length as a number of one byte, or of two after fd; the fields after the bits.
function readBip37(view) {
  const end = view.byteLength, isLong = end > 3 && view.getUint8(0) === 0xfd;
  const at = isLong ? 3 : 1, n = end < 11 ? 0 : isLong ? view.getUint16(1, true) : view.getUint8(0);
  if (n < 1 || n > 36000 || isLong !== n >= 0xfd || end !== at + n + 9 || view.getUint8(end - 1) > 2) return null;
  const k = view.getUint32(at + n, true);
  return k > 50 ? null : { k, m: 8 * n, at, after: 9, scheme: "BIP37", seed: view.getUint32(at + n + 4, true) };
}

// A whole number of lines; then ff 00 k 00 00, or before format_version 5 k and the number of lines.
function readRocksdb(view) {
  const n = view.byteLength - 5, block = { m: 8 * n, at: 0, after: 5 };
  if (n < 64 || n % 64 !== 0) return null;
  const first = view.getUint8(n), rest = view.getUint32(n + 1, true);
  if (first === 0xff) return rest % 256 === 0 && rest <= 30 * 256 ? { ...block, k: rest / 256, scheme: "ROCKSDB" } : null;
  return rest === n / 64 && first <= 30 ? { ...block, k: first, scheme: "ROCKSDB4" } : null;
}

function readDatasketches(view) {
  const [full, empty] = [0x04011500, 0x03011504]; // words, version, family, flags
  const start = view.byteLength < 24 ? 0 : view.getUint32(0);
  if (start !== full && start !== empty) return null;
  const h = { k: view.getUint16(4, true), m: 64 * view.getUint32(16, true), at: 24, scheme: "DATASKETCHES",
              seed: view.getBigUint64(8, true), isSure: true };
  if (view.getUint16(6) || view.getUint32(20)) h.fault = "bytes of its header that should be 0 are not";
  if (start === empty) return { ...h, isEmpty: true, fault: h.m > 2 ** 32 ? "it is empty and too large" : h.fault };
  const ones = view.byteLength < 32 ? 0n : view.getBigUint64(24, true), isCounted = ones !== 2n ** 64n - 1n;
  return { ...h, at: 32, ones: isCounted ? Number(ones) : undefined };
}

export const FORMATS = {
  parquet: readParquet, portable: readPortable, sstable: readSstable, guava: readGuava, spark: readSpark, go: readGo,
  cassandra: readCassandra, bip37: readBip37, rocksdb: readRocksdb, datasketches: readDatasketches,
};

/** The length of the whole file that has this header. */
export function fileBytes(h) {
  const bits = h.isEmpty ? 0 : h.hasWords ? 8 * Math.ceil(h.m / 64) : Math.ceil(h.m / 8);
  return h.at + bits + (h.after ?? 0);
}
