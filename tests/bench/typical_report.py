"""The part `typical` as Markdown: times, and instructions."""


from report import spread, table
from typical_rows import ROWS

UNITS = {row.work: row.unit for row in ROWS}


def ratio(ours, theirs):
    return "%.2f" % (ours / theirs)


# Times


def time_line(rows, work, names):
    cells = [spread(rows.ns(work, name)) for name in names]
    if len(names) > 1:
        cells.append(spread(rows.ratios(work, *names), "%.2f"))
    return ["%s, per %s" % (work, UNITS[work])] + cells


def saving_line(text, what, saving, names):
    values = [[run[what] for run in saving[name]] for name in names]
    line = ["100,000 small filters: " + text] + [spread(one) for one in values]
    return line + ([spread([a / b for a, b in zip(*values)], "%.2f")] if len(names) > 1 else [])


def bytes_line(text, sizes):
    return [text] + [format(size, ",") for size in sizes] + ([ratio(*sizes)] if len(sizes) > 1 else [])


def times_table(result):
    """`result`: what typical.measure gives."""
    rows, saving, names = result["rows"], result["saving"], list(result["saving"])
    lines = [time_line(rows, row.work, names) for row in ROWS]
    lines += [saving_line("SAVE, ms of CPU", "save", saving, names),
              saving_line("loading, ms of CPU", "load", saving, names),
              bytes_line("100,000 small filters: bytes of the file", [saving[name][-1]["bytes"] for name in names]),
              bytes_line("grown by default to 10,000,000: bytes of memory", [result["memory"][name] for name in names])]
    head = ["typical work, server CPU in ns", *names] + ["ratio"] * (len(names) > 1)
    return table(head, lines)


# Instructions


def instructions_line(counted, work):
    """A batch's figures are per item, and in brackets per command."""
    several = UNITS.get(work) == "item"
    cells = [format(round(one[work]["per_item"]), ",")
             + (" (%s)" % format(round(one[work]["per_command"]), ",") if several else "")
             for one in counted.values()]
    if len(counted) > 1:
        cells.append(ratio(*(one[work]["per_item"] for one in counted.values())))
    return ["%s%s" % (work, ", per item (per command)" if several else "")] + cells


def instructions_table(counted):
    """`counted`: {name: {work: what Counter.measure gives}}, of one module or two."""
    works = list(next(iter(counted.values())))
    head = ["typical work, instructions", *counted] + ["ratio"] * (len(counted) > 1)
    most = max(one["repeated"] for named in counted.values() for one in named.values())
    return (table(head, [instructions_line(counted, work) for work in works])
            + "\n\nThe same commands, counted twice, differ by %.3f %% at most." % (100 * most))
