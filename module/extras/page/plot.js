// Line plots as SVG, with a cursor for mouse, finger and arrow keys. Drawn for the width the element
// has and again when that changes, so that letters keep their size.

const MARGIN = { left: 46, right: 14, top: 12, bottom: 38 };

function element(parent, name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// An axis: { min, max, log, reverse, label, format, unit }. Whole powers of ten, or steps of 1, 2, 5
// units.
function ticksOf(axis, most) {
  const ticks = [];
  if (axis.log) {
    const low = Math.ceil(Math.log10(axis.min) - 1e-9), high = Math.floor(Math.log10(axis.max) + 1e-9);
    const step = Math.max(1, Math.ceil((high - low) / most));
    for (let e = low; e <= high; e += step) ticks.push(10 ** e);
    return ticks;
  }
  const unit = axis.unit ?? 1, rough = (axis.max - axis.min) / most / unit;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].map((f) => f * ten).find((s) => s >= rough);
  for (let i = Math.ceil(axis.min / step); i * step <= axis.max * (1 + 1e-9); i++) ticks.push(i * step);
  return ticks;
}

function scaleOf(axis, from, to) {
  const at = axis.log ? Math.log10 : (v) => v;
  const low = at(axis.min), high = at(axis.max), flip = axis.reverse;
  return (value) => {
    const share = (at(Math.min(Math.max(value, axis.min), axis.max)) - low) / (high - low || 1);
    return from + (flip ? 1 - share : share) * (to - from);
  };
}

/** Keeps `svg` drawn. Returns draw(chart), chart = { x, y, series: [{ name, className, points:
 *  [{ x, y }] }], rule: { y, text }, dot: { x, y }, full: { x, text }, summary, read(point index) }. */
export function plotInto(svg, reading) {
  let chart = null, cursor = null, sx, sy;

  function axes(width, height) {
    const { x, y } = chart, bottom = height - MARGIN.bottom;
    for (const value of ticksOf(y, 5)) {
      element(svg, "line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: sy(value), y2: sy(value) });
      element(svg, "text", { class: "tick", x: MARGIN.left - 8, y: sy(value) + 4, "text-anchor": "end" }, y.format(value));
    }
    for (const value of ticksOf(x, width < 330 ? 4 : 6)) {
      element(svg, "line", { class: "grid", x1: sx(value), x2: sx(value), y1: MARGIN.top, y2: bottom });
      element(svg, "text", { class: "tick", x: sx(value), y: bottom + 16, "text-anchor": "middle" }, x.format(value));
    }
    element(svg, "text", { class: "axis", x: width - MARGIN.right, y: height - 4, "text-anchor": "end" }, x.label);
  }

  function marks(width, height) {
    const bottom = height - MARGIN.bottom, right = width - MARGIN.right;
    if (chart.full) {
      element(svg, "rect", { class: "full", x: sx(chart.full.x), y: MARGIN.top, width: right - sx(chart.full.x), height: bottom - MARGIN.top });
      element(svg, "text", { class: "label", x: sx(chart.full.x) - 6, y: bottom - 8, "text-anchor": "end" }, chart.full.text);
    }
    if (chart.rule) {
      element(svg, "line", { class: "rule", x1: MARGIN.left, x2: right, y1: sy(chart.rule.y), y2: sy(chart.rule.y) });
      element(svg, "text", { class: "label", x: MARGIN.left + 6, y: sy(chart.rule.y) + (sy(chart.rule.y) < MARGIN.top + 16 ? 14 : -6) }, chart.rule.text);
    }
    for (const { className, points } of chart.series) {
      const path = points.map((p, i) => `${i ? "L" : "M"}${sx(p.x).toFixed(1)} ${sy(p.y).toFixed(1)}`).join("");
      element(svg, "path", { class: `line ${className}`, d: path });
    }
    if (chart.dot) element(svg, "circle", { class: "dot", cx: sx(chart.dot.x), cy: sy(chart.dot.y), r: 5 });
    chart.series.forEach(({ name, className }, i) => {
      if (!name) return;
      element(svg, "line", { class: `line ${className}`, x1: MARGIN.left + 10, x2: MARGIN.left + 26, y1: MARGIN.top + 12 + 17 * i, y2: MARGIN.top + 12 + 17 * i });
      element(svg, "text", { class: "label", x: MARGIN.left + 32, y: MARGIN.top + 16 + 17 * i }, name);
    });
  }

  function pointer(height) {
    const at = cursor === null ? null : chart.series[0].points[cursor];
    reading.textContent = at ? chart.read(cursor) : chart.summary;
    if (!at) return;
    element(svg, "line", { class: "cursor", x1: sx(at.x), x2: sx(at.x), y1: MARGIN.top, y2: height - MARGIN.bottom });
    for (const { className, points } of chart.series)
      if (points[cursor]) element(svg, "circle", { class: `spot ${className}`, cx: sx(points[cursor].x), cy: sy(points[cursor].y), r: 4 });
  }

  function redraw() {
    svg.replaceChildren();
    const { width, height } = svg.getBoundingClientRect();
    if (!chart || !width) {
      reading.textContent = "";
      return;
    }
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("aria-label", chart.summary);
    sx = scaleOf(chart.x, MARGIN.left, width - MARGIN.right);
    sy = scaleOf(chart.y, height - MARGIN.bottom, MARGIN.top);
    axes(width, height);
    marks(width, height);
    pointer(height);
  }

  function moveTo(index) {
    if (!chart) return;
    cursor = index === null ? null : Math.min(Math.max(index, 0), chart.series[0].points.length - 1);
    redraw();
  }

  svg.addEventListener("pointermove", (event) => {
    if (!chart) return;
    const x = event.clientX - svg.getBoundingClientRect().left;
    const distances = chart.series[0].points.map((p) => Math.abs(sx(p.x) - x));
    moveTo(distances.indexOf(Math.min(...distances)));
  });
  svg.addEventListener("pointerleave", () => moveTo(null));
  svg.addEventListener("blur", () => moveTo(null));
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return moveTo(null);
    if (!(event.key in steps) || !chart) return;
    event.preventDefault();
    const start = cursor ?? chart.series[0].points.findIndex((p) => p.x === chart.dot?.x);
    moveTo(start + steps[event.key]);
  });
  new ResizeObserver(redraw).observe(svg);

  return (next) => {
    chart = next;
    cursor = null;
    redraw();
  };
}
