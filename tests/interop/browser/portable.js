// Reads and writes Bloom filters in bloomport's portable format, in a page, a worker or Node.
//
// The bytes: k u32 | m u64 | bits, little-endian. They are what BF.EXPORT answers and BF.IMPORT takes.
// `h64` is XXH64 from any package, (Uint8Array, BigInt seed) => BigInt; xxhash-wasm calls it h64Raw.
// BigInt throughout, because a position comes from 64 unsigned bits and a Number holds 53.

const HEADER = 12;

function* positions(item, k, m, h64) {
  const h2 = h64(item, 1n);
  let h = h64(item, 0n);
  for (let i = 0; i < k; i++) {
    yield h % m;
    h = BigInt.asUintN(64, h + h2);
  }
}

export class PortableFilter {
  /** Opens a filter: its bytes as a Uint8Array. */
  constructor(bytes, h64) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < HEADER) throw new Error("not a portable filter");
    this.bytes = bytes;
    this.h64 = h64;
    this.k = view.getUint32(0, true);
    this.m = view.getBigUint64(4, true);
    if (this.k === 0 || this.m === 0n || BigInt(bytes.length - HEADER) !== (this.m + 7n) / 8n)
      throw new Error("not a portable filter");
  }

  /** An empty filter of m bits (BigInt) and k hashes. */
  static create(k, m, h64) {
    const bytes = new Uint8Array(HEADER + Number((m + 7n) / 8n));
    const view = new DataView(bytes.buffer);
    view.setUint32(0, k, true);
    view.setBigUint64(4, m, true);
    return new PortableFilter(bytes, h64);
  }

  /** False: surely absent. True: possibly in. The item is a Uint8Array. */
  has(item) {
    for (const p of positions(item, this.k, this.m, this.h64))
      if (!(this.bytes[HEADER + Number(p >> 3n)] & (1 << Number(p & 7n)))) return false;
    return true;
  }

  add(item) {
    for (const p of positions(item, this.k, this.m, this.h64))
      this.bytes[HEADER + Number(p >> 3n)] |= 1 << Number(p & 7n);
  }
}
