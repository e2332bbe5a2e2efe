"""BF.EXPORT: the bytes are equal to those of other implementations.

The oracles are formats_model.py, Debian's libleveldb, and two Parquet libraries from PyPI.
"""

import struct

import pytest

from checks import LOADING, WRONGTYPE, add_all, arity_error, look_up_all, assert_refused, dump, info, layers_of, load
from formats_model import LevelDb, Parquet, Plain, RedisBloom
from resp import OK, bulk

ITEMS = [b"item:%d" % i for i in range(500)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(4500)]
FORMATS = ["portable", "sstable", "leveldb", "parquet", "redisbloom"]


# ---- Filters made here, as other programs would have made them ---------------------------------


@pytest.mark.parametrize("scheme", ["XXH64", "FNV1A"])
@pytest.mark.parametrize("words", [("0.01", "500"), ("BITSPERKEY", "10", "500"), ("1e-6", "77"), ("0.9", "1")])
def test_portable_and_sstable_are_the_models_bytes(call, scheme, words):
    assert call("BF.RESERVE", "k", *words, "HASH", scheme, "NONSCALING") == OK
    (layer,) = layers_of(call, "k")
    items = ITEMS[: layer.capacity]
    model = Plain(layer.bits, layer.hashes, scheme)
    for item in items:
        if call("BF.ADD", "k", item).plain:
            model.add(item)
    assert call("BF.EXPORT", "k") == bulk(model.portable)
    assert call("BF.EXPORT", "k", "FORMAT", "PORTABLE") == bulk(model.portable)
    rounded = max(1, int(layer.bits / layer.capacity + 0.5))
    assert call("BF.EXPORT", "k", "format", "sstable") == bulk(model.sstable(rounded))
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]


@pytest.mark.parametrize("words", [("0.01", "500"), ("BITSPERKEY", "10", "500"), ("0.5", "1")])
def test_parquet_is_the_models_bytes(call, words):
    assert call("BF.RESERVE", "k", *words, "NONSCALING", "LAYOUT", "BLOCKED") == OK
    (layer,) = layers_of(call, "k")
    model = Parquet(layer.bytes)
    for item in ITEMS[: layer.capacity]:
        if call("BF.ADD", "k", item).plain:
            model.add(item)
    assert call("BF.EXPORT", "k", "FORMAT", "parquet") == bulk(model.data)
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]


def test_sstable_has_at_least_one_bit_per_key(call):
    data = struct.pack("<IQ", 1, 8) + b"\x01"
    assert call("BF.IMPORT", "k", "FORMAT", "portable", "CAPACITY", "1000", "DATA", data) == OK
    assert call("BF.EXPORT", "k", "FORMAT", "sstable") == bulk(struct.pack("<QII", 8, 1, 1) + b"\x01")


def test_exporting_changes_nothing_and_an_import_of_it_answers_alike(call):
    call("BF.RESERVE", "k", "0.02", "500", "NONSCALING")
    add_all(call, "k", ITEMS)
    before = call("DEBUG", "DIGEST")
    data = call("BF.EXPORT", "k").plain
    assert call("DEBUG", "DIGEST") == before
    assert call("BF.IMPORT", "k2", "FORMAT", "portable", "DATA", data) == OK
    assert look_up_all(call, "k2", PROBES) == look_up_all(call, "k", PROBES)


# ---- What a format cannot carry ----------------------------------------------------------------

OTHER = {
    "xxh64": {"portable", "sstable"},
    "fnv1a": {"portable", "sstable"},
    "blocked": {"parquet"},
    "leveldb": {"leveldb"},
    "redisbloom": {"redisbloom"},
}


def make(call, kind):
    if kind in ("xxh64", "fnv1a"):
        assert call("BF.RESERVE", "k", "0.01", "10", "HASH", kind) == OK
    elif kind == "blocked":
        assert call("BF.RESERVE", "k", "0.01", "10", "LAYOUT", "BLOCKED") == OK
    elif kind == "leveldb":
        assert call("BF.IMPORT", "k", "FORMAT", "leveldb", "EXPANSION", "2", "DATA", LevelDb(64, 6).data) == OK
    else:
        assert call("BF.IMPORT", "k", "FORMAT", "redisbloom", "DATA", RedisBloom(0.01, 10).data) == OK


@pytest.mark.parametrize("kind", OTHER)
@pytest.mark.parametrize("name", FORMATS)
def test_a_scheme_or_layout_that_the_format_cannot_carry_is_named(call, kind, name):
    make(call, kind)
    reply = call("BF.EXPORT", "k", "FORMAT", name)
    if name in OTHER[kind]:
        assert not reply.is_error
    else:
        assert reply.value.startswith("ERR cannot export: ")
        assert "hash" in reply.value or "layout" in reply.value


@pytest.mark.parametrize("kind", ["xxh64", "fnv1a", "blocked", "leveldb"])
@pytest.mark.parametrize("name", FORMATS[:4])
def test_several_layers_are_refused_and_scandump_is_named(call, kind, name):
    make(call, kind)
    add_all(call, "k", ITEMS)
    assert info(call, "k")["Number of filters"] > 1
    reply = call("BF.EXPORT", "k", "FORMAT", name)
    assert reply.value.startswith("ERR cannot export: ") and "layer" in reply.value
    assert "BF.SCANDUMP" in reply.value


# Every kind of filter: the command that makes it, and whether it can grow.
KINDS = {
    **{layout_hash: ("BF.RESERVE", "k", "0.01", "10", *words) for layout_hash, words in {
        "CLASSIC XXH64": (), "CLASSIC FNV1A": ("HASH", "FNV1A"), "BLOCKED": ("LAYOUT", "BLOCKED")}.items()},
    "by bits": ("BF.RESERVE", "k", "BITSPERKEY", "12", "10"),
    "added": ("BF.ADD", "k", "a"),
    **{"imported " + name: ("BF.IMPORT", "k", "FORMAT", name, "EXPANSION", "2", "DATA", data) for name, data in {
        "portable": Plain(64, 6).portable, "sstable": Plain(64, 6).sstable(10), "leveldb": LevelDb(8, 6).data,
        "parquet": Parquet(32).data}.items()},
    "imported redisbloom": ("BF.IMPORT", "k", "FORMAT", "redisbloom", "DATA", RedisBloom(0.01, 10).data),
    "foreign": ("BF.LOADCHUNK", "k", "1", RedisBloom(0.01, 10).header),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grown", [False, True], ids=["one layer", "several layers"])
def test_what_a_refused_export_advises_works(call, kind, grown):
    assert not call(*KINDS[kind]).is_error
    if grown:
        add_all(call, "k", ITEMS)
        assert info(call, "k")["Number of filters"] > 1
    replies = {name: call("BF.EXPORT", "k", "FORMAT", name) for name in FORMATS}
    working = {name for name, reply in replies.items() if not reply.is_error}
    assert working or grown
    for name, reply in replies.items():
        if name in working:
            continue
        assert reply.value.startswith("ERR cannot export: ")
        if working:
            advised = reply.value.rpartition("use ")[2]
            assert advised in working, (name, reply.value)
        else:
            assert "BF.SCANDUMP" in reply.value
    load(call, "carried", dump(call, "k"))  # that carries every filter
    assert look_up_all(call, "carried", PROBES) == look_up_all(call, "k", PROBES)


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_key_is_not_found(call, name):
    assert_refused(call, "ERR not found", "BF.EXPORT", "k", "FORMAT", name)


def test_another_type_is_a_wrongtype_error(call):
    call("SET", "k", "v")
    assert_refused(call, WRONGTYPE, "BF.EXPORT", "k")


def test_a_half_loaded_filter_is_not_exported(call):
    call("BF.RESERVE", "other", "0.01", "1000")
    load(call, "k", dump(call, "other")[:1])
    assert_refused(call, LOADING, "BF.EXPORT", "k")


def test_words(call):
    call("BF.ADD", "k", "a")
    assert_refused(call, "ERR bad format: it is one of portable, sstable, leveldb, parquet, redisbloom, valkeybloom, guava, spark, go, cassandra, bip37, rocksdb, datasketches, redisson", "BF.EXPORT", "k", "FORMAT", "x")
    assert_refused(call, "ERR Unknown argument received", "BF.EXPORT", "k", "FORM", "portable")
    for words in (("FORMAT",), ("FORMAT", "portable", "x")):
        assert_refused(call, arity_error("BF.EXPORT"), "BF.EXPORT", "k", *words)
