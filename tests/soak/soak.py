"""A long mixed load whose every answer is checked, while the server saves, rewrites, replicates, runs
out of memory, evicts, restarts and is killed.

    make soak MINUTES=10 [SERVER=valkey-9] [SEED=n]

Four workers (worker.py) never stop but at checkpoints. A cycle is three blocks of load; after each,
with the workers at rest, every item of every filter is looked up on the master and on the replica, and
both have the same DEBUG DIGEST. Within a block:

    plain       no memory limit; BGSAVE and BGREWRITEAOF under load
    noeviction  maxmemory a little over what is used: what needs more is refused, nothing is lost
    lru         allkeys-lru at 70 % of what is used: keys go, as many as the server says

Between blocks: FLUSHALL (twice in a server's life: used memory after the second is that after the
first and at most LEAK_BYTES more; then the same work is done again and again, and takes no byte), a
restart (kill -9 with AOF, SHUTDOWN SAVE with AOF, DEBUG RELOAD from RDB, in turn; the digest is the
same after it), and now and then a kill -9 of the replica.
While the workers rest, `bloomport copy` reads a COUNTING filter that a writer changes, from the master and from the
replica: each copy must be the filter as it was at one moment.
Each cycle ends with PROGRAMS random programs (tests/server/programs.py) on servers of their own, while the
workers rest. Their seeds are new ones, unless SEED is given, and printed: a failure says how to run it again.
BLOOMPORT_PROGRAM_COMMANDS is their length.
The last line has operations, checks and faults; the exit status is 1 if there were faults.
"""

import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from worker import SHARED, Fault, Worker  # first: it sets the path to tests/server

from churn import assert_is_one_moment, replacing
from filters import QUIET, Writer, follow, server_info, until, until_in_sync
from program_run import report, run
from redis_server import Server
from resp import OK, integer

TOOL = os.environ.get("BLOOMPORT_TOOL", str(Path(__file__).resolve().parents[2] / "build" / "bloomport"))
MINUTES = float(os.environ.get("MINUTES") or 1)
SEED = int(os.environ.get("SEED") or 1)
PROGRAMS = 3
PROGRAM_COMMANDS = int(os.environ.get("BLOOMPORT_PROGRAM_COMMANDS") or 2000)
PROGRAM_SEEDS = random.Random(SEED) if os.environ.get("SEED") else random.SystemRandom()
WORKERS = 4
PHASE_SECONDS = 4
LEAK_BYTES = 128 * 1024
LEAK_ROUNDS, LEAK_ROUND_BYTES = 10, 128
CONFIG = dict(QUIET, **{"repl-backlog-size": "1mb", "slowlog-log-slower-than": "-1"})  # the slow log takes memory
AOF = {"appendonly": "yes", "appendfsync": "everysec"}


class State:
    """What workers and conductor share: which workers may run, and what the server is allowed to do."""

    def __init__(self):
        self.seed = SEED
        self.is_short = self.is_evicting = False
        self.has_failed = False
        self.condition = threading.Condition()
        self.is_running, self.resting, self.is_over = False, 0, False

    def wait_for_turn(self):
        """Called by workers between steps; False at the end."""
        with self.condition:
            self.resting += 1
            self.condition.notify_all()
            self.condition.wait_for(lambda: self.is_running or self.is_over)
            self.resting -= 1
            return not self.is_over

    def failed(self):
        with self.condition:
            self.has_failed = True
            self.condition.notify_all()

    def rest(self):
        with self.condition:
            self.is_running = False
            self.condition.wait_for(lambda: self.resting == WORKERS or self.has_failed)
            if self.has_failed:
                raise Fault("a worker has failed")

    def go(self):
        with self.condition:
            self.is_running = True
            self.condition.notify_all()

    def end(self):
        with self.condition:
            self.is_running, self.is_over = False, True
            self.condition.notify_all()


class Soak:
    def __init__(self):
        self.state = State()
        self.master = Server(tcp=True, config=dict(CONFIG, **AOF)).start()
        self.replica = Server(tcp=True, config=CONFIG).start()
        self.connect()
        follow(self.replica, self.master)
        self.workers = [Worker(i, self.master.socket, self.state) for i in range(WORKERS)]
        for worker in self.workers:
            worker.start()
        self.state.rest()
        self.counts = dict.fromkeys("checkpoints saves rewrites evicted expired restarts flushes copies programs".split(), 0)
        self.growths, self.leaks = [], []

    def connect(self):
        self.call = self.master.connection().call

    def info(self, section, field):
        return int(server_info(self.call, section)[field])

    # ---- blocks of load

    def load(self, seconds=PHASE_SECONDS):
        self.state.go()
        time.sleep(seconds)
        if self.state.has_failed:
            self.state.rest()

    def set_memory(self, limit, policy):
        assert self.call("CONFIG", "SET", "maxmemory-policy", policy) == OK
        assert self.call("CONFIG", "SET", "maxmemory", limit) == OK

    def plain(self):
        self.load(1)
        assert self.call("CONFIG", "SET", "aof-use-rdb-preamble", "yes" if self.counts["rewrites"] % 2 else "no") == OK
        for command, field in (("BGSAVE", "rdb_bgsave_in_progress"), ("BGREWRITEAOF", "aof_rewrite_in_progress")):
            self.call(command)
            self.load(1)
            until(lambda: self.info("persistence", field) == 0 and self.info("persistence", "aof_rewrite_scheduled") == 0, command)
        self.counts["saves"] += 1
        self.counts["rewrites"] += 1
        seen = server_info(self.call, "persistence")
        if (seen["rdb_last_bgsave_status"], seen["aof_last_bgrewrite_status"]) != ("ok", "ok"):
            raise Fault("a save or a rewrite failed")
        self.load(1)
        self.state.rest()

    def noeviction(self):
        self.state.is_short = True
        self.set_memory(self.info("memory", "used_memory") + 300_000, "noeviction")
        self.load()
        self.state.rest()
        self.set_memory(0, "noeviction")
        self.state.is_short = False

    def lru(self):
        self.call("UNLINK", *SHARED)
        for worker in self.workers:
            worker.audit()  # so that what expired before is known to be gone
            worker.set_at_risk()
            for model in worker.shared.values():
                model.forget()
        gone, evicted = sum(worker.gone for worker in self.workers), self.went()
        self.state.is_short = self.state.is_evicting = True
        self.set_memory(self.info("memory", "used_memory") * 7 // 10, "allkeys-lru")
        self.load()
        self.state.rest()
        self.set_memory(0, "noeviction")
        for worker in self.workers:
            worker.audit()
        self.state.is_short = self.state.is_evicting = False
        if sum(worker.gone for worker in self.workers) - gone > self.went() - evicted:
            raise Fault("more keys are gone than were evicted or expired")
        self.make_shared()

    def went(self):
        return self.info("stats", "evicted_keys") + self.info("stats", "expired_keys")

    def make_shared(self):
        for i, key in enumerate(SHARED):
            layout = "BLOCKED" if i == 1 else "CLASSIC"
            assert self.call("BF.RESERVE", key, "0.01", "200", "EXPANSION", "2", "LAYOUT", layout) == OK

    def block(self):
        self.plain()
        self.noeviction()
        self.lru()
        self.load(1)
        self.state.rest()
        self.checkpoint()

    # ---- with all workers at rest

    def checkpoint(self):
        for worker in self.workers:
            worker.audit()
        for key in SHARED:
            ones = sum(worker.shared[key].ones for worker in self.workers)
            if self.call("BF.CARD", key) != integer(ones):
                raise Fault("%s: BF.CARD %r, the workers have seen %d" % (key, self.call("BF.CARD", key), ones))
        self.check_metrics()
        until_in_sync(self.replica, self.master)
        if self.replica.call("DEBUG", "DIGEST") != self.call("DEBUG", "DIGEST"):
            raise Fault("master and replica differ")
        for worker in self.workers:
            worker.audit(self.replica.socket)
        self.counts["checkpoints"] += 1

    def check_metrics(self):
        """INFO bf has as many filters and items as the models; what was unlinked goes in the background."""
        models = [model for worker in self.workers for model in worker.models if model.exists]
        items = sum(model.ones for model in models) + sum(self.call("BF.CARD", key).plain for key in SHARED)
        until(lambda: self.info("memory", "lazyfree_pending_objects") == 0, "freed")
        seen = self.info("bf", "bf_filters"), self.info("bf", "bf_items")
        if seen != (len(models) + len(SHARED), items):
            raise Fault("INFO bf has %d filters and %d items, not %d and %d" % (*seen, len(models) + len(SHARED), items))

    def flush(self):
        """FLUSHALL; returns the bytes used after it."""
        self.counts["evicted"] += self.info("stats", "evicted_keys")
        self.counts["expired"] += self.info("stats", "expired_keys")
        self.call("CONFIG", "RESETSTAT")
        assert self.call("FLUSHALL", "ASYNC" if self.counts["flushes"] % 3 == 1 else "SYNC") == OK
        self.counts["flushes"] += 1
        for worker in self.workers:
            worker.forget_all()
            worker.reconnect(self.master.socket)
        return self.used()

    def used(self):
        """Bytes, without those of clients, replication (mem_clients_slaves has part of that again) and the AOF."""
        until_in_sync(self.replica, self.master)
        until(lambda: self.info("memory", "lazyfree_pending_objects") == 0, "freed")
        until(lambda: self.info("persistence", "aof_rewrite_in_progress") == 0, "no child")
        memory = server_info(self.call, "memory")
        others = "mem_clients_normal mem_aof_buffer mem_total_replication_buffers".split()
        return int(memory["used_memory"]) - sum(int(memory[name]) for name in others)

    def check_leaks(self):
        """With the others at rest, one worker does everything to its filters and drops them, round by
        round. The server updates the memory of clients with a delay, so the client is a new one each time,
        and the median is taken."""
        used = []
        for _ in range(LEAK_ROUNDS):
            for _ in range(5):
                self.workers[0].do_everything()
            self.workers[0].reconnect(self.master.socket)
            used.append(self.used())
        self.leaks.append(statistics.median(after - before for before, after in zip(used, used[1:])))
        if self.leaks[-1] > LEAK_ROUND_BYTES:
            raise Fault("used memory from round to round: %s" % used)

    def restart(self):
        digest = self.call("DEBUG", "DIGEST")
        way = self.counts["restarts"] % 3
        if way == 0:
            until(lambda: self.info("persistence", "aof_buffer_length") == 0, "written")
            self.master.kill9()
            self.master.start()
        elif way == 1:
            self.call("CONFIG", "SET", "aof-use-rdb-preamble", "yes")
            self.master.restart()
        else:
            assert self.call("DEBUG", "RELOAD") == OK
            self.replica.kill9()
            self.replica.start()
            assert self.replica.call("REPLICAOF", "127.0.0.1", self.master.port) == OK
        self.connect()
        for worker in self.workers:
            worker.reconnect(self.master.socket)
        self.counts["restarts"] += 1
        if self.call("DEBUG", "DIGEST") != digest:
            raise Fault("another digest after restart %d" % way)
        self.checkpoint()

    def cycle(self):
        self.call("FLUSHALL", "SYNC")
        for worker in self.workers:
            worker.forget_all()
        self.make_shared()
        self.block()
        before = self.flush()
        self.make_shared()
        self.block()
        after = self.flush()
        self.growths.append(after - before)
        if after - before > LEAK_BYTES:
            raise Fault("%d bytes are used after FLUSHALL, %d were after the one before" % (after, before))
        self.check_leaks()
        self.make_shared()
        self.block()
        self.restart()
        self.copy_in_use()
        for _ in range(PROGRAMS):
            self.program()

    def copy_in_use(self):
        """Two pieces, read at once if need be; and five, of which the server makes a copy of its own."""
        def ask(*words):
            return self.call(*words).plain

        for capacity, sources in (6_000_000, [self.master, self.replica] * 2), (20_000_000, [self.master]):
            reserve = ("BITSPERKEY", 8, capacity, "LAYOUT", "COUNTING")
            assert self.call("BF.RESERVE", "k", *reserve) == OK
            writer = Writer(self.master.socket, replacing())
            writer.until_acknowledged(10)
            until(lambda: self.replica.call("EXISTS", "k").plain, "the replica has it")
            try:
                for source in sources:
                    begun = len(writer.acknowledged) if source is self.master else 2
                    copy = subprocess.run([TOOL, "copy", "--from", source.socket, "--to", self.master.socket, "--key", "k", "--key-to",
                                           "moved"], stderr=subprocess.PIPE, check=False)
                    if copy.returncode:
                        raise Fault("copy: %s" % copy.stderr.decode())
                    assert_is_one_moment(ask, "moved", reserve, list(writer.sent), begun)
                    ask("DEL", "moved")
                    self.counts["copies"] += 1
            finally:
                writer.finish()
            ask("DEL", "k")

    def program(self):
        seed = PROGRAM_SEEDS.getrandbits(32)
        print("random program of %d commands, seed %d" % (PROGRAM_COMMANDS, seed), flush=True)
        problems = run(seed, PROGRAM_COMMANDS)
        if problems:
            raise Fault(report(seed, PROGRAM_COMMANDS, problems))
        self.counts["programs"] += 1

    # ---- the end

    def total(self, name):
        return sum(getattr(worker, name) for worker in self.workers)

    def check_rate(self):
        """There are at most as many false positives as full filters may have, and as many as BF.STATS states,
        within 5 sigmas."""
        expected = self.total("expected_positives")
        if self.total("false_positives") > expected + 5 * expected**0.5:
            raise Fault("%d false positives of %d, at most %d promised" % (self.total("false_positives"), self.total("absent"), expected))
        stated = self.total("stated_expected")
        if abs(self.total("stated_positives") - stated) > 5 * stated**0.5:
            raise Fault("%d false positives of %d, BF.STATS stated %.0f" % (self.total("stated_positives"), self.total("stated"), stated))

    def report(self, cycles, faults):
        version = server_info(self.replica.call, "server")
        print("%s %s" % (version.get("server_name", "redis"), version.get("valkey_version") or version["redis_version"]), end=", ")
        print("%d cycles, seed %d: %s" % (cycles, SEED, ", ".join("%d %s" % (n, name) for name, n in self.counts.items())))
        print("false positives: %d of %d, promised at most %.0f" % (self.total("false_positives"), self.total("absent"), self.total("expected_positives")))
        print("false positives: %d of %d, stated %.0f" % (self.total("stated_positives"), self.total("stated"), self.total("stated_expected")))
        done = sum((worker.done for worker in self.workers), Counter())
        print(", ".join("%d %s" % (n, name) for name, n in sorted(done.items())))
        print("refused for want of memory: %d; keys gone: %d" % (self.total("refused"), self.total("gone")))
        print("bytes from FLUSHALL to FLUSHALL:", *self.growths, "(at most %d)" % LEAK_BYTES)
        print("bytes from round to round, the others at rest:", *self.leaks, "(at most %d)" % LEAK_ROUND_BYTES)
        print("%d operations, %d checks, %d faults" % (self.total("operations"), self.total("checks"), faults))


def main():
    soak, cycles, faults = Soak(), 0, []
    end = time.monotonic() + MINUTES * 60
    try:
        while not cycles or time.monotonic() < end:
            soak.cycle()
            cycles += 1
            print("cycle %d: %d operations, %d checks" % (cycles, soak.total("operations"), soak.total("checks")), flush=True)
        soak.check_rate()
    except (Fault, AssertionError, OSError) as problem:
        faults = [problem, *(worker.problem for worker in soak.workers if worker.problem)]
        for fault in faults:
            print("FAULT: %s: %s" % (type(fault).__name__, fault))
        print(soak.master.log_tail(30))
    soak.state.end()
    soak.report(cycles, len(faults))
    for server in (soak.replica, soak.master):
        server.close()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
