// Windows of time beside the textbook: bits per item of a window, for a chain of generations and for
// age-partitioned slices (Shtul, Baquero, Almeida, arXiv 2001.03147) at the same error rate.

import { generationLayer, totalBytes } from "./sizing.js";

const MOST_SLICES = 1100; // enough for the smallest number there is

/** A window's bits per item here, or null: all generations, over the items that one window brings. */
export function bitsOfWindow(params) {
  const layer = generationLayer(params);
  return layer && (8 * totalBytes(params, layer)) / params.capacity;
}

/** The textbook's chain: each of g + 1 generations has a share of the rate, and g of them a window. */
export const bitsOfChain = (rate, g) => (Math.log2((g + 1) / rate) * (1 + 1 / g)) / Math.LN2;

// The rate of k + g slices where an item sets a bit in each of the k newest: a false positive is k
// matches in a row. Slice i holds the items of min(i + 1, k) generations, and is half full with k.
function rateOfSlices(k, g) {
  const fill = (i) => 1 - 2 ** (-Math.min(i + 1, k) / k);
  let row = 1; // the chance that k slices in a row, ending here, all match
  for (let i = 0; i < k; i++) row *= fill(i);
  const rates = [...new Array(k).fill(0), row]; // rates[i]: the chance of such a row in the first i slices
  for (let i = k; i < k + g; i++) {
    row *= fill(i) / fill(i - k);
    rates.push(rates[i] + (1 - rates[i - k]) * (1 - fill(i - k)) * row);
  }
  return rates[k + g];
}

/** Age-partitioned slices, g generations a window: the least number of hashes that keeps the rate. */
export function bitsOfSlices(rate, g) {
  let k = 1;
  while (k < MOST_SLICES && rateOfSlices(k, g) > rate) k++;
  return (k * (k + g)) / g / Math.LN2;
}
