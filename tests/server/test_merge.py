"""BF.MERGE, BF.INTERSTORE and BF.CLEAR: bits, counts, errors, propagation."""

import random

import pytest

from checks import (
    LOADING,
    NO_MEMORY,
    WRONGTYPE,
    look_up_all,
    assert_refused,
    bits_of,
    changes,
    dump,
    filter_state,
    info,
    layers_of,
    load,
    settings,
)
from filters import HUNDRED_MB, QUIET, Stream, follow, load_random, look, same_filter, server_info, until_in_sync
from formats_model import LevelDb, RedisBloom, redisbloom_fixtures
from resp import OK, ONE, ZERO, array, bulk, error, integer

SERVER_CONFIG = Stream.CONFIG
NOT_FOUND = "ERR not found"

ITEMS = ["item%d" % i for i in range(600)]
ABSENT = ["absent%d" % i for i in range(300)]

# An empty filter of every geometry, one layer each, with room for ITEMS but for `packed` and `small`
RESERVED = {
    "classic": ("0.01", "700", "NONSCALING"),
    "blocked": ("0.01", "700", "NONSCALING", "LAYOUT", "BLOCKED"),
    "fnv1a": ("0.01", "700", "NONSCALING", "HASH", "FNV1A"),
    "bits": ("BITSPERKEY", "7.3", "701", "EXPANSION", "4"),
    "packed": ("0.01", "600", "EXPANSION", "2"),
}
IMPORTED = {
    "murmur": ("redisbloom", RedisBloom(0.01, 700, is_scaling=False).data),
    "leveldb": ("leveldb", LevelDb(901, 6).data),
}
SHAPES = [*RESERVED, *IMPORTED]


def make(call, key, shape, items=()):
    if shape in RESERVED:
        assert call("BF.RESERVE", key, *RESERVED[shape]) == OK
    else:
        name, data = IMPORTED[shape]
        own = () if name == "redisbloom" else ("CAPACITY", "700")
        assert call("BF.IMPORT", key, "FORMAT", name, *own, "DATA", data) == OK
    if items:
        call("BF.MADD", key, *items).plain


def chain(call, key, items, layout="CLASSIC"):
    """A scaling filter, of as many layers as the items need."""
    assert call("BF.RESERVE", key, "0.01", "20", "EXPANSION", "2", "LAYOUT", layout) == OK
    call("BF.MADD", key, *items).plain
    return info(call, key)["Number of filters"]


def some(source, share):
    return [item for item in ITEMS if source.random() < share]


# Union


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_merge_is_bit_by_bit_the_filter_of_the_union(call, shape, seed):
    source = random.Random(seed)
    a, b = some(source, source.random()), some(source, source.random())
    make(call, "a", shape, a)
    make(call, "b", shape, b)
    make(call, "union", shape, set(a) | set(b))
    assert call("BF.MERGE", "new", "a", "b") == OK
    assert call("BF.MERGE", "a", "b") == OK
    for key in ("new", "a"):
        assert look_up_all(call, key, a + b) == [1] * len(a + b)
        assert bits_of(call, key) == bits_of(call, "union")
        assert look_up_all(call, key, ABSENT) == look_up_all(call, "union", ABSENT)
        assert info(call, key)["Capacity"] == info(call, "union")["Capacity"]
        assert info(call, key)["Expansion rate"] == info(call, "union")["Expansion rate"]


@pytest.mark.parametrize("shape", SHAPES)
def test_merge_of_many_with_dest_among_the_sources_and_a_source_twice(call, shape):
    parts = [ITEMS[i::5] for i in range(5)]
    for i, part in enumerate(parts):
        make(call, "part%d" % i, shape, part)
    make(call, "union", shape, ITEMS)
    assert call("BF.MERGE", "part2", "part0", "part1", "part2", "part3", "part4", "part1") == OK
    assert bits_of(call, "part2") == bits_of(call, "union")
    for i in (0, 1, 3, 4):
        make(call, "fresh", shape, parts[i])
        assert bits_of(call, "part%d" % i) == bits_of(call, "fresh")  # sources are as they were
        call("DEL", "fresh")


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED"])
def test_chains_of_unequal_length_merge_either_way(call, layout):
    layers = {key: chain(call, key, ITEMS[at:to], layout)
              for key, at, to in [("short", 0, 30), ("long", 20, 500), ("longer", 400, 600)]}
    assert len(set(layers.values())) > 1
    assert call("COPY", "short", "into-short") == call("COPY", "long", "into-long") == ONE
    for words in (("new", "short", "long", "longer"), ("into-short", "long", "longer"), ("into-long", "longer", "short")):
        assert call("BF.MERGE", *words) == OK
        assert look_up_all(call, words[0], ITEMS) == [1] * 600
        assert info(call, words[0])["Number of filters"] == max(layers.values())
    assert bits_of(call, "new") == bits_of(call, "into-short") == bits_of(call, "into-long")
    assert call("BF.ADD", "new", "one more") == ONE  # and it goes on growing
    assert set(call("BF.MADD", "new", *ABSENT).plain) <= {0, 1}
    assert look_up_all(call, "new", ITEMS + ABSENT) == [1] * 900


def test_dest_keeps_its_own_parameters_and_a_new_one_has_those_of_the_first_source(call):
    """Equal m and k, all else different."""
    words = ("BITSPERKEY", "9.6", "700")
    call("BF.RESERVE", "a", *words, "EXPANSION", "4")
    call("BF.RESERVE", "b", *words, "NONSCALING")
    portable = call("BF.EXPORT", "a").plain
    assert call("BF.IMPORT", "c", "FORMAT", "portable", "CAPACITY", "50", "DATA", portable) == OK
    for key in "abc":
        call("BF.ADD", key, key)
    for dest, capacity, expansion in (("a", 700, 4), ("b", 700, None), ("c", 50, None)):
        assert call("BF.MERGE", "new", dest, "a", "b", "c") == call("BF.MERGE", dest, "a", "b", "c") == OK
        for key in (dest, "new"):
            seen = info(call, key)
            assert (seen["Capacity"], seen["Expansion rate"]) == (capacity, expansion)
            assert look_up_all(call, key, "abc") == [1, 1, 1]
        call("DEL", "new")


def test_card_is_the_estimate_after_a_merge(call):
    make(call, "a", "classic", ITEMS[:400])
    make(call, "b", "classic", ITEMS[200:])
    call("BF.MERGE", "a", "b")
    assert 570 < call("BF.CARD", "a").value < 630  # sigma is about 5, see test_statistics.py


def test_merge_that_adds_no_bit_changes_nothing_not_even_the_count(call):
    make(call, "a", "classic", ITEMS)
    make(call, "part", "classic", ITEMS[::2])
    make(call, "empty", "classic")
    before = filter_state(call, "a")
    for words in (("a",), ("part",), ("empty",), ("missing",), ("a", "part", "missing")):
        assert call("BF.MERGE", "a", *words) == OK
        assert filter_state(call, "a") == before


def test_a_missing_source_counts_as_empty(call):
    make(call, "a", "classic", ITEMS[:100])
    make(call, "b", "classic", ITEMS[100:200])
    assert call("BF.MERGE", "new", "missing1", "a", "missing2", "b") == OK
    assert look_up_all(call, "new", ITEMS[:200]) == [1] * 200
    assert call("EXISTS", "missing1", "missing2") == ZERO


def test_merge_where_nothing_exists_is_an_error(call):
    assert_refused(call, NOT_FOUND, "BF.MERGE", "new", "missing", "missing")
    assert_refused(call, NOT_FOUND, "BF.MERGE", "new", "new")


def test_a_merge_of_empty_filters_is_an_empty_filter(call):
    make(call, "a", "packed")
    assert call("BF.MERGE", "new", "a", "a") == OK
    assert filter_state(call, "new") == filter_state(call, "a")


def test_merge_keeps_the_ttl_of_dest_and_gives_a_new_one_none(call):
    for key, items in (("a", ITEMS[:10]), ("b", ITEMS[10:20])):
        make(call, key, "packed", items)
        call("EXPIRE", key, 1000)
    assert call("BF.MERGE", "a", "b") == call("BF.MERGE", "new", "b") == OK
    assert 900 < call("TTL", "a").value <= 1000
    assert call("TTL", "new") == integer(-1)


# Intersection


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_interstore_holds_all_common_items_and_is_the_bitwise_and(call, shape, seed):
    source = random.Random(seed)
    sets = [some(source, 0.3 + 0.6 * source.random()) for _ in range(3)]
    for name, items in zip("abc", sets):
        make(call, name, shape, items)
    bits = [bits_of(call, name)[0] for name in "abc"]
    expected = bytes(x & y & z for x, y, z in zip(*bits))
    common = [item for item in ITEMS if all(item in items for items in sets)]
    for dest in ("new", "a"):
        assert call("BF.INTERSTORE", dest, "a", "b", "c") == OK
        assert look_up_all(call, dest, common) == [1] * len(common)
        assert bits_of(call, dest) == [expected]
        flat = call("BF.STATS", dest).plain
        seen = dict(zip(flat[::2], flat[1::2]))
        assert abs(seen["items"] - seen["estimated items"]) <= 1 and seen["items are estimated"] == 1
        assert seen["items"] <= call("BF.CARD", "b").value
    assert bits_of(call, "b") == [bits[1]]


def test_interstore_replaces_dest_with_its_ttl_and_parameters(call):
    make(call, "a", "classic", ITEMS[:50])
    chain(call, "dest", ITEMS)
    call("EXPIRE", "dest", 1000)
    assert call("BF.INTERSTORE", "dest", "a") == OK
    assert call("TTL", "dest") == integer(-1)
    assert bits_of(call, "dest") == bits_of(call, "a")
    assert info(call, "dest")["Capacity"] == 700


def test_interstore_with_a_missing_source_deletes_dest(call):
    make(call, "a", "classic", ITEMS)
    make(call, "dest", "bits", ITEMS)
    assert call("BF.INTERSTORE", "dest", "a", "missing") == OK
    assert call("EXISTS", "dest") == ZERO
    assert call("BF.INTERSTORE", "dest", "missing") == OK
    assert call("EXISTS", "dest") == ZERO
    assert call("BF.INTERSTORE", "a", "a", "missing") == OK
    assert call("DBSIZE") == ZERO


def test_interstore_refuses_chains(call):
    make(call, "a", "bits", ITEMS[:10])
    layers = chain(call, "long", ITEMS)
    text = "ERR cannot intersect source %d: it has %d layers, and a common item may be in any of them"
    assert_refused(call, text % (2, layers), "BF.INTERSTORE", "a", "a", "long")
    assert_refused(call, text % (1, layers), "BF.INTERSTORE", "new", "long", "missing")


# Clear


@pytest.mark.parametrize("shape", SHAPES)
def test_clear_leaves_what_was_reserved_and_the_ttl(call, shape):
    make(call, "fresh", shape)
    make(call, "k", shape, ITEMS)
    call("EXPIRE", "k", 1000)
    assert call("BF.CLEAR", "k") == OK
    assert look_up_all(call, "k", ITEMS + ABSENT) == [0] * 900
    assert 900 < call("TTL", "k").value <= 1000
    call("PERSIST", "k")  # the digest has the TTL in it
    if shape != "leveldb":  # fresh from an import it says that its count is an estimate
        assert filter_state(call, "k") == filter_state(call, "fresh")
    assert bits_of(call, "k") == bits_of(call, "fresh")
    assert call("BF.CARD", "k") == ZERO
    make(call, "other", shape, ITEMS[:100])  # and it is used again as a fresh one is
    call("BF.MADD", "k", *ITEMS[:100])
    assert bits_of(call, "k") == bits_of(call, "other")


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED"])
def test_clear_of_a_chain_leaves_its_first_layer(call, layout):
    chain(call, "fresh", ["a"], layout)
    call("DEL", "fresh")
    assert call("BF.RESERVE", "fresh", "0.01", "20", "EXPANSION", "2", "LAYOUT", layout) == OK
    assert chain(call, "k", ITEMS, layout) > 3
    assert call("BF.CLEAR", "k") == OK
    assert filter_state(call, "k") == filter_state(call, "fresh")


def test_clear_makes_the_count_exact_again(call):
    make(call, "a", "packed", ITEMS[:100])
    make(call, "b", "packed", ITEMS[100:200])
    make(call, "fresh", "packed", ITEMS[:5])
    assert call("BF.MERGE", "a", "b") == call("BF.CLEAR", "a") == OK
    call("BF.MADD", "a", *ITEMS[:5])
    assert filter_state(call, "a") == filter_state(call, "fresh")


def test_clear_gives_the_memory_of_a_large_filter_back(server, call):
    load_random(call, "k", HUNDRED_MB)
    before = server.rss()
    assert call("BF.CLEAR", "k") == OK
    assert server.rss() < before - 0.9 * HUNDRED_MB
    assert info(call, "k")["Size"] > HUNDRED_MB
    assert look_up_all(call, "k", ITEMS) == [0] * 600


def test_clear_of_a_missing_key_is_an_error(call):
    assert_refused(call, NOT_FOUND, "BF.CLEAR", "missing")


# Refused as a whole


DIFFERENCES = {
    "hash": (("0.01", "700", "NONSCALING", "HASH", "FNV1A"), "its hash is FNV1A and not XXH64"),
    "layout": (("0.01", "700", "NONSCALING", "LAYOUT", "BLOCKED"), "its layout is BLOCKED and not CLASSIC"),
    "bits": (("BITSPERKEY", "10", "701", "NONSCALING"), "its layer 1 has 7010 bits and not 7000"),
    "hashes": (("BITSPERKEY", "20", "350", "NONSCALING"), "its layer 1 has 14 hashes and not 7"),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("command, verb", [("BF.MERGE", "merge"), ("BF.INTERSTORE", "intersect")])
def test_the_first_difference_is_named_and_nothing_changes(call, command, verb, difference):
    other, text = DIFFERENCES[difference]
    for key in ("dest", "a"):
        call("BF.RESERVE", key, "BITSPERKEY", "10", "700", "NONSCALING")
    call("BF.MADD", "a", *ITEMS[:100])
    call("BF.RESERVE", "other", *other)
    call("BF.MADD", "other", *ITEMS[100:200])
    assert_refused(call, "ERR cannot %s source 3: %s" % (verb, text), command, "dest", "a", "missing", "other", "a")
    assert_refused(call, "ERR cannot %s source 2: %s" % (verb, text), command, "new", "a", "other")
    if command == "BF.MERGE":
        assert_refused(call, "ERR cannot merge source 1: %s" % text, command, "dest", "other")


def test_a_difference_in_a_later_layer_is_named_also_between_two_sources(call):
    call("BF.RESERVE", "short", "0.01", "20", "EXPANSION", "2")
    chain(call, "long", ITEMS[:50])
    call("BF.RESERVE", "other", "0.01", "20", "EXPANSION", "3")
    call("BF.MADD", "other", *ITEMS[:50])
    bits = [layers_of(call, key)[1].bits for key in ("other", "long")]
    text = "ERR cannot merge source 2: its layer 2 has %d bits and not %d" % tuple(bits)
    assert_refused(call, text, "BF.MERGE", "short", "long", "other")


@pytest.mark.parametrize("words", [("BF.MERGE", "dest", "a", "k"), ("BF.MERGE", "k", "a"),
                                   ("BF.INTERSTORE", "dest", "a", "k"), ("BF.INTERSTORE", "dest", "missing", "k"),
                                   ("BF.INTERSTORE", "k", "a"), ("BF.CLEAR", "k")], ids=" ".join)  # fmt: skip
def test_another_type_and_a_half_loaded_filter_are_refused_wherever_they_stand(call, words):
    for key in ("dest", "a"):
        make(call, key, "classic", ITEMS[:9])
    pieces = dump(call, "a")
    call("SET", "k", "v")
    assert_refused(call, WRONGTYPE, *words)
    call("DEL", "k")
    load(call, "k", pieces[:1])
    assert_refused(call, LOADING, *words)


def test_over_max_bytes_a_merge_is_refused_and_changes_nothing(call):
    assert settings(call)["bf.max-bytes"] == "0"
    chain(call, "long", ITEMS)
    call("BF.RESERVE", "dest", "0.01", "20", "EXPANSION", "2")
    make(call, "one", "classic", ITEMS)
    limit = info(call, "long")["Size"]
    try:
        assert call("CONFIG", "SET", "bf.max-bytes", limit - 1) == OK
        assert_refused(call, NO_MEMORY, "BF.MERGE", "dest", "long")
        assert_refused(call, NO_MEMORY, "BF.MERGE", "new", "long")
        assert call("CONFIG", "SET", "bf.max-bytes", "100") == OK
        assert_refused(call, NO_MEMORY, "BF.INTERSTORE", "new", "one")
        call("BF.CLEAR", "long")
        assert call("CONFIG", "SET", "bf.max-bytes", limit) == OK
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


def test_over_maxmemory_merges_are_refused_and_clear_is_not(call):
    make(call, "a", "classic", ITEMS)
    try:
        assert call("CONFIG", "SET", "maxmemory", "1") == OK
        for name in ("BF.MERGE", "BF.INTERSTORE"):
            assert call(name, "new", "a").value.startswith("OOM ")
        assert call("BF.CLEAR", "a") == OK
    finally:
        call("CONFIG", "SET", "maxmemory", "0")
    assert call("BF.CARD", "a") == ZERO


def test_capacities_that_no_integer_can_say_are_refused(call):
    chain(call, "long", ITEMS)
    m, k = layers_of(call, "long")[0].bits, layers_of(call, "long")[0].hashes
    empty = k.to_bytes(4, "little") + m.to_bytes(8, "little") + bytes((m + 7) // 8)
    assert call("BF.IMPORT", "k", "FORMAT", "portable", "CAPACITY", 2**63 - 1, "DATA", empty) == OK
    text = (
        "ERR cannot merge: dest cannot have the layers of a longer source (capacity over 2^63-1, or "
        "only one of them is another program's)"
    )
    assert_refused(call, text, "BF.MERGE", "k", "long")


# RedisBloom's own keys


def test_redisblooms_keys_are_merged_intersected_and_cleared_as_such(call):
    for _, data in redisbloom_fixtures().values():
        call("FLUSHALL")
        parts = [(1, data[:at]) for at in [20 + 53 * int.from_bytes(data[8:12], "little")]]
        assert call("BF.LOADCHUNK", "old", *parts[0]) == OK
        assert call("TYPE", "old").value == "MBbloom--"
        assert call("COPY", "old", "other") == ONE
        call("BF.ADD", "other", "new item")
        assert call("BF.MERGE", "old", "other") == call("BF.MERGE", "new", "old") == OK
        for merged in ("old", "new"):
            assert call("BF.EXISTS", merged, "new item") == ONE
            assert call("TYPE", merged).value == "MBbloom--"
        before = looks(call)
        assert call("DEBUG", "RELOAD") == OK
        assert_same(before, looks(call))
        assert call("BF.CLEAR", "old") == OK
        assert call("BF.CARD", "old") == call("BF.EXISTS", "old", "new item") == ZERO
        assert call("BF.INTERSTORE", "common", "old", "old") == OK
        assert int(server_info(call, "bf")["bf_filters"]) == call("DBSIZE").value


# Saved, propagated, announced


def combine_all(call):
    """Every command and way, on keys a to h."""
    make(call, "a", "packed", ITEMS[:200])
    make(call, "b", "packed", ITEMS[100:300])
    make(call, "c", "blocked", ITEMS[:100])
    make(call, "d", "blocked", ITEMS[50:150])
    chain(call, "e", ITEMS[:30])
    chain(call, "f", ITEMS[30:])
    for words in (("BF.MERGE", "new", "a", "b"), ("BF.MERGE", "b", "a"), ("BF.INTERSTORE", "common", "c", "d"),
                  ("BF.MERGE", "e", "f"), ("BF.INTERSTORE", "c", "d", "c"), ("BF.CLEAR", "d"),
                  ("BF.MERGE", "overfull", "new", "b")):  # fmt: skip
        assert call(*words) == OK
    make(call, "overfull2", "leveldb", ITEMS)
    make(call, "more", "leveldb", ["more%d" % i for i in range(650)])
    assert call("BF.MERGE", "overfull2", "more") == OK  # far more items than its capacity


def looks(call):
    return {key: look(call, key) for key in call("KEYS", "*").plain}


def assert_same(before, after):
    assert before.keys() == after.keys()
    for key in before:
        same_filter(before[key], after[key], key)


def test_combined_filters_are_saved_and_dumped_as_they_are(call):
    combine_all(call)
    before = looks(call)
    assert call("DEBUG", "RELOAD") == OK
    assert_same(before, looks(call))
    for key in before:
        assert call("RESTORE", "copy", 0, call("DUMP", key).plain, "REPLACE") == OK
        same_filter(before[key], look(call, "copy"))
    call("DEL", "copy")
    call("BGREWRITEAOF")
    assert call("DEBUG", "LOADAOF") == OK
    assert_same(before, looks(call))


def test_stream_replayed_gives_the_same_filters(call, stream):
    combine_all(call)
    before = looks(call)
    replay = stream.take()
    assert call("FLUSHALL") == OK
    call("CONFIG", "SET", "bf.max-bytes", "0")
    for command in replay:
        call(*command).plain
    assert_same(before, looks(call))


NOTHING = [
    ("BF.MERGE", "a", "a"), ("BF.MERGE", "a", "part", "missing"), ("BF.MERGE", "missing", "missing"),
    ("BF.MERGE", "a", "other"), ("BF.INTERSTORE", "missing", "missing", "a"), ("BF.INTERSTORE", "a", "a", "other"),
    ("BF.CLEAR", "empty"), ("BF.CLEAR", "missing"),
]  # fmt: skip


@pytest.mark.parametrize("words", NOTHING, ids=" ".join)
def test_what_changes_nothing_is_neither_propagated_nor_announced(call, stream, events, words):
    make(call, "a", "classic", ITEMS)
    make(call, "part", "classic", ITEMS[:9])
    make(call, "other", "bits", ITEMS)
    make(call, "empty", "classic")
    stream.take(), events()
    before = changes(call)
    call(*words)
    assert (stream.take(), events(), changes(call)) == ([], [], before)


@pytest.mark.parametrize(
    "words, event",
    [
        (("BF.MERGE", "a", "b"), "bf.merge"),
        (("BF.MERGE", "new", "a", "b"), "bf.merge"),
        (("BF.INTERSTORE", "new", "a", "b"), "bf.interstore"),
        (("BF.INTERSTORE", "a", "a", "b"), "bf.interstore"),
        (("BF.INTERSTORE", "a", "b", "missing"), "del"),
        (("BF.CLEAR", "a"), "bf.clear"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_each_command_is_propagated_and_announced_once(server, call, stream, events, words, event):
    make(call, "a", "classic", ITEMS[:9])
    make(call, "b", "classic", ITEMS[9:20])
    watcher = server.connection()
    watcher.call("WATCH", words[1])
    watcher.call("MULTI")
    watcher.call("PING")
    stream.take(), events()
    assert call(*words) == OK
    assert stream.take() == [[word.encode() for word in words]]
    assert [pair for pair in events() if pair[1] != "new"] == [(words[1], event)]
    assert watcher.call("EXEC").value is None  # the watcher is notified


def test_master_and_replica_are_equal_whatever_the_replicas_limits(new_server):
    master = new_server(tcp=True, config=QUIET)
    replica = new_server(config=QUIET, module_args=["max-bytes", "200"])
    follow(replica, master)
    combine_all(master.call)
    # a source that has expired, which the master finds out by the merge itself
    master.call("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    make(master.call, "gone", "classic", ITEMS)
    make(master.call, "left", "classic", ITEMS[:5])
    master.call("PEXPIRE", "gone", 1)
    master.call("DEBUG", "SLEEP", "0.01")
    assert master.call("BF.MERGE", "rest", "left", "gone") == OK
    assert master.call("BF.INTERSTORE", "left", "left", "gone") == OK
    until_in_sync(replica, master)
    assert master.call("EXISTS", "rest", "left", "gone") == ONE
    assert master.call("DEBUG", "DIGEST") == replica.call("DEBUG", "DIGEST")
    assert_same(looks(master.call), looks(replica.call))


# Key specifications


@pytest.mark.parametrize("name", ["BF.MERGE", "BF.INTERSTORE"])
def test_all_words_are_keys_dest_written_and_sources_read(call, name):
    assert call("COMMAND", "GETKEYS", name, "d", "a", "b") == array(bulk("d"), bulk("a"), bulk("b"))
    seen = call("COMMAND", "GETKEYSANDFLAGS", name, "d", "a", "b").plain
    assert ["RW" in flags or "OW" in flags for _, flags in seen] == [True, False, False]
    assert all("RO" in flags for _, flags in seen[1:])
    call("ACL", "SETUSER", "u", "on", "nopass", "resetkeys", "%RW~d*", "%R~s*", "+@all")
    assert call("ACL", "DRYRUN", "u", name, "d", "s1", "s2") == OK
    assert call("ACL", "DRYRUN", "u", name, "s1", "d") != OK
    assert call("ACL", "DRYRUN", "u", name, "d", "s1", "x") != OK
    # what dest held shows in a merge, and not in an intersection
    call("ACL", "SETUSER", "u", "resetkeys", "%W~d*", "%R~s*")
    assert (call("ACL", "DRYRUN", "u", name, "d", "s1") == OK) == (name == "BF.INTERSTORE")


def test_in_a_cluster_all_keys_must_be_of_one_slot(new_server):
    call = new_server(tcp=True, config={"cluster-enabled": "yes"}).connection().call
    assert call("CLUSTER", "ADDSLOTSRANGE", 0, 16383) == OK
    make_sure = ("BF.RESERVE", "{t}a", "0.01", "100")
    while call(*make_sure).value.startswith("CLUSTERDOWN"):
        pass
    for name in ("BF.MERGE", "BF.INTERSTORE"):
        assert call(name, "{t}new", "{t}a", "b") == error("CROSSSLOT Keys in request don't hash to the same slot")
        assert call(name, "{t}new", "{t}a") == OK
