"""The rows of the part `typical`: one command at a time, on filters that are small, grown or new.

A state is what a server holds while some rows are measured: the commands that build it, on an empty
server. A row is one kind of command on a state. typical.py takes its time, typical_instructions.py counts
its instructions; both send what stands here.

An item is key:%012d of a number. What a row does with it is the row's kind: present items are those of
the state, absent and fresh ones have numbers of their own and are never the same twice.
"""

from itertools import chain
from typing import Callable, NamedTuple, Optional

ABSENT, FRESH = 10**9, 2 * 10**9
SPREAD = 7919  # prime: i * SPREAD % n meets all of 0 .. n-1, and neighbours in time not in memory
FILL_BATCH = 1000
OTHER_KEYS = 40_000  # with what a row creates still under 65,536: the table of keys keeps its size
SMALL_KEYS, SMALL_ITEMS = 50_000, 50
# Of all answers to a row, how many may be 1: the least and the greatest share.
ONES = {"absent": (0, 0.1), "present": (1, 1), "present again": (0, 0), "fresh": (0.9, 1)}


class State(NamedTuple):
    name: str
    build: Callable  # the commands that build it, each a tuple of words
    items: int = 0  # in each filter: the numbers below it
    is_counted: bool = True  # building it under callgrind takes no more than some seconds


class Row(NamedTuple):
    what: str
    state: State
    command: str
    key: Optional[Callable] = None  # of the number of the command; None: the command has no key
    kind: str = ""  # of the items, a key of ONES
    items: int = 0  # of one command
    words: tuple = ()  # between the key and the items
    changes: bool = False  # the next row needs the state as it was built

    @property
    def work(self):
        return "%s: %s" % (self.state.name, self.what)

    @property
    def unit(self):
        """What its figures are per."""
        return "item" if self.items > 1 else "command"

    def at(self, i):
        """The words of command number i."""
        key = (self.key(i),) if self.key else ()
        return (self.command, *key, *self.words,
                *[self.item(i * self.items + j) for j in range(self.items)])

    def item(self, i):
        if self.kind == "absent":
            return item(ABSENT + i)
        return item(FRESH + i if self.kind == "fresh" else i * SPREAD % self.state.items)

    def check(self, replies, ncommands):
        """RuntimeError if these cannot be the answers."""
        if self.kind:
            least, greatest = ONES[self.kind]
            share = replies.count(b":1\r\n") / (ncommands * self.items)
            if not least <= share <= greatest:
                raise RuntimeError("%s: %.1f %% of all answers are 1" % (self.work, 100 * share))


def item(number):
    return "key:%012d" % number


def only(key):
    return lambda i: key


def one_of(prefix, count):
    return lambda i: "%s%06d" % (prefix, i * SPREAD % count)


def new(prefix):
    return lambda i: "%s%09d" % (prefix, i)


# States


def fill(key, count):
    for first in range(0, count, FILL_BATCH):
        yield ("BF.MADD", key, *map(item, range(first, min(first + FILL_BATCH, count))))


def build_reserved():
    """`full`, and `roomy`, which has room for the items that are added."""
    for key, capacity in (("full", 100_000), ("roomy", 300_000)):
        yield from chain([("BF.RESERVE", key, 0.01, capacity)], fill(key, 100_000))


def build_small(count=SMALL_KEYS, first=0):
    items = tuple(map(item, range(SMALL_ITEMS)))
    return (("BF.MADD", "small%06d" % k, *items) for k in range(first, first + count))


def grown(name, count, nkeys=1, is_counted=True):
    """Filters that have grown by default from 100 items: grown000000 and so on."""
    def build():
        return chain.from_iterable(fill("grown%06d" % k, count) for k in range(nkeys))
    return State("grown by default to " + name, build, count, is_counted)


NEW = State("new", lambda: [("DEBUG", "POPULATE", OTHER_KEYS, "other")])
RESERVED = State("one layer of 100,000", build_reserved, 100_000)
SMALL = State("%s small filters" % format(SMALL_KEYS, ","), build_small, SMALL_ITEMS)
# Ten filters: each has room for some 2,700 items before it gets its eighth layer.
GROWN_10K = grown("10,000 (7 layers)", 10_000, nkeys=10)
GROWN_100K = grown("110,000 (11 layers)", 110_000)
GROWN_1M = grown("1,000,000 (14 layers)", 1_000_000)
GROWN_10M = grown("10,000,000 (17 layers)", 10_000_000, is_counted=False)

# Rows


def rows_of_grown(state, nkeys=1):
    key = one_of("grown", nkeys)
    return [Row("BF.EXISTS absent", state, "BF.EXISTS", key, "absent", 1),
            Row("BF.EXISTS present", state, "BF.EXISTS", key, "present", 1),
            Row("BF.MEXISTS of 100 absent", state, "BF.MEXISTS", key, "absent", 100),
            Row("BF.ADD fresh", state, "BF.ADD", key, "fresh", 1, changes=True),
            Row("BF.MADD of 100 fresh", state, "BF.MADD", key, "fresh", 100, changes=True)]


FULL, ROOMY, A_SMALL = only("full"), only("roomy"), one_of("small", SMALL_KEYS)
THE_GROWN = one_of("grown", 1)

ROWS = [
    Row("PING, the server's own share", RESERVED, "PING"),
    Row("BF.EXISTS absent", RESERVED, "BF.EXISTS", FULL, "absent", 1),
    Row("BF.EXISTS present", RESERVED, "BF.EXISTS", FULL, "present", 1),
    Row("BF.MEXISTS of 10 absent", RESERVED, "BF.MEXISTS", FULL, "absent", 10),
    Row("BF.ADD present", RESERVED, "BF.ADD", FULL, "present again", 1),
    Row("BF.ADD fresh", RESERVED, "BF.ADD", ROOMY, "fresh", 1, changes=True),
    Row("BF.INSERT NOCREATE of 5 fresh", RESERVED, "BF.INSERT", ROOMY, "fresh", 5, ("NOCREATE", "ITEMS"),
        changes=True),
    Row("BF.CARD", RESERVED, "BF.CARD", FULL),
    Row("BF.INFO", RESERVED, "BF.INFO", FULL),
    Row("BF.ADD that creates the filter", NEW, "BF.ADD", new("added"), "fresh", 1, changes=True),
    Row("BF.RESERVE 0.01 1000", NEW, "BF.RESERVE", new("reserved"), words=(0.01, 1000), changes=True),
    Row("BF.EXISTS absent", SMALL, "BF.EXISTS", A_SMALL, "absent", 1),
    Row("BF.ADD fresh", SMALL, "BF.ADD", A_SMALL, "fresh", 1, changes=True),
    Row("BF.MADD of 20 fresh", SMALL, "BF.MADD", A_SMALL, "fresh", 20, changes=True),
    *rows_of_grown(GROWN_10K, nkeys=10),
    *rows_of_grown(GROWN_100K),
    *rows_of_grown(GROWN_1M),
    Row("BF.EXISTS absent", GROWN_10M, "BF.EXISTS", THE_GROWN, "absent", 1),
    Row("BF.MEXISTS of 1,000 absent", GROWN_10M, "BF.MEXISTS", THE_GROWN, "absent", 1000),
    Row("BF.MEXISTS of 1,000 present", GROWN_10M, "BF.MEXISTS", THE_GROWN, "present", 1000),
]


def by_state(rows=ROWS):
    """[(state, its rows)], in the order of the table."""
    states = {row.state.name: row.state for row in rows}
    return [(state, [row for row in rows if row.state is state]) for state in states.values()]


def commands_of(row, items):
    """How many commands have this many items, or are this many."""
    return max(items // max(row.items, 1), 20)
