"""Static analysis, `make lint` and part of `make test`: one test for each tool, whose output is the
failure. The lists of checks are in the tools' own files, .clang-tidy, .clang-format and .ruff.toml.

clang-tidy and clang-format are Debian 12's, version 14, and no other: another version has other
checks and breaks lines elsewhere. Where a tool cannot be had, its test is skipped.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
OUT = REPO / "build" / "lint"
RUFF = [str(REPO / "build" / "venv" / "bin" / "python"), "-m", "ruff"]
# What the Makefile compiles with.
FLAGS = shlex.split(os.environ.get("BLOOMPORT_LINT_FLAGS", "-std=c11 -I. -isystem build/include"))
JOBS = os.cpu_count() or 1


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


# ---- C ---------------------------------------------------------------------------------------


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


def tidy(path):
    """clang-tidy on one file. One file a process: version 14 takes the va_list of a second file for
    uninitialized. xxhash.h asserts that a NULL pointer comes with no bytes; the analyzer has to see
    that."""
    command = ["clang-tidy-14", "--quiet", path, "--", *FLAGS, "-DXXH_DEBUGLEVEL=1"]
    return run_on_change(path.replace("/", "-"), [path], command)


def test_clang_tidy_finds_nothing():
    need("clang-tidy-14")
    # The tests' own C files are left to cppcheck, for the time that they would take.
    sources = [path for path in files("*.c") if not path.startswith("tests/")]
    with ThreadPoolExecutor(JOBS) as pool:
        assert_content(*pool.map(tidy, sources))


# It does not see that a function never returns; clang-tidy does, and looks for NULL as well.
BLIND = ["nullPointerRedundantCheck", "nullPointerArithmeticRedundantCheck"]


def test_cppcheck_finds_nothing():
    sources = files("*.c")
    assert_content(run_on_change("cppcheck", sources, [
        need("cppcheck"), "--quiet", "--error-exitcode=1", "--enable=warning,performance,portability", "--inline-suppr",
        "--std=c11", "-I.", f"-j{JOBS}", *(f"--suppress={name}" for name in BLIND), *sources,
    ]))


def test_clang_format_would_change_nothing():
    assert_content(run([need("clang-format-14"), "--dry-run", "-Werror", *files("*.c", "*.h")]))


# ---- Scripts ---------------------------------------------------------------------------------


def test_shellcheck_finds_nothing():
    scripts = [".ci/run", *files("*.sh", "prerm", "postinst", "postrm", "preinst", "*.bash")]
    assert len(scripts) > 6
    assert_content(run([need("shellcheck"), "-x", *scripts]))


def test_ruff_finds_nothing():
    if run([*RUFF, "--version"]):
        pytest.skip("ruff is not in build/venv; deps.sh gets it from PyPI")
    assert_content(run([*RUFF, "check", "--no-cache", "--output-format=concise", "module", "rdb", "tests"]))
