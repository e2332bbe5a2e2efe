"""A window forgets by age: what BF.* answer while the clock moves. What goes to replicas and files is in
test_window_stream.py, the errors in test_forget_refused.py.

Most tests have a window of 400 s in 4 generations, so that a generation begins every 100 s (STEP), and
stop the clock at NOW, where one begins.
"""

import random

import pytest

from checks import assert_refused, info, layers_of
from filters import Stream, count_ones, server_info, until
from redis_server import INSTRUMENTED
from resp import NULL, NULL_BULK, OK, ONE, ZERO, array, bulk, integer, mapping, simple

SERVER_HAS_CLOCK = True
SERVER_CONFIG = Stream.CONFIG

SECOND, HOUR = 1000, 3600_000
NOW = 1_600_000_000_000
WINDOW, GENERATIONS, STEP = 400, 4, 100 * SECOND
LIFE = (GENERATIONS + 1) * STEP
SHORT = ("WINDOW", WINDOW, "GENERATIONS", GENERATIONS)
LAYOUTS = ["CLASSIC", "BLOCKED"]


@pytest.fixture(autouse=True)
def stopped(clock):
    clock.stop(NOW)
    return clock


def reserve(call, key="k", *options, p="0.001", n=1000):
    assert call("BF.RESERVE", key, p, n, *SHORT, *options) == OK


def window_of(call, key="k"):
    """BF.INFO WINDOW: [seconds, generations, [[age, items], ...]]."""
    (window,) = call("BF.INFO", key, "WINDOW").plain
    return window


def ages(call, key="k"):
    return window_of(call, key)[2]


def stats(call, key="k"):
    flat = call("BF.STATS", key).plain
    return {name: value for name, value in zip(flat[::2], flat[1::2])}


def digest(call, key="k"):
    return call("DEBUG", "DIGEST-VALUE", key).plain


def names(prefix, count):
    return ["%s%d" % (prefix, i) for i in range(count)]


# ---- Creation ------------------------------------------------------------------------------------


def test_reserve_and_insert_make_the_same_window(call):
    reserve(call, "a")
    words = ("CAPACITY", 1000, "ERROR", "0.001", *SHORT)
    assert call("BF.INSERT", "b", *words, "ITEMS", "x").plain == [1]
    assert call("BF.ADD", "a", "x") == ONE
    assert digest(call, "a") == digest(call, "b")


def test_four_generations_are_the_default(call):
    assert call("BF.RESERVE", "k", "0.01", 100, "WINDOW", 60) == OK
    assert call("BF.INSERT", "l", "WINDOW", 60, "ITEMS", "a").plain == [1]
    assert window_of(call) == [60, 4, []]
    assert window_of(call, "l") == [60, 4, [[NOW % 15_000, 1]]]


@pytest.mark.parametrize("seconds, g", [(1, 1), (1, 64), (1_000_000_000, 1), (1_000_000_000, 64), (7, 3)])
def test_the_limits_of_window_and_generations_are_accepted(call, clock, seconds, g):
    assert call("BF.RESERVE", "k", "0.01", 100, "generations", g, "window", seconds) == OK
    assert call("BF.ADD", "k", "a") == ONE
    seen = window_of(call)
    assert seen[:2] == [seconds, g]
    step = -(-1000 * seconds // g)
    assert seen[2] == [[NOW % step, 1]]
    assert call("BF.EXISTS", "k", "a") == ONE
    clock.advance(step * (g + 1))
    assert call("BF.EXISTS", "k", "a") == ZERO


def test_the_options_of_a_window_may_stand_in_any_order_and_case(call):
    assert call("BF.RESERVE", "k", "0.01", 100, "Generations", 2, "layout", "blocked", "wInDoW", 9) == OK
    assert window_of(call) == [9, 2, []]
    assert call("BF.INFO", "k", "LAYOUT").plain == [b"BLOCKED"]


@pytest.mark.parametrize("layout, hash_, promise", [
    ("CLASSIC", "XXH64", ("0.01",)),
    ("CLASSIC", "FNV1A", ("0.01",)),
    ("BLOCKED", "XXH64", ("0.01",)),
    ("CLASSIC", "XXH64", ("BITSPERKEY", "12")),
    ("BLOCKED", "XXH64", ("BITSPERKEY", "12")),
    ("CLASSIC", "FNV1A", ("BITSPERKEY", "9.6")),
])  # fmt: skip
def test_every_layout_hash_and_promise_can_have_a_window(call, clock, layout, hash_, promise):
    assert call("BF.RESERVE", "k", *promise, 1000, "LAYOUT", layout, "HASH", hash_, *SHORT) == OK
    for i in range(8):
        call("BF.MADD", "k", *names("g%d-" % i, 100)).plain
        for j in range(max(0, i - GENERATIONS), i + 1):
            assert all(call("BF.MEXISTS", "k", *names("g%d-" % j, 100)).plain), (i, j)
        clock.advance(STEP)
    assert call("BF.INFO", "k", "HASH").plain == [hash_.encode()]
    assert call("BF.INFO", "k", "LAYOUT").plain == [layout.encode()]


def test_bits_per_key_give_each_generation_its_share_of_the_bits(call, clock):
    assert call("BF.RESERVE", "k", "BITSPERKEY", 12, 1001, *SHORT) == OK
    for _ in range(6):
        assert call("BF.ADD", "k", "a").plain in (0, 1)
        clock.advance(STEP)
    layers = layers_of(call, "k")
    assert [(layer.bits, layer.hashes, layer.capacity) for layer in layers] == [(3003, 8, 251)] * 5


def test_a_generation_has_the_capacity_of_its_share_of_the_window(call):
    reserve(call, n=1001)
    (layer,) = layers_of(call, "k")
    assert layer.capacity == 251
    assert layer.ratio == pytest.approx(0.8 * 0.001 / 5)


# ---- Adding and looking up over time -------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0, 1, STEP // 2, STEP - 1])
def test_an_item_is_found_for_the_window_and_gone_after_one_generation_more(call, clock, layout, offset):
    clock.advance(offset)
    reserve(call, "k", "LAYOUT", layout)
    assert call("BF.ADD", "k", "a") == ONE
    for ms in (0, 1, STEP, 2 * STEP, WINDOW * SECOND - 1, WINDOW * SECOND):
        clock.set(offset + ms)
        assert call("BF.EXISTS", "k", "a") == ONE, ms
        assert call("BF.MEXISTS", "k", "a", "b") == array(ONE, ZERO), ms
        assert call("BF.CARD", "k") == ONE, ms
    clock.set(LIFE - 1)
    assert call("BF.EXISTS", "k", "a") == ONE, "the last ms of its generation"
    clock.set(LIFE)
    assert call("BF.EXISTS", "k", "a") == ZERO
    assert call("BF.MEXISTS", "k", "a", "b") == array(ZERO, ZERO)
    assert call("BF.CARD", "k") == ZERO
    clock.set(offset + WINDOW * SECOND * 5 // 4 + GENERATIONS + 1)
    assert call("BF.EXISTS", "k", "a") == ZERO


def test_lookups_change_nothing_whatever_the_clock_shows(call, clock, stream):
    reserve(call)
    call("BF.ADD", "k", "a")
    before = digest(call)
    stream.take()
    for ms in (STEP, LIFE, 100 * LIFE, -LIFE):
        clock.set(ms)
        for words in (("BF.EXISTS", "k", "a"), ("BF.MEXISTS", "k", "a"), ("BF.CARD", "k"), ("BF.INFO", "k"),
                      ("BF.INFO", "k", "WINDOW"), ("BF.STATS", "k"), ("BF.EXPORT", "k"), ("BF.DEBUG", "k"),
                      ("BF.SCANDUMP", "k", 0), ("DUMP", "k")):  # fmt: skip
            assert not call(*words).is_error, words
        assert digest(call) == before
    assert stream.take() == []


def test_an_add_of_an_item_that_an_older_generation_holds_answers_zero_and_renews_it(call, clock, events, stream):
    reserve(call)
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.ADD", "k", "a") == ZERO
    events(), stream.take()
    clock.advance(WINDOW * SECOND)
    assert call("BF.ADD", "k", "a") == ZERO
    assert events() == [("k", "bf.rotate"), ("k", "bf.add")]
    commands = stream.take()
    assert [words[0].upper() for words in commands] == [b"MULTI", b"BF.ROTATE", b"BF.ADD", b"EXEC"]
    assert call("BF.CARD", "k") == integer(2)  # once in each generation
    clock.advance(WINDOW * SECOND)
    assert call("BF.EXISTS", "k", "a") == ONE
    clock.advance(LIFE)
    assert call("BF.EXISTS", "k", "a") == ZERO


def test_an_add_answers_one_for_an_item_whose_generation_is_over(call, clock):
    reserve(call)
    assert call("BF.ADD", "k", "a") == ONE
    clock.advance(LIFE - 1)
    assert call("BF.ADD", "k", "a") == ZERO
    clock.advance(LIFE)
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.MADD", "k", "a", "b", "b") == array(ZERO, ONE, ZERO)


def test_batches_answer_as_single_adds_do(call, clock):
    source = random.Random(17)
    reserve(call, "one"), reserve(call, "many")
    for _ in range(12):
        items = ["i%d" % source.randrange(300) for _ in range(60)]
        single = [call("BF.ADD", "one", item).plain for item in items]
        assert call("BF.MADD", "many", *items).plain == single
        asked = names("i", 300)
        assert [call("BF.EXISTS", "one", item).plain for item in asked] == call("BF.MEXISTS", "many", *asked).plain
        assert digest(call, "one") == digest(call, "many")
        clock.advance(source.choice([0, STEP // 3, STEP, 2 * STEP]))


def test_card_and_items_sum_the_generations_that_live(call, clock):
    reserve(call)
    for i in range(9):
        call("BF.MADD", "k", *names("g%d-" % i, i + 1))
        live = range(max(0, i - GENERATIONS), i + 1)
        assert call("BF.CARD", "k").plain == sum(j + 1 for j in live)
        seen = info(call, "k")
        assert seen["Number of items inserted"] == call("BF.CARD", "k").plain
        assert seen["Capacity"] == 1000
        assert seen["Number of filters"] == len(live)
        clock.advance(STEP)
    assert call("BF.CARD", "k").plain == 6 + 7 + 8 + 9, "without an add in this generation"


def test_a_window_that_is_idle_for_many_windows_is_empty_and_goes_on(call, clock):
    reserve(call)
    for i in range(5):
        call("BF.MADD", "k", *names("g%d-" % i, 50))
        clock.advance(STEP)
    clock.advance(1000 * LIFE + 12345)
    assert call("BF.CARD", "k") == ZERO
    assert not any(call("BF.MEXISTS", "k", *names("g3-", 50)).plain)
    assert ages(call) == []
    assert stats(call)["state"] == b"ok" and stats(call)["items"] == 0
    assert call("BF.ADD", "k", "g3-0") == ONE
    assert len(layers_of(call, "k")) == 1, "the old generations are dropped"
    assert call("BF.CARD", "k") == ONE


def test_the_gap_between_generations_stays(call, clock):
    """A generation begins only when an add needs it."""
    reserve(call)
    call("BF.ADD", "k", "a")
    clock.advance(3 * STEP + 5)
    call("BF.ADD", "k", "b")
    assert ages(call) == [[5, 1], [3 * STEP + 5, 1]]
    assert call("BF.MEXISTS", "k", "a", "b").plain == [1, 1]


# ---- BF.INFO and BF.STATS ------------------------------------------------------------------------


def test_info_window_in_resp2_and_resp3(call, call3, clock):
    reserve(call)
    empty = array(integer(WINDOW), integer(GENERATIONS), array())
    assert call("BF.INFO", "k", "WINDOW") == array(empty)
    assert call3("BF.INFO", "k", "WINDOW") == mapping((simple("Window"), empty))
    call("BF.MADD", "k", "a", "b")
    clock.advance(2 * STEP + 7)
    call("BF.ADD", "k", "a")
    generations = array(array(integer(7), integer(1)), array(integer(2 * STEP + 7), integer(2)))
    window = array(integer(WINDOW), integer(GENERATIONS), generations)
    assert call("BF.INFO", "k", "window") == array(window)
    assert call3("BF.INFO", "k", "Window") == mapping((simple("Window"), window))


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED", "COUNTING"])
def test_info_window_of_other_filters_is_null(call, call3, layout):
    assert call("BF.RESERVE", "k", "0.01", 100, "LAYOUT", layout) == OK
    assert call("BF.INFO", "k", "WINDOW") == array(NULL_BULK)
    assert call3("BF.INFO", "k", "WINDOW") == mapping((simple("Window"), NULL))


def test_the_new_selectors_of_info_in_resp2_and_resp3(call, call3):
    assert call("BF.RESERVE", "k", "0.125", 100, "LAYOUT", "BLOCKED") == OK
    assert call("BF.INFO", "k", "ERROR") == array(bulk("0.125"))
    (pair,) = call3("BF.INFO", "k", "ERROR").value
    assert pair[0] == simple("Error rate") and pair[1].kind == "," and pair[1].value == 0.125
    assert call("BF.INFO", "k", "layout") == array(bulk("BLOCKED"))
    assert call3("BF.INFO", "k", "layout") == mapping((simple("Layout"), bulk("BLOCKED")))
    assert call("BF.INFO", "k", "Hash") == array(bulk("XXH64"))
    assert call3("BF.INFO", "k", "Hash") == mapping((simple("Hash"), bulk("XXH64")))


def test_info_without_a_selector_has_the_five_fields_alone(call, call3):
    reserve(call)
    fields = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
    assert call("BF.INFO", "k").plain[::2] == fields
    assert list(call3("BF.INFO", "k").plain) == fields


def test_stats_of_a_window_have_the_field_window_after_expansion_and_no_other_filters_have(call, call3):
    reserve(call)
    call("BF.ADD", "k", "a")
    fields = list(call3("BF.STATS", "k").plain)
    assert fields[fields.index("expansion") + 1] == "window"
    assert call3("BF.STATS", "k").plain["window"] == window_of(call)
    assert stats(call)["window"] == window_of(call)
    assert call("BF.RESERVE", "plain", "0.001", 1000) == OK
    assert list(call3("BF.STATS", "plain").plain) == [name for name in fields if name != "window"]


def test_stats_of_a_window_are_those_of_the_generations_that_live(call, call3, clock):
    reserve(call, n=400)
    for i in range(7):
        call("BF.MADD", "k", *names("g%d-" % i, 90))
        clock.advance(STEP)
    seen = call3("BF.STATS", "k").plain
    assert seen["items"] == 360 and seen["capacity"] == 400 and seen["utilisation"] == 0.9
    assert seen["estimated items"] == pytest.approx(360, abs=40)  # it sums estimates of 90 items each
    assert len(seen["layers"]) == 4
    assert seen["promised error rate"] == 0.001
    assert 0 < seen["current error rate"] < 0.001
    clock.advance(LIFE)
    seen = call3("BF.STATS", "k").plain
    assert (seen["items"], seen["estimated items"], seen["layers"]) == (0, 0, [])
    assert (seen["current error rate"], seen["fill ratio"], seen["bits per item"]) == (0, 0, 0)
    assert seen["state"] == b"ok"


# ---- A clock that is wrong -----------------------------------------------------------------------


def test_a_clock_that_steps_back_drops_nothing_and_the_window_stands_still(call, clock):
    reserve(call)
    call("BF.MADD", "k", *names("old", 50))
    clock.advance(2 * STEP)
    call("BF.MADD", "k", *names("new", 50))
    assert stats(call)["state"] == b"ok"
    for ms in (2 * STEP - 1, 0, -1, -1000 * LIFE):
        clock.set(ms)
        assert all(call("BF.MEXISTS", "k", *names("old", 50), *names("new", 50)).plain), ms
        assert call("BF.CARD", "k").plain == 100
        assert stats(call)["state"] == b"clock behind"
        assert b"BF.CLEAR" in stats(call)["advice"]
        assert [age for age, _ in ages(call)] == [0, max(0, ms)]
    assert call("BF.ADD", "k", "while behind") == ONE
    assert [items for _, items in ages(call)] == [51, 50], "adds go to the newest generation"
    clock.set(2 * STEP)
    assert stats(call)["state"] == b"ok"
    clock.set(2 * STEP + LIFE - 1)
    assert call("BF.EXISTS", "k", "while behind") == ONE
    clock.set(2 * STEP + LIFE)
    assert call("BF.EXISTS", "k", "while behind") == ZERO


def test_rotate_while_the_clock_is_behind_does_nothing(call, clock, events, stream):
    reserve(call)
    call("BF.ADD", "k", "a")
    clock.advance(-HOUR)
    events(), stream.take()
    before = digest(call)
    assert call("BF.ROTATE", "k") == OK
    assert (digest(call), events(), stream.take()) == (before, [], [])


def test_clear_ends_the_state_clock_behind(call, clock):
    reserve(call)
    clock.advance(100 * LIFE)  # a wrong jump forward
    call("BF.ADD", "k", "a")
    clock.set(0)
    assert stats(call)["state"] == b"clock behind"
    assert call("BF.CLEAR", "k") == OK
    assert stats(call)["state"] == b"ok" and ages(call) == []
    assert call("BF.ADD", "k", "b") == ONE
    assert ages(call) == [[0, 1]]
    clock.advance(LIFE)
    assert call("BF.EXISTS", "k", "b") == ZERO


def test_clear_makes_a_window_as_it_was_when_it_was_new(call, clock):
    reserve(call, "k"), reserve(call, "fresh")
    for i in range(3):
        call("BF.MADD", "k", *names("g%d-" % i, 600))
        clock.advance(STEP)
    assert len(layers_of(call, "k")) > 3
    assert call("BF.CLEAR", "k") == OK
    assert digest(call, "k") == digest(call, "fresh")
    assert call("BF.INFO", "k") == call("BF.INFO", "fresh")


def test_a_clock_before_the_first_step_counts_as_the_first_step(call, clock):
    """A window of 10^9 s in one generation has steps of 31 years; this clock shows 1985."""
    assert call("BF.RESERVE", "k", "0.01", 100, "WINDOW", 10**9, "GENERATIONS", 1) == OK
    clock.stop(5 * 10**11)
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.EXISTS", "k", "a") == ONE
    clock.stop(10**12 + 2 * 10**12 - 1)
    assert call("BF.EXISTS", "k", "a") == ONE
    clock.stop(3 * 10**12)
    assert call("BF.EXISTS", "k", "a") == ZERO


# ---- BF.ROTATE -----------------------------------------------------------------------------------


def test_rotate_begins_no_generation(call, clock, events, stream):
    """Only an add does, which is refused where there is no memory."""
    reserve(call)
    call("BF.MADD", "k", *names("a", 50))
    before = digest(call)
    events(), stream.take()
    for _ in range(LIFE // STEP - 1):
        clock.advance(STEP)
        assert call("BF.ROTATE", "k") == OK
    assert (events(), stream.take(), digest(call)) == ([], [], before)
    assert ages(call) == [[LIFE - STEP, 50]]


def test_rotate_drops_what_is_over_and_nothing_else(call, clock, events):
    reserve(call)
    for i in range(3):
        call("BF.MADD", "k", *names("g%d-" % i, 50))
        clock.advance(STEP)
    clock.advance(LIFE - 3 * STEP - 1)
    events()
    assert call("BF.ROTATE", "k") == OK
    assert events() == [] and len(layers_of(call, "k")) == 3
    clock.advance(1)
    assert call("BF.ROTATE", "k") == OK
    assert events() == [("k", "bf.rotate")] and len(layers_of(call, "k")) == 2
    assert [held for _, held in ages(call)] == [50, 50]
    assert call("BF.ROTATE", "k") == OK
    assert events() == []
    assert not any(call("BF.MEXISTS", "k", *names("g0-", 50)).plain)
    assert all(call("BF.MEXISTS", "k", *names("g1-", 50), *names("g2-", 50)).plain)
    clock.advance(STEP)
    assert call("BF.ROTATE", "k") == OK
    assert [held for _, held in ages(call)] == [50]


def test_rotate_when_all_is_over_leaves_the_window_as_it_was_when_it_was_new(call, clock, events):
    for key in ("k", "fresh"):
        reserve(call, key)
    for i in range(3):
        call("BF.MADD", "k", *names("g%d-" % i, 600))  # more than a generation's share: it has grown
        clock.advance(STEP)
    clock.advance(LIFE)
    events()
    assert call("BF.ROTATE", "k") == OK
    assert events() == [("k", "bf.rotate")]
    assert digest(call, "k") == digest(call, "fresh") and ages(call) == []
    assert call("BF.ADD", "k", "a") == ONE and call("BF.EXISTS", "k", "a") == ONE


def test_a_clock_that_steps_back_after_all_was_dropped_begins_where_it_is(call, clock):
    reserve(call)
    call("BF.ADD", "k", "a")
    clock.advance(LIFE)
    assert call("BF.ROTATE", "k") == OK
    clock.set(0)
    assert call("BF.EXISTS", "k", "a") == ZERO, "what was dropped does not come back"
    assert call("BF.ADD", "k", "b") == ONE
    assert ages(call) == [[0, 1]] and stats(call)["state"] == b"ok"


def test_rotate_of_a_window_that_has_not_begun_does_nothing(call, clock, events, stream):
    reserve(call)
    events(), stream.take()
    before = digest(call)
    clock.advance(LIFE)
    assert call("BF.ROTATE", "k") == OK
    assert (digest(call), events(), stream.take(), ages(call)) == (before, [], [], [])


def test_rotate_sends_its_reply_in_both_protocols(call, call3):
    reserve(call)
    assert call("BF.ROTATE", "k") == OK and call3("bf.rotate", "k") == OK


def test_rotate_keeps_the_ttl(call, clock):
    reserve(call, "k", "PX", 100 * LIFE)
    call("BF.ADD", "k", "a")
    clock.advance(LIFE)
    assert call("BF.ROTATE", "k") == OK
    assert call("PEXPIRETIME", "k").plain == NOW + 100 * LIFE


# ---- The setting bf.window -----------------------------------------------------------------------


@pytest.fixture
def by_setting(call):
    assert call("CONFIG", "SET", "bf.window", WINDOW) == OK
    yield
    assert call("CONFIG", "SET", "bf.window", 0, "bf.expansion-factor", 2, "bf.bits-per-key", 0) == OK


@pytest.mark.parametrize("words", [
    ("BF.ADD", "k", "a"),
    ("BF.MADD", "k", "a"),
    ("BF.INSERT", "k", "ITEMS", "a"),
    ("BF.INSERT", "k", "CAPACITY", "77", "LAYOUT", "BLOCKED", "EXPANSION", 3, "ITEMS", "a"),
])  # fmt: skip
def test_the_setting_makes_windows_of_what_adds_create(call, by_setting, words):
    assert call(*words).plain in (1, [1])
    assert window_of(call) == [WINDOW, 4, [[0, 1]]]


@pytest.mark.parametrize("words", [
    ("BF.RESERVE", "k", "0.01", 100),
    ("BF.INSERT", "k", "NONSCALING", "ITEMS", "a"),
    ("BF.INSERT", "k", "EXPANSION", 0, "ITEMS", "a"),
    ("BF.INSERT", "k", "LAYOUT", "COUNTING", "ITEMS", "a"),
    ("BF.IMPORT", "k", "FORMAT", "portable", "DATA", b"\1\0\0\0\10\0\0\0\0\0\0\0\1"),
])  # fmt: skip
def test_the_setting_does_not_concern_other_creations(call, by_setting, words):
    assert call(*words).plain in ("OK", [1])
    assert call("BF.INFO", "k", "WINDOW").plain == [None]


def test_a_window_that_is_named_has_precedence_over_the_setting(call, by_setting):
    call("BF.INSERT", "k", "WINDOW", 7, "GENERATIONS", 2, "ITEMS", "a")
    assert window_of(call)[:2] == [7, 2]


@pytest.mark.parametrize("words", [("BF.ADD", "k", "a"), ("BF.INSERT", "k", "ITEMS", "a"),
                                   ("BF.RESERVE", "k", "0.01", 100, "WINDOW", WINDOW)])  # fmt: skip
def test_an_expansion_factor_of_0_counts_as_2_in_a_window(call, by_setting, words):
    assert call("CONFIG", "SET", "bf.expansion-factor", 0) == OK
    assert call(*words).plain in ("OK", 1, [1])
    assert call("BF.INFO", "k", "EXPANSION").plain == [2]
    assert window_of(call)[:2] == [WINDOW, 4]


def test_bits_per_key_of_the_settings_go_with_the_window(call, by_setting):
    assert call("CONFIG", "SET", "bf.bits-per-key", 12, "bf.initial-size", 1001) == OK
    call("BF.ADD", "k", "a")
    assert call("CONFIG", "SET", "bf.initial-size", 100) == OK
    (layer,) = layers_of(call, "k")
    assert layer.bits == 3003


def test_a_filter_that_exists_stays_what_it_is(call, by_setting):
    call("BF.RESERVE", "k", "0.01", 100)
    call("BF.ADD", "k", "a")
    assert call("BF.INFO", "k", "WINDOW").plain == [None]


# ---- Growth --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_burst_grows_its_generation_and_the_next_begins_small(call, clock, layout):
    """Ten times a generation's capacity at once: the promise of 0.01 holds, and only that generation is
    large. 50,000 absent items at rate 0.01 are 500 +- 22.2; the bound is 1.1 p within 4 sigma: 643."""
    reserve(call, "k", "LAYOUT", layout, p="0.01", n=4000)
    first = layers_of(call, "k")[0]
    call("BF.MADD", "k", *names("quiet", 900))
    clock.advance(STEP)
    call("BF.MADD", "k", *names("burst", 10_000))
    grown = layers_of(call, "k")
    assert len(grown) > 3
    clock.advance(STEP)
    call("BF.MADD", "k", *names("after", 900))
    assert layers_of(call, "k")[-1][:4] == first[:4]
    present = names("quiet", 900) + names("burst", 10_000) + names("after", 900)
    assert all(call("BF.MEXISTS", "k", *present).plain)
    assert sum(call("BF.MEXISTS", "k", *names("absent", 50_000)).plain) <= 643
    assert [items for _, items in ages(call)][0] == pytest.approx(900, abs=30)
    clock.advance(LIFE - STEP)
    call("BF.ADD", "k", "last")
    assert len(layers_of(call, "k")) == 2, "the burst went as a whole"


# ---- Memory --------------------------------------------------------------------------------------


def test_memory_falls_when_generations_are_dropped(call, clock):
    reserve(call, p="0.01", n=400_000)
    for _ in range(5):
        call("BF.ADD", "k", "a")
        clock.advance(STEP)
    usage, size = call("MEMORY", "USAGE", "k").plain, info(call, "k")["Size"]
    (one,) = {layer.bytes for layer in layers_of(call, "k")}
    assert 5 * one < size < 5.01 * one and usage > 5 * one
    assert int(server_info(call, "bf")["bf_bytes"]) == size
    clock.advance(LIFE)
    assert call("BF.ROTATE", "k") == OK
    assert info(call, "k")["Size"] < 1.01 * one
    assert call("MEMORY", "USAGE", "k").plain < 1.2 * one
    held = server_info(call, "bf")
    assert int(held["bf_bytes"]) == info(call, "k")["Size"]
    assert (held["bf_filters"], held["bf_layers"], held["bf_items"]) == ("1", "1", "0")


def test_a_large_generation_is_dropped_in_the_background_and_its_memory_comes_back(server, call, clock):
    """64 MB a generation, every page of the first one touched."""
    assert call("BF.RESERVE", "k", "BITSPERKEY", 16, 32_000_000, "WINDOW", WINDOW, "GENERATIONS", 1) == OK
    clock.advance(-NOW % (WINDOW * SECOND))
    call("BF.MADD", "k", *names("a", 60_000))
    before = int(server_info(call, "memory")["used_memory"])
    clock.advance(2 * WINDOW * SECOND)
    assert call("BF.ADD", "k", "b") == ONE
    assert call("PING") == simple("PONG")
    assert len(layers_of(call, "k")) == 1
    until(lambda: int(server_info(call, "memory")["used_memory"]) < before + 8_000_000, "one generation is freed")
    assert int(server_info(call, "bf")["bf_bytes"]) == info(call, "k")["Size"]
    if not INSTRUMENTED:
        until(lambda: int(server_info(call, "memory")["lazyfree_pending_objects"]) == 0, "nothing is left to free")


@pytest.mark.parametrize("setting", ["bf.max-bytes", "maxmemory"])
def test_creation_counts_one_generation_more_than_the_window_has(call, setting):
    """The limit stands just above and just below five generations."""
    options = ("0.001", 40_000_000, *SHORT)
    assert call("BF.RESERVE", "probe", *options) == OK
    one = layers_of(call, "probe")[0].bytes
    assert call("DEL", "probe") == ONE
    try:
        assert call("CONFIG", "SET", setting, 4 * one + one // 2) == OK
        reply = call("BF.RESERVE", "k", *options)
        assert reply.is_error and reply.value.startswith("ERR Insufficient memory to create filter: it needs "), reply
        assert setting in reply.value and call("EXISTS", "k") == ZERO
        assert call("CONFIG", "SET", setting, 5 * one + one // 2) == OK
        assert call("BF.RESERVE", "k", *options) == OK
    finally:
        assert call("CONFIG", "SET", setting, 0) == OK


def test_a_step_that_has_no_room_is_refused_and_changes_nothing(call, clock, stream):
    reserve(call, n=400_000)
    call("BF.ADD", "k", "a")
    one = layers_of(call, "k")[0].bytes
    clock.advance(STEP)
    assert call("CONFIG", "SET", "bf.max-bytes", one + one // 2) == OK
    try:
        stream.take()
        text = "ERR problem inserting into filter: it needs %d bytes, and bf.max-bytes is %d"
        size = info(call, "k")["Size"]
        needed = call("BF.ADD", "k", "b").value.split("it needs ")[1].split()[0]
        assert int(needed) == pytest.approx(size + one, abs=200)
        refusal = text % (int(needed), one + one // 2)
        for words in (("BF.ADD", "k", "b"), ("BF.MADD", "k", "b", "c"), ("BF.INSERT", "k", "ITEMS", "b")):
            assert_refused(call, refusal, *words)
        assert call("BF.ROTATE", "k") == OK  # which needs no room
        assert stream.take() == []
        clock.advance(LIFE)
        assert call("BF.ADD", "k", "b") == ONE, "the old generation makes room for the new one"
    finally:
        assert call("CONFIG", "SET", "bf.max-bytes", 0) == OK


@pytest.mark.parametrize("dest", ["a", "new"])
def test_a_merge_that_has_no_room_for_all_generations_names_the_limit(call, clock, dest):
    """Two windows of two generations each, which have none in common."""
    reserve(call, "a", n=400_000), reserve(call, "b", n=400_000)
    for i in range(4):
        call("BF.ADD", "ab"[i % 2], "x")
        clock.advance(STEP)
    one = layers_of(call, "a")[0].bytes
    assert call("CONFIG", "SET", "bf.max-bytes", 3 * one) == OK
    try:
        text = call("BF.MERGE", dest, "a", "b").value
        needed = int(text.split("ERR Insufficient memory to create filter: it needs ")[1].split()[0])
        assert 4 * one < needed < 4 * one + 1000 and text.endswith("and bf.max-bytes is %d" % (3 * one))
        assert_refused(call, text, "BF.MERGE", dest, "a", "b")
        assert call("CONFIG", "SET", "bf.max-bytes", needed) == OK
        assert call("BF.MERGE", dest, "a", "b") == OK
        assert info(call, dest)["Size"] == needed
    finally:
        assert call("CONFIG", "SET", "bf.max-bytes", 0) == OK


# ---- BF.EXPORT -----------------------------------------------------------------------------------


def bits_of_export(data):
    return int.from_bytes(data[12:], "little")


def test_export_is_the_union_of_the_generations_that_live(call, clock):
    """Each generation alone, in a window of its own that was cleared of the others, ORed here."""
    reserve(call)
    singles = []
    for i in range(6):
        call("BF.MADD", "k", *names("g%d-" % i, 100))
        reserve(call, "g%d" % i)
        call("BF.MADD", "g%d" % i, *names("g%d-" % i, 100))
        singles.append(call("BF.EXPORT", "g%d" % i).plain)
        clock.advance(STEP)
    clock.advance(-STEP)
    for live in range(5, -1, -1):
        data = call("BF.EXPORT", "k").plain
        union = 0
        for single in singles[6 - live:] if live < 6 else singles:
            union |= bits_of_export(single)
        assert data[:12] == singles[0][:12] and bits_of_export(data) == union, live
        clock.advance(STEP)


def test_an_export_answers_as_the_window_does(call, clock):
    reserve(call)
    for i in range(6):
        call("BF.MADD", "k", *names("g%d-" % i, 100))
        clock.advance(STEP)
    assert call("BF.IMPORT", "plain", "FORMAT", "portable", "DATA", call("BF.EXPORT", "k").plain) == OK
    items = [name for i in range(6) for name in names("g%d-" % i, 100)]
    mine, exported = call("BF.MEXISTS", "k", *items).plain, call("BF.MEXISTS", "plain", *items).plain
    assert all(later for now, later in zip(mine, exported) if now)
    assert sum(exported) <= sum(mine) + 10


@pytest.mark.parametrize("format_, layout", [("sstable", "CLASSIC"), ("parquet", "BLOCKED")])
def test_other_formats_export_windows_too(call, format_, layout):
    reserve(call, "k", "LAYOUT", layout)
    call("BF.MADD", "k", *names("a", 100))
    data = call("BF.EXPORT", "k", "FORMAT", format_).plain
    assert call("BF.IMPORT", "l", "FORMAT", format_, "DATA", data) == OK
    assert all(call("BF.MEXISTS", "l", *names("a", 100)).plain)


def test_an_empty_window_exports_no_bit(call, clock):
    reserve(call)
    assert count_ones(call("BF.EXPORT", "k").plain[12:]) == 0
    call("BF.ADD", "k", "a")
    assert count_ones(call("BF.EXPORT", "k").plain[12:]) > 0
    clock.advance(LIFE)
    assert count_ones(call("BF.EXPORT", "k").plain[12:]) == 0


def test_generations_of_different_sizes_cannot_be_exported_until_they_are_over(call, clock):
    reserve(call)
    call("BF.MADD", "k", *names("burst", 1000))
    text = "ERR cannot export: its generations have different sizes: BF.SCANDUMP carries any filter"
    assert_refused(call, text, "BF.EXPORT", "k")
    clock.advance(STEP)
    call("BF.ADD", "k", "a")
    assert_refused(call, text, "BF.EXPORT", "k", "FORMAT", "sstable")
    clock.advance(LIFE - STEP)
    assert len(call("BF.EXPORT", "k").plain) > 12


# ---- No memory -----------------------------------------------------------------------------------


def test_rotate_and_del_work_when_the_server_has_no_memory_for_adds(call, clock):
    reserve(call)
    call("BF.ADD", "k", "a")
    assert call("BF.INSERT", "c", "LAYOUT", "COUNTING", "ITEMS", "a").plain == [1]
    clock.advance(LIFE)
    used = int(server_info(call, "memory")["used_memory"])
    assert call("CONFIG", "SET", "maxmemory", used // 2) == OK
    try:
        assert call("BF.ADD", "k", "b").value.startswith("OOM ")
        assert call("BF.ROTATE", "k") == OK
        assert ages(call) == []
        assert call("BF.DEL", "c", "a").plain == [1]
        assert call("BF.COUNT", "c", "a") == ZERO
    finally:
        assert call("CONFIG", "SET", "maxmemory", 0) == OK


def test_rotate_takes_no_memory_under_maxmemory(call, clock):
    """Windows of 60 MB a generation: 30 of them took 1.9 GB under a maxmemory of 100 MB."""
    for i in range(5):
        assert call("BF.RESERVE", "k%d" % i, "BITSPERKEY", 16, 32_000_000, "WINDOW", WINDOW, "GENERATIONS", 1) == OK
        assert call("BF.ADD", "k%d" % i, "a") == ONE
    used = int(server_info(call, "memory")["used_memory"])
    assert call("CONFIG", "SET", "maxmemory", used // 2) == OK
    try:
        for step in range(4):
            clock.advance(WINDOW * SECOND)
            for i in range(5):
                assert call("BF.ROTATE", "k%d" % i) == OK
            assert int(server_info(call, "memory")["used_memory"]) < used + 1_000_000, step
    finally:
        assert call("CONFIG", "SET", "maxmemory", 0) == OK
