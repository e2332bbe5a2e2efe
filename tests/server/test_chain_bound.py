"""The chain of layers is bounded: up to 16 layers a new one has `expansion` times the last one's
capacity; from the 17th on max(expansion * last, sum of all before it), so that no sequence of
commands makes lookups slow. The promised rate and BF.INFO's expansion stay."""

import hashlib
import math

import pytest

from checks import add_all, look_up_all, card_and_layers, dump, info, layers_of
from filters import Layer
from resp import OK, ONE
from test_always_loadable import native_payload

AS_EVER = 16
MOST = 64


def names(count, prefix="item"):
    return ["%s%d" % (prefix, i) for i in range(count)]


def capacities(first, expansion, count):
    """The rule, in plain Python."""
    found = [first]
    while len(found) < count:
        following = expansion * found[-1]
        found.append(following if len(found) < AS_EVER else max(following, sum(found)))
    return found


def add_bounded(call, key, items):
    """BF.MADD of 1,000, and after each the claim, so that a chain without a bound fails soon."""
    for start in range(0, len(items), 1000):
        call("BF.MADD", key, *items[start : start + 1000]).plain
        assert info(call, key)["Number of filters"] <= MOST


def stats(call, key):
    flat = call("BF.STATS", key).plain
    return dict(zip(flat[::2], flat[1::2]))


# By bits per key a first layer of one item has 12 bits, and how many of them that item sets is chance: the rate of
# one such filter shows nothing. With 20 items the rate of the first layer is near its mean.
RATES = [("0.01", "1"), ("BITSPERKEY", "12", "20")]


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED"])
@pytest.mark.parametrize("rate", RATES, ids="-".join)
def test_20000_items_one_by_one_make_at_most_64_layers_and_keep_the_rate(call, rate, layout):
    assert call("BF.RESERVE", "k", *rate, "EXPANSION", "1", "LAYOUT", layout) == OK
    items = names(20_000)
    add_bounded(call, "k", items)
    seen = info(call, "k")
    assert seen["Expansion rate"] == 1
    assert look_up_all(call, "k", items) == [1] * len(items)
    promise = float(stats(call, "k")["promised error rate"])
    assert promise == 0.01 or rate[0] == "BITSPERKEY"
    sample = 50_000
    wrong = sum(look_up_all(call, "k", names(sample, "absent")))
    bound = promise + 4 * math.sqrt(promise * (1 - promise) / sample)  # expected at most `promise`; 4 sigmas
    print("%d layers, %d of %d false positives, promised %g" % (seen["Number of filters"], wrong, sample, promise))
    assert wrong / sample <= bound


@pytest.mark.parametrize("first", [1, 10])
@pytest.mark.parametrize("expansion, items", [(1, 20_000), (2, 150_000), (3, 20_000), (4, 50_000)])
def test_capacities_are_those_of_the_rule(call, first, expansion, items):
    assert call("BF.RESERVE", "k", "0.01", first, "EXPANSION", expansion) == OK
    add_bounded(call, "k", names(items))
    card, layers = card_and_layers(call, "k")
    assert [layer.capacity for layer in layers] == capacities(first, expansion, len(layers))
    assert all(layer.size == layer.capacity for layer in layers[:-1])
    assert card == sum(layer.size for layer in layers)
    assert info(call, "k")["Expansion rate"] == expansion
    assert len(layers) > AS_EVER or expansion > 2 or first > 1


# SHA-256 of all that BF.SCANDUMP gave in version 0.1.0: growth up to 16 layers is the same to the last bit.
# {(rate, capacity, expansion, layout, items): (layers, hash)}
GOLDEN = {
    ("0.01", "10", 1, "CLASSIC", 155): (16, "7d9b99ab2a65e30883552f7f6d0c983045daf34c9eefdd7dea94d116910e2201"),
    ("0.01", "1", 2, "CLASSIC", 40_000): (16, "c2e4d7ad8a7eb81ecbd3dc166517d035bdae253d3eccb9a14d78db92868b6ca5"),
    ("0.001", "1", 4, "CLASSIC", 20_000): (8, "cff6ad4ed642077779fc579400ff6e2bb2db15cd0f307186825065bfb6fa4d12"),
    ("0.01", "10", 1, "BLOCKED", 155): (16, "f29af3d423f076f8aa57cb8b1c4c0d8229d3dd71b20e3c3bac21642483117329"),
}


@pytest.mark.parametrize("shape", GOLDEN, ids=lambda shape: "-".join(map(str, shape)))
def test_growth_up_to_16_layers_is_bit_by_bit_that_of_0_1_0(call, shape):
    rate, capacity, expansion, layout, items = shape
    assert call("BF.RESERVE", "k", rate, capacity, "EXPANSION", expansion, "LAYOUT", layout) == OK
    add_all(call, "k", names(items), batch=500)
    data = b"".join(b"%d:%s" % piece for piece in dump(call, "k"))
    assert (info(call, "k")["Number of filters"], hashlib.sha256(data).hexdigest()) == GOLDEN[shape]


# ---- Chains that 0.1.0 made ------------------------------------------------------------------------

# One item each, in 7 of 512 bits: a lookup of another item meets it once in 10^13 layers.
ONE_ITEM = Layer(1, 1, 7, 0.01, 7, 512)
ITS_BITS = b"\x7f" + bytes(63)


@pytest.mark.parametrize("nlayers", [17, 2_000, 20_000])
def test_a_long_chain_loads_and_its_next_layer_holds_as_much_as_all_before(call, nlayers):
    reply = call("RESTORE", "k", 0, native_payload([ONE_ITEM] * nlayers, ITS_BITS, expansion=1))
    assert reply == OK
    assert info(call, "k")["Number of filters"] == nlayers
    assert call("BF.ADD", "k", "first") == ONE
    assert [layer.capacity for layer in layers_of(call, "k")[nlayers:]] == [nlayers]
    assert call("BF.EXISTS", "k", "first") == ONE
    if nlayers > 2_000:
        return  # more adds would take minutes: each looks at every layer
    more = names(nlayers + 10)
    add_all(call, "k", more, batch=1000)
    assert [layer.capacity for layer in layers_of(call, "k")[nlayers:]] == [nlayers, 2 * nlayers]
    assert look_up_all(call, "k", more) == [1] * len(more)
    assert info(call, "k")["Expansion rate"] == 1


# ---- What BF.STATS shows ---------------------------------------------------------------------------


def test_stats_warns_of_more_than_16_layers(call):
    assert call("BF.RESERVE", "k", "0.01", "1", "EXPANSION", "1") == OK
    i = 0
    while info(call, "k")["Number of filters"] < AS_EVER:
        call("BF.ADD", "k", "item%d" % i)
        i += 1
    assert stats(call, "k")["state"] == b"ok"
    while info(call, "k")["Number of filters"] == AS_EVER:
        call("BF.ADD", "k", "item%d" % i)
        i += 1
    seen = stats(call, "k")
    assert seen["state"] == b"many layers"
    assert b"reserve" in seen["advice"].lower()
