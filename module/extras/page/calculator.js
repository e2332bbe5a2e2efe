// The calculator: reads the form, calls sizing.js, shows the command, the numbers and two plots.

import { arrayBytes, errorRate, layerOf, layersFor, promisedRate, rateForGeneration, totalBytes } from "./sizing.js";
import { SECONDS, duration, memory, oneIn, parseItems, parseNumber, parseRate, percent, power, short, whole } from "./text.js";
import { plotInto } from "./plot.js";
import { bitsOfChain, bitsOfSlices, bitsOfWindow } from "./window.js";
import { byId, chosen } from "./page.js";

const NOTES = {
  plain: "Holds every item that was ever added.",
  window: "Forgets what was not added for that long. An item added again uses room in every generation.",
  counting: "BF.DEL deletes. Delete only what was added: deleting any other item can remove some of them.",
  CLASSIC: "Fewest bits for an error rate. An item’s bits lie anywhere in the array.",
  BLOCKED: "One cache line an item: two to three times as fast in large filters, for some more bits.",
  grow: "A layer more whenever it is full, that many times as large. The error rate holds.",
  fixed: "Always one layer: a bit less per item, and every export format can carry it.",
};
const TITLES = {
  plain: { items: "Items", rate: "Error rate when full" },
  window: { items: "Items per window", rate: "Error rate, promised" },
};
const MOST_SECONDS = 1_000_000_000;
const MOST_GENERATIONS = 64, DEFAULT_GENERATIONS = 4;
const GENERATIONS_SHOWN = [1, 2, 4, 8, 16];
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

// { seconds, generations } of a window, or what is wrong with them.
function readWindow() {
  const number = parseNumber(byId("window").value), exact = number * SECONDS[byId("unit").value];
  const seconds = Math.round(exact), generations = parseItems(byId("generations").value), problems = {};
  if (number === null || Math.abs(seconds - exact) > 1e-6 || seconds < 1 || seconds > MOST_SECONDS)
    problems.window = `Whole seconds, from 1 to ${whole(MOST_SECONDS)}.`;
  if (!(generations >= 1 && generations <= MOST_GENERATIONS))
    problems.generations = `Generations are a whole number from 1 to ${MOST_GENERATIONS}.`;
  const note = `A new generation begins every ${duration(seconds / generations)}, and the oldest is dropped.`;
  return { seconds, generations, problems, note };
}

function readForm() {
  const kind = chosen("kind"), grows = kind === "plain" && chosen("growth") === "grow";
  const capacity = parseItems(byId("items").value);
  const quality = readQuality(chosen("by"));
  const expansion = grows ? parseItems(byId("expansion").value) : 0;
  const timed = kind === "window" ? readWindow() : { seconds: 0, generations: 0 };
  const problems = { ...timed.problems, quality: quality.problem };
  if (capacity === null || capacity < 1) problems.items = "A whole number from 1: 250000, 1e6, 20M.";
  if (grows && !(expansion >= 1 && expansion <= 32768)) problems.expansion = "Expansion is a whole number from 1 to 32768.";
  const counting = kind === "counting", blocked = !counting && chosen("layout") === "BLOCKED";
  const params = { capacity, rate: quality.rate, bits: quality.bits, expansion, blocked, counting,
                   seconds: timed.seconds, generations: timed.generations };
  const notes = { kind: NOTES[kind], window: timed.note, items: capacity === null ? "" : `How many you expect: ${short(capacity)}.`,
                  quality: quality.note, growth: NOTES[chosen("growth")], layout: NOTES[chosen("layout")] };
  return { kind, params, problems, notes };
}

// Each kind shows the fields and the results that it has.
function showKind(kind) {
  const isWindow = kind === "window";
  for (const id of ["window-field", "generations-field", "found-tile", "generations-figure"]) byId(id).hidden = !isWindow;
  for (const id of ["expansion-field", "hashes-tile", "rate-figure"]) byId(id).hidden = isWindow;
  byId("growth-field").hidden = kind !== "plain";
  byId("layout-field").hidden = kind === "counting";
  for (const [id, title] of Object.entries(TITLES[kind] ?? TITLES.plain)) byId(`${id}-title`).textContent = title;
  byId("expansion").disabled = kind !== "plain" || chosen("growth") !== "grow";
}

const INPUTS_OF_NOTES = { kind: [], window: ["window", "generations"], items: ["items"], quality: ["quality"],
                          growth: ["expansion"], layout: [] };

function showNotes({ problems, notes }) {
  for (const [note, inputs] of Object.entries(INPUTS_OF_NOTES)) {
    const problem = inputs.map((input) => problems[input]).find(Boolean);
    byId(`${note}-note`).textContent = problem ?? notes[note] ?? "";
    byId(`${note}-note`).classList.toggle("bad", Boolean(problem));
    for (const input of inputs) byId(input).setAttribute("aria-invalid", String(Boolean(problems[input])));
  }
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

// What differs from the defaults of the server; EXPANSION is named all the same.
function optionsOf({ expansion, blocked, counting, seconds, generations }) {
  const words = counting ? ["LAYOUT", "COUNTING"] : blocked ? ["LAYOUT", "BLOCKED"] : [];
  if (counting) return words;
  if (!seconds) return [...(expansion ? ["EXPANSION", expansion] : ["NONSCALING"]), ...words];
  return ["WINDOW", seconds, ...(generations === DEFAULT_GENERATIONS ? [] : ["GENERATIONS", generations]), ...words];
}

function commandOf(params) {
  const { capacity, rate, bits } = params;
  const quality = bits ? ["BITSPERKEY", bits] : [rate];
  return ["BF.RESERVE", quoted(byId("key").value), ...quality, capacity, ...optionsOf(params)].join(" ");
}

// ---- The numbers

function put(id, text, sub) {
  byId(id).textContent = text;
  byId(`${id}-sub`).textContent = sub;
}

function showNumbers(params, layer) {
  const bytes = totalBytes(params, layer), full = errorRate(params.capacity, layer, params.blocked);
  put("memory", memory(bytes), `${whole(bytes)} bytes, and the key`);
  put("per-item", ((params.counting ? 4 : 1) * layer.m / params.capacity).toFixed(2),
      params.counting ? `${whole(layer.m)} counters of 4 bits` : `${whole(layer.m)} bits in all`);
  put("hashes", String(layer.k), params.blocked ? "in one block of 32 bytes" : `${params.counting ? "counters" : "bits set"} per item, at most`);
  const promise = `; at most ${percent(promisedRate(params, layer))} however far it grows`;
  put("rate", percent(full), oneIn(full) + (params.expansion ? promise : params.counting ? "; then new items are refused" : ""));
}

function showWindow(params, layer) {
  const { capacity, seconds, generations } = params, bytes = totalBytes(params, layer), promise = promisedRate(params, layer);
  put("memory", memory(bytes), `${whole(bytes)} bytes in ${generations + 1} generations of ${whole(arrayBytes(params, layer))}`);
  put("per-item", (8 * bytes / capacity).toFixed(2), `of a window: ${whole(layer.m)} bits and ${layer.k} hashes a generation`);
  put("found", duration(seconds, Math.floor), `surely gone ${duration(seconds * (1 + 1 / generations), Math.ceil)} after its last add`);
  put("rate", promise < 1 ? percent(promise) : "none", promise < 1 ? `${oneIn(promise)}, all generations together, bursts included`
    : "so few bits promise no rate");
}

// Beside the textbook, at the promised rate. What cannot be sized has a dash.
function showGenerations(params, layer) {
  const rate = layer ? promisedRate(params, layer) : 1;
  const brief = (time) => time.replace(/ (min|\w)\w*$/, " $1"); // "30 h"
  const digits = (bits) => (bits && rate < 1 ? bits.toFixed(1) : "–");
  const rows = GENERATIONS_SHOWN.map((g) => {
    const row = document.createElement("tr");
    const bits = rate < 1 && bitsOfWindow({ ...params, generations: g, bits: undefined, rate });
    row.className = g === params.generations ? "chosen" : "";
    for (const text of [g, layer ? brief(duration(params.seconds * (1 + 1 / g), Math.ceil)) : "–", digits(bits),
                        digits(rate < 1 && bitsOfChain(rate, g)), digits(rate < 1 && bitsOfSlices(rate, g))])
      row.append(Object.assign(document.createElement("td"), { textContent: text }));
    return row;
  });
  byId("generations-rows").replaceChildren(...rows);
  byId("generations-reading").textContent = rate < 1 ? `At ${percent(rate)} a chain of ${whole(params.generations)} generations takes `
    + `${bitsOfChain(rate, params.generations).toFixed(1)} bits by the textbook, age-partitioned slices ${bitsOfSlices(rate, params.generations).toFixed(1)}, though slices read fewer cache lines.` : "";
}

function showNothing(text) {
  byId("command").textContent = text;
  byId("command").classList.add("empty");
  for (const id of ["memory", "per-item", "found", "hashes", "rate"]) put(id, "–", " ");
  showGenerations({}, null);
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
  const promise = promisedRate(params, layer);
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

function curvesFor({ capacity, expansion, generations, counting }) {
  const of = `${capacity} ${expansion > 0} ${generations} ${counting}`;
  if (curves.of !== of) {
    const line = (layout) => Array.from({ length: 56 }, (_, i) => 10 ** (-0.3 - 0.12 * i)).map((rate) => {
      const params = { capacity, expansion, generations, rate, ...layout }, layer = layerOf(params);
      return { x: rate, y: layer ? totalBytes(params, layer) : NaN };
    }).filter(({ y }) => y > 0);
    const classic = { name: "CLASSIC", points: line({}) };
    curves = { of, lines: counting ? [{ name: "COUNTING", points: line({ counting }) }, classic]
                                   : [classic, { name: "BLOCKED", points: line({ blocked: true }) }] };
  }
  return curves.lines;
}

function memoryChart(params, layer) {
  const [one, two] = curvesFor(params), points = one.points;
  if (!points.length) return null; // more items than any of these rates can have
  const full = () => errorRate(params.capacity, layer, params.blocked);
  const rate = params.rate ?? (params.generations ? Math.min(promisedRate(params, layer), 1) : full());
  const at = totalBytes(params, layer), top = Math.max(at, 1.05 * points[points.length - 1].y);
  const chosenRate = Math.min(Math.max(rate, points[points.length - 1].x), points[0].x);
  const bytesAt = ({ name, points: all }, i) => `${name} ${all[i] ? memory(Math.ceil(all[i].y)) : "too large"}`;
  return {
    x: { min: Math.min(rate, 1e-7), max: Math.max(rate, 0.5), log: true, reverse: true, label: "error rate", format: (v) => power(Math.round(Math.log10(v))) },
    y: { min: 0, max: top, ...memoryUnit(top) },
    series: [{ ...one, className: "one" }, { ...two, className: "two", points: two.points.filter(({ y }) => y <= top) }],
    dot: { x: chosenRate, y: at },
    summary: `${memory(at)} for ${short(params.capacity)} items at ${percent(rate)}.`,
    read: (i) => `${percent(points[i].x)}: ${bytesAt(one, i)}, ${bytesAt(two, i)}`,
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
  showKind(form.kind);
  showNotes(form);
  moveSliders(form.params);
  const problem = Object.values(form.problems).find(Boolean);
  const layer = problem ? null : layerOf(form.params);
  byId("copy").disabled = !layer;
  byId("results").classList.toggle("stale", !layer);
  if (!layer) return showNothing(problem ?? "That is more than this layout can address.");
  byId("command").textContent = commandOf(form.params);
  byId("command").classList.remove("empty");
  if (form.kind === "window") {
    showWindow(form.params, layer);
    showGenerations(form.params, layer);
    drawRate(null); // it is not shown
  } else {
    showNumbers(form.params, layer);
    drawRate(rateChart(form.params, layer));
  }
  drawMemory(memoryChart(form.params, layer));
}

function setSlider() {
  Object.assign(byId("quality-slider"), SLIDERS[chosen("by")]);
}

// Switching the measure keeps the filter: the other measure's value for it is put in.
function switchMeasure() {
  const text = byId("quality").value, { capacity, blocked, generations } = readForm().params;
  const params = { capacity: capacity || 1e6, expansion: 0, blocked, generations: generations || 0 };
  setSlider();
  if (chosen("by") === "bits") {
    const layer = layerOf({ ...params, rate: Math.min(Math.max(parseRate(text) || 0.01, 1e-9), 0.9) });
    const items = params.capacity / (params.generations || 1);
    byId("quality").value = layer ? Math.min(Math.max(layer.m / items, 1), 256).toFixed(1) : "10";
  } else {
    const layer = layerOf({ ...params, bits: Math.min(Math.max(parseNumber(text) || 10, 1), 256) });
    const rate = layer && params.generations ? rateForGeneration(layer.rate, params.generations) : layer?.rate;
    byId("quality").value = layer ? percent(Number(Math.min(Math.max(rate, 1e-9), 0.9).toPrecision(2))) : "1 %";
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
