"""Layout COUNTING: BF.DEL, BF.COUNT and the counters behind them, against a model in plain Python."""

import random

import pytest

from bloom_model import hash_fnv1a, hash_xxh64, positions
from checks import FULL, WRONGTYPE, arity_error, assert_refused, changes, dump, info, layers_of, load
from filters import QUIET, Stream, follow, look, same_filter, server_info, until, until_in_sync
from redisbloom import FIXTURES
from resp import FALSE, NULL_BULK, OK, ONE, TRUE, ZERO, array, bulk, error, integer

SERVER_CONFIG = Stream.CONFIG
MOST = 15  # a counter stops there

HASHES = {"XXH64": hash_xxh64, "FNV1A": hash_fnv1a}


def reserve(call, key="k", *options, p="0.001", n=1000):
    assert call("BF.RESERVE", key, p, n, "LAYOUT", "COUNTING", *options) == OK


def digest(call, key="k"):
    (seen,) = call("DEBUG", "DIGEST-VALUE", key).plain
    assert seen.strip("0"), "%s is not there" % key
    return seen


def stats(call, key="k"):
    flat = call("BF.STATS", key).plain
    return dict(zip(flat[::2], flat[1::2]))


def names(prefix, count):
    return ["%s%d" % (prefix, i) for i in range(count)]


def unchanged(call, key, *words):
    """The reply of a command that must change nothing: digest, count of changes, counts."""
    before = (digest(call, key), changes(call), call("BF.CARD", key))
    reply = call(*words)
    assert (digest(call, key), changes(call), call("BF.CARD", key)) == before, words
    return reply


class Model:
    """Counters of one COUNTING filter, and its count of items."""

    def __init__(self, call, key, scheme="XXH64"):
        (layer,) = layers_of(call, key)
        self.m, self.k, self.hash = layer.bits, layer.hashes, HASHES[scheme]
        self.counters, self.items = [0] * self.m, 0

    def at(self, item):
        return set(positions(self.hash(item.encode()), self.m, self.k))

    def count(self, item):
        return min(self.counters[p] for p in self.at(item))

    def step(self, item, by):
        """Whether a counter changed."""
        changing = [p for p in self.at(item) if self.counters[p] < MOST]
        for p in changing:
            self.counters[p] += by
        return bool(changing)

    def add(self, item):
        is_new = self.count(item) == 0
        self.items += self.step(item, 1)
        return int(is_new)

    def remove(self, item):
        if self.count(item) == 0:
            return 0
        self.items = max(0, self.items - self.step(item, -1))
        return 1

    def bytes(self):
        padded = self.counters + [0]
        return bytes(padded[p] | padded[p + 1] << 4 for p in range(0, self.m, 2))

    def assert_is(self, call, key):
        assert b"".join(data for _, data in dump(call, key)[1:]) == self.bytes()
        assert call("BF.CARD", key).plain == self.items


# ---- Adding, deleting, counting ------------------------------------------------------------------


def test_add_answers_one_for_an_item_that_was_not_there_and_counts_every_add(call):
    reserve(call)
    assert call("BF.COUNT", "k", "a") == ZERO
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.ADD", "k", "a") == ZERO
    assert call("BF.MADD", "k", "a", "b", "b") == array(ZERO, ONE, ZERO)
    assert call("BF.INSERT", "k", "ITEMS", "b", "c") == array(ZERO, ONE)
    assert [call("BF.COUNT", "k", item).plain for item in "abcd"] == [3, 3, 1, 0]
    assert call("BF.CARD", "k") == integer(7), "a count of copies"


def test_what_was_added_twice_is_deleted_twice(call):
    reserve(call)
    call("BF.MADD", "k", "a", "a")
    assert call("BF.DEL", "k", "a") == array(ONE)
    assert (call("BF.EXISTS", "k", "a"), call("BF.COUNT", "k", "a"), call("BF.CARD", "k")) == (ONE, ONE, ONE)
    assert call("BF.DEL", "k", "a") == array(ONE)
    assert (call("BF.EXISTS", "k", "a"), call("BF.COUNT", "k", "a"), call("BF.CARD", "k")) == (ZERO, ZERO, ZERO)
    assert call("BF.DEL", "k", "a") == array(ZERO)


def test_del_answers_an_array_in_both_protocols(call, call3):
    reserve(call)
    call("BF.MADD", "k", "a", "b", "b")
    assert call("BF.DEL", "k", "a", "x", "b", "a") == array(ONE, ZERO, ONE, ZERO)
    assert call3("BF.DEL", "k", "b", "b") == array(TRUE, FALSE)
    assert call3("BF.DEL", "missing", "b") == array(FALSE)
    assert call3("BF.DEL", "k", "x") == call3("BF.MEXISTS", "k", "x")
    assert call3("BF.COUNT", "k", "x") == ZERO


def test_the_same_item_many_times_in_one_command(call):
    reserve(call)
    assert call("BF.MADD", "k", *["a"] * 9) == array(ONE, *[ZERO] * 8)
    assert call("BF.COUNT", "k", "a").plain == 9
    assert call("BF.DEL", "k", *["a"] * 12) == array(*[ONE] * 9, *[ZERO] * 3)
    assert call("BF.CARD", "k") == ZERO
    reserve(call, "fresh")
    assert digest(call) == digest(call, "fresh")


def test_a_missing_key_has_and_deletes_nothing_and_stays_missing(call, stream):
    before = changes(call)
    assert call("BF.DEL", "k", "a", "b") == array(ZERO, ZERO)
    assert call("BF.COUNT", "k", "a") == ZERO
    assert (call("EXISTS", "k"), changes(call), stream.take()) == (ZERO, before, [])


def test_the_empty_item_and_binary_ones_can_be_deleted(call):
    reserve(call)
    items = [b"", b"\0", b"a\0b", b"\r\n", bytes(range(256))]
    assert call("BF.MADD", "k", *items).plain == [1] * 5
    assert [call("BF.COUNT", "k", item).plain for item in items] == [1] * 5
    assert call("BF.DEL", "k", *items).plain == [1] * 5
    assert call("BF.MEXISTS", "k", *items).plain == [0] * 5


@pytest.mark.parametrize("words", [("BF.DEL", "k", "a"), ("BF.COUNT", "k", "a")], ids=lambda words: words[0])
@pytest.mark.parametrize("options", [(), ("LAYOUT", "BLOCKED"), ("NONSCALING",), ("WINDOW", 60)], ids=str)
def test_other_filters_are_refused(call, words, options):
    assert call("BF.RESERVE", "k", "0.01", 100, *options) == OK
    call("BF.ADD", "k", "a")
    assert_refused(call, "ERR %s needs layout COUNTING" % words[0], *words)


@pytest.mark.parametrize("words", [("BF.DEL", "k", "a"), ("BF.COUNT", "k", "a"), ("BF.ROTATE", "k")], ids=lambda words: words[0])
def test_keys_of_other_types_and_wrong_numbers_of_words_are_refused(call, words):
    call("SET", "k", "a string")
    assert_refused(call, WRONGTYPE, *words)
    if words[0] != "BF.ROTATE":
        assert_refused(call, arity_error(words[0]), *words[:2])
    if words[0] != "BF.DEL":
        assert_refused(call, arity_error(words[0]), *words, "x", "y")


def test_foreign_filters_are_refused(call):
    assert call("RESTORE", "k", 0, FIXTURES["grown"].payload) == OK
    for name in ("BF.DEL", "BF.COUNT"):
        assert_refused(call, "ERR %s needs layout COUNTING" % name, name, "k", "a")
    assert_refused(call, "ERR not a window filter: BF.ROTATE needs one made with WINDOW", "BF.ROTATE", "k")


# ---- Against the model ---------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", HASHES)
@pytest.mark.parametrize("promise, n", [(("0.01",), 60), (("BITSPERKEY", "5"), 33), (("0.3",), 7), (("BITSPERKEY", "1"), 1)])
def test_random_adds_and_deletions_are_the_models_counter_by_counter(call, scheme, promise, n):
    """Few counters, so that items collide, an item's own positions coincide, and counters saturate."""
    source = random.Random(str((scheme, promise, n)))
    assert call("BF.RESERVE", "k", *promise, n, "LAYOUT", "COUNTING", "HASH", scheme) == OK
    model = Model(call, "k", scheme)
    for _ in range(120):
        items = ["i%d" % source.randrange(2 * n) for _ in range(source.choice([1, 1, 3, 20]))]
        if source.random() < 0.6:
            expected = []
            for item in items:
                if model.items >= n and model.count(item) == 0:
                    expected.append(error(FULL))
                    break
                expected.append(integer(model.add(item)))
            assert call("BF.MADD", "k", *items) == array(*expected)
        else:
            assert call("BF.DEL", "k", *items).plain == [model.remove(item) for item in items]
        model.assert_is(call, "k")
        item = "i%d" % source.randrange(2 * n)
        assert call("BF.COUNT", "k", item).plain == model.count(item)
        assert call("BF.EXISTS", "k", item).plain == (model.count(item) > 0)


def test_no_item_is_lost_by_deleting_others_that_were_added(call):
    reserve(call, n=5000)
    kept, gone = names("kept", 2000), names("gone", 3000)
    call("BF.MADD", "k", *gone, *kept)
    assert call("BF.DEL", "k", *gone).plain == [1] * 3000
    assert all(call("BF.MEXISTS", "k", *kept).plain)
    # what is left of 3000 is at most a false positive: 3 +- 1.8 at rate 0.001, and the filter is less full
    assert sum(call("BF.MEXISTS", "k", *gone).plain) <= 12
    reserve(call, "fresh", n=5000)
    call("BF.MADD", "fresh", *kept)
    assert dump(call, "k")[1:] == dump(call, "fresh")[1:]


# ---- Saturation ----------------------------------------------------------------------------------


def test_counters_stop_at_15_and_then_stay(call, events, stream):
    reserve(call)
    assert call("BF.MADD", "k", *["a"] * MOST).plain == [1] + [0] * (MOST - 1)
    assert call("BF.COUNT", "k", "a") == integer(MOST)
    events(), stream.take()
    assert unchanged(call, "k", "BF.ADD", "k", "a") == ZERO
    assert unchanged(call, "k", "BF.MADD", "k", "a", "a") == array(ZERO, ZERO)
    for _ in range(3):
        assert unchanged(call, "k", "BF.DEL", "k", "a", "a") == array(ONE, ONE)
    assert (events(), stream.take()) == ([], [])
    assert call("BF.COUNT", "k", "a") == integer(MOST)
    assert call("BF.EXISTS", "k", "a") == ONE


def test_an_item_below_saturation_can_be_deleted_as_often_as_it_was_added(call):
    reserve(call)
    call("BF.MADD", "k", *["a"] * (MOST - 1))
    assert call("BF.DEL", "k", *["a"] * MOST).plain == [1] * (MOST - 1) + [0]
    assert call("BF.EXISTS", "k", "a") == ZERO


# ---- Full ----------------------------------------------------------------------------------------


def test_a_full_filter_accepts_items_that_are_present_and_no_others(call):
    reserve(call, n=5, p="0.0001")
    assert call("BF.MADD", "k", *"abcde").plain == [1] * 5
    assert call("BF.ADD", "k", "a") == ZERO
    assert call("BF.COUNT", "k", "a").plain == 2
    assert_refused(call, FULL, "BF.ADD", "k", "f")
    assert call("BF.MADD", "k", "b", "f", "c") == array(ZERO, error(FULL))
    assert (call("BF.COUNT", "k", "b").plain, call("BF.COUNT", "k", "c").plain) == (2, 1)
    assert (stats(call)["state"], call("BF.CARD", "k").plain) == (b"full", 7)
    assert call("BF.DEL", "k", "e", "a").plain == [1, 1]
    assert_refused(call, FULL, "BF.ADD", "k", "f")  # 5 copies of 4 items: all of the capacity
    assert call("BF.DEL", "k", "b").plain == [1]
    assert call("BF.ADD", "k", "f") == ONE


def test_counting_filters_do_not_scale_whatever_the_settings_say(call):
    assert call("BF.INSERT", "k", "LAYOUT", "COUNTING", "ITEMS", "a").plain == [1]
    reserve(call, "l", "NONSCALING")
    assert call("BF.RESERVE", "m", "0.01", 10, "LAYOUT", "counting", "EXPANSION", 0) == OK
    for key in "klm":
        assert call("BF.INFO", key, "EXPANSION") == array(NULL_BULK)
        assert call("BF.INFO", key, "LAYOUT") == array(bulk("COUNTING"))


def test_stats_of_a_counting_filter(call, call3):
    reserve(call)
    call("BF.MADD", "k", *names("a", 500), *names("a", 100))
    seen = call3("BF.STATS", "k").plain
    (layer,) = layers_of(call, "k")
    assert (seen["layout"], seen["items"], seen["capacity"]) == (b"COUNTING", 600, 1000)
    assert seen["estimated items"] == pytest.approx(500, abs=40), "of the distinct ones"
    assert seen["promised error rate"] == 0.001 and 0 < seen["current error rate"] < 0.001
    assert seen["bits per key"] == pytest.approx(4 * layer.bits / 1000)
    assert layer.bytes == (layer.bits + 1) // 2
    assert "window" not in seen and seen["items are estimated"] is False


def test_a_counting_filter_takes_four_times_the_memory_of_a_classic_one(call):
    reserve(call, n=100_000)
    assert call("BF.RESERVE", "classic", "0.001", 100_000, "NONSCALING") == OK
    assert layers_of(call, "k")[0][1:4] == layers_of(call, "classic")[0][1:4], "the same m, k and capacity"
    assert info(call, "k")["Size"] <= 4.05 * info(call, "classic")["Size"]
    assert call("MEMORY", "USAGE", "k").plain <= 4.05 * call("MEMORY", "USAGE", "classic").plain


def test_more_copies_than_the_capacity_are_counted_everywhere_and_load_again(call, call3):
    """BF.CARD, BF.INFO, BF.STATS and INFO bf say the same, before and after every way to load the filter."""
    reserve(call, n=5, p="0.0001")
    call("BF.MADD", "k", *"abcde" * 3).plain
    before = look(call, "k")
    assert call("RESTORE", "a", 0, call("DUMP", "k").plain) == call("DEBUG", "RELOAD") == call("DEBUG", "LOADAOF") == OK
    assert call("COPY", "k", "b") == ONE
    load(call, "c", dump(call, "k"))
    for key in "kabc":
        same_filter(before, look(call, key), key)
        seen = stats(call, key)
        assert (seen["items"], seen["utilisation"], seen["state"]) == (15, b"3", b"full")
        assert info(call, key)["Number of items inserted"] == call("BF.CARD", key).plain == 15
        assert call("BF.DEBUG", key).plain[0] == b"size:15"
    held = server_info(call, "bf")
    assert (held["bf_items"], held["bf_full"]) == ("60", "4")
    assert call("BF.DEL", "k", *"abcde" * 2).plain == [1] * 10
    assert stats(call)["state"] == b"full", "it holds its capacity"
    assert call("BF.DEL", "k", "a").plain == [1]
    held = server_info(call, "bf")
    assert (held["bf_items"], held["bf_full"]) == ("49", "3")


@pytest.mark.parametrize("words", [("BF.ADD", "{item}"), ("BF.MADD", "{item}", "{item}1", "{item}2")], ids=lambda words: words[0])
def test_an_item_added_and_deleted_once_leaves_nothing_also_as_a_false_positive(call, words):
    """Of 400 absent items about 40 are false positives, with a sigma of 6: some are."""
    assert call("BF.RESERVE", "k", "0.1", 300, "LAYOUT", "COUNTING") == OK
    call("BF.MADD", "k", *names("kept", 290)).plain
    before, present = digest(call), 0
    for i in range(400):
        items = [word.format(item="n%d" % i) for word in words[1:]]
        answers = call(words[0], "k", *items).plain
        present += (answers if isinstance(answers, list) else [answers]).count(0)
        assert call("BF.DEL", "k", *items).plain == [1] * len(items)
        assert (call("BF.CARD", "k"), digest(call)) == (integer(290), before)
    assert present > 0


def test_deletions_are_in_info_bf(call):
    reserve(call)
    call("BF.MADD", "k", "a", "b", "c")
    call("BF.DEL", "k", "a", "x")
    held = server_info(call, "bf")
    assert (held["bf_filters"], held["bf_items"], held["bf_bytes"]) == ("1", "2", str(info(call, "k")["Size"]))


# ---- The stream and the events -------------------------------------------------------------------


def lines(stream):
    return [b" ".join(words).decode() for words in stream.take()]


CREATION = "BF.RESERVE k 0.001 1000 EXPANSION 0 LAYOUT COUNTING HASH XXH64"


def test_the_stream_has_what_changed_a_counter(call, stream):
    reserve(call)
    assert lines(stream) == [CREATION]
    call("BF.ADD", "k", "a")
    call("BF.ADD", "k", "a")
    assert lines(stream) == ["BF.ADD k a", "BF.ADD k a"]
    call("BF.MADD", "k", "a", "b", "a")
    assert lines(stream) == ["BF.MADD k a b a"]
    call("bf.del", "k", "x", "a", "y", "a", "b", "b")
    assert lines(stream) == ["BF.DEL k a a b"]
    call("BF.DEL", "k", "x", "y")
    call("BF.COUNT", "k", "a")
    assert lines(stream) == []
    call("BF.INSERT", "new", "layout", "counting", "EX", 10, "NOCREATE", "ITEMS", "a")
    assert lines(stream) == []
    call("BF.INSERT", "new", "layout", "counting", "ITEMS", "a", "a")
    assert lines(stream) == ["BF.INSERT new CAPACITY 100 ERROR 0.01 EXPANSION 0 LAYOUT COUNTING HASH XXH64 ITEMS a a"]


def test_deletions_in_scripts_and_transactions_are_propagated(call, stream):
    reserve(call)
    call("BF.MADD", "k", "a", "b", "c")
    lines(stream)
    for words in (("MULTI",), ("BF.DEL", "k", "a", "x"), ("BF.DEL", "k", "x")):
        call(*words).plain
    assert call("EXEC") == array(array(ONE, ZERO), array(ZERO))
    assert call("EVAL", "return redis.call('BF.DEL', KEYS[1], 'b', 'x')", 1, "k") == array(ONE, ZERO)
    seen = [line for line in lines(stream) if line.upper() not in ("MULTI", "EXEC")]
    assert seen == ["BF.DEL k a", "BF.DEL k b"]


def test_events_follow_what_changed(call, events):
    reserve(call)
    call("BF.MADD", "k", "a", "b")
    events()
    for words, expected in ((("BF.DEL", "k", "a", "x"), [("k", "bf.del")]), (("BF.DEL", "k", "x"), []),
                            (("BF.DEL", "missing", "a"), []), (("BF.COUNT", "k", "a"), []),
                            (("BF.ADD", "k", "b"), [("k", "bf.add")]), (("BF.DEL", "k", "b", "b", "b"), [("k", "bf.del")])):  # fmt: skip
        call(*words).plain
        assert events() == expected, words


def test_a_watched_key_is_changed_by_a_deletion_and_not_by_one_of_an_absent_item(server, call):
    reserve(call)
    call("BF.MADD", "k", "a", "b")
    other = server.connection().call
    for item, expected in (("x", [1]), ("a", None)):
        call("WATCH", "k")
        other("BF.DEL", "k", item).plain
        call("MULTI")
        call("BF.EXISTS", "k", "b")
        assert call("EXEC").plain == expected, item


# ---- Everything a filter goes through ------------------------------------------------------------


def fill(call, key="k"):
    """Counters of every value from 0 to 15."""
    source = random.Random(5)
    reserve(call, key, n=1500, p="0.01")
    for i in range(200):
        call("BF.MADD", key, *["item%d" % i] * source.choice([1, 1, 1, 2, 3, 20])).plain
    call("BF.DEL", key, *names("item", 40)).plain
    seen = b"".join(data for _, data in dump(call, key)[1:])
    assert {byte & 15 for byte in seen} >= {0, 1, 2, 3, 4, 15}


def test_dump_copy_and_chunks_give_the_same_counters(call):
    fill(call)
    before = look(call, "k")
    assert call("RESTORE", "a", 0, call("DUMP", "k").plain) == OK
    assert call("COPY", "k", "b") == ONE
    load(call, "c", dump(call, "k"))
    assert call("DEBUG", "RELOAD") == OK
    assert call("DEBUG", "LOADAOF") == OK
    for key in "kabc":
        same_filter(before, look(call, key), key)
        assert call("BF.DEL", key, "item100").plain == [1]
    assert len({digest(call, key) for key in "kabc"}) == 1


@pytest.mark.parametrize("way", ["aof", "rewritten", "preamble", "rdb"])
def test_counters_come_back_after_a_restart(new_server, way):
    config = {"appendonly": "no" if way == "rdb" else "yes", "auto-aof-rewrite-percentage": "0",
              "aof-use-rdb-preamble": "yes" if way == "preamble" else "no"}  # fmt: skip
    server = new_server(config=config)
    call = server.call
    fill(call)
    if way == "rdb":
        assert call("SAVE") == OK
    elif way != "aof":
        call("BGREWRITEAOF").plain
        until(lambda: server_info(call, "persistence")["aof_rewrite_in_progress"] == "0", "the rewrite is done")
        assert call("BF.DEL", "k", "item150").plain == [1]
    before = look(call, "k")
    server.restart()
    same_filter(before, look(server.call, "k"))


def test_a_replica_has_the_same_counters(new_server):
    master, replica = new_server(config=QUIET, tcp=True), new_server(config=QUIET, tcp=True)
    fill(master.call, "before")
    follow(replica, master)
    fill(master.call)
    for words in (("BF.MERGE", "m", "k", "before"), ("BF.MERGE", "m", "m", "k", "k"), ("BF.INTERSTORE", "i", "k", "before"),
                  ("BF.DEL", "m", "item50", "item60", "absent"), ("COPY", "m", "c"), ("BF.CLEAR", "c"), ("BF.ADD", "c", "x")):  # fmt: skip
        master.call(*words).plain
        until_in_sync(replica, master)
        for key in master.call("KEYS", "*").plain:
            same_filter(look(master.call, key), look(replica.call, key), str(key))
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    assert replica.call("BF.DEL", "k", "item100").plain == [1]


def test_clear_makes_a_counting_filter_as_it_was_when_it_was_new(call):
    fill(call)
    reserve(call, "fresh", n=1500, p="0.01")
    assert call("BF.CLEAR", "k") == OK
    assert digest(call) == digest(call, "fresh")


# ---- BF.EXPORT -----------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["portable", "sstable"])
@pytest.mark.parametrize("options", [("0.01", 700), ("BITSPERKEY", "9.6", 333), ("0.001", 77, "HASH", "FNV1A")], ids=str)
def test_an_export_is_that_of_the_classic_filter_of_the_same_items(call, format_, options):
    assert call("BF.RESERVE", "counting", *options, "LAYOUT", "COUNTING") == OK
    assert call("BF.RESERVE", "classic", *options, "NONSCALING") == OK
    items = names("a", 70)
    call("BF.MADD", "counting", *items, *names("gone", 5), *items[:30])
    call("BF.DEL", "counting", *names("gone", 5), *items[:10])
    call("BF.MADD", "classic", *items)
    exports = [call("BF.EXPORT", key, "FORMAT", format_).plain for key in ("counting", "classic")]
    assert exports[0] == exports[1]


@pytest.mark.parametrize("format_", ["leveldb", "parquet", "redisbloom"])
def test_formats_that_cannot_carry_it_are_refused_as_for_a_classic_filter(call, format_):
    reserve(call)
    assert call("BF.RESERVE", "classic", "0.001", 1000, "NONSCALING") == OK
    text = call("BF.EXPORT", "classic", "FORMAT", format_).value
    assert text.startswith("ERR cannot export: ")
    assert_refused(call, text, "BF.EXPORT", "k", "FORMAT", format_)


# ---- BF.MERGE and BF.INTERSTORE ------------------------------------------------------------------


def counted(call, key, **counts):
    reserve(call, key)
    for item, count in counts.items():
        call("BF.MADD", key, *[item] * count).plain


def counts_of(call, key, items="abcd"):
    return [call("BF.COUNT", key, item).plain for item in items]


def test_a_merge_adds_counters_up_to_15(call):
    counted(call, "x", a=2, b=9, c=15)
    counted(call, "y", a=3, b=9, d=1)
    assert call("BF.MERGE", "z", "x", "y") == OK
    assert counts_of(call, "z") == [5, 15, 15, 1]
    assert call("BF.MERGE", "x", "y") == OK
    assert counts_of(call, "x") == [5, 15, 15, 1]
    assert stats(call, "z")["items are estimated"] in (1, True)
    assert call("BF.CARD", "z").plain == 4


@pytest.mark.parametrize("sources, expected", [
    (("x",), [2, 1, 0, 0]), (("x", "x"), [2, 1, 0, 0]), (("x", "y", "x", "y", "y"), [5, 1, 1, 0]),
])  # fmt: skip
def test_a_repeated_source_counts_once(call, sources, expected):
    counted(call, "x", a=2, b=1)
    counted(call, "y", a=3, c=1)
    assert call("BF.MERGE", "new", *sources) == OK
    assert counts_of(call, "new") == expected
    reserve(call, "dest")
    assert call("BF.MERGE", "dest", *sources) == OK
    assert counts_of(call, "dest") == expected


def test_dest_among_the_sources_counts_once(call, stream):
    counted(call, "x", a=2, b=1)
    counted(call, "y", a=3)
    lines(stream)
    assert unchanged(call, "x", "BF.MERGE", "x", "x") == OK
    assert unchanged(call, "x", "BF.MERGE", "x", "x", "missing", "x") == OK
    assert lines(stream) == []
    assert call("BF.MERGE", "x", "x", "y", "x") == OK
    assert counts_of(call, "x") == [5, 1, 0, 0]
    assert lines(stream) == ["BF.MERGE x x y x"]


def test_what_was_merged_can_be_deleted(call):
    counted(call, "x", a=2)
    counted(call, "y", a=1, b=1)
    assert call("BF.MERGE", "x", "y") == OK
    assert call("BF.DEL", "x", "a", "a", "a", "a", "b", "b").plain == [1, 1, 1, 0, 1, 0]
    assert call("BF.CARD", "x") == ZERO


def test_interstore_takes_the_smaller_counter(call):
    counted(call, "x", a=2, b=9, c=15)
    counted(call, "y", a=3, b=4, d=1)
    assert call("BF.INTERSTORE", "z", "x", "y") == OK
    assert counts_of(call, "z") == [2, 4, 0, 0]
    assert call("BF.INTERSTORE", "x", "x", "x") == OK
    assert counts_of(call, "x") == [2, 9, 15, 0]


def test_counting_filters_merge_with_no_other_layout(call):
    reserve(call)
    assert call("BF.RESERVE", "classic", "0.001", 1000, "NONSCALING") == OK
    assert_refused(call, "ERR cannot merge source 1: its layout is CLASSIC and not COUNTING", "BF.MERGE", "k", "classic")
    assert_refused(call, "ERR cannot merge source 1: its layout is COUNTING and not CLASSIC", "BF.MERGE", "classic", "k")
    assert_refused(call, "ERR cannot intersect source 2: its layout is COUNTING and not CLASSIC", "BF.INTERSTORE", "new", "classic", "k")
