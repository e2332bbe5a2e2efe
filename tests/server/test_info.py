"""BF.INFO and BF.DEBUG: fields, order and reply shapes, as RedisBloom has them."""

import pytest

from checks import INFO_FIELDS, LAYER_LINE, arity_error, assert_refused, card_and_layers, info
from resp import NULL_BULK, array, integer, simple


def test_info_is_five_pairs_with_simple_string_names_in_redisbloom_order(call):
    call("BF.RESERVE", "k", "0.01", "100", "EXPANSION", "3")
    call("BF.MADD", "k", "a", "b")
    reply = call("BF.INFO", "k")
    size = reply.value[3]
    assert size.kind == ":" and size.value > 0
    assert reply == array(
        simple("Capacity"),
        integer(100),
        simple("Size"),
        size,
        simple("Number of filters"),
        integer(1),
        simple("Number of items inserted"),
        integer(2),
        simple("Expansion rate"),
        integer(3),
    )


@pytest.mark.parametrize("word, name", INFO_FIELDS.items())
def test_info_of_one_field_is_an_array_of_one_integer(call, word, name):
    call("BF.RESERVE", "k", "0.01", "100")
    call("BF.ADD", "k", "a")
    expected = array(integer(info(call, "k")[name]))
    assert call("BF.INFO", "k", word) == expected
    assert call("BF.INFO", "k", word.lower()) == expected
    assert call("BF.INFO", "k", word.title()) == expected


@pytest.mark.parametrize("tail", [("NONSCALING",), ("EXPANSION", "0")])
def test_expansion_rate_of_a_nonscaling_filter_is_null(call, tail):
    call("BF.RESERVE", "k", "0.01", "100", *tail)
    assert call("BF.INFO", "k").value[9] == NULL_BULK
    assert call("BF.INFO", "k", "EXPANSION") == array(NULL_BULK)


@pytest.mark.parametrize("word", ["", "FOO", "CAP", "CAPACITYX", "Number of filters", "C", "Capacity "])
def test_unknown_info_field_is_refused(call, word):
    call("BF.ADD", "k", "a")
    assert_refused(call, "ERR Invalid information value", "BF.INFO", "k", word)


def test_more_than_one_info_field_is_an_arity_error(call):
    call("BF.ADD", "k", "a")
    assert_refused(call, arity_error("BF.INFO"), "BF.INFO", "k", "CAPACITY", "SIZE")
    assert_refused(call, arity_error("BF.INFO"), "BF.INFO", "k", "CAPACITY", "SIZE", "ITEMS")


@pytest.mark.parametrize("words", [("BF.INFO", "k"), ("BF.INFO", "k", "SIZE"), ("BF.DEBUG", "k")])
def test_missing_key_answers_not_found(call, words):
    assert_refused(call, "ERR not found", *words)


SHAPES = [
    ("0.01", "1"),
    ("0.01", "100"),
    ("0.0001", "100000"),
    ("BITSPERKEY", "10", "12345"),
    ("0.01", "1000000", "NONSCALING"),
]


@pytest.mark.parametrize("shape", SHAPES, ids="-".join)
def test_size_is_the_bits_and_a_little_for_structures(call, shape):
    call("BF.RESERVE", "k", *shape)
    for _ in range(2):  # as reserved, then grown where it grows
        layers = card_and_layers(call, "k")[1]
        nbytes, size = sum(layer.bytes for layer in layers), info(call, "k")["Size"]
        assert nbytes <= size < nbytes + 256 * len(layers) + 256
        call("BF.MADD", "k", *range(1000))


def test_size_of_many_layers_is_the_bits_and_a_little_for_structures(call):
    call("BF.RESERVE", "k", "0.01", "10", "EXPANSION", "1")
    call("BF.MADD", "k", *range(1000))
    layers = card_and_layers(call, "k")[1]
    assert len(layers) > 16
    nbytes, size = sum(layer.bytes for layer in layers), info(call, "k")["Size"]
    assert nbytes <= size < nbytes + 256 * len(layers) + 256


def test_debug_is_bulk_strings_a_total_then_a_line_for_each_layer_oldest_first(call):
    call("BF.RESERVE", "k", "0.01", "10")
    call("BF.MADD", "k", *range(100))
    reply = call("BF.DEBUG", "k")
    assert reply.kind == "*" and {line.kind for line in reply.value} == {"$"}
    card, layers = card_and_layers(call, "k")
    assert reply.value[0].value == b"size:%d" % card
    assert len(reply.value) == 1 + len(layers)
    assert [layer.capacity for layer in layers] == [10, 20, 40, 80]


def test_debug_ratio_is_written_as_percent_g_does(call):
    call("BF.RESERVE", "k", "0.00001", "1000000", "NONSCALING")
    line = call("BF.DEBUG", "k").plain[1]
    written = LAYER_LINE.fullmatch(line).group(6).decode()
    assert written == "%g" % float(written)
    assert 0 < float(written) < 1


def test_debug_agrees_with_info_and_card(call):
    call("BF.RESERVE", "k", "0.01", "10", "EXPANSION", "3")
    call("BF.MADD", "k", *range(300))
    card, layers = card_and_layers(call, "k")
    seen = info(call, "k")
    assert card == seen["Number of items inserted"] == call("BF.CARD", "k").value
    assert card == sum(layer.size for layer in layers)
    assert sum(layer.capacity for layer in layers) == seen["Capacity"]
    assert len(layers) == seen["Number of filters"]
    assert all(layer.bytes == (layer.bits + 7) // 8 for layer in layers)
