"""Runs the server tests on every server that bloomport claims, and prints a table.

    servers.py [--only name ...] [--test file] [--jobs n] [--fetch]         n files at a time, on one server after another

Each server is unpacked from Debian's packages, with all its libraries, the C library included, into
build/servers/<name>/root, and started through that root's own dynamic linker: nothing is installed,
and servers of a newer Debian run here (debian.py says where from). `rm -r build/servers` fetches anew.

--fetch only unpacks them and prints each server's program, to be used as REDIS_SERVER. Beside it
stands the client of the same version, `cli`, which the tests of that server use as REDIS_CLI.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from debian import Problem, unpack

ROOT = os.path.join("build", "servers")

# name: (releases of Debian, the last being the one to take the package from; the package and its program)
SERVERS = {
    "redis-7.0": (["bookworm"], "redis-server"),
    "valkey-8.0": (["bookworm", "bookworm-backports"], "valkey-server"),
    "redis-8.0": (["trixie"], "redis-server"),
    "valkey-8.1": (["trixie"], "valkey-server"),
    "valkey-9": (["sid"], "valkey-server"),
}

# Starts the program through its own dynamic linker; `exec`, so that it has the script's process id.
START = """\
#!/bin/sh
root=$(dirname "$0")/root
exec "$root/{loader}" --library-path "{libraries}" "$root/usr/bin/{program}" "$@"
"""


# ---- Unpacking -------------------------------------------------------------------------------


def write_start(folder, name, program):
    """folder/<name> starts this program; its linker is found by what is there, so on any architecture."""
    root = os.path.join(folder, "root")
    loaders = glob.glob(root + "/lib*/ld-linux*.so.*") + glob.glob(root + "/usr/lib*/ld-linux*.so.*")
    loaders += glob.glob(root + "/usr/lib/*/ld-linux*.so.*") + glob.glob(root + "/lib/*/ld-linux*.so.*")
    # Some are absolute links, which point out of the root.
    loaders = [os.path.relpath(path, root) for path in loaders if os.path.isfile(path) and not os.path.islink(path)]
    libraries = [os.path.relpath(path, root) for path in glob.glob(root + "/lib/*-linux-*") + glob.glob(root + "/usr/lib/*-linux-*")]
    if not loaders or not os.path.exists(f"{root}/usr/bin/{program}"):
        raise Problem(f"{root} has no {program} or no dynamic linker")
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(START.format(loader=loaders[0], program=program, libraries=":".join("$root/" + name for name in libraries)))
    os.chmod(path, 0o755)
    return path


def fetch(name):
    """The path of the program that starts this server, unpacking it first if need be."""
    suites, program = SERVERS[name]
    folder = os.path.abspath(os.path.join(ROOT, name))
    start, client = os.path.join(folder, "server"), os.path.join(folder, "cli")
    if os.path.exists(client):
        return start
    say(f"{name}: fetching {program} of Debian {suites[-1]}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    unpack(folder, suites, [program])
    write_start(folder, "server", program)
    write_start(folder, "cli", program.replace("-server", "-cli"))
    return start


def version(start):
    """What the program says of itself: "7.0.15"."""
    done = subprocess.run([start, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r"\bv=(\S+)", done.stdout)
    if not found:
        raise Problem(f"{start} does not start: {done.stdout.strip()}")
    return found[1]


# ---- Testing ---------------------------------------------------------------------------------


def say(*words):
    print(*words, flush=True)


def test(name, start, tests, jobs):
    """(passed, failed, skipped, seconds); what pytest said is in build/servers/<name>/test.log."""
    out = os.path.join(ROOT, name)
    began = time.monotonic()
    with open(os.path.join(out, "test.log"), "w", encoding="utf-8") as log:
        subprocess.run([sys.executable, "tests/support/run_tests.py", "--out", out, "--jobs", str(jobs), "--server", tests],
                       env=dict(os.environ, REDIS_SERVER=start, REDIS_CLI=os.path.join(os.path.dirname(start), "cli")), stdout=log, stderr=subprocess.STDOUT)
    with open(os.path.join(out, "summary"), encoding="utf-8") as summary:
        counts = dict((word, int(number)) for number, word in re.findall(r"(\d+) (\w+)", summary.read()))
    return counts["passed"], counts["failed"], counts.get("skipped", 0), time.monotonic() - began


def examine(name, tests, jobs):
    """One row of the table."""
    summary = os.path.join(ROOT, name, "summary")
    if os.path.exists(summary):
        os.remove(summary)
    try:
        start = fetch(name)
        row = (name, version(start), *test(name, start, tests, jobs))
    except (Problem, OSError) as problem:
        say(f"{name}: {problem}")
        return (name, "-", 0, 1, 0, 0)
    with open(os.path.join(ROOT, name, "test.log"), encoding="utf-8") as log:
        lines = log.read().splitlines()
    shown = lines if row[3] else [line for line in lines if line.startswith("SKIPPED")]
    for line in shown:
        say(f"{name}: {line}")
    return row


def print_table(rows):
    say("\n| server | version | passed | failed | skipped | seconds |\n|---|---|---|---|---|---|")
    for name, number, passed, failed, skipped, seconds in rows:
        say(f"| {name} | {number} | {passed} | {failed} | {skipped} | {seconds:.0f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--test", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fetch", action="store_true")
    options = parser.parse_args()
    unknown = set(options.only) - set(SERVERS)
    if unknown:
        say("no such server:", *unknown, "- there are:", *SERVERS)
        return 1
    names = options.only or list(SERVERS)
    if options.fetch:
        for name in names:
            say(fetch(name))
        return 0
    tests = f"tests/server/{options.test}.py" if options.test else "tests/server"
    rows = [examine(name, tests, options.jobs) for name in names]
    print_table(rows)
    passed, failed, skipped = (sum(row[i] for row in rows) for i in (2, 3, 4))
    say(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if any(row[3] or not row[2] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
