// module/core/math/rate.c in JavaScript: the false-positive rate of a layer, term by term as there,
// where every term is explained. Here for arrays below 2^53 bits, which Number holds.

import { exp, ln, pow } from "./real.js";

const TOTIENT = [0, 1, 1, 2, 2, 4, 2, 6, 4, 6, 4, 10, 4, 12, 6, 8, 8, 16, 6, 18, 8, 12, 10, 22, 8,
                 20, 12, 18, 12, 28, 8];

function gcd(a, b) {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

function twosOf(n) {
  let twos = 1;
  while (n % (2 * twos) === 0) twos *= 2;
  return twos;
}

// ---- Items and queries that visit few positions

function repeatFamily(weights, k, b, visits, limit) {
  const step = visits / b;
  let sum = weights[visits];
  for (let count = visits + step; count < limit; count += step) sum += 2 * weights[count];
  return sum / (b * (k - visits));
}

function repeatingByWraps(s, weights) {
  let sum = 0;
  for (let d = 1; d < s.k && d <= s.m; d++) {
    if (s.m % d !== 0) continue;
    const limit = Math.min(gcd(d, s.twoPart) * s.oddPart, s.k);
    for (let b = 1; b < limit; b++) {
      const visits = (b / gcd(b, d)) * d;
      if (visits >= limit || gcd(b, s.oddPart) !== 1) continue;
      sum += TOTIENT[b] * TOTIENT[d] * repeatFamily(weights, s.k, b, visits, limit);
    }
  }
  return sum / s.m;
}

function repeatingInCircles(s, weights) {
  let sum = 0;
  for (let d = 1; d <= s.twoPart && d < s.k && d * s.oddPart < s.k; d++)
    if (s.twoPart % d === 0) sum += TOTIENT[d] * weights[d * s.oddPart];
  return sum / s.twoPart;
}

const repeating = (s, weights) => repeatingByWraps(s, weights) + repeatingInCircles(s, weights);

const repeatingQueries = (s) => repeating(s, s.powers.map((power) => power - s.powers[s.k]));

function distinctPositions(s) {
  return s.k - repeating(s, Array.from({ length: s.k + 1 }, (_, i) => s.k - i));
}

// ---- The fill

function fillSum(k, f) {
  let sum = 0, slope = 0, power = 1;
  for (let i = 1; i <= k; i++) {
    slope += power;
    power *= f;
    sum += power / i;
  }
  return { sum, slope };
}

function fillExcess(s, distinct, f) {
  const { sum, slope } = fillSum(s.k, f);
  return sum - (distinct / s.m) * (0.5 * ln(slope) + s.n);
}

function itemsOfFill(s, f) {
  const { sum, slope } = fillSum(s.k, f);
  const distinct = s.m < 100 * s.k ? distinctPositions(s) : s.k;
  const items = (sum * s.m) / distinct - 0.5 * ln(slope);
  return items > 0 ? items : 0;
}

function fillWhenFull(s) {
  const distinct = distinctPositions(s);
  let low = 0, high = 1;
  for (let step = 0; step < 50; step++) {
    const middle = 0.5 * (low + high);
    if (fillExcess(s, distinct, middle) < 0) low = middle;
    else high = middle;
  }
  return high;
}

// ---- Items along the query

function alignedWeight(s, f) {
  const k = s.k, wraps = s.oddPart > 1;
  const whole = wraps ? (3 + 14 / k) / (k * k) : 2;
  let sum = whole;
  for (let j = 1; j + 3 <= k; j++)
    sum += s.powers[j] * (wraps ? (whole * (j + 1.0) * (j + 2.0)) / 2 : 4);
  return sum + (wraps ? 2.2 : 5.0) * (k - 3) * pow(f, k / 2);
}

const twoUnset = (s, f) => ((s.k * (s.k - 1)) / 2) * s.powers[s.k - 2] * (1 - f) * (1 - f);

function alignedGain(s, f) {
  if (s.k < 3) return 0;
  const atMostTwo = s.powers[s.k] + twoUnset(s, f) + s.k * s.powers[s.k - 1] * (1 - f);
  return alignedWeight(s, f) * (1 - atMostTwo);
}

function alignedItems(s, f) {
  if (s.k < 2) return 0;
  let sum = -s.k * twoUnset(s, f);
  sum += alignedGain(s, f);
  return (s.n / (s.m * s.m)) * sum;
}

function alignedRepeats(s, f) {
  const k = s.k;
  const empty = 1 - f > 0.3 ? 1 - f : 0.3;
  const cases = k > 3 ? ((k * k - 9) * 0.2) / (empty * empty) : 0;
  return (cases * s.n) / (s.m * s.m * s.m);
}

// ---- Factors that strides share with m

function crowdedCosets(s) {
  let sum = 0;
  for (let d = 2; d <= s.k; d++) {
    if (s.m % d !== 0) continue;
    const odd = d / twosOf(d);
    const stays = odd === 1 || odd === s.oddPart || s.oddPart === 1;
    sum += (stays ? 0.7 : 0.2) * TOTIENT[d] * d * d;
  }
  return (s.n / (s.m * s.m * s.m)) * sum;
}

function commonFactors(s, f) {
  const isEven = s.m % 2 === 0, wraps = s.oddPart > 1;
  if (s.k < 3 || (!isEven && wraps)) return 0;
  const strides = isEven ? 5.5 * (s.k - 2.5) * pow(f, s.k / 2) : 0;
  return crowdedCosets(s) + (s.n / (s.m * s.m)) * strides;
}

function visitingRate(s, f) {
  s.powers = [1];
  for (let i = 1; i <= s.k; i++) s.powers.push(s.powers[i - 1] * f);
  return s.powers[s.k] + repeatingQueries(s);
}

function crowdedClass(s, f) {
  const twos = twosOf(s.m);
  let g = twos;
  while (g > 1 && s.m / g <= s.k) g /= 2;
  const m = s.m / g;
  if (g === 1 || m > 2.5 * s.k) return 0;
  const inner = { n: 1, m, k: s.k, oddPart: s.oddPart, twoPart: m / s.oddPart };
  const more = ((1 - f) * distinctPositions(inner)) / m;
  const above = visitingRate(inner, f + more) - visitingRate(inner, f) -
                s.k * s.powers[s.k - 1] * more;
  const chance = (g < twos ? 0.5 : 1.0) / (g * g * g);
  return above * s.n * chance;
}

// ---- The sum

function shapeOf(m, k, wraps) {
  const twoPart = wraps ? twosOf(m) : m;
  return { m, k, twoPart, oddPart: m / twoPart };
}

/** The rate of a layer of m bits and k = 1..30 hashes when `items` adds have counted. */
export function rateWhenFull(items, m, k) {
  const s = { ...shapeOf(m, k, true), n: items };
  const f = fillWhenFull(s);
  let rate = visitingRate(s, f); // first: it sets the powers the others use
  rate += alignedItems(s, f) + alignedRepeats(s, f);
  rate += commonFactors(s, f) + crowdedClass(s, f);
  return rate < 1 ? rate : 1;
}

// ---- The rate of a layer whose set bits are counted

// How the positions follow from an item's words, and the share of the rare cases that this leaves.
const WALKS = { WRAPS: 1, STRAIGHT: 1, SPLIT: 1, HALVED: 0.8, FOLDED: 0.35, MIXED: 0.2, SUMS: 0.2, FREE: 0 };

const WALK_OF = { FNV1A: "STRAIGHT", SPARK2: "STRAIGHT", SIP13: "SPLIT", DATASKETCHES: "HALVED", GUAVA32: "FOLDED",
                  SPARK1: "FOLDED", CASSANDRA2: "FOLDED", CASSANDRA3: "FOLDED", GO: "MIXED", REDISSON: "SUMS",
                  BIP37: "FREE" };

function drawnPowers({ m, k }, ones) {
  const powers = [1];
  for (let i = 0; i < k; i++) powers.push(ones > i && m > i ? (powers[i] * (ones - i)) / (m - i) : 0);
  return powers;
}

function crowdedNow(s, f) {
  if (s.k < 3) return 0;
  let sum = 0;
  for (let d = 2; d <= s.k; d++) {
    const stays = s.oddPart === 1 || (d & (d - 1)) === 0;
    if (s.m % d === 0 && stays) sum += TOTIENT[d] * d * d;
  }
  return (0.6 * sum * s.n) / (s.m * s.m * s.m) + 0.5 * crowdedClass(s, f);
}

function rareCases(s, f) {
  const k = s.k, few = k / s.m;
  let perItem = alignedGain(s, f);
  if (k > 3) perItem += (0.25 * (k * k - 9)) / s.m;
  const sum = repeatingQueries(s) + (s.n / (s.m * s.m)) * perItem + crowdedNow(s, f);
  return few < 1 ? (1 - few * few) * sum : 0;
}

function independentRate(fill, k) {
  let rate = 1;
  for (let i = 0; i < k; i++) rate *= fill;
  return rate;
}

function equalSums(k, f) {
  const covered = Math.floor(k / 2);
  if (covered < 2) return 0;
  return independentRate(f, k - covered) - independentRate(f, k) - covered * independentRate(f, k - 1) * (1 - f);
}

/** The rate of a layer with so many set bits of m, of a scheme. */
export function rateNow(ones, m, k, scheme) {
  const walk = WALK_OF[scheme] ?? "WRAPS", f = ones / m;
  if (f >= 1 || f <= 0) return f >= 1 ? 1 : 0;
  if (walk === "FREE" || k > 30) return independentRate(f, k);
  const s = shapeOf(m, k, walk !== "STRAIGHT");
  s.n = itemsOfFill(s, f);
  const isSplit = walk === "SPLIT" && k > 1;
  if (isSplit) s.k--;
  s.powers = drawnPowers(s, ones);
  let rate = s.powers[s.k] + WALKS[walk] * rareCases(s, f);
  if (isSplit) rate *= f;
  if (walk === "SUMS") rate += (equalSums(k, f) * s.n) / s.m;
  return rate < 1 ? rate : 1;
}

// ---- Items that stay in one block: layout BLOCKED, and RocksDB's lines

export const BLOCK = 256; // bits
export const LINE = 512;

const BLOCKED_KIND = { miss: 31.0 / 32, checks: 8 };

function blockHit(kind, misses) {
  const bit = 1 - misses, two = bit * bit;
  let hit = kind.checks % 2 ? bit : 1;
  for (let i = 1; i < kind.checks; i += 2) hit *= two;
  return hit;
}

function blockLoad(kind, offers, blocks) {
  let rate = 0, known = 0, misses = 1;
  if (blocks < 2) {
    for (let j = 0; j < offers && misses > 1e-20; j++, misses *= kind.miss) known += blockHit(kind, misses);
    return { rate: blockHit(kind, misses), known };
  }
  const odds = 1 / (blocks - 1), mean = offers / blocks;
  let chance = exp(offers * ln(1 - 1 / blocks)), above = 1;
  for (let j = 0; j <= offers && (j <= mean || chance > 1e-20); j++) {
    rate += chance * blockHit(kind, misses);
    above -= chance;
    known += above > 0 ? above * blockHit(kind, misses) : 0;
    chance *= ((offers - j) / (j + 1)) * odds;
    misses *= kind.miss;
  }
  return { rate, known };
}

/** The rate of a layer of `blocks` blocks, layout BLOCKED, when `items` adds have counted. */
export function rateBlockedWhenFull(items, blocks) {
  if (items >= blocks * 256) return 1;
  let low = items, high = items;
  for (let i = 0; i < 64; i++) {
    if (high - blockLoad(BLOCKED_KIND, high, blocks).known * blocks >= items) break;
    low = high;
    high *= 2;
    if (high > items * 16) return 1;
  }
  for (let i = 0; i < 40 && high > low; i++) {
    const middle = 0.5 * (low + high);
    if (middle - blockLoad(BLOCKED_KIND, middle, blocks).known * blocks >= items) high = middle;
    else low = middle;
  }
  return blockLoad(BLOCKED_KIND, high, blocks).rate;
}

// ---- The same for blocks and lines whose set bits are counted

const offersOfFill = (kind, fill, blocks) => ln(1 - fill) / ln(1 - (1 - kind.miss) / blocks);

function blocksNow(kind, fill, blocks) {
  if (fill >= 1) return 1;
  if (blocks < 2) return independentRate(fill, kind.checks);
  const offers = offersOfFill(kind, fill, blocks);
  return offers > 640 * blocks ? 1 : blockLoad(kind, offers, blocks).rate;
}

const lineOf = (k) => ({ miss: pow(1 - 1.0 / LINE, k), checks: k });

/** The rate of a BLOCKED layer: the mean over blocks, which do not all hold the same number of items. */
export const rateBlockedNow = (fill, blocks) => blocksNow(BLOCKED_KIND, fill, blocks);

/** The rate of RocksDB's filters, whose items have k bits in one line. */
export const rateLinesNow = (fill, lines, k) => blocksNow(lineOf(k), fill, lines);

/** The rate of RocksDB's filters before format_version 5: a line with j items is a small CLASSIC
 *  layer, and j is binomial. */
export function rateLines4Now(fill, lines, k) {
  const line = lineOf(k);
  let rate = 0, misses = 1;
  if (fill >= 1) return 1;
  if (lines < 2) return rateNow(fill * LINE, LINE, k, "FNV1A");
  const offers = offersOfFill(line, fill, lines), mean = offers / lines;
  if (mean > 640) return 1;
  let chance = exp(offers * ln(1 - 1 / lines)); // of exactly j items
  for (let j = 0; j <= offers && (j <= mean || chance > 1e-12); j++) {
    if (chance > 1e-12) rate += chance * rateNow(LINE * (1 - misses), LINE, k, "FNV1A");
    chance *= (offers - j) / (j + 1) / (lines - 1);
    misses *= line.miss;
  }
  return rate;
}
