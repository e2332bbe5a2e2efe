// The calculator: reads the form, calls sizing.js, shows the command, the numbers and two plots.

import { errorRate, firstLayer, layersFor, sizeByError } from "./sizing.js";
import { memory, oneIn, parseItems, parseNumber, parseRate, percent, power, short, whole } from "./text.js";
import { plotInto } from "./plot.js";
import { byId, chosen } from "./page.js";

const NOTES = {
  CLASSIC: "Fewest bits for an error rate. An item’s bits lie anywhere in the array.",
  BLOCKED: "One cache line an item: two to three times as fast in large filters, for some more bits.",
  grow: "A layer more whenever it is full, that many times as large. The error rate holds.",
  fixed: "Always one layer: a bit less per item, and every export format can carry it.",
};
const SLIDERS = { rate: { min: -7, max: -0.3, step: 0.01 }, bits: { min: 4, max: 32, step: 0.1 } };

// ---- The form

function readQuality(by) {
  const text = byId("quality").value;
  if (by === "rate") {
    const rate = parseRate(text);
    if (rate === null) return { problem: "Write 0.01, 1 %, or 1 in 100." };
    if (!(rate > 0 && rate < 1)) return { problem: "Between 0 and 1, both excluded." };
    return { rate, note: `Absent items that get a yes: ${oneIn(rate)}.` };
  }
  const bits = parseNumber(text);
  if (bits === null || bits < 1 || bits > 256) return { problem: "A number from 1 to 256." };
  return { bits, note: "Exactly these bits in the first layer." };
}

function readForm() {
  const by = chosen("by"), grows = chosen("growth") === "grow";
  const capacity = parseItems(byId("items").value);
  const quality = readQuality(by);
  const expansion = grows ? parseItems(byId("expansion").value) : 0;
  const problems = { quality: quality.problem };
  if (capacity === null || capacity < 1) problems.items = "A whole number from 1: 250000, 1e6, 20M.";
  if (grows && !(expansion >= 1 && expansion <= 32768)) problems.growth = "Expansion is a whole number from 1 to 32768.";
  const params = { capacity, rate: quality.rate, bits: quality.bits, expansion, blocked: chosen("layout") === "BLOCKED" };
  const notes = { items: capacity === null ? "" : `How many you expect: ${short(capacity)}.`, quality: quality.note,
                  growth: NOTES[chosen("growth")], layout: NOTES[chosen("layout")] };
  return { params, problems, notes };
}

function showNotes({ problems, notes }) {
  for (const field of ["items", "quality", "growth", "layout"]) {
    byId(`${field}-note`).textContent = problems[field] ?? notes[field] ?? "";
    byId(`${field}-note`).classList.toggle("bad", Boolean(problems[field]));
    const input = byId({ growth: "expansion" }[field] ?? field);
    if (input) input.setAttribute("aria-invalid", String(Boolean(problems[field])));
  }
  byId("expansion").disabled = chosen("growth") !== "grow";
}

function moveSliders({ capacity, rate, bits }) {
  if (capacity) byId("items-slider").value = Math.log10(capacity);
  if (rate) byId("quality-slider").value = Math.log10(rate);
  if (bits) byId("quality-slider").value = bits;
}

// ---- The command

/** A word as redis-cli takes it. */
function quoted(word) {
  if (/^[\w.:{}@/+=,-]+$/.test(word)) return word;
  return `"${word.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}

function commandOf({ capacity, rate, bits, expansion, blocked }) {
  const words = ["BF.RESERVE", quoted(byId("key").value), ...(bits ? ["BITSPERKEY", bits] : [rate]), capacity,
                 ...(expansion ? ["EXPANSION", expansion] : ["NONSCALING"]), ...(blocked ? ["LAYOUT", "BLOCKED"] : [])];
  return words.join(" ");
}

// ---- The numbers

function showNumbers(params, layer) {
  const bytes = Math.ceil(layer.m / 8), full = errorRate(params.capacity, layer, params.blocked);
  const put = (id, text, sub) => {
    byId(id).textContent = text;
    byId(`${id}-sub`).textContent = sub;
  };
  put("memory", memory(bytes), `${whole(bytes)} bytes, and the key`);
  put("per-item", (layer.m / params.capacity).toFixed(2), `${whole(layer.m)} bits in all`);
  put("hashes", String(layer.k), params.blocked ? "in one block of 32 bytes" : "bits set per item, at most");
  const promise = params.bits ? `at most ${percent(2 * full)}` : `at most ${percent(params.rate)}`;
  put("rate", percent(full), oneIn(full) + (params.expansion ? `; ${promise} however far it grows` : ""));
}

function showNothing(text) {
  byId("command").textContent = text;
  byId("command").classList.add("empty");
  for (const id of ["memory", "per-item", "hashes", "rate"]) {
    byId(id).textContent = "–";
    byId(`${id}-sub`).textContent = " ";
  }
  drawRate(null);
  drawMemory(null);
}

// ---- The plots

// The rate of a chain of layers that holds `items` is nearly the sum of the rates of all layers.
function rateOfChain(layers, items, blocked) {
  let passed = 1;
  for (const layer of layers) {
    const here = Math.min(items, layer.capacity);
    if (here <= 0) break;
    passed *= 1 - errorRate(here, layer, blocked);
    items -= here;
  }
  return 1 - passed;
}

function rateChart(params, layer) {
  const { capacity, expansion, blocked } = params, every = [];
  const promise = params.rate ?? (expansion ? 2 : 1) * errorRate(capacity, layer, blocked);
  const from = Math.max(1, capacity / 8), to = expansion ? capacity * 64 : capacity * 1.25;
  const layers = layersFor(params, to) ?? [layer];
  const steps = expansion ? 144 : 80, end = expansion ? to : capacity;
  for (let i = 0; i <= steps; i++) {
    const x = Math.max(1, Math.round(expansion ? from * (to / from) ** (i / steps) : (end * i) / steps));
    if (every.length && every[every.length - 1].x === x) continue;
    every.push({ x, y: rateOfChain(layers, x, blocked) });
  }
  const floor = promise * (expansion ? 1e-3 : 1e-6), points = every.filter(({ y }) => y >= floor);
  const used = (items) => { // layers in use
    let room = 0;
    return 1 + layers.findIndex((one) => (room += one.capacity) >= items);
  };
  return {
    x: { min: expansion ? from : 0, max: to, log: expansion > 0, label: "items", format: short },
    y: { min: floor, max: Math.min(1, promise * (expansion ? 4 : 10)), log: true, format: (v) => power(Math.round(Math.log10(v))) },
    series: [{ className: "one", points }],
    rule: { y: promise, text: `promised: ${percent(promise)}` },
    dot: { x: capacity, y: rateOfChain(layers, capacity, blocked) },
    full: expansion ? null : { x: capacity, text: "full" },
    summary: expansion ? "It grows, layer by layer, and stays below the promise." : "The rate rises until it is full; then new items are refused.",
    read: (i) => `${whole(points[i].x)} items: ${percent(points[i].y)}` + (expansion ? `, ${used(points[i].x)} layers, ${memory(
      layers.slice(0, used(points[i].x)).reduce((sum, one) => sum + Math.ceil(one.m / 8), 0))}` : ""),
  };
}

// The sizes of both layouts do not depend on the chosen error rate, so they are cached.
let curves = { of: "" };

function curvesFor({ capacity, expansion }) {
  const of = `${capacity} ${expansion > 0}`;
  if (curves.of !== of) {
    const share = expansion ? 0.625 : 1;
    const line = (blocked) => Array.from({ length: 56 }, (_, i) => 10 ** (-0.3 - 0.12 * i))
      .map((rate) => ({ x: rate, size: sizeByError(capacity, rate * share, blocked) }))
      .map(({ x, size }) => ({ x, y: size ? size.m / 8 : NaN })).filter(({ y }) => y > 0);
    curves = { of, classic: line(false), blocked: line(true) };
  }
  return curves;
}

function memoryChart(params, layer) {
  const { classic, blocked } = curvesFor(params);
  if (!classic.length) return null; // more items than any of these rates can have
  const rate = params.rate ?? errorRate(params.capacity, layer, params.blocked), at = layer.m / 8;
  const chosenRate = Math.min(Math.max(rate, classic[classic.length - 1].x), classic[0].x);
  const top = Math.max(at, 1.05 * classic[classic.length - 1].y);
  return {
    x: { min: Math.min(rate, 1e-7), max: Math.max(rate, 0.5), log: true, reverse: true, label: "error rate", format: (v) => power(Math.round(Math.log10(v))) },
    y: { min: 0, max: top, ...memoryUnit(top) },
    series: [{ name: "CLASSIC", className: "one", points: classic }, { name: "BLOCKED", className: "two", points: blocked.filter(({ y }) => y <= top) }],
    dot: { x: chosenRate, y: at },
    summary: `${memory(Math.ceil(at))} for ${short(params.capacity)} items at ${percent(rate)}.`,
    read: (i) => `${percent(classic[i].x)}: CLASSIC ${memory(Math.ceil(classic[i].y))}, BLOCKED ${blocked[i] ? memory(Math.ceil(blocked[i].y)) : "too large"}`,
  };
}

// The unit that suits the top of an axis, and labels in it.
function memoryUnit(top) {
  const which = Math.max(0, Math.min(5, Math.floor(Math.log2(top) / 10))), unit = 1024 ** which;
  return { unit, format: (bytes) => `${Number((bytes / unit).toPrecision(3))} ${"BKMGTP"[which]}` };
}

// ---- Together

const drawRate = plotInto(byId("plot-rate"), byId("plot-rate-reading"));
const drawMemory = plotInto(byId("plot-memory"), byId("plot-memory-reading"));

function update() {
  const form = readForm();
  showNotes(form);
  moveSliders(form.params);
  const problem = Object.values(form.problems).find(Boolean);
  const layer = problem ? null : firstLayer(form.params);
  byId("copy").disabled = !layer;
  byId("results").classList.toggle("stale", !layer);
  if (!layer) return showNothing(problem ?? "That is more than this layout can address.");
  byId("command").textContent = commandOf(form.params);
  byId("command").classList.remove("empty");
  showNumbers(form.params, layer);
  drawRate(rateChart(form.params, layer));
  drawMemory(memoryChart(form.params, layer));
}

function setSlider() {
  Object.assign(byId("quality-slider"), SLIDERS[chosen("by")]);
}

// Switching the measure keeps the filter: the other measure's value for it is put in.
function switchMeasure() {
  const text = byId("quality").value, capacity = parseItems(byId("items").value) ?? 1e6;
  const blocked = chosen("layout") === "BLOCKED";
  setSlider();
  if (chosen("by") === "bits") {
    const size = sizeByError(capacity, Math.min(Math.max(parseRate(text) || 0.01, 1e-9), 0.9), blocked);
    byId("quality").value = size ? Math.min(Math.max(size.m / capacity, 1), 256).toFixed(1) : "10";
  } else {
    const bits = Math.min(Math.max(parseNumber(text) || 10, 1), 256);
    const layer = firstLayer({ capacity, bits, expansion: 0, blocked });
    byId("quality").value = layer ? percent(Number(Math.max(layer.rate, 1e-9).toPrecision(2))) : "1 %";
    if (parseRate(byId("quality").value) === null) byId("quality").value = "0.01";
  }
}

async function copy() {
  const text = byId("command").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not allowed from disk in some browsers: the old way
    getSelection().selectAllChildren(byId("command"));
    document.execCommand("copy");
  }
  byId("copy").textContent = "Copied";
  setTimeout(() => (byId("copy").textContent = "Copy"), 1500);
}

export function startCalculator() {
  byId("items-slider").addEventListener("input", (event) => {
    const value = 10 ** event.target.value;
    byId("items").value = whole(Number(value.toPrecision(2)));
  });
  byId("quality-slider").addEventListener("input", (event) => {
    const value = Number(event.target.value);
    byId("quality").value = chosen("by") === "bits" ? value.toFixed(1) : percent(Number((10 ** value).toPrecision(2)));
    if (chosen("by") === "rate" && parseRate(byId("quality").value) === null)
      byId("quality").value = String(Number((10 ** value).toPrecision(2)));
  });
  for (const radio of document.getElementsByName("by")) radio.addEventListener("change", switchMeasure);
  byId("form").addEventListener("input", update);
  byId("form").addEventListener("change", update);
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  byId("copy").addEventListener("click", copy);
  setSlider();
  update();
}
