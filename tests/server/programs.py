"""The parts of random programs: two tables, GENERATORS and OPTIONS. Each entry is one function with a
weight; a new command or a new option is one more entry. programs_forgetting.py has more of them.

    @generator(weight)              def name(p): returns a list of commands, each a list of words
    @option(chance, *commands)      def name(p): returns an option's words

A generator is given the Program: its random numbers, its model of what is where (program_model.py) and
`p.read`, which reads from the master without becoming a part of the program. What it returns may be
right or wrong; a wrong command is answered with an error and must then change nothing.
A program of a seed is always the same on the same module. BLOOMPORT_PROGRAM_WEIGHTS="insert=0,layout=0.9"
gives entries of both tables other weights; 0 switches one off.

    Step        what is sent at once: commands in one database, one by one, in MULTI or in a script; or
                what is done to the replica or to a server's clock
    Program     the next step, and the steps so far
"""

import os
import random
from collections import namedtuple

from checks import dump as scan_of
from filters import Layer, header
from formats_model import REDISBLOOM_FIXED, REDISBLOOM_LAYER, RedisBloom
from program_model import Held
from redisbloom import FIXTURES, chunks, payload

Step = namedtuple("Step", "db way commands")
WAYS = {"plain": 7, "multi": 1.5, "script": 1.5}

# Names of options are among them: a key may have any name.
KEYS = [*(b"k%d" % i for i in range(10)), b"", b"ITEMS", b"LAYOUT", b"\x00\xff\r\n"]
FORMATS = ["portable", "sstable", "leveldb", "parquet", "redisbloom"]
MOST = 2**63 - 1  # items, and capacities, of all layers together
REMEMBERED = 15  # dumps, exports and scans of each kind that can still be used
FOREVER = 4_000_000_000_000  # ms: later than any program's clock

GENERATORS, OPTIONS = {}, {}


def weights_from_environment():
    pairs = (pair.split("=") for pair in os.environ.get("BLOOMPORT_PROGRAM_WEIGHTS", "").split(",") if pair)
    weights = {name.strip(): float(weight) for name, weight in pairs}
    unknown = set(weights) - set(GENERATORS) - set(OPTIONS)
    assert not unknown, "BLOOMPORT_PROGRAM_WEIGHTS: no such entry: %s" % ", ".join(sorted(unknown))
    return weights


def generator(weight, alone=False, way="plain"):
    """`alone`: not in MULTI or a script; `way`: another one than to send commands to the master."""

    def register(function):
        GENERATORS[function.__name__] = (function, weight, alone or way != "plain", way)
        return function

    return register


def option(chance, *commands):
    def register(function):
        OPTIONS[function.__name__] = (function, chance, commands)
        return function

    return register


def as_words(command):
    return [word if isinstance(word, bytes) else str(word).encode() for word in command]


class Program:
    """Makes step after step for the server that `call` talks to; `model` learns elsewhere."""

    def __init__(self, seed, model, call):
        self.random = random.Random(seed)
        self.model, self.call, self.db = model, call, 0
        self.weights = weights_from_environment()
        self.dumps, self.scans, self.exports = [], [], []  # met so far, the newest last

    def next_step(self):
        self.db = self.random.randrange(2) if self.random.random() < 0.3 else 0
        way = self.pick(WAYS)
        if way == "plain":
            name = self.pick(self.choices(lambda alone: True))
            return Step(self.db, GENERATORS[name][3], self.commands_of(name))
        found, choices = [], self.choices(lambda alone: not alone)
        for _ in range(self.random.randint(1, 4)):
            found += self.commands_of(self.pick(choices))
        return Step(self.db, way, found)

    def choices(self, wanted):
        return {name: self.weights.get(name, weight) for name, (_, weight, alone, _) in GENERATORS.items() if wanted(alone)}

    def commands_of(self, name):
        return [as_words(command) for command in GENERATORS[name][0](self)]

    # ---- Choosing

    def pick(self, weighted):
        return self.random.choices(list(weighted), list(weighted.values()))[0]

    def one(self, *values):
        return self.random.choice(values)

    def chance(self, probability):
        return self.random.random() < probability

    def spelled(self, word):
        """A word in any case."""
        how = self.random.randrange(4)
        if how == 3:
            return "".join(self.one(c.upper(), c.lower()) for c in word)
        return (word.upper(), word.lower(), word.capitalize())[how]

    def options(self, command):
        """Options of a command in any order and case."""
        found = []
        for name, (function, chance, commands) in OPTIONS.items():
            if command in commands and self.chance(self.weights.get(name, chance)):
                word, *values = function(self)
                found.append([self.spelled(word), *values])
        self.random.shuffle(found)
        return [word for words in found for word in words]

    # ---- Keys and items

    def key(self):
        return self.random.choice(KEYS)

    def filter(self):
        """A key that holds a filter, nearly always if there is one."""
        found = self.model.filters(self.db)
        return self.random.choice(found) if found and not self.chance(0.05) else self.key()

    def filter_of(self, kind):
        """A filter of this kind (program_items.py), nearly always if there is one."""
        found = [key for key in self.model.filters(self.db) if isinstance(self.model.get(self.db, key).items, kind)]
        return self.random.choice(found) if found and not self.chance(0.05) else self.filter()

    def free_key(self):
        """A key that holds nothing, if there is one and mostly."""
        free = [key for key in KEYS if not self.model.get(self.db, key)]
        return self.random.choice(free) if free and not self.chance(0.1) else self.key()

    def item(self):
        """Mostly an item that filters.look queries, so that items repeat."""
        kind = self.random.random()
        if kind < 0.8:
            return b"item%d" % self.random.randrange(250)
        if kind < 0.84:
            return b""
        if kind < 0.9:
            return self.one(b"ITEMS", b"NOCREATE", b"capacity", b"LAYOUT", b"0", b"-1", b"\x00", b"\xff\xfe", b"a b\r\n")
        return self.random.randbytes(self.one(1, 2, 7, 8, 9, 31, 32, 33, 200))

    def items(self):
        found = [self.item() for _ in range(self.one(1, 1, 2, 3, 8, 20, 60))]
        if self.chance(0.3):
            found.insert(self.random.randrange(len(found)), self.random.choice(found))
        return found

    # ---- Filters met so far, as bytes

    def read(self, *words):
        self.call("SELECT", self.db).plain
        return self.call(*words)

    def remember(self, known, entry):
        known.append(entry)
        del known[:-REMEMBERED]
        return entry

    def known(self, known, fresh):
        """A fresh one, or one of those seen before; None if there is none."""
        if not known or self.chance(0.5):
            entry = fresh()
            if entry is not None:
                self.remember(known, entry)
        return self.random.choice(known) if known else None

    def fresh_dump(self):
        key = self.filter()
        data, held = self.read("DUMP", key).value, self.model.get(self.db, key)
        if data is None or held is None:
            return None
        self.model.contents.met_dump(data, held)
        return data

    def fresh_scan(self):
        key = self.filter()
        held = self.model.get(self.db, key)
        if held is None or self.read("BF.CARD", key).is_error:  # nothing, another type, or being loaded
            return None
        pieces = tuple(scan_of(self.read, key))
        self.model.contents.met_scan(pieces, held)
        return pieces

    def fresh_export(self):
        key, form = self.filter(), self.one(*FORMATS)
        held, stats = self.model.get(self.db, key), self.read("BF.STATS", key)
        variant = ["VARIANT", self.one("old", "3.x", "4.x")] if form == "cassandra" else []
        data = self.read("BF.EXPORT", key, "FORMAT", form, *variant)
        if data.is_error or stats.is_error or held is None:
            return None
        scheme = stats.plain[stats.plain.index("hash" if "hash" in stats.plain else b"hash") + 1]
        scheme = scheme if isinstance(scheme, bytes) else scheme.encode()
        scheme = variant[1].encode() if variant else scheme
        self.model.contents.met_export(form.encode(), scheme, data.value, held.items.found(self.model.now_ms()))
        return form, scheme.decode(), data.value


# ---- Numbers in legal spellings, and some that are refused -----------------------------------------


def rate(p):
    value = p.one(1 / 3, 0.0123456789012345678, 0.5, 0.3, 0.25, 0.1, 0.1, 0.05, 0.01, 0.01, 0.01, 0.001, 1e-6, 0.9, 0.999)
    text = repr(value)
    return p.one(
        text, text, text, text + "00", "%e" % value, "%E" % value, "%.17g" % value, text.lstrip("0"), "00" + text, value.hex(), "+" + text, "1e-400"
    )  # fmt: skip


def bits(p):
    return p.one("1", "1.5", "4", "8", "9.123456789012345", "9.6", "10", "10.0", "1e1", "1.2e+1", "012.25", "16", "20", "256", "0xa", "+8", "0")


def capacity(p):
    return p.one(*("1", "1", "2", "3", "5", "10", "20", "50", "100", "1000") * 2, "5000", "1000000000000000000", "010", "1e2")


def expansion(p):
    return p.one(*("0", "1", "1", "1", "2", "2", "3", "4", "10", "32768") * 2, "32769", "02")


# ---- Options ---------------------------------------------------------------------------------------


@option(0.4, "BF.INSERT")
def option_capacity(p):
    return ["CAPACITY", capacity(p)]


@option(0.3, "BF.INSERT")
def option_error(p):
    return ["ERROR", rate(p)]


@option(0.25, "BF.INSERT")
def option_bitsperkey(p):
    return ["BITSPERKEY", bits(p)]


@option(0.3, "BF.INSERT", "BF.RESERVE")
def option_expansion(p):
    return ["EXPANSION", expansion(p)]


@option(0.15, "BF.INSERT", "BF.RESERVE")
def option_nonscaling(p):
    return ["NONSCALING"]


@option(0.3, "BF.INSERT", "BF.RESERVE")
def option_layout(p):
    return ["LAYOUT", p.spelled(p.one("CLASSIC", "BLOCKED", "BLOCKED", "COUNTING"))]


@option(0.25, "BF.INSERT", "BF.RESERVE")
def option_hash(p):
    return ["HASH", p.spelled(p.one("XXH64", "XXH64", "FNV1A"))]


@option(0.15, "BF.INSERT")
def option_nocreate(p):
    return ["NOCREATE"]


@option(0.2, "BF.IMPORT")
def import_capacity(p):
    return ["CAPACITY", capacity(p)]


@option(0.3, "BF.IMPORT")
def import_expansion(p):
    return ["EXPANSION", expansion(p)]


@option(0.4, "BF.IMPORT", "RESTORE", "COPY")
def replace(p):
    return ["REPLACE"]


# ---- Creating and adding ---------------------------------------------------------------------------

# Shapes repeat, so that there is something to merge; tiny ones grow long chains or fill up within a batch.
SHAPES = [
    ("0.1", "1", "EXPANSION", "1"),
    ("0.01", "5", "EXPANSION", "1"),
    ("0.01", "20", "EXPANSION", "2"),
    ("0.01", "200"),
    ("BITSPERKEY", "8", "30", "NONSCALING"),
    ("0.05", "12", "NONSCALING", "LAYOUT", "BLOCKED"),
    ("0.02", "10", "LAYOUT", "BLOCKED"),
    ("0.02", "40", "HASH", "FNV1A"),
]


@generator(5)
def reserve_shape(p):
    return [[p.spelled("BF.RESERVE"), p.free_key(), *p.one(*SHAPES)]]


@generator(5)
def reserve(p):
    size = [rate(p)] if p.chance(0.6) else [p.spelled("BITSPERKEY"), bits(p)]
    bare = [expansion(p)] if p.chance(0.1) else []
    return [[p.spelled("BF.RESERVE"), p.free_key(), *size, capacity(p), *bare, *p.options("BF.RESERVE")]]


@generator(8)
def add(p):
    return [[p.spelled("BF.ADD"), p.filter(), p.item()]]


@generator(3)
def add_anywhere(p):
    return [[p.spelled("BF.ADD"), p.key(), p.item()]]


@generator(9)
def madd(p):
    return [[p.spelled("BF.MADD"), p.filter(), *p.items()]]


@generator(2)
def madd_anywhere(p):
    return [[p.spelled("BF.MADD"), p.free_key(), *p.items()]]


def an_insert(p, key):
    return [[p.spelled("BF.INSERT"), key, *p.options("BF.INSERT"), p.spelled("ITEMS"), *p.items()]]


@generator(9)
def insert(p):
    """Into a filter: the options are only checked."""
    return an_insert(p, p.filter())


@generator(6)
def insert_new(p):
    return an_insert(p, p.free_key())


# ---- Whole filters ---------------------------------------------------------------------------------


@generator(4)
def merge(p):
    return [[p.spelled("BF.MERGE"), p.filter() if p.chance(0.6) else p.key(), *(p.filter() for _ in range(p.one(1, 1, 2, 3)))]]


@generator(2)
def merge_copies(p):
    """Two filters with the same past, each with items of its own: these can always be merged."""
    key, other = p.filter(), p.key()
    return [["COPY", key, other, "REPLACE"], ["BF.MADD", key, *p.items()], ["BF.MADD", other, *p.items()], ["BF.MERGE", key, other]]


@generator(2.5)
def interstore(p):
    return [[p.spelled("BF.INTERSTORE"), p.key(), *(p.filter() for _ in range(p.one(1, 1, 2, 3)))]]


@generator(1.5)
def interstore_alike(p):
    """Two of one layer each, some items in common."""
    one, other, shape, common = p.free_key(), p.free_key(), p.one(*SHAPES[3:]), p.items()
    made = [["BF.RESERVE", key, *shape] for key in (one, other)]
    filled = [["BF.MADD", key, *common[:8], p.item()] for key in (one, other)]
    return [*made, *filled, ["BF.INTERSTORE", p.key(), one, other]]


@generator(1.5)
def clear(p):
    return [[p.spelled("BF.CLEAR"), p.filter()]]


@generator(4)
def bf_import(p):
    known = p.known(p.exports, p.fresh_export)
    if not known:
        return madd(p)
    form, scheme, data = known
    words = ["FORMAT", p.spelled(form)]
    if form == "cassandra":
        words += [p.spelled("VARIANT"), p.spelled(scheme)]
    elif scheme == "FNV1A" or p.chance(0.1):
        words += [p.spelled("HASH"), scheme if p.chance(0.9) else p.one("XXH64", "FNV1A")]
    return [[p.spelled("BF.IMPORT"), p.key(), *words, *p.options("BF.IMPORT"), p.spelled("DATA"), data]]


def chunks_into(p, key, pieces):
    """BF.LOADCHUNK of a scan: complete, cut off, or with pieces that are repeated or late."""
    pieces = list(pieces)
    if p.chance(0.3):
        pieces = pieces[: p.random.randint(1, max(len(pieces) - 1, 1))]
    if p.chance(0.2):
        pieces.insert(p.random.randrange(len(pieces) + 1), p.random.choice(pieces))
    if p.chance(0.08):
        p.random.shuffle(pieces)
    found = [[p.spelled("BF.LOADCHUNK"), key, iterator, data] for iterator, data in pieces[:40]]
    if p.chance(0.15):
        found.insert(p.random.randrange(len(found) + 1), ["BF.MADD", key, *p.items()])
    return found


@generator(4)
def loadchunk(p):
    pieces = p.known(p.scans, p.fresh_scan)
    return chunks_into(p, p.free_key(), pieces) if pieces else madd(p)


@generator(1)
def loadchunk_piece(p):
    """One piece of any filter into any other."""
    pieces = p.known(p.scans, p.fresh_scan)
    if not pieces:
        return madd(p)
    iterator, data = p.random.choice(pieces)
    return [["BF.LOADCHUNK", p.filter(), iterator, data]]


@generator(1)
def loadchunk_replace(p):
    """A word that clients of older versions do not have: an error there."""
    pieces = p.known(p.scans, p.fresh_scan)
    if not pieces:
        return madd(p)
    found = [["BF.LOADCHUNK", p.filter(), iterator, data] for iterator, data in pieces]
    key = found[0][1]
    return [[*found[0], p.spelled("REPLACE")], *([*words[:1], key, *words[2:]] for words in found[1:40])]


@generator(5)
def restore(p):
    data = p.known(p.dumps, p.fresh_dump)
    if data is None:
        return madd(p)
    ttl = p.one(["0"], ["0"], ["0"], [FOREVER, "ABSTTL"], ["1", "ABSTTL"], [10**11])
    return [["RESTORE", p.key(), ttl[0], data, *ttl[1:], *p.options("RESTORE")]]


# ---- RedisBloom's filters --------------------------------------------------------------------------


def some_foreign(p):
    """A recorded filter, or a small one made by RedisBloom's rules here: (dump as one string, items)."""
    if p.chance(0.3):
        fixture = p.one(*FIXTURES.values())
        return fixture.data, fixture.items[:200]
    model = RedisBloom(p.one(0.1, 0.01), p.one(1, 3, 10), p.one(1, 2, 4), is_scaling=p.chance(0.8))
    items = p.items() if model.is_scaling else p.items()[:1]  # more might not fit
    for item in items:
        model.add(item)
    return model.data, items


def crafted(p, layers):
    """A legal header of layers that are (items, capacity) each, 64 bits large, and their bits."""
    rate_, bits_per_item, hashes = p.one((0.01, 9.585058377367439, 7), (1e-9, 43.13276269815347, 30))
    options, growth = p.one(5, 5, 5, 13), p.one(1, 1, 2, 2**32 - 1)
    head = REDISBLOOM_FIXED.pack(sum(items for items, _ in layers), len(layers), options, growth)
    for items, size in layers:
        head += REDISBLOOM_LAYER.pack(8, 64, items, rate_, bits_per_item, hashes, size, 0)
    return head + p.one(bytes(8), p.random.randbytes(8)) * len(layers)


def met_foreign(p, data, items):
    held = Held(items=items, is_foreign=True)
    pieces, whole = tuple(chunks(data)), payload(data)
    p.model.contents.met_dump(whole, held)
    p.model.contents.met_scan(pieces, held)
    p.remember(p.scans, pieces)
    return pieces, p.remember(p.dumps, whole)


@generator(2.5)
def foreign_restore(p):
    _, whole = met_foreign(p, *some_foreign(p))
    return [["RESTORE", p.free_key(), "0", whole, *p.options("RESTORE")]]


@generator(2.5)
def foreign_chunks(p):
    pieces, _ = met_foreign(p, *some_foreign(p))
    return chunks_into(p, p.free_key(), pieces)


def crafted_and_added_to(p, layers):
    """A filter at a limit, and an add to it: the add may be refused; the filter must load afterwards."""
    pieces, whole = met_foreign(p, crafted(p, layers), ())
    key = p.free_key()
    made = [["BF.LOADCHUNK", key, *pieces[0]]] if p.chance(0.7) else [["RESTORE", key, "0", whole]]
    return [*made, ["BF.ADD", key, p.item()], ["BF.MADD", key, *p.items()]]


@generator(0.6)
def foreign_many_items(p):
    """Counts whose sum is at 2^63-1, or just below."""
    count = p.one(1, 1, 2, 3, 17)
    return crafted_and_added_to(p, [((MOST - p.random.randrange(4)) // count, p.one(1, MOST // count))] * count)


@generator(0.4)
def foreign_large(p):
    """Capacities whose sum is at 2^63-1 or just below, the newest layer being full and small."""
    return crafted_and_added_to(p, [(0, MOST - p.one(1, 2, 3, 5)), (1, 1)])


@generator(0.4)
def foreign_many_layers(p):
    return crafted_and_added_to(p, [(1, 1)] * p.one(2, 16, 17, 63, 64, 65, 200))


def with_room(commands):
    return [["CONFIG", "SET", "bf.max-bytes", 50_000_000], *commands, ["CONFIG", "SET", "bf.max-bytes", 20_000]]


@generator(0.1, alone=True)
def foreign_most_layers(p):
    """As many layers as clients' adds may make."""
    return with_room(crafted_and_added_to(p, [(1, 1)] * p.one(1022, 1023, 1024, 1025)))


@generator(0, alone=True)
def foreign_all_layers(p):
    """As many layers as a file may have: a header of 3 MB. Its weight is 0, as a look takes minutes."""
    return with_room(crafted_and_added_to(p, [(1, 1)] * p.one(65535, 65536)))


@generator(0.4)
def own_crafted(p):
    """bloomport's own type: more layers than any command makes, or capacities at 2^63-1, the newest layer full."""
    full = Layer(capacity=1, items=1, ones=1, error_rate=0.01, k=1, m=8)
    if p.chance(0.6):
        layers = [full] * p.one(15, 16, 17, 30, 63, 64, 65)
    else:
        layers = [full._replace(capacity=MOST - p.one(1, 2, 3, 5)), full]
    pieces = tuple([(1, header(layers, expansion=p.one(0, 1, 2)))] + [(i + 2, b"\x01") for i in range(len(layers))])
    p.model.contents.met_scan(pieces, Held())
    key = p.free_key()
    return [*(["BF.LOADCHUNK", key, *piece] for piece in pieces), ["BF.MADD", key, *p.items()]]


# ---- The server's own commands ---------------------------------------------------------------------


@generator(3)
def rename(p):
    return [[p.one("RENAME", "RENAMENX", "rename"), p.filter(), p.key()]]


@generator(4)
def copy(p):
    where = ["DB", p.random.randrange(2)] if p.chance(0.3) else []
    return [["COPY", p.filter(), p.key(), *where, *p.options("COPY")]]


@generator(1)
def move(p):
    return [["MOVE", p.filter(), 1 - p.db]]


@generator(0.7)
def swapdb(p):
    return [["SWAPDB", 0, 1]]


@generator(2.5)
def expire(p):
    future = [["EXPIRE", 10**9], ["PEXPIRE", 10**12], ["EXPIREAT", FOREVER // 1000], ["PEXPIREAT", FOREVER + 1]]
    past = [["EXPIRE", -1], ["PEXPIREAT", 1], ["EXPIREAT", 1]]
    name, when = p.one(*(future if p.chance(0.85) else past))
    return [[name, p.filter(), when, *p.one([], [], ["NX"], ["GT"])]]


@generator(1.5)
def expire_soon(p):
    """A time that a jump of the clock may pass."""
    return [p.one(["PEXPIRE", p.filter(), jump(p)], ["PEXPIREAT", p.filter(), p.model.now_ms() + jump(p)])]


@generator(1)
def persist(p):
    return [["PERSIST", p.filter()]]


@generator(6)
def delete(p):
    """Often, so that there are free keys for what is created."""
    return [[p.one("DEL", "UNLINK"), *(p.key() for _ in range(p.one(1, 2, 3)))]]


@generator(1)
def other_type(p):
    return [p.one(["SET", p.key(), "text"], ["SET", p.key(), "text", "KEEPTTL"], ["RPUSH", p.key(), "a"], ["HSET", p.key(), "f", "v"])]


@generator(0.15)
def flushdb(p):
    return [["FLUSHDB", p.one("SYNC", "ASYNC")]]


# ---- Settings, files, the replica ------------------------------------------------------------------


@generator(3, alone=True)
def setting(p):
    """Any spelling that is accepted must give filters that replicas and files keep."""
    name, value = p.one(
        ("error-rate", rate(p)),
        ("bits-per-key", bits(p)),
        ("bits-per-key", "0"),
        ("bits-per-key", p.one("0.0", "0e5", "+0", "00")),
        ("initial-size", p.one("1", "2", "10", "100", "300", "1000", "010", "0x10")),
        ("expansion-factor", p.one("0", "1", "2", "3", "32768")),
    )
    return [["CONFIG", "SET", "bf." + name, value]]


@generator(0.5, alone=True)
def setting_zero(p):
    """Spellings of negative zero, which is not under 0 but differs from 0 in its bits."""
    return [["CONFIG", "SET", "bf.bits-per-key", p.one("-0", "-0.0", "-0e1", "-1e-400")]]


@generator(0.7, alone=True)
def max_bytes(p):
    """There is always a limit: expansions of 32768 would fill the disk. Growth is refused now and then."""
    return [["CONFIG", "SET", "bf.max-bytes", p.one("400", "3000", "20000", "20000", "60000")]]


@generator(1.2, alone=True)
def rewrite(p):
    """The program goes on while the child writes (rdb-key-save-delay makes it take a while)."""
    return [["CONFIG", "SET", "aof-use-rdb-preamble", p.one("yes", "no")], ["BGREWRITEAOF"]]


@generator(0.8, alone=True)
def reload(p):
    return [["DEBUG", "RELOAD"]]


@generator(0.2, way="replica")
def resync(p):
    """The replica leaves and comes back, and is sent everything anew while the program goes on."""
    return [["REPLICAOF", "NO", "ONE"], ["REPLICAOF", "master"]]


# ---- Clocks ----------------------------------------------------------------------------------------

# ms. Clocks stand still between two jumps. The longest jumps are within what clock.CALM allows.
STEPS = [1, 2, 100, 249, 250, 251, 500, 999, 1000, 1001, 1250, 2000, 5000, 15_000, 60_000]
LEAPS = [3600_000, 5 * 3600_000, 86_400_000, 7 * 86_400_000]


def jump(p):
    return p.one(*STEPS) if p.chance(0.8) else p.one(*LEAPS)


@generator(8, way="clock")
def clock(p):
    """The master's time, more often forward than back."""
    return [["CLOCK", "master", jump(p) * p.one(1, 1, 1, -1)]]


@generator(0.5, way="clock")
def clock_of_replica(p):
    """A replica's own time must not matter to what it holds."""
    return [["CLOCK", "replica", p.one(-1, 1) * p.one(*LEAPS)]]


@generator(0.3, way="clock")
def clocks_wrong_and_right(p):
    """A wrong jump, which is corrected at once or after the other clock has moved."""
    ms, other = p.one(-1, 1) * p.one(*LEAPS), p.one("master", "replica")
    return [["CLOCK", "master", ms], ["CLOCK", other, jump(p)], ["CLOCK", "master", -ms]]


# ---- Mistakes --------------------------------------------------------------------------------------


@generator(3)
def mistake(p):
    key, item = p.filter(), p.item()
    return [
        p.one(
            ["BF.RESERVE", key, "0.01"],
            ["BF.RESERVE", key, p.one("0", "1", "-1", "nan", "inf", "x", ""), "10"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "LAYOUT", "BLOCKED", "HASH", "FNV1A"],
            ["BF.RESERVE", p.free_key(), "0.01", "10", "EXPANSION", "2", "EXPANSION", "2"],
            ["BF.INSERT", key, "ITEMS"],
            ["BF.INSERT", key, "ERROR", "0.1", "BITSPERKEY", "8", "ITEMS", item],
            ["BF.INSERT", key, "NOCREATE", "NOCREATE", "ITEMS", item],
            ["BF.INSERT", key, "CAPACITY", "0", "ITEMS", item],
            ["BF.INSERT", key, "NOSUCH", "ITEMS", item],
            ["BF.ADD", key],
            ["BF.LOADCHUNK", key, "1", "nonsense"],
            ["BF.LOADCHUNK", key, "x", "nonsense"],
            ["BF.LOADCHUNK", key, 2**62, "nonsense"],
            ["BF.IMPORT", key, "FORMAT", p.one(*FORMATS), "REPLACE", "DATA", p.random.randbytes(20)],
            ["BF.MERGE", "nothing", "nothing"],
            ["BF.CLEAR", "nothing"],
            ["RESTORE", key, "0", "nonsense", "REPLACE"],
        )
    ]


@generator(1)
def damaged(p):
    """The bytes of a filter seen before, one of them changed or the end cut off."""
    pieces, data = p.known(p.scans, p.fresh_scan), p.known(p.dumps, p.fresh_dump)
    if not pieces or data is None:
        return madd(p)
    at = p.random.randrange(len(data))
    spoiled = data[:at] + bytes([data[at] ^ 1 << p.random.randrange(8)]) + data[at + 1 :] if p.chance(0.5) else data[:at]
    head = pieces[0][1]
    return [["RESTORE", p.key(), "0", spoiled, "REPLACE"], ["BF.LOADCHUNK", p.free_key(), "1", head[: p.random.randrange(len(head))]]]
