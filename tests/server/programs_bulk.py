"""More parts of random programs, as programs.py has them: many items in one string, BF.BULKADD and BF.BULKEXISTS.
Importing this file adds them to the tables.
"""

from bulk import lines
from program_items import CountedItems, WindowItems
from programs import generator

WIDTHS = [1, 2, 7, 7, 7, 8, 8, 16, 16, 36, 100]


def some_lines(p):
    """Mostly items that filters.look queries; a last newline or none."""
    data = lines(item.replace(b"\n", b"") for item in p.items())
    return [p.spelled("LINES"), data[:-1] if p.chance(0.3) else data]


def some_of_one_width(p):
    """Of 7 bytes are most of the items that filters.look queries."""
    width, count = p.one(*WIDTHS), p.one(1, 2, 7, 8, 9, 24, 25, 60)
    items = [b"item%d" % p.random.randrange(100, 250) if width == 7 else p.random.randbytes(width) for _ in range(count)]
    items += items[: p.one(0, 0, 1, 3)]
    return [p.spelled("WIDTH"), width, b"".join(items)]


def some_data(p):
    return some_lines(p) if p.chance(0.6) else some_of_one_width(p)


@generator(8)
def bulkadd(p):
    return [[p.spelled("BF.BULKADD"), p.filter(), *some_data(p)]]


@generator(2)
def bulkadd_anywhere(p):
    return [[p.spelled("BF.BULKADD"), p.free_key(), *some_data(p)]]


@generator(4)
def bulkadd_to_forgetting(p):
    return [[p.spelled("BF.BULKADD"), p.filter_of((WindowItems, CountedItems)), *some_data(p)]]


@generator(2)
def bulkexists(p):
    return [[p.spelled("BF.BULKEXISTS"), p.filter(), *some_data(p)]]


@generator(1)
def mistake_bulk(p):
    """Refused; and data without items, which is not, and changes nothing."""
    name, key = p.spelled(p.one("BF.BULKADD", "BF.BULKADD", "BF.BULKEXISTS")), p.filter() if p.chance(0.6) else p.free_key()
    return [
        p.one(
            [name, key, "LINES", ""],
            [name, key, "WIDTH", "3", ""],
            [name, key, "WIDTH", "0", "abc"],
            [name, key, "WIDTH", "2", "abc"],
            [name, key, "WIDTH", "1048577", "abc"],
            [name, key, "WIDTH", "x", "abc"],
            [name, key, "WIDTH", "3"],
            [name, key, "LINES"],
            [name, key, "LINES", "a", "b"],
            [name, key, "ITEMS", "a"],
        )
    ]
