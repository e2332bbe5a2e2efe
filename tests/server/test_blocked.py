"""LAYOUT BLOCKED through the server, against a model in plain Python written from the specification.

The split-block filter of the Parquet specification: blocks of 8 words of 32 bits, little-endian; the
high half of XXH64(item, seed 0) picks the block, the low half one bit in each of its words.
"""

import random
import sys
from pathlib import Path

import pytest

from bloom_model import xxh64
from checks import add_all, look_up_all, assert_every_add_is_predicted, assert_refused, bits_of, card_and_layers, filter_state, info, layers_of
from filters import Stream, look, same_filter
from resp import OK, ONE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

import make_golden  # noqa: E402  (the line above must come first)

SERVER_CONFIG = Stream.CONFIG

SALTS = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]


class BlockedLayer:
    def __init__(self, nbits, capacity):
        assert nbits % 256 == 0
        self.words = [0] * (nbits // 32)
        self.capacity, self.items = capacity, 0

    def _masks(self, item):
        """[(index of the word, mask)] of an item."""
        h = xxh64(item, 0)
        block = ((h >> 32) * (len(self.words) // 8)) >> 32
        x = h & 0xFFFFFFFF
        return [(8 * block + i, 1 << ((x * SALTS[i] & 0xFFFFFFFF) >> 27)) for i in range(8)]

    def contains(self, item):
        return all(self.words[at] & mask for at, mask in self._masks(item))

    def set(self, item):
        for at, mask in self._masks(item):
            self.words[at] |= mask
        self.items += 1

    @property
    def bits(self):
        return b"".join(word.to_bytes(4, "little") for word in self.words)


class BlockedModel:
    """`shapes` are the (bits, capacity) of the layers, oldest first, taken from BF.DEBUG."""

    def __init__(self, shapes):
        self.shapes = list(shapes)
        self.layers = [BlockedLayer(*self.shapes[0])]

    def contains(self, item):
        return int(any(layer.contains(item) for layer in self.layers))

    def add(self, item):
        """1 if the item was new. A full newest layer gets a successor before the next new item."""
        if self.contains(item):
            return 0
        if self.layers[-1].items == self.layers[-1].capacity:
            self.layers.append(BlockedLayer(*self.shapes[len(self.layers)]))
        self.layers[-1].set(item)
        return 1


def reserve(call, key, *words):
    assert call("BF.RESERVE", key, *words, "LAYOUT", "BLOCKED") == OK


def model_of(call, key):
    """A model of the filter's present layers, still empty."""
    return BlockedModel((layer.bits, layer.capacity) for layer in layers_of(call, key))


ITEMS = [b"", b"\x00", b"a", bytes(range(256)), b"\xff" * 31, b"\xff" * 32, b"\xff" * 33] + [
    b"key%d" % i for i in range(90)
]

# Bits and answers

# What parquet-mr wrote for "a0" to "a9" in one block; other implementations test themselves with it.
PUBLISHED = bytes.fromhex("c80150144044086d062504439050602008842b21000563410200e02c404e6004")


def test_model_makes_the_block_that_parquet_mr_published():
    layer = BlockedLayer(256, 10)
    for i in range(10):
        layer.set(b"a%d" % i)
    assert layer.bits == PUBLISHED


def test_one_block_has_the_bytes_that_parquet_mr_published(call):
    reserve(call, "k", "BITSPERKEY", 25, 10)
    assert call("BF.MADD", "k", *("a%d" % i for i in range(10))).plain == [1] * 10
    assert bits_of(call, "k") == [PUBLISHED]


@pytest.mark.parametrize("capacity", [1, 10, 26, 100, 1000, 3333])
def test_bits_are_where_the_specification_puts_them(call, capacity):
    reserve(call, "k", "BITSPERKEY", 10, capacity, "EXPANSION", "2")
    for start in range(0, len(ITEMS), 10):
        call("BF.MADD", "k", *ITEMS[start : start + 10]).plain
    model = model_of(call, "k")
    for item in ITEMS:
        model.add(item)
    assert bits_of(call, "k") == [layer.bits for layer in model.layers]


def test_one_item_sets_exactly_its_eight_bits(call):
    for item in ITEMS:
        call("DEL", "k")
        reserve(call, "k", "BITSPERKEY", 9.6, 77, "NONSCALING")
        model = model_of(call, "k")
        assert call("BF.ADD", "k", item).plain == model.add(item) == 1
        assert bits_of(call, "k") == [model.layers[0].bits]
        assert int.from_bytes(bits_of(call, "k")[0], "little").bit_count() == 8


@pytest.mark.parametrize("bits", [10, 4, 2])
def test_every_answer_to_2000_probes_is_predicted_false_positives_included(call, bits):
    reserve(call, "k", "BITSPERKEY", bits, 400, "NONSCALING")
    model = model_of(call, "k")
    items = [b"item:%d" % i for i in range(350)]
    probes = [b"probe:%d" % i for i in range(2000)]
    assert look_up_all(call, "k", items + probes) == [0] * 2350
    answers = call("BF.MADD", "k", *items).value
    for item, answer in zip(items, answers):
        assert answer.value == model.add(item)
    predicted = [model.contains(item) for item in probes]
    assert look_up_all(call, "k", probes) == predicted
    assert [call("BF.EXISTS", "k", item).plain for item in probes] == predicted
    if bits < 10:
        assert sum(predicted) > 50  # so the claim is about false positives too


@pytest.mark.parametrize("sizing", [("0.05",), ("BITSPERKEY", "6")], ids="-".join)
def test_every_add_is_predicted_through_growth(call, sizing):
    reserve(call, "k", *sizing, "20")
    assert_every_add_is_predicted(call, "k", model_of, seed=20240602)


# What it shows


@pytest.mark.parametrize("bits", [1, 8, 9.6, 10, 20, 256])
@pytest.mark.parametrize("capacity", [1, 25, 26, 100, 99_999])
def test_bits_per_key_are_rounded_up_to_whole_blocks(call, bits, capacity):
    reserve(call, "k", "BITSPERKEY", bits, capacity)
    (layer,) = layers_of(call, "k")
    exact = round(bits * 10) * capacity  # in tenths of a bit
    assert layer.bits == -(-exact // 2560) * 256
    assert (layer.bytes, layer.hashes, layer.capacity) == (layer.bits // 8, 8, capacity)


@pytest.mark.parametrize("rate", ["0.1", "0.01", "0.001", "0.0001"])
def test_debug_shows_whole_blocks_and_eight_hashes_in_every_layer(call, rate):
    reserve(call, "k", rate, 50, "EXPANSION", "2")
    add_all(call, "k", ["%d" % i for i in range(1000)])
    card, layers = card_and_layers(call, "k")
    assert len(layers) == 5
    assert [layer.capacity for layer in layers] == [50, 100, 200, 400, 800]
    for layer in layers:
        assert layer.bits % 256 == 0 and layer.hashes == 8 and layer.bytes == layer.bits // 8
    assert sum(layer.ratio for layer in layers) <= float(rate)
    assert card == sum(layer.size for layer in layers)


def test_info_is_that_of_any_filter(call):
    reserve(call, "k", "0.01", 1000, "EXPANSION", "3")
    call("BF.MADD", "k", *range(100)).plain
    seen = info(call, "k")
    (layer,) = layers_of(call, "k")
    assert seen["Capacity"] == 1000 and seen["Number of filters"] == 1
    assert seen["Number of items inserted"] == call("BF.CARD", "k").plain >= 98
    assert seen["Expansion rate"] == 3
    assert layer.bytes < seen["Size"] <= layer.bytes + 256


def test_blocked_takes_no_more_than_the_specification_says_for_one_percent(call):
    """A split-block filter needs about 10.5 bits an item for 1 %, 16.9 for 0.1 %."""
    for rate, bits in (("0.01", 10.5), ("0.001", 16.9)):
        reserve(call, rate, rate, 1_000_000, "NONSCALING")
        assert abs(layers_of(call, rate)[0].bits / 1_000_000 - bits) < 0.1


def test_non_scaling_blocked_filter_is_full_at_its_capacity(call):
    reserve(call, "k", "0.0001", 100, "NONSCALING")
    assert call("BF.MADD", "k", *range(100)).plain == [1] * 100
    assert_refused(call, "ERR non scaling filter is full", "BF.ADD", "k", "new")
    assert call("BF.ADD", "k", "5").plain == 0


def test_measured_rate_of_a_full_blocked_filter_is_within_the_promise(call):
    """p = 0.01, 100,000 probes: sigma of 1.1 p is 0.033 %, so at most 1.1 % + 4 sigma = 1.24 %."""
    reserve(call, "k", "0.01", 20_000, "NONSCALING")
    add_all(call, "k", ["in%d" % i for i in range(19_900)])
    hits = sum(look_up_all(call, "k", ["out%d" % i for i in range(100_000)]))
    assert hits <= 1240


# Batches


@pytest.mark.parametrize("count", [1, 31, 32, 255, 256, 257, 1000])
def test_madd_and_mexists_equal_single_commands(call, count):
    source = random.Random(count)
    items = ["%d" % source.randrange(count * 2) for _ in range(count)]
    for key in ("batch", "single"):
        reserve(call, key, "0.02", 150)
    batch = call("BF.MADD", "batch", *items).plain
    assert batch == [call("BF.ADD", "single", item).plain for item in items]
    assert filter_state(call, "batch")["dump"] == filter_state(call, "single")["dump"]
    probes = ["%d" % i for i in range(count * 2)]
    answers = call("BF.MEXISTS", "batch", *probes).plain
    assert answers == [call("BF.EXISTS", "single", item).plain for item in probes]


# Where it goes


@pytest.fixture
def stream(call, server):
    stream = Stream(server)
    yield stream
    stream.close()


def words_of(stream):
    (command,) = stream.take()
    return [word.decode() for word in command]


def test_reserve_propagates_the_layout(call, stream):
    reserve(call, "k", "0.01", 100)
    words = words_of(stream)
    assert words[:2] == ["BF.RESERVE", "k"]
    assert words[words.index("LAYOUT") + 1] == "BLOCKED"
    reserve(call, "b", "BITSPERKEY", 12, 100)
    words = words_of(stream)
    assert words[words.index("LAYOUT") + 1] == "BLOCKED"


def test_insert_that_creates_propagates_the_layout_and_its_replay_is_the_same_filter(call, stream):
    assert call("BF.INSERT", "k", "LAYOUT", "blocked", "CAPACITY", 10, "ITEMS", *range(30)).plain
    words = words_of(stream)
    assert words[:2] == ["BF.INSERT", "k"]
    assert words[words.index("LAYOUT") + 1] == "BLOCKED"
    before = look(call, "k")
    call("DEL", "k")
    call(*words).plain
    same_filter(before, look(call, "k"))


def grown(call, key):
    reserve(call, key, "0.01", 20)
    call("BF.MADD", key, *("item%d" % i for i in range(250))).plain
    assert info(call, key)["Number of filters"] >= 4
    return look(call, key)


def test_copy_dump_restore_and_reload_keep_a_grown_blocked_filter(call):
    before = grown(call, "k")
    assert call("COPY", "k", "copy") == ONE
    assert call("RESTORE", "restored", 0, call("DUMP", "k").plain) == OK
    for iterator, data in before.dump:
        assert call("BF.LOADCHUNK", "loaded", iterator, data) == OK
    assert call("DEBUG", "RELOAD") == OK
    for key in ("k", "copy", "restored", "loaded"):
        same_filter(before, look(call, key), key)


def test_copies_go_on_growing_alike(call):
    grown(call, "k")
    assert call("COPY", "k", "copy") == ONE
    assert call("RESTORE", "restored", 0, call("DUMP", "k").plain) == OK
    more = ["more%d" % i for i in range(2000)]
    for key in ("k", "copy", "restored"):
        add_all(call, key, more)
    assert layers_of(call, "copy")[-1].bits % 256 == 0
    for key in ("copy", "restored"):
        same_filter(look(call, "k"), look(call, key), key)


def test_a_blocked_and_a_classic_filter_of_the_same_words_have_other_bits(call):
    reserve(call, "b", "BITSPERKEY", 256, 1)
    assert call("BF.RESERVE", "c", "BITSPERKEY", 256, 1) == OK
    for key in "bc":
        call("BF.ADD", key, "a")
    assert len(bits_of(call, "b")[0]) == len(bits_of(call, "c")[0]) == 32
    assert bits_of(call, "b") != bits_of(call, "c")


def test_blocked_filter_that_the_rejected_golden_files_spoil_is_valid_itself(call):
    """Otherwise the golden files would be refused for another reason than their own."""
    assert call("RESTORE", "k", 0, make_golden.payload(make_golden.blocked_strings())) == OK
    assert call("BF.CARD", "k").plain == make_golden.BLOCKED_LAYER.items
    assert bits_of(call, "k") == [make_golden.BLOCKED_BITS]
