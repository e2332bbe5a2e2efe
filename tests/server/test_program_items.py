"""The model of filters that forget (program_items.py, program_model.py) against such filters written out in plain Python, as
simply as they can be: it accepts all that a right one answers, and notices a wrong one."""

import random
import struct

import pytest

from bloom_model import xxh64
from checks import GROWTH_FAILED
from program_items import SATURATED, CountedItems, Items, WindowItems
from program_model import Model
from resp import OK, ONE, ZERO, array, bulk, error, integer

START = 1_700_000_000_123
ITEMS = [b"item%d" % i for i in range(40)]


class Window:
    """Generations as sets, so that there are no false positives."""

    def __init__(self, seconds, generations):
        self.step, self.generations = -(-1000 * seconds // generations), generations
        self.sets = {}  # start -> items

    def live(self, now_ms):
        latest = max([now_ms, *self.sets])
        return [start for start in self.sets if latest < start + (self.generations + 1) * self.step]

    def contains(self, item, now_ms):
        return any(item in self.sets[start] for start in self.live(now_ms))

    def rotate(self, now_ms):
        live = self.live(now_ms)
        self.sets = {start: self.sets[start] for start in live}

    def begin(self, now_ms):
        start = now_ms // self.step * self.step
        if start > max(self.sets, default=0):
            self.rotate(start)
            self.sets[start] = set()

    def add(self, item, now_ms):
        is_new = not self.contains(item, now_ms)
        self.begin(now_ms)
        self.sets[max(self.sets)].add(item)
        return is_new


class ForgetsEarly(Window):
    def live(self, now_ms):
        latest = max([now_ms, *self.sets])
        return [start for start in self.sets if latest < start + self.generations * self.step]


class ForgetsLate(Window):
    def live(self, now_ms):
        return list(self.sets)


class FollowsTheClockBack(Window):
    """Begins an older generation when the clock steps back."""

    def add(self, item, now_ms):
        is_new = not self.contains(item, now_ms)
        self.sets.setdefault(now_ms // self.step * self.step, set())
        self.sets[now_ms // self.step * self.step].add(item)
        return is_new


class KeepsWhatIsDropped(Window):
    """The clock steps back, and what was over is there again."""

    def rotate(self, now_ms):
        pass

    def begin(self, now_ms):
        self.sets.setdefault(max(now_ms // self.step * self.step, max(self.sets, default=0)), set())


class DropsTooMuch(Window):
    """The oldest generation, over or not."""

    def rotate(self, now_ms):
        super().rotate(now_ms)
        if len(self.sets) > 1:
            del self.sets[min(self.sets)]


class DoesNotRefresh(Window):
    """An item that an older generation holds is not added to the newest."""

    def add(self, item, now_ms):
        return self.contains(item, now_ms) or not super().add(item, now_ms)


def faults_of_window(real, model, seed, count=3000):
    """Random adds, steps and jumps; what the model finds wrong with the answers."""
    numbers, now, faults = random.Random(seed), START, []
    print("seed", seed)
    window = 1000 * model.seconds
    for _ in range(count):
        what = numbers.random()
        if what < 0.5:
            item = numbers.choice(ITEMS)
            faults.append(model.add(item, real.add(item, now), now))
        elif what < 0.9:
            now += numbers.choice([1, real.step - 1, real.step, real.step + 1, window, window // 3, 7 * window, -window, -3 * window, -1])
        elif what < 0.95 and real.sets:
            real.rotate(now)
            faults.append(model.rotate(now))
        faults += ["lost %r" % item for item in model.found(now) if not real.contains(item, now)]
        if model.is_empty(now):
            faults += ["still has %r" % item for item in ITEMS if real.contains(item, now)]
    return [fault for fault in faults if fault]


SHAPES = [(1, 1), (1, 3), (1, 64), (60, 4), (7, 16), (86400, 4), (3600, 1)]


@pytest.mark.parametrize("seconds, generations", SHAPES)
def test_the_model_of_a_window_accepts_a_right_one(seconds, generations):
    assert faults_of_window(Window(seconds, generations), WindowItems(seconds, generations), 1) == []


@pytest.mark.parametrize("wrong", [ForgetsEarly, ForgetsLate, FollowsTheClockBack, DoesNotRefresh, KeepsWhatIsDropped, DropsTooMuch])
def test_the_model_of_a_window_notices_a_wrong_one(wrong):
    assert faults_of_window(wrong(60, 4), WindowItems(60, 4), 1)


@pytest.mark.parametrize("seconds, generations", SHAPES)
def test_the_model_of_a_window_is_sure_of_most_items_and_of_emptiness(seconds, generations):
    """Else it would accept anything."""
    model = WindowItems(seconds, generations)
    model.add(b"a", True, START)
    assert model.found(START + 1000 * seconds) == {b"a"}
    assert model.is_empty(START + (generations + 1) * model.step)
    assert model.found(START - 10 * 1000 * seconds) == {b"a"}
    model.refuse(START + 5 * 1000 * seconds)
    assert not model.is_empty(START) and not model.found(START)  # whether it stepped is not sure


class Counting:
    """4-bit counters as integers; small, so that there are many false positives and counters that stop."""

    HASHES, SIZE = 3, 64

    def __init__(self):
        self.counters = [0] * self.SIZE

    def positions(self, item):
        return {(xxh64(item, 0) + i * xxh64(item, 1)) % 2**64 % self.SIZE for i in range(self.HASHES)}

    def count(self, item):
        return min(self.counters[p] for p in self.positions(item))

    def add(self, item):
        is_new = self.count(item) == 0
        for p in self.positions(item):
            self.counters[p] = min(self.counters[p] + 1, SATURATED)
        return is_new

    def delete(self, item):
        was_there = self.count(item) > 0
        for p in self.positions(item) if was_there else ():
            self.counters[p] -= self.counters[p] < SATURATED
        return was_there


class CountsDistinct(Counting):
    """Its card is that of version 0.2.0."""

    card = 0

    def add(self, item):
        is_new = super().add(item)
        self.card += is_new
        return is_new

    def delete(self, item):
        was_there = super().delete(item)
        self.card -= was_there and self.count(item) == 0
        return was_there


class CountsDownFromTheTop(Counting):
    def delete(self, item):
        was_there = self.count(item) > 0
        for p in self.positions(item) if was_there else ():
            self.counters[p] -= 1
        return was_there


class DeletesHalfway(Counting):
    """Decrements whatever is over 0, also of an item that is not there."""

    def delete(self, item):
        was_there = self.count(item) > 0
        for p in self.positions(item):
            self.counters[p] -= 0 < self.counters[p] < SATURATED
        return was_there


class AddsOnce(Counting):
    def add(self, item):
        return self.count(item) == 0 and super().add(item)


def faults_of_counting(real, model, seed, spoils, count=3000):
    numbers, faults = random.Random(seed), []
    print("seed", seed)
    for _ in range(count):
        item = numbers.choice(ITEMS[:12])
        if numbers.random() < 0.5:
            faults.append(model.add(item, real.add(item), 0))
        elif spoils or model.counts[item] or not real.count(item):
            faults.append(model.delete(item, real.delete(item), 0))
        other = numbers.choice(ITEMS)
        faults.append(model.count(other, real.count(other), 0))
        faults += ["lost %r" % item for item in model.found(0) if not real.count(item)]
        if model.is_empty(0) and any(real.counters):
            faults.append("is not empty")
    return [fault for fault in faults if fault]


@pytest.mark.parametrize("spoils", [False, True])
def test_the_model_of_a_counting_filter_accepts_a_right_one(spoils):
    model = CountedItems()
    assert faults_of_counting(Counting(), model, 1, spoils) == []
    assert model.is_spoiled == spoils


@pytest.mark.parametrize("wrong", [CountsDownFromTheTop, DeletesHalfway, AddsOnce])
def test_the_model_of_a_counting_filter_notices_a_wrong_one(wrong):
    assert faults_of_counting(wrong(), CountedItems(), 1, spoils=False)


def faults_of_card(real, card):
    """With few copies at a time, so that no counter stops."""
    model, numbers, faults, held = CountedItems(), random.Random(3), [], []
    for _ in range(2000):
        if len(held) < SATURATED - 1 and numbers.random() < 0.6:
            held.append(numbers.choice(ITEMS))
            faults.append(model.add(held[-1], real.add(held[-1]), 0))
        elif held:
            item = held.pop(numbers.randrange(len(held)))
            faults.append(model.delete(item, real.delete(item), 0))
        faults.append(model.card(card(real, held)))
    return [fault for fault in faults if fault]


def test_the_model_of_a_counting_filter_knows_its_card():
    assert faults_of_card(Counting(), lambda real, held: len(held)) == []
    assert faults_of_card(Counting(), lambda real, held: len(set(held)))
    assert faults_of_card(CountsDistinct(), lambda real, held: real.card)
    merged = CountedItems()
    merged.unite(CountedItems())
    assert merged.card(12345) is None, "an estimate"


def test_the_model_of_counting_filters_merges_and_intersects_as_counters_do():
    numbers = random.Random(1)
    for merged in (True, False):
        reals, models = [Counting(), Counting()], [CountedItems(), CountedItems()]
        for _ in range(12):
            for real, model in zip(reals, models):
                item = numbers.choice(ITEMS)
                assert model.add(item, real.add(item), 0) is None
        both = zip(reals[0].counters, reals[1].counters)
        reals[0].counters = [min(a + b, SATURATED) if merged else min(a, b) for a, b in both]
        (models[0].unite if merged else models[0].common)(models[1])
        for item in ITEMS:
            assert models[0].count(item, reals[0].count(item), 0) is None
        assert faults_of_counting(reals[0], models[0], 2, spoils=False) == []


# ---- What the model learns from commands -------------------------------------------------------------


def learn(model, line, reply=OK):
    words = [word if isinstance(word, bytes) else word.encode() for word in (line.split() if isinstance(line, str) else line)]
    model.learn(0, words, reply)
    held = model.get(0, words[1])
    return held and held.items


@pytest.mark.parametrize(
    "line, reply, expected",
    [
        ("BF.RESERVE k 0.01 100", OK, Items),
        ("bf.reserve k 0.01 100 window 60", OK, (60, 4)),
        ("BF.RESERVE k BITSPERKEY 8 100 GENERATIONS 2 WINDOW 7", OK, (7, 2)),
        ("BF.RESERVE k 0.01 100 LAYOUT counting", OK, CountedItems),
        ("BF.RESERVE k 0.01 100 WINDOW 60", error("ERR any"), None),
        ("BF.INSERT k WINDOW 60 ITEMS a", array(ONE), (60, 4)),
        ("BF.INSERT k ITEMS WINDOW 60", array(ONE, ONE), Items),
        ("BF.INSERT k LAYOUT COUNTING ITEMS a", array(ONE), CountedItems),
        ("BF.ADD k a", ONE, Items),
    ],
)
def test_the_model_learns_the_kind_of_filter_from_the_command_that_creates_it(line, reply, expected):
    found = learn(Model(now_ms=lambda: START), line, reply)
    kind = (found.seconds, found.generations) if isinstance(found, WindowItems) else found and type(found)
    assert kind == expected


@pytest.mark.parametrize(
    "line, reply, expected",
    [
        ("BF.ADD k a", ONE, WindowItems),
        ("BF.INSERT k ERROR 0.1 ITEMS a", array(ONE), WindowItems),
        ("BF.INSERT k NONSCALING ITEMS a", array(ONE), Items),
        ("BF.INSERT k EXPANSION 0 ITEMS a", array(ONE), Items),
        ("BF.INSERT k LAYOUT COUNTING ITEMS a", array(ONE), CountedItems),
        ("BF.RESERVE k 0.01 100", OK, Items),
    ],
)
def test_the_model_learns_the_setting_window(line, reply, expected):
    model = Model(now_ms=lambda: START)
    learn(model, "CONFIG SET bf.window 30")
    assert type(learn(model, line, reply)) is expected


def test_the_model_takes_a_creation_with_a_time_that_is_over_for_none():
    model = Model(now_ms=lambda: START)
    assert learn(model, "BF.RESERVE k 0.01 100 PXAT %d" % (START - 1)) is None
    assert learn(model, "BF.RESERVE k 0.01 100 PXAT %d" % START)
    assert learn(model, "BF.INSERT k PXAT 1 ITEMS a", array(ONE)).found(START) == {b"a"}  # it exists: the time is not used


def test_the_model_learns_a_windows_answers_and_finds_what_is_wrong():
    now = [START]
    model = Model(now_ms=lambda: now[0])
    learn(model, "BF.RESERVE k 0.01 100 WINDOW 60")
    learn(model, "BF.MADD k a b a", array(ONE, ONE, ZERO))
    assert model.faults == []
    learn(model, "BF.ADD k a", ONE)
    now[0] += 75_001
    assert model.get(0, b"k").items.is_empty(now[0])
    learn(model, "BF.ADD k b", ZERO)
    learn(model, "BF.DEL k b", array(ONE))
    assert [fault.split(":")[1][:24] for fault in model.faults] == [" an add of b'a' was answ", " an add of b'b' was answ", " BF.DEL of b'b' was answ"]


def test_the_model_learns_deletions_and_finds_what_is_wrong():
    model = Model(now_ms=lambda: START)
    learn(model, "BF.RESERVE k 0.01 100 LAYOUT COUNTING")
    learn(model, "BF.MADD k a a b", array(ONE, ZERO, ONE))
    learn(model, "BF.DEL k a a c", array(ONE, ONE, ZERO))
    assert model.get(0, b"k").items.found(START) == {b"b"}
    learn(model, "BF.COUNT k b", ONE)
    learn(model, "BF.DEL missing a", array(ZERO))
    learn(model, "BF.COUNT missing a", ZERO)
    assert model.faults == []
    learn(model, "BF.COUNT k b", ZERO)
    learn(model, "BF.COUNT k a", integer(2))
    learn(model, "BF.DEL k b", array(ZERO))
    assert len(model.faults) == 3


@pytest.mark.parametrize("kind", ["WINDOW 60", "LAYOUT COUNTING"])
def test_the_model_learns_from_a_refused_batch_that_the_filter_may_have_items(kind):
    """In a script of Valkey 9 the reply is the error alone. An item answered 0 afterwards may be a false positive
    of those that were added before the error."""
    model = Model(now_ms=lambda: START)
    assert learn(model, "BF.RESERVE k 0.01 100 " + kind).is_empty(START)
    learn(model, "BF.MADD k a b", error(GROWTH_FAILED + ": it needs 85839 bytes, and bf.max-bytes is 20000"))
    learn(model, "BF.ADD k c", ZERO)
    assert model.faults == []
    assert learn(model, "BF.CLEAR k").is_empty(START)


def header_of_version_2(layout=0, window=0, generations=0, starts=(0,)):
    """rdb/FORMAT.md, version 2; what the model does not read is 0."""
    head = struct.pack("<8sIBBHIIddQIIQ", b"BLOOMPRT", 2, 0, layout, 0, 2, len(starts), 0.01, 0, 0, window, generations, 100)
    return head.ljust(128, b"\0") + b"".join(struct.pack("<44xQ12x", start) for start in starts) + bytes(8)


def test_the_model_learns_the_kind_of_filter_from_the_header_of_a_load():
    model = Model(now_ms=lambda: START)
    window = learn(model, ["BF.LOADCHUNK", "w", "1", header_of_version_2(0, 60, 2, (30_000, 60_000, 60_000))])
    assert (window.seconds, window.generations, window.newest) == (60, 2, 60_000)
    assert not window.is_empty(START)
    counting = learn(model, ["BF.LOADCHUNK", "c", "1", header_of_version_2(2)])
    assert type(counting) is CountedItems and counting.is_spoiled


def test_the_model_learns_bulk_answers_and_finds_what_is_wrong():
    model, now = Model(now_ms=lambda: START), [b"BF.BULKADD", b"k", b"LINES", b"a\nb\na"]
    model.learn(0, [b"BF.BULKADD", b"k", b"LINES", b""], bulk(b""))
    assert model.get(0, b"k") is None
    model.learn(0, now, bulk(b"\xc0"))
    assert model.get(0, b"k").items.found(START) == {b"a", b"b"} and model.faults == []
    model.learn(0, [b"bf.bulkexists", b"k", b"WIDTH", b"1", b"abc"], bulk(b"\xc0"))
    model.learn(0, [b"BF.BULKEXISTS", b"none", b"LINES", b"a"], bulk(b"\0"))
    assert model.faults == []
    for words, bitmap in ((now, b"\x20"), ([b"BF.BULKEXISTS", b"k", b"LINES", b"a\nb"], b"\x80"), ([b"BF.BULKEXISTS", b"none", b"LINES", b"a"], b"\x80")):
        model.learn(0, words, bulk(bitmap))
        assert len(model.faults) == 1, words
        model.faults.clear()


def test_the_model_learns_from_a_bulk_error_which_items_were_taken():
    model = Model(now_ms=lambda: START)
    model.learn(0, [b"BF.RESERVE", b"k", b"0.01", b"3", b"LAYOUT", b"COUNTING"], OK)
    refused = error("ERR non scaling filter is full: 4 of 5 items taken")
    model.learn(0, [b"BF.BULKADD", b"k", b"WIDTH", b"1", b"aabcd"], refused)
    assert model.get(0, b"k").items.counts == {b"a": 2, b"b": 1, b"c": 1}
    assert model.get(0, b"k").items.found(START) == {b"a", b"b", b"c"}
    model.learn(0, [b"BF.BULKADD", b"new", b"WIDTH", b"2", b"abc"], error("ERR the data is no whole number of items of 2 bytes"))
    assert model.get(0, b"new") is None


@pytest.mark.parametrize(
    "lines, card",
    [
        (["BF.MADD k c a d"], 4),
        (["BF.CLEAR k"], 0),
        (["RENAME k l", "COPY l k"], 3),
        (["BF.MERGE k o"], None),
        (["BF.INTERSTORE k k"], None),
    ],
)
def test_the_model_counts_the_adds_that_were_answered_1_until_a_command_estimates_them(lines, card):
    model = Model(now_ms=lambda: START)
    learn(model, "BF.ADD o x", ONE)
    learn(model, "BF.MADD k a b c b", array(ONE, ONE, ZERO, ZERO))  # c was a false positive
    learn(model, "BF.ADD k d", ONE)
    for line in lines:
        learn(model, line, array(ZERO, ZERO, ONE) if "MADD" in line else ONE)
    held = model.get(0, b"k").items
    right, wrong = (17, 18) if card is None else (card, card + 1)
    assert held.ones == card and not held.card(right) and bool(held.card(wrong)) == (card is not None)


def test_the_model_does_not_know_the_count_after_answers_that_it_has_not_seen():
    model = Model(now_ms=lambda: START)
    model.learn(0, [b"BF.BULKADD", b"k", b"WIDTH", b"1", b"aab"], error("ERR non scaling filter is full: 2 of 3 items taken"))
    assert model.get(0, b"k").items.ones is None
    learn(model, "BF.ADD l a", ONE)
    learn(model, "BF.MADD l b c", error(GROWTH_FAILED + ": it needs 85839 bytes, and bf.max-bytes is 20000"))
    assert model.get(0, b"l").items.ones is None
    assert learn(model, "BF.RESERVE m 0.01 100").ones == 0
    learn(model, "BF.CARD m", ONE)
    learn(model, "BF.CARD missing", ONE)
    assert len(model.faults) == 2
