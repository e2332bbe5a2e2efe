"""Which bits an item sets, against a model that shares no code with the module (bloom_model.py)."""


import pytest

from bloom_model import HASHES, FilterModel, fnv1a64, splitmix64, xxh64
from checks import add_all, look_up_all, assert_every_add_is_predicted, bits_of, layers_of
from resp import OK

SCHEMES = sorted(HASHES)

ITEMS = (
    [b"", b"\x00", b"\x00\x00", b"a", b"foobar", bytes(range(256)), b"\xff" * 31, b"\xff" * 32, b"\xff" * 33]
    + [b"key%d" % i for i in range(20)]
    + [bytes([i]) * (7 * i) for i in range(1, 9)]
)


def model_of(call, key, scheme):
    """A model of the filter's present layers, still empty."""
    shapes = [(layer.bits, layer.hashes, layer.capacity) for layer in layers_of(call, key)]
    return FilterModel(shapes, scheme)


# The model itself, against published vectors


@pytest.mark.parametrize(
    "data, seed, expected",
    [
        (b"", 0, 0xEF46DB3751D8E999),
        (b"", 1, 0xD5AFBA1336A3BE4B),
        (b"abc", 0, 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
    ],
)
def test_model_computes_xxh64(data, seed, expected):
    assert xxh64(data, seed) == expected


def test_model_computes_fnv1a_and_splitmix():
    assert fnv1a64(b"") == 0xCBF29CE484222325
    assert fnv1a64(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a64(b"foobar") == 0x85944171F73967E8
    assert splitmix64(0) == 0xE220A8397B1DCDAF
    assert splitmix64(0xDEADBEEF) == 0x4ADFB90F68C9EB9B
    assert splitmix64(fnv1a64(b"foobar")) == 0x5DF295413403DE4F


# The module against the model


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bits_of_37_items_are_where_the_scheme_puts_them(call, scheme):
    assert len(ITEMS) == len(set(ITEMS)) == 37
    assert call("BF.RESERVE", "k", "BITSPERKEY", "10", "100", "HASH", scheme) == OK
    model = model_of(call, "k", scheme)
    assert (model.layers[0].nbits, model.layers[0].nhashes) == (1000, 7)
    assert add_all(call, "k", ITEMS) == [model.add(item) for item in ITEMS]
    assert bits_of(call, "k") == [model.layers[0].bits]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_item_sets_exactly_its_own_bits(call, scheme):
    for item in ITEMS:
        call("DEL", "k")
        call("BF.RESERVE", "k", "BITSPERKEY", "9.6", "77", "NONSCALING", "HASH", scheme)
        model = model_of(call, "k", scheme)
        assert call("BF.ADD", "k", item).plain == model.add(item)
        assert bits_of(call, "k") == [model.layers[0].bits]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bits", ["10", "4", "1.5"])
def test_every_lookup_is_predicted_false_positives_included(call, scheme, bits):
    call("BF.RESERVE", "k", "BITSPERKEY", bits, "100", "NONSCALING", "HASH", scheme)
    model = model_of(call, "k", scheme)
    probes = [b"probe:%d" % i for i in range(2000)]
    assert look_up_all(call, "k", ITEMS + probes) == [0] * 2037
    add_all(call, "k", ITEMS + [b"more%d" % i for i in range(40)])
    for item in ITEMS + [b"more%d" % i for i in range(40)]:
        model.add(item)
    predicted = [model.contains(item) for item in ITEMS + probes]
    assert look_up_all(call, "k", ITEMS + probes) == predicted
    assert [call("BF.EXISTS", "k", item).plain for item in probes] == predicted[37:]
    if bits != "10":
        assert sum(predicted[37:]) > 50  # so the claim is about false positives too
    assert bits_of(call, "k") == [model.layers[0].bits]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("sizing", [("0.05",), ("BITSPERKEY", "6")], ids="-".join)
def test_every_add_is_predicted_through_growth(call, scheme, sizing):
    call("BF.RESERVE", "k", *sizing, "20", "HASH", scheme)
    assert_every_add_is_predicted(call, "k", lambda *words: model_of(*words, scheme), seed=20240601)


def test_fnv1a_sets_the_bits_of_the_published_vector(call):
    """key0..key3 at m = 25, k = 4 give 26 82 7f 01. 6.25 bits per key for 4 keys are 25."""
    call("BF.RESERVE", "k", "BITSPERKEY", "6.25", "4", "NONSCALING", "HASH", "FNV1A")
    (layer,) = layers_of(call, "k")
    assert (layer.bits, layer.hashes) == (25, 4)
    assert call("BF.MADD", "k", "key0", "key1", "key2", "key3").plain == [1, 1, 1, 1]
    assert bits_of(call, "k") == [bytes.fromhex("26827f01")]


def test_the_two_schemes_set_different_bits(call):
    for scheme in SCHEMES:
        call("BF.RESERVE", scheme, "BITSPERKEY", "10", "100", "HASH", scheme)
        call("BF.ADD", scheme, "a")
    assert bits_of(call, "XXH64") != bits_of(call, "FNV1A")
