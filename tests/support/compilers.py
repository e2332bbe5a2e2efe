"""Builds everything with every compiler that Debian 12 and 13 have, warnings as errors, tests what was
built, and ends in a table: `make test-compilers`. Needs root: each Debian is a chroot.

    compilers.py [--jobs 2] [compiler ...]     default: all of RELEASES

A compiler has up to three builds, of module, tool and unit tests:

    -O2     compiled only
    -O3     the unit tests, and SERVER_TESTS on the redis-server of that Debian
    LTO     -O2 -flto, for the oldest and the newest gcc and clang: SERVER_TESTS and LTO_UNIT

What a build printed is in build/compilers/<compiler><build>.log. The roots are kept.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from debian import Problem, make_root

OUT = os.path.join("build", "compilers")
PACKAGES = """make libc6-dev libxxhash-dev libhiredis-dev libssl-dev zlib1g-dev libzstd-dev liblzma-dev libcmocka-dev
redis-server python3-pytest python3-redis""".split()
# With their linkers: a clang's LTO needs an lld of its own version.
RELEASES = {
    "bookworm": ["gcc-12", "clang-14", "clang-15", "clang-16", "lld-14"],
    "trixie": ["gcc-13", "gcc-14", "clang-17", "clang-18", "clang-19", "lld-19"],
}
COMPILERS = {name: release for release, names in RELEASES.items() for name in names if not name.startswith("lld")}
LTO_COMPILERS = ["gcc-12", "gcc-14", "clang-14", "clang-19"]
# What the optimizer could break: bits, batches, files. The statistics take minutes and are of numbers
# that the others compare too.
SLOW_UNIT = ["test_rates", "test_scheme_rates", "test_window_rates", "test_statistics"]
LTO_UNIT = ["test_batch", "test_blocked", "test_codec", "test_layer"]
SERVER_TESTS = ["test_every_command", "test_blocked", "test_golden", "test_faults", "test_small_filters"]
SOURCES = ["Makefile", "README.md", "module", "rdb", "tests"]


def say(*words):
    print(*words, flush=True)


# ---- A Debian with compilers, and the sources in it ------------------------------------------


def prepare(release):
    """The root of this release, kept from the last time if it has the same packages."""
    root, wanted = os.path.abspath(os.path.join(OUT, release)), " ".join(PACKAGES + RELEASES[release])
    stamp = root + ".packages"
    if not (os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == wanted):
        say(f"{release}: installing a Debian with its compilers in {root}")
        if os.path.exists(stamp):
            os.remove(stamp)
        make_root(root, release, PACKAGES + RELEASES[release])
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
    source = os.path.join(root, "src")
    shutil.rmtree(source, ignore_errors=True)
    for name in SOURCES:
        copy = shutil.copytree if os.path.isdir(name) else shutil.copy2
        os.makedirs(source, exist_ok=True)
        copy(name, os.path.join(source, name))
    header = os.path.join(os.environ["REDISMODULE_DIR"], "redismodule.h")
    os.makedirs(os.path.join(source, "build", "include"))
    shutil.copy(header, os.path.join(source, "build", "include"))
    return root


def inside(root, command, log):
    """The exit status of a shell command in /src of the root. /proc goes away with the namespace."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "cd /src && $1"'
    log.write(f"$ {command}\n")
    log.flush()
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, root, command], stdin=subprocess.DEVNULL,
                          stdout=log, stderr=log, check=False).returncode


def version(root, compiler):
    done = subprocess.run(["chroot", root, compiler, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return re.search(r"\d+\.\d+\.\d+", done.stdout)[0]


# ---- One compiler ----------------------------------------------------------------------------


class Build:
    """One cell of the table: how the build and its tests went."""

    def __init__(self, root, compiler, name, flags, link):
        self.root, self.compiler, self.name = root, compiler, name
        self.flavour = f"{compiler}{name}"
        self.words = f"CI=1 CC={compiler} FLAVOUR={self.flavour} CFLAGS='{flags}' LDFLAGS='{link}' REDISMODULE_DIR=build/include"
        self.passed = self.failed = 0
        self.path = os.path.join(OUT, self.flavour + ".log")

    def run(self, target, unit, server):
        with open(self.path, "w", encoding="utf-8") as log:
            words = f"{self.words} UNIT_NAMES='{' '.join(unit)}' SERVER_NAMES='{' '.join(server)}'"
            status = inside(self.root, f"make -s {target} {words}", log)
        with open(self.path, encoding="utf-8", errors="replace") as log:
            text = log.read()
        lines = re.findall(r"^(\d+) passed, (\d+) failed", text, re.M)
        self.passed, self.failed = (int(number) for number in lines[-1]) if lines else (1, 0)
        if status:
            self.failed = max(self.failed, 1)
            say(f"{self.flavour}: see {self.path}\n" + "\n".join(text.splitlines()[-20:]))
        return self

    def __str__(self):
        if self.failed:
            return f"{self.failed} failed"
        return f"{self.passed} passed" if self.passed > 1 else "compiles"


def unit_tests():
    names = sorted(name[:-2] for name in os.listdir("tests/unit") if re.fullmatch(r"test_\w+\.c", name))
    return [name for name in names if name not in SLOW_UNIT]


def examine(root, compiler):
    """One row."""
    began = time.monotonic()
    cells = [Build(root, compiler, "-O2", "-O2", "").run("built", unit_tests(), []),
             Build(root, compiler, "-O3", "-O3", "").run("test-built", unit_tests(), SERVER_TESTS)]
    if compiler in LTO_COMPILERS:
        link = "-O2 -flto" + (" -fuse-ld=lld" if compiler.startswith("clang") else "")
        cells.append(Build(root, compiler, "-lto", "-O2 -flto", link).run("test-built", LTO_UNIT, SERVER_TESTS))
    say(f"{compiler}: {', '.join(f'{cell.name[1:]} {cell}' for cell in cells)}, {time.monotonic() - began:.0f} s")
    return compiler, version(root, compiler), cells


def print_table(rows):
    say("\n| compiler | version | -O2 | -O3 | LTO |\n|---|---|---|---|---|")
    for compiler, number, cells in rows:
        say(f"| {compiler} | {number} | {' | '.join([*map(str, cells), '-', '-'][:3])} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("compilers", nargs="*")
    options = parser.parse_args()
    wanted = options.compilers or list(COMPILERS)
    os.makedirs(OUT, exist_ok=True)
    try:
        if os.getuid() != 0:
            raise Problem("make test-compilers: needs root, for chroot")
        roots = {release: prepare(release) for release in dict.fromkeys(COMPILERS[name] for name in wanted)}
    except (Problem, OSError) as problem:
        say(f"{problem}\n0 passed, 1 failed")
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: examine(roots[COMPILERS[name]], name), wanted))
    print_table(rows)
    cells = [cell for row in rows for cell in row[2]]
    failed = sum(cell.failed for cell in cells)
    say(f"{sum(cell.passed for cell in cells)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
