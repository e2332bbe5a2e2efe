"""Scaling filters: when a layer is added, how large it is, and that no item is lost."""

import math

import pytest

from checks import add_all, look_up_all, card_and_layers, info, layers_of
from resp import OK


def names(count, prefix="item"):
    return ["%s%d" % (prefix, i) for i in range(count)]


def fill_first_layer(call, capacity, *tail):
    """Adds one by one until `capacity` answers were 1."""
    assert call("BF.RESERVE", "k", "0.01", capacity, *tail) == OK
    ones, i = 0, 0
    while ones < capacity:
        ones += call("BF.ADD", "k", "item%d" % i).plain
        i += 1


@pytest.mark.parametrize("expansion", [1, 2, 4, 32768])
@pytest.mark.parametrize("capacity", [1, 7, 100])
def test_layer_is_added_by_the_first_new_item_after_capacity_ones(call, capacity, expansion):
    fill_first_layer(call, capacity, "EXPANSION", expansion)
    assert info(call, "k")["Number of filters"] == 1
    assert info(call, "k")["Capacity"] == capacity
    assert call("BF.ADD", "k", "item0").plain == 0
    assert info(call, "k")["Number of filters"] == 1
    i = 0
    while call("BF.ADD", "k", "new%d" % i).plain == 0:
        assert info(call, "k")["Number of filters"] == 1
        i += 1
    seen = info(call, "k")
    assert seen["Number of filters"] == 2
    assert seen["Capacity"] == capacity + capacity * expansion
    assert seen["Number of items inserted"] == capacity + 1
    assert seen["Expansion rate"] == expansion


@pytest.mark.parametrize("expansion, items", [(1, 400), (2, 3000), (4, 9000)])
def test_each_layer_has_expansion_times_the_capacity_of_the_one_before(call, expansion, items):
    call("BF.RESERVE", "k", "0.01", "10", "EXPANSION", expansion)
    answers = add_all(call, "k", names(items), batch=500)
    card, layers = card_and_layers(call, "k")
    assert len(layers) >= 5
    assert [layer.capacity for layer in layers[:16]] == [10 * expansion**i for i in range(min(16, len(layers)))]
    assert all(layer.size == layer.capacity for layer in layers[:-1])
    assert 0 < layers[-1].size <= layers[-1].capacity
    assert card == sum(answers) == sum(layer.size for layer in layers)


@pytest.mark.parametrize("expansion", [1, 2, 4])
@pytest.mark.parametrize("sizing", [("0.01",), ("0.3",), ("BITSPERKEY", "10")], ids="-".join)
def test_every_added_item_is_found_through_all_layers(call, sizing, expansion):
    call("BF.RESERVE", "k", *sizing, "10", "EXPANSION", expansion)
    items = names(1000)
    for batch in range(0, 1000, 100):
        add_all(call, "k", items[: batch + 100], batch=33)
        assert look_up_all(call, "k", items[: batch + 100]) == [1] * (batch + 100)
    assert info(call, "k")["Number of filters"] > 3


def test_an_item_of_an_old_layer_is_present_and_not_added_to_the_new_one(call):
    fill_first_layer(call, 50)
    call("BF.MADD", "k", *names(30, "new"))
    assert info(call, "k")["Number of filters"] == 2
    before = card_and_layers(call, "k")
    assert call("BF.ADD", "k", "item0").plain == 0
    assert call("BF.MADD", "k", *names(50)).plain == [0] * 50
    assert card_and_layers(call, "k") == before


@pytest.mark.parametrize("rate", ["0.01", "0.001", "0.2"])
@pytest.mark.parametrize("expansion", [1, 2, 4])
def test_error_rates_of_all_layers_together_stay_within_the_promise(call, rate, expansion):
    call("BF.RESERVE", "k", rate, "5", "EXPANSION", expansion)
    add_all(call, "k", names(4000))
    layers = layers_of(call, "k")
    assert len(layers) >= 5
    compound = 1 - math.prod(1 - layer.ratio for layer in layers)
    assert compound <= float(rate) * (1 + 1e-5)  # BF.DEBUG writes six digits


def test_a_small_filter_with_expansion_1_has_16_equal_layers_and_then_doubles(call):
    """However small a filter began, the chain stays short, and BF.INFO still shows the given expansion."""
    call("BF.RESERVE", "k", "0.01", "2", "EXPANSION", "1")
    items = names(20_000)
    answers = add_all(call, "k", items)
    card, layers = card_and_layers(call, "k")
    assert card == sum(answers) and info(call, "k")["Expansion rate"] == 1
    assert [layer.capacity for layer in layers] == [2] * 16 + [32 * 2**i for i in range(len(layers) - 16)]
    assert len(layers) == 26
    assert look_up_all(call, "k", items) == [1] * 20_000


@pytest.mark.parametrize("capacity, expansion", [(2, 1), (10, 1), (1, 2), (5, 2), (1, 4)])
def test_promise_holds_for_filters_that_grew_from_very_small_layers(call, capacity, expansion):
    """p = 0.01, 1000 items over many layers, 20,000 absent probes.

    Expected at most 1.1 p = 0.011, that is 220 probes; one sigma is
    sqrt(20000 * 0.011 * 0.989) = 14.8; the bound is 4 sigmas above: 279.
    """
    call("BF.RESERVE", "k", "0.01", capacity, "EXPANSION", expansion)
    add_all(call, "k", names(1000))
    assert sum(look_up_all(call, "k", names(20_000, "absent"))) <= 279
