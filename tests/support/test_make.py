"""What make says and builds: nothing is installed here, and what is built is not compiled."""

import os
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
# A compiler that does not find these headers, and finds and compiles all others.
COMPILER = """#!/bin/sh
[ "$1" != -print-file-name=libasan.so ] || exit 0
case "$*" in *" -E "*) ! cat | grep -q '{lacks}' ;; *) exit 0 ;; esac
"""


def make(*words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", "--no-print-directory", *words], cwd=REPO, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def into(folder):
    """The words that keep what is built out of build/."""
    return [f"OBJ={folder}", f"BUILT={folder}"]


@pytest.fixture
def compiler(tmp_path):
    """compiler(header): a program that lacks it."""

    def lacking(header):
        path = tmp_path / "cc"
        path.write_text(COMPILER.format(lacks=header), encoding="utf-8")
        path.chmod(0o755)
        return path

    return lacking


@pytest.mark.parametrize("header, package", [
    ("hiredis/hiredis.h", "libhiredis-dev"), ("openssl/ssl.h", "libssl-dev"), ("zlib.h", "zlib1g-dev"),
    ("zstd.h", "libzstd-dev"), ("lzma.h", "liblzma-dev"),
])  # fmt: skip
def test_plain_make_without_a_library_of_the_tool_says_so_in_one_line_before_it_compiles(compiler, tmp_path, header, package):
    made = make(f"CC={compiler(header)}", *into(tmp_path))
    lines = [line for line in made.stderr.splitlines() if not line.startswith("make: ")]
    assert made.returncode != 0 and made.stdout == ""
    assert lines == [f"Building the tool needs packages that are missing, by Debian's names: {package}. "
                     "`make deps` installs them and `make build/bloomport.so` builds the module without the tool."]  # fmt: skip


def test_the_module_does_not_need_them(compiler, tmp_path):
    made = make("-n", f"CC={compiler('hiredis')}", *into(tmp_path), str(tmp_path / "bloomport.so"))
    assert made.returncode == 0 and "headers.sh tool" not in made.stdout


@pytest.mark.parametrize("words", [["xxhash.h"], ["no header at all"]])
def test_the_module_without_its_own_header_says_so_too(compiler, tmp_path, words):
    made = make(f"CC={compiler(words[0])}", *into(tmp_path), str(tmp_path / "headers-of-module"))
    if words == ["xxhash.h"]:
        assert made.returncode != 0 and "libxxhash-dev. `make deps` installs them." in made.stderr
    else:
        assert made.returncode == 0 and made.stderr == ""


def test_no_compiler_at_all_is_said(tmp_path):
    made = make("CC=no-such-cc", *into(tmp_path))
    assert made.returncode != 0 and "gcc (there is no no-such-cc)" in made.stderr


@pytest.mark.parametrize("target, program, other", [
    ("test-unit", "tests/unit/test_sizing", "tests/unit/test_codec"), ("study", "tests/bench/study_growth", "tests/bench/study_chosen"),
    ("test-large", "tests/large/large_rate", "tests/unit/test_codec"),
])  # fmt: skip
def test_one_program_is_linked_alone(tmp_path, target, program, other):
    """Nothing is built there yet, so what is not mentioned is not wanted."""
    made = make("-n", *into(tmp_path), "RUN_DEPS=:", "V=1", target, f"T={Path(program).name}")
    assert made.returncode == 0, made.stderr
    assert f"-o {tmp_path}/{program} " in made.stdout and f"-o {tmp_path}/{other} " not in made.stdout
