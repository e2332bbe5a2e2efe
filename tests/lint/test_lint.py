"""Static analysis, `make lint` and part of `make test`: one test for each tool, whose output is the
failure. What is left out of ruff's checks is in .ruff.toml. clang's tools: test_tidy.py. Where a tool
cannot be had, its test is skipped.
"""

import pytest

from tools import JOBS, REPO, assert_content, files, need, run, run_on_change

RUFF = [str(REPO / "build" / "venv" / "bin" / "python"), "-m", "ruff"]

# It does not see that a function never returns; clang-tidy does, and looks for NULL as well.
BLIND = ["nullPointerRedundantCheck", "nullPointerArithmeticRedundantCheck"]


def test_cppcheck_finds_nothing():
    sources = files("*.c")
    assert_content(run_on_change("cppcheck", sources, [
        need("cppcheck"), "--quiet", "--error-exitcode=1", "--enable=warning,performance,portability", "--inline-suppr",
        "--std=c11", "-I.", f"-j{JOBS}", *(f"--suppress={name}" for name in BLIND), *sources,
    ]))


def test_shellcheck_finds_nothing():
    scripts = [".ci/run", *files("*.sh", "prerm", "postinst", "postrm", "preinst", "*.bash")]
    assert len(scripts) > 6
    assert_content(run([need("shellcheck"), "-x", *scripts]))


def test_ruff_finds_nothing():
    if run([*RUFF, "--version"]):
        pytest.skip("ruff is not in build/venv; deps.sh gets it from PyPI")
    assert_content(run([*RUFF, "check", "--no-cache", "--output-format=concise", "module", "rdb", "tests"]))
