"""Bits and hashes as BF.DEBUG shows them, against the sizing formulas."""

import math

import pytest

from checks import add_all, look_up_all, layers_of
from resp import OK


def only_layer(call, *words):
    assert call("BF.RESERVE", "k", *words) == OK
    (layer,) = layers_of(call, "k")
    return layer


@pytest.mark.parametrize("bits, hashes", [(4, 3), (8, 6), (10, 7), (12, 8), (16, 11), (20, 14)])
@pytest.mark.parametrize("capacity", [1, 7, 100, 1000, 1_000_000])
@pytest.mark.parametrize("tail", [(), ("NONSCALING",), ("EXPANSION", "4")], ids=["default", "nonscaling", "4"])
def test_bits_per_key_give_exactly_those_bits_and_this_many_hashes(call, bits, hashes, capacity, tail):
    layer = only_layer(call, "BITSPERKEY", bits, capacity, *tail)
    assert (layer.bits, layer.hashes, layer.capacity) == (bits * capacity, hashes, capacity)
    assert layer.bytes == math.ceil(bits * capacity / 8)


@pytest.mark.parametrize("bits", ["9.6", "1.5", "12.25", "10.7"])
@pytest.mark.parametrize("capacity", [1, 7, 10, 333, 1000, 99_999])
def test_fractional_bits_per_key_are_rounded_up_over_the_whole_filter(call, bits, capacity):
    layer = only_layer(call, "BITSPERKEY", bits, capacity)
    exact = int(round(float(bits) * 100)) * capacity  # in hundredths of a bit
    assert layer.bits == -(-exact // 100)
    assert layer.hashes == max(1, round(float(bits) * math.log(2)))


@pytest.mark.parametrize("bits, hashes", [("1", 1), ("2", 1), ("3", 2), ("43", 30), ("44", 30), ("100", 30), ("256", 30)])
def test_hashes_are_held_between_1_and_30(call, bits, hashes):
    assert only_layer(call, "BITSPERKEY", bits, 100).hashes == hashes


def test_one_bit_for_one_item_is_a_working_filter(call):
    layer = only_layer(call, "BITSPERKEY", 1, 1, "NONSCALING")
    assert (layer.bytes, layer.bits, layer.hashes) == (1, 1, 1)
    assert call("BF.EXISTS", "k", "a").plain == 0
    assert call("BF.ADD", "k", "a").plain == 1
    assert call("BF.EXISTS", "k", "a").plain == 1
    assert call("BF.EXISTS", "k", "b").plain == 1  # the one bit is set: everything is


@pytest.mark.parametrize(
    "rate, hashes",
    [("0.9", 1), ("0.5", 1), ("0.25", 2), ("0.1", 3), ("0.01", 7), ("0.001", 10), ("0.0001", 13), ("1e-6", 20)],
)
def test_error_rate_gives_rounded_log2_hashes_and_the_smallest_bits_that_keep_it(call, rate, hashes):
    """At a million items the corrections for small filters no longer matter: within 0.1 %.

    Full is when n adds have *counted*; each leaves d(1-f)/(1-f^k) more bits set, so that the fill f obeys
    sum(f^i / i, i = 1..k) = kn/m. That tends to the textbook's -ln(1-f) = kn/m as k grows; at k = 1 it is f = n/m.
    """
    n, p = 1_000_000, float(rate)
    layer = only_layer(call, rate, n, "NONSCALING")
    assert layer.hashes == hashes
    fill = p ** (1 / hashes)
    smallest = hashes * n / sum(fill**i / i for i in range(1, hashes + 1))
    textbook = -hashes * n / math.log(1 - fill)
    assert smallest - 1 <= layer.bits <= smallest * 1.001
    assert layer.bits >= textbook - 1


def test_hashes_stay_at_30_below_one_in_a_billion(call):
    assert only_layer(call, "1e-12", 1000, "NONSCALING").hashes == 30


@pytest.mark.parametrize("capacity", [1000, 100_000, 10_000_000])
def test_default_filter_takes_at_most_10_6_bits_per_item_at_one_percent(call, capacity):
    assert only_layer(call, "0.01", capacity).bits <= 10.6 * capacity


@pytest.mark.parametrize("rate", ["0.5", "0.1", "0.01", "0.0001", "1e-6"])
def test_small_filters_get_at_least_the_bits_of_the_formula(call, rate):
    hashes = min(30, max(1, round(-math.log2(float(rate)))))
    per_item = -hashes / math.log(1 - float(rate) ** (1 / hashes))
    for n in (1, 2, 5, 10, 50, 100):
        call("DEL", "k")
        assert only_layer(call, rate, n, "NONSCALING").bits >= per_item * n - 1


def test_high_rate_and_small_capacity_never_give_a_filter_of_no_bits(call):
    """RedisBloom computed 0 bits here and crashed."""
    for rate in ("0.5", "0.9", "0.99", "0.999999"):
        for tail in ((), ("NONSCALING",)):
            call("DEL", "k")
            layer = only_layer(call, rate, 1, *tail)
            assert layer.bits >= 1 and layer.bytes >= 1 and layer.hashes >= 1
            assert call("BF.ADD", "k", "a").plain == 1
            assert call("BF.EXISTS", "k", "a").plain == 1


def test_full_default_filter_keeps_its_promise(call):
    """p = 0.01, 100,000 items in a filter reserved for them, 200,000 absent probes.

    Expected at most 1.1 p = 0.011 of the probes, that is 2200; one sigma is
    sqrt(200000 * 0.011 * 0.989) = 46.6; the bound is 4 sigmas above: 2386.
    """
    call("BF.RESERVE", "k", "0.01", "100000")
    add_all(call, "k", ["item%d" % i for i in range(100_000)])
    assert len(layers_of(call, "k")) == 1
    false = sum(look_up_all(call, "k", ["absent%d" % i for i in range(200_000)]))
    assert false <= 2386
    assert false > 0  # it is a Bloom filter after all
