"""run_all.py, which `make test-all` runs, with a make that only prints and exits."""

import subprocess
import sys
from pathlib import Path

import pytest

from run_all import TARGETS, counts

HERE = Path(__file__).resolve().parent

# The last word is the target: what it prints, and its exit status.
FAKE_MAKE = r"""
import sys
text, status = {
    "green": ("5 passed, 0 failed\n", 0),
    "skips": ("SKIPPED [2] a.py:3: no such server\n    skipped: no go\nx: SKIPPED [1] b.py:4: why\n7 passed, 0 failed, 4 skipped\n", 0),
    "red": ("1 passed, 0 failed\n3 passed, 2 failed\n", 1),
    "crash": ("9 passed, 0 failed\nSegmentation fault\n", 2),
    "mute": ("", 0),
}[sys.argv[-1]]
print(text, end="")
sys.exit(status)
"""


@pytest.fixture
def run_all(tmp_path):
    fake = tmp_path / "make.py"
    fake.write_text(FAKE_MAKE, encoding="utf-8")

    def run(*targets):
        command = [sys.executable, str(HERE / "run_all.py"), "--make", f"{sys.executable} {fake}",
                   "--out", str(tmp_path / "logs"), *targets]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        rows = [line.strip("| ").split(" | ")[:4] for line in done.stdout.splitlines() if line.startswith("| ")]
        return done, rows[1:]

    return run


def test_all_targets_run_after_a_red_one_and_the_status_says_that_one_was_red(run_all, tmp_path):
    done, rows = run_all("red", "green", "skips")
    assert rows == [["red", "3", "2", "0"], ["green", "5", "0", "0"], ["skips", "7", "0", "4"]]
    assert done.returncode == 1
    assert (tmp_path / "logs" / "red.log").read_text() == "1 passed, 0 failed\n3 passed, 2 failed\n"


def test_green_targets_end_in_status_0_and_skips_show_their_reasons(run_all):
    done, _ = run_all("green", "skips")
    assert done.returncode == 0
    for reason in ("SKIPPED [2] a.py:3: no such server", "skipped: no go", "x: SKIPPED [1] b.py:4: why"):
        assert f"skips: {reason}" in done.stdout


@pytest.mark.parametrize("target, row", [("crash", ["9", "1", "0"]), ("mute", ["0", "1", "0"])])
def test_a_target_that_crashes_or_counts_nothing_has_failed(run_all, target, row):
    done, rows = run_all(target)
    assert rows == [[target, *row]] and done.returncode == 1


def test_every_target_is_one_of_the_makefile_and_says_what_it_counted():
    makefiles = [HERE.parents[1] / "Makefile", HERE.parent / "targets.mk"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in makefiles)
    assert all(f"\n{target}:" in text for target in TARGETS)
    assert counts("12 passed, 0 failed, 3 skipped\n", 0) == (12, 0, 3)
    assert counts("0 passed, 0 failed\n", 0) == (0, 1, 0)
