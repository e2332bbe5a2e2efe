// The page's numbers for test_numbers.py: a list of [function, arguments...] as JSON on standard
// input, the list of results on standard output.

import { readFileSync } from "node:fs";
import { openFilter } from "../../module/extras/page/filter_file.js";
import { errorRate, firstLayer, layersFor } from "../../module/extras/page/sizing.js";
import { xxh64 } from "../../module/extras/page/xxh64.js";

// What the viewer shows of a file.
function viewed(path) {
  const { format, blocked, k, m, ones, estimatedItems, currentErrorRate } = openFilter(new Uint8Array(readFileSync(path)));
  return { format, blocked, k, m, ones, estimatedItems, currentErrorRate };
}

const functions = {
  errorRate,
  firstLayer,
  layersFor,
  viewed,
  xxh64: (hex, seed) => xxh64(new Uint8Array(Buffer.from(hex, "hex")), BigInt(seed)).toString(),
};

const jobs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(jobs.map(([name, ...rest]) => functions[name](...rest))));
