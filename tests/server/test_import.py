"""BF.IMPORT: the contract's section 4. What the bytes mean comes from formats_model.py.

The rules of the words and of the payload come first, then the same for what is wrong, then that an
imported filter is a filter like any other.
"""

import math
import os
import random
import struct

import pytest

from checks import (
    CHUNK_LIMIT,
    FULL,
    NO_MEMORY,
    WRONGTYPE,
    add_all,
    arity_error,
    ask_all,
    assert_refused,
    bits_of,
    changes,
    dump,
    filter_state,
    info,
    keyspace,
    layers_of,
    load,
)
from filters import QUIET, Stream, follow, look, same_filter, until_in_sync
from formats_model import (
    REDISBLOOM_FIXED,
    REDISBLOOM_LAYER,
    LevelDb,
    Parquet,
    Plain,
    RedisBloom,
    estimate,
    ones,
    parquet_header,
    redisbloom_fixtures,
)
from resp import OK, ONE, ZERO, Connection, bulk, error, integer

EXISTS = "ERR item exists"
BAD_FORMAT = "ERR bad format"
BAD_HASH = "ERR bad hash"
REPEATED = "ERR repeated option"
UNKNOWN = "ERR Unknown argument received"
FORMATS = ["portable", "sstable", "leveldb", "parquet", "redisbloom"]
SINGLE = FORMATS[:4]

ITEMS = [b"item:%d" % i for i in range(60)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(940)]


def payload(name, items=()):
    """A small filter of `items`, and the model that answers for it. 600 bits and 6 hashes, about."""
    if name == "parquet":
        model = Parquet(96, items)
        return model.data, model
    if name == "leveldb":
        model = LevelDb(75, 6, items)
        return model.data, model
    if name == "redisbloom":
        model = RedisBloom(0.02, 60)
        for item in items:
            model.add(item)
        return model.data, model
    model = Plain(601, 6, "XXH64", items)
    return (model.portable if name == "portable" else model.sstable(10)), model


def import_(call, key, name, data, *words):
    return call("BF.IMPORT", key, "FORMAT", name, *words, "DATA", data)


def assert_bad_data(call, name, data, field=None, key="k"):
    """Refused with an error that names a field; nothing changed."""
    before = keyspace(call, key)
    reply = import_(call, key, name, data)
    assert reply.is_error and reply.value.startswith("ERR bad data: "), reply
    assert len(reply.value) > len("ERR bad data: "), "which field?"
    if field is not None:
        assert field in reply.value
    assert keyspace(call, key) == before
    assert call("PING").plain == "PONG"


# ---- What arrives ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_answer_is_the_models_false_positives_included(call, name):
    data, model = payload(name, ITEMS)
    assert import_(call, "k", name, data) == OK
    expected = [model.contains(item) for item in PROBES]
    assert sum(expected[60:]) > 0, "no false positive to compare"
    assert ask_all(call, "k", PROBES) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_adding_sets_the_models_bits_and_exports_them(call, name):
    data, model = payload(name)
    words = () if name == "redisbloom" else ("CAPACITY", "1000")
    assert import_(call, "k", name, data, *words) == OK
    for item in ITEMS:
        assert call("BF.ADD", "k", item) == integer(1 - model.contains(item))
        model.add(item)
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    if name == "redisbloom":
        assert call("BF.EXPORT", "k", "FORMAT", name) == bulk(model.data)
    else:
        assert bits_of(call, "k") == [bytes(model.bits)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("items", [(), ITEMS[:1], ITEMS], ids=len)
def test_what_was_imported_is_exported_byte_for_byte(call, name, items):
    data, _ = payload(name, items)
    words = ("CAPACITY", "60") if name == "sstable" else ()  # 601 bits of 60: 10 bits per key
    assert import_(call, "k", name, data, *words) == OK
    assert call("BF.EXPORT", "k", "FORMAT", name) == bulk(data)


def test_the_fnv1a_vector_of_the_teaching_lab(call):
    data = struct.pack("<IQ", 4, 25) + bytes.fromhex("26827f01")
    assert import_(call, "k", "portable", data, "HASH", "FNV1A") == OK
    assert call("BF.MEXISTS", "k", "key0", "key1", "key2", "key3").plain == [1] * 4
    model = Plain(25, 4, "FNV1A", [b"key%d" % i for i in range(4)])
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k") == bulk(data)


LEVELDB_VECTORS = {
    "114000414410401006": [b"hello", b"world"],
    "3a16785c0477c434680a18e40040393be12025c813234247e406": [b"key%d" % i for i in range(20)],
}


@pytest.mark.parametrize("data", LEVELDB_VECTORS)
def test_the_leveldb_vectors(call, data):
    items = LEVELDB_VECTORS[data]
    assert import_(call, "k", "leveldb", bytes.fromhex(data)) == OK
    assert call("BF.MEXISTS", "k", *items).plain == [1] * len(items)
    empty = bytes(len(data) // 2 - 1) + b"\x06"
    assert import_(call, "k2", "leveldb", empty, "CAPACITY", "100") == OK
    add_all(call, "k2", items)
    assert call("BF.EXPORT", "k2", "FORMAT", "leveldb") == bulk(bytes.fromhex(data))


@pytest.mark.parametrize("scheme", ["XXH64", "FNV1A"])
@pytest.mark.parametrize("name", ["portable", "sstable"])
def test_hash_names_the_scheme_and_xxh64_is_the_default(call, name, scheme):
    model = Plain(601, 6, scheme, ITEMS)
    data = model.portable if name == "portable" else model.sstable(10)
    assert import_(call, "k", name, data, "HASH", scheme.lower()) == OK
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert import_(call, "k2", name, data) == OK
    same = [call("BF.EXISTS", "k2", item).plain for item in ITEMS] == [1] * 60
    assert same == (scheme == "XXH64")


@pytest.mark.parametrize("m, k", [(1, 1), (7, 3), (8, 255), (9, 1), (64, 30), (4096, 31), (12345, 255)])
@pytest.mark.parametrize("name", ["portable", "sstable"])
def test_any_m_and_k_from_1_to_255(call, name, m, k):
    model = Plain(m, k, "XXH64", ITEMS[:1])
    data = model.portable if name == "portable" else model.sstable(1)
    assert import_(call, "k", name, data) == OK
    (layer,) = layers_of(call, "k")
    assert (layer.bits, layer.hashes) == (m, k)
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k") == bulk(model.portable)


@pytest.mark.parametrize("nbytes, k", [(1, 1), (1, 30), (8, 6), (999, 13)])
def test_leveldb_takes_k_from_1_to_30_and_any_number_of_bytes(call, nbytes, k):
    model = LevelDb(nbytes, k, ITEMS[:3])
    assert import_(call, "k", "leveldb", model.data) == OK
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k", "FORMAT", "leveldb") == bulk(model.data)


@pytest.mark.parametrize("nbytes", [32, 64, 96, 4096, 8192, 1 << 20])
def test_parquet_takes_any_number_of_blocks(call, nbytes):
    model = Parquet(nbytes, ITEMS)
    assert import_(call, "k", "parquet", model.data) == OK
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k", "FORMAT", "parquet") == bulk(model.data)


# ---- Capacity, items, expansion ----------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE)
def test_capacity_is_m_ln_2_over_k_if_not_given(call, name):
    data, model = payload(name, ITEMS)
    assert import_(call, "k", name, data) == OK
    assert abs(info(call, "k")["Capacity"] - model.m * math.log(2) / model.k) < 1


@pytest.mark.parametrize("name", SINGLE)
def test_items_are_the_estimate(call, name):
    data, model = payload(name, ITEMS[:40])
    assert import_(call, "k", name, data) == OK
    expected = estimate(model.m, model.k, model.bits)
    assert abs(call("BF.CARD", "k").plain - expected) <= 0.5 + 1e-9
    assert abs(expected - 40) < 8  # or the estimate would be of something else


@pytest.mark.parametrize("name", SINGLE)
def test_an_empty_filter_has_no_items(call, name):
    assert import_(call, "k", name, payload(name)[0]) == OK
    assert call("BF.CARD", "k") == ZERO


def test_a_tiny_filter_has_a_capacity_of_at_least_one(call):
    assert import_(call, "k", "portable", Plain(1, 255).portable) == OK
    assert call("BF.INFO", "k", "CAPACITY").plain == [1]


@pytest.mark.parametrize("name", SINGLE)
def test_a_filter_with_all_bits_set_answers_yes_and_has_finite_counts(call, name):
    data, model = payload(name)
    head = len(data) - len(model.bits) - (name == "leveldb")
    full = bytearray(b"\xff" * len(model.bits))
    if model.m % 8:
        full[-1] = (1 << model.m % 8) - 1
    data = data[:head] + bytes(full) + data[head + len(full) :]
    assert import_(call, "k", name, data) == OK
    assert ask_all(call, "k", PROBES) == [1] * len(PROBES)
    assert 0 < call("BF.CARD", "k").plain <= model.m
    assert call("BF.ADD", "k", "x") == ZERO


@pytest.mark.parametrize("name", SINGLE)
def test_capacity_is_what_was_given(call, name):
    data, _ = payload(name)
    for given in (1, 77, 123456):
        assert import_(call, "k%d" % given, name, data, "CAPACITY", given) == OK
        assert call("BF.INFO", "k%d" % given, "CAPACITY").plain == [given]


@pytest.mark.parametrize("name", SINGLE)
def test_the_largest_capacity_does_not_keep_the_server_busy(new_server, name):
    """A server of its own: one that hangs would take the rest of the file with it."""
    server = new_server()
    connection = Connection(server.socket, timeout=5)
    try:
        assert import_(connection.call, "k", name, payload(name)[0], "CAPACITY", 2**63 - 1) == OK
        assert connection.call("BF.INFO", "k", "CAPACITY").plain == [2**63 - 1]
    except TimeoutError:
        server.kill9()
        pytest.fail("BF.IMPORT has not come back after 5 seconds")
    finally:
        connection.close()


@pytest.mark.parametrize("name", SINGLE)
def test_it_is_non_scaling_unless_expansion_says_otherwise(call, name):
    data, _ = payload(name)
    assert import_(call, "k", name, data) == OK
    assert info(call, "k")["Expansion rate"] is None
    assert import_(call, "k0", name, data, "EXPANSION", "0") == OK
    assert info(call, "k0")["Expansion rate"] is None
    assert import_(call, "k2", name, data, "EXPANSION", "3") == OK
    assert info(call, "k2")["Expansion rate"] == 3


@pytest.mark.parametrize("name", SINGLE)
def test_a_non_scaling_import_is_full_at_its_capacity(call, name):
    data, _ = payload(name)
    assert import_(call, "k", name, data, "CAPACITY", "5") == OK
    assert call("BF.MADD", "k", *ITEMS[:5]).plain == [1] * 5
    assert call("BF.ADD", "k", "one more") == error(FULL)
    assert call("BF.ADD", "k", ITEMS[0]) == ZERO


@pytest.mark.parametrize("name", SINGLE)
def test_with_expansion_it_grows_and_all_stay_found(call, name):
    data, model = payload(name, ITEMS[:5])
    assert import_(call, "k", name, data, "CAPACITY", "10", "EXPANSION", "2") == OK
    many = [b"more:%d" % i for i in range(500)]
    add_all(call, "k", many)
    assert ask_all(call, "k", ITEMS[:5] + many) == [1] * 505
    layers = layers_of(call, "k")
    assert len(layers) > 3
    assert [layer.capacity for layer in layers[:4]] == [10, 20, 40, 80]
    assert (layers[0].bits, layers[0].hashes) == (model.m, model.k)


@pytest.mark.parametrize("name", SINGLE)
def test_more_items_than_capacity_means_full_or_growth_at_the_next_new_item(call, name):
    data, model = payload(name, ITEMS)
    new = next(item for item in PROBES if not model.contains(item))
    assert import_(call, "k", name, data, "CAPACITY", "10") == OK
    assert call("BF.CARD", "k").plain > 10
    assert call("BF.ADD", "k", new) == error(FULL)
    assert import_(call, "k2", name, data, "CAPACITY", "10", "EXPANSION", "2") == OK
    before = call("BF.CARD", "k2").plain
    assert call("BF.ADD", "k2", new) == ONE
    assert [layer.capacity for layer in layers_of(call, "k2")] == [10, 20]
    assert call("BF.CARD", "k2") == integer(before + 1)


# ---- RedisBloom's own dumps --------------------------------------------------------------------

FIXTURES = redisbloom_fixtures()


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_dump_gives_its_answers_counts_and_bytes(call, key):
    row, data = FIXTURES[key]
    assert import_(call, "k", "redisbloom", data) == OK
    probes = [b"fixture:probe:%d" % j for j in range(5000)]
    assert "".join(map(str, ask_all(call, "k", probes))) == row["answers"]
    items = [b"fixture:%d" % i for i in range(row["items"])]
    assert ask_all(call, "k", items) == [1] * len(items)
    assert call("BF.CARD", "k") == integer(row["card"])
    seen = info(call, "k")
    for field in ("Capacity", "Number of filters", "Number of items inserted", "Expansion rate"):
        assert seen[field] == row["info"][field], field
    exported = call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain
    assert len(exported) == len(data)
    assert exported == data


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_filters_go_on_as_redisbloom_would(call, key):
    _, data = FIXTURES[key]
    model = RedisBloom.loaded(data)
    assert import_(call, "k", "redisbloom", data) == OK
    room = model.capacity - model.items
    more = [b"further:%d" % i for i in range(room if not model.is_scaling else 3 * model.capacity)]
    more = more[:6000]
    assert add_all(call, "k", more) == [model.add(item) for item in more]
    seen = call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain
    assert len(seen) == len(model.data)
    assert seen == model.data
    if model.is_scaling:
        assert len(model.layers) > len(RedisBloom.loaded(data).layers)
    else:
        while call("BF.CARD", "k").plain < model.capacity:
            call("BF.ADD", "k", os.urandom(8)).plain
        assert call("BF.ADD", "k", "surely new") in (error(FULL), ZERO)


@pytest.mark.parametrize(
    "rate, capacity, expansion", [(0.1, 1, 1), (0.01, 7, 3), (0.3, 50, 1), (1e-6, 20, 2), (0.9, 10, 2)]
)
def test_redisbloom_filters_of_other_shapes_grow_as_the_model_does(call, rate, capacity, expansion):
    model = RedisBloom(rate, capacity, expansion)
    assert import_(call, "k", "redisbloom", model.data) == OK
    items = [b"%d" % i for i in range(12 * capacity)]
    assert add_all(call, "k", items) == [model.add(item) for item in items]
    seen, expected = call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain, model.data
    header = 20 + 53 * len(model.layers)
    assert seen[:20] == expected[:20] and seen[header:] == expected[header:]
    for at in range(20, header, 53):
        ours, theirs = (list(REDISBLOOM_LAYER.unpack_from(data, at)) for data in (seen, expected))
        # bits per item, a quotient of logarithms: C libraries differ in the last bits
        assert math.isclose(ours.pop(4), theirs.pop(4), rel_tol=1e-15)
        assert ours == theirs


@pytest.mark.parametrize("rate", [0.9, 0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5, 1e-6, 1e-9])
def test_a_redisbloom_dump_of_any_rate_is_exported_byte_for_byte(call, rate):
    for is_scaling in (True, False):
        data = RedisBloom(rate, 100, 2, is_scaling).data
        assert import_(call, "k%d" % is_scaling, "redisbloom", data) == OK
        assert call("BF.EXPORT", "k%d" % is_scaling, "FORMAT", "redisbloom") == bulk(data)


def test_the_public_vector_of_redisbloom(call):
    """redis.io, BF.SCANDUMP: BF.RESERVE bf 0.1 10, BF.ADD bf item1."""
    empty = RedisBloom(0.1, 10)
    assert import_(call, "k", "redisbloom", empty.data) == OK
    assert call("BF.ADD", "k", "item1") == ONE
    data = call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain
    fixed, layer = REDISBLOOM_FIXED.unpack_from(data), REDISBLOOM_LAYER.unpack_from(data, 20)
    assert fixed == (1, 1, 5, 2)
    assert layer == (8, 64, 1, 0.05, 6.2352242295726885, 5, 10, 0)
    assert data[73:] == bytes.fromhex("0108008000042000")


# ---- The words ---------------------------------------------------------------------------------

DATA = payload("portable", ITEMS)[0]


@pytest.mark.parametrize("seed", range(20))
def test_options_come_in_any_order_and_any_case(call, seed):
    source = random.Random(seed)
    options = [("CAPACITY", "99"), ("EXPANSION", "4"), ("HASH", "FNV1A"), ("REPLACE",)]
    source.shuffle(options)
    words = [word for option in options for word in option]
    change = source.choice([str.lower, str.upper, str.title])
    command = [change(word) for word in ["BF.IMPORT", "k", "FORMAT", "portable", *words, "DATA"]]
    command[1] = "k"
    assert call(*command, DATA) == OK
    seen = info(call, "k")
    assert (seen["Capacity"], seen["Expansion rate"]) == (99, 4)
    model = Plain(601, 6, "FNV1A")
    model.layer.bits[:] = DATA[12:]
    assert ask_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]


@pytest.mark.parametrize("word", ["CAPACITY", "EXPANSION", "HASH", "REPLACE"])
def test_a_repeated_option_is_refused(call, word):
    value = {"CAPACITY": ("7",), "EXPANSION": ("2",), "HASH": ("XXH64",), "REPLACE": ()}[word]
    words = (word, *value) * 2
    assert_refused(call, REPEATED, "BF.IMPORT", "k", "FORMAT", "portable", *words, "DATA", DATA)


@pytest.mark.parametrize("word", ["NONSCALING", "ERROR", "LAYOUT", "BITSPERKEY", "ITEMS", "NOCREATE", "", "x"])
def test_an_unknown_word_is_refused(call, word):
    assert_refused(call, UNKNOWN, "BF.IMPORT", "k", "FORMAT", "portable", word, "DATA", DATA)


@pytest.mark.parametrize("name", ["", "x", "PORTABLEX", "rocksdb", "portable\x00", "DATA"])
def test_an_unknown_format_is_refused(call, name):
    assert_refused(call, BAD_FORMAT, "BF.IMPORT", "k", "FORMAT", name, "DATA", DATA)


def test_format_comes_first(call):
    words = ("CAPACITY", "7", "FORMAT", "portable", "DATA", DATA)
    assert_refused(call, UNKNOWN, "BF.IMPORT", "k", *words)


@pytest.mark.parametrize(
    "words",
    [
        ("FORMAT",),
        ("FORMAT", "portable"),
        ("FORMAT", "portable", "DATA"),
        ("FORMAT", "portable", "CAPACITY", "7"),
        ("FORMAT", "portable", "REPLACE", "DATA"),
        ("FORMAT", "portable", "CAPACITY", "7", "DATA"),
        ("FORMAT", "portable", "DATA", DATA, "REPLACE"),
        ("FORMAT", "portable", "DATA", DATA, "more"),
    ],
    ids=lambda words: " ".join(map(str, words))[:40],
)
def test_too_few_words_or_words_behind_the_data_are_an_arity_error(call, words):
    assert_refused(call, arity_error("BF.IMPORT"), "BF.IMPORT", "k", *words)


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "9223372036854775808"])
def test_bad_capacities_are_refused(call, value):
    before = keyspace(call, "k")
    reply = import_(call, "k", "portable", DATA, "CAPACITY", value)
    assert reply.is_error and "apacity" in reply.value
    assert keyspace(call, "k") == before


@pytest.mark.parametrize("value", ["-1", "x", "", "1.5", "32769"])
def test_bad_expansions_are_refused(call, value):
    before = keyspace(call, "k")
    reply = import_(call, "k", "portable", DATA, "EXPANSION", value)
    assert reply.is_error and "xpansion" in reply.value
    assert keyspace(call, "k") == before


@pytest.mark.parametrize("name", ["MURMUR", "LEVELDB", "x", ""])
def test_portable_carries_xxh64_and_fnv1a_only(call, name):
    before = keyspace(call, "k")
    reply = import_(call, "k", "portable", DATA, "HASH", name)
    assert reply == error(BAD_HASH)
    assert keyspace(call, "k") == before


@pytest.mark.parametrize("name", ["leveldb", "parquet", "redisbloom"])
@pytest.mark.parametrize("scheme", ["XXH64", "FNV1A"])
def test_hash_goes_with_portable_and_sstable_only(call, name, scheme):
    before = keyspace(call, "k")
    reply = import_(call, "k", name, payload(name)[0], "HASH", scheme)
    assert reply.is_error and "HASH" in reply.value
    assert keyspace(call, "k") == before


@pytest.mark.parametrize("words", [("CAPACITY", "100"), ("EXPANSION", "2"), ("EXPANSION", "0")])
def test_a_redisbloom_dump_brings_its_own_capacity_and_expansion(call, words):
    before = keyspace(call, "k")
    reply = import_(call, "k", "redisbloom", payload("redisbloom")[0], *words)
    assert reply.is_error and "its own" in reply.value
    assert keyspace(call, "k") == before


# ---- Existing keys -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_an_existing_filter_is_refused_without_replace(call, name):
    call("BF.RESERVE", "k", "0.01", "100")
    call("BF.ADD", "k", "a")
    assert_refused(call, EXISTS, "BF.IMPORT", "k", "FORMAT", name, "DATA", payload(name, ITEMS)[0])


def test_existing_is_said_before_the_data_is_looked_at(call):
    call("BF.ADD", "k", "a")
    assert_refused(call, EXISTS, "BF.IMPORT", "k", "FORMAT", "portable", "DATA", "garbage")


@pytest.mark.parametrize("name", FORMATS)
def test_replace_replaces_and_drops_the_ttl(call, name):
    data, model = payload(name, ITEMS)
    assert import_(call, "fresh", name, data) == OK
    call("BF.RESERVE", "k", "0.001", "5", "EXPANSION", "2")
    call("BF.MADD", "k", *["old%d" % i for i in range(50)])
    call("EXPIRE", "k", "1000")
    assert import_(call, "k", name, data, "REPLACE") == OK
    assert call("TTL", "k") == integer(-1)
    assert filter_state(call, "k") == filter_state(call, "fresh")


def test_replace_on_a_missing_key_just_imports(call):
    assert import_(call, "k", "portable", DATA, "REPLACE") == OK
    assert call("BF.EXISTS", "k", ITEMS[0]) == ONE


def test_bad_data_with_replace_leaves_the_old_filter_and_its_ttl(call):
    call("BF.ADD", "k", "a")
    call("EXPIRE", "k", "1000")
    state = filter_state(call, "k")
    count = changes(call)
    assert import_(call, "k", "portable", DATA[:-1], "REPLACE").is_error
    assert filter_state(call, "k") == state
    assert call("TTL", "k").plain > 990
    assert changes(call) == count


@pytest.mark.parametrize("make", [("SET", "k", "v"), ("LPUSH", "k", "v"), ("HSET", "k", "f", "v")])
@pytest.mark.parametrize("words", [(), ("REPLACE",)])
def test_other_types_are_never_replaced(call, make, words):
    call(*make)
    assert_refused(call, WRONGTYPE, "BF.IMPORT", "k", "FORMAT", "portable", *words, "DATA", DATA)


def test_a_half_loaded_filter_exists_and_replace_replaces_it(call):
    call("BF.RESERVE", "other", "0.01", "1000")
    load(call, "k", dump(call, "other")[:1])
    reply = import_(call, "k", "portable", DATA)
    assert reply.is_error
    assert import_(call, "k", "portable", DATA, "REPLACE") == OK
    assert call("BF.EXPORT", "k") == bulk(DATA)


def test_an_expired_key_is_a_missing_one(call):
    call("BF.ADD", "k", "a")
    call("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    call("PEXPIRE", "k", "1")
    call("DEBUG", "SLEEP", "0.01")
    assert import_(call, "k", "portable", DATA) == OK
    call("DEBUG", "SET-ACTIVE-EXPIRE", "1")
    assert call("TTL", "k") == integer(-1)


# ---- Payloads that are wrong -------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_truncation_is_refused_with_the_field(call, name):
    data, _ = payload(name, ITEMS)
    if name == "leveldb":  # k is the last byte: any prefix that ends in 1 to 30 is another filter
        data = bytes(b | 0x80 for b in data[:-1]) + data[-1:]
    for length in range(len(data)):
        assert_bad_data(call, name, data[:length])


@pytest.mark.parametrize("name", ["portable", "sstable", "parquet", "redisbloom"])
@pytest.mark.parametrize("more", [b"\x00", b"\xff", bytes(8), bytes(64)], ids=len)
def test_every_extension_is_refused(call, name, more):
    assert_bad_data(call, name, payload(name, ITEMS)[0] + more)


@pytest.mark.parametrize("k", [0, 31, 32, 128, 255])
def test_leveldb_of_another_k_is_refused(call, k):
    assert_bad_data(call, "leveldb", bytes(64) + bytes([k]), "k")


def test_leveldb_without_bits_is_refused(call):
    for data in (b"", b"\x06"):
        assert_bad_data(call, "leveldb", data)


GIANT_M = [2**63, 2**64 - 1, 2**64 - 7, 2**60 + 1, 2**61, 2**40 * 8, 2**32, 0]


@pytest.mark.parametrize("m", GIANT_M)
@pytest.mark.parametrize("size", [0, 1, 76])
def test_an_m_that_is_not_there_is_refused(call, m, size):
    assert_bad_data(call, "portable", struct.pack("<IQ", 6, m) + bytes(size))
    assert_bad_data(call, "sstable", struct.pack("<QII", m, 6, 10) + bytes(size))


@pytest.mark.parametrize("k", [0, 256, 257, 2**31, 2**32 - 1])
def test_a_k_out_of_range_is_refused(call, k):
    assert_bad_data(call, "portable", struct.pack("<IQ", k, 64) + bytes(8), "k")
    assert_bad_data(call, "sstable", struct.pack("<QII", 64, k, 10) + bytes(8), "k")


def test_sstable_of_no_bits_per_key_is_refused(call):
    assert_bad_data(call, "sstable", struct.pack("<QII", 64, 6, 0) + bytes(8), "bits per key")


@pytest.mark.parametrize("m", [1, 7, 9, 601])
def test_each_bit_beyond_m_is_refused(call, m):
    for bit in range(m % 8, 8):
        bits = bytearray((m + 7) // 8)
        bits[-1] = 1 << bit
        assert_bad_data(call, "portable", struct.pack("<IQ", 3, m) + bits, "beyond m")
        assert_bad_data(call, "sstable", struct.pack("<QII", m, 3, 10) + bits, "beyond m")


def test_fnv1a_of_more_than_2_to_the_32_bits_is_refused(call):
    data = struct.pack("<IQ", 3, 2**32 + 8) + bytes(100)
    before = keyspace(call, "k")
    assert import_(call, "k", "portable", data, "HASH", "FNV1A").is_error
    assert keyspace(call, "k") == before


PARQUET_WRONG = {
    "no bytes": parquet_header(0),
    "not whole blocks": parquet_header(33) + bytes(33),
    "half a block": parquet_header(16) + bytes(16),
    "negative": b"\x15\x3f" + parquet_header(32)[2:] + bytes(32),
    "2^31 - 32 claimed": parquet_header(2**31 - 32) + bytes(64),
    "2^40 claimed": parquet_header(2**40) + bytes(64),
    "2^62 claimed": parquet_header(2**62) + bytes(64),
    "endless varint": b"\x15" + b"\x80" * 100,
    "endless varint of ones": b"\x15" + b"\xff" * 100,
    "another type of field 1": b"\x16" + parquet_header(32)[1:] + bytes(32),
    "another algorithm": b"\x15\x40\x1c\x2c" + parquet_header(32)[4:] + bytes(32),
    "nothing behind the size": b"\x15\x40",
    "no header": bytes(32),
}


@pytest.mark.parametrize("what", PARQUET_WRONG)
def test_a_wrong_parquet_header_is_refused(call, what):
    assert_bad_data(call, "parquet", PARQUET_WRONG[what])


def redisbloom_with(layer=0, **fields):
    """A valid dump of two layers with fields replaced, right or wrong."""
    model = RedisBloom(0.02, 10)
    for item in ITEMS[:25]:
        model.add(item)
    data = bytearray(model.data)
    assert len(model.layers) == 2
    names = ("items", "nlayers", "options", "growth")
    fixed = dict(zip(names, REDISBLOOM_FIXED.unpack_from(data)))
    at = 20 + 53 * layer
    own = ("bytes", "bits", "size", "error", "bpe", "hashes", "capacity", "n2")
    values = dict(zip(own, REDISBLOOM_LAYER.unpack_from(data, at)))
    for name, value in fields.items():
        (fixed if name in fixed else values)[name] = value
    REDISBLOOM_FIXED.pack_into(data, 0, *fixed.values())
    REDISBLOOM_LAYER.pack_into(data, at, *values.values())
    return bytes(data)


NAN, INF = math.nan, math.inf
REDISBLOOM_WRONG = [
    ("items", {"items": 0}),
    ("items", {"items": 26}),
    ("items", {"items": 2**64 - 1}),
    ("layers", {"nlayers": 0}),
    (None, {"nlayers": 1}),
    (None, {"nlayers": 3}),
    ("layers", {"nlayers": 2**31}),
    ("layers", {"nlayers": 2**32 - 1}),
    ("options", {"options": 0}),
    ("options", {"options": 1}),
    ("options", {"options": 4}),
    ("options", {"options": 7}),
    ("options", {"options": 21}),
    ("options", {"options": 2**32 - 1}),
    ("expansion", {"growth": 0}),
    ("expansion", {"growth": 32769}),
    ("expansion", {"growth": 2**32 - 1}),
    *[("error rate", {"error": x}) for x in (NAN, INF, -INF, 0.0, -0.01, 1.0, 2.0)],
    *[("", {"bpe": x}) for x in (NAN, INF, -INF, 0.0, -1.0, 1e308, 5e-324, 100.0)],
    *[("hashes", {"hashes": x}) for x in (0, 6, 8, 256, 2**31, 2**32 - 1)],
    *[("bits", {"bits": x}) for x in (0, 1, 63, 65, 192, 2**40, 2**63, 2**64 - 1)],
    *[("", {"bytes": x}) for x in (0, 1, 2**40, 2**61, 2**64 - 1)],
    ("", {"bytes": 2**40, "bits": 2**43}),
    ("", {"bytes": 2**57, "bits": 2**60}),
    ("", {"bytes": 2**61, "bits": 2**64 - 8}),
    *[("capacity", {"capacity": x}) for x in (0, 2**63, 2**64 - 1)],
    *[("items", {"size": x}) for x in (0, 9, 11, 2**32, 2**64 - 1)],
    *[("n2", {"n2": x}) for x in (1, 6, 63, 255)],
]  # fmt: skip


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("field, values", REDISBLOOM_WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_field_of_a_redisbloom_dump_is_refused(call, layer, field, values):
    if layer == 1 and set(values) & {"items", "nlayers", "options", "growth"}:
        pytest.skip("not a layer's field")
    if layer == 1 and values == {"hashes": 8}:
        values = {"hashes": 7}
    if layer == 1 and values.get("size") in (9, 11):
        values = {"size": values["size"] + 10}
    assert_bad_data(call, "redisbloom", redisbloom_with(layer, **values), field)


def test_the_dump_behind_those_faults_is_taken_without_them(call):
    assert import_(call, "k", "redisbloom", redisbloom_with()) == OK


def test_capacities_that_sum_up_to_more_than_2_to_the_63_are_refused(call):
    data = bytearray(redisbloom_with())
    for layer in (0, 1):
        struct.pack_into("<Q", data, 20 + 53 * layer + 44, 2**63 - 1)
    assert_bad_data(call, "redisbloom", bytes(data), "capacity")


def test_items_moved_between_layers_are_refused_where_the_bits_cannot_hold_them(call):
    """The sum stays right, but the bits set in a layer cannot be those of so few items."""
    data = bytearray(redisbloom_with())
    (first,), (second,) = (struct.unpack_from("<Q", data, at) for at in (20 + 16, 73 + 16))
    struct.pack_into("<Q", data, 20 + 16, 1)
    struct.pack_into("<Q", data, 73 + 16, first + second - 1)
    assert_bad_data(call, "redisbloom", bytes(data), "items")


def assert_harmless(call, key):
    """Ask it, describe it, dump it, restore it, copy it, add to it: the server lives."""
    ask_all(call, key, PROBES[:100])
    call("BF.INFO", key).plain
    whole = dump(call, key)
    load(call, "loaded", whole)
    assert dump(call, "loaded") == whole
    serialized = call("DUMP", key).plain
    assert call("RESTORE", "restored", "0", serialized) == OK
    state = filter_state(call, key)
    assert filter_state(call, "restored") == state
    assert filter_state(call, "loaded") == state
    reply = call("BF.ADD", key, "flip")
    assert not reply.is_error or reply == error(FULL) or "problem inserting" in reply.value, reply
    assert call("PING").plain == "PONG"
    call("DEL", key, "loaded", "restored")


def small(name):
    if name == "portable":
        return Plain(37, 3, "XXH64", ITEMS[:4]).portable
    if name == "sstable":
        return Plain(37, 3, "XXH64", ITEMS[:4]).sstable(9)
    if name == "leveldb":
        return LevelDb(8, 3, ITEMS[:4]).data
    if name == "parquet":
        return Parquet(32, ITEMS[:4]).data
    return redisbloom_with()


@pytest.mark.parametrize("words", [(), ("EXPANSION", "2")], ids=["fixed", "growing"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_byte_flipped_is_refused_or_a_filter_that_does_no_harm(call, name, words):
    if name == "redisbloom" and words:
        pytest.skip("has its own expansion")
    data, taken, refused = small(name), 0, 0
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flip
            reply = import_(call, "k", name, bytes(damaged), *words)
            if reply == OK:
                taken += 1
                assert_harmless(call, "k")
            else:
                refused += 1
                assert reply.value.startswith("ERR bad data: "), (at, flip, reply)
                assert call("DBSIZE") == ZERO
    assert taken and refused
    assert call("PING").plain == "PONG"


@pytest.mark.parametrize("name", FORMATS)
def test_random_bytes_do_no_harm(call, name):
    source = random.Random(5)
    for _ in range(300):
        data = source.randbytes(source.randint(0, 120))
        if import_(call, "k", name, data) == OK:
            assert_harmless(call, "k")
    assert call("DBSIZE") == ZERO


# ---- A filter like any other -------------------------------------------------------------------


def import_all(call):
    """One of every format, fixed and growing, small and grown."""
    keys = []
    for name in FORMATS:
        for words in [()] if name == "redisbloom" else [(), ("CAPACITY", "20", "EXPANSION", "2")]:
            for many in (0, 200):
                if many and not words and name != "redisbloom":
                    continue
                key = "%s%d%d" % (name, len(words), many)
                assert import_(call, key, name, payload(name, ITEMS)[0], *words) == OK
                if many:
                    add_all(call, key, [b"more:%d" % i for i in range(many)])
                    assert info(call, key)["Number of filters"] > 1
                keys.append(key)
    assert import_(call, "fnv1a", "portable", Plain(999, 5, "FNV1A", ITEMS).portable, "HASH", "FNV1A") == OK
    full = struct.pack("<IQ", 3, 512) + b"\xff" * 64
    assert import_(call, "all-ones", "portable", full, "CAPACITY", "3", "EXPANSION", "2") == OK
    return [*keys, "fnv1a", "all-ones"]


def looks(call, keys):
    return {key: look(call, key) for key in keys}


def assert_same_looks(call, before):
    for key, seen in before.items():
        same_filter(seen, look(call, key), key)


def assert_still_grows_alike(call, other, keys):
    """The further life of both is the same: what is not in the bits (promises) arrived, too."""
    more = [b"later:%d" % i for i in range(300)]
    for key in keys:
        for item in more:
            reply = call("BF.ADD", key, item)
            assert other("BF.ADD", key, item) == reply
            if reply.is_error:
                break
        same_filter(look(call, key), look(other, key), key)


def test_imports_survive_save_and_restart(new_server):
    server = new_server()
    keys = import_all(server.call)
    before = looks(server.call, keys)
    assert server.call("SAVE") == OK
    server.restart()
    assert_same_looks(server.call, before)


def test_imports_survive_dump_and_restore_and_copy(call):
    for key in import_all(call):
        state = filter_state(call, key)
        assert call("RESTORE", "restored", "0", call("DUMP", key).plain, "REPLACE") == OK
        assert filter_state(call, "restored") == state
        assert call("COPY", key, "copied", "REPLACE") == ONE
        assert filter_state(call, "copied") == state
        load(call, "loaded", dump(call, key))
        assert filter_state(call, "loaded") == state
        call("DEL", "loaded")


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("rewrite", [True, False])
def test_imports_survive_the_aof_rewritten_or_not(new_server, preamble, rewrite):
    server = new_server(config={**Stream.CONFIG, "aof-use-rdb-preamble": preamble})
    keys = import_all(server.call)
    before = looks(server.call, keys)
    if rewrite:
        server.call("BGREWRITEAOF").plain
        from filters import server_info, until

        until(
            lambda: server_info(server.call, "persistence")["aof_rewrite_in_progress"] == "0"
            and server_info(server.call, "persistence")["aof_rewrite_scheduled"] == "0",
            "rewritten",
        )
    server.restart()
    assert_same_looks(server.call, before)


def test_replicas_become_identical(new_server):
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=QUIET)
    follow(replica, master)
    call = master.call
    keys = import_all(call)
    call("BF.ADD", "replaced", "a")
    call("EXPIRE", "replaced", "1000")
    assert import_(call, "replaced", "portable", DATA, "REPLACE") == OK
    until_in_sync(replica, master)
    assert replica.call("DEBUG", "DIGEST") == call("DEBUG", "DIGEST")
    assert replica.call("TTL", "replaced") == integer(-1)
    for key in keys:
        same_filter(look(call, key), look(replica.call, key), key)
    for key in keys:
        for i in range(300):
            if call("BF.ADD", key, b"later:%d" % i).is_error:
                break
    until_in_sync(replica, master)
    assert replica.call("DEBUG", "DIGEST") == call("DEBUG", "DIGEST")


def test_a_restored_import_goes_on_as_the_original_does(call):
    keys = import_all(call)
    for key in keys:
        assert call("RESTORE", "r:" + key, "0", call("DUMP", key).plain) == OK
    for key in keys:
        for i in range(300):
            reply = call("BF.ADD", key, b"later:%d" % i)
            assert call("BF.ADD", "r:" + key, b"later:%d" % i) == reply
        assert filter_state(call, "r:" + key) == filter_state(call, key)


def test_forty_mebibytes_propagate_in_pieces_of_at_most_sixteen(new_server):
    server = new_server(config=Stream.CONFIG, tcp=True)
    stream = Stream(server)
    nbytes = 40 << 20
    data = struct.pack("<IQ", 7, nbytes * 8 - 3) + random.Random(1).randbytes(nbytes - 1) + b"\x01"
    assert import_(server.call, "k", "portable", data) == OK
    commands = [words for words in stream.take() if words[0] not in (b"MULTI", b"EXEC")]
    stream.close()
    assert {words[0] for words in commands} == {b"BF.LOADCHUNK"}
    assert {words[1] for words in commands} == {b"k"}
    assert len(commands) == 1 + 3
    assert all(len(words[3]) <= CHUNK_LIMIT for words in commands)
    same = b"".join(words[3] for words in commands[1:]) == data[12:]
    assert same
    digest = server.call("DEBUG", "DIGEST")
    server.restart()
    assert server.call("DEBUG", "DIGEST") == digest
    same = server.call("BF.EXPORT", "k").plain == data
    assert same


def test_replacing_propagates_the_deletion_too(new_server):
    server = new_server(config=Stream.CONFIG)
    call = server.call
    call("BF.ADD", "k", "a")
    call("EXPIRE", "k", "1000")
    assert import_(call, "k", "portable", DATA, "REPLACE") == OK
    digest, state = call("DEBUG", "DIGEST"), filter_state(call, "k")
    server.restart()
    assert server.call("DEBUG", "DIGEST") == digest
    assert filter_state(server.call, "k") == state
    assert server.call("TTL", "k") == integer(-1)


def test_a_refused_import_propagates_nothing(new_server):
    server = new_server(config=Stream.CONFIG)
    call = server.call
    call("BF.ADD", "there", "a")
    call("SET", "text", "a")
    stream = Stream(server)
    assert import_(call, "k", "portable", DATA[:-1]).is_error
    assert import_(call, "k", "portable", DATA, "CAPACITY", "0").is_error
    assert import_(call, "there", "portable", DATA).is_error
    assert import_(call, "there", "portable", DATA + b"\x00", "REPLACE").is_error
    assert import_(call, "text", "portable", DATA, "REPLACE").is_error
    assert stream.take() == []
    stream.close()


@pytest.mark.parametrize("words", [(), ("REPLACE",)])
def test_one_event_per_import(call, server, words):
    call("CONFIG", "SET", "notify-keyspace-events", "KEA")
    if words:
        call("BF.ADD", "k", "a")
    listener = server.connection()
    listener.call("PSUBSCRIBE", "__keyevent@0__:*")
    assert import_(call, "k", "portable", DATA, *words) == OK
    assert import_(call, "k", "portable", DATA[:-1], "REPLACE").is_error
    call("SET", "end", "x")
    events = []
    while not events or events[-1][1] != b"end":
        _, _, channel, key = listener.read().plain
        events.append((channel.split(b":", 1)[1], key))
    listener.close()
    call("CONFIG", "SET", "notify-keyspace-events", "")
    assert [event for event in events if event[0] == b"bf.import"] == [(b"bf.import", b"k")]
    assert not [event for event in events if event[0] == b"bf.loadchunk"]


@pytest.mark.parametrize("name", FORMATS)
def test_max_bytes_is_respected_to_the_byte(call, name):
    data, _ = payload(name, ITEMS)
    assert import_(call, "k", name, data) == OK
    size = call("BF.INFO", "k", "SIZE").plain[0]
    call("DEL", "k")
    try:
        assert call("CONFIG", "SET", "bf.max-bytes", size - 1) == OK
        assert_refused(call, NO_MEMORY, "BF.IMPORT", "k", "FORMAT", name, "DATA", data)
        assert call("CONFIG", "SET", "bf.max-bytes", size) == OK
        assert import_(call, "k", name, data) == OK
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


def test_maxmemory_is_respected(call, r):
    data = struct.pack("<IQ", 7, 32 << 23) + bytes(32 << 20)
    used = r.info("memory")["used_memory"]
    try:
        call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        call("CONFIG", "SET", "maxmemory", used + (40 << 20))
        reply = import_(call, "k", "portable", data)
        assert reply.is_error, reply
        assert call("DBSIZE") == ZERO
        call("CONFIG", "SET", "maxmemory", "1")
        assert import_(call, "k", "portable", DATA).value.startswith("OOM ")
    finally:
        call("CONFIG", "SET", "maxmemory", "0")
    assert import_(call, "k", "portable", data) == OK


def test_import_works_in_multi_and_in_scripts(call):
    assert call("MULTI") == OK
    import_(call, "k", "portable", DATA)
    assert call("EXEC").plain == ["OK"]
    script = "return redis.call('BF.IMPORT', KEYS[1], 'FORMAT', 'portable', 'DATA', ARGV[1])"
    assert call("EVAL", script, "1", "k2", DATA) == OK
    assert call("EVAL", "return redis.call('BF.EXPORT', KEYS[1])", "1", "k2") == bulk(DATA)
    assert filter_state(call, "k") == filter_state(call, "k2")


def test_the_key_is_binary_safe(call):
    key = bytes(range(256))
    assert import_(call, key, "portable", DATA) == OK
    assert call("BF.EXPORT", key) == bulk(DATA)


# ---- redis-cli ---------------------------------------------------------------------------------


def test_redis_cli_reads_a_file_and_writes_it_back(call, server):
    for name in FORMATS:
        data, _ = payload(name, ITEMS)
        words = ("CAPACITY", "60") if name == "sstable" else ()
        reply = server.cli("-x", "BF.IMPORT", name, "FORMAT", name, *words, "DATA", stdin=data)
        assert reply == b"OK\n"
        assert server.cli("--raw", "-D", "", "BF.EXPORT", name, "FORMAT", name) == data


def test_redis_cli_carries_every_byte_value(call, server):
    data = struct.pack("<IQ", 7, 256 * 8 * 3) + bytes(range(256)) * 3
    server.cli("-x", "BF.IMPORT", "k", "FORMAT", "portable", "DATA", stdin=data)
    assert server.cli("--raw", "-D", "", "BF.EXPORT", "k") == data
