"""Runs what a release needs, goes on after a red target, and ends in one table.

    release_check.py --make make [--out build/release-check] [target ...]     default: FIRST, then SHARED and OWN

`make release-check` runs this, ONLY="test-page test-deb" for some targets. What a target prints goes to
build/release-check/<target>.log. Every target ends in a line "N passed, N failed" or "N passed, N failed,
N skipped", which is its row; a target that ends otherwise, or whose exit status contradicts that line, has
failed. Below the table stand the reasons of all skipped tests. Exit status 1 if any target failed.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# `make test` installs and builds what the others share, so it runs alone.
FIRST = ["test"]
# Then two at a time: one of SHARED, which use build/release, beside one of OWN, which build their own;
# where SHARED is done, two of OWN. (`make test` has run the server tests on this machine's own server.)
SHARED = ["test-servers SERVER='valkey-8.0 redis-8.0 valkey-8.1 valkey-9'", "test-interop", "test-clients", "test-page",
          "test-monitoring", "test-libraries", "tidy"]  # fmt: skip
OWN = ["test-fresh", "test-arm64", "test-s390x", "test-compilers", "test-musl", "test-deb", "test-dist", "test-container", "asan",
       "fuzz SECONDS=10", "tsan"]  # fmt: skip
CPUS = len(os.sched_getaffinity(0))  # half of them for each of two targets
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


def run(make, target, out, jobs):
    """One row: the target, its counts, its seconds; and the reasons of what it skipped."""
    name, *words = shlex.split(target)
    log, began = out / f"{name}.log", time.monotonic()
    say(f"{name}: {log}")
    with open(log, "w", encoding="utf-8") as file:
        status = subprocess.run([*make, f"JOBS={jobs}", *words, name], stdin=subprocess.DEVNULL, stdout=file,
                                stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text(encoding="utf-8", errors="replace")
    row = (name, *counts(text, status), time.monotonic() - began)
    say(f"{name}: exit status {status}, {row[1]} passed, {row[2]} failed, {row[3]} skipped, {row[4]:.0f} s")
    return row, [line.strip() for line in REASON.findall(text)]


def take(queues):
    """The next target of the first queue that has one; None if none has."""
    for queue in queues:
        try:
            return queue.popleft()
        except IndexError:  # the other thread may have taken the last one
            continue
    return None


def run_queues(make, queues, out, jobs):
    ran = []
    while target := take(queues):
        ran.append(run(make, target, out, jobs))
    return ran


def run_release(make, out):
    ran = run_queues(make, [deque(FIRST)], out, CPUS)
    shared, own = deque(SHARED), deque(OWN)
    with ThreadPoolExecutor(2) as pool:
        for some in pool.map(lambda queues: run_queues(make, queues, out, max(1, CPUS // 2)), [[shared, own], [own]]):
            ran += some
    return ran


def print_table(ran):
    say("\n| target | passed | failed | skipped | seconds |\n|---|---|---|---|---|")
    for (target, passed, failed, skipped, seconds), _ in ran:
        say(f"| {target} | {passed} | {failed} | {skipped} | {seconds:.0f} |")
    for (target, *_), reasons in ran:
        for reason in reasons:
            say(f"{target}: {reason}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", default="make", help="the command, with its options")
    parser.add_argument("--out", type=Path, default=Path("build/release-check"))
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    make = [*shlex.split(options.make), "--no-print-directory"]
    if options.targets:
        ran = run_queues(make, [deque(options.targets)], options.out, CPUS)
    else:
        ran = run_release(make, options.out)
    print_table(ran)
    failed = sum(row[2] for row, _ in ran)
    say(f"\n{sum(row[1] for row, _ in ran)} passed, {failed} failed, {sum(row[3] for row, _ in ran)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
