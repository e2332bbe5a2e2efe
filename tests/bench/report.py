"""The benchmark's results as Markdown. The first table is that of module/docs/PERFORMANCE.md."""

import statistics

import forget
import keyed
from speed import ALL_ROWS, COMMANDS

# (text, row, the most x floor that the row may cost: CLASSIC, BLOCKED)
HEADLINES = [
    ("one BF.EXISTS per command", ("exists", 1, "mixed"), 1.40, 1.20),
    ("one BF.ADD per command", ("add", 1, "fresh"), 1.45, 1.20),
    ("BF.MEXISTS of 1,000, per item", ("exists", 1000, "mixed"), 1.80, 1.25),
    ("BF.MADD of 1,000, per item", ("add", 1000, "fresh"), 1.90, 1.30),
]
SMALL_LIMIT = 260
NAMES = ["floor", "floor, for writing", "limit, CLASSIC", "CLASSIC", "limit, BLOCKED", "BLOCKED",
         "peer"]
KINDS = {"fresh": "fresh items", "present": "present items", "absent": "absent items",
         "mixed": "half present, half absent"}


def table(head, lines):
    rows = [head, ["---"] * len(head)] + lines
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def spread(values, form="%.0f"):
    """Median, and where the rounds' values lie."""
    if len(values) == 1:
        return form % values[0]
    return "%s (%s..%s)" % tuple(
        form % value for value in (statistics.median(values), min(values), max(values))
    )


def within(ratios, limit):
    return "<= %.2f: %s" % (limit, "yes" if statistics.median(ratios) <= limit else "NO")


# The README's table


def headline_cell(rows, row, name, limit):
    if name not in rows.runs[row]:
        return "not measured"
    text = "%.0f ns" % statistics.median(rows.ns(row, name))
    ratios = rows.ratios(row, name, "floor")
    text += ", %.2f x floor" % statistics.median(ratios)
    above_limit = rows.ratios(row, name, "limit, " + name)
    if above_limit:
        limit_ratios = rows.ratios(row, "limit, " + name, "floor")
        text += ", limit %.2f: %.2f x limit" % (statistics.median(limit_ratios),
                                               statistics.median(above_limit))
    return text + (" (%s)" % within(ratios, limit) if limit else "")


def headline_table(rows, small):
    has_peer = "peer" in rows.runs["fill"]
    head = ["server CPU per item", "floor", "CLASSIC", "BLOCKED"] + ["peer"] * has_peer
    lines = []
    for text, row, classic, blocked in HEADLINES:
        line = [text, "%.0f ns" % statistics.median(rows.ns(row, "floor"))]
        line += [headline_cell(rows, row, "CLASSIC", classic)]
        line += [headline_cell(rows, row, "BLOCKED", blocked)]
        lines.append(line + [headline_cell(rows, row, "peer", None)] * has_peer)
    if small:
        ours = small["CLASSIC"]["bytes_per_key"]
        verdict = "yes" if ours <= SMALL_LIMIT else "NO"
        line = ["200,000 keys of 100 items, p = 0.01, bytes per key", "",
                "%.0f (<= %d: %s)" % (ours, SMALL_LIMIT, verdict), ""]
        lines.append(line + ["%.0f" % small[name]["bytes_per_key"] for name in small][1:])
    return table(head, lines)


# Every row


def detail_line(rows, row, name):
    runs = rows.runs[row][name]
    floor = rows.ratios(row, name, "floor")
    peer = rows.ratios(row, name, "peer")
    return [
        row_text(row),
        name,
        spread([run.ns for run in runs]),
        "%.2f" % (statistics.median(run.per_second for run in runs) / 1e6),
        spread(floor, "%.2f"),
        spread(peer, "%.2f") if peer else "",
        "%.0f %%" % (100 * statistics.median(run.server_share for run in runs)),
        "%.0f" % statistics.median(run.client_ns for run in runs),
    ]


def row_text(row):
    op, batch, kind = row
    single, many = COMMANDS[op]
    command = single if batch == 1 else "%s of %s" % (many, format(batch, ","))
    return "%s, %s" % (command, KINDS[kind])


def detail_table(rows):
    head = ["row", "variant", "CPU ns per item", "M items/s, wall", "x floor", "x peer",
            "server busy", "client's CPU ns"]
    lines = [detail_line(rows, row, name)
             for row in ALL_ROWS for name in NAMES if name in rows.runs.get(row, ())]
    return table(head, lines)


def fill_table(rows, rates):
    lines = []
    for name, runs in rows.runs["fill"].items():
        items = sum(run.items for run in runs)
        ns = sum(run.cpu for run in runs) / items * 1e9
        lines.append([name, format(items, ","), "%.0f" % ns, "%.3f %%" % (100 * rates[name])])
    return table(["filled by BF.MADD of 1,000", "items", "CPU ns per item",
                  "measured error rate, full"], lines)


# Filters that forget


def one_layer_cell(rows, row, name):
    """A window's cost against one layer of its layout, and for lookups whether it is within the bound."""
    op, batch, _ = row
    ratios = rows.ratios(row, name, forget.ONE_LAYER.get(name))
    if not ratios or op != "exists":
        return spread(ratios, "%.2f") if ratios else ""
    bound, median = forget.window_bound(batch), statistics.median(ratios)
    holds = median < bound if batch > 1 else median <= bound
    sign = "<" if batch > 1 else "<="
    return "%s; %s %.2f: %s" % (spread(ratios, "%.2f"), sign, bound, "yes" if holds else "NO")


def forget_table(rows):
    lines = []
    for row in forget.ALL_ROWS:
        for name in forget.NAMES:
            if name in rows.runs[row]:
                ratios = [rows.ratios(row, name, other) for other in ("floor", "CLASSIC")]
                lines.append([row_text(row), name, spread(rows.ns(row, name))]
                             + [spread(r, "%.2f") if r else "" for r in ratios]
                             + [one_layer_cell(rows, row, name)])
    return table(["row", "variant", "CPU ns per item", "x floor", "x CLASSIC",
                  "x one layer of its layout, and the bound"], lines)


def forget_parts(result):
    n = result["n"]
    return ["Filters that forget, one server: %s items at 10 bits in one layer; windows of %d s in "
            "%d generations, of which %d are alive with %s items each."
            % (format(n, ","), result["window"], forget.GENERATIONS, forget.GENERATIONS + 1,
               format(n // forget.GENERATIONS, ",")),
            forget_table(result["rows"]), fill_table(result["rows"], result["error_rates"])]


# Keyed filters


def keyed_cell(rows, row):
    """SIP13's cost against CLASSIC, and for lookups whether it is within the bound."""
    ratios = rows.ratios(row, "SIP13", "CLASSIC")
    text = spread(ratios, "%.2f")
    return "%s; %s" % (text, within(ratios, keyed.BOUND)) if row[0] == "exists" else text


def keyed_table(rows):
    lines = []
    for row in keyed.ROWS:
        for name in keyed.NAMES:
            if name in rows.runs[row]:
                lines.append([row_text(row), name, spread(rows.ns(row, name)),
                              spread(rows.ratios(row, name, "floor"), "%.2f"),
                              keyed_cell(rows, row) if name == "SIP13" else ""])
    return table(["row", "variant", "CPU ns per item", "x floor", "x CLASSIC, and the bound"], lines)


def keyed_parts(result):
    return ["Keyed filters, one server: %s items of 16 bytes at 10 bits in each of two filters, HASH "
            "XXH64 (CLASSIC) and HASH SIP13." % format(result["n"], ","),
            keyed_table(result["rows"]), fill_table(result["rows"], result["error_rates"])]


def sizes_table(sizes):
    lines = []
    for entry in sizes:
        floor = entry["ns"]["floor"]
        for name, values in entry["ns"].items():
            ratios = [a / b for a, b in zip(values, floor)]
            lines.append(["%.4g MiB" % (entry["bytes"] / 2**20), format(entry["batch"], ","), name,
                          spread(values), spread(ratios, "%.2f")])
    return table(["filter", "items per command", "variant", "CPU ns per item", "x floor"], lines)


def create_table(create):
    lines = [[name, spread(c["micros"]), "%.1f" % (c["resident"] / 2**20)]
             for name, c in create.items()]
    return table(["BF.RESERVE of 1 GB", "microseconds", "MiB resident after"], lines)


def save_table(save):
    lines = []
    for name, result in save.items():
        for compression in ("no", "yes"):
            runs = [run for run in result["runs"] if run["compression"] == compression]
            cells = [spread([run[what] for run in runs], "%.2f")
                     for what in ("save_cpu", "save_wall", "child_cpu", "child_wall", "load_cpu", "load_wall")]
            lines.append([name, "%.0f MiB" % (result["bytes"] / 2**20), compression] + cells)
    return table(["seconds per GB", "measured on", "rdbcompression", "SAVE, CPU", "SAVE, wall",
                  "BGSAVE, CPU", "BGSAVE, wall", "load, CPU", "load, wall"], lines)


def markdown(results):
    """`results`: what bench.py collected; parts that were not chosen are missing."""
    machine = results["machine"]
    parts = ["`%s`, %s: %s, %s cores, %s, Linux %s, %s (%s), %s; load average %s at the start."
             % (results["command"], machine["date"], machine["cpu"], machine["cores"],
                machine["caches"], machine["kernel"], machine["server"], machine["allocator"],
                machine["pinned"], machine["load"])]
    parts += ["Left out: %s." % reason for reason in results["left_out"]]
    if "rows" in results:
        rows = results["rows"]
        parts += ["%s items at 10 bits; lookups are half present and half absent, adds are of "
                  "fresh items between 75 and 100 %% full. Medians of %d interleaved rounds; a "
                  "ratio is the median of the rounds' ratios."
                  % (format(results["n"], ","), results["rounds"]),
                  headline_table(rows, results.get("small")),
                  "Every row, median (least..most of the rounds):", detail_table(rows),
                  fill_table(rows, results["error_rates"])]
    if "sizes" in results:
        parts.append(sizes_table(results["sizes"]))
    if "forget" in results:
        parts += forget_parts(results["forget"])
    if "keyed" in results:
        parts += keyed_parts(results["keyed"])
    if "blocking" in results:
        parts.append(results["blocking"]["table"])
    if "create" in results:
        parts.append(create_table(results["create"]))
    if "save" in results:
        parts.append(save_table(results["save"]))
    if "small" in results and "rows" not in results:
        parts += ["200,000 keys of 100 items, bytes per key: "
                  + ", ".join("%s %.0f" % (name, s["bytes_per_key"])
                              for name, s in results["small"].items())]
    return "\n\n".join(parts)
