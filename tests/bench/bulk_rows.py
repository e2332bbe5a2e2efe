"""The part `bulk`: BF.BULKEXISTS and BF.BULKADD beside BF.MEXISTS and BF.MADD of 1,000, the floor and a peer.

CLASSIC and BLOCKED filters of `n` items at 10 bits are in one server, a peer's in its own. A third of the
items has 8 bytes, a third 16, a third 36 (load.c). In this order:

    fill to 50 %      save and load
    rounds of adds    fresh items
    fill to 100 %     save and load
    rounds of lookups, half of the items present
    rounds by TCP     the same lookups over loopback, by wall time: what a client sees

Every row has its own runs of the floor and of the peer, both with 1,000 items of 16 bytes as arguments: a
ratio is taken within a round, between neighbours in time. In the rows of BOUNDED also stands the limit,
which hashes each item and waits for its lines. The rows of 1,000,000 items are there to see how long one
command holds the server.
"""

import sys
from functools import partial

from harness import MODULE, PEER, BenchServer, run_load, say
from speed import (BITS_PER_KEY, LIMIT_HASHES, LIMIT_LINES, PEER_ERROR_RATE, Rows, Variant, close_variants,
                   reload)

FIRST_FILL = 0.5
ITEM_SIZES = (8, 16, 36)
SENT = [("width", 8), ("width", 16), ("width", 36), ("lines", 16)]
BATCHES = (1_000, 10_000, 100_000)
HUGE = 1_000_000
HUGE_ROUNDS = 3
PIECE = 10_000  # what the documents tell clients to send
ARGUMENTS = ("args", 16, 1_000)  # BF.MEXISTS and BF.MADD of 1,000
SHAPES = [ARGUMENTS] + [(send, item, batch) for send, item in SENT for batch in BATCHES]
HUGE_SHAPE = ("width", 16, HUGE)
BY_TCP = [ARGUMENTS] + [(send, item, PIECE) for send, item in SENT]

COMMANDS = {("exists", False): "BF.MEXISTS", ("add", False): "BF.MADD",
            ("exists", True): "BF.BULKEXISTS", ("add", True): "BF.BULKADD"}
LIMIT_COMMANDS = {"exists": "LIMIT.BULK", "add": "LIMIT.WBULK"}

# The most x floor that pieces of 10,000 items of 16 bytes may cost, and the least x the peer's speed
BOUNDED = ("width", 16, PIECE)
BOUNDS = {"exists": {"CLASSIC": 0.75, "BLOCKED": 0.30}, "add": {"CLASSIC": 1.15, "BLOCKED": 0.35}}
PEER_BOUNDS = {"CLASSIC": 5, "BLOCKED": 12}

EXPECTED_NS = 60
LEAST_ADDS = 400_000  # fresh items of a run, where there is room: of fewer, the run's own cost shows


class Contender(Variant):
    """A filter that knows how many items of each size it has been given."""

    def __init__(self, name, server, reserve_words):
        super().__init__(name, server, name[0].lower(), reserve_words)
        self.given = dict.fromkeys(ITEM_SIZES, 0)

    def send(self, op, shape, count, **options):
        send, item, batch = shape
        command = COMMANDS[op, send != "args"]
        self.server.do("CONFIG", "RESETSTAT")
        run = run_load(self.server, command, self.key, batch, count, send=send, item=item, **options)
        run.micros = self.server.micros_per_call(command)
        return run

    def add(self, shape, count):
        item = shape[1]
        run = self.send("add", shape, count, first=self.given[item], range=count)
        self.given[item] += run.items
        if run.answers["present_ones"] < 0.9 * run.items:
            raise RuntimeError("%s: only %d of %d fresh items were added: %s"
                               % (self.name, run.answers["present_ones"], run.items, shape))
        return run

    def look_up(self, shape, count, **options):
        given = self.given[shape[1]]
        run = self.send("exists", shape, count, start=self.looked_up, range=given, absent_first=given,
                        absent_range=given, absent_percent=50, **options)
        self.looked_up += run.items
        if run.answers["present_ones"] != run.answers["present"]:
            raise RuntimeError("%s: %d of %d present items were found: %s" % (
                self.name, run.answers["present_ones"], run.answers["present"], shape))
        return run

    def fill(self, goal):
        """A third of each size, up to `goal` in all. A peer has no bulk commands."""
        for item in ITEM_SIZES:
            shape = ("args", item, 1_000) if self.name == "peer" else ("width", item, PIECE)
            missing = goal // len(ITEM_SIZES) - self.given[item]
            if missing >= shape[2]:
                self.add(shape, missing // shape[2] * shape[2])
        say("%s: %d items" % (self.name, sum(self.given.values())))

    def floor_many(self, count):
        return run_load(self.server, "FLOOR.MANY", self.key, 1_000, count, range=self.given[16])

    def bytes_alone(self, shape, count):
        """The floor of one string: the bytes come in, a bitmap goes out."""
        send, item, batch = shape
        return run_load(self.server, "FLOOR.BULK", self.key, batch, count, send=send, item=item,
                        range=self.given[item])

    def bulk_limit(self, op, layout, size, shape, count):
        send, item, batch = shape
        self.server.do("FLOOR.AREA", size, *LIMIT_LINES[op][layout], LIMIT_HASHES[layout])
        return run_load(self.server, LIMIT_COMMANDS[op], self.key, batch, count, send=send, item=item,
                        range=self.given[item])


def start_contenders():
    server = BenchServer(MODULE, with_floor=True, tcp=True).start()
    bits = ("BITSPERKEY", BITS_PER_KEY)
    contenders = [Contender("CLASSIC", server, (bits, ())),
                  Contender("BLOCKED", server, (bits, ("LAYOUT", "BLOCKED")))]
    if PEER:
        contenders.append(Contender("peer", BenchServer(PEER, tcp=True).start(), ((PEER_ERROR_RATE,), ())))
    return contenders


def whole(count, batch):
    return max(count // batch, 1) * batch


def references(contenders, op, count):
    """The floor and the peer, with 1,000 items as arguments: in every row."""
    count = whole(count, 1_000)
    tasks = [("floor", partial(contenders[0].floor_many, count))]
    if contenders[-1].name == "peer":
        act = contenders[-1].add if op == "add" else contenders[-1].look_up
        tasks.append(("peer", partial(act, ARGUMENTS, count)))
    return tasks


def tasks_of(contenders, op, shapes, count, size=None):
    """{row: [(name, function)]}; a row is (op, how the items are sent, bytes of an item, batch)."""
    tasks = {}
    for shape in shapes:
        mine = whole(count, shape[2])
        row = tasks[(op, *shape)] = references(contenders, op, count)
        for one in contenders[:2]:
            row.append((one.name, partial(one.add if op == "add" else one.look_up, shape, mine)))
        if shape == BOUNDED and size:
            row += [("limit, " + layout, partial(contenders[0].bulk_limit, op, layout, size, shape, mine))
                    for layout in ("CLASSIC", "BLOCKED")]
        if op == "exists" and shape[0] == "width" and shape[2] == PIECE:
            row.append(("bytes alone", partial(contenders[0].bytes_alone, shape, mine)))
    return tasks


def plan_adds(room, rounds, wanted):
    """(rounds, items of a run), such that all rows together find room for fresh items."""
    per_row = room // len(SHAPES)
    if per_row < max(BATCHES):
        sys.exit("ROWS=bulk: N is too small for adds of %d items in each of %d rows"
                 % (max(BATCHES), len(SHAPES)))
    count = max(min(wanted, max(per_row // rounds, LEAST_ADDS), per_row), max(BATCHES))
    return min(rounds, per_row // count), count


def add_rounds(rows, contenders, n, rounds, wanted, size):
    """Rounds of adds; those of 1,000,000 only where a tenth of the filter is more than they take."""
    huge = min(rounds, HUGE_ROUNDS) if n >= 10 * HUGE_ROUNDS * HUGE else 0
    room = n - sum(contenders[0].given.values()) - huge * HUGE
    rounds, count = plan_adds(room, rounds, wanted)
    rows.in_rounds(rounds, tasks_of(contenders, "add", SHAPES, count, size), seed=6)
    rows.in_rounds(huge, tasks_of(contenders[:2], "add", [HUGE_SHAPE], HUGE), seed=7)


def tcp_tasks(contenders, count):
    """Lookups over loopback: several commands under way, and one at a time."""
    tasks = {}
    for shape in BY_TCP:
        for waits in (0, 1):
            tasks[("tcp", *shape, waits)] = [
                (one.name, partial(one.look_up, shape, whole(count, shape[2]), port=one.server.port, wait=waits))
                for one in contenders if one.name != "peer" or shape == ARGUMENTS]
    return tasks


def measure_on(contenders, n, rounds, seconds):
    rows, size = Rows(), n * BITS_PER_KEY // 8
    wanted = int(seconds * 1e9 / EXPECTED_NS)
    for one in contenders:
        one.reserve(n)
        one.fill(int(n * FIRST_FILL))
    reload(contenders)
    add_rounds(rows, contenders, n, rounds, wanted, size)
    for one in contenders:
        missing = n - sum(one.given.values())
        if missing >= 1_000:
            one.add(ARGUMENTS, whole(missing, 1_000))
    reload(contenders)
    rows.in_rounds(rounds, tasks_of(contenders, "exists", SHAPES, wanted, size), seed=8)
    rows.in_rounds(min(rounds, HUGE_ROUNDS), tasks_of(contenders[:2], "exists", [HUGE_SHAPE], HUGE), seed=9)
    rows.in_rounds(rounds, tcp_tasks(contenders, wanted), seed=10)
    return rows


def measure(n, rounds, seconds):
    """{n, rows}"""
    n -= n % (len(ITEM_SIZES) * 2 * PIECE)
    contenders = start_contenders()
    try:
        return {"n": n, "rows": measure_on(contenders, n, rounds, seconds)}
    finally:
        close_variants(contenders)
