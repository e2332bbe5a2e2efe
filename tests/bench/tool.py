"""How long `bloomport build` takes against reading and hashing the same file, and how much memory
`bloomport check` takes for much input.

    tool.py program read_items          ROUNDS= (7), N= (20000000) numbers

build and read_items (one thread, the same reader and hash) take turns, so that both see the same
machine; what is compared is wall time, and the median of the rounds' quotients is printed.
"""

import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import first_line

TOOL, READ = sys.argv[1:3]
ROUNDS = int(os.environ.get("ROUNDS") or 7)
N = int(os.environ.get("N") or 20_000_000)


def run(words, **options):
    """Wall seconds."""
    begin = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True, **options)
    return time.monotonic() - begin


def peak(words, **options):
    """The peak of resident memory in kilobytes. (The kernel's own peak would include the memory of this
    process, from which the program was forked.)"""
    most = 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, **options) as child:
        while child.poll() is None:
            text = first_line("/proc/%d/status" % child.pid, "VmHWM")
            most = max([most, *map(int, text.split()[1:2])])
            time.sleep(0.005)
    return most


def compare(what, path, layout, where):
    build = [TOOL, "build", "--layout", layout, "-o", where / "f.bloom", path]
    read = [READ, layout, path]
    rounds = [(run(read), run(build)) for _ in range(ROUNDS + 1)][1:]  # the first one warms up
    reads, builds = zip(*rounds)
    quotient = statistics.median(b / r for r, b in zip(reads, builds))
    print("%-34s %-8s %7.3f s %7.3f s %6.2f %9d MB" % (
        what, layout, statistics.median(reads), statistics.median(builds), quotient, peak(build) // 1000))


def check(where, count):
    """`check` fed by a pipe with numbers that mostly are not in the filter."""
    filter_ = where / "small.bloom"
    subprocess.run([TOOL, "build", "-o", filter_], input=b"1\n2\n", check=True)
    words = ["seq", str(10**9), str(10**9 + count - 1)]  # eleven bytes each
    with subprocess.Popen(words, stdout=subprocess.PIPE) as numbers:
        memory = peak([TOOL, "check", "-c", "--absent", filter_], stdin=numbers.stdout)
    print("check of %5.2f GB from a pipe: %d kB at most" % (count * 11 / 1e9, memory))


def main():
    cpu = first_line("/proc/cpuinfo", "model name").split(":", 1)[-1].strip()
    print("%s, %d cores, Linux %s, median of %d rounds" % (cpu, os.cpu_count(), platform.release(), ROUNDS))
    print("%-34s %-8s %9s %9s %6s %12s" % ("items", "layout", "read+hash", "build", "times", "build has"))
    with tempfile.TemporaryDirectory(prefix="bloomport-bench-") as name:
        where = Path(name)
        numbers, names = where / "numbers", where / "names"
        with open(numbers, "wb") as out:
            subprocess.run(["seq", str(N)], stdout=out, check=True)
        source = random.Random(1)
        with open(names, "w", encoding="ascii") as out:
            out.writelines("%s\n" % source.randbytes(32).hex() for _ in range(N // 4))
        for layout in ("classic", "blocked"):
            compare("%d numbers, seq" % N, numbers, layout, where)
            compare("%d names of 64 characters" % (N // 4), names, layout, where)
        for count in (2_000_000, 200_000_000):
            check(where, count)


main()
