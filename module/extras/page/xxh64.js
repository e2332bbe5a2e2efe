// XXH64 of a Uint8Array at a seed, written from the public specification of xxHash (its document
// xxhash_spec.md). (Uint8Array, BigInt seed) => BigInt: what interop's portable.js calls h64.
// BigInt is slow (some microseconds an item) and plain; a page looks up a few items at a time.

const P1 = 0x9e3779b185ebca87n, P2 = 0xc2b2ae3d27d4eb4fn, P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n, P5 = 0x27d4eb2f165667c5n;

export const u64 = (x) => BigInt.asUintN(64, x);
export const rotl = (x, r) => u64(x << r) | (x >> (64n - r));
const round = (acc, lane) => u64(rotl(u64(acc + lane * P2), 31n) * P1);

// The stripes of 32 bytes: four accumulators side by side, then merged.
function stripes(view, end, seed) {
  const acc = [u64(seed + P1 + P2), u64(seed + P2), seed, u64(seed - P1)];
  for (let at = 0; at + 32 <= end; at += 32)
    for (let i = 0; i < 4; i++) acc[i] = round(acc[i], view.getBigUint64(at + 8 * i, true));
  const rotations = [1n, 7n, 12n, 18n];
  let h = u64(acc.reduce((sum, a, i) => sum + rotl(a, rotations[i]), 0n));
  for (const a of acc) h = u64((h ^ round(0n, a)) * P1 + P4);
  return h;
}

export function xxh64(bytes, seed) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length;
  let h = end >= 32 ? stripes(view, end, seed) : u64(seed + P5);
  let at = end - (end % 32);
  h = u64(h + BigInt(end));
  for (; at + 8 <= end; at += 8)
    h = u64(rotl(h ^ round(0n, view.getBigUint64(at, true)), 27n) * P1 + P4);
  for (; at + 4 <= end; at += 4)
    h = u64(rotl(h ^ u64(BigInt(view.getUint32(at, true)) * P1), 23n) * P2 + P3);
  for (; at < end; at++) h = u64(rotl(h ^ u64(BigInt(bytes[at]) * P5), 11n) * P1);
  h = u64((h ^ (h >> 33n)) * P2);
  h = u64((h ^ (h >> 29n)) * P3);
  return h ^ (h >> 32n);
}
