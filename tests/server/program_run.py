"""Runs random programs (programs.py): a master and a replica with other settings, and at the end servers
that start from the master's files. All of them must hold the same filters, bit by bit.

    problems = run(seed, commands)      one complete run; an empty list means success
    replay(steps, contents)             the same for steps that were recorded, or some of them

    /usr/bin/python3 tests/server/program_run.py --seed 7 --commands 400 [--shrink]

runs one seed again; with --shrink it looks for the fewest commands that still show the first problem,
which takes minutes. BLOOMPORT_PROGRAM_WEIGHTS (programs.py) switches off what is known to fail.
"""

import argparse
import itertools
import os
import shutil
import sys
from collections import namedtuple

import programs_bulk  # noqa: F401  (more entries of the tables)
import programs_forgetting  # noqa: F401
import programs_formats  # noqa: F401
import programs_keyed  # noqa: F401
import programs_merge  # noqa: F401
from checks import card_and_layers, changes, info
from clock import CALM
from filters import PROBES, QUIET, follow, look, same_filter, server_info, until, until_in_sync
from program_items import WindowItems
from program_model import TAKEN, Contents, Model
from programs import Program, Step
from redis_server import Server, ServerDied
from resp import OK, Connection

FILTER_TYPES = ("bloomport", "MBbloom--", "bloomfltr")  # of program_model.OWN, REDISBLOOM, VALKEYBLOOM
AOF = {"appendonly": "yes", "appendfsync": "no", "auto-aof-rewrite-percentage": "0"}
# rdb-key-save-delay: microseconds for each key, so that children that save live for a while.
COMMON = dict(QUIET, **AOF, **CALM, **{"rdb-key-save-delay": "1000", "databases": "2"})
MASTER_ARGS = ("max-bytes", "20000")
OTHER_ARGS = ("error-rate", "0.2", "bits-per-key", "7", "initial-size", "17", "expansion-factor", "5", "max-bytes", "300")
LOOK_UP_EVERY, LOOK_UP_MOST = 10, 300

# All clocks stand still here until the program moves them, so that a seed's program is always the same.
START_MS = 1_700_000_000_123
SKEWS = [0, 5 * 3600_000, -7 * 3600_000, 3 * 86_400_000]  # the replica's clock at the start, in turn

SCRIPT = """
local replies, at = {}, 1
while at <= #ARGV do
    local count = tonumber(ARGV[at])
    replies[#replies + 1] = redis.pcall(unpack(ARGV, at + 1, at + count))
    at = at + count + 1
end
return replies
"""


class Problem(namedtuple("Problem", "where what detail")):
    """Two problems are of one kind if `where` and `what` are equal."""

    def __str__(self):
        return "%s: %s: %s" % self

    @property
    def kind(self):
        return self.where, self.what


class Stop(Exception):
    """A problem after which the program cannot go on."""


class Fleet:
    """A master, its replica, and the model that learns from what the master answers."""

    def __init__(self, seed, contents=None):
        self.servers, self.problems, self.count = [], [], 0
        self.master = self.new_server(COMMON, MASTER_ARGS).start()
        self.model = Model(contents, self.master.clock.now_ms)
        loading = {"repl-diskless-load": ("disabled", "swapdb")[seed % 2]}
        self.replica = self.new_server(dict(COMMON, **loading), OTHER_ARGS, SKEWS[seed // 2 % len(SKEWS)]).start()
        follow(self.replica, self.master)
        self.connection, self.db = Connection(self.master.socket, 2 + seed % 2), 0
        self.reader = Connection(self.master.socket)

    def new_server(self, config, module_args, offset_ms=0):
        """Not started yet; its clock stands at START_MS + offset_ms."""
        server = Server(config=config, module_args=module_args, tcp=True, has_clock=True)
        server.clock.stop(START_MS)
        server.clock.set(offset_ms)
        self.servers.append(server)
        return server

    def problem(self, *words):
        self.problems.append(Problem(*words))

    def close(self):
        self.connection.close()
        self.reader.close()
        for server in self.servers:
            if self.problems:  # perhaps it cannot stop
                server.kill9()
            try:
                server.close()
            except ServerDied as problem:
                self.problem(self.name_of(server), "ended badly", str(problem))

    # ---- The program

    def do(self, step):
        try:
            getattr(self, "do_" + step.way)(step)
            while self.model.faults:
                self.problem("master", "a wrong answer", self.model.faults.pop())
            self.count += 1
            if self.count % LOOK_UP_EVERY == 0:
                self.look_up_one_filter()
        except OSError as problem:
            self.problem("master", "died", "%s; %s; %s" % (problem, show(step), complaints(self.master)))
            raise Stop from problem

    def select(self, db):
        if db != self.db:
            assert self.connection.call("SELECT", db) == OK
            self.db = db

    def do_plain(self, step):
        """Sends the commands one by one; an error must not count as a change, unless it says that items were taken."""
        self.select(step.db)
        for words in step.commands:
            before, reply, after = self.connection.pipeline([INFO, words, INFO])
            self.model.learn(step.db, words, reply)
            if reply.is_error:
                self.check_error(words, reply, changes(lambda *_: before) == changes(lambda *_: after))

    def check_error(self, words, reply, is_unchanged):
        text = "%s: %s" % (show_words(words), reply.value)
        if words[0] == b"DEBUG":
            self.problem("master", "does not load what it saved", text + "; " + complaints(self.master))
            raise Stop
        taken = TAKEN.search(reply.value)
        if not is_unchanged and not (taken and int(taken[1])):
            self.problem("master", "an error changed something", text)

    def do_multi(self, step):
        self.select(step.db)
        replies = self.connection.pipeline([("MULTI",), *step.commands, ("EXEC",)])[-1]
        if not replies.is_error:
            self.learn_all(step, replies.value)

    def do_script(self, step):
        self.select(step.db)
        packed = [word for words in step.commands for word in (len(words), *words)]
        self.learn_all(step, self.connection.call("EVAL", SCRIPT, 0, *packed).value)

    def learn_all(self, step, replies):
        assert len(replies) == len(step.commands), replies
        for words, reply in zip(step.commands, replies):
            self.model.learn(step.db, words, reply)

    def do_replica(self, step):
        if not self.replica.answers():
            self.problem("replica", "died", complaints(self.replica))
            raise Stop
        for words in step.commands:
            if words[1:] == [b"master"]:
                words = ["REPLICAOF", "127.0.0.1", self.master.port]
            assert self.replica.call(*words) == OK

    def do_clock(self, step):
        for _, name, ms in step.commands:
            ends, clock = self.times_of_expiry(), {b"master": self.master, b"replica": self.replica}[name].clock
            clock.advance(self.apart(clock.now_ms() + int(ms), ends) - clock.now_ms())
            self.expire(ends)

    @staticmethod
    def apart(ms, ends):
        """The next time at which no key ends: at its very last millisecond Redis 8 deletes a key, and the other
        servers do not."""
        return next(time for time in itertools.count(ms) if time not in ends.values())

    def times_of_expiry(self):
        """{(database, key): ms} of the keys that have one, as the master has them."""
        return {(db, key): self.read(db, "PEXPIRETIME", key).plain for db, key in self.model.keys()}

    def expire(self, ends):
        """Touches what has expired, so that it is gone when the clock jumps back. The server alone would
        delete it some time later."""
        for (db, key), end in ends.items():
            has_expired = 0 < end < self.model.now_ms()
            if self.read(db, "EXISTS", key).value == has_expired:
                self.problem("master", "another key than expected expired", "%r, at %d" % ((db, key), end))
            if has_expired:
                self.model.drop(db, key)

    def read(self, db, *words):
        self.reader.call("SELECT", db).plain
        return self.reader.call(*words)

    def look_up_one_filter(self):
        found = [(db, key) for db in range(2) for key in sorted(self.model.filters(db))]
        if found:
            db, key = found[self.count % len(found)]
            self.check_items("master", lambda *words: self.read(db, *words), db, key, LOOK_UP_MOST)

    def check_items(self, where, call, db, key, most=None):
        """Whether the filter has the items that it must have, and none if it must have none, unless it is being
        loaded. The server's clock must be the master's."""
        held, now_ms = self.model.get(db, key).items, self.model.now_ms()
        self.check_count(where, call, key, held)
        is_empty = held.is_empty(now_ms)
        items = PROBES if is_empty else sorted(held.found(now_ms))[:most]
        if not items:
            return
        answers = call("BF.MEXISTS", key, *items)
        if answers.is_error:
            return
        wrong = [item for item, answer in zip(items, answers.plain) if bool(answer) == is_empty]
        if wrong:
            what = "found items that are over" if is_empty else "lost items"
            self.problem(where, what, "%r: %d of %d, %r" % (key, len(wrong), len(items), wrong[:3]))

    def check_count(self, where, call, key, held):
        """Whether BF.CARD, BF.INFO and the layers of BF.DEBUG count the adds that were answered 1. BF.INFO's capacity is
        not under that."""
        card = call("BF.CARD", key)
        if card.is_error:
            return
        fault = held.card(card.value)
        if held.ones is not None and not fault:
            seen, (total, layers) = info(call, key), card_and_layers(call, key)
            counts = [seen["Number of items inserted"], total, sum(layer.size for layer in layers)]
            if counts != [held.ones] * 3 or held.ones > seen["Capacity"]:
                fault = "%d items, but BF.INFO %r and BF.DEBUG %r" % (held.ones, seen, layers)
        if fault:
            self.problem(where, "another count", "%r: %s" % (key, fault))

    # ---- The end

    def finish(self, only=None):
        """Compares all servers and files; `only`: one of them."""
        self.wait_for_children(self.master)
        truth = survey(self.master)
        self.check_model(truth)
        places = [self.check_replica, self.check_rdb, self.check_aof, self.check_rewritten, self.check_replicas_files]
        for check in places:
            if only in (None, check.__name__[len("check_") :]):
                check(truth)
        if self.replica.answers():
            self.wait_for_children(self.replica)  # it does not stop before its AOF is there
        for server in self.servers:
            self.check_log(server)

    def check_model(self, truth):
        seen = {name: entry.type for name, entry in truth.items()}
        expected = {}
        for db, held_by_key in enumerate(self.model.databases):
            for key, held in held_by_key.items():
                kind = FILTER_TYPES[held.is_foreign] if held.is_filter else "other"
                expected[db, key] = kind
        for name in sorted(set(seen) | set(expected)):
            one = seen.get(name) if seen.get(name) in (None, *FILTER_TYPES) else "other"
            if one != expected.get(name):
                self.problem("master", "another type than the replies said", "%r: %s, not %s" % (name, one, expected.get(name)))
        self.check_windows()
        self.check_all_items("master", self.master)

    def check_windows(self):
        """Whether each filter has the window that it was created with, unless it is being loaded."""
        for db, key in self.model.keys():
            items = self.model.get(db, key).items
            expected = [items.seconds, items.generations] if isinstance(items, WindowItems) else None
            reply = self.read(db, "BF.INFO", key, "WINDOW")
            if reply.is_error:  # or another type than a filter
                continue
            (shown,) = reply.plain  # in an array of one
            if (shown and shown[:2]) != expected:
                self.problem("master", "another window", "%r: %s, not %s" % ((db, key), shown, expected))

    def check_all_items(self, where, server):
        connection = Connection(server.socket)
        for db in range(2):
            connection.call("SELECT", db)
            for key in sorted(self.model.filters(db)):
                self.check_items(where, connection.call, db, key)
        connection.close()

    def check_replica(self, truth):
        try:
            until_in_sync(self.replica, self.master)
        except (AssertionError, OSError) as problem:
            return self.problem("replica", "does not follow", "%s\n%s" % (problem, complaints(self.replica)))
        self.compare_dumps(truth)
        self.replica.clock.set(self.master.clock.offset_ms)  # answers depend on the time
        return self.compare("replica", truth, self.replica)

    def compare_dumps(self, truth):
        """By the replica's own clock, which hides keys that have expired by it."""
        connection = Connection(self.replica.socket)
        for (db, key), entry in truth.items():
            connection.call("SELECT", db).plain
            if connection.call("DUMP", key).value != entry.dump and entry.expires < 0:
                self.problem("replica", "another DUMP by its own clock", repr((db, key)))
        connection.close()

    def check_rdb(self, truth):
        self.wait_for_children(self.master)  # the replica's sync may be one
        assert self.master.call("SAVE") == OK
        self.revive("rdb", truth, self.master, "dump.rdb")

    def check_aof(self, truth):
        """The AOF as it is at the end, with the rewrites of the program."""
        self.revive("aof", truth, self.master, "appendonlydir")

    def check_rewritten(self, truth):
        """Rewritten without a preamble: every filter as commands."""
        self.rewrite(self.master, "no")
        self.revive("rewritten", truth, self.master, "appendonlydir")

    def check_replicas_files(self, truth):
        """The replica's own AOF, rewritten with a preamble, which is an RDB file."""
        if self.replica.answers():
            self.rewrite(self.replica, "yes")
            self.revive("replicas_files", truth, self.replica, "appendonlydir")

    def rewrite(self, server, preamble):
        self.wait_for_children(server)
        assert server.call("CONFIG", "SET", "aof-use-rdb-preamble", preamble) == OK
        server.call("BGREWRITEAOF").plain
        self.wait_for_children(server)

    def wait_for_children(self, server):
        assert server.call("CONFIG", "SET", "rdb-key-save-delay", "0") == OK

        def is_done():
            seen = server_info(server.call, "persistence")
            return not any(int(seen[name]) for name in ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress"))

        until(is_done, "no child writes a file")
        if server_info(server.call, "persistence")["aof_last_bgrewrite_status"] != "ok":
            self.problem("master" if server is self.master else "replica", "a rewrite failed", complaints(server))

    def revive(self, where, truth, source, name):
        """A server with other settings starts from the files of `source`."""
        aof = {} if name == "appendonlydir" else {"appendonly": "no"}
        server = self.new_server(dict(COMMON, **aof), OTHER_ARGS, self.master.clock.offset_ms)
        path = os.path.join(source.directory, name)
        (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(server.directory, name))
        try:
            server.start()
        except ServerDied:
            return self.problem(where, "does not start", complaints(server))
        self.compare(where, truth, server)
        return server.stop()

    def compare(self, where, truth, server):
        seen = survey(server)
        for name in sorted(set(truth) | set(seen)):
            one, other = truth.get(name), seen.get(name)
            if one is None or other is None:
                self.problem(where, "a key is missing or too many", "%r: %s, not %s" % (name, kind_of(other), kind_of(one)))
            else:
                self.compare_entries(where, name, one, other)
        self.check_all_items(where, server)

    def compare_entries(self, where, name, one, other):
        for field in ("type", "expires"):
            if getattr(one, field) != getattr(other, field):
                words = (name, getattr(other, field), getattr(one, field))
                return self.problem(where, "another " + field, "%r: %s, not %s" % words)
        try:
            if one.look:
                same_filter(one.look, other.look, repr(name))
            assert one.dump == other.dump, "%r: DUMP" % (name,)
        except AssertionError as problem:
            self.problem(where, "another filter", str(problem))
        return None

    def check_log(self, server):
        lines = [line for line in server.log.splitlines() if "CRITICAL" in line]
        if lines:
            self.problem(self.name_of(server), "CRITICAL in the log", lines[0])

    def name_of(self, server):
        return {id(self.master): "master", id(self.replica): "replica"}.get(id(server), "revived")


INFO = ("INFO", "persistence")
NOT_COMMANDS = ("replica", "clock")
Entry = namedtuple("Entry", "type expires dump look")


def complaints(server):
    """The end of a server's log, warnings only, without those of every start."""
    usual = ("oO0OoO0OoO0Oo", "Redis version", "Configuration loaded", "Server initialized", "WARNING Memory")
    lines = [line.split(" # ")[-1] for line in server.log.splitlines() if " # " in line]
    return " | ".join(line[:200] for line in lines if not line.startswith(usual))[-800:]


def kind_of(entry):
    return entry.type if entry else "nothing"


def survey(server):
    """{(database, key): Entry} of all that a server holds."""
    connection, found = Connection(server.socket), {}
    call = connection.call
    for db in range(2):
        call("SELECT", db).plain
        for key in sorted(call("KEYS", "*").plain):
            kind = call("TYPE", key).plain
            looked = look(call, key) if kind in FILTER_TYPES else None
            found[db, key] = Entry(kind, call("PEXPIRETIME", key).plain, call("DUMP", key).plain, looked)
    connection.close()
    return found


# ---- Whole runs ------------------------------------------------------------------------------------


def run(seed, commands, keep=None):
    """A program of `commands` commands; returns the problems, and puts what was done into `keep`."""
    fleet = Fleet(seed)
    done, steps = 0, []
    try:
        program = Program(seed, fleet.model, fleet.reader.call)
        while done < commands:
            step = program.next_step()
            steps.append(step)
            done += len(step.commands)
            fleet.do(step)
        fleet.finish()
    except Stop:
        pass
    finally:
        fleet.close()
    if keep is not None:
        keep.update(steps=steps, contents=fleet.model.contents)
    return fleet.problems


def replay(seed, steps, contents=None, only=None):
    fleet = Fleet(seed, contents or Contents())
    try:
        for step in steps:
            fleet.do(step)
        fleet.finish(only)
    except Stop:
        pass
    finally:
        fleet.close()
    return fleet.problems


def report(seed, commands, problems):
    """The text of a failure: each kind once, and how to run it again."""
    first = {}
    for problem in problems:
        first.setdefault(problem.kind, []).append(problem)
    lines = ["%s (%d of this kind)" % (some[0], len(some)) for some in first.values()]
    lines.append("again: /usr/bin/python3 tests/server/program_run.py --seed %d --commands %d --shrink" % (seed, commands))
    weights = os.environ.get("BLOOMPORT_PROGRAM_WEIGHTS")
    return "seed %d:\n%s" % (seed, "\n".join(lines)) + ("\nwith BLOOMPORT_PROGRAM_WEIGHTS=" + weights if weights else "")


# ---- Shrinking -------------------------------------------------------------------------------------


class Shrinker:
    """The fewest steps, commands and words that still show a problem of the same kind."""

    def __init__(self, seed, steps, contents, kind):
        self.seed, self.steps, self.contents, self.kind = seed, steps, contents, kind

    def fails(self, steps):
        problems = replay(self.seed, steps, self.contents, self.kind[0])
        sys.stderr.write("%d steps: %s\n" % (len(steps), "fails" if self.shows(problems) else "passes"))
        return self.shows(problems)

    def shows(self, problems):
        return any(problem.kind == self.kind for problem in problems)

    def shrink(self):
        self.cut_end()
        self.steps = self.fewest(self.steps, self.fails)
        self.take_apart()
        self.steps = self.fewest(self.steps, self.fails)
        for i in range(len(self.steps)):
            self.shorten(i)
        return self.steps

    def cut_end(self):
        low, high = 0, len(self.steps)  # the first `high` steps fail
        while low < high:
            middle = (low + high) // 2
            if self.fails(self.steps[:middle]):
                high = middle
            else:
                low = middle + 1
        if self.fails(self.steps[:high]):
            self.steps = self.steps[:high]

    def take_apart(self):
        """Transactions and scripts into single commands, if it fails all the same."""
        apart = [Step(step.db, step.way if step.way in NOT_COMMANDS else "plain", [words]) for step in self.steps for words in step.commands]
        if self.fails(apart):
            self.steps = apart

    def shorten(self, at):
        """Drops words of one command, from the last on; the name and the key stay."""
        step = self.steps[at]
        if len(step.commands) != 1 or len(step.commands[0]) < 5:
            return
        head, tail = step.commands[0][:2], step.commands[0][2:]

        def fails(words):
            return self.fails([*self.steps[:at], step._replace(commands=[head + words]), *self.steps[at + 1 :]])

        self.steps[at] = step._replace(commands=[head + self.fewest(tail, fails)])

    @staticmethod
    def fewest(things, fails):
        """Leaves out as many as it can, halves first, single ones last."""
        size = max(len(things) // 2, 1)
        while things:
            at = 0
            while at < len(things):
                fewer = things[:at] + things[at + size :]
                if fails(fewer):
                    things = fewer
                else:
                    at += size
            if size == 1:
                return things
            size //= 2
        return things


def show_words(words, limit=60):
    texts = []
    for word in words:
        text = repr(word)[1:] if isinstance(word, bytes) else repr(word)
        texts.append(text if len(text) <= limit else "%s... (%d bytes)" % (text[:limit], len(word)))
    return " ".join(texts)


def show(step):
    return "db %d, %s: %s" % (step.db, step.way, "; ".join(map(show_words, step.commands)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--commands", type=int, default=800)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--kind", type=int, default=0, help="which of the problems to shrink, from 0")
    options = parser.parse_args()
    keep = {}
    problems = run(options.seed, options.commands, keep)
    if not problems:
        print("seed %d, %d commands: no problem" % (options.seed, options.commands))
        return 0
    print(report(options.seed, options.commands, problems))
    if options.shrink:
        kind = list(dict.fromkeys(problem.kind for problem in problems))[options.kind]
        for step in Shrinker(options.seed, keep["steps"], keep["contents"], kind).shrink():
            print(show(step))
    return 1


if __name__ == "__main__":
    sys.exit(main())
