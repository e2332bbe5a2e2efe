"""Random commands on several filters against plain Python sets. No false negative, ever."""

import random

import pytest

from checks import FULL, look_up_all, card_and_layers, info
from resp import OK, ONE, ZERO, error

SEEDS = [1, 2, 3]
STEPS = 1500

FILTERS = {
    "default": (),
    "small": ("0.1", "3"),
    "steady": ("0.01", "20", "EXPANSION", "1"),
    "bits": ("BITSPERKEY", "5.5", "17", "EXPANSION", "4"),
    "fnv": ("0.05", "10", "HASH", "FNV1A"),
    "fixed": ("0.2", "60", "NONSCALING"),
}


class Expected:
    """What must be true of one filter: items it was given, and how many answers were 1."""

    def __init__(self, capacity=None):
        self.given, self.ones, self.capacity = set(), 0, capacity

    def take(self, item, reply):
        if reply == ONE:
            assert item not in self.given, "1 for an item that was there"
            self.given.add(item)
            self.ones += 1
        elif reply == ZERO:
            self.given.add(item)  # perhaps a false positive: from now on it is found all the same
        else:
            assert reply == error(FULL) and self.capacity == self.ones
            assert item not in self.given
        assert self.capacity is None or self.ones <= self.capacity


def add(call, source, key, expected, items):
    how = source.randrange(3)
    if how == 0:
        for item in items:
            expected.take(item, call("BF.ADD", key, item))
        return
    command = ("BF.MADD", key) if how == 1 else ("BF.INSERT", key, "ITEMS")
    replies = call(*command, *items).value
    if len(replies) < len(items):
        assert replies[-1].is_error
    for item, reply in zip(items, replies):
        expected.take(item, reply)


def check(call, source, key, expected, some):
    present = source.sample(sorted(expected.given), min(len(expected.given), some))
    if present:
        assert look_up_all(call, key, present) == [1] * len(present)
        assert call("BF.EXISTS", key, present[0]) == ONE
    card, layers = card_and_layers(call, key)
    assert card == expected.ones == call("BF.CARD", key).value == sum(layer.size for layer in layers)
    seen = info(call, key)
    assert seen["Number of items inserted"] == expected.ones <= seen["Capacity"]


@pytest.mark.parametrize("seed", SEEDS)
def test_added_items_are_always_found_and_card_counts_the_ones(call, seed):
    print("seed", seed)
    source = random.Random(seed)
    expected = {}
    for key, words in FILTERS.items():
        expected[key] = Expected(60 if key == "fixed" else None)
        if words:
            assert call("BF.RESERVE", key, *words) == OK
    call("BF.ADD", "default", "")
    expected["default"].take(b"", ONE)
    for _ in range(STEPS):
        key = source.choice(list(FILTERS))
        items = [b"%d" % source.randrange(3000) for _ in range(source.choice([1, 2, 5, 40]))]
        choice = source.random()
        if choice < 0.7:
            add(call, source, key, expected[key], items)
        elif choice < 0.95:
            check(call, source, key, expected[key], 50)
        else:
            call("RENAME", key, "away")
            assert call("BF.EXISTS", key, items[0]) == ZERO
            call("RESTORE", key, 0, call("DUMP", "away").plain)
            call("DEL", "away")
    for key in FILTERS:
        check(call, source, key, expected[key], len(expected[key].given))
        assert len(card_and_layers(call, key)[1]) > 2 or key == "fixed"
