"""More parts of random programs, as programs.py has them: filters that forget, by age (WINDOW) and on request
(LAYOUT COUNTING), and TTLs given where a filter is created. Importing this file adds them to the tables.
"""

from program_items import CountedItems, WindowItems
from programs import FOREVER, MOST, generator, jump, option


def seconds(p):
    return p.one(*("1", "1", "2", "5", "10", "60", "3600", "86400") * 2, "4294967295", "0", "-1", "4294967296", "1.5")


def generations(p):
    return p.one(*("1", "2", "3", "4", "16", "64") * 2, "0", "65")


# ---- Options ---------------------------------------------------------------------------------------


@option(0.2, "BF.INSERT", "BF.RESERVE")
def option_window(p):
    return ["WINDOW", seconds(p), *([p.spelled("GENERATIONS"), generations(p)] if p.chance(0.6) else [])]


@option(0.02, "BF.INSERT", "BF.RESERVE")
def option_generations(p):
    """Without WINDOW, or for the second time: refused."""
    return ["GENERATIONS", generations(p)]


@option(0.12, "BF.INSERT", "BF.RESERVE")
def option_ttl(p):
    """Never past, as such a key would be deleted some time later: reserve_past has these."""
    soon = p.one(["EX", -(-jump(p) // 1000)], ["PX", jump(p)], ["PXAT", p.model.now_ms() + jump(p)], ["PXAT", FOREVER])
    return p.one(soon, soon, soon, ["EX", p.one("0", "-1", "x", MOST)], ["PX", p.one("0", "1.5", MOST)], ["PXAT", p.one("0", "-5", "")])


# ---- Creating --------------------------------------------------------------------------------------

# Windows that the jumps of the clock pass in part, as a whole and many times over; counting filters.
FORGETTING = [
    ("0.01", "20", "WINDOW", "1"),
    ("0.01", "40", "WINDOW", "1", "GENERATIONS", "1"),
    ("0.1", "3", "EXPANSION", "1", "WINDOW", "60", "GENERATIONS", "2"),
    ("0.02", "100", "LAYOUT", "BLOCKED", "WINDOW", "5"),
    ("BITSPERKEY", "8", "50", "WINDOW", "3600", "GENERATIONS", "16"),
    ("0.02", "30", "HASH", "FNV1A", "WINDOW", "86400", "GENERATIONS", "3"),
    ("0.01", "60", "LAYOUT", "COUNTING"),
    ("0.2", "10", "LAYOUT", "COUNTING"),
    ("BITSPERKEY", "6", "250", "LAYOUT", "COUNTING", "HASH", "FNV1A"),
]


@generator(6)
def reserve_forgetting(p):
    return [[p.spelled("BF.RESERVE"), p.free_key(), *p.one(*FORGETTING)]]


@generator(0.5)
def reserve_past(p):
    """With a time that is over; it is touched, so that it is gone before a clock jumps back."""
    key, past = p.free_key(), p.model.now_ms() - p.one(1, 1000, 10**9)
    made = p.one(["BF.RESERVE", key, "0.01", "10", "PXAT", past], ["BF.INSERT", key, "PXAT", past, "ITEMS", p.item()])
    return [made, ["EXISTS", key]]


# ---- Adding, deleting, stepping --------------------------------------------------------------------


@generator(6)
def madd_to_window(p):
    return [[p.spelled("BF.MADD"), p.filter_of(WindowItems), *p.items()]]


@generator(3)
def rotate(p):
    """With a time it is for streams only."""
    when = [p.model.now_ms() + jump(p)] if p.chance(0.1) else []
    return [[p.spelled("BF.ROTATE"), p.filter_of(WindowItems), *when]]


@generator(3)
def madd_to_counting(p):
    """The same item more often than a counter can count, now and then."""
    items = p.items() if p.chance(0.7) else [p.item()] * p.one(2, 14, 15, 16, 40)
    return [[p.spelled("BF.MADD"), p.filter_of(CountedItems), *items]]


@generator(7)
def bf_del(p):
    """Mostly what is there: deleting what only seems to be there ends what the model is sure of."""
    key = p.filter_of(CountedItems)
    held = p.model.get(p.db, key)
    present = sorted(held.items.found(p.model.now_ms())) if held else []
    if not present or p.chance(0.1):
        return [[p.spelled("BF.DEL"), key, *p.items()]]
    found = [p.random.choice(present) for _ in range(p.one(1, 1, 2, 3, 20))]
    return [[p.spelled("BF.DEL"), key, *(found if p.chance(0.3) else dict.fromkeys(found))]]


@generator(2)
def bf_count(p):
    return [[p.spelled("BF.COUNT"), p.filter_of(CountedItems), p.item()]]


@generator(2)
def bf_card(p):
    return [[p.spelled("BF.CARD"), p.filter_of(CountedItems)]]


@generator(2)
def first_in_first_out(p):
    """Many fresh items through one filter, the oldest deleted: some of them are false positives when they are added."""
    key, held = p.free_key(), [p.random.randbytes(5) for _ in range(p.one(3, 8, 13))]
    made = [["BF.RESERVE", key, p.one("0.3", "0.05"), len(held), "LAYOUT", "COUNTING"], ["BF.MADD", key, *held]]
    for _ in range(12):
        held.append(p.random.randbytes(5))
        made += [["BF.DEL", key, held.pop(0)], ["BF.ADD", key, held[-1]]]
    return [*made, ["BF.CARD", key]]


@generator(2.5)
def merge_alike(p):
    """Filters of the same window, or of counters; they may differ in size, which is refused."""

    def window_of(key):
        held = p.model.get(p.db, key)
        return held and (type(held.items), vars(held.items).get("seconds"), vars(held.items).get("generations"))

    dest = p.filter_of((WindowItems, CountedItems))
    alike = [key for key in p.model.filters(p.db) if window_of(key) == window_of(dest)] or [dest]
    return [[p.spelled("BF.MERGE"), dest, *(p.random.choice(alike) for _ in range(p.one(1, 1, 2, 3)))]]


@generator(1)
def interstore_counting(p):
    """Two that can be intersected, some items in common; windows cannot be."""
    one, other, shape, common = p.free_key(), p.free_key(), p.one(*FORGETTING), p.items()
    made = [["BF.RESERVE", key, *shape] for key in (one, other)]
    filled = [["BF.MADD", key, *common[:8], p.item()] for key in (one, other)]
    return [*made, *filled, ["BF.INTERSTORE", p.key(), one, other]]


# ---- Settings, mistakes ----------------------------------------------------------------------------


@generator(0.5, alone=True)
def setting_window(p):
    return [["CONFIG", "SET", "bf.window", p.one("0", "0", "1", "60", "3600", "-1", "4294967296")]]


@generator(1.5)
def mistake_forgetting(p):
    key, item = p.filter(), p.item()
    return [
        p.one(
            ["BF.RESERVE", p.free_key(), "0.01", "10", "WINDOW", "10", "LAYOUT", "COUNTING"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "WINDOW", "10", "NONSCALING"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "GENERATIONS", "4"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "LAYOUT", "COUNTING", "EXPANSION", "2"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "EX", "10", "PXAT", FOREVER],
            ["BF.INSERT", key, "WINDOW", "0", "ITEMS", item],
            ["BF.INSERT", key, "WINDOW", "10", "GENERATIONS", "65", "ITEMS", item],
            ["BF.INSERT", key, "PX", "-1", "ITEMS", item],
            ["BF.DEL", key],
            ["BF.COUNT", key],
            ["BF.COUNT", key, item, item],
            ["BF.ROTATE", "nothing"],
            ["BF.ROTATE", key, "x"],
            ["BF.ROTATE", key, "1", "2"],
            ["BF.ROTATE", key, "DROP", "400000"],
        )
    ]
