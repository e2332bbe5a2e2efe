// module/core/math/real.h in JavaScript: logarithm and exponential from + - * / alone, step by step as
// there, so that the page's sizes are the server's to the last bit. Browsers' own Math.log and
// Math.exp differ in the last digit.

export const LN2 = 0.693147180559945309417;

const LN2_HI = 0x162e42fee / 2 ** 33, LN2_LO = 0x1a39ef35793c76 / 2 ** 85;
const cell = new DataView(new ArrayBuffer(8));

// 2^n for n = -1022..1023, exactly.
function powerOfTwo(n) {
  cell.setUint32(0, (n + 1023) << 20);
  cell.setUint32(4, 0);
  return cell.getFloat64(0);
}

// x * 2^n, rounded once.
function scaled(x, n) {
  if (n > 1000) return x * powerOfTwo(1000) * powerOfTwo(n - 1000);
  return n < -1000 ? x * powerOfTwo(-1000) * powerOfTwo(n + 1000) : x * powerOfTwo(n);
}

// [f, e] with x = f * 2^e and f in [1/2, 1), for x > 0.
function split(x) {
  if (x < 1e-290) { // perhaps without a leading one
    const [f, e] = split(x * 2 ** 64);
    return [f, e - 64];
  }
  cell.setFloat64(0, x);
  const head = cell.getUint32(0);
  cell.setUint32(0, (head & 0x800fffff) | (1022 << 20));
  return [cell.getFloat64(0), ((head >> 20) & 0x7ff) - 1022];
}

export function ln(x) {
  let [f, e] = split(x);
  if (f < 0.70710678118654752440) {
    f *= 2;
    e--;
  }
  const s = (f - 1) / (f + 1), s2 = s * s;
  let sum = 0;
  for (let n = 25; n >= 1; n -= 2) sum = sum * s2 + 1.0 / n;
  return 2 * s * sum + e * LN2;
}

export function exp(x) {
  if (x < -745) return 0;
  const n = Math.floor(x / LN2 + 0.5);
  const r = x - n * LN2_HI - n * LN2_LO;
  let sum = 1;
  for (let i = 18; i >= 1; i--) sum = 1 + (sum * r) / i;
  return scaled(sum, n);
}

export function pow(x, y) {
  return exp(y * ln(x));
}
