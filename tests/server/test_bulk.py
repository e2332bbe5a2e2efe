"""BF.BULKEXISTS and BF.BULKADD do what BF.MEXISTS and BF.MADD do with the same items, in every kind of
filter: answers, bits, counts. `single` gets the items as arguments, `bulk` as one string (bulk.py cuts it).
What reaches replicas and files is in test_bulk_stream.py.
"""

import random
import struct

import pytest

import redisbloom
import valkeybloom
from bulk import answers_of, cut, lines
from checks import FULL, GROWTH_FAILED, LOADING, WRONGTYPE, arity_error, assert_refused, dump, filter_state, info
from resp import OK, bulk, error, integer

SERVER_HAS_CLOCK = True
NOW, STEP = 1_600_000_000_000, 100_000

BAD_WIDTH = "ERR bad width: it is from 1 to 1048576"
UNKNOWN = "ERR Unknown argument received"
SEED = "00112233445566778899aabbccddeeff" * 2
BOTH = pytest.mark.parametrize("name", ["BF.BULKEXISTS", "BF.BULKADD"])

# BF.RESERVE's words; the small ones grow while items are added.
RESERVED = {
    "classic": ("0.01", "100000"),
    "grows": ("0.01", "10"),
    "grows-by-one": ("0.1", "100", "EXPANSION", "1"),
    "bits": ("BITSPERKEY", "9.6", "30"),
    "blocked": ("0.01", "100000", "LAYOUT", "BLOCKED"),
    "blocked-grows": ("0.01", "10", "LAYOUT", "BLOCKED"),
    "counting": ("0.01", "100000", "LAYOUT", "COUNTING"),
    "fnv1a": ("0.01", "10", "HASH", "FNV1A"),
    "sip13": ("0.01", "10", "SEED", SEED),
    "sip13-counting": ("0.01", "100000", "SEED", SEED, "LAYOUT", "COUNTING"),
    "window": ("0.01", "1000", "WINDOW", "400"),
    "window-blocked": ("0.01", "1000", "WINDOW", "400", "LAYOUT", "BLOCKED"),
    "window-sip13": ("0.01", "1000", "WINDOW", "400", "SEED", SEED),
}
FOREIGN = ["redisbloom", "valkeybloom", "leveldb"]
KINDS = [*RESERVED, *FOREIGN]


@pytest.fixture(autouse=True)
def time_stands_still(call, clock):
    """Else a step of a window could come between two commands that are compared."""
    clock.stop(NOW)
    yield
    call("CONFIG", "SET", "bf.max-bytes", "0")


def pair(call, kind):
    """Two filters made alike: `single` and `bulk`."""
    call("DEL", "single", "bulk")
    if kind in RESERVED:
        assert call("BF.RESERVE", "single", *RESERVED[kind]) == OK
    elif kind == "redisbloom":
        for iterator, data in redisbloom.FIXTURES["grown"].chunks:
            assert call("BF.LOADCHUNK", "single", iterator, data) == OK
        assert call("TYPE", "single").value == "MBbloom--"
    elif kind == "valkeybloom":
        assert call("BF.LOAD", "single", valkeybloom.FIXTURES["scaling"].load) == OK
        assert call("TYPE", "single").value == "bloomfltr"
    else:
        words = ("FORMAT", "leveldb", "CAPACITY", "50", "EXPANSION", "2", "DATA", bytes(64) + b"\7")
        assert call("BF.IMPORT", "single", *words) == OK
    assert call("COPY", "single", "bulk") == integer(1)


def digests(call):
    one, other = call("DEBUG", "DIGEST-VALUE", "single", "bulk").plain
    return one, other


def assert_alike(call, *words, adds=True):
    """The same answers and the same bits, from the words after the key. Returns the answers of the adds."""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    items = cut(words)
    added = None
    if adds:
        added = call("BF.MADD", "single", *items).plain
        assert answers_of(call("BF.BULKADD", "bulk", *words).plain, len(items)) == added
        one, other = digests(call)
        assert one == other, "other bits in bulk than one by one"
    found = call("BF.MEXISTS", "single", *items).plain
    assert answers_of(call("BF.BULKEXISTS", "bulk", *words).plain, len(items)) == found
    return added


def assert_same_filter(call):
    assert filter_state(call, "single") == filter_state(call, "bulk")


# ---- Answers equal those of BF.MADD and BF.MEXISTS -----------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_width_from_1_to_300_equals_separate_items(call, clock, kind):
    """New items, present ones, and some twice in one command; a window takes a step now and then."""
    seed = 20
    print("seed", seed)
    source = random.Random(seed)
    pair(call, kind)
    before = b""
    for width in range(1, 301):
        count = source.choice((1, 2, 7, 8, 9, 16, 17, 24, 25, 40, 63, 64, 65))
        data = source.randbytes(width * count)
        data += data[: width * source.choice((0, 0, 1, 5))] + before[: len(before) // width * width]
        assert_alike(call, "WIDTH", width, data)
        assert_alike(call, "WIDTH", width, source.randbytes(width * 20), adds=False)
        before = data[: 5 * width]
        if width % 30 == 0:
            clock.advance(STEP)
    assert_same_filter(call)


def random_lines(source):
    """Any bytes but LF; often empty, with CR or with NUL; mostly with a last newline."""
    items = [
        source.choice((b"", b"", b"\r", b"\0", b"a\0b", b"\r\r", b"item%d\r" % source.randrange(50), b"item%d" % source.randrange(50),
                       source.randbytes(source.randrange(300)).replace(b"\n", b"")))
        for _ in range(source.randrange(1, 70))
    ]  # fmt: skip
    data = lines(items)
    return data[:-1] if source.random() < 0.3 and items[-1] else data


@pytest.mark.parametrize("kind", KINDS)
def test_lines_equal_separate_items(call, clock, kind):
    seed = 21
    print("seed", seed)
    source = random.Random(seed)
    pair(call, kind)
    for number in range(200):
        assert_alike(call, "LINES", random_lines(source))
        assert_alike(call, "LINES", random_lines(source), adds=False)
        if number % 30 == 0:
            clock.advance(STEP)
    assert_same_filter(call)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000, 10_000])
@pytest.mark.parametrize("kind", ["grows", "blocked-grows", "window", "sip13"])
def test_growth_in_the_middle_of_a_command_equals_separate_items(call, kind, count):
    pair(call, kind)
    assert_alike(call, "WIDTH", 8, b"".join(struct.pack("<Q", i) for i in range(count)))
    assert_same_filter(call)
    assert count < 1000 or info(call, "bulk")["Number of filters"] > 1


def test_an_item_twice_in_one_command_is_added_once_and_counted_twice(call):
    assert call("BF.BULKADD", "k", "WIDTH", 1, "abab" * 10) == bulk(b"\xc0\0\0\0\0")
    assert call("BF.CARD", "k") == integer(2)
    assert call("BF.RESERVE", "c", "0.01", "100", "LAYOUT", "COUNTING") == OK
    assert call("BF.BULKADD", "c", "LINES", "a\nb\na\n") == bulk(b"\xc0")
    assert [call("BF.COUNT", "c", item).plain for item in "ab"] == [2, 1]


def test_a_window_finds_what_an_older_generation_holds_and_takes_it_into_the_newest(call, clock):
    pair(call, "window")
    assert assert_alike(call, "LINES", b"a\nb\n") == [1, 1]
    for _ in range(3):
        clock.advance(STEP)
        assert assert_alike(call, "LINES", b"a\nc\n")[0] == 0
    clock.advance(2 * STEP)
    assert call("BF.BULKEXISTS", "bulk", "LINES", "a\nb\nc") == bulk(b"\xa0")
    clock.advance(4 * STEP)
    assert call("BF.BULKEXISTS", "bulk", "LINES", "a\nb\nc") == bulk(b"\0")
    assert_same_filter(call)


# ---- How data is cut, and the bitmap -------------------------------------------------------------

CUTS = [
    (("LINES", b"a"), [b"a"]),
    (("LINES", b"a\n"), [b"a"]),
    (("LINES", b"\n"), [b""]),
    (("LINES", b"\n\n"), [b"", b""]),
    (("LINES", b"a\n\nb"), [b"a", b"", b"b"]),
    (("LINES", b"a\r\nb\r\n"), [b"a\r", b"b\r"]),
    (("LINES", b"a\rb\0c\n"), [b"a\rb\0c"]),
    (("lines", b"WIDTH\n8"), [b"WIDTH", b"8"]),
    (("WIDTH", "1", b"\n\0\n"), [b"\n", b"\0", b"\n"]),
    (("width", "+2", b"a\nb\n"), None),
    (("Width", "2", b"a\nb\n"), [b"a\n", b"b\n"]),
    (("WIDTH", "1048576", bytes(1 << 20)), [bytes(1 << 20)]),
]


@pytest.mark.parametrize("words, items", CUTS, ids=lambda value: repr(value)[:40])
def test_data_is_cut_into_these_items(call, words, items):
    reply = call("BF.BULKADD", "k", *words)
    if items is None:  # a number with a sign is none, for any command of the server
        assert reply == error(BAD_WIDTH)
        return
    assert call("BF.CARD", "k") == integer(len(set(items)))
    assert len(answers_of(reply.plain, len(items))) == len(items)
    assert call("BF.MEXISTS", "k", *items).plain == [1] * len(items)


def test_the_bitmap_is_in_the_order_of_getbit(call):
    call("BF.RESERVE", "k", "1e-9", "100")
    call("BF.MADD", "k", 0, 3, 9, 10)
    reply = call("BF.BULKEXISTS", "k", "LINES", lines(b"%d" % i for i in range(12)))
    assert reply == bulk(bytes([0b10010000, 0b01100000]))
    call("SET", "bits", reply.plain)
    assert [call("GETBIT", "bits", i).plain for i in range(12)] == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17, 1001])
def test_the_bitmap_has_a_byte_for_eight_items(call, count):
    data = lines(b"%d" % i for i in range(count))
    assert len(call("BF.BULKEXISTS", "missing", "LINES", data).plain) == (count + 7) // 8
    assert len(call("BF.BULKADD", "k", "LINES", data).plain) == (count + 7) // 8


def test_a_missing_key_contains_nothing_and_stays_missing(call):
    assert call("BF.BULKEXISTS", "k", "WIDTH", 1, "abcdefghi") == bulk(b"\0\0")
    assert call("BF.BULKEXISTS", "k", "LINES", "a\n\nb") == bulk(b"\0")
    assert call("EXISTS", "k") == integer(0)


def test_a_missing_key_is_created_as_bf_madd_creates_it(call):
    for settings in ({}, {"bf.error-rate": "0.001", "bf.initial-size": "7"}, {"bf.bits-per-key": "9"}, {"bf.window": "400"}):
        before = {name: call("CONFIG", "GET", name).plain[1] for name in settings}
        for name, value in settings.items():
            assert call("CONFIG", "SET", name, value) == OK
        call("DEL", "single", "bulk")
        call("BF.MADD", "single", *(b"%d" % i for i in range(30))).plain
        call("BF.BULKADD", "bulk", "LINES", lines(b"%d" % i for i in range(30))).plain
        assert_same_filter(call)
        for name, value in before.items():
            assert call("CONFIG", "SET", name, value) == OK


def test_replies_are_bulk_strings_over_resp3_too(call3):
    assert call3("BF.BULKADD", "k", "LINES", "a\nb") == bulk(b"\xc0")
    assert call3("BF.BULKEXISTS", "k", "LINES", "a\nx\nb\n") == bulk(b"\xa0")
    assert call3("BF.BULKEXISTS", "k", "WIDTH", "1", "") == bulk(b"")
    assert call3("BF.BULKADD", "k", "WIDTH", "0", "a") == error(BAD_WIDTH)


# ---- What is refused -----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("key", ["k", "missing"])
@pytest.mark.parametrize("words, text", [
    (("WIDTH", "0", "abc"), BAD_WIDTH),
    (("WIDTH", "-1", "abc"), BAD_WIDTH),
    (("WIDTH", "1048577", bytes(1048577)), BAD_WIDTH),
    (("WIDTH", "18446744073709551617", "abc"), BAD_WIDTH),
    (("WIDTH", "1.0", "abc"), BAD_WIDTH),
    (("WIDTH", "", "abc"), BAD_WIDTH),
    (("WIDTH", "0", ""), BAD_WIDTH),
    (("WIDTH", "2", "abc"), "ERR the data is no whole number of items of 2 bytes"),
    (("WIDTH", "4", "abc"), "ERR the data is no whole number of items of 4 bytes"),
    (("WIDTH", "1048576", "abc"), "ERR the data is no whole number of items of 1048576 bytes"),
    (("WORDS", "abc"), UNKNOWN),
    (("", "abc"), UNKNOWN),
    (("WIDTHS", "3", "abc"), UNKNOWN),
    (("3", "WIDTH", "abc"), UNKNOWN),
    (("WIDTH", "3"), None),
    (("WIDTH", "3", "abc", "abc"), None),
    (("LINES", "abc", "abc"), None),
], ids=lambda value: repr(value)[:40])
def test_wrong_words_are_refused_and_change_nothing(call, name, key, words, text):
    call("BF.ADD", "k", "a")
    assert_refused(call, text or arity_error(name), name, key, *words)


@BOTH
@pytest.mark.parametrize("words", [("LINES", "a"), ("LINES", ""), ("WIDTH", "1", "a"), ("WIDTH", "1", "")], ids=str)
def test_a_key_of_another_type_is_refused_with_or_without_items(call, name, words):
    call("SET", "k", "v")
    assert_refused(call, WRONGTYPE, name, "k", *words)


@BOTH
@pytest.mark.parametrize("words", [("LINES", "a"), ("LINES", "")], ids=str)
def test_a_filter_that_is_being_loaded_is_refused(call, name, words):
    call("BF.MADD", "whole", *range(300))
    call("BF.LOADCHUNK", "k", *dump(call, "whole")[0])
    assert_refused(call, LOADING, name, "k", *words)


@pytest.mark.parametrize("words", [("LINES", ""), ("WIDTH", "8", "")], ids=str)
def test_empty_data_answers_an_empty_string_and_creates_nothing(call, events, clock, words):
    call("BF.RESERVE", "window", "0.01", "10", "WINDOW", "400")
    call("BF.ADD", "window", "a")
    clock.advance(STEP)
    events()
    before = call("DEBUG", "DIGEST")
    for key in ("missing", "window"):
        assert call("BF.BULKADD", key, *words) == bulk(b"")
    assert events() == []
    assert call("BF.BULKEXISTS", "missing", *words) == bulk(b"")
    assert call("EXISTS", "missing") == integer(0)
    assert call("DEBUG", "DIGEST") == before


def test_a_full_filter_takes_the_items_before_and_says_how_many(call):
    for key in ("single", "bulk"):
        assert call("BF.RESERVE", key, "1e-9", "3", "NONSCALING") == OK
    items = [b"a", b"b", b"a", b"c", b"d", b"a", b"e"]
    assert call("BF.MADD", "single", *items).value[-1] == error(FULL)
    assert call("BF.BULKADD", "bulk", "LINES", lines(items)) == error(FULL + ": 4 of 7 items taken")
    assert_same_filter(call)
    assert call("BF.BULKADD", "bulk", "LINES", "a\nb\nc") == bulk(b"\0")  # what is there is no error
    assert_refused(call, FULL + ": 0 of 1 items taken", "BF.BULKADD", "bulk", "WIDTH", "1", "d")


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED", "COUNTING"])
@pytest.mark.parametrize("capacity", [1, 7, 8, 9, 16, 23, 24, 25, 100])
def test_a_filter_that_becomes_full_anywhere_in_a_batch_equals_separate_items(call, layout, capacity):
    for key in ("single", "bulk"):
        assert call("BF.RESERVE", key, "1e-6", capacity, "NONSCALING", "LAYOUT", layout) == OK
    items = [b"%08d" % i for i in range(capacity + 40)]
    answers = call("BF.MADD", "single", *items).value
    assert answers[-1] == error(FULL)
    text = "%s: %d of %d items taken" % (FULL, len(answers) - 1, len(items))
    assert call("BF.BULKADD", "bulk", "WIDTH", 8, b"".join(items)) == error(text)
    assert_same_filter(call)


def test_a_filter_that_cannot_grow_stops_at_the_item_and_names_the_limit(call):
    call("BF.RESERVE", "k", "0.01", "1000")
    call("CONFIG", "SET", "bf.max-bytes", "2000")
    items = [b"%08d" % i for i in range(3000)]
    reply = call("BF.BULKADD", "k", "WIDTH", 8, b"".join(items))
    assert reply.is_error
    text, _, count = reply.value.rpartition(": ")
    assert text == GROWTH_FAILED and text.endswith("bf.max-bytes is 2000")
    taken = int(count.split(" ")[0])
    assert count == "%d of 3000 items taken" % taken and 1000 <= taken < 1100
    assert call("BF.CARD", "k") == integer(1000)
    assert call("BF.MEXISTS", "k", *items[:taken]).plain == [1] * taken
    assert call("BF.EXISTS", "k", items[taken]) == integer(0)


@pytest.mark.parametrize("words", [("LINES", "a\nb\nc"), ("WIDTH", "1", "abc")], ids=str)
def test_a_creation_over_the_limit_is_refused_as_a_whole(call, words):
    call("CONFIG", "SET", "bf.max-bytes", "100")
    refused = call("BF.MADD", "k", "a")
    assert refused.is_error
    assert_refused(call, refused.value, "BF.BULKADD", "k", *words)


def test_events_are_those_of_bf_madd(call, events):
    for words in (("LINES", "a\nb"), ("LINES", "a\nb"), ("LINES", "c")):
        call("BF.MADD", "single", *cut([word.encode() for word in words])).plain
        expected = [event for _, event in events()]
        call("BF.BULKADD", "bulk", *words).plain
        assert [event for _, event in events()] == expected


def test_in_a_transaction_and_in_a_script(call):
    call("MULTI")
    call("BF.BULKADD", "k", "LINES", "a\nb")
    call("BF.BULKEXISTS", "k", "LINES", "a\nx\nb")
    assert call("EXEC").plain == [b"\xc0", b"\xa0"]
    script = "return redis.call('BF.BULKADD', KEYS[1], 'WIDTH', 2, ARGV[1])"
    assert call("EVAL", script, 1, "k", "xxyyxx").plain == b"\xc0"
