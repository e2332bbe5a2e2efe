// module/core/math/sizing.c, and the growth of filter.c, in JavaScript: what BF.RESERVE will make of its
// arguments, bit for bit (tests/page compares). Number holds no sizes from 2^53 bits on (a petabyte).
// A function returns null for such a size, and for one that the layout cannot address.

import { LN2, exp, ln, pow } from "./real.js";
import { BLOCK, rateBlockedWhenFull, rateWhenFull } from "./rate.js";

const MAX_BITS = 2 ** 53;
const MAX_BLOCKED_BITS = 2 ** 40;
const FIRST_SHARE = 0.625;
const GENERATION_SHARE = 0.8; // of a generation's rate, for its first layer; the rest is for bursts
const SLOW_LAYERS = 16; // from here on a new layer has at least the capacity of all before it

const clampHashes = (k) => Math.min(Math.max(Math.floor(k + 0.5), 1), 30);
const inRange = (m, blocked) => m >= 1 && m < MAX_BITS && (!blocked || m <= MAX_BLOCKED_BITS);

/** The false-positive rate of a layer when `items` adds have counted. */
export function errorRate(items, { m, k }, blocked) {
  return blocked ? rateBlockedWhenFull(items, m / BLOCK) : rateWhenFull(items, m, k);
}

/** { m, k } of a layer with b bits per item. The layer is one of `parts` that share the items. */
export function sizeByBits(capacity, b, blocked, parts = 1) {
  const m = Math.ceil((capacity * b) / parts);
  const size = blocked ? { m: Math.ceil(m / BLOCK) * BLOCK, k: 8 } : { m, k: clampHashes(b * LN2) };
  return inRange(size.m, blocked) ? size : null;
}

// The smallest size that is enough, from the step `low` on. Steps are odd numbers, or whole blocks.
function search(low, isEnough) {
  const strideAt = (step) => Math.floor(step / 1024) + 1;
  let stride = strideAt(low);
  while (low > 0 && isEnough(low)) {
    low = low > stride ? low - stride : 0;
    stride *= 2;
  }
  stride = strideAt(low);
  let high = low + stride;
  while (!isEnough(high)) {
    if (high > MAX_BITS) return null;
    low = high;
    high += stride;
    stride *= 2;
  }
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** { m, k } of the smallest layer that, full, keeps the error rate. */
export function sizeByError(capacity, rate, blocked) {
  const k = blocked ? 8 : clampHashes(-ln(rate) / LN2);
  if (k === 1) {
    const m = Math.ceil(capacity / rate);
    return inRange(m, false) ? { m, k } : null;
  }
  const guess = (-k * capacity) / ln(1 - pow(rate, 1.0 / k)); // the textbook's
  if (!(guess > 0 && guess < MAX_BITS)) return null;
  const at = (step) => (blocked ? step * BLOCK : 2 * step + 1);
  const isEnough = (step) => errorRate(capacity, { m: at(step), k }, blocked) <= rate;
  const step = search(Math.floor(Math.floor(guess) / (blocked ? BLOCK : 2)), isEnough);
  return step !== null && inRange(at(step), blocked) ? { m: at(step), k } : null;
}

// ---- Growth

const growthSpent = (x) => (x <= 12 ? x / 15 : 1 - exp(-(x - 12) / 3) / 5);

function growthShare(first, before, after) {
  return growthSpent(ln(after / first) / LN2) - growthSpent(ln(before / first) / LN2);
}

/** Takes the parameters { capacity, rate or bits, expansion, blocked } of the first layer.
 *  Returns the layer { capacity, rate, m, k }, or null. */
export function firstLayer({ capacity, rate, bits, expansion, blocked }) {
  const share = expansion ? rate * FIRST_SHARE : rate;
  const size = bits ? sizeByBits(capacity, bits, blocked) : sizeByError(capacity, share, blocked);
  return size && { capacity, rate: bits ? errorRate(capacity, size, blocked) : share, ...size };
}

// ---- Windows of time: a chain of generations + 1, each for its part of the items

/** The first layer of every generation of a window that brings `capacity` items: { capacity, rate, m, k },
 *  or null. */
export function generationLayer({ capacity, rate, bits, generations, blocked }) {
  const part = Math.ceil(capacity / generations), share = GENERATION_SHARE * (rate / (generations + 1));
  const size = bits ? sizeByBits(capacity, bits, blocked, generations) : sizeByError(part, share, blocked);
  return size && { capacity: part, rate: bits ? errorRate(part, size, blocked) : share, ...size };
}

/** The rate that, asked for a window, gives its layers this one. */
export const rateForGeneration = (layerRate, generations) => (layerRate / GENERATION_SHARE) * (generations + 1);

// ---- All kinds

/** The layer that BF.RESERVE makes first. Parameters with `generations` are a window's. */
export const layerOf = (params) => (params.generations ? generationLayer(params) : firstLayer(params));

/** The bytes of one array: COUNTING has a counter of 4 bits where the others have a bit. */
export const arrayBytes = ({ counting }, { m }) => Math.ceil(m / (counting ? 2 : 8));

/** The bytes of what holds the items: one array, or those of all generations of a window. */
export const totalBytes = (params, layer) => ((params.generations || 0) + 1) * arrayBytes(params, layer);

/** The false-positive rate that is promised, whatever comes; over 1 it promises nothing. */
export function promisedRate({ capacity, rate, bits, expansion, generations, blocked }, layer) {
  if (!bits) return rate;
  if (generations) return 2 * (generations + 1) * layer.rate;
  return (expansion ? 2 : 1) * errorRate(capacity, layer, blocked);
}

// ---- Chains

/** The layer that follows `layers`, or null. */
export function nextLayer({ rate, bits, expansion, blocked }, layers) {
  const first = layers[0], before = layers.reduce((sum, layer) => sum + layer.capacity, 0);
  const expanded = layers[layers.length - 1].capacity * expansion;
  const capacity = layers.length >= SLOW_LAYERS ? Math.max(expanded, before) : expanded;
  const budget = bits ? first.rate : rate * (1 - FIRST_SHARE);
  const share = budget * growthShare(first.capacity, before, before + capacity);
  const size = sizeByError(capacity, share, blocked);
  return size && { capacity, rate: share, ...size };
}

/** The chain that holds `items` items: as many layers as it takes, at most 64, or null. */
export function layersFor(params, items) {
  const layers = [];
  for (let room = 0; room < items && layers.length < 64; room += layers[layers.length - 1].capacity) {
    const layer = layers.length ? nextLayer(params, layers) : firstLayer(params);
    if (!layer) return null;
    layers.push(layer);
    if (!params.expansion) break;
  }
  return layers;
}
