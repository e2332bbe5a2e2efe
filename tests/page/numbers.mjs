// The page's numbers for test_numbers.py: a list of [function, arguments...] as JSON on standard
// input, the list of results on standard output.

import { readFileSync } from "node:fs";
import { openFilter } from "../../module/extras/page/filter_file.js";
import { errorRate, firstLayer, layerOf, layersFor, promisedRate, totalBytes } from "../../module/extras/page/sizing.js";
import { duration } from "../../module/extras/page/text.js";
import { bitsOfChain, bitsOfSlices } from "../../module/extras/page/window.js";
import { xxh64 } from "../../module/extras/page/xxh64.js";

// What the viewer shows of a file.
function viewed(path) {
  const { format, blocked, k, m, ones, estimatedItems, currentErrorRate } = openFilter(new Uint8Array(readFileSync(path)));
  return { format, blocked, k, m, ones, estimatedItems, currentErrorRate };
}

// What the calculator shows of a filter of any kind, window and COUNTING included.
function sized(params) {
  const layer = layerOf(params);
  return { ...layer, bytes: totalBytes(params, layer), promise: promisedRate(params, layer) };
}

const functions = {
  bitsOfChain,
  bitsOfSlices,
  duration: (seconds, round) => duration(seconds, Math[round]),
  errorRate,
  firstLayer,
  layersFor,
  sized,
  viewed,
  xxh64: (hex, seed) => xxh64(new Uint8Array(Buffer.from(hex, "hex")), BigInt(seed)).toString(),
};

const jobs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(jobs.map(([name, ...rest]) => functions[name](...rest))));
