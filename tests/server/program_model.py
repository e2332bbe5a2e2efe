"""What must be true after a random program: which key holds what, and the items that it must contain.

The model predicts nothing. It learns from each command and its reply: an item counts as held once an
add of it was answered without an error, and follows its filter through RENAME, COPY, BF.MERGE,
SWAPDB, RESTORE, chunks, imports. So any list of commands can be run, also a part of a recorded one.

A new command that changes what a key holds is one function here, under `@learns("BF.NAME")`; commands
without one are taken to change no key and no item.

    Held        what one key holds
    Contents    which items are in the dumps, exports and pieces met so far
    Model       two databases of Held
"""

import re
import struct
import time

from bulk import answers_of, cut
from checks import FULL, GROWTH_FAILED
from program_items import CountedItems, Items, WindowItems
from resp import error, integer

# Whose type a filter has, by the first bytes of its header; any other that is accepted is RedisBloom's.
OWN, REDISBLOOM, VALKEYBLOOM = 0, 1, 2
MAGICS = {b"BLOOMPRT": OWN, b"BLOOMFLT": VALKEYBLOOM}
GENERATIONS = 4  # unless a command says otherwise
# Formats whose bytes say which hash a filter has; Cassandra's do not, there VARIANT says it.
TELLING = (b"guava", b"spark", b"go", b"bip37", b"rocksdb", b"datasketches", b"redisson")


class Held:
    """A filter, or something else. `is_foreign` says whose type it has. `parts` are the pieces of a load that nothing
    else has touched."""

    def __init__(self, is_filter=True, items=(), is_foreign=OWN, parts=None, is_loading=False):
        self.items = items if isinstance(items, Items) else Items(items, ones=None)
        self.is_filter, self.is_foreign = is_filter, is_foreign
        self.parts, self.is_loading = parts, is_loading

    def copy(self):
        parts = None if self.parts is None else dict(self.parts)
        return Held(self.is_filter, self.items.copy(), self.is_foreign, parts, self.is_loading)


class Contents:
    """The items of the dumps, exports and pieces seen so far. Equal bytes have equal bits: what was found
    in one filter is found in the other."""

    def __init__(self):
        self.dumps = {}  # payload -> Held
        self.scans = {}  # ((iterator, data), ...) -> Held
        self.exports = {}  # (format, hash or variant, data) -> set of items
        self.loads = {}  # argument of BF.LOAD -> Held

    def met_dump(self, payload, held):
        self.dumps.setdefault(payload, held.copy()).items.absorb(held.items)

    def met_scan(self, pieces, held):
        self.scans.setdefault(tuple(pieces), held.copy()).items.absorb(held.items)

    def met_export(self, form, scheme, data, items):
        scheme = b"" if form.lower() in TELLING else scheme.upper()
        self.exports.setdefault((form.lower(), scheme, data), set()).update(items)


class Model:
    DATABASES = 2

    def __init__(self, contents=None, now_ms=lambda: time.time_ns() // 1_000_000):
        """`now_ms` returns the time that the server shows; it stands still while a command runs."""
        self.contents, self.now_ms = contents or Contents(), now_ms
        self.databases = [{} for _ in range(self.DATABASES)]
        self.window = 0  # the setting bf.window
        self.faults = []  # answers that cannot be

    def learn(self, db, words, reply):
        """One command, as it was sent to database `db`, and its reply."""
        learner = LEARNERS.get(words[0].upper())
        if learner and not reply.is_error and reply.value is not None:
            learner(self, db, words, reply)
        if words[0].upper() in ADDING and reply.is_error and len(words) > 1:
            self.learn_refused(db, words, reply)

    def learn_refused(self, db, words, reply):
        """BF.BULKADD says how many items were taken. Of an array with an error in it Valkey 9 makes, in a script, that
        error alone: the filter is there all the same, and some of the items may be."""
        taken = TAKEN.search(reply.value) if words[0].upper() == b"BF.BULKADD" else None
        if taken:
            added(self, db, words, [], [])
            for item in cut(words[2:])[: int(taken[1])]:
                self.get(db, words[1]).items.take(item, self.now_ms())
        elif words[0].upper() in (b"BF.MADD", b"BF.INSERT") and reply in (error(GROWTH_FAILED), error(FULL)):
            added(self, db, words, [], [])
            self.get(db, words[1]).items.refuse_all()
        if self.get(db, words[1]):
            self.get(db, words[1]).items.refuse(self.now_ms())

    def get(self, db, key):
        return self.databases[db].get(key)

    def put(self, db, key, held):
        self.databases[db][key] = held

    def drop(self, db, key):
        self.databases[db].pop(key, None)

    def keys(self):
        return [(db, key) for db, held_by_key in enumerate(self.databases) for key in sorted(held_by_key)]

    def filters(self, db):
        return [key for key, held in self.databases[db].items() if held.is_filter]


LEARNERS = {}


def learns(*names):
    def register(function):
        for name in names:
            LEARNERS[name.encode()] = function
        return function

    return register


ADDING = (b"BF.ADD", b"BF.MADD", b"BF.INSERT", b"BF.BULKADD")
TAKEN = re.compile(r": (\d+) of \d+ items taken$")


def has(words, option):
    return any(word.upper() == option for word in words)


def after(words, option):
    """What follows an option word, which must be there; keys and values before it do not count as one."""
    return words[[word.upper() for word in words].index(option, 2) + 1 :]


# ---- Adding --------------------------------------------------------------------------------------


def options_of(words):
    """The words of a creating command between its key and its items, in upper case."""
    upper = [word.upper() for word in words[2:]]
    name = words[0].upper()
    if name == b"BF.RESERVE":
        return upper
    return upper[: upper.index(b"ITEMS")] if name == b"BF.INSERT" else []


def items_of_new(model, words):
    """The kind of filter that a command creates."""
    options = options_of(words)
    value = dict(zip(options, options[1:]))  # also of words that are values: nobody asks for those
    if value.get(b"LAYOUT") == b"COUNTING":
        return CountedItems()
    if b"WINDOW" in value:
        return WindowItems(int(value[b"WINDOW"]), int(value.get(b"GENERATIONS", GENERATIONS)))
    is_scaling = b"NONSCALING" not in options and int(value.get(b"EXPANSION", 1)) > 0
    if model.window and is_scaling and words[0].upper() in ADDING:
        return WindowItems(model.window, GENERATIONS)
    return Items()


def create(model, db, words):
    held = Held(items=items_of_new(model, words))
    model.put(db, words[1], held)
    options = options_of(words)
    if b"PXAT" in options and int(options[options.index(b"PXAT") + 1]) < model.now_ms():
        model.drop(db, words[1])
    return held


@learns("BF.RESERVE")
def reserve(model, db, words, reply):
    create(model, db, words)


def answered(model, key, fault):
    if fault:
        model.faults.append("%r: %s" % (key, fault))


def added(model, db, words, items, answers):
    held = model.get(db, words[1]) or create(model, db, words)
    held.parts = None
    for item, answer in zip(items, answers):
        if answer.is_error:
            held.items.refuse(model.now_ms())
        else:
            answered(model, words[1], held.items.add(item, bool(answer.value), model.now_ms()))


@learns("BF.ADD")
def add(model, db, words, reply):
    added(model, db, words, words[2:], [reply])


@learns("BF.MADD")
def madd(model, db, words, reply):
    added(model, db, words, words[2:], reply.value)


@learns("BF.INSERT")
def insert(model, db, words, reply):
    added(model, db, words, after(words, b"ITEMS"), reply.value)


@learns("BF.BULKADD")
def bulkadd(model, db, words, reply):
    items = cut(words[2:])
    if items:
        added(model, db, words, items, map(integer, answers_of(reply.value, len(items))))


@learns("BF.BULKEXISTS")
def bulkexists(model, db, words, reply):
    held, items, now_ms = model.get(db, words[1]), cut(words[2:]), model.now_ms()
    found, is_empty = (held.items.found(now_ms), held.items.is_empty(now_ms)) if held else ((), True)
    for item, answer in zip(items, answers_of(reply.value, len(items))):
        if answer == 0 and item in found:
            answered(model, words[1], "a lookup of %r was answered 0, and it was there" % item)
        if answer == 1 and is_empty:
            answered(model, words[1], "a lookup of %r was answered 1, and there is nothing" % item)


# ---- Filters that forget -------------------------------------------------------------------------


@learns("BF.ROTATE")
def rotate(model, db, words, reply):
    answered(model, words[1], (model.get(db, words[1]) or Held()).items.rotate(model.now_ms()))


@learns("BF.DEL")
def bf_del(model, db, words, reply):
    held = model.get(db, words[1]) or Held(items=CountedItems())
    for item, answer in zip(words[2:], reply.value):
        answered(model, words[1], held.items.delete(item, bool(answer.value), model.now_ms()))


@learns("BF.COUNT")
def bf_count(model, db, words, reply):
    held = model.get(db, words[1]) or Held(items=CountedItems())
    answered(model, words[1], held.items.count(words[2], reply.value, model.now_ms()))


@learns("BF.CARD")
def bf_card(model, db, words, reply):
    held = model.get(db, words[1]) or Held(items=Items())
    answered(model, words[1], held.items.card(reply.value))


@learns("CONFIG")
def config(model, db, words, reply):
    if words[1].upper() == b"SET":
        settings = dict(zip(words[2::2], words[3::2]))
        model.window = int(settings.get(b"bf.window", model.window))


# ---- Whole filters -------------------------------------------------------------------------------


@learns("BF.MERGE")
def merge(model, db, words, reply):
    dest = model.get(db, words[1])
    names = [key for key in dict.fromkeys(words[2:]) if key != words[1]]  # as they were named first
    sources = [held for held in (model.get(db, key) for key in names) if held]
    if not dest:
        model.put(db, words[1], dest := Held(items=sources[0].items.emptied(), is_foreign=sources[0].is_foreign))
    dest.parts = None
    for held in sources:
        dest.items.unite(held.items)


@learns("BF.INTERSTORE")
def interstore(model, db, words, reply):
    sources = [model.get(db, key) for key in dict.fromkeys(words[2:])]
    if None in sources:
        return model.drop(db, words[1])
    common = sources[0].items.copy()
    for held in sources[1:] or sources:  # of a single one too the count is estimated
        common.common(held.items)
    return model.put(db, words[1], Held(items=common, is_foreign=sources[0].is_foreign))


@learns("BF.CLEAR")
def clear(model, db, words, reply):
    held = model.get(db, words[1])
    model.put(db, words[1], Held(items=held.items.emptied(), is_foreign=held.is_foreign))


@learns("BF.IMPORT")
def bf_import(model, db, words, reply):
    options = [word.upper() for word in words[2 : -len(after(words, b"DATA"))]]
    form = options[options.index(b"FORMAT") + 1].lower()
    scheme = options[options.index(b"HASH") + 1] if b"HASH" in options else b"XXH64"
    of_format = {b"leveldb": b"LEVELDB", b"redisbloom": b"MURMUR", b"valkeybloom": b"SIP13"}
    scheme = b"" if form in TELLING else of_format.get(form, scheme)  # the format may say it
    scheme = options[options.index(b"VARIANT") + 1] if form == b"cassandra" else scheme
    items = model.contents.exports.get((form, scheme, words[-1]), ())
    model.put(db, words[1], Held(items=items))


def items_of_header(data):
    """A filter of which only the header is known: of what kind it is (rdb/FORMAT.md, version 2)."""
    version, layout = struct.unpack_from("<I", data, 8)[0], data[13]
    if version < 2:
        return Items(ones=None)
    if layout == 2:
        return CountedItems(is_spoiled=True)
    seconds, generations = struct.unpack_from("<II", data, 48)
    if not seconds:
        return Items(ones=None)
    (layers,) = struct.unpack_from("<I", data, 20)
    (newest,) = struct.unpack_from("<Q", data, 128 + 64 * (layers - 1) + 44)
    return WindowItems(seconds, generations, newest, has_others=True)


@learns("BF.LOADCHUNK")
def loadchunk(model, db, words, reply):
    key, iterator, data = words[1], int(words[2]), words[3]
    held = model.get(db, key)
    if held is None or len(words) > 4:  # a header; REPLACE takes the place of what was there
        foreign = MAGICS.get(data[:8], REDISBLOOM)
        items = () if foreign else items_of_header(data)
        return model.put(db, key, Held(items=items, is_foreign=foreign, parts={1: data}, is_loading=not foreign))
    if held.is_foreign:  # a piece replaces what is there
        held.items = Items(ones=None)
    if held.parts is None:
        return None
    held.parts[iterator] = data
    whole = model.contents.scans.get(tuple(sorted(held.parts.items())))
    if whole:
        held.items, held.is_loading = whole.items.copy(), False
        held.parts = held.parts if held.is_foreign else None
    return None


@learns("BF.LOAD")
def bf_load(model, db, words, reply):
    """Damage that is accepted has a type, and no items that are sure."""
    model.put(db, words[1], model.contents.loads.get(words[2], Held(is_foreign=VALKEYBLOOM)).copy())


@learns("RESTORE", "RESTORE-ASKING")
def restore(model, db, words, reply):
    model.put(db, words[1], model.contents.dumps.get(words[3], Held(is_filter=False)).copy())
    if has(words[4:], b"ABSTTL") and 0 < int(words[2]) < model.now_ms():
        model.drop(db, words[1])


# ---- The server's own commands -------------------------------------------------------------------


@learns("DEL", "UNLINK")
def delete(model, db, words, reply):
    for key in words[1:]:
        model.drop(db, key)


@learns("SET", "GETSET")
def set_string(model, db, words, reply):
    model.put(db, words[1], Held(is_filter=False))


@learns("RPUSH", "HSET", "SADD")
def other_type(model, db, words, reply):
    model.put(db, words[1], Held(is_filter=False))


@learns("RENAME", "RENAMENX")
def rename(model, db, words, reply):
    if reply.value != 0 and words[1] != words[2]:
        model.put(db, words[2], model.databases[db].pop(words[1]))


@learns("COPY")
def copy(model, db, words, reply):
    if reply.value:
        where = int(after(words, b"DB")[0]) if has(words[3:], b"DB") else db
        model.put(where, words[2], model.get(db, words[1]).copy())


@learns("MOVE")
def move(model, db, words, reply):
    if reply.value:
        model.put(int(words[2]), words[1], model.databases[db].pop(words[1]))


@learns("SWAPDB")
def swapdb(model, db, words, reply):
    one, other = int(words[1]), int(words[2])
    model.databases[one], model.databases[other] = model.databases[other], model.databases[one]


@learns("FLUSHDB")
def flushdb(model, db, words, reply):
    model.databases[db].clear()


@learns("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")
def expire(model, db, words, reply):
    """A time that is past: the key is gone at once. The others end when a clock is moved."""
    name, when = words[0].upper(), int(words[2])
    scale = 1 if name.startswith(b"P") else 1000
    now = model.now_ms() if name.endswith(b"AT") else 0
    if reply.value and when * scale <= now:
        model.drop(db, words[1])
