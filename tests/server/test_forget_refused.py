"""Every refusal of filters that forget: one exact error, and nothing changed, announced or propagated.
Those of EX, PX and PXAT are in test_expire_options.py."""

import pytest

from checks import BAD_DATA, assert_refused, dump, layers_of
from filters import Stream
from resp import OK, error

SERVER_HAS_CLOCK = True
SERVER_CONFIG = Stream.CONFIG

NOW = 1_600_000_000_000
WINDOW = "ERR window must be in the range [1, 1000000000] seconds"
GENERATIONS = "ERR generations must be in the range [1, 64]"
ALONE = "ERR GENERATIONS goes with WINDOW only"
NONSCALING = "ERR a window filter cannot be NONSCALING"
COUNTING_WINDOW = "ERR layout COUNTING cannot have a WINDOW"
COUNTING_EXPANDS = "ERR layout COUNTING cannot expand"
UNKNOWN = "ERR Unknown argument received"
NUMBERS = ["0", "-1", "x", "", "1.5", "1e3", "nan", " 1", "99999999999999999999", "-9223372036854775808"]
SHORT = ("WINDOW", 400, "GENERATIONS", 4)

# (options of both commands, the error)
OPTIONS = [
    *((("WINDOW", value), WINDOW) for value in [*NUMBERS, "1000000001", "4294967296", "4294967297"]),
    *((("WINDOW", 60, "GENERATIONS", value), GENERATIONS) for value in [*NUMBERS, "65", "4294967300"]),
    *((("GENERATIONS", value, "WINDOW", 60), GENERATIONS) for value in ("0", "65")),
    (("GENERATIONS", 4), ALONE),
    (("GENERATIONS", 4, "LAYOUT", "COUNTING"), ALONE),
    (("GENERATIONS", 65), GENERATIONS),
    (("WINDOW", 60, "NONSCALING"), NONSCALING),
    (("NONSCALING", "WINDOW", 60), NONSCALING),
    (("WINDOW", 60, "EXPANSION", 0), NONSCALING),
    (("LAYOUT", "BLOCKED", "EXPANSION", 0, "WINDOW", 60, "GENERATIONS", 2), NONSCALING),
    (("WINDOW", 60, "LAYOUT", "COUNTING"), COUNTING_WINDOW),
    (("LAYOUT", "COUNTING", "WINDOW", 60, "GENERATIONS", 2), COUNTING_WINDOW),
    (("LAYOUT", "COUNTING", "NONSCALING", "WINDOW", 60), COUNTING_WINDOW),
    (("LAYOUT", "COUNTING", "EXPANSION", 1), COUNTING_EXPANDS),
    (("EXPANSION", 32768, "LAYOUT", "COUNTING"), COUNTING_EXPANDS),
    (("WINDOW", 60, "WINDOW", 60), "ERR repeated option"),
    (("WINDOW", 60, "GENERATIONS", 4, "GENERATIONS", 4), "ERR repeated option"),
    (("LAYOUT", "BLOCKED", "HASH", "FNV1A", "WINDOW", 60), "ERR layout BLOCKED goes with hash XXH64 only"),
    (("WINDOWS", 60), UNKNOWN),
    (("GENERATION", 4), UNKNOWN),
    (("WIN", 60), UNKNOWN),
    (("LAYOUT", "COUNT"), "ERR bad layout: CLASSIC, BLOCKED or COUNTING"),
]


@pytest.fixture
def silent(call, clock, events, stream):
    """After the test nothing was announced or propagated since silent() was called."""
    clock.stop(NOW)

    def begin():
        events(), stream.take()

    begin()
    yield begin
    assert events() == []
    assert stream.take() == []


@pytest.mark.parametrize("options, text", OPTIONS, ids=lambda value: None if isinstance(value, str) else " ".join(map(str, value)))
def test_bad_options_of_a_creation(call, silent, options, text):
    assert_refused(call, text, "BF.RESERVE", "k", "0.01", 100, *options)
    assert_refused(call, text, "BF.RESERVE", "k", "BITSPERKEY", 10, 100, *options)
    assert_refused(call, text, "BF.INSERT", "k", *options, "ITEMS", "a")
    assert_refused(call, text, "BF.INSERT", "k", "NOCREATE", *options, "ITEMS", "a")
    call("BF.ADD", "k", "a")
    silent()
    assert_refused(call, text, "BF.INSERT", "k", *options, "ITEMS", "b")


def test_nonscaling_with_an_expansion_and_counting(call, silent):
    """BF.RESERVE refuses the pair itself; in BF.INSERT non-scaling wins, as RedisBloom has it."""
    options = ("NONSCALING", "EXPANSION", 2, "LAYOUT", "COUNTING")
    assert_refused(call, "ERR Nonscaling filters cannot expand", "BF.RESERVE", "k", "0.01", 100, *options)


def test_a_bare_expansion_with_counting_or_of_0_with_a_window(call, silent):
    """NRedisStack's spelling."""
    assert_refused(call, COUNTING_EXPANDS, "BF.RESERVE", "k", "0.01", 100, 2, "LAYOUT", "COUNTING")
    assert_refused(call, NONSCALING, "BF.RESERVE", "k", "0.01", 100, 0, "WINDOW", 60)


@pytest.mark.parametrize("options", [("WINDOW",), ("WINDOW", 60, "GENERATIONS")])
def test_a_word_without_its_value_is_an_arity_error(call, silent, options):
    assert_refused(call, "ERR wrong number of arguments for 'bf.reserve' command", "BF.RESERVE", "k", "0.01", 100, *options)
    assert_refused(call, "ERR wrong number of arguments for 'bf.insert' command", "BF.INSERT", "k", "ERROR", "0.1", *options)


@pytest.mark.parametrize("name", ["BF.ROTATE"])
@pytest.mark.parametrize("options", [(), ("LAYOUT", "BLOCKED"), ("LAYOUT", "COUNTING"), ("NONSCALING",)], ids=str)
def test_rotate_of_another_filter(call, silent, name, options):
    assert call("BF.RESERVE", "k", "0.01", 100, *options) == OK
    silent()
    assert_refused(call, "ERR not a window filter: BF.ROTATE needs one made with WINDOW", name, "k")


def test_rotate_of_a_missing_key(call, silent):
    assert_refused(call, "ERR not found", "BF.ROTATE", "k")


@pytest.mark.parametrize("time", [NOW + 100_000, NOW, 0, -1, "x", ""])
def test_rotate_with_a_time_is_not_for_clients(call, silent, time):
    text = "ERR BF.ROTATE takes a time only in a replication stream or an AOF"
    assert_refused(call, text, "BF.ROTATE", "k", time)
    assert call("BF.RESERVE", "k", "0.01", 100, *SHORT) == OK
    call("BF.ADD", "k", "a")
    silent()
    assert_refused(call, text, "BF.ROTATE", "k", time)


@pytest.mark.parametrize("other, differs", [
    ((), "its window is none and not 400 s in 4 generations"),
    (("WINDOW", 200, "GENERATIONS", 4), "its window is 200 s in 4 generations and not 400 s in 4 generations"),
    (("WINDOW", 400, "GENERATIONS", 2), "its window is 400 s in 2 generations and not 400 s in 4 generations"),
])  # fmt: skip
def test_merges_of_unequal_windows(call, silent, other, differs):
    assert call("BF.RESERVE", "k", "0.01", 1000, *SHORT) == OK
    assert call("BF.RESERVE", "l", "0.01", 1000, *other) == OK
    assert call("BF.ADD", "l", "a").plain == 1
    silent()
    assert_refused(call, "ERR cannot merge source 1: " + differs, "BF.MERGE", "k", "l")
    assert_refused(call, "ERR cannot merge source 2: " + differs, "BF.MERGE", "new", "k", "l")


def test_a_merge_of_a_window_into_a_filter_without_one(call, silent):
    assert call("BF.RESERVE", "k", "0.01", 1000) == OK
    assert call("BF.RESERVE", "l", "0.01", 1000, *SHORT) == OK
    silent()
    assert_refused(call, "ERR cannot merge source 1: its window is 400 s in 4 generations and not none", "BF.MERGE", "k", "l")


def test_merges_of_windows_of_other_sizes(call, silent):
    assert call("BF.RESERVE", "k", "0.01", 1000, *SHORT) == OK
    assert call("BF.RESERVE", "l", "0.01", 2000, *SHORT) == OK
    sizes = [layers_of(call, key)[0].bits for key in "lk"]
    silent()
    assert_refused(call, "ERR cannot merge source 1: its layer 1 has %d bits and not %d" % tuple(sizes), "BF.MERGE", "k", "l")


def test_interstore_of_windows(call, silent):
    assert call("BF.RESERVE", "k", "0.01", 1000, *SHORT) == OK
    assert call("BF.RESERVE", "plain", "0.01", 1000) == OK
    silent()
    for words, number in ((("k",), 1), (("k", "k"), 1), (("plain", "k"), 2), (("missing", "k"), 2)):
        assert_refused(call, "ERR cannot intersect source %d: it has a window" % number, "BF.INTERSTORE", "dest", *words)


@pytest.mark.parametrize("value", ["-1", "1000000001", "x", "1.5", ""])
def test_bad_values_of_the_setting(call, silent, value):
    reply = call("CONFIG", "SET", "bf.window", value)
    assert reply.is_error, reply
    assert call("CONFIG", "GET", "bf.window").plain == [b"bf.window", b"0"]


def test_damaged_headers_of_windows_and_counters_are_refused_as_chunks(call, silent):
    """Every byte of both headers changed: the checksum finds it."""
    assert call("BF.RESERVE", "w", "0.01", 100, *SHORT) == OK
    assert call("BF.RESERVE", "c", "0.01", 100, "LAYOUT", "COUNTING") == OK
    call("BF.ADD", "w", "a"), call("BF.ADD", "c", "a")
    silent()
    for key in "wc":
        header = dump(call, key)[0][1]
        for at in range(len(header)):
            damaged = header[:at] + bytes([header[at] ^ 1]) + header[at + 1 :]
            assert call("BF.LOADCHUNK", "new", 1, damaged) == error(BAD_DATA), at
        for size in range(8, len(header)):
            assert call("BF.LOADCHUNK", "new", 1, header[:size]) == error(BAD_DATA), size
    assert call("EXISTS", "new").plain == 0
