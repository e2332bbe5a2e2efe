"""The part `forget`: filters that forget beside those that do not, in the rounds of speed.py.

Five filters of 10 bits an item are in one server: CLASSIC, BLOCKED and COUNTING hold n items in one layer,
and two windows, CLASSIC and BLOCKED, hold n/4 items in each of five generations. With GENERATIONS 4 no
more than five are ever alive. In this order:

    fill              CLASSIC, BLOCKED and COUNTING to 75 %; of the windows four generations, and of
                      the newest one batch; save, load in a server whose clock is the machine's
    rounds of adds    fresh items: n/4 of them have room in each filter
    fill to 100 %     save and load
    rounds on the full filters: lookups; of COUNTING also deletes and adds of present items

Five generations need time to pass. The server that is filled runs with the tests' clock
(tests/server/clock.py), which starts four generations ago. The server that is measured loads what
that one has saved, and has the machine's clock. Present items are spread over all generations.

A window must cost at most five times its layout's one layer for single lookups, and in batches less
than half of that (window_bound).
"""

import time
from functools import partial

from harness import MODULE, BenchServer, run_load, say
from speed import (BITS_PER_KEY, COMMANDS, FILL_BATCH, FIRST_FILL, Rows, Variant, add_tasks, error_rates,
                   fill, floor_tasks, fresh_per_run, items_in, lookup_tasks, reload)

DEFAULT_N = 20_000_000  # 24 MiB in CLASSIC, 200 MiB in all five; 200000000 needs ten times that
GENERATIONS = 4
LOOKUPS = [("exists", 1, "mixed"), ("exists", 1000, "mixed"), ("exists", 1000, "absent")]
FRESH = [("add", 1, "fresh"), ("add", 1000, "fresh")]
DELETE, ADD_AGAIN = ("del", 1000, "present"), ("add", 1000, "present")
ALL_ROWS = LOOKUPS + FRESH + [ADD_AGAIN, DELETE]
OPPOSITE = {"add": "del", "del": "add"}
NAMES = ["floor", "floor, for writing", "CLASSIC", "COUNTING", "window, CLASSIC", "BLOCKED",
         "window, BLOCKED"]
ONE_LAYER = {"window, CLASSIC": "CLASSIC", "window, BLOCKED": "BLOCKED"}


def window_bound(batch):
    """The most that a window's lookup may cost, x a lookup of one layer. In a batch the lines of all
    generations are under way together: it must be less than half."""
    return (GENERATIONS + 1) / (2 if batch > 1 else 1)


class Plain(Variant):
    """One layer of n items."""

    def __init__(self, name, server, key):
        super().__init__(name, server, key, (("BITSPERKEY", BITS_PER_KEY), ("LAYOUT", name)))


class Counting(Plain):
    def change_and_undo(self, op, batch, count):
        """Adds present items once more, or deletes them. Afterwards it does the opposite, unmeasured: the
        filter is as full as before, and no counter comes near 15."""
        start = self.looked_up
        run = self.look_up(op, batch, "present", min(count, self.added))
        command = COMMANDS[OPPOSITE[op]][batch > 1]
        undone = run_load(self.server, command, self.key, batch, run.items, start=start, range=self.added)
        ones = undone.answers["present_ones"]
        if ones < run.items * (1 if op == "add" else 0.9):  # a deleted item may be a false positive
            raise RuntimeError("%s: %s after %s of %d items answered 1 %d times"
                               % (self.name, command, op, run.items, ones))
        return run


class Window(Variant):
    """Five generations of n/4 items."""

    def __init__(self, layout, server, key, seconds):
        super().__init__("window, " + layout, server, key, None)
        self.words = ("WINDOW", seconds, "GENERATIONS", GENERATIONS, "LAYOUT", layout)

    def reserve(self, n):
        self.server.do("BF.RESERVE", self.key, "BITSPERKEY", BITS_PER_KEY, n, *self.words)

    def check_generations(self):
        """Five generations are alive, each is a single layer, and each has its fifth of the items."""
        (_, _, generations), = self.server.do("BF.INFO", self.key, "WINDOW")
        layers, = self.server.do("BF.INFO", self.key, "FILTERS")
        items = [count for _, count in generations]
        alive = GENERATIONS + 1
        if (len(items), layers) != (alive, alive) or min(items) < 0.9 * self.added / alive:
            raise RuntimeError("%s: %d layers, items of the live generations: %s"
                               % (self.name, layers, items))


def check_generations(windows):
    for variant in windows:
        variant.check_generations()


def calm_window():
    """Seconds of a window whose present generation is in its first half: for a day none begins or ends by
    itself. Generations start at multiples of their length since the epoch."""
    now = time.time()
    return next(GENERATIONS * length for length in range(250_000, 300_000) if now % length < length / 2)


def build(rows, server, plain, windows, n, generation_ms):
    """All filters as they are before the rounds of adds."""
    server.clock.set(-GENERATIONS * generation_ms)
    for variant in plain + windows:
        variant.reserve(n)
    fill(rows, plain, int(n * FIRST_FILL) // FILL_BATCH * FILL_BATCH)
    for generation in range(GENERATIONS):
        fill(rows, windows, (generation + 1) * n // GENERATIONS)
        server.clock.advance(generation_ms)
    fill(rows, windows, n + FILL_BATCH)  # the newest begins


def restart_with_machine_clock(server):
    server.control.socket.settimeout(3600)
    server.do("SAVE")
    server.clock = None
    server.restart()
    say("loaded without the tests' clock; %d MiB are in huge pages" % (server.huge_bytes() >> 20))


def change_tasks(classic, counting, seconds):
    """What only COUNTING can do, and adds of present items beside CLASSIC's."""
    tasks = {}
    for row in (ADD_AGAIN, DELETE):
        op, batch, _ = row
        count = items_in(seconds, batch)
        tasks[row] = [(counting.name, partial(counting.change_and_undo, op, batch, count))]
        tasks[row] += floor_tasks(classic, batch, seconds, ("floor", "floor, for writing"))
    tasks[ADD_AGAIN].append((classic.name, partial(classic.look_up, *ADD_AGAIN, items_in(seconds, 1000))))
    return tasks


def measure_on(server, n, rounds, seconds, window):
    rows = Rows()
    plain = [Plain("CLASSIC", server, "c"), Plain("BLOCKED", server, "b"), Counting("COUNTING", server, "n")]
    windows = [Window("CLASSIC", server, "w", window), Window("BLOCKED", server, "x", window)]
    variants = plain + windows
    build(rows, server, plain, windows, n, 1000 * window // GENERATIONS)
    restart_with_machine_clock(server)
    room = n // GENERATIONS - 2 * FILL_BATCH
    per_run = fresh_per_run([batch for _, batch, _ in FRESH], room, rounds, seconds)
    rows.in_rounds(rounds, add_tasks(variants, per_run, seconds, None), seed=4)
    fill(rows, plain, n)
    fill(rows, windows, n + n // GENERATIONS)
    reload(variants)
    check_generations(windows)
    tasks = lookup_tasks(variants, LOOKUPS, seconds)
    tasks.update(change_tasks(plain[0], plain[2], seconds))
    rows.in_rounds(rounds, tasks, seed=5)
    check_generations(windows)
    return rows


def measure(n, rounds, seconds):
    """{n, window, rows, error_rates}"""
    n -= n % (GENERATIONS * FILL_BATCH)
    window = calm_window()
    server = BenchServer(MODULE, with_floor=True, has_clock=True).start()
    try:
        rows = measure_on(server, n, rounds, seconds, window)
    finally:
        server.close()
    return {"n": n, "window": window, "rows": rows, "error_rates": error_rates(rows)}
