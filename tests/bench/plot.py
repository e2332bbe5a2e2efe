"""Speed against filter size as an SVG, written by hand: nothing to install, and it follows the
reader's light or dark background.

Three panels: BF.BULKEXISTS of 10,000 (WIDTH 16), BF.MEXISTS of 1,000 and one BF.EXISTS per command. y:
millions of items per second of server CPU, from 0, so that heights of a panel compare; x: the filter's
bytes, logarithmic. A point is the median of the rounds, the line through it reaches from the least to the
most. The floor of the first panel is that of the second."""

import math
import statistics

SERIES = [("floor", "floor: opens the key, answers a constant"), ("BLOCKED", "bloomport BLOCKED"),
          ("CLASSIC", "bloomport CLASSIC"), ("peer", "peer")]
PANELS = [(10000, "BF.BULKEXISTS of 10,000"), (1000, "BF.MEXISTS of 1,000"), (1, "one BF.EXISTS a command")]

# The incumbents, each measured once in the same rounds as bloomport (module/docs/PERFORMANCE.md): batch, bytes, ns
OTHERS = [("RedisBloom", 1000, 238 << 20, 434), ("valkey-bloom", 1000, 95 << 20, 564),
          ("RedisBloom", 1, 238 << 20, 1040), ("valkey-bloom", 1, 95 << 20, 1213)]

WIDTH, HEIGHT = 880, 400
TOP, PLOT_HEIGHT, LEFT, GAP = 76, 250, 40, 48
PLOT_WIDTH = (WIDTH - LEFT - 16 + GAP) // len(PANELS) - GAP

# Text and lines are dark on a light page and light on a dark one.
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #57606a }
  .title { font-weight: 600; font-size: 14px; fill: #24292f }
  .grid { stroke: #8b949e; stroke-opacity: .3; fill: none }
  .line { stroke-width: 2.2; stroke-linejoin: round }
  .range { stroke-width: 1.4; stroke-opacity: .7 }
  .floor { stroke: #768390; fill: #768390 } .BLOCKED { stroke: #1a7f5a; fill: #1a7f5a }
  .CLASSIC { stroke: #2f7de1; fill: #2f7de1 } .peer { stroke: #c2570c; fill: #c2570c }
  .line.floor { stroke-dasharray: 5 4 }
  path.line { fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #9ea7b3 } .title { fill: #e6edf3 }
    .BLOCKED { stroke: #3fb983; fill: #3fb983 } .CLASSIC { stroke: #58a6ff; fill: #58a6ff }
    .peer { stroke: #f0883e; fill: #f0883e }
  }"""


def text(x, y, words, anchor="middle", style=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (
        x, y, anchor, ' class="%s"' % style if style else "", words)


def size_name(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return "%g %s" % (round(size / unit, 1), name)
    return "%d B" % size


def speeds(entries, series):
    """[(bytes, median, least, most)] in millions of items per second of CPU."""
    out = []
    for entry in entries:
        values = [1e3 / ns for ns in entry["ns"].get(series, [])]
        if values:
            out.append((entry["bytes"], statistics.median(values), min(values), max(values)))
    return out


def nice_step(top):
    """A round step of the y axis that gives four to eight of them."""
    scale = 10 ** math.floor(math.log10(top / 4))
    return next(scale * f for f in (1, 2, 2.5, 5, 10) if top / (scale * f) <= 8)


class Panel:
    """One pair of axes; maps bytes and speed to the picture."""

    def __init__(self, left, entries, title):
        self.left, self.entries, self.title = left, entries, title
        sizes = [math.log2(entry["bytes"]) for entry in entries]
        self.least, self.most = min(sizes), max(max(sizes), min(sizes) + 1)
        # Room for the fastest round, not only for the medians.
        self.top = max(point[3] for name, _ in SERIES for point in speeds(entries, name)) * 1.05

    def x(self, size):
        part = (math.log2(size) - self.least) / (self.most - self.least)
        return self.left + 12 + part * (PLOT_WIDTH - 24)

    def y(self, speed):
        return TOP + PLOT_HEIGHT * (1 - speed / self.top)

    def axes(self):
        right, bottom = self.left + PLOT_WIDTH, TOP + PLOT_HEIGHT
        out = [text(self.left, TOP - 14, self.title, "start", "title")]
        step = nice_step(self.top)
        for i in range(int(self.top / step) + 1):
            y = self.y(i * step)
            out.append('<path class="grid" d="M%.1f %.1fH%.1f"/>' % (self.left, y, right))
            out.append(text(self.left - 8, y + 4.5, "%g" % (i * step), "end"))
        sizes = [entry["bytes"] for entry in self.entries]
        stride = -(-len(sizes) // 4)  # at most four names fit
        for i, size in enumerate(sizes):
            out.append('<path class="grid" d="M%.1f %.1fv5"/>' % (self.x(size), bottom))
            if i % stride == 0:
                out.append(text(self.x(size), bottom + 20, size_name(size)))
        return out

    def curve(self, series):
        points = speeds(self.entries, series)
        if not points:
            return []
        path = "L".join("%.1f %.1f" % (self.x(size), self.y(mid)) for size, mid, _, _ in points)
        out = ['<path class="line %s" d="M%s"/>' % (series, path)]
        for size, mid, least, most in points:
            x = self.x(size)
            out.append('<path class="range %s" d="M%.1f %.1fV%.1f"/>'
                       % (series, x, self.y(least), self.y(most)))
            out.append('<circle class="%s" cx="%.1f" cy="%.1f" r="3"/>' % (series, x, self.y(mid)))
        return out


def mark(x, y, name):
    label = text(x + 8, y + 16, name, "start") if name == "RedisBloom" else text(x - 8, y + 4.5, name, "end")
    return ['<circle class="peer" cx="%.1f" cy="%.1f" r="4"/>' % (x, y), label]


def legend(names):
    out, x = [], LEFT
    for name, words in SERIES:
        if name in names:
            out.append('<path class="line %s" d="M%d 26h26"/>' % (name, x))
            out.append(text(x + 33, 30.5, words, "start"))
            x += 33 + 7 * len(words) + 26
    return out


def svg(results):
    """The picture, from what bench.py measured as `sizes`."""
    body, names = [], set()
    for i, (batch, title) in enumerate(PANELS):
        entries = [entry for entry in results["sizes"] if entry["batch"] == batch]
        if not entries:
            continue
        panel = Panel(LEFT + i * (PLOT_WIDTH + GAP), entries, title)
        names.update(name for entry in entries for name in entry["ns"])
        body += panel.axes()
        for name, _ in SERIES:
            body += panel.curve(name)
        for name, of_batch, size, ns in OTHERS:
            if of_batch == batch and panel.least <= math.log2(size) <= panel.most:
                body += mark(panel.x(size), panel.y(1e3 / ns), name)
    machine = results["machine"]
    note = "millions of items per second of server CPU, by filter size; full, 10 bits per item"
    body.append(text(LEFT, HEIGHT - 32, note, "start"))
    body.append(text(LEFT, HEIGHT - 13, "half of the items present; %s, %s, %s, %s" % (
        machine["cpu"], machine["caches"], machine["server"], machine["date"]), "start"))
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" '
            'aria-label="Items per second against filter size">\n<style>%s\n</style>\n%s\n</svg>\n'
            % (WIDTH, HEIGHT, STYLE, "\n".join(legend(names) + body)))
