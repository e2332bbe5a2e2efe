"""BF.IMPORT of RedisBloom's own dumps, and of dumps made by its formulas (formats_model.py)."""

import math
import os

import pytest

from checks import FULL, add_all, look_up_all, info
from formats_model import REDISBLOOM_FIXED, REDISBLOOM_LAYER, RedisBloom, redisbloom_fixtures
from imports import import_
from resp import OK, ONE, ZERO, bulk, error, integer

FIXTURES = redisbloom_fixtures()


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_dump_gives_its_answers_counts_and_bytes(call, key):
    row, data = FIXTURES[key]
    assert import_(call, "k", "redisbloom", data) == OK
    probes = [b"fixture:probe:%d" % j for j in range(5000)]
    assert "".join(map(str, look_up_all(call, "k", probes))) == row["answers"]
    items = [b"fixture:%d" % i for i in range(row["items"])]
    assert look_up_all(call, "k", items) == [1] * len(items)
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
