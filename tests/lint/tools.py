"""What the two files of tests share: the files of the repository, and running a tool on them."""

import hashlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
OUT = REPO / "build" / "lint"
JOBS = len(os.sched_getaffinity(0))


def files(*patterns):
    """The files of the repository that have these names, as paths from its top."""
    found = {path for pattern in patterns for top in ("module", "rdb", "tests") for path in (REPO / top).rglob(pattern)}
    return sorted(str(path.relative_to(REPO)) for path in found)


def need(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed; deps.sh has it from Debian 12")
    return program


def run(command, **environment):
    """What the tool has to say; None if it is content."""
    done = subprocess.run(command, cwd=REPO, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return f"{done.stdout}\n{command[0]}: exit status {done.returncode}" if done.returncode else None


def assert_content(*reports):
    said = "\n".join(report for report in reports if report)
    if said:
        pytest.fail(said, pytrace=False)


def digest(command, paths):
    """Of the command, of these files, of every header and of the list of checks."""
    state = hashlib.sha256(shlex.join(command).encode())
    for path in (*paths, ".clang-tidy", *files("*.h")):
        state.update(path.encode() + b"\0" + (REPO / path).read_bytes())
    return state.hexdigest()


def run_on_change(name, paths, command):
    """run, unless the files are as they were when the command passed the last time."""
    OUT.mkdir(parents=True, exist_ok=True)
    passed, state = OUT / name, digest(command, paths)
    if passed.exists() and passed.read_text() == state:
        return None
    report = run(command)
    if not report:
        passed.write_text(state)
    return report
