"""More parts of random programs, as programs.py has them: BF.MERGE and BF.INTERSTORE of filters that can be combined and
are unlike all the same, in any order, named several times, dest among them. Importing this file adds them to the tables.
"""

from program_items import CountedItems
from programs import generator

# Equal m and k in a row; other capacities, promises and expansions.
PAIRS = [
    (("BITSPERKEY", "1", "400"), ("BITSPERKEY", "2", "200")),
    (("BITSPERKEY", "1", "12"), ("BITSPERKEY", "2", "6")),
    (("BITSPERKEY", "9.6", "30"), ("BITSPERKEY", "9.6", "30")),
]
EXPANSIONS = [["EXPANSION", "1"], ["EXPANSION", "2"], ["EXPANSION", "4"], ["NONSCALING"]]
KINDS = [["LAYOUT", "COUNTING"], ["LAYOUT", "COUNTING"], [], ["HASH", "FNV1A"], ["WINDOW", "3600"]]


def made_unlike(p, keys):
    """Filters of one geometry, each with items of its own. Some of these expansions a window does not have."""
    pair, kind = p.one(*PAIRS), p.one(*KINDS)
    for key in keys:
        options = [] if "COUNTING" in kind else p.one(*EXPANSIONS[: 3 if "WINDOW" in kind else 4])
        yield ["DEL", key]
        yield ["BF.RESERVE", key, *p.one(*pair), *kind, *options]
        yield ["BF.MADD", key, *p.items()]


def some_keys(p):
    """Three keys and the one that is written: a fourth, that may be missing or be there, or one of the three."""
    keys = p.random.sample([p.free_key(), p.free_key(), p.key(), p.key()], 4)
    keys = list(dict.fromkeys(keys))
    return keys, p.one(p.free_key(), p.free_key(), p.key(), *keys)


@generator(4)
def merge_unlike(p):
    """Then items, until the new filter is full or grows: by whose parameters?"""
    keys, dest = some_keys(p)
    named = [p.one(*keys) for _ in range(p.one(1, 2, 3, 5))]
    before = [["DEL", dest]] if dest not in keys and p.chance(0.8) else []
    name = p.one("BF.MERGE", "BF.MERGE", "BF.MERGE", "BF.INTERSTORE")
    twice = [[name, dest, *named]] if p.chance(0.3) else []
    return [*made_unlike(p, keys), *before, [p.spelled(name), dest, *named], *twice, ["BF.MADD", dest, *p.items()]]


@generator(1)
def combine_many_times(p):
    """One filter, named often, alone or among others."""
    key = p.filter_of(CountedItems) if p.chance(0.5) else p.filter()
    named = [key] * p.one(1, 2, 30) + [p.filter()] * p.one(0, 0, 1, 2) + [key] * p.one(0, 3)
    return [[p.spelled(p.one("BF.MERGE", "BF.INTERSTORE")), p.one(key, p.key(), p.free_key()), *named]]
