"""What the tests of upgrading share: where version 0.1.0 is, and commands that it knows too."""

import os
import random

import pytest

OLD = os.environ.get("BLOOMPORT_OLD_SO", "")
with_old = pytest.mark.skipif(not os.path.exists(OLD), reason="no build of version 0.1.0: BLOOMPORT_OLD_SO is %r" % OLD)

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
