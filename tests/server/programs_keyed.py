"""More parts of random programs, as programs.py has them: keyed filters (HASH SIP13, SEED), valkey-bloom's words of
BF.INSERT, and its own filters, which BF.LOAD brings. Importing this file adds them to the tables.

Filters without SEED draw a random one, so programs that have them are the same only up to false positives.
"""

from pathlib import Path

from program_model import VALKEYBLOOM, Held
from programs import FORMATS, generator, option

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "valkeybloom" / "filters.txt"
SEEDS = [bytes(range(32)), bytes(32), b"\xff" * 32, b"ITEMS LAYOUT TIGHTENING SEED ITEM"[:32]]
FORMATS.append("valkeybloom")


def recorded():
    """[(argument of BF.LOAD, items)] of the filters that valkey-bloom itself made."""
    found = []
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        key, items, *_, data = line.split()
        if not key.startswith("#") and data.startswith("01"):
            count = 0 if "nonscaling" in key else int(items)  # the last ones may not have fit
            found.append((bytes.fromhex(data), [b"vbfix:%d" % i for i in range(min(count, 200))]))
    assert len(found) > 10
    return found


RECORDED = recorded()


def seed(p):
    """Few, so that there is something to merge; some are refused."""
    right = p.one(*SEEDS)
    return p.one(right, right, right.hex(), right.hex().upper(), right.hex().capitalize(), p.one("", right[:31], right.hex()[:63], "g" * 64))


# ---- Options ---------------------------------------------------------------------------------------


@option(0.15, "BF.INSERT", "BF.RESERVE")
def option_keyed(p):
    """Often beside a HASH or with BLOCKED: refused."""
    return p.one(["HASH", p.spelled("SIP13")], ["SEED", seed(p)], ["SEED", seed(p), p.spelled("HASH"), p.spelled("sip13")])


@option(0.12, "BF.INSERT")
def option_tightening(p):
    return ["TIGHTENING", p.one(*("0.5", "0.85", ".1", "5e-1") * 2, "0", "1", "x", "nan")]


@option(0.12, "BF.INSERT")
def option_validatescaleto(p):
    return ["VALIDATESCALETO", p.one(*("1", "100", "1000", "5000") * 2, "100000", "9223372036854775807", "0", "-1", "1e3")]


# ---- Keyed filters ---------------------------------------------------------------------------------

KEYED = [
    ("0.01", "200"),
    ("0.01", "5", "EXPANSION", "1"),
    ("0.02", "20", "EXPANSION", "2"),
    ("BITSPERKEY", "8", "32", "NONSCALING"),
    ("0.02", "60", "LAYOUT", "COUNTING"),
    ("0.02", "30", "WINDOW", "60", "GENERATIONS", "2"),
]


@generator(5)
def reserve_keyed(p):
    words = ["SEED", p.one(*SEEDS[:2])] if p.chance(0.7) else ["HASH", "SIP13"]
    return [[p.spelled("BF.RESERVE"), p.free_key(), *p.one(*KEYED), *words]]


@generator(1.5)
def merge_keyed(p):
    """Two of one seed or of two, of one shape."""
    one, other, shape = p.free_key(), p.free_key(), p.one(*KEYED)
    made = [["BF.RESERVE", key, *shape, "SEED", p.one(*SEEDS[:2])] for key in (one, other)]
    filled = [["BF.MADD", key, *p.items()[:8]] for key in (one, other)]
    return [*made, *filled, [p.one("BF.MERGE", "BF.INTERSTORE"), p.key(), one, other]]


# ---- valkey-bloom's filters ------------------------------------------------------------------------


@generator(4)
def bf_load(p):
    data, items = p.one(*RECORDED)
    p.model.contents.loads[data] = Held(items=items, is_foreign=VALKEYBLOOM)
    return [[p.spelled("BF.LOAD"), p.free_key(), data]]


@generator(2)
def bf_load_and_grow(p):
    """The smallest of them, so that they grow within a batch."""
    data, items = p.one(*(pair for pair in RECORDED if len(pair[0]) < 400))
    p.model.contents.loads[data] = Held(items=items, is_foreign=VALKEYBLOOM)
    key = p.free_key()
    return [["BF.LOAD", key, data], *(["BF.MADD", key, *p.items()] for _ in range(4))]


@generator(1)
def mistake_keyed(p):
    key, item, (data, _) = p.filter(), p.item(), p.one(*RECORDED)
    at = p.random.randrange(len(data))
    return [
        p.one(
            ["BF.LOAD", key, data],
            ["BF.LOAD", p.free_key(), data[:at]],
            ["BF.LOAD", p.free_key(), data + b"\0"],
            ["BF.LOAD", p.free_key(), b"\2" + data[1:]],
            ["BF.LOAD", key],
            ["BF.INSERT", key, "TIGHTENING", "0.5", "SEED", SEEDS[0]],
            ["BF.INSERT", key, "SEED", SEEDS[0], "HASH", "XXH64", "ITEMS", item],
            ["BF.INSERT", key, "NONSCALING", "VALIDATESCALETO", "10", "ITEMS", item],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "TIGHTENING", "0.5"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "SEED", SEEDS[0], "LAYOUT", "BLOCKED"],
        )
    ]
