"""The schemes of other libraries in our own bytes (rdb/FORMAT.md): which number and which seed a filter has, what
a header may say of it, and Redisson's filters, which only such bytes and the tool bring."""

import struct

import pytest

from checks import BAD_DATA, assert_refused, bits_of, dump, filter_state, look_up_all
from filters import Layer, count_ones
from filters import header as version_1
from foreign_fixtures import FIXTURES
from foreign_formats import SAMPLES, Redisson, export_foreign, import_foreign
from mutations import payload
from make_golden import PORTABLE, header_2
from resp import OK, bulk, integer

REDISSON = FIXTURES["redisson/bytes.bitmap"]
ALL = {**SAMPLES, "redisson": Redisson(601, 5)}
EACH = pytest.mark.parametrize("name", ALL)
NUMBERS = {
    "GUAVA32": 5,
    "GUAVA64": 6,
    "SPARK1": 7,
    "SPARK2": 8,
    "CASSANDRA2": 9,
    "CASSANDRA3": 10,
    "GO": 11,
    "BIP37": 12,
    "ROCKSDB": 13,
    "ROCKSDB4": 14,
    "DATASKETCHES": 15,
    "REDISSON": 16,
}
ITEMS = [b"item:%d" % i for i in range(40)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(960)]


def seed_of(model):
    if model.scheme == "SPARK2":
        return struct.pack("<i", model.seed)
    if model.scheme == "BIP37":
        return struct.pack("<IB", model.tweak, model.flags)
    if model.scheme == "DATASKETCHES":
        return struct.pack("<QB", model.seed, model.is_counted)
    return b""


def header(model, items, **fields):
    """The header of one layer; `fields` replace single ones."""
    layer = Layer(capacity=100_000, items=items, ones=count_ones(model.bits), error_rate=0.01, k=model.k, m=model.m)
    layer = layer._replace(**{name: fields.pop(name) for name in ("k", "m") if name in fields})
    given = {"scheme": NUMBERS[model.scheme], "seed": seed_of(model), "expansion": 0, "loaded": len(model.bits), **fields}
    return header_2([layer], [0], **{"window": 0, "generations": 0, "capacity": 0, **given})


def load(call, key, model, items):
    assert call("BF.LOADCHUNK", key, 1, header(model, items)) == OK
    assert call("BF.LOADCHUNK", key, 1 + len(model.bits), bytes(model.bits)) == OK


def filled(name):
    model = ALL[name].empty()
    return model, sum(model.add(item) for item in ITEMS)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_imported_filter_has_its_number_and_its_seed(call, name):
    model, _ = filled(name)
    assert import_foreign(call, "k", model) == OK
    (_, first), (_, bits) = dump(call, "k")
    assert bits == bytes(model.bits)
    assert struct.unpack_from("<IBB", first, 8) == (2, NUMBERS[model.scheme], 0)
    assert first[48:128] == bytes(16) + seed_of(model).ljust(64, b"\0")


@EACH
def test_a_filter_in_our_own_bytes_answers_as_the_library_does(call, name):
    model, items = filled(name)
    load(call, "k", model, items)
    assert call("BF.CARD", "k") == integer(items)
    assert call("BF.INFO", "k", "HASH").plain == [model.scheme.encode()]
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert export_foreign(call, "k", model) == bulk(model.data)
    for item in PROBES[40:80]:
        assert call("BF.ADD", "k", item) == integer(model.add(item))
    assert export_foreign(call, "k", model) == bulk(model.data)
    state = filter_state(call, "k")
    assert call("RESTORE", "restored", "0", call("DUMP", "k").plain) == OK
    assert filter_state(call, "restored") == state


@EACH
def test_restored_from_our_own_bytes_it_is_the_filter_that_was_loaded(call, name):
    model, items = filled(name)
    load(call, "k", model, items)
    strings = [header(model, items), PORTABLE.pack(model.k, model.m), bytes(model.bits)]
    assert call("RESTORE", "restored", "0", payload(strings)) == OK
    assert filter_state(call, "restored") == filter_state(call, "k")


# ---- Redisson ------------------------------------------------------------------------------------


def test_every_answer_of_redissons_filter_false_positives_included(call):
    load(call, "k", REDISSON.model, 500)
    assert look_up_all(call, "k", REDISSON.probes) == REDISSON.answers
    assert call("BF.EXPORT", "k", "FORMAT", "redisson") == bulk(REDISSON.data)


def test_redissons_filter_built_from_the_items_is_its_string_byte_for_byte(call):
    load(call, "k", REDISSON.model.empty(), 0)
    call("BF.MADD", "k", *REDISSON.added).plain
    assert call("BF.EXPORT", "k", "FORMAT", "redisson") == bulk(REDISSON.data)
    assert call("SET", "bitmap", call("BF.EXPORT", "k", "FORMAT", "redisson").plain) == OK
    assert all(call("GETBIT", "bitmap", p) == integer(1) for p in REDISSON.model.positions(REDISSON.added[0]))


def test_redissons_vectors(call):
    for vector in REDISSON.vectors:
        call("DEL", "k")
        load(call, "k", Redisson(vector.m, vector.k), 0)
        assert call("BF.ADD", "k", vector.item) == integer(1)
        assert call("BF.EXPORT", "k", "FORMAT", "redisson") == bulk(vector.data)


def test_an_empty_filter_of_redisson_is_an_empty_string(call):
    load(call, "k", Redisson(601, 5), 0)
    assert call("BF.EXPORT", "k", "FORMAT", "redisson") == bulk(b"")


def test_a_grown_filter_of_redisson_has_the_bits_of_its_rule(call):
    model = Redisson(601, 5)
    first = Layer(capacity=20, items=0, ones=0, error_rate=0.01, k=5, m=601)
    start = header_2([first], [0], window=0, generations=0, capacity=0, scheme=16, expansion=2, loaded=76)
    assert call("BF.LOADCHUNK", "k", 1, start) == OK
    assert call("BF.LOADCHUNK", "k", 77, bytes(76)) == OK
    call("BF.MADD", "k", *ITEMS[:30]).plain
    first, second = bits_of(call, "k")
    expected = model.add_all(ITEMS[:20]).bits
    assert first == bytes(expected) and second != bytes(len(second))
    assert look_up_all(call, "k", ITEMS[:30]) == [1] * 30


# ---- Headers that are wrong ----------------------------------------------------------------------


def wrong_headers(model, items):
    """What no header of this scheme may say."""
    seed = seed_of(model)
    yield "a byte after the seed", header(model, items, seed=seed.ljust(32, b"\0")[:-1] + b"\1")
    yield "a byte just after the seed", header(model, items, seed=seed + b"\1")
    yield "BLOCKED", header(model, items, layout=1)
    yield "COUNTING", header(model, items, layout=2)
    yield "a byte of the rest", header(model, items, rest=b"\1")
    yield "k of 0", header(model, items, k=0)
    yield "k of 256", header(model, items, k=256)
    yield "a window without generations", header(model, items, window=60)
    if model.scheme.startswith("ROCKSDB"):
        yield "m that is no multiple of 512", header(model, items, m=model.m - 8)
    if not model.grows:
        yield "expansion", header(model, items, expansion=2)
    if model.scheme == "DATASKETCHES":
        yield "a count that is neither stored nor not", header(model, items, seed=seed[:-1] + b"\2")


@EACH
def test_a_header_that_its_scheme_cannot_have_is_refused(call, name):
    model, items = filled(name)
    for what, data in wrong_headers(model, items):
        reply = call("BF.LOADCHUNK", "k", 1, data)
        assert reply.is_error and reply.value == BAD_DATA, (what, reply)
    assert call("DBSIZE") == integer(0)


@pytest.mark.parametrize("scheme", [17, 18, 127, 255])
def test_a_scheme_that_there_is_not_is_refused(call, scheme):
    model, items = filled("guava64")
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", 1, header(model, items, scheme=scheme))


@EACH
def test_version_1_does_not_have_these_schemes(call, name):
    model, items = filled(name)
    layer = Layer(capacity=100_000, items=items, ones=count_ones(model.bits), error_rate=0.01, k=model.k, m=model.m)
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", 1, version_1([layer], scheme=NUMBERS[model.scheme], expansion=0))
