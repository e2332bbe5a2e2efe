"""What the tests of persistence, propagation and replication share.

    look, same_filter   everything a filter shows, and whether two looks are of the same filter, bit
                        by bit: every persistence path goes through this one helper
    Filters             one filter of every shape and layout on a server, a foreign one, and how
                        each looked
    header, load_random a filter as bytes, built here from rdb/FORMAT.md alone
    Writer              a thread that adds until the server dies, and knows what was acknowledged
    Stream              what arrives in the AOF, which is what replicas get too
"""

import glob
import os
import random
import struct
import threading
import time
from collections import namedtuple
from pathlib import Path

from bloom_model import xxh64
from checks import CHUNK_LIMIT, LOADING, dump, info, load
from formats_model import RedisBloom
from resp import OK, Connection, error

LAYOUTS = ["CLASSIC", "BLOCKED"]

# The items that every look() queries: half of them are in every filter that was added to.
ITEMS = ["item%d" % i for i in range(250)]
PROBES = ITEMS + ["absent%d" % i for i in range(250)]

# ---- One filter, compared ----------------------------------------------------------------------

Filter = namedtuple("Filter", "is_loading digest card info dump answers")


def look(call, key):
    """Everything a filter shows; a filter that is being loaded shows its digest only."""
    (digest,) = call("DEBUG", "DIGEST-VALUE", key).plain
    assert digest.strip("0"), "%s is not there" % key
    card = call("BF.CARD", key)
    if card == error(LOADING):
        return Filter(True, digest, None, None, None, None)
    answers = call("BF.MEXISTS", key, *PROBES).plain
    return Filter(False, digest, card.plain, info(call, key), dump(call, key), answers)


def same_filter(before, after, name="the filter"):
    """Bit by bit: header and pieces of BF.SCANDUMP, BF.INFO, BF.CARD, digest and 500 answers."""
    assert before.is_loading == after.is_loading, "%s: is one still being loaded?" % name
    if not before.is_loading:
        assert before.card == after.card, "%s: BF.CARD" % name
        assert before.info == after.info, "%s: BF.INFO" % name
        assert len(before.dump) == len(after.dump), "%s: number of pieces" % name
        for (i, old), (j, new) in zip(before.dump, after.dump):
            assert i == j, "%s: iterators of BF.SCANDUMP" % name
            same = old == new  # apart, for pytest would print megabytes
            assert same, "%s: other bytes in the piece that ends at %d" % (name, i)
        assert before.answers == after.answers, "%s: answers" % name
    assert before.digest == after.digest, "%s: DEBUG DIGEST-VALUE" % name


# ---- A filter of every shape -------------------------------------------------------------------

# BF.RESERVE's words, and how many ITEMS are added. RDB pieces are of 1 MiB: `pieces` has three, the
# last of them shorter.
SHAPES = {
    "empty": (("0.01", "100", "EXPANSION", "2"), 0),
    "one-item": (("0.01", "100", "EXPANSION", "2"), 1),
    "five-layers": (("0.01", "10", "EXPANSION", "2"), 200),
    "full": (("0.01", "50", "NONSCALING"), 250),
    "bits-per-key": (("BITSPERKEY", "9.6", "33", "EXPANSION", "4"), 250),
    "fnv1a": (("0.001", "20", "EXPANSION", "2", "HASH", "FNV1A"), 250),
    "tiny": (("BITSPERKEY", "1", "1", "NONSCALING"), 1),
    "pieces": (("BITSPERKEY", "8", "2500003", "NONSCALING"), 250),
}
# Filters that forget: the same, with their own LAYOUT. The window's only step is 31 years long.
FORGETTING = {
    "window": (("0.01", "20", "WINDOW", "1000000000", "GENERATIONS", "1"), 200),
    "window-blocked": (("0.01", "20", "WINDOW", "1000000000", "GENERATIONS", "1", "LAYOUT", "BLOCKED"), 200),
    "window-fresh": (("0.01", "20", "WINDOW", "60"), 0),
    "counting": (("0.01", "300", "LAYOUT", "COUNTING"), 250),
    "counting-pieces": (("BITSPERKEY", "8", "700003", "LAYOUT", "COUNTING"), 250),
}
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "accepted"
HUNDRED_MB = 100 * 1000 * 1000


def make(call, key, shape, layout=None):
    words, count = SHAPES[shape] if layout else FORGETTING[shape]
    assert call("BF.RESERVE", key, *words, *(("LAYOUT", layout) if layout else ())) == OK
    if count:
        call("BF.MADD", key, *ITEMS[:count])


class Filters:
    """All shapes in all layouts under `prefix`, one of them partly loaded, and their looks."""

    def __init__(self, call, prefix="", hundred_mb=False):
        self.looks = {}
        self.half = {}  # key -> (the pieces that have yet to come, its look when complete)
        for layout in LAYOUTS:
            for shape in SHAPES:
                if shape == "fnv1a" and layout != "CLASSIC":
                    continue
                key = "%s%s:%s" % (prefix, shape, layout)
                make(call, key, shape, layout)
                self.looks[key] = look(call, key)
            for given in (1, 3):
                key = "%shalf-loaded-%d:%s" % (prefix, given, layout)
                make(call, key, "five-layers", layout)
                self._load_half_way(call, key, given)
        self._make_forgetting(call, prefix)
        assert info(call, "%sfive-layers:CLASSIC" % prefix)["Number of filters"] == 5
        self._load_foreign(call, prefix + "foreign")
        if hundred_mb:
            load_random(call, prefix + "hundred-mb", HUNDRED_MB)
            self.looks[prefix + "hundred-mb"] = look(call, prefix + "hundred-mb")

    def _load_foreign(self, call, key):
        """A filter of RedisBloom's, of its own type."""
        model = RedisBloom(0.01, 10, 3)
        for item in ITEMS:
            model.add(item.encode())
        head = 20 + 53 * len(model.layers)
        pieces, end = [(1, model.data[:head])], 1
        for layer in model.layers:
            end += len(layer.bits)
            pieces.append((end, bytes(layer.bits)))
        load(call, key, pieces)
        assert call("TYPE", key).plain == "MBbloom--" and len(model.layers) > 2
        self.looks[key] = look(call, key)

    def _make_forgetting(self, call, prefix):
        for shape in FORGETTING:
            make(call, prefix + shape, shape)
            self.looks[prefix + shape] = look(call, prefix + shape)
        for shape, given in (("window", 1), ("window", 3), ("counting", 1)):
            key = "%shalf-loaded-%d-%s" % (prefix, given, shape)
            make(call, key, shape)
            self._load_half_way(call, key, given)
        key = prefix + "window-of-2020"  # several generations, all of them over
        assert call("RESTORE", key, 0, (GOLDEN / "window-CLASSIC.dump").read_bytes()) == OK
        self.looks[key] = look(call, key)

    def _load_half_way(self, call, key, given):
        whole, pieces = look(call, key), dump(call, key)
        call("DEL", key)
        load(call, key, pieces[:given])
        self.looks[key] = look(call, key)
        assert self.looks[key].is_loading
        self.half[key] = (pieces[given:], whole)

    def assert_same(self, call, key_of=lambda key: key):
        """Every filter is there, now as `key_of(key)`, and the same."""
        for key, before in self.looks.items():
            same_filter(before, look(call, key_of(key)), key)

    def assert_loads_can_be_finished(self, call, key_of=lambda key: key):
        """Partly loaded filters take the rest of their pieces and are then complete."""
        for key, (pieces, whole) in self.half.items():
            load(call, key_of(key), pieces)
            same_filter(whole, look(call, key_of(key)), key)

    def assert_arrived(self, call, key_of=lambda key: key):
        """assert_same and assert_loads_can_be_finished: called at the end of a path."""
        self.assert_same(call, key_of)
        self.assert_loads_can_be_finished(call, key_of)


# ---- A filter as bytes, from rdb/FORMAT.md -----------------------------------------------------

Layer = namedtuple("Layer", "capacity items ones error_rate k m")
FIXED = struct.Struct("<8sIBBHIIddQ")
LAYER = struct.Struct("<QQQdIQ")
PORTABLE = struct.Struct("<IQ")


def header(layers, /, **fields):
    """The header of FORMAT.md section 2; `fields` replace single ones, right or wrong."""
    given = {
        "magic": b"BLOOMPRT",
        "version": 1,
        "scheme": 0,
        "layout": 0,
        "flags": 0,
        "expansion": 2,
        "layers": len(layers),
        "error_rate": 0.01,
        "bits_per_key": 0.0,
        "loaded": sum((layer.m + 7) // 8 for layer in layers),
    }
    assert set(fields) <= set(given) | {"checksum"}
    given.update(fields)
    data = FIXED.pack(*(given[name] for name in list(given) if name != "checksum"))
    data += b"".join(LAYER.pack(*layer) for layer in layers)
    checksum = xxh64(data, 0) if "checksum" not in fields else fields["checksum"]
    return data + struct.pack("<Q", checksum)


SHORT_RECORD = struct.Struct("<BBHHHHd")


def short_record(bits, *, k, m, capacity, items, version=3, expansion=2, error_rate=0.01):
    """The short record of FORMAT.md section 3."""
    data = SHORT_RECORD.pack(version, k, expansion, m, capacity, items, error_rate) + bits
    return data + struct.pack("<I", xxh64(data, 0) & 0xFFFFFFFF)


def count_ones(data):
    return int.from_bytes(data, "little").bit_count()


def random_pieces(nbytes, seed=1, layout=0):
    """BF.LOADCHUNK's pieces of a filter of `nbytes`, half of its bits set: one random MiB, again
    and again. Yields (iterator, data), header first. Layout 0 is CLASSIC, 1 is BLOCKED."""
    block = random.Random(seed).randbytes(1 << 20)
    rest = block[: nbytes % len(block)]
    ones = count_ones(block) * (nbytes // len(block)) + count_ones(rest)
    m, k = nbytes * 8, 8 if layout else 7
    capacity = m // 10
    items = (ones + k - 1) // k
    assert items <= capacity
    yield 1, header([Layer(capacity, items, ones, 0.01, k, m)], expansion=0, layout=layout)
    whole = block * (CHUNK_LIMIT // len(block))
    for at in range(0, nbytes, CHUNK_LIMIT):
        piece = whole[: min(CHUNK_LIMIT, nbytes - at)]
        yield at + len(piece) + 1, piece


def load_random(call, key, nbytes):
    load(call, key, random_pieces(nbytes))


# ---- Waiting -----------------------------------------------------------------------------------


def until(claim, what, seconds=60):
    """Calls the function until its result is true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        answer = claim()
        if answer:
            return answer
        assert time.monotonic() < deadline, "after %d s not yet: %s" % (seconds, what)
        time.sleep(0.005)


def server_info(call, section):
    """One section of INFO as a dict of text."""
    lines = call("INFO", section).plain.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


# Settings of masters and replicas: no pings in the stream, and no wait for the other at shutdown.
QUIET = {"repl-ping-replica-period": "3600", "shutdown-timeout": "0"}


def follow(replica, master):
    """Make `replica` (a Server) follow `master`, and wait until it has all keys."""
    assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
    until_in_sync(replica, master)


def until_rewritten(call):
    """Until the AOF is rewritten, and soundly."""
    def is_done():
        seen = server_info(call, "persistence")
        return seen["aof_rewrite_in_progress"] == "0" and seen["aof_rewrite_scheduled"] == "0"

    until(is_done, "rewritten")
    assert server_info(call, "persistence")["aof_last_bgrewrite_status"] == "ok"


def until_in_sync(replica, master):
    def is_in_sync():
        here = server_info(replica.call, "replication")
        if here.get("master_link_status") != "up" or here["master_sync_in_progress"] != "0":
            return False
        there = server_info(master.call, "replication")
        return here["slave_repl_offset"] == there["master_repl_offset"]

    until(is_in_sync, "the replica has all that its master has")


# ---- A client that writes until the server is killed -------------------------------------------


class Writer(threading.Thread):
    """Sends `commands`, one at a time, until they end, stop() is called or the server is gone.

    `sent` and `acknowledged` are the commands in order; the fate of a command in flight at the end is
    unknown. With `wait` each command counts as acknowledged only if WAIT says that many replicas have
    it too.
    """

    def __init__(self, address, commands, wait=0):
        super().__init__(daemon=True)
        self.address, self.commands, self.wait = address, commands, wait
        self.sent, self.acknowledged = [], []
        self.problem = None
        self.is_stopping = False
        self.start()

    def run(self):
        try:
            connection = Connection(self.address)
            for words in self.commands:
                if self.is_stopping:
                    return
                self.sent.append(words)
                connection.call(*words).plain
                if not self.wait or connection.call("WAIT", self.wait, 1000).plain >= self.wait:
                    self.acknowledged.append(words)
        except OSError:
            pass  # killed, as the test wanted
        except Exception as problem:  # an error reply: finish() reports it, in the test's own thread
            self.problem = problem

    def until_acknowledged(self, count):
        until(lambda: self.problem or len(self.acknowledged) >= count, "%d acknowledged" % count)

    def finish(self):
        """Wait for the end; any error reply is a failure."""
        self.is_stopping = True
        self.join()
        if self.problem:
            raise self.problem


def batches(keys, seed, most=40):
    """Endless BF.ADD and BF.MADD on `keys` in turn, of new items and now and then a present one."""
    source, count = random.Random(seed), 0
    while True:
        key = source.choice(keys)
        size = source.randint(1, most)
        items = ["%s-%d" % (key, i) for i in range(count, count + size)]
        count += size - (source.random() < 0.2)  # the last one comes again
        yield ("BF.ADD", key, items[0]) if size == 1 else ("BF.MADD", key, *items)


def items_of(commands):
    """{key: items} of what `batches` gave."""
    found = {}
    for _, key, *items in commands:
        found.setdefault(key, []).extend(items)
    return found


def missing_items(call, commands):
    """The items of these commands that the server does not have."""
    missing = []
    for key, items in items_of(commands).items():
        for start in range(0, len(items), 5000):
            part = items[start : start + 5000]
            answers = call("BF.MEXISTS", key, *part).plain
            missing += [(key, item) for item, answer in zip(part, answers) if not answer]
    return missing


def assert_is_what_commands_gave(call, key, reserve, commands, at_least):
    """The filter is, bit by bit, what the first n of `commands` give on a fresh one, n >= at_least."""
    (digest,) = call("DEBUG", "DIGEST-VALUE", key).plain
    reference = key + ":reference"
    assert call("BF.RESERVE", reference, *reserve) == OK
    mine = [words for words in commands if words[1] == key]
    for words in mine[:at_least]:
        call(words[0], reference, *words[2:]).plain
    for words in mine[at_least:]:
        if call("DEBUG", "DIGEST-VALUE", reference).plain == [digest]:
            break
        call(words[0], reference, *words[2:]).plain
    same_filter(look(call, reference), look(call, key), key)
    call("DEL", reference)


# ---- What arrives in the AOF -------------------------------------------------------------------


class Stream:
    """The commands that `server` appends to its AOF (appendonly yes, appendfsync no or always: then
    they are in the file before the client has its reply). Replicas are sent the same."""

    CONFIG = {"appendonly": "yes", "appendfsync": "no", "auto-aof-rewrite-percentage": "0"}

    def __init__(self, server):
        pattern = os.path.join(server.directory, "appendonlydir", "*.incr.aof")
        until(lambda: len(glob.glob(pattern)) == 1, "the file before a rewrite is deleted in the background")
        (name,) = glob.glob(pattern)
        self.file = open(name, "rb")
        self.file.seek(0, os.SEEK_END)

    def take(self):
        """What came since the last time, as lists of bytes, without SELECT."""
        data, commands, at = self.file.read(), [], 0

        def line():
            nonlocal at
            end = data.index(b"\r\n", at)
            number, at = int(data[at + 1 : end]), end + 2
            return number

        while at < len(data):
            words = []
            for _ in range(line()):
                size = line()
                words.append(data[at : at + size])
                at += size + 2
            if words[0].upper() != b"SELECT":
                commands.append(words)
        return commands

    def close(self):
        self.file.close()
