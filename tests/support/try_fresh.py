"""`make test-fresh`: what a newcomer does, in Debians that have git and make and nothing else: `make run` until
BF.ADD answers through redis-cli, then `make test`. Needs root. A machine that has everything hides what a
step forgets to install; each of these is made new, and removed afterwards if all was well.

    try_fresh.py folder [--release bookworm|trixie] [--pypi yes|no] [--jobs n]       default: all four

What is tested is the last commit. Without a way to PyPI means that pip's index is an address where nothing
listens: tests that need what only PyPI has are then skipped. Megabytes are those of packages, of Debian and
PyPI, without the lists of what there is. What was printed is in folder/<release>-<with or without>.log.
"""
import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from debian import Problem, make_root
from release_check import REASON, counts

TOP = Path(__file__).resolve().parents[2]

RELEASES = ["bookworm", "trixie"]
CLOSED = "http://127.0.0.1:9/simple"  # the port of a service that nobody has run for decades
# How this machine reaches the world, which the fresh one has to know too.
NETWORK = ["http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"]
FILES = ["etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"]

# Processes of its own, which end with it; devices and terminals as any machine has them.
INSIDE = """
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
exec chroot "$1" sh -euc "cd /root/bloomport
$2"
"""
# `make run` goes on until its process namespace ends, which is when this script does.
RUN = """
make run PORT={port} >/root/run.log 2>&1 &
for i in $(seq 1200); do
    [ "$(redis-cli -p {port} BF.ADD visitors alice 2>/dev/null)" != 1 ] || break
    kill -0 $! 2>/dev/null || break
    sleep 0.5
done
cat /root/run.log
redis-cli -p {port} BF.EXISTS visitors alice | grep -qx 1 && build/bloomport --version
"""


def say(*words):
    print(*words, flush=True)


class Machine:
    """A Debian with git, make and a clone of this repository."""

    def __init__(self, folder, release, has_pypi):
        self.name = f"{release}-{'with' if has_pypi else 'without'}-pypi"
        self.log = folder / (self.name + ".log")
        self.root = make_root(str(folder / self.name), release, ("ca-certificates", "git", "make"), keep=True)
        Path(self.root, "etc/apt/apt.conf.d/99test").unlink()  # debian.py's own wishes
        Path(self.root, "usr/sbin/policy-rc.d").unlink()
        for file in FILES:
            if Path("/", file).exists():
                shutil.copy(Path("/", file), Path(self.root, file))
        subprocess.run(["git", "clone", "-q", str(TOP), self.root + "/root/bloomport"], check=True)
        self.environment = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        self.environment.update((name, os.environ[name]) for name in NETWORK if name in os.environ)
        if not has_pypi:
            self.environment["PIP_INDEX_URL"] = CLOSED

    def run(self, script):
        """(exit status, what it printed, seconds)"""
        began = time.monotonic()
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount", "--kill-child", "sh", "-euc", INSIDE, "sh", self.root, script],
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(done.stdout)
        return done.returncode, done.stdout, time.monotonic() - began

    def megabytes(self):
        """Of the packages that were downloaded so far."""
        folders = [Path(self.root, "var/cache/apt/archives"), Path(self.root, "root/.cache/pip")]
        return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()) / 1e6


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def try_machine(machine, jobs):
    """A row: what make run and make test gave, their seconds, and megabytes after each."""
    status, said, run_seconds = machine.run(RUN.format(port=free_port()))
    runs = status == 0
    say(f"{machine.name}: make run: {'ok' if runs else 'FAILED'}, {run_seconds:.0f} s" + ("" if runs else "\n" + said[-3000:]))
    run_megabytes = machine.megabytes()
    status, said, seconds = machine.run(f"make test JOBS={jobs}")
    passed, failed, skipped = counts(said, status)
    if failed:
        say(said[-8000:])
    for reason in REASON.findall(said):
        say(f"{machine.name}: {reason}")
    row = (passed + runs, failed + (not runs), skipped, run_seconds, run_megabytes, seconds, machine.megabytes())
    say(f"{machine.name}: make test: {passed} passed, {failed} failed, {skipped} skipped, {seconds:.0f} s")
    if not row[1]:
        shutil.rmtree(machine.root)
    return row


def print_table(rows):
    say("\n| machine | passed | failed | skipped | make run, s | downloaded, MB | make test, s | downloaded in all, MB |")
    say("|---|---|---|---|---|---|---|---|")
    for name, row in rows:
        say(f"| {name} | " + " | ".join(f"{value:.0f}" for value in row) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", choices=RELEASES)
    parser.add_argument("--pypi", choices=["yes", "no"])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for log in options.folder.glob("*pypi.log"):
        log.unlink()
    rows = []
    for release in [options.release] if options.release else RELEASES:
        for has_pypi in [options.pypi == "yes"] if options.pypi else [True, False]:
            name = f"{release}, {'with' if has_pypi else 'without'} PyPI"
            try:
                rows.append((name, try_machine(Machine(options.folder, release, has_pypi), options.jobs)))
            except (Problem, OSError, subprocess.SubprocessError) as problem:
                say(f"{name}: {problem}")
                rows.append((name, (0, 1, 0, 0, 0, 0, 0)))
    print_table(rows)
    passed, failed, skipped = (sum(row[i] for _, row in rows) for i in range(3))
    say(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
