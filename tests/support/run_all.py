"""Runs test targets of the Makefile one after another, goes on after a red one, and ends in one table.

    run_all.py --make make [--out build/test-all] [target ...]     default: all of TARGETS

`make test-all` runs this. What a target prints goes to build/test-all/<target>.log. Every target ends in
a line "N passed, N failed" or "N passed, N failed, N skipped", which is its row; a target that ends
otherwise, or whose exit status contradicts that line, has failed. Below the table stand the reasons of
all skipped tests. Exit status 1 if any target failed.
"""
import argparse
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

TARGETS = ["test", "asan", "tsan", "valgrind", "test-page", "test-monitoring", "test-interop", "test-clients", "test-deb",
           "test-damaged", "test-servers"]
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
# pytest's "SKIPPED [1] file:line: reason", also after a server's name, and the other runners' "skipped: reason"
REASON = re.compile(r"^(?:[\w.-]+: )?(?:SKIPPED \[.*|\s*skipped: .*)$", re.M)


def say(*words):
    print(*words, flush=True)


def counts(text, status):
    """(passed, failed, skipped) of a target that printed this and ended with this status."""
    lines = COUNTS.findall(text)
    passed, failed, skipped = (int(number or 0) for number in lines[-1]) if lines else (0, 0, 0)
    has_failed = status != 0 or passed == 0
    return passed, max(failed, 1) if has_failed else failed, skipped


def run(make, target, out):
    """One row: the target, its counts, its seconds; and the reasons of what it skipped."""
    log, began = out / f"{target}.log", time.monotonic()
    say(f"{target}: {log}")
    with open(log, "w", encoding="utf-8") as file:
        status = subprocess.run([*make, target], stdin=subprocess.DEVNULL, stdout=file,
                                stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text(encoding="utf-8", errors="replace")
    row = (target, *counts(text, status), time.monotonic() - began)
    say(f"{target}: exit status {status}, {row[1]} passed, {row[2]} failed, {row[3]} skipped")
    return row, [line.strip() for line in REASON.findall(text)]


def print_table(rows, reasons):
    say("\n| target | passed | failed | skipped | seconds |\n|---|---|---|---|---|")
    for target, passed, failed, skipped, seconds in rows:
        say(f"| {target} | {passed} | {failed} | {skipped} | {seconds:.0f} |")
    for target, lines in reasons.items():
        for line in lines:
            say(f"{target}: {line}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", default="make", help="the command, with its options")
    parser.add_argument("--out", type=Path, default=Path("build/test-all"))
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows, reasons = [], {}
    for target in options.targets or TARGETS:
        row, reasons[target] = run([*shlex.split(options.make), "--no-print-directory"], target, options.out)
        rows.append(row)
    print_table(rows, reasons)
    return 1 if any(failed for _, _, failed, _, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
