"""A 32-bit build is refused with one sentence, by make and by the source itself."""
import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SENTENCE = "bloomport needs a 64-bit machine: filters are counted and addressed in 64 bits"

HAS_M32 = subprocess.run(["gcc", "-m32", "-E", "-x", "c", "/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode == 0
with_m32 = pytest.mark.skipif(not HAS_M32, reason="this machine's gcc has no -m32")


@with_m32
def test_make_refuses_32_bits_with_one_sentence():
    ran = subprocess.run(["make", "-s", "CC=gcc", "CFLAGS=-m32", "FLAVOUR=m32", "build/m32/bloomport.so"], cwd=REPO,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = [line for line in (ran.stdout + ran.stderr).splitlines() if not line.startswith("make")]
    assert (ran.returncode, said) == (2, [SENTENCE])
    assert not (REPO / "build" / "m32").exists()


@with_m32
def test_the_source_refuses_32_bits_before_it_includes_anything():
    ran = subprocess.run(["gcc", "-std=c11", "-m32", "-I.", "-fsyntax-only", "-x", "c", "module/core/hash/hash.h"], cwd=REPO,
                         stderr=subprocess.PIPE, text=True)
    assert ran.returncode != 0
    assert SENTENCE in re.findall(r"error: (.*)", ran.stderr)[0]


def test_64_bits_are_not_refused():
    ran = subprocess.run(["make", "-s", "CC=gcc", "check-machine"], cwd=REPO, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
