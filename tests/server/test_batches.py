"""BF.MADD, BF.MEXISTS and BF.INSERT of n items do what n single commands do, for both layouts.

The same items go to two filters made alike, at once to one and one by one to the other: answers,
errors, counts and all bits are equal. The module works in groups of 8 items; the lengths and
capacities here lie on both sides of its ends.
"""

import random

import pytest

from checks import FULL, GROWTH_FAILED, card_and_layers, dump, info
from filters import LAYOUTS
from resp import OK, ZERO, error, integer

BOTH_LAYOUTS = pytest.mark.parametrize("layout", LAYOUTS)
BATCHES = ("BF.MADD", "BF.INSERT")


@pytest.fixture(autouse=True)
def no_limit(call):
    yield
    call("CONFIG", "SET", "bf.max-bytes", "0")


def pair(call, layout, *words):
    """Two filters made alike: `batch` and `single`."""
    for key in ("batch", "single"):
        call("DEL", key)
        assert call("BF.RESERVE", key, *words, "LAYOUT", layout) == OK


def at_once(call, command, items):
    """The elements of the reply, errors included."""
    words = ("ITEMS", *items) if command == "BF.INSERT" else items
    reply = call(command, "batch", *words)
    assert reply.kind == "*", reply
    return list(reply.value)


def one_by_one(server, items):
    connection = server.connection()
    return connection.pipeline(("BF.ADD", "single", item) for item in items)


def assert_same_bits(call):
    assert card_and_layers(call, "batch") == card_and_layers(call, "single")
    same = dump(call, "batch") == dump(call, "single")  # apart, for pytest would print megabytes
    assert same, "other bits at once than one by one"


def assert_alike(call, server, command, items):
    """Answers and bits; returns the answers."""
    answers = at_once(call, command, items)
    assert answers == one_by_one(server, items)
    assert_same_bits(call)
    return answers


# Lengths, duplicates, growth


@BOTH_LAYOUTS
@pytest.mark.parametrize("command", BATCHES)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1000])
def test_batch_of_any_length_equals_single_commands(call, server, layout, command, count):
    pair(call, layout, "0.01", "2000")
    source = random.Random(count)
    for _ in range(3):  # the second and third time some are there already
        items = ["%d" % source.randrange(2 * count) for _ in range(count)]
        assert_alike(call, server, command, items)


@BOTH_LAYOUTS
@pytest.mark.parametrize("words", [("0.01", "3"), ("BITSPERKEY", "6", "3"), ("0.1", "100", "EXPANSION", "1")], ids=str)
def test_batch_that_makes_the_filter_grow_many_times_equals_single_commands(call, server, layout, words):
    pair(call, layout, *words)
    source = random.Random(7)
    for command in BATCHES:
        items = ["%d" % source.randrange(1500) for _ in range(1000)]
        assert_alike(call, server, command, items)
    assert info(call, "batch")["Number of filters"] >= 6


def test_fnv1a_batch_through_growth_equals_single_commands(call, server):
    pair(call, "CLASSIC", "0.01", "50", "HASH", "FNV1A")
    source = random.Random(8)
    for command in BATCHES:
        assert_alike(call, server, command, ["%d" % source.randrange(1500) for _ in range(1000)])


@BOTH_LAYOUTS
@pytest.mark.parametrize("apart", [1, 2, 7, 8, 9, 16, 17, 255, 256, 257])
def test_item_twice_in_a_batch_is_one_then_zero(call, server, layout, apart):
    pair(call, layout, "0.000001", "10000")
    once = ["%d" % i for i in range(apart)]
    answers = assert_alike(call, server, "BF.MADD", once + once)
    assert answers == [integer(1)] * apart + [integer(0)] * apart


@BOTH_LAYOUTS
def test_item_twice_with_growth_in_between_is_one_then_zero(call, server, layout):
    for capacity in range(1, 20):
        pair(call, layout, "0.000001", capacity)
        once = ["%d" % i for i in range(20)]
        answers = assert_alike(call, server, "BF.MADD", once + once)
        assert answers == [integer(1)] * 20 + [integer(0)] * 20


@BOTH_LAYOUTS
@pytest.mark.parametrize("capacity", [254, 255, 256, 257, 258, 511, 512, 513])
def test_growth_at_the_end_of_a_window_equals_single_commands(call, server, layout, capacity):
    pair(call, layout, "0.01", capacity)
    assert_alike(call, server, "BF.MADD", ["%d" % i for i in range(600)])
    assert info(call, "batch")["Number of filters"] == 2


@BOTH_LAYOUTS
@pytest.mark.parametrize("count", [1, 31, 32, 255, 256, 257, 1000])
def test_mexists_equals_single_commands(call, server, layout, count):
    """The filter has three layers and a rate with many false positives."""
    assert call("BF.RESERVE", "k", "0.3", "100", "LAYOUT", layout) == OK
    call("BF.MADD", "k", *range(500)).plain
    assert info(call, "k")["Number of filters"] >= 3
    source = random.Random(count)
    items = ["%d" % source.randrange(2000) for _ in range(count)]
    connection = server.connection()
    single = connection.pipeline(("BF.EXISTS", "k", item) for item in items)
    assert list(call("BF.MEXISTS", "k", *items).value) == single


@BOTH_LAYOUTS
def test_mexists_on_a_missing_key_is_all_zeroes_of_any_length(call, layout):
    for count in (1, 255, 256, 257, 600):
        assert list(call("BF.MEXISTS", "none", *range(count)).value) == [ZERO] * count


@BOTH_LAYOUTS
def test_batch_that_creates_the_filter_equals_single_commands(call, server, layout):
    """600 items into a new filter of 100: it is created small and grows within the command."""
    words = ("CAPACITY", "100", "ERROR", "0.01", "LAYOUT", layout)
    assert call("BF.INSERT", "single", *words, "ITEMS", "0").plain == [1]
    answers = list(call("BF.INSERT", "batch", *words, "ITEMS", *range(600)).value)
    assert answers == [integer(1)] + one_by_one(server, ["%d" % i for i in range(1, 600)])
    assert_same_bits(call)


@BOTH_LAYOUTS
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_batches_equal_single_commands(call, server, layout, seed):
    source = random.Random(seed)
    rate, capacity = source.choice(["0.3", "0.01", "0.0001"]), source.choice([1, 5, 100, 700])
    pair(call, layout, rate, capacity, "EXPANSION", source.choice(["2", "4"]))
    for _ in range(15):
        count = source.choice([1, 5, 30, 256, 300, 700])
        universe = source.choice([10, 500, 5000])
        assert_alike(call, server, source.choice(BATCHES), ["%d" % source.randrange(universe) for _ in range(count)])


# Full in the middle: the reply ends right after the one error

CAPACITIES = [1, 2, 254, 255, 256, 257, 258, 511, 512, 513, 598, 599]


@BOTH_LAYOUTS
@pytest.mark.parametrize("command", BATCHES)
@pytest.mark.parametrize("capacity", CAPACITIES)
def test_reply_ends_after_the_error_where_a_non_scaling_filter_is_full(call, server, layout, command, capacity):
    pair(call, layout, "0.000001", capacity, "NONSCALING")
    answers = at_once(call, command, ["%d" % i for i in range(600)])
    assert answers == [integer(1)] * capacity + [error(FULL)]
    one_by_one(server, ["%d" % i for i in range(capacity)])
    assert_same_bits(call)
    assert call("BF.EXISTS", "batch", "599") == ZERO
    assert call("PING").plain == "PONG"  # the reply had as many elements as it announced


@BOTH_LAYOUTS
@pytest.mark.parametrize("capacity", [599, 600, 601])
def test_batch_that_just_fits_has_no_error(call, server, layout, capacity):
    pair(call, layout, "0.000001", capacity, "NONSCALING")
    items = ["%d" % i for i in range(min(capacity, 600))]
    assert at_once(call, "BF.MADD", items) == [integer(1)] * len(items)
    one_by_one(server, items)
    assert_same_bits(call)


@BOTH_LAYOUTS
@pytest.mark.parametrize("at", [0, 1, 15, 254, 255, 256, 257, 511, 512, 599])
def test_full_filter_passes_present_items_until_the_first_new_one(call, server, layout, at):
    pair(call, layout, "0.000001", 600, "NONSCALING")
    items = ["%d" % i for i in range(600)]
    at_once(call, "BF.MADD", items)
    one_by_one(server, items)
    answers = at_once(call, "BF.MADD", items[:at] + ["new"] + items[at:])
    assert answers == [integer(0)] * at + [error(FULL)]
    assert_same_bits(call)


@BOTH_LAYOUTS
def test_present_items_do_not_use_up_the_room_of_a_non_scaling_filter(call, server, layout):
    """Every item three times: 300 of them fit into 300, and the reply has all 900."""
    pair(call, layout, "0.000001", 300, "NONSCALING")
    items = ["%d" % (i // 3) for i in range(900)]
    answers = assert_alike(call, server, "BF.MADD", items)
    assert answers == [integer(1), integer(0), integer(0)] * 300


# No room to grow: an error for each item that would need it, and the batch goes on


@BOTH_LAYOUTS
@pytest.mark.parametrize("command", BATCHES)
@pytest.mark.parametrize("capacity", [1, 100, 255, 256, 257, 512])
def test_refused_growth_is_an_error_for_each_new_item_and_the_batch_goes_on(call, server, layout, command, capacity):
    pair(call, layout, "0.000001", capacity, "EXPANSION", "2")
    assert call("CONFIG", "SET", "bf.max-bytes", info(call, "batch")["Size"] + 64) == OK
    items = ["%d" % i for i in range(600)]
    answers = assert_alike(call, server, command, items + items)
    assert answers[:600] == [integer(1)] * capacity + [error(GROWTH_FAILED)] * (600 - capacity)
    assert answers[600:] == [integer(0)] * capacity + [error(GROWTH_FAILED)] * (600 - capacity)
    assert info(call, "batch")["Number of filters"] == 1


@BOTH_LAYOUTS
def test_refused_growth_after_some_growth_equals_single_commands(call, server, layout):
    pair(call, layout, "0.001", "20", "EXPANSION", "2")
    assert call("CONFIG", "SET", "bf.max-bytes", "3000") == OK
    source = random.Random(9)
    answers = []
    for command in BATCHES:
        answers += assert_alike(call, server, command, ["%d" % source.randrange(2000) for _ in range(1000)])
    assert info(call, "batch")["Number of filters"] >= 2
    kinds = {str(answer) for answer in answers}
    assert {kind.split(": it needs")[0] for kind in kinds} == {":1", ":0", "-" + GROWTH_FAILED}


@BOTH_LAYOUTS
def test_batch_goes_on_growing_when_the_limit_is_lifted(call, server, layout):
    pair(call, layout, "0.01", "100")
    items = ["%d" % i for i in range(600)]
    assert call("CONFIG", "SET", "bf.max-bytes", info(call, "batch")["Size"] + 64) == OK
    assert_alike(call, server, "BF.MADD", items)
    assert call("CONFIG", "SET", "bf.max-bytes", "0") == OK
    assert not any(answer.is_error for answer in assert_alike(call, server, "BF.MADD", items))


# Single commands take hints from the filter before: which memory to prefetch, and how to hash

SHAPES = [
    ("0.01", "100"),  # packed
    ("0.01", "5000"),
    ("0.01", "5000", "LAYOUT", "BLOCKED"),
    ("BITSPERKEY", "10", "5000", "HASH", "FNV1A"),
    ("0.01", "50", "EXPANSION", "1"),
]


def test_single_commands_on_filters_that_hash_differently_equal_batches(call, server):
    """The order is random, and now and then a filter is deleted and made anew in another shape, so that
    its memory is reused by another. Single commands use one set of keys, batches another."""
    source = random.Random(11)
    connection = server.connection()
    for number in range(300):
        name = source.randrange(8)
        if number < 8 or source.random() < 0.1:
            name = number % 8
            shape = source.choice(SHAPES)
            for prefix in ("single", "batch"):
                call("DEL", "%s%d" % (prefix, name))
                assert call("BF.RESERVE", "%s%d" % (prefix, name), *shape) == OK
        items = ["%d" % source.randrange(500) for _ in range(source.randrange(1, 4))]
        for single, many in (("BF.EXISTS", "BF.MEXISTS"), ("BF.ADD", "BF.MADD")):
            one_by_one = connection.pipeline((single, "single%d" % name, item) for item in items)
            assert list(call(many, "batch%d" % name, *items).value) == one_by_one
    for name in range(8):
        assert dump(call, "single%d" % name) == dump(call, "batch%d" % name)
