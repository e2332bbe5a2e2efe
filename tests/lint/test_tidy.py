"""clang-tidy and clang-format, `make tidy`: their checks are in .clang-tidy and .clang-format. Both are
Debian 12's, version 14, and no other: another version has other checks and breaks lines elsewhere. On
another Debian these tests are skipped.
"""

import os
import shlex
from concurrent.futures import ThreadPoolExecutor

from tools import JOBS, assert_content, files, need, run, run_on_change

# What the Makefile compiles with.
FLAGS = shlex.split(os.environ.get("BLOOMPORT_LINT_FLAGS", "-std=c11 -I. -isystem build/include"))


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


def test_clang_format_would_change_nothing():
    assert_content(run([need("clang-format-14"), "--dry-run", "-Werror", *files("*.c", "*.h")]))
