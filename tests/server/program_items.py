"""What a filter must contain, and what it must answer: three kinds of filters. The models of random programs
(program_model.py) and of the soak (tests/soak/worker.py) are made of these.

    Items           a filter that forgets nothing
    WindowItems     WINDOW: what was added lately, by the filter's own time
    CountedItems    LAYOUT COUNTING: a multiset

Each has the same functions. `now_ms` is the clock of the server that answers.

    add, refuse     an add was answered 1 or 0; or with an error. Both return a fault, a text, or None
    delete, count   answers of BF.DEL and BF.COUNT
    card            the answer of BF.CARD
    take            an item was added, and the answer is not known
    found           the items that a lookup must find
    is_empty        whether a lookup of any item must find nothing: the one answer 0 that is sure, as any
                    other item may be a false positive
    unite, common   BF.MERGE, BF.INTERSTORE
    absorb          another filter has the same bytes, so what is sure of one is sure of both
    emptied         BF.CLEAR: a new one, with the same parameters
"""

import copy as copying
from collections import Counter

SATURATED = 15


class Items:
    """`ones` is what BF.CARD answers: how many adds were answered 1. It is None if that is not known, as it is after
    a merge or an import, which estimate it from the bits."""

    ones = None  # of the other kinds too

    def __init__(self, items=(), ones=0):
        self.items, self.ones = set(items), ones

    def copy(self):
        return copying.deepcopy(self)

    def emptied(self):
        return Items()

    def found(self, now_ms):
        return self.items

    def is_empty(self, now_ms):
        return False  # an import's items are not in the model

    def add(self, item, is_new, now_ms):
        was_there, was_empty = item in self.found(now_ms), self.is_empty(now_ms)
        ones = self.ones
        self.take(item, now_ms)
        self.ones = ones if ones is None else ones + is_new
        if is_new and was_there:
            return "an add of %r was answered 1, and it was there" % item
        if not is_new and was_empty:
            return "an add of %r was answered 0, and the filter was empty" % item
        return None

    def take(self, item, now_ms):
        self.items.add(item)
        self.ones = None

    def refuse(self, now_ms):
        """An add that failed has added nothing, and may have done all that comes before."""

    def refuse_all(self):
        """The same for a whole command, whose reply is nothing but the error: it does not say which of the items
        before it were added."""
        self.ones = None

    def delete(self, item, was_there, now_ms):
        return "BF.DEL of %r was answered %s in another layout than COUNTING" % (item, was_there)

    def count(self, item, answer, now_ms):
        return "BF.COUNT of %r was answered %s in another layout than COUNTING" % (item, answer)

    def card(self, answer):
        if self.ones in (None, answer):
            return None
        return "BF.CARD was answered %d, not %d" % (answer, self.ones)

    def rotate(self, now_ms):
        return "BF.ROTATE was answered OK, and there is no window"

    def unite(self, other):
        self.items |= other.items
        self.ones = None

    def common(self, other):
        self.items &= other.items
        self.ones = None

    def absorb(self, other):
        self.items |= other.items
        self.ones = other.ones if self.ones is None else self.ones


class WindowItems(Items):
    """Generations start at multiples of `step`. An add at filter time t is in the one that starts at
    t // step * step, so its time is all that has to be kept. `oldest_newest` and `newest` are bounds of when
    the newest generation starts, 0 if none has begun; they differ after an add that failed."""

    def __init__(self, seconds, generations, newest=0, has_others=False):
        self.seconds, self.generations = seconds, generations
        self.step = -(-1000 * seconds // generations)
        self.oldest_newest = self.newest = newest
        self.has_others = has_others  # items that the model knows nothing of
        self.added = {}  # item -> filter time of its last add, in ms

    def emptied(self):
        return WindowItems(self.seconds, self.generations)

    def found(self, now_ms):
        latest = max(now_ms, self.newest)
        return {item for item, added in self.added.items() if latest - added <= 1000 * self.seconds}

    def is_empty(self, now_ms):
        earliest = max(now_ms, self.oldest_newest)
        return not self.has_others and all(earliest >= self.end_of(added) for added in self.added.values())

    def end_of(self, added):
        return (added // self.step + self.generations + 1) * self.step

    def begin(self, now_ms):
        """An add needs the generation of now, unless the clock is behind."""
        start = now_ms // self.step * self.step
        self.oldest_newest, self.newest = max(self.oldest_newest, start), max(self.newest, start)

    def take(self, item, now_ms):
        self.begin(now_ms)
        self.added[item] = max(now_ms, self.oldest_newest, self.added.get(item, 0))

    def refuse(self, now_ms):
        self.newest = max(self.newest, now_ms // self.step * self.step)

    def refuse_all(self):
        self.has_others = True

    def rotate(self, now_ms):
        """Drops what is over, begins nothing. `newest` may be unsure, and so what is over."""
        if not self.newest:
            return
        latest, earliest = max(now_ms, self.newest), max(now_ms, self.oldest_newest)
        unsure = [item for item, added in self.added.items() if earliest < self.end_of(added) <= latest]
        self.added = {item: added for item, added in self.added.items() if self.end_of(added) > latest}
        self.has_others |= bool(unsure)
        if now_ms >= self.end_of(self.newest):  # all of it: it is as it was when it was new
            self.oldest_newest = self.newest = 0
            self.has_others = False
        elif now_ms >= self.end_of(self.oldest_newest):
            self.oldest_newest = 0

    def unite(self, other):
        for item, added in other.added.items():
            self.added[item] = max(added, self.added.get(item, 0))
        self.oldest_newest, self.newest = max(self.oldest_newest, other.oldest_newest), max(self.newest, other.newest)
        self.has_others |= other.has_others

    def absorb(self, other):
        low, high = max(self.oldest_newest, other.oldest_newest), min(self.newest, other.newest)
        has_others = self.has_others and other.has_others
        self.unite(other)
        self.oldest_newest, self.newest, self.has_others = low, high, has_others


class CountedItems(Items):
    """Sure until BF.DEL took away an item that was not there but seemed to be: its counters were others'."""

    def __init__(self, is_spoiled=False):
        self.counts, self.is_spoiled = Counter(), is_spoiled
        self.most = 0  # of all counts together, at any time; from SATURATED on a counter may have stopped
        self.is_estimated = is_spoiled  # the count of items

    def emptied(self):
        return CountedItems()

    def found(self, now_ms):
        return set() if self.is_spoiled else set(+self.counts)

    def is_empty(self, now_ms):
        """A counter that has stopped at 15 stays; it cannot have, if there were never as many adds at once."""
        return not self.is_spoiled and not +self.counts and self.most < SATURATED

    def refuse_all(self):
        self.is_spoiled = True

    def take(self, item, now_ms):
        self.counts[item] += 1
        self.most = max(self.most, self.counts.total())

    def delete(self, item, was_there, now_ms):
        if self.is_spoiled:
            return None
        if not was_there:
            return "BF.DEL of %r was answered 0, and it was there" % item if self.counts[item] else None
        if self.is_empty(now_ms):
            return "BF.DEL of %r was answered 1, and the filter was empty" % item
        self.is_spoiled = not self.counts[item]
        self.counts[item] -= 1
        return None

    def count(self, item, answer, now_ms):
        least = 0 if self.is_spoiled else min(self.counts[item], SATURATED)
        most = min(SATURATED, self.counts.total()) if not self.is_spoiled and self.most < SATURATED else SATURATED
        if not least <= answer <= most:
            return "BF.COUNT of %r was answered %d, not %d to %d" % (item, answer, least, most)
        return None

    def card(self, answer):
        """The copies, while no counter can have stopped; then an add or a deletion may have changed none."""
        if self.is_spoiled or self.is_estimated or self.most >= SATURATED or answer == self.counts.total():
            return None
        return "BF.CARD was answered %d, not %d" % (answer, self.counts.total())

    def unite(self, other):
        self.counts += other.counts
        self.most += other.most
        self.is_spoiled |= other.is_spoiled
        self.is_estimated = True

    def common(self, other):
        """A position's smaller counter is at least the sum over its items of the smaller counts."""
        self.counts &= other.counts
        self.most = SATURATED  # more than the common items may be left
        self.is_spoiled |= other.is_spoiled
        self.is_estimated = True

    def absorb(self, other):
        """Either multiset explains the counters; their sum would not."""
        if self.is_spoiled:
            self.counts, self.most, self.is_spoiled = other.counts.copy(), other.most, other.is_spoiled
            self.is_estimated = other.is_estimated
