"""release_check.py, which `make release-check` runs, with a make that only prints and exits."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import release_check as module
from release_check import FIRST, OWN, SHARED, counts

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
def release_check(tmp_path):
    fake = tmp_path / "make.py"
    fake.write_text(FAKE_MAKE, encoding="utf-8")

    def run(*targets):
        command = [sys.executable, str(HERE / "release_check.py"), "--make", f"{sys.executable} {fake}",
                   "--out", str(tmp_path / "logs"), *targets]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        rows = [line.strip("| ").split(" | ")[:4] for line in done.stdout.splitlines() if line.startswith("| ")]
        return done, rows[1:]

    return run


def test_both_queues_run_after_the_first_targets_and_each_target_has_its_row(tmp_path, monkeypatch, capsys):
    fake = tmp_path / "make.py"
    fake.write_text(FAKE_MAKE, encoding="utf-8")
    monkeypatch.setattr(module, "FIRST", ["green"])
    monkeypatch.setattr(module, "SHARED", ["skips X=1"])
    monkeypatch.setattr(module, "OWN", ["red"])
    monkeypatch.setattr(sys, "argv", ["release_check.py", "--make", f"{sys.executable} {fake}", "--out", str(tmp_path)])
    assert module.main() == 1
    said = capsys.readouterr().out
    first, *rest = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|", said, re.M)
    assert first == ("green", "5", "0", "0") and sorted(rest) == [("red", "3", "2", "0"), ("skips", "7", "0", "4")]
    assert said.splitlines()[-1] == "15 passed, 2 failed, 4 skipped"


def test_all_targets_run_after_a_red_one_and_the_status_says_that_one_was_red(release_check, tmp_path):
    done, rows = release_check("red", "green", "skips")
    assert rows == [["red", "3", "2", "0"], ["green", "5", "0", "0"], ["skips", "7", "0", "4"]]
    assert done.returncode == 1
    assert (tmp_path / "logs" / "red.log").read_text() == "1 passed, 0 failed\n3 passed, 2 failed\n"


def test_green_targets_end_in_status_0_and_skips_show_their_reasons(release_check):
    done, _ = release_check("green", "skips")
    assert done.returncode == 0
    for reason in ("SKIPPED [2] a.py:3: no such server", "skipped: no go", "x: SKIPPED [1] b.py:4: why"):
        assert f"skips: {reason}" in done.stdout


@pytest.mark.parametrize("target, row", [("crash", ["9", "1", "0"]), ("mute", ["0", "1", "0"])])
def test_a_target_that_crashes_or_counts_nothing_has_failed(release_check, target, row):
    done, rows = release_check(target)
    assert rows == [[target, *row]] and done.returncode == 1


def test_every_target_is_one_of_the_makefile_and_says_what_it_counted():
    top = HERE.parents[1]
    makefiles = [top / "Makefile", *top.glob("tests/*.mk"), *top.glob("module/extras/*/*.mk")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in makefiles)
    targets = [target.split()[0] for target in [*FIRST, *SHARED, *OWN]]
    assert len(set(targets)) == len(targets) > 10
    assert [target for target in targets if f"\n{target}:" not in text] == []
    assert counts("12 passed, 0 failed, 3 skipped\n", 0) == (12, 0, 3)
    assert counts("0 passed, 0 failed\n", 0) == (0, 1, 0)
