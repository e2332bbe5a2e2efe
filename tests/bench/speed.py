"""The speed rows: BF.EXISTS, BF.MEXISTS, BF.ADD and BF.MADD against the floor and a peer.

One filter per variant, of `n` items at 10 bits each, in this order:

    fill to 75 %      through the server, by BF.MADD; save and load
    rounds of adds    fresh items, in the room that is left: every add sets its bits
    fill to 100 %     save and load
    rounds on the full filter: lookups of present, absent and mixed items, adds of present items

Filters are saved and loaded because a large filter is then in huge pages where the machine has them, as
after any restart; while a server runs, the kernel takes minutes to get there.

Beside the floor stands the limit: the floor that also hashes the item and waits for as many random cache
lines as a lookup must read (floor.c). No filter can be much faster than the limit on this machine.

A round measures every row once: all variants and the floor one after another, in a random order (fixed
seed), so that changes of the machine's load affect all alike. A ratio is taken within a round, between
neighbours in time; the result is the median of the rounds' ratios.
"""

import random
import statistics
from functools import partial

from harness import MODULE, PEER, BenchServer, run_load, say

from filters import random_pieces  # harness has put tests/server into the path

BITS_PER_KEY = 10
PEER_ERROR_RATE = 0.0082  # what 10 bits per key give, so that the sizes are about equal
FILL_BATCH = 1000
FIRST_FILL = 0.75
ALL_BATCHES = (1, 10, 100, 1000)
FILLED_REALLY = 32 << 20  # bytes; larger filters of the part `sizes` are loaded half full
PRESENT_IN_LARGE = 4_000_000

COMMANDS = {
    "exists": ("BF.EXISTS", "BF.MEXISTS"),
    "add": ("BF.ADD", "BF.MADD"),
    "del": ("BF.DEL", "BF.DEL"),
    "bulk exists": (None, "BF.BULKEXISTS"),
    "floor": ("FLOOR.ONE", "FLOOR.MANY"),
    "floor, for writing": ("FLOOR.WONE", "FLOOR.WMANY"),
}
LIMIT_COMMANDS = {"exists": ("LIMIT.ONE", "LIMIT.MANY"), "add": ("LIMIT.WONE", "LIMIT.WMANY")}
# The cache lines that an item and the next one cannot do without, at 10 bits per key. CLASSIC has
# k = 7; in a full filter the second line on average shows that an item is absent. Every other item is.
LIMIT_LINES = {"exists": {"CLASSIC": (2, 7), "BLOCKED": (1, 1)},
               "add": {"CLASSIC": (7, 7), "BLOCKED": (1, 1)}}
LIMIT_HASHES = {"CLASSIC": 2, "BLOCKED": 1}
LIMITED = [("exists", 1, "mixed"), ("exists", 1000, "mixed"),
           ("add", 1, "fresh"), ("add", 1000, "fresh")]
ABSENT_PERCENT = {"mixed": 50, "present": 0, "absent": 100}


class Variant:
    """One contender: a filter in a server. `added` is how many items it has been given."""

    def __init__(self, name, server, key, reserve_words):
        self.name = name
        self.server = server
        self.key = key
        self.reserve_words = reserve_words
        self.added = 0
        self.looked_up = 0

    def reserve(self, n):
        before, after = self.reserve_words
        self.server.do("BF.RESERVE", self.key, *before, n, "NONSCALING", *after)

    def load_half_full(self, size):
        """A filter of `size` bytes with half of its bits set at random, as in a full one, and some items
        that are really there. The speed depends only on where the bits are, and adding three billion
        items takes a quarter of an hour."""
        layout = 1 if self.name == "BLOCKED" else 0
        for iterator, data in random_pieces(size, layout=layout):
            self.server.do("BF.LOADCHUNK", self.key, iterator, data)
        self.add_fresh(FILL_BATCH, PRESENT_IN_LARGE)

    def delete(self):
        self.server.do("DEL", self.key)
        self.added = 0

    def add_fresh(self, batch, count):
        """Adds the next `count` items; all but the filter's false positives must be new."""
        command = COMMANDS["add"][batch > 1]
        count -= count % batch
        run = run_load(
            self.server, command, self.key, batch, count, first=self.added, range=max(count, 1)
        )
        self.added += count
        if run.answers["present_ones"] < 0.9 * count:
            raise RuntimeError("%s: only %d of %d fresh items were added: %s"
                               % (self.name, run.answers["present_ones"], count, command))
        return run

    def look_up(self, op, batch, kind, count):
        """Looks up present items, absent ones, or half and half, or adds or deletes present ones; a wrong
        answer is an error."""
        run = run_load(
            self.server, COMMANDS[op][batch > 1], self.key, batch, count,
            start=self.looked_up, first=0, range=self.added,
            absent_first=self.added, absent_range=self.added,
            absent_percent=ABSENT_PERCENT[kind], send="width" if op == "bulk exists" else "args",
        )
        self.looked_up += run.items  # not the same items again: they would be in the caches
        answers = run.answers
        expected = 0 if op == "add" else answers["present"]
        if answers["present_ones"] != expected:
            raise RuntimeError("%s: %s of %d present items answered 1 %d times"
                               % (self.name, op, answers["present"], answers["present_ones"]))
        return run

    def floor(self, access, batch, count):
        """The floor on this variant's key."""
        command = COMMANDS[access][batch > 1]
        return run_load(self.server, command, self.key, batch, count, range=max(self.added, 1))

    def limit(self, op, layout, size, batch, count):
        """The floor with an item's hashes, and its lines of an area of `size` bytes."""
        self.server.do("FLOOR.AREA", size, *LIMIT_LINES[op][layout], LIMIT_HASHES[layout])
        command = LIMIT_COMMANDS[op][batch > 1]
        return run_load(self.server, command, self.key, batch, count, range=max(self.added, 1))


def start_variants():
    """(variants, what was left out and why). The floor runs on the first variant's key."""
    server = BenchServer(MODULE, with_floor=True).start()
    bits = ("BITSPERKEY", BITS_PER_KEY)
    variants = [Variant("CLASSIC", server, "c", (bits, ()))]
    left_out = []
    blocked = Variant("BLOCKED", server, "b", (bits, ("LAYOUT", "BLOCKED")))
    try:
        blocked.reserve(1000)
        blocked.delete()
        variants.append(blocked)
    except AssertionError as refused:
        left_out.append("BLOCKED: %s" % refused)
    if PEER:
        peer = BenchServer(PEER).start()
        variants.append(Variant("peer", peer, "c", ((PEER_ERROR_RATE,), ())))
    else:
        left_out.append("peer: none given (PEER=path/to/other.so)")
    return variants, left_out


def close_variants(variants):
    for server in {id(v.server): v.server for v in variants}.values():
        server.close()


class Rows:
    """Measurements by row and name (a variant's, or a floor's), one per round."""

    def __init__(self):
        self.runs = {}

    def note(self, row, name, run):
        self.runs.setdefault(row, {}).setdefault(name, []).append(run)

    def ns(self, row, name):
        return [run.ns for run in self.runs[row][name]]

    def ratios(self, row, name, other):
        """The ratios round by round; empty if one of the two is missing."""
        if other not in self.runs[row]:
            return []
        return [a / b for a, b in zip(self.ns(row, name), self.ns(row, other))]

    def in_rounds(self, rounds, tasks, seed):
        """`tasks`: {row: [(name, function giving a Measurement)]}. Rows in random order, and within
        each row its contenders, floor included: so those to be compared are neighbours in time."""
        order = random.Random(seed)
        for number in range(rounds):
            say("round %d of %d: %d runs" % (number + 1, rounds, sum(map(len, tasks.values()))))
            for row in order.sample(list(tasks), len(tasks)):
                for name, measure_one in order.sample(tasks[row], len(tasks[row])):
                    self.note(row, name, measure_one())


def fill(rows, variants, goal):
    """Adds the next items up to number `goal`, and keeps the cost as a row of its own."""
    for variant in variants:
        run = variant.add_fresh(FILL_BATCH, goal - variant.added)
        say("%s: %d items, %.0f ns each" % (variant.name, variant.added, run.ns))
        rows.note("fill", variant.name, run)


def reload(variants):
    """All filters saved and loaded again, as by a restart."""
    for server in {id(v.server): v.server for v in variants}.values():
        server.control.socket.settimeout(3600)
        server.do("SAVE")
        server.do("DEBUG", "RELOAD", "NOSAVE")
        say("saved and loaded; %d MiB are in huge pages" % (server.huge_bytes() >> 20))


# Nanoseconds an item may be expected to cost, to make the runs about equally long. Items are
# counted, not timed: a run is the same whatever else the machine does.
EXPECTED_NS = {1: 700, 10: 250, 100: 150, 1000: 120, 10000: 60}


def items_in(seconds, batch):
    whole = max(batch, 1000)
    return max(int(seconds * 1e9 / EXPECTED_NS[batch]) // whole * whole, whole)


def fresh_per_run(batches, room, rounds, seconds):
    """{batch size: how many fresh items a run may add}: items_in, as far as the room goes round."""
    wanted = {batch: items_in(seconds, batch) for batch in batches}
    scale = min(1, room / (rounds * sum(wanted.values())))
    return {batch: max(int(n * scale) // 1000 * 1000, 1000) for batch, n in wanted.items()}


def floor_tasks(variant, batch, seconds, accesses=("floor",)):
    count = items_in(seconds, batch)
    return [(access, partial(variant.floor, access, batch, count)) for access in accesses]


def limit_tasks(variant, row, size, seconds):
    """None without a size."""
    if row not in LIMITED or not size:
        return []
    op, batch, _ = row
    count = items_in(seconds, batch)
    return [("limit, " + layout, partial(variant.limit, op, layout, size, batch, count))
            for layout in LIMIT_LINES[op]]


def add_tasks(variants, per_run, seconds, size):
    tasks = {}
    for batch, count in per_run.items():
        row = ("add", batch, "fresh")
        tasks[row] = [(v.name, partial(v.add_fresh, batch, count)) for v in variants]
        tasks[row] += floor_tasks(variants[0], batch, seconds, ("floor", "floor, for writing"))
        tasks[row] += limit_tasks(variants[0], row, size, seconds)
    return tasks


def lookup_tasks(variants, lookups, seconds, size=None):
    """The floor of a bulk lookup is that of 1,000 items as arguments; a peer has no bulk lookups."""
    tasks = {}
    for row in lookups:
        op, batch, _ = row
        count = items_in(seconds, batch)
        tasks[row] = [(v.name, partial(v.look_up, *row, count)) for v in variants
                      if (op, v.name) != ("bulk exists", "peer")]
        tasks[row] += floor_tasks(variants[0], min(batch, 1000), seconds)
        tasks[row] += limit_tasks(variants[0], row, size, seconds)
    return tasks


# One at a time and 1,000 in every kind; the batches between only as the headlines have them.
LOOKUPS = [("exists", b, kind) for b in (1, 1000) for kind in ("mixed", "present", "absent")]
LOOKUPS += [("exists", b, "mixed") for b in (10, 100)]
LOOKUPS += [("add", b, "present") for b in ALL_BATCHES]
FRESH = [("add", b, "fresh") for b in ALL_BATCHES]
ALL_ROWS = LOOKUPS + FRESH


def measure(variants, n, rounds, seconds, wanted=ALL_ROWS, has_limit=True):
    """The speed rows that are wanted, into a Rows, with the limit beside them or without."""
    rows = Rows()
    lookups = [row for row in LOOKUPS if row in wanted]
    fresh = [batch for (_, batch, _) in FRESH if ("add", batch, "fresh") in wanted]
    n -= n % FILL_BATCH
    size = n * BITS_PER_KEY // 8 if has_limit else None
    for variant in variants:
        variant.reserve(n)
    fill(rows, variants, int(n * FIRST_FILL) // FILL_BATCH * FILL_BATCH)
    reload(variants)
    per_run = fresh_per_run(fresh, n - variants[0].added - FILL_BATCH, rounds, seconds)
    rows.in_rounds(rounds, add_tasks(variants, per_run, seconds, size), seed=1)
    fill(rows, variants, n)
    reload(variants)
    rows.in_rounds(rounds, lookup_tasks(variants, lookups, seconds, size), seed=2)
    return rows


def fill_size(variants, size):
    """Gives each variant a full filter of `size` bytes. Returns those that have one: a peer's dump format
    is not known here, so it has none of the large ones."""
    for variant in variants:
        variant.delete()
    if size > FILLED_REALLY:
        variants = [variant for variant in variants if variant.name != "peer"]
        for variant in variants:
            variant.load_half_full(size)
        return variants
    n = size * 8 // BITS_PER_KEY // FILL_BATCH * FILL_BATCH
    for variant in variants:
        variant.reserve(n)
    fill(Rows(), variants, n)
    reload(variants)
    return variants


def measure_sizes(variants, sizes, rounds, seconds):
    """Mixed lookups against the size of the filter: [{bytes, batch, ns: {name: [...]}}]."""
    out = []
    for size in sizes:
        rows = Rows()
        say("filters of %d bytes" % size)
        filled = fill_size(variants, size)
        lookups = [("exists", 1, "mixed"), ("exists", 1000, "mixed"), ("bulk exists", 10000, "mixed")]
        rows.in_rounds(rounds, lookup_tasks(filled, lookups, seconds), seed=3)
        for row in lookups:
            named = {name: rows.ns(row, name) for name in rows.runs[row]}
            out.append({"bytes": size, "batch": row[1], "ns": named})
    return out


def error_rates(rows):
    """The measured false-positive rate over all rounds: {variant: rate}."""
    row = rows.runs["exists", 1000, "mixed"]
    return {name: statistics.mean(run.error_rate for run in runs)
            for name, runs in row.items() if name in rows.runs["fill"]}
