"""BF.IMPORT: the imported filter and its counts, then the rules of the command's words. The oracle is
formats_model.py.

Wrong payloads are in test_import_refused.py, RedisBloom's own dumps in test_import_redisbloom.py.
test_imported.py shows that an imported filter is a filter like any other.
"""

import math
import random
import struct

import pytest

from checks import (
    FULL,
    WRONGTYPE,
    add_all,
    arity_error,
    look_up_all,
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
from formats_model import LevelDb, Parquet, Plain, estimate
from imports import DATA, FORMATS, ITEMS, PROBES, SINGLE, import_, payload
from resp import OK, ONE, ZERO, Connection, bulk, error, integer

EXISTS = "ERR item exists"


def stats(call, key):
    fields = call("BF.STATS", key).plain
    return dict(zip(fields[::2], fields[1::2]))


BAD_FORMAT = "ERR bad format: it is one of portable, sstable, leveldb, parquet, redisbloom, valkeybloom, guava, spark, go, cassandra, bip37, rocksdb, datasketches, redisson"
BAD_HASH = "ERR bad hash: XXH64 or FNV1A"
REPEATED = "ERR repeated option"
UNKNOWN = "ERR Unknown argument received"

# ---- The imported filter -----------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_answer_is_the_models_false_positives_included(call, name):
    data, model = payload(name, ITEMS)
    assert import_(call, "k", name, data) == OK
    expected = [model.contains(item) for item in PROBES]
    assert sum(expected[60:]) > 0, "no false positive to compare"
    assert look_up_all(call, "k", PROBES) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_adding_sets_the_models_bits_and_exports_them(call, name):
    data, model = payload(name)
    words = () if name == "redisbloom" else ("CAPACITY", "1000")
    assert import_(call, "k", name, data, *words) == OK
    for item in ITEMS:
        assert call("BF.ADD", "k", item) == integer(1 - model.contains(item))
        model.add(item)
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    if name == "redisbloom":
        assert call("BF.EXPORT", "k", "FORMAT", name) == bulk(model.data)
    else:
        assert bits_of(call, "k") == [bytes(model.bits)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("items", [(), ITEMS[:1], ITEMS], ids=len)
def test_what_was_imported_is_exported_byte_for_byte(call, name, items):
    data, _ = payload(name, items)
    assert import_(call, "k", name, data) == OK
    assert call("BF.EXPORT", "k", "FORMAT", name) == bulk(data)


def test_the_fnv1a_vector_of_the_teaching_lab(call):
    data = struct.pack("<IQ", 4, 25) + bytes.fromhex("26827f01")
    assert import_(call, "k", "portable", data, "HASH", "FNV1A") == OK
    assert call("BF.MEXISTS", "k", "key0", "key1", "key2", "key3").plain == [1] * 4
    model = Plain(25, 4, "FNV1A", [b"key%d" % i for i in range(4)])
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
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
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
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
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k") == bulk(model.portable)


@pytest.mark.parametrize("nbytes, k", [(1, 1), (1, 30), (8, 6), (999, 13)])
def test_leveldb_takes_k_from_1_to_30_and_any_number_of_bytes(call, nbytes, k):
    model = LevelDb(nbytes, k, ITEMS[:3])
    assert import_(call, "k", "leveldb", model.data) == OK
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k", "FORMAT", "leveldb") == bulk(model.data)


@pytest.mark.parametrize("nbytes", [32, 64, 96, 4096, 8192, 1 << 20])
def test_parquet_takes_any_number_of_blocks(call, nbytes):
    model = Parquet(nbytes, ITEMS)
    assert import_(call, "k", "parquet", model.data) == OK
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert call("BF.EXPORT", "k", "FORMAT", "parquet") == bulk(model.data)


# ---- Capacity, items, expansion ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["portable", "leveldb", "parquet"])
def test_capacity_is_m_ln_2_over_k_if_not_given(call, name):
    data, model = payload(name, ITEMS)
    assert import_(call, "k", name, data) == OK
    assert abs(info(call, "k")["Capacity"] - model.m * math.log(2) / model.k) < 1


# m and k as a program sizes n keys that rounds k up: b * n bits, k = ceil(0.693 b).
SSTABLES = [(b, n * b, math.ceil(0.693 * b)) for b in (8, 12, 16) for n in (1, 7, 100, 1000)]
SSTABLES += [(1, 5, 1), (256, 300, 255), (10, 3, 30), (200, 1, 1), (1, 4096, 255)]  # others are kept too


@pytest.mark.parametrize("b, m, k", SSTABLES)
def test_an_sstable_keeps_its_bits_per_key_wherever_it_goes(call, b, m, k):
    data = Plain(m, k, "XXH64", ITEMS[: m // b]).sstable(b)
    assert import_(call, "k", "sstable", data) == OK
    assert call("BF.INFO", "k", "CAPACITY").plain == [max(1, m // b)]
    assert float(stats(call, "k")["bits per key"]) == b
    load(call, "loaded", dump(call, "k"))
    assert call("RESTORE", "restored", "0", call("DUMP", "k").plain) == OK
    assert call("COPY", "k", "copied") == ONE
    assert call("DEBUG", "RELOAD") == OK
    for key in ("k", "loaded", "restored", "copied"):
        assert call("BF.EXPORT", key, "FORMAT", "sstable") == bulk(data), key
        assert float(stats(call, key)["bits per key"]) == b


@pytest.mark.parametrize("capacity", [1, 59, 61, 1000])
def test_a_given_capacity_leaves_an_sstables_bits_per_key_as_they_are(call, capacity):
    data, _ = payload("sstable", ITEMS)
    assert import_(call, "k", "sstable", data, "CAPACITY", capacity) == OK
    assert call("BF.INFO", "k", "CAPACITY").plain == [capacity]
    assert call("BF.EXPORT", "k", "FORMAT", "sstable") == bulk(data)


def test_an_exported_sstable_is_imported_again_however_precise_the_filter(call):
    """Small and precise filters have over 256 bits per key."""
    seen = 0
    for capacity in range(1, 30):
        for rate in ("0.5", "0.01", "1e-4", "1e-6"):
            assert call("BF.RESERVE", "k", rate, capacity, "NONSCALING") == OK
            data = call("BF.EXPORT", "k", "FORMAT", "sstable").plain
            seen += struct.unpack_from("<QII", data)[2] > 256
            assert import_(call, "again", "sstable", data, "REPLACE") == OK
            assert call("BF.EXPORT", "again", "FORMAT", "sstable") == bulk(data)
            call("DEL", "k")
    assert seen > 10


def test_an_sstable_that_grows_promises_twice_the_rate_of_its_bits(call):
    data = Plain(1000, 7).sstable(10)
    assert import_(call, "k", "sstable", data, "EXPANSION", "2") == OK
    first = float(stats(call, "k")["promised error rate"])
    add_all(call, "k", [b"more:%d" % i for i in range(5000)])
    grown = stats(call, "k")
    assert len(grown["layers"]) > 3 and float(grown["promised error rate"]) == 2 * first
    assert float(grown["current error rate"]) < 2 * first
    assert float(grown["bits per key"]) == 10 and grown["state"] == b"ok"


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
    assert look_up_all(call, "k", PROBES) == [1] * len(PROBES)
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
    """The test has a server of its own: one that hangs would fail the rest of the file."""
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
    assert look_up_all(call, "k", ITEMS[:5] + many) == [1] * 505
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


# ---- The words ---------------------------------------------------------------------------------

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
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]


@pytest.mark.parametrize("word", ["CAPACITY", "EXPANSION", "HASH", "REPLACE"])
def test_a_repeated_option_is_refused(call, word):
    value = {"CAPACITY": ("7",), "EXPANSION": ("2",), "HASH": ("XXH64",), "REPLACE": ()}[word]
    words = (word, *value) * 2
    assert_refused(call, REPEATED, "BF.IMPORT", "k", "FORMAT", "portable", *words, "DATA", DATA)


@pytest.mark.parametrize("word", ["NONSCALING", "ERROR", "LAYOUT", "BITSPERKEY", "ITEMS", "NOCREATE", "", "x"])
def test_an_unknown_word_is_refused(call, word):
    assert_refused(call, UNKNOWN, "BF.IMPORT", "k", "FORMAT", "portable", word, "DATA", DATA)


@pytest.mark.parametrize("name", ["", "x", "PORTABLEX", "rocksdbx", "portable\x00", "DATA"])
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
def test_too_few_words_or_words_after_the_data_are_an_arity_error(call, words):
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
def test_a_redisbloom_dump_has_its_own_capacity_and_expansion(call, words):
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
    data, _ = payload(name, ITEMS)
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


# ---- redis-cli ---------------------------------------------------------------------------------


def test_redis_cli_reads_a_file_and_writes_it_back(call, server):
    for name in FORMATS:
        data, _ = payload(name, ITEMS)
        reply = server.cli("-x", "BF.IMPORT", name, "FORMAT", name, "DATA", stdin=data)
        assert reply == b"OK\n"
        assert server.cli("--raw", "-D", "", "BF.EXPORT", name, "FORMAT", name) == data


def test_redis_cli_carries_every_byte_value(call, server):
    data = struct.pack("<IQ", 7, 256 * 8 * 3) + bytes(range(256)) * 3
    server.cli("-x", "BF.IMPORT", "k", "FORMAT", "portable", "DATA", stdin=data)
    assert server.cli("--raw", "-D", "", "BF.EXPORT", "k") == data
