"""What BF.BULKADD sends to replicas and the AOF: a creation as BF.RESERVE, a window's step as BF.ROTATE, and
the items that changed the filter as BF.BULKADD, in pieces of at most 16 MiB of data. Replayed, from a master,
an AOF, a rewritten AOF or an RDB file, it gives the same filter to the last bit.
"""

import random
import struct

import pytest

import redisbloom
import valkeybloom
from bulk import cut, lines
from checks import CHUNK_LIMIT, FULL, GROWTH_FAILED
from clock import CALM
from filters import QUIET, Stream, follow, look, same_filter, server_info, until_in_sync, until_rewritten
from resp import OK, ONE, bulk, error, simple
from test_canonical_stream import append_to_aof
from test_redisbloom_master import errors_to_master

SERVER_HAS_CLOCK = True
SERVER_CONFIG = Stream.CONFIG
NOW, STEP = 1_600_000_000_000, 100_000
CREATION = [b"BF.RESERVE", b"k", b"0.01", b"100", b"EXPANSION", b"2", b"LAYOUT", b"CLASSIC", b"HASH", b"XXH64"]


@pytest.fixture
def taken(call, clock, stream):
    """taken() -> the commands since the last time, MULTI and EXEC left out; the clock stands at NOW."""
    clock.stop(NOW)
    yield lambda: [words for words in stream.take() if words[0].upper() not in (b"MULTI", b"EXEC")]
    call("CONFIG", "SET", "bf.max-bytes", "0")


def bulkadd(*words):
    return [b"BF.BULKADD", b"k", *(word if isinstance(word, bytes) else word.encode() for word in words)]


# ---- What the stream has -------------------------------------------------------------------------


def test_a_creation_is_reserve_and_then_the_items_in_one_transaction(call, stream):
    assert call("BF.BULKADD", "k", "LINES", "a\nb") == bulk(b"\xc0")
    first, *commands, last = stream.take()
    assert [word.upper() for word in first + last] == [b"MULTI", b"EXEC"]
    creation, added = commands
    assert creation[:2] == CREATION[:2] and float(creation[2]) == 0.01 and creation[3:] == CREATION[3:]
    assert added == bulkadd("LINES", "a\nb\n")


@pytest.mark.parametrize("sent, seen", [
    (("LINES", "a\nb\nc"), ("LINES", "a\nb\nc\n")),
    (("lines", "a\nb\nc\n"), ("LINES", "a\nb\nc\n")),
    (("LINES", "old\na\nb"), ("LINES", "a\nb\n")),
    (("LINES", "a\nold\nb"), ("LINES", "a\nb\n")),
    (("LINES", "a\nb\nold"), ("LINES", "a\nb\n")),
    (("LINES", "a\nb\na\nb\nold\n"), ("LINES", "a\nb\n")),
    (("LINES", "\nold\n\na"), ("LINES", "\na\n")),
    (("LINES", "old\n\nold\n"), ("LINES", "\n")),
    (("LINES", "a\r\nold\nb\0"), ("LINES", "a\r\nb\0\n")),
    (("width", "3", "abcxyzabc"), ("WIDTH", "3", "abcxyz")),
    (("Width", "03", "oldabc"), None),
    (("WIDTH", "3", "abcoldxyz"), ("WIDTH", "3", "abcxyz")),
    (("WIDTH", "3", "old\n\n\noldold"), ("WIDTH", "3", "\n\n\n")),
    (("WIDTH", "3", "oldold"), None),
    (("LINES", "old"), None),
], ids=repr)
def test_the_stream_has_the_items_that_changed_the_filter(call, taken, sent, seen):
    call("BF.RESERVE", "k", "1e-6", "100")
    call("BF.ADD", "k", "old")
    taken()
    call("bf.bulkadd", "k", *sent)
    assert taken() == ([bulkadd(*seen)] if seen else [])


def test_a_lookup_is_not_propagated(call, taken):
    call("BF.ADD", "k", "a")
    taken()
    call("BF.BULKEXISTS", "k", "LINES", "a\nb").plain
    assert taken() == []


def test_random_commands_are_propagated_as_the_items_that_changed_the_filter(call, taken):
    seed = 22
    print("seed", seed)
    source = random.Random(seed)
    call("BF.RESERVE", "k", "1e-9", "10000")
    taken()
    present = set()
    for _ in range(300):
        items = [b"%03d" % source.randrange(400) for _ in range(source.randrange(1, 40))]
        new = [item for item in dict.fromkeys(items) if item not in present]
        present.update(items)
        words = (b"WIDTH", b"3", b"".join(items)) if source.random() < 0.5 else (b"LINES", lines(items)[: source.choice((-1, None))])
        call("BF.BULKADD", "k", *words).plain
        (command,) = taken() if new else (None,)
        if new:
            assert command[:3] == [b"BF.BULKADD", b"k", words[0]] and cut(command[2:]) == new
    assert taken() == []


def test_counting_sends_every_add_that_changed_a_counter(call, taken):
    call("BF.RESERVE", "k", "0.01", "100", "LAYOUT", "COUNTING")
    taken()
    call("BF.BULKADD", "k", "LINES", "a\nb\na").plain
    assert taken() == [bulkadd("LINES", "a\nb\na\n")]
    call("BF.BULKADD", "k", "LINES", "a\n" * 20).plain
    assert taken() == [bulkadd("LINES", "a\n" * 13)]  # a counter stops at 15


def test_a_windows_step_comes_before_its_items(call, taken, clock):
    call("BF.RESERVE", "k", "0.01", "1000", "WINDOW", "400")
    taken()
    call("BF.BULKADD", "k", "LINES", "a").plain
    assert taken() == [[b"BF.ROTATE", b"k", b"%d" % (NOW // STEP * STEP)], bulkadd("LINES", "a\n")]
    clock.advance(STEP)
    assert call("BF.BULKADD", "k", "LINES", "a") == bulk(b"\0")  # it is in the newest generation now
    assert taken() == [[b"BF.ROTATE", b"k", b"%d" % (NOW // STEP * STEP + STEP)], bulkadd("LINES", "a\n")]
    call("BF.BULKADD", "k", "LINES", "a").plain
    assert taken() == []


def test_what_came_before_an_error_is_propagated(call, taken):
    call("BF.RESERVE", "k", "1e-9", "3", "NONSCALING")
    taken()
    assert call("BF.BULKADD", "k", "LINES", "a\nb\na\nc\nd\ne") == error(FULL + ": 4 of 6 items taken")
    assert taken() == [bulkadd("LINES", "a\nb\nc\n")]
    assert call("BF.BULKADD", "k", "WIDTH", "1", "abd") == error(FULL + ": 2 of 3 items taken")
    assert taken() == []
    call("CONFIG", "SET", "bf.max-bytes", "500")
    data = b"".join(struct.pack("<Q", i) for i in range(1000))
    assert call("BF.BULKADD", "new", "WIDTH", "8", data).value.startswith(GROWTH_FAILED)
    creation, added = taken()
    assert creation[:2] == [b"BF.RESERVE", b"new"] and added[:4] == [b"BF.BULKADD", b"new", b"WIDTH", b"8"]
    assert len(added[4]) == 8 * call("BF.CARD", "new").plain


# ---- Pieces --------------------------------------------------------------------------------------

MIB = 1 << 20


def numbered(count, size):
    """Different items of this size."""
    return [b"%04d" % i * (size // 4) for i in range(count)]


def assert_pieces(call, taken, words, limit=CHUNK_LIMIT):
    """The items of all pieces are those of the data that are new; returns the pieces' sizes."""
    call("BF.RESERVE", "k", "1e-9", "100000")
    call("BF.BULKADD", "k", "LINES", lines(OLD)).plain
    taken()
    assert not call("BF.BULKADD", "k", *words).is_error
    pieces = taken()
    assert {tuple(piece[:3]) for piece in pieces} == {(b"BF.BULKADD", b"k", words[0])}
    same = [item for piece in pieces for item in cut(piece[2:])] == [item for item in cut(list(words)) if item not in OLD]
    assert same, "other items than those that are new"  # apart, as pytest would print megabytes
    assert all(len(piece[-1]) <= limit for piece in pieces)
    return [len(piece[-1]) for piece in pieces]


OLD = [b"old", *numbered(3, MIB)]


@pytest.mark.parametrize("extra", [0, 1])
def test_data_of_one_width_is_cut_at_16_mib(call, taken, extra):
    items = numbered(32 + extra, MIB)[::-1]
    sizes = assert_pieces(call, taken, (b"WIDTH", b"%d" % MIB, b"".join(items)))
    assert sizes == ([16 * MIB, 13 * MIB] if extra == 0 else [16 * MIB, 14 * MIB])


def test_data_of_16_mib_is_one_piece_and_one_item_more_is_two(call, taken):
    items = b"".join(struct.pack("<QQ", i, 7) for i in range(MIB + 1))
    assert call("BF.RESERVE", "k", "1e-9", "3000000", "LAYOUT", "BLOCKED") == OK
    taken()
    call("BF.BULKADD", "k", "WIDTH", "16", items[:-16]).plain
    assert [len(piece[-1]) for piece in taken()] == [CHUNK_LIMIT]
    call("BF.CLEAR", "k")
    taken()
    call("BF.BULKADD", "k", "WIDTH", "16", items).plain
    assert [len(piece[-1]) for piece in taken()] == [CHUNK_LIMIT, 16]


def test_a_width_that_does_not_divide_16_mib_ends_pieces_at_an_item(call, taken):
    items = [b"%d" % i + bytes(MIB - 100) for i in range(10, 30)]
    size = len(items[0])
    sizes = assert_pieces(call, taken, (b"WIDTH", b"%d" % size, b"".join(items)))
    assert sizes == [CHUNK_LIMIT // size * size, (20 - CHUNK_LIMIT // size) * size]


@pytest.mark.parametrize("last", [b"\n", b""], ids=["newline", "none"])
def test_lines_are_cut_at_16_mib_and_end_in_newlines(call, taken, last):
    items = [*numbered(40, MIB - 4), b"old", b"", *numbered(3, 1000), b"end"]
    sizes = assert_pieces(call, taken, (b"LINES", lines(items)[:-1] + last))
    assert len(sizes) == 3 and sum(sizes) == len(lines(items)) - len(b"old\n")


@pytest.mark.parametrize("last", [b"\n", b""], ids=["newline", "none"])
@pytest.mark.parametrize("at", ["first", "middle", "end", "alone"])
def test_a_longer_line_is_a_piece_alone(call, taken, at, last):
    longer = b"x" * (17 * MIB)
    items = {"first": [longer, b"a"], "middle": [b"a", longer, b"old", b"b"], "end": [b"a", b"old", longer], "alone": [b"old", longer]}[at]
    sizes = assert_pieces(call, taken, (b"LINES", lines(items)[:-1] + last), limit=len(longer) + 1)
    assert len(longer) + 1 in sizes and sum(sizes) == sum(len(item) + 1 for item in items if item != b"old")


# ---- Replayed ------------------------------------------------------------------------------------

SHAPES = {
    "classic": ("0.01", "10"),
    "blocked": ("0.01", "10", "LAYOUT", "BLOCKED"),
    "counting": ("0.01", "5000", "LAYOUT", "COUNTING"),
    "bits": ("BITSPERKEY", "7", "50"),
    "fnv1a": ("0.01", "20", "HASH", "FNV1A"),
    "sip13": ("0.01", "20", "HASH", "SIP13"),
    "full": ("0.01", "150", "NONSCALING"),
    "window": ("0.01", "100", "WINDOW", "400"),
    "window-blocked": ("0.01", "100", "WINDOW", "400", "LAYOUT", "BLOCKED"),
}
KEYS = [*SHAPES, "redisbloom", "valkeybloom", "default"]


def make_all(call):
    for key, words in SHAPES.items():
        assert call("BF.RESERVE", key, *words) == OK
    for iterator, data in redisbloom.FIXTURES["grown"].chunks:
        assert call("BF.LOADCHUNK", "redisbloom", iterator, data) == OK
    assert call("BF.LOAD", "valkeybloom", valkeybloom.FIXTURES["scaling"].load) == OK


def fill_all(call, clock, source, rounds=8):
    """Items of every width and lines, old and new ones; windows take steps; `default` is created by the first."""
    for _ in range(rounds):
        for key in KEYS:
            width = source.choice((1, 3, 8, 16, 36, 255))
            call("BF.BULKADD", key, "WIDTH", width, source.randbytes(width * source.randrange(1, 100)))
            call("BF.BULKADD", key, "LINES", lines(b"item%d" % source.randrange(250) for _ in range(source.randrange(1, 60))))
        clock.advance(STEP)


def test_a_replica_with_other_settings_and_another_clock_holds_the_same_filters(new_server):
    seed = 23
    print("seed", seed)
    config = {**QUIET, **CALM}
    master = new_server(tcp=True, config=config, has_clock=True)
    other = ["error-rate", "0.1", "initial-size", "3", "expansion-factor", "4", "window", "7"]
    replica = new_server(tcp=True, config=config, module_args=other, has_clock=True)
    master.clock.stop(NOW)
    replica.clock.stop(NOW + 12345 * STEP)
    follow(replica, master)
    call = master.connection().call
    make_all(call)
    fill_all(call, master.clock, random.Random(seed))
    until_in_sync(replica, master)
    replica.clock.stop(master.clock.now_ms())  # lookups go by the clock of who answers
    there = replica.connection().call
    for key in KEYS:
        same_filter(look(call, key), look(there, key), key)
    assert errors_to_master(replica) == []
    assert server_info(call, "stats")["sync_full"] == "1"


@pytest.mark.parametrize("way", ["aof", "rewritten", "rewritten-without-preamble", "rdb"])
def test_a_restart_gives_the_same_filters(new_server, way):
    seed = 24
    print("seed", seed)
    config = {} if way == "rdb" else dict(Stream.CONFIG, **{"aof-use-rdb-preamble": "no" if way.endswith("preamble") else "yes"})
    server = new_server(config=config, has_clock=True)
    server.clock.stop(NOW)
    call = server.connection().call
    make_all(call)
    fill_all(call, server.clock, random.Random(seed))
    if way.startswith("rewritten"):
        assert not call("BGREWRITEAOF").is_error
        until_rewritten(call)
        fill_all(call, server.clock, random.Random(seed + 1), rounds=1)
    elif way == "rdb":
        assert call("SAVE") == OK
    before = {key: look(call, key) for key in KEYS}
    call = server.restart().connection().call
    for key in KEYS:
        same_filter(before[key], look(call, key), key)


def test_pieces_are_replayed(new_server):
    server = new_server(config=Stream.CONFIG)
    call = server.connection().call
    call("BF.RESERVE", "k", "0.0001", "1000")
    call("BF.BULKADD", "k", "LINES", lines([*numbered(40, MIB), b"x" * (17 * MIB), b"", b"end"])).plain
    before = look(call, "k")
    call = server.restart().connection().call
    same_filter(before, look(call, "k"))


def test_an_add_of_our_master_to_a_key_the_replica_lacks_makes_no_filter_of_another_type(new_server):
    master = new_server(tcp=True, config=QUIET)
    replica = new_server(tcp=True, config={**QUIET, "replica-read-only": "no"})
    follow(replica, master)
    assert master.call("BF.ADD", "k", "a") == ONE
    until_in_sync(replica, master)
    assert replica.call("DEL", "k") == ONE
    assert master.call("BF.BULKADD", "k", "LINES", "b\nc") == bulk(b"\xc0")
    assert master.call("BF.BULKADD", "other", "LINES", "x") == bulk(b"\x80")
    until_in_sync(replica, master)
    assert replica.call("TYPE", "k") == simple("none")
    assert replica.call("TYPE", "other") == simple("bloomport")
    assert errors_to_master(replica) == []


def test_an_aof_without_the_creation_makes_no_filter_of_another_type(new_server):
    server = new_server(config={**Stream.CONFIG, "aof-use-rdb-preamble": "no"})
    append_to_aof(server, [("BF.BULKADD", "k", "LINES", "a\n"), ("BF.ADD", "other", "x")])
    call = server.connection().call
    assert call("TYPE", "k") == call("TYPE", "other") == simple("none")
