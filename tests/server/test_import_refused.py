"""BF.IMPORT of payloads that are wrong: truncated, extended, contradictory, giant, damaged. Each is
refused with an error that names the field, and no key appears.
"""

import math
import random
import struct

import pytest

from checks import FULL, look_up_all, dump, filter_state, keyspace, load
from formats_model import (
    LevelDb,
    Parquet,
    Plain,
    RedisBloom,
    parquet_header,
    with_fields,
)
from imports import FORMATS, ITEMS, PROBES, assert_bad_data, import_, payload
from resp import OK, ZERO, error

@pytest.mark.parametrize("name", FORMATS)
def test_every_truncation_is_refused_with_the_field(call, name):
    data, _ = payload(name, ITEMS)
    if name == "leveldb":  # k is the last byte: any prefix that ends in 1 to 30 is another filter
        data = bytes(b | 0x80 for b in data[:-1]) + data[-1:]
    fields = {"shorter than its header", "length is not that of m bits", "Thrift header", "numBytes", "k",
              "shorter than one byte of bits and k", "number of layers", "length is not that of the layers' bits"}
    for length in range(len(data)):
        assert_bad_data(call, name, data[:length], fields)


@pytest.mark.parametrize("name", ["portable", "sstable", "parquet", "redisbloom"])
@pytest.mark.parametrize("more", [b"\x00", b"\xff", bytes(8), bytes(64)], ids=len)
def test_every_extension_is_refused(call, name, more):
    assert_bad_data(call, name, payload(name, ITEMS)[0] + more, "length")


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
    assert_bad_data(call, "portable", struct.pack("<IQ", 6, m) + bytes(size), " m")
    assert_bad_data(call, "sstable", struct.pack("<QII", m, 6, 10) + bytes(size), " m")


@pytest.mark.parametrize("k", [0, 256, 257, 2**31, 2**32 - 1])
def test_a_k_out_of_range_is_refused(call, k):
    assert_bad_data(call, "portable", struct.pack("<IQ", k, 64) + bytes(8), "k")
    assert_bad_data(call, "sstable", struct.pack("<QII", 64, k, 10) + bytes(8), "k")


def test_sstable_of_no_bits_per_key_is_refused(call):
    assert_bad_data(call, "sstable", struct.pack("<QII", 64, 6, 0) + bytes(8), "bits per key")


@pytest.mark.parametrize("b", [257, 300, 333, 999, 1001, 2**31, 2**32 - 1])
def test_sstable_of_more_bits_per_key_than_can_be_kept_is_refused(call, b):
    """Over 256 they are kept as m / capacity; no capacity makes these of 1000 bits."""
    expected = {round(1000 / n) for n in range(1, 1001)}
    assert (b in expected) == (b == 333)
    data = struct.pack("<QII", 1000, 6, b) + bytes(125)
    if b == 333:
        assert import_(call, "k", "sstable", data) == OK
        assert call("BF.EXPORT", "k", "FORMAT", "sstable").plain == data
    else:
        assert_bad_data(call, "sstable", data, "bits per key")


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
    "no bytes": ("numBytes", parquet_header(0)),
    "not whole blocks": ("numBytes", parquet_header(33) + bytes(33)),
    "half a block": ("numBytes", parquet_header(16) + bytes(16)),
    "negative": ("numBytes", b"\x15\x3f" + parquet_header(32)[2:] + bytes(32)),
    "2^31 - 32 claimed": ("length", parquet_header(2**31 - 32) + bytes(64)),
    "2^40 claimed": ("numBytes", parquet_header(2**40) + bytes(64)),
    "2^62 claimed": ("numBytes", parquet_header(2**62) + bytes(64)),
    "endless varint": ("numBytes", b"\x15" + b"\x80" * 100),
    "endless varint of ones": ("numBytes", b"\x15" + b"\xff" * 100),
    "another type of field 1": ("Thrift header", b"\x16" + parquet_header(32)[1:] + bytes(32)),
    "another algorithm": ("Thrift header", b"\x15\x40\x1c\x2c" + parquet_header(32)[4:] + bytes(32)),
    "nothing after the size": ("Thrift header", b"\x15\x40"),
    "no header": ("Thrift header", bytes(32)),
}


@pytest.mark.parametrize("what", PARQUET_WRONG)
def test_a_wrong_parquet_header_is_refused(call, what):
    field, data = PARQUET_WRONG[what]
    assert_bad_data(call, "parquet", data, field)


@pytest.mark.parametrize("at", range(2, len(parquet_header(32))))
def test_another_algorithm_hash_or_compression_of_parquet_is_refused(call, at):
    for flip in (0x01, 0x10, 0xFF):
        data = bytearray(parquet_header(32) + bytes(32))
        data[at] ^= flip
        assert_bad_data(call, "parquet", bytes(data), "Thrift header")


def redisbloom_with(layer=0, **fields):
    """A valid dump of two layers with fields replaced, right or wrong."""
    model = RedisBloom(0.02, 10)
    for item in ITEMS[:25]:
        model.add(item)
    assert len(model.layers) == 2
    return with_fields(model.data, layer, **fields)


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


OF_A_LAYER = [row for row in REDISBLOOM_WRONG if not set(row[1]) & {"items", "nlayers", "options", "growth"}]


@pytest.mark.parametrize(
    "layer, field, values",
    [(0, *row) for row in REDISBLOOM_WRONG] + [(1, *row) for row in OF_A_LAYER],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_field_of_a_redisbloom_dump_is_refused(call, layer, field, values):
    if layer == 1 and values == {"hashes": 8}:
        values = {"hashes": 7}
    if layer == 1 and values.get("size") in (9, 11):
        values = {"size": values["size"] + 10}
    assert_bad_data(call, "redisbloom", redisbloom_with(layer, **values), field)


def test_the_dump_under_those_faults_is_imported_without_them(call):
    assert import_(call, "k", "redisbloom", redisbloom_with()) == OK


def test_capacities_that_sum_up_to_more_than_2_to_the_63_are_refused(call):
    data = bytearray(redisbloom_with())
    for layer in (0, 1):
        struct.pack_into("<Q", data, 20 + 53 * layer + 44, 2**63 - 1)
    assert_bad_data(call, "redisbloom", bytes(data), "capacity")


def test_items_moved_between_layers_become_an_estimate_where_the_bits_cannot_hold_them(call):
    """The sum stays right, but the bits set in a layer cannot be those of so few items. RedisBloom loads it, and a
    filter of its type that is loaded in pieces can be in that state."""
    data = bytearray(redisbloom_with())
    (first,), (second,) = (struct.unpack_from("<Q", data, at) for at in (20 + 16, 73 + 16))
    struct.pack_into("<Q", data, 20 + 16, 1)
    struct.pack_into("<Q", data, 73 + 16, first + second - 1)
    assert import_(call, "k", "redisbloom", bytes(data)) == OK
    flat = call("BF.STATS", "k").plain
    fields = dict(zip(flat[::2], flat[1::2]))
    assert fields["items are estimated"] == 1 and abs(fields["items"] - fields["estimated items"]) <= 1
    assert abs(fields["items"] - 25) <= 5, "sigma is under 1, as two layers of 100 and 190 bits hold 10 and 15 items"
    assert_harmless(call, "k")


def assert_harmless(call, key):
    """The filter can be queried, described, dumped, restored, copied and added to: the server lives."""
    look_up_all(call, key, PROBES[:100])
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


@pytest.mark.parametrize(
    "name, words",  # a redisbloom dump has an expansion of its own
    [(name, ()) for name in FORMATS] + [(name, ("EXPANSION", "2")) for name in FORMATS if name != "redisbloom"],
)
def test_every_byte_flipped_is_refused_or_a_filter_that_does_no_harm(call, name, words):
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
