// The page's numbers for test_numbers.py: a list of [function, arguments...] as JSON on standard
// input, the list of results on standard output.

import { readFileSync } from "node:fs";
import { openFilter } from "../../module/extras/page/filter_file.js";
import { murmur128, murmur32, murmurSpark } from "../../module/extras/page/murmur3.js";
import { errorRate, firstLayer, layerOf, layersFor, promisedRate, totalBytes } from "../../module/extras/page/sizing.js";
import { duration } from "../../module/extras/page/text.js";
import { bitsOfChain, bitsOfSlices } from "../../module/extras/page/window.js";
import { xxh64 } from "../../module/extras/page/xxh64.js";

const fromHex = (hex) => new Uint8Array(Buffer.from(hex, "hex"));

// What the viewer shows of a file.
function viewed(path, variant) {
  const { format, blocked, k, m, ones, estimatedItems, currentErrorRate, scheme } = openFilter(new Uint8Array(readFileSync(path)), variant);
  return { format, blocked, k, m, ones, estimatedItems, currentErrorRate, scheme };
}

// The format, m and k of a file, and its answers, one character each; null if it has no lookups.
function lookedUp(hex, variant, items) {
  const filter = openFilter(fromHex(hex), variant ?? undefined), { format, m, k } = filter;
  return { format, m, k, answers: filter.hasLookups ? items.map((item) => Number(filter.has(fromHex(item)))).join("") : null };
}

// What the viewer shows of a file of layers, and its answers.
function layered(path, items) {
  const filter = openFilter(new Uint8Array(readFileSync(path)));
  const { format, layout, hash, m, ones, layers, estimatedItems, currentErrorRate, items: counted, capacity, arrayBytes, question } = filter;
  const answers = filter.hasLookups ? items.map((item) => Number(filter.has(fromHex(item)))).join("") : null;
  const set = items.map((item) => filter.hasLookups && filter.positions(fromHex(item)).every((p) => filter.isSet(p)));
  return { format, layout, hash, m, ones, layers: layers.length, estimatedItems, currentErrorRate, counted, capacity, arrayBytes,
           question, answers, set, k: layers.map((layer) => layer.k), parts: filter.fillOfParts(64).parts.length };
}

const positions = (hex, variant, items) => items.map((item) => openFilter(fromHex(hex), variant ?? undefined).positions(fromHex(item)));

// Why a file is refused; null if it is opened.
function complaintOf(hex, variant) {
  try {
    openFilter(fromHex(hex), variant ?? undefined);
    return null;
  } catch (error) {
    return error.message;
  }
}

// What the calculator shows of a filter of any kind, window and COUNTING included.
function sized(params) {
  const layer = layerOf(params);
  return { ...layer, bytes: totalBytes(params, layer), promise: promisedRate(params, layer) };
}

const functions = {
  bitsOfChain,
  bitsOfSlices,
  complaintOf,
  duration: (seconds, round) => duration(seconds, Math[round]),
  errorRate,
  firstLayer,
  layered,
  layersFor,
  lookedUp,
  murmur128: (hex, hasSigns) => murmur128(fromHex(hex), hasSigns).map(String),
  murmur32: (hex, seed) => murmur32(fromHex(hex), seed),
  murmurSpark: (hex, seed) => murmurSpark(fromHex(hex), seed),
  positions,
  sized,
  viewed,
  xxh64: (hex, seed) => xxh64(fromHex(hex), BigInt(seed)).toString(),
};

const jobs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(jobs.map(([name, ...rest]) => functions[name](...rest))));
