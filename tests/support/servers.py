"""Runs the server tests on every server that bloomport claims, and prints a table.

    servers.py [--only name ...] [--test file] [--jobs n] [--fetch]

Each server is unpacked from Debian's packages, with all its libraries, the C library included, into
build/servers/<name>/root, and started through that root's own dynamic linker: nothing is installed,
and servers of a newer Debian run here. The packages come from the machine's own Debian mirror: its
apt sources are read, and the same address, options and key are used for another release. apt works
on state and cache folders of its own. `rm -r build/servers` fetches anew.

--fetch only unpacks them and prints each server's program, to be used as REDIS_SERVER.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.join("build", "servers")

# name: (releases of Debian, the last being the one to take the package from; the package and its program)
SERVERS = {
    "redis-7.0": (["bookworm"], "redis-server"),
    "valkey-8.0": (["bookworm", "bookworm-backports"], "valkey-server"),
    "redis-8.0": (["trixie"], "redis-server"),
    "valkey-8.1": (["trixie"], "valkey-server"),
    "valkey-9": (["sid"], "valkey-server"),
}

APT_CONF = """\
Dir::State "{0}/state";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Etc::sourcelist "{0}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""

# Starts the program through its own dynamic linker; `exec`, so that it has the script's process id.
START = """\
#!/bin/sh
root=$(dirname "$0")/root
exec "$root/{loader}" --library-path "{libraries}" "$root/usr/bin/{program}" "$@"
"""


class Problem(Exception):
    """The server is not available here; the text has the reason."""


# ---- The machine's Debian mirror -------------------------------------------------------------


def entries():
    """(options, address, suites) of every binary source of this machine, in either notation."""
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*.list"))]:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    found = re.match(r"\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s", line)
                    if found:
                        yield (found[1] or "").split(), found[2], [found[3]]
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^#.*\n", "", file.read(), flags=re.M)
        for paragraph in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^([\w-]+):[ \t]*((?:.*)(?:\n[ \t].*)*)", paragraph, re.M))
            fields = {name.lower(): value.strip() for name, value in fields.items()}
            if "deb" not in fields.get("types", "").split() or fields.get("enabled") == "no":
                continue
            options = []
            if fields.get("signed-by", "").startswith("/"):
                options.append("signed-by=" + fields["signed-by"])
            if "trusted" in fields:
                options.append("trusted=" + fields["trusted"])
            yield options, fields["uris"].split()[0], fields.get("suites", "").split()


def sources(suites):
    """Lines of a sources.list for these releases, from where the machine has its own release."""
    with open("/etc/os-release", encoding="utf-8") as release:
        codename = re.search(r'^VERSION_CODENAME="?([\w-]+)', release.read(), re.M)
    mine = codename and codename[1]
    for options, address, has in entries():
        if mine in has:
            words = " ".join(["target=Packages", *options])
            return "".join(f"deb [{words}] {address} {suite} main\n" for suite in suites)
    raise Problem("no apt source of Debian on this machine has a release named " + str(mine))


# ---- Unpacking -------------------------------------------------------------------------------


def run(command, log):
    log.write("$ " + " ".join(command) + "\n")
    log.flush()
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode:
        raise Problem(f"{command[0]} failed, see {log.name}")


def download(suites, package, work, log):
    """The package and all that it depends on, as if nothing were installed: paths of .deb files."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(work, folder))
    for name, text in (("status", ""), ("apt.conf", APT_CONF.format(work)), ("sources.list", sources(suites))):
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(text)
    apt = ["apt-get", "-q", "-y", "-c", os.path.join(work, "apt.conf")]
    run([*apt, "update"], log)
    run([*apt, "install", "--download-only", "-t", suites[-1], package], log)
    return sorted(glob.glob(os.path.join(work, "cache/archives/*.deb")))


def write_start(folder, program):
    """folder/server, the program to start; found by what is there, so on any architecture."""
    root = os.path.join(folder, "root")
    loaders = glob.glob(root + "/lib*/ld-linux*.so.*") + glob.glob(root + "/usr/lib*/ld-linux*.so.*")
    loaders += glob.glob(root + "/usr/lib/*/ld-linux*.so.*") + glob.glob(root + "/lib/*/ld-linux*.so.*")
    # Some are absolute links, which point out of the root.
    loaders = [os.path.relpath(path, root) for path in loaders if os.path.isfile(path) and not os.path.islink(path)]
    libraries = [os.path.relpath(path, root) for path in glob.glob(root + "/lib/*-linux-*") + glob.glob(root + "/usr/lib/*-linux-*")]
    if not loaders or not os.path.exists(f"{root}/usr/bin/{program}"):
        raise Problem(f"{root} has no {program} or no dynamic linker")
    path = os.path.join(folder, "server")
    with open(path, "w", encoding="utf-8") as file:
        file.write(START.format(loader=loaders[0], program=program, libraries=":".join("$root/" + l for l in libraries)))
    os.chmod(path, 0o755)
    return path


def fetch(name):
    """The path of the program that starts this server, unpacking it first if need be."""
    suites, program = SERVERS[name]
    folder = os.path.abspath(os.path.join(ROOT, name))
    start = os.path.join(folder, "server")
    if os.path.exists(start):
        return start
    say(f"{name}: fetching {program} of Debian {suites[-1]}")
    shutil.rmtree(folder, ignore_errors=True)
    work = os.path.join(folder, "apt")
    os.makedirs(work)
    with open(os.path.join(folder, "fetch.log"), "w", encoding="utf-8") as log:
        for deb in download(suites, program, work, log):
            run(["dpkg-deb", "-x", deb, os.path.join(folder, "root")], log)
    shutil.rmtree(work)
    return write_start(folder, program)


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


def test(name, start, tests):
    """(passed, failed, skipped, seconds); what pytest said is in build/servers/<name>/test.log."""
    out = os.path.join(ROOT, name)
    began = time.monotonic()
    with open(os.path.join(out, "test.log"), "w", encoding="utf-8") as log:
        subprocess.run([sys.executable, "tests/support/run_tests.py", "--out", out, "--server", tests],
                       env=dict(os.environ, REDIS_SERVER=start), stdout=log, stderr=subprocess.STDOUT)
    with open(os.path.join(out, "summary"), encoding="utf-8") as summary:
        counts = dict((word, int(number)) for number, word in re.findall(r"(\d+) (\w+)", summary.read()))
    return counts["passed"], counts["failed"], counts.get("skipped", 0), time.monotonic() - began


def examine(name, tests):
    """One row of the table."""
    summary = os.path.join(ROOT, name, "summary")
    if os.path.exists(summary):
        os.remove(summary)
    try:
        start = fetch(name)
        row = (name, version(start), *test(name, start, tests))
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
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: examine(name, tests), names))
    print_table(rows)
    passed, failed, skipped = (sum(row[i] for row in rows) for i in (2, 3, 4))
    say(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if any(row[3] or not row[2] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
