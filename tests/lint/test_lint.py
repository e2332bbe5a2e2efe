"""Static analysis, `make lint` and part of `make test`: one test for each tool, whose output is the
failure. What is left out of ruff's checks is in .ruff.toml. clang's tools: test_tidy.py. Where a tool
cannot be had, its test is skipped.
"""

import pytest

from tools import JOBS, REPO, assert_content, files, need, run, run_on_change

RUFF = [str(REPO / "build" / "venv" / "bin" / "python"), "-m", "ruff"]

# What clang-tidy sees better: a function that never returns, NULL after it, an array that a loop fills. A test
# may crash where there is no memory. The last is no finding, but says how long it searched.
BLIND = ["nullPointerRedundantCheck", "nullPointerArithmeticRedundantCheck", "uninitvar", "nullPointerOutOfMemory:tests/*",
         "nullPointerArithmeticOutOfMemory:tests/*", "normalCheckLevelMaxBranches"]  # fmt: skip
# It knows nothing of the machine: without its size it stops at our #error, and checks nothing after it.
CPPCHECK = ["cppcheck", "--quiet", "--error-exitcode=1", "--enable=warning,performance,portability", "--inline-suppr",
            "--std=c11", "-I.", "-D__SIZEOF_POINTER__=8", "-D__x86_64__", f"-j{JOBS}",
            *(f"--suppress={name}" for name in BLIND)]  # fmt: skip


def test_cppcheck_finds_nothing():
    need("cppcheck")
    sources = files("*.c")
    assert_content(run_on_change("cppcheck", sources, [*CPPCHECK, *sources]))


def test_cppcheck_would_find_a_fault_in_a_file_that_includes_our_headers(tmp_path):
    need("cppcheck")
    source = tmp_path / "fault.c"
    source.write_text('#include "module/core/hash/hash.h"\nint fault(void) { int a[2] = {0}; return a[2]; }\n', encoding="utf-8")
    assert "arrayIndexOutOfBounds" in (run([*CPPCHECK, str(source)]) or "")


def test_shellcheck_finds_nothing():
    scripts = [".ci/run", *files("*.sh", "prerm", "postinst", "postrm", "preinst", "*.bash")]
    assert len(scripts) > 6
    assert_content(run([need("shellcheck"), "-x", *scripts]))


def test_ruff_finds_nothing():
    if run([*RUFF, "--version"]):
        pytest.skip("ruff is not in build/venv; deps.sh gets it from PyPI")
    assert_content(run([*RUFF, "check", "--no-cache", "--output-format=concise", "module", "rdb", "tests"]))
