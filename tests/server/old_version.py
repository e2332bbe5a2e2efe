"""What the tests of upgrading share: where the older versions are, commands that 0.1.0 knows too, and which
filters older versions cannot read from RDB files: those with a short record."""

import os
import random

import pytest

DIRECTORY = os.environ.get("BLOOMPORT_OLD_DIR", "")


def module_of(version):
    return os.path.abspath(os.path.join(DIRECTORY, version, "bloomport.so"))


def with_version(version):
    return pytest.mark.skipif(not os.path.exists(module_of(version)),
                              reason="no build of version %s: BLOOMPORT_OLD_DIR is %r" % (version, DIRECTORY))  # fmt: skip


OLD = module_of("0.1.0")
with_old = with_version("0.1.0")
BOTH = [pytest.param(module_of(version), id=version, marks=with_version(version)) for version in ("0.1.0", "0.2.0")]
REFUSED = "bloomport: cannot load a filter: not a filter header"


def is_short(payload):
    """Whether a DUMP has a short record: no header, which begins with the magic."""
    return b"BLOOMPRT" not in payload


def delete_short(call):
    for key in KEYS:
        payload = call("DUMP", key).value
        if payload and is_short(payload):
            call("DEL", key)


KEYS = ["k%d" % i for i in range(6)]
SHAPES = [("0.01", 20), ("0.001", 50, "NONSCALING"), ("BITSPERKEY", "9.6", 30, "EXPANSION", 4), ("0.01", 20, "LAYOUT", "BLOCKED"),
          ("0.01", 20, "HASH", "FNV1A")]  # fmt: skip


def program(seed, count=250):
    """Commands of 0.1.0 alone."""
    source = random.Random(seed)
    for _ in range(count):
        key, other = source.choice(KEYS), source.choice(KEYS)
        items = ["item%d" % source.randrange(400) for _ in range(source.choice([1, 5, 60]))]
        yield source.choice([
            ("BF.RESERVE", key, *source.choice(SHAPES)),
            ("BF.ADD", key, items[0]),
            ("bf.madd", key, *items),
            ("BF.INSERT", key, "error", "0.05", "ITEMS", *items),
            ("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
            ("BF.MERGE", key, other),
            ("BF.INTERSTORE", key, other, other),
            ("BF.CLEAR", key),
            ("DEL", key),
            ("COPY", key, other, "REPLACE"),
            ("EVAL", "redis.call('BF.ADD', KEYS[1], 'a') return redis.call('BF.MADD', KEYS[1], 'b', 'c')", 1, key),
        ])  # fmt: skip
