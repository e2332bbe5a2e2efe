"""The part `typical`: server CPU per command or item of the rows of typical_rows.py, ours and PEER's.

Every contender has a server of its own. For each state both build it, save it and load it: a table of
keys that has just grown would be rehashed step by step, by the commands that are measured. Then in every round
each row is run on both, in random order (Rows.in_rounds). A row that changes its state is run on a state that
has just been loaded again. A tenth of a run's commands go before it, unmeasured, so that what a user's next
command would find in the caches is there.

Then 100,000 small filters are saved and loaded, with rdbcompression yes, the servers' default.
"""

import os
import time
from functools import partial
from pathlib import Path

from harness import MODULE, PEER, BenchServer, Measurement, exchange, exchange_many, say
from speed import Rows
from typical_rows import GROWN_10M, build_small, by_state, commands_of

ITEMS = 20_000  # of one run: some 10 ms of the server's CPU
SAVED = 100_000
OURS = "bloomport"


class Contender:
    """A module in its server; `is_changed` if its state is not what was built."""

    def __init__(self, name, module):
        self.name, self.sent, self.is_changed = name, 0, False
        self.server = BenchServer(module).start()
        self.server.control.socket.settimeout(600)

    def build(self, commands):
        self.server.do("FLUSHALL", "SYNC")
        exchange_many(self.server.control, commands)
        self.server.do("DEBUG", "RELOAD")
        self.is_changed = False

    def send(self, row, ncommands):
        """(server CPU seconds, wall seconds) of the next commands of a row."""
        commands = [row.at(self.sent + i) for i in range(ncommands)]
        self.sent += ncommands
        cpu, wall = self.server.cpu_seconds(), time.monotonic()
        replies = exchange(self.server.control, commands)
        wall = time.monotonic() - wall
        row.check(replies, ncommands)
        return self.server.cpu_seconds() - cpu, wall

    def run(self, row):
        if self.is_changed:
            self.server.do("DEBUG", "RELOAD", "NOSAVE")
        self.is_changed = row.changes
        ncommands = commands_of(row, ITEMS)
        self.send(row, ncommands // 10)
        cpu, wall = self.send(row, ncommands)
        items = ncommands * max(row.items, 1)
        return Measurement(cpu, {"items": items, "seconds": wall, "client_cpu": 0})

    def save_and_load(self):
        """CPU milliseconds of SAVE and of loading it into an empty server, and the bytes of the file."""
        cpu = [self.server.cpu_seconds()]
        self.server.do("SAVE")
        cpu.append(self.server.cpu_seconds())
        self.server.do("FLUSHALL", "SYNC")
        flushed = self.server.cpu_seconds()
        self.server.do("DEBUG", "RELOAD", "NOSAVE")
        file = os.path.join(self.server.directory, "dump.rdb")
        return {"save": 1000 * (cpu[1] - cpu[0]), "load": 1000 * (self.server.cpu_seconds() - flushed),
                "bytes": os.path.getsize(file)}


def peer_name():
    name = Path(PEER).stem
    return name if name != OURS else "peer"


def start_contenders():
    return [Contender(OURS, MODULE)] + ([Contender(peer_name(), PEER)] if PEER else [])


def measure_saving(contenders, rounds):
    """{name: [what save_and_load gives]}"""
    say("saving and loading %d small filters" % SAVED)
    runs = {contender.name: [] for contender in contenders}
    for contender in contenders:
        contender.server.do("CONFIG", "SET", "rdbcompression", "yes")
        contender.build(build_small(SAVED))
    for _ in range(rounds):
        for contender in contenders:
            runs[contender.name].append(contender.save_and_load())
    return runs


def measure_on(contenders, rounds):
    rows, memory = Rows(), {}
    for seed, (state, its_rows) in enumerate(by_state(), start=10):
        say(state.name)
        for contender in contenders:
            contender.build(state.build())
            if state is GROWN_10M:
                memory[contender.name] = contender.server.do("MEMORY", "USAGE", "grown000000")
        tasks = {row.work: [(contender.name, partial(contender.run, row)) for contender in contenders]
                 for row in its_rows}
        rows.in_rounds(rounds, tasks, seed)
    return {"rows": rows, "memory": memory, "saving": measure_saving(contenders, rounds)}


def measure(rounds):
    """{rows, memory: {name: bytes}, saving: {name: [runs]}}"""
    contenders = start_contenders()
    try:
        return measure_on(contenders, rounds)
    finally:
        for contender in contenders:
            contender.server.close()
