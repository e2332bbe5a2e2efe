"""`make bench-instructions ROWS=typical`: instructions of the whole server, per command or item of the rows
of typical_rows.py, ours and PEER's. Prints Markdown, writes build/bench/instructions.json.

The server runs under callgrind with the module. A row is sent as n commands and as the next 2n; what counts is
the difference, divided by n: what a connection, a wakeup or a dump takes drops out. Two runs agree within
0.3 %, on a machine that is busy or not, because next to nothing depends on time or chance:

    still.so                a microsecond passes with each look at the clock; the seed of hash tables is 0
    hz 1, dynamic-hz no     the server's cron is due after a million looks, not in between
    activerehashing no      tables are not rehashed in spare time
    slowlog-log-slower-than -1
    all else                as the server comes: latency-tracking, for one, is part of what a command costs

Where a row changes nothing, the first n commands are sent once more: the last line says how much that differs
from the first time. The CPU decides which code the C library and the modules run (AVX2 or not); compiler and its flags decide the
rest. With BLOOMPORT_KEEP=1 the server's directory stays: callgrind_annotate reads the dumps in it, whose
`desc: Trigger` names the row and the run.

Environment: BLOOMPORT_SO, BENCH_STILL_SO, REDIS_SERVER, PEER.
"""

import json
import os
import re
import subprocess
import time

from harness import MODULE, PEER, REDIS_SERVER, REPO, Server, exchange, exchange_many, say
from typical import OURS, peer_name
from typical_report import instructions_table
from typical_rows import ROWS, build_small, by_state, commands_of

STILL_SO = os.path.abspath(os.environ.get("BENCH_STILL_SO", str(REPO / "build" / "release" / "tests" / "bench" / "still.so")))
OUT = REPO / "build" / "bench" / "instructions.json"
ITEMS = 2000  # of the shorter runs
SAVED = 5000
CONFIG = {"hz": "1", "dynamic-hz": "no", "activerehashing": "no", "slowlog-log-slower-than": "-1"}
# With instr-atstart=no it runs at a fifth of a machine's speed until counting begins, and not a fiftieth.
CALLGRIND = ("valgrind", "--tool=callgrind", "--trace-children=yes", "--instr-atstart=no")
DUMP_SECONDS = 60


def total_of(dump):
    """The instructions of a dump, None if it is not written to its end."""
    found = re.search(r"^summary: (\d+)$", dump, re.M)
    return int(found[1]) if found and re.search(r"^totals: \d+$", dump, re.M) else None


class Counter:
    """A server under callgrind."""

    def __init__(self, module):
        self.server = Server(config=CONFIG, module=os.path.abspath(module))
        self.out = os.path.join(self.server.directory, "callgrind")
        self.server.command = ("env", "LD_PRELOAD=" + STILL_SO, *CALLGRIND,
                               "--callgrind-out-file=" + self.out, REDIS_SERVER)
        self.dumps = self.sent = 0
        self.server.start()
        self.connection = self.server.connection()
        self.connection.socket.settimeout(600)

    def control(self, *words):
        done = subprocess.run(["callgrind_control", *words, str(self.server.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0 or "Error" in done.stdout:
            raise RuntimeError("callgrind_control: " + done.stdout)

    def build(self, commands):
        """Empties the server, builds a state and loads it again, uncounted."""
        self.control("--instr=off")
        exchange(self.connection, [("FLUSHALL", "SYNC")])
        exchange_many(self.connection, commands)
        exchange(self.connection, [("DEBUG", "RELOAD")])
        self.control("--instr=on")

    def count(self, commands, name):
        """(instructions that the server takes for these commands, its replies)"""
        replies = exchange(self.connection, commands)
        self.dumps += 1
        self.control("--dump=" + re.sub(r"\W+", "-", name))  # it reaches a shell
        return self.read_dump("%s.%d" % (self.out, self.dumps)), replies

    def read_dump(self, path):
        deadline = time.monotonic() + DUMP_SECONDS
        while time.monotonic() < deadline:
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as dump:
                    total = total_of(dump.read())
                if total is not None:
                    return total
            time.sleep(0.01)
        raise RuntimeError("callgrind wrote no %s" % path)

    def count_row(self, row, ncommands, name):
        commands = [row.at(self.sent + i) for i in range(ncommands)]
        self.sent += ncommands
        count, replies = self.count(commands, name)
        row.check(replies, ncommands)
        return count

    def measure(self, row):
        """{per_command, per_item, repeated: the share by which the first and the third run differ}"""
        n = commands_of(row, ITEMS)
        self.count_row(row, n // 10, "before " + row.work)
        first = self.sent
        once, twice = (self.count_row(row, times * n, "%dn, %s" % (times, row.work)) for times in (1, 2))
        self.sent, last = first if not row.changes else self.sent, self.sent
        again = self.count_row(row, n, "n, " + row.work)
        self.sent = max(last, self.sent)
        per_command = (twice - once) / n
        return {"per_command": per_command, "per_item": per_command / max(row.items, 1),
                "repeated": 0 if row.changes else abs(again - once) / once}

    def measure_saving(self):
        """{what: instructions per small filter} of SAVE and of loading, with the servers' default compression."""
        exchange(self.connection, [("CONFIG", "SET", "rdbcompression", "yes")])
        self.build(())
        save, load = [], []
        for first in (0, SAVED):
            exchange_many(self.connection, build_small(SAVED, first))
            self.count([("PING",)], "filled")
            save.append(self.count([("SAVE",)], "SAVE")[0])
            self.count([("FLUSHALL", "SYNC")], "emptied")
            load.append(self.count([("DEBUG", "RELOAD", "NOSAVE")], "loaded")[0])
        return {"SAVE, per small filter": (save[1] - save[0]) / SAVED,
                "loading, per small filter": (load[1] - load[0]) / SAVED}


def measure_module(name, module):
    """{work: measured}, of saving and loading too."""
    counted = {}
    counter = Counter(module)
    try:
        for state, rows in by_state([row for row in ROWS if row.state.is_counted]):
            say("%s: %s" % (name, state.name))
            counter.build(state.build())
            counted.update({row.work: counter.measure(row) for row in rows})
        say("%s: saving and loading" % name)
        for what, count in counter.measure_saving().items():
            counted[what] = {"per_command": count, "per_item": count, "repeated": 0}
    finally:
        counter.server.close()
    return counted


def main():
    counted = {OURS: measure_module(OURS, MODULE)}
    if PEER:
        counted[peer_name()] = measure_module(peer_name(), PEER)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(counted, indent=1) + "\n")
    print(instructions_table(counted))


if __name__ == "__main__":
    main()
