"""The part `bulk` as Markdown: the tables of module/docs/PERFORMANCE.md, and whether the bounds hold."""

import re
import statistics
from pathlib import Path

import bulk_rows as bulk
from harness import PEER
from report import spread, table, within

LAYOUTS = ("CLASSIC", "BLOCKED")
PEER_NAME = {"redisbloom": "RedisBloom", "libvalkey_bloom": "valkey-bloom"}.get(Path(PEER).stem, "the peer")
FOUR = [(op, layout) for op in ("exists", "add") for layout in LAYOUTS]
HEAD = ["lookup, CLASSIC", "lookup, BLOCKED", "add, CLASSIC", "add, BLOCKED"]
# Bytes of a second at 1 Gbit/s: of 1,538 that an Ethernet frame takes on the wire, 1,448 are TCP's.
WIRE_BYTES = 1e9 / 8 * 1448 / 1538
MARKS = re.compile(r"(<!-- bulk tables: .* -->\n).*?(<!-- end of bulk tables -->)", re.S)


def median(values):
    return statistics.median(values)


def shape_text(shape):
    send, item, batch = shape[:3]
    if send == "args":
        return "`BF.MEXISTS`, `BF.MADD` of 1,000 items of 16 bytes"
    form = "`WIDTH %d`" % item if send == "width" else "`LINES` of %d bytes" % item
    return "%s, %s items" % (form, format(batch, ","))


def has(rows, row, name):
    return name in rows.runs.get(row, ())


def cost(rows, row, name):
    """69 ns, 0.72 x floor"""
    if not has(rows, row, name):
        return ""
    return "%.0f ns, %.2f x" % (median(rows.ns(row, name)), median(rows.ratios(row, name, "floor")))


def of_reference(rows, op, name):
    """The floor or the peer, over all the runs that it had, one in each row."""
    every = [ns for row, named in rows.runs.items() if row[0] == op and name in named
             for ns in rows.ns(row, name)]
    return "%.0f ns" % median(every) if every else ""


def cpu_table(rows):
    """Every cell: ns of server CPU per item, and the median of the rounds' ratios to the floor."""
    lines = [[shape_text(shape)] + [cost(rows, (op, *shape), layout) for op, layout in FOUR]
             for shape in bulk.SHAPES]
    for name, text in (("floor", "the floor of `BF.MEXISTS` of 1,000"),
                       ("peer", PEER_NAME + ", `BF.MEXISTS`, `BF.MADD` of 1,000")):
        if has(rows, ("exists", *bulk.ARGUMENTS), name):
            lines.insert(0, [text] + [of_reference(rows, op, name) for op, _ in FOUR])
    alone = [["the bytes alone, `WIDTH %d`" % item,
              "%.0f ns" % median(rows.ns(("exists", "width", item, bulk.PIECE), "bytes alone")), "", "", ""]
             for item in bulk.ITEM_SIZES]
    return table(["server CPU per item, x floor"] + HEAD, lines + alone)


def held(rows, row, name):
    """The median of the rounds, in milliseconds: 0.69."""
    if not has(rows, row, name):
        return ""
    return "%.3g ms" % (median([run.micros for run in rows.runs[row][name]]) / 1000)


def hold_table(rows):
    shapes = [bulk.ARGUMENTS] + [("width", 16, batch) for batch in (*bulk.BATCHES, bulk.HUGE)]
    lines = [[shape_text(shape)] + [held(rows, (op, *shape), layout) for op, layout in FOUR]
             for shape in shapes]
    return table(["one command holds the server for"] + HEAD, lines)


def sent_bytes(send, item):
    """Bytes of an item on the way to the server; its answer takes 1/8 byte, or 4 of an argument."""
    return {"args": len("$%d\r\n" % item) + item + 2, "width": item, "lines": item + 1}[send]


def millions(rows, row, name):
    if not has(rows, row, name):
        return ""
    return "%.1f" % (median([run.per_second for run in rows.runs[row][name]]) / 1e6)


def wire_table(rows):
    lines = []
    for shape in bulk.BY_TCP:
        size = sent_bytes(*shape[:2])
        lines.append([shape_text(shape), "%d" % size, "%.1f" % (WIRE_BYTES / size / 1e6)]
                     + [millions(rows, ("tcp", *shape, waits), layout)
                        for waits in (0, 1) for layout in LAYOUTS])
    return table(["lookups, millions of items per second", "bytes sent per item", "1 Gbit/s carries",
                  "loopback, CLASSIC", "loopback, BLOCKED", "one command at a time, CLASSIC",
                  "one command at a time, BLOCKED"], lines)


def verdict_table(rows):
    """The rows that have bounds, with the limit of this machine and the peer beside them."""
    lines = []
    for op, layout in FOUR:
        row = (op, *bulk.BOUNDED)
        ratios = rows.ratios(row, layout, "floor")
        speedup = rows.ratios(row, "peer", layout) if has(rows, row, "peer") else []
        bound = bulk.PEER_BOUNDS[layout]
        lines.append([bulk.COMMANDS[op, True], layout, spread(rows.ns(row, layout)),
                      "%s; %s" % (spread(ratios, "%.2f"), within(ratios, bulk.BOUNDS[op][layout])),
                      spread(rows.ratios(row, layout, "limit, " + layout), "%.2f"),
                      "%s; >= %d: %s" % (spread(speedup, "%.1f"), bound,
                                         "yes" if median(speedup) >= bound else "NO") if speedup else ""])
    return table(["WIDTH 16, 10,000 items", "layout", "CPU ns per item", "x floor", "x limit",
                  "x the peer's speed"], lines)


def document_tables(result):
    """What PERFORMANCE.md shows."""
    rows = result["rows"]
    return "\n\n".join([cpu_table(rows), hold_table(rows), wire_table(rows)])


def markdown(result):
    rounds = max(len(runs) for named in result["rows"].runs.values() for runs in named.values())
    return "\n\n".join(["Many items in one string: %s items at 10 bits, medians of up to %d rounds."
                        % (format(result["n"], ","), rounds),
                        document_tables(result), verdict_table(result["rows"])])


def write_into(page, tables):
    """Replaces what stands between the marks of the page."""
    text = page.read_text(encoding="utf-8")
    if len(MARKS.findall(text)) != 1:
        raise SystemExit("%s: no marks of the bulk tables" % page)
    page.write_text(MARKS.sub(lambda m: m[1] + "\n" + tables.strip() + "\n\n" + m[2], text), encoding="utf-8")
