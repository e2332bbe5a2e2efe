"""`make bench` and `make bench-plot`: starts its servers, measures, prints Markdown.

Environment, all optional:
    N         items of the filter, default 200000000 (those of PERFORMANCE.md); 20000000 for a quick look
    ROUNDS    repetitions, interleaved, default 7
    SECONDS   of server CPU that one run takes, roughly; default 0.7
    ROWS      which parts: speed (or contract: only the rows of PERFORMANCE.md's first table, for many
              short rounds) create save small sizes; default speed create save small. forget: windows
              and COUNTING beside CLASSIC (forget.py), N 20000000 by default. keyed: HASH SIP13
              beside CLASSIC (keyed.py), N as there. bulk: BF.BULKEXISTS and BF.BULKADD (bulk_rows.py).
              blocking: how long one command holds the server (blocking.py), no N. typical: single
              commands on filters that are small, grown or new (typical.py), no N and no SECONDS
    SIZES     filter sizes of the part `sizes`, default "256K 1M 4M 16M 64M 256M 1G 4G"
    PEER      path of another module with BF.*: the same load on a server of its own
    REDIS_SERVER, BLOOMPORT_SO    as for the tests

Writes build/bench/results.json (a part alone of `sizes` and `bulk`: sizes.json, bulk.json), and with --plot
tests/bench/speed.svg, from a fresh measurement of `sizes` or, with --plot-only, from the last one.
The part `bulk` also writes its tables, build/bench/bulk.md; --bulk-tables puts the last ones into
module/docs/PERFORMANCE.md.
"""

import json
import os
import shlex
import sys

from harness import PEER, REPO, machine, say

import blocking
import bulk_report
import bulk_rows
import forget
import keyed
import other_rows
import plot
import report
import speed
import typical
import typical_report

OUT = REPO / "build" / "bench"
PICTURE = REPO / "tests" / "bench" / "speed.svg"
PAGE = REPO / "module" / "docs" / "PERFORMANCE.md"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def setting(name, default):
    return os.environ.get(name) or default


def parse_size(text):
    return int(float(text[:-1]) * UNITS[text[-1].upper()])


def command_line(target):
    names = ("N", "ROUNDS", "SECONDS", "ROWS", "SIZES", "PEER", "SERVER")
    given = ["%s=%s" % (name, shlex.quote(os.environ[name])) for name in names
             if os.environ.get(name)]
    return " ".join(["make", target] + given)


def measure(parts, n, rounds, seconds, sizes):
    """Measures the chosen parts; returns the dictionary that report.py reads."""
    variants, left_out = speed.start_variants()
    results = {"n": n, "rounds": rounds, "seconds": seconds, "left_out": left_out,
               "machine": machine(variants[0].server)}
    try:
        if {"speed", "contract", "save"} & set(parts):
            measure_full(results, variants, parts, n, rounds, seconds)
        if "sizes" in parts:
            results["sizes"] = speed.measure_sizes(variants, sizes, rounds, seconds)
    finally:
        speed.close_variants(variants)
    if "forget" in parts:
        results["forget"] = forget.measure(int(setting("N", forget.DEFAULT_N)), rounds, seconds)
    if "keyed" in parts:
        results["keyed"] = keyed.measure(int(setting("N", keyed.DEFAULT_N)), rounds, seconds)
    if "bulk" in parts:
        results["bulk"] = bulk_rows.measure(n, rounds, seconds)
    if "blocking" in parts:
        results["blocking"] = blocking.measure(rounds)
    if "typical" in parts:
        results["typical"] = typical.measure(rounds)
    for name, module in other_rows.contenders():
        if "create" in parts:
            results.setdefault("create", {})[name] = other_rows.measure_create(name, module)
        if "small" in parts:
            results.setdefault("small", {})[name] = other_rows.measure_small(name, module)
    return results


def measure_full(results, variants, parts, n, rounds, seconds):
    """Speed, then saving: both need the full filters."""
    if "speed" in parts or "contract" in parts:
        wanted = speed.ALL_ROWS if "speed" in parts else speed.LIMITED
        results["rows"] = speed.measure(variants, n, rounds, seconds, wanted)
        results["error_rates"] = speed.error_rates(results["rows"])
    else:
        for variant in variants:
            variant.reserve(n)
        speed.fill(speed.Rows(), variants, n)
    if "save" in parts:
        say("save and load")
        results["save"] = {"bloomport": other_rows.measure_save(variants[0].server)}
        if PEER:
            results["save"]["peer"] = other_rows.measure_save(variants[-1].server)


def as_json(results):
    out = dict(results)
    if "rows" in out:
        out["rows"] = [{"row": row, "variant": name, "runs": [run.as_json() for run in runs]}
                       for row, named in results["rows"].runs.items()
                       for name, runs in named.items()]
    for part in {"forget", "keyed", "bulk", "typical"} & set(out):
        out[part] = as_json(results[part])
    return out


def main(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    wants_plot = "--plot" in arguments
    if "--plot-only" in arguments:
        PICTURE.write_text(plot.svg(json.loads((OUT / "sizes.json").read_text())))
        return
    if "--bulk-tables" in arguments:
        bulk_report.write_into(PAGE, (OUT / "bulk.md").read_text())
        return
    parts = ["sizes"] if wants_plot else setting("ROWS", "speed create save small").split()
    unknown = set(parts) - {"speed", "contract", "create", "save", "small", "sizes", "forget", "keyed", "bulk", "blocking", "typical"}
    if unknown:
        sys.exit("ROWS: not known: " + " ".join(sorted(unknown)))
    sizes = [parse_size(text) for text in setting("SIZES", "256K 1M 4M 16M 64M 256M 1G 4G").split()]
    results = measure(parts, int(setting("N", "200000000")), int(setting("ROUNDS", "7")),
                      float(setting("SECONDS", "0.7")), sizes)
    results["command"] = command_line("bench-plot" if wants_plot else "bench")
    name = parts[0] + ".json" if parts in (["sizes"], ["bulk"]) else "results.json"
    (OUT / name).write_text(json.dumps(as_json(results), indent=1) + "\n")
    print(report.markdown(results))
    if "bulk" in results:
        (OUT / "bulk.md").write_text(bulk_report.document_tables(results["bulk"]) + "\n")
        print("\n" + bulk_report.markdown(results["bulk"]))
    if "typical" in results:
        print("\n" + typical_report.times_table(results["typical"]))
    if wants_plot:
        PICTURE.write_text(plot.svg(as_json(results)))
        say("wrote %s" % PICTURE)


if __name__ == "__main__":
    main(sys.argv[1:])
