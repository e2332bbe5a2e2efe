// The viewer: opens a file that was dropped or chosen, shows its numbers, looks items up.

import { exampleFilter, openFilter } from "./filter_file.js";
import { memory, oneIn, percent, whole } from "./text.js";
import { byId, choose, chosen } from "./page.js";

const MOST_FILE_BYTES = 2 ** 31; // what a browser reads into one array
const MOST_ANSWERS = 1000;
const EDGE = 3; // pixels around the picture, for the frames
let filter = null, source = null; // what is shown, and the bytes of its file

// ---- What it is

const CHOICES = { "which hash": "hash-choice", "which Cassandra": "variant-choice" };

function showFormat() {
  const { question, layers = [], hash = filter.blocked ? "XXH64" : filter.scheme } = filter;
  for (const id of Object.values(CHOICES)) byId(id).hidden = id !== CHOICES[question];
  const count = layers.length > 1 ? `, ${whole(layers.length)} layers` : "";
  byId("kind").textContent = `format ${filter.format}, layout ${filter.layout}${count}, `
    + `${filter.k} hashes${question ? `. The file does not say ${question}:` : `, ${hash}`}`;
}

// What is beside the estimate: the capacity, and the count where the file has one.
function roomOf({ isCounted, items, estimatedItems, capacity, bestCapacity }) {
  if (capacity === undefined) return `best for ${whole(bestCapacity)}: ${percent(estimatedItems / bestCapacity)} used`;
  const used = `capacity ${whole(capacity)}: ${percent(items / capacity)} used`;
  return isCounted ? `${whole(items)} counted, ${used}` : used;
}

function show(opened, name) {
  filter = opened;
  choose("hash", "XXH64");
  if (filter.variant) choose("variant", filter.variant);
  byId("problem").hidden = true;
  byId("view").hidden = false;
  byId("name").textContent = name;
  byId("ask").disabled = !filter.hasLookups;
  showFormat();
  const put = (id, text, sub) => {
    byId(id).textContent = text;
    byId(`${id}-sub`).textContent = sub;
  };
  put("fill", percent(filter.fill), `${whole(filter.ones)} of ${whole(filter.m)} bits`);
  put("estimate", filter.ones === filter.m ? "full" : whole(filter.estimatedItems), roomOf(filter));
  put("now", percent(filter.currentErrorRate), oneIn(filter.currentErrorRate));
  put("size", memory(filter.arrayBytes), `${whole(filter.arrayBytes)} bytes of ${filter.layout === "COUNTING" ? "counters" : "bits"}`);
  byId("fill").parentElement.style.setProperty("--share", `${100 * filter.fill}%`);
  check();
}

function refuse(name, text) {
  filter = null;
  byId("view").hidden = true;
  byId("problem").hidden = false;
  byId("problem").replaceChildren(Object.assign(document.createElement("b"), { textContent: name }), ` ${text}`);
}

// The letters of its version are in the name of a Filter.db: mc-7-big-Filter.db.
function variantOf(name) {
  const [, letters, kind] = /(?:^|-)([a-z]{2})-\w+-(?:(big|bti)-)?Filter\.db$/.exec(name) ?? [];
  if (!letters || kind === "bti" || letters >= "na") return "4.x";
  return letters >= "ma" ? "3.x" : "old";
}

async function open(file) {
  if (file.size > MOST_FILE_BYTES) return refuse(file.name, "It is larger than 2 GiB: use the command-line tool, bloomport info.");
  try {
    source = new Uint8Array(await file.arrayBuffer());
    show(openFilter(source, variantOf(file.name)), file.name);
  } catch (error) {
    refuse(file.name, error.message);
  }
}

function showExample() {
  const items = Array.from({ length: 700 }, (_, i) => `user:${i}`);
  byId("ask").value = "user:7\nuser:699\nuser:700\nmallory";
  show(exampleFilter(items, 7, 9613), "An example");
}

// ---- The picture: the array row by row, darker where more bits are set

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function drawMap(marks) {
  const canvas = byId("map"), context = canvas.getContext("2d");
  const { width, height } = canvas.getBoundingClientRect();
  if (!filter || !width) return;
  const ratio = devicePixelRatio || 1, columns = Math.floor(width / 8), rows = Math.floor(height / 8);
  const { size, parts } = filter.fillOfParts(columns * rows);
  const across = Math.min(columns, Math.ceil(Math.sqrt((parts.length * width) / height)));
  const step = Math.min((width - 2 * EDGE) / across, (height - 2 * EDGE) / Math.ceil(parts.length / across));
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  context.fillStyle = colour("--cell");
  const place = (i) => [EDGE + (i % across) * step, EDGE + Math.floor(i / across) * step, step - 1];
  parts.forEach((share, i) => {
    const [x, y, side] = place(i);
    context.globalAlpha = 0.08 + 0.92 * share;
    context.fillRect(x, y, side, side);
  });
  context.globalAlpha = 1;
  context.lineWidth = 2;
  for (const p of marks) {
    const [x, y, side] = place(Math.floor(p / size));
    context.strokeStyle = colour(filter.isSet(p) ? "--yes" : "--no");
    context.strokeRect(x - 1, y - 1, side + 2, side + 2);
  }
  const unit = size === 1 ? "one bit" : `${whole(size)} bits`;
  byId("map-note").textContent = `A square is ${unit}.`;
  canvas.setAttribute("aria-label", `${whole(parts.length)} parts of ${unit}, between `
    + `${percent(Math.min(...parts))} and ${percent(Math.max(...parts))} full`);
}

// ---- Items

// A line as an item: its text, or the bytes that it writes in hex. null: it does not.
function itemOf(line) {
  if (chosen("as") === "text") return line;
  const digits = line.replaceAll(" ", "");
  return /^([0-9a-f]{2})+$/i.test(digits) ? Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16)) : null;
}

function answerLine(text) {
  const item = itemOf(text), yes = item !== null && filter.has(item);
  const line = document.createElement("li"), word = document.createElement("span");
  line.className = yes ? "yes" : "no";
  word.textContent = item === null ? "not in hex" : yes ? "maybe in it" : "not in it";
  line.append(word, Object.assign(document.createElement("code"), { textContent: text }));
  return line;
}

function hintOf(asked) {
  if (!filter.hasLookups) return "This format's hash is not in the page. Look items up with the tool: bloomport check.";
  if (asked.length > MOST_ANSWERS) return `The first ${whole(MOST_ANSWERS)} are shown.`;
  if (asked.length) return `Framed in the picture: the bits of “${asked.at(-1)}”.`;
  return "“Not in it” is certain. “Maybe” is a false positive at the rate above.";
}

function check() {
  if (!filter) return;
  const asked = byId("ask").value.split("\n").filter((line) => line !== "");
  const hint = Object.assign(document.createElement("li"), { className: "hint", textContent: hintOf(asked) });
  const answered = filter.hasLookups ? asked : [], last = answered.length ? itemOf(answered.at(-1)) : null;
  byId("answers").replaceChildren(...answered.slice(0, MOST_ANSWERS).map(answerLine), hint);
  drawMap(last === null ? [] : filter.positions(last));
}

// ---- Together

function listenForDrops() {
  const drop = byId("drop"), over = (on) => drop.classList.toggle("over", on);
  // anywhere on the page: a browser would otherwise open the file in place of the page
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    over(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || over(false));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    over(false);
    if (event.dataTransfer.files.length) {
      byId("viewer").scrollIntoView();
      open(event.dataTransfer.files[0]);
    }
  });
}

export function startViewer() {
  listenForDrops();
  byId("file").addEventListener("change", (event) => {
    if (event.target.files.length) open(event.target.files[0]);
    event.target.value = ""; // the same file again is a change too
  });
  byId("example").addEventListener("click", showExample);
  byId("ask").addEventListener("input", check);
  byId("hash-choice").addEventListener("change", () => {
    filter.scheme = chosen("hash");
    check();
  });
  byId("variant-choice").addEventListener("change", () => show(openFilter(source, chosen("variant")), byId("name").textContent));
  byId("as-choice").addEventListener("change", check);
  new ResizeObserver(check).observe(byId("map"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", check);
}
