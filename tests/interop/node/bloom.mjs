// Reads and writes Bloom filters in bloomport's portable format from Node, with npm's xxhash-wasm.
//
//   node bloom.mjs query FILE       items on standard input, one a line; prints 1 (possibly in) or 0
//   node bloom.mjs build K M FILE   writes a filter of M bits, K hashes, holding the items
//
// The filter itself is ../browser/portable.js: the same module serves a page and Node. Copy both.

import { readFileSync, writeFileSync } from "node:fs";
import xxhash from "xxhash-wasm";
import { PortableFilter } from "../browser/portable.js";

const { h64Raw } = await xxhash();

function* lines(bytes) {
  for (let start = 0, end; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(10, start);
    if (end < 0) end = bytes.length;
    yield bytes.subarray(start, end);
  }
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === "query" && rest.length === 1) {
  const filter = new PortableFilter(readFileSync(rest[0]), h64Raw);
  const answers = [];
  for (const item of lines(readFileSync(0))) answers.push(filter.has(item) ? "1\n" : "0\n");
  writeFileSync(1, answers.join(""));
} else if (mode === "build" && rest.length === 3) {
  const filter = PortableFilter.create(Number(rest[0]), BigInt(rest[1]), h64Raw);
  for (const item of lines(readFileSync(0))) filter.add(item);
  writeFileSync(rest[2], filter.bytes);
} else {
  console.error("usage: bloom.mjs query FILE | build K M FILE");
  process.exit(2);
}
