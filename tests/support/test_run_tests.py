"""run_tests.py, which every test target runs, on files that are made here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from run_tests import LONGEST_FIRST

HERE = Path(__file__).resolve().parent
PASSES = "def test_one():\n    pass\n"
FAILS = "def test_two():\n    assert 'apples' == 'pears'\n"
# Each waits until the other has begun, so neither ends where one runs after the other.
MEETS = """
import pathlib, time
def test_meets():
    here = pathlib.Path(__file__).parent
    (here / "{mine}").touch()
    for _ in range(600):
        if (here / "{other}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("nobody came")
"""
PROGRAM = """#!/bin/sh
echo '[==========] 2 test(s) run.'
echo '[  PASSED  ] 2 test(s).'
exit {status}
"""


@pytest.fixture
def run(tmp_path):
    """run({name: text}, word ...): the lines printed, and the exit status."""

    def run_files(files, *words, **environment):
        paths = [tmp_path / name for name in files]
        for path, text in zip(paths, files.values()):
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        programs = [str(path) for path in paths if path.suffix != ".py"]
        command = [sys.executable, "-B", str(HERE / "run_tests.py"), "--out", str(tmp_path / "out"), *words]
        command += ["--unit", *programs] if programs else []
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        done = subprocess.run([*command, "--server", *(str(path) for path in paths if path.suffix == ".py")],
                              env={**clean, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout.splitlines(), done.returncode

    return run_files


def test_two_files_run_side_by_side(run):
    files = {"test_a.py": MEETS.format(mine="a", other="b"), "test_b.py": MEETS.format(mine="b", other="a")}
    said, status = run(files, "--jobs", "2")
    assert (said[-1], status) == ("2 passed, 0 failed", 0)


def test_a_failure_is_shown_and_named_again_before_the_sum(run):
    said, status = run({"test_a.py": FAILS, "test_b.py": PASSES})
    assert (said[-1], status) == ("1 passed, 1 failed", 1)
    assert any("'apples' == 'pears'" in line for line in said)
    assert said[-2].startswith("FAILED ") and "test_a.py::test_two" in said[-2]


@pytest.mark.parametrize("text", ["", "import nothing_of_this_name\n", "import os\nos._exit(0)\n"],
                         ids=["has no test", "does not load", "ends the process"])  # fmt: skip
def test_a_file_is_a_failure_that(run, text):
    said, status = run({"test_a.py": text, "test_b.py": PASSES})
    assert (said[-1], status) == ("1 passed, 1 failed", 1)
    assert "test_a.py" in said[-2]


def test_a_program_that_passes_its_tests_and_crashes_is_a_failure(run):
    said, status = run({"good": PROGRAM.format(status=0), "bad": PROGRAM.format(status=139), "test_a.py": PASSES})
    assert (said[-1], status) == ("5 passed, 1 failed", 1)
    assert said[-2].endswith("/bad: exit status 139, 2 passed")


def test_files_without_a_selected_test_are_no_failures_but_a_run_without_one_is(run):
    files = {"test_a.py": PASSES, "test_b.py": PASSES.replace("one", "two")}
    assert run(files, PYTEST_ADDOPTS="-k two")[0][-1] == "1 passed, 0 failed"
    assert run(files, PYTEST_ADDOPTS="-k three")[1] == 1


def test_the_only_file_has_the_terminal_for_itself(run):
    said, _ = run({"test_a.py": "def test_one():\n    print('hello')\n"}, PYTEST_ADDOPTS="-s")
    assert "hello" in said[0]


def test_no_test_at_all_is_a_failure(run):
    assert run({})[1] == 1


def test_the_longest_are_files_that_there_are():
    there = {path.stem for ending in ("py", "c") for path in HERE.parent.glob(f"*/test_*.{ending}")}
    assert set(LONGEST_FIRST) <= there and len(LONGEST_FIRST) > 5
