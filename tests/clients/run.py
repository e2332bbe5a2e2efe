"""Do real client libraries get right answers from the module?

    run.py [client ...]       default: all; `make test-clients` runs this

Each folder beside this file is one client: a program that calls every BF.* method its library has,
and by raw command what it has no method for, and compares every answer with the one README.md here
lists. It is called with a port and a protocol (2 or 3), prints

    version 8.1.0             what it is
    wrong: what, got, wanted  for each answer that is not right
    checks 72                 last: how many answers it compared

and ends with status 1 if any was wrong. One private server per program and protocol; what it left
there is then looked at from here: every command of the module was answered at least once without an
error, and the copies it made (SCANDUMP to LOADCHUNK, EXPORT to IMPORT) are the same filters.

A client whose toolchain or package is not to be had is skipped, with the reason. The last line is
"N passed, N failed, N skipped", in rows; exit status 1 on any failure, or if nothing ran. Copies,
downloads and programs live in build/clients/. Environment: see ../server/redis_server.py.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE.parents[1] / "build" / "clients"
sys.dont_write_bytecode = True
# In place of this folder: redis-py would take the folder hiredis for the package of that name.
sys.path[:1] = [str(HERE.parent / "server"), str(HERE.parent / "support")]

import languages  # noqa: E402
from checks import filter_state  # noqa: E402
from languages import RUN_SECONDS, Failed, Skip, need  # noqa: E402
from redis_server import Server, ServerDied  # noqa: E402


# How each client's program is made: these return the command.

def redis_py(folder):
    return languages.python_program(folder, "client.py")


def debian_redis_py(folder):
    return [sys.executable, folder / "client.py"]


def node(folder):
    return languages.node_program(folder, "client.mjs")


def go_redis(folder):
    return languages.go_program(folder)


def redis_rs(folder):
    return languages.cargo_program(folder, "client")


def java(folder):
    return languages.java_program(folder, "Client.java", "../shared/Checks.java")


def hiredis(folder):
    return languages.c_program(folder, os.environ.get("CC", "cc"), "c", "hiredis/hiredis.h", "libhiredis-dev",
                               "-std=c11", "client.c", "-lhiredis")


def phpredis(folder):
    need("php")
    if not languages.run(["php", "-r", 'echo phpversion("redis");'], folder):
        raise Skip("php has no redis extension (Debian: php-redis)")
    return ["php", folder / "client.php"]


def redis_rb(folder):
    need("ruby")
    try:
        languages.fetch(folder, "ruby", "-rredis", "-e", "")
    except Skip:
        raise Skip("ruby has no redis (Debian: ruby-redis)") from None
    return ["ruby", folder / "client.rb"]


# name, folder, how it is made, the protocols it speaks
CLIENTS = (
    ("redis-py", "redis-py", redis_py, (2, 3)),
    ("python3-redis", "redis-py", debian_redis_py, (2,)),
    ("node-redis", "node-redis", node, (2, 3)),
    ("ioredis", "ioredis", node, (2, 3)),
    ("iovalkey", "iovalkey", node, (2,)),
    ("valkey-glide", "valkey-glide", node, (2, 3)),
    ("go-redis", "go-redis", go_redis, (2, 3)),
    ("jedis", "jedis", java, (2, 3)),
    ("lettuce", "lettuce", java, (2, 3)),
    ("redisson", "redisson", java, (2, 3)),
    ("redis-rs", "redis-rs", redis_rs, (2, 3)),
    ("hiredis", "hiredis", hiredis, (2,)),
    ("phpredis", "phpredis", phpredis, (2,)),
    ("redis-rb", "redis-rb", redis_rb, (2,)),
)

# the pairs of keys that every program leaves, the second made from the first's dump
COPIES = (("grown", "loaded"), ("plain", "imported"))


class Row:
    """One client with one protocol: what its program said, and what the server says of it."""

    def __init__(self):
        self.version, self.checks, self.calls, self.commands = "", 0, 0, ""
        self.problems = []

    def run(self, command, folder, server, protocol):
        command = [*map(str, command), str(server.port), str(protocol)]
        try:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired as late:
            said = ((late.stdout or b"") + (late.stderr or b"")).decode(errors="backslashreplace")
            self.problems.append(f"no end after {RUN_SECONDS} s\n{said[-1500:].strip()}")
            return
        said = done.stdout.decode(errors="backslashreplace")
        self.version = "".join(re.findall(r"^version (\S+)$", said, re.M)[:1])
        self.problems += re.findall(r"^wrong: (.*)$", said, re.M)
        last = re.search(r"^checks (\d+)\s*\Z", said, re.M)
        if last:
            self.checks = int(last[1])
        if not self.checks or done.returncode != (1 if self.problems else 0):
            stderr = done.stderr.decode(errors="backslashreplace")
            self.problems.append(f"ended with status {done.returncode}\n{(said + stderr)[-1500:].strip()}")

    def look(self, call):
        """Every command was answered, and the copies are copies. (BF.HELP is for people: no client has a method.)"""
        known = {name.decode() for name in call("COMMAND", "LIST", "FILTERBY", "MODULE", "bf").plain} - {"bf.help"}
        counts = re.findall(r"^cmdstat_(bf\.\w+):calls=(\d+),.*failed_calls=(\d+)",
                            call("INFO", "commandstats").plain.decode().replace("\r", ""), re.M)
        answered = {name for name, calls, failed in counts if int(calls) > int(failed)}
        self.calls = sum(int(calls) for _, calls, _ in counts)
        self.commands = f"{len(answered & known)}/{len(known)}"
        if known - answered:
            self.problems.append("never answered: " + " ".join(sorted(known - answered)).upper())
        for original, copy in COPIES:
            if call("EXISTS", original, copy).plain != 2:
                self.problems.append(f"left no {original} and {copy}")
        if self.problems:
            return
        if filter_state(call, "grown") != filter_state(call, "loaded"):
            self.problems.append("grown and loaded are not the same filter")
        if call("BF.EXPORT", "plain") != call("BF.EXPORT", "imported"):
            self.problems.append("plain and imported have other bits")


def check(command, folder, protocol):
    row = Row()
    server = Server(tcp=True)
    try:
        server.start()
        row.run(command, folder, server, protocol)
        server.check_alive()
        row.look(server.connection().call)
    except ServerDied as death:
        row.problems.append(str(death))
    finally:
        server.close()
    return row


def say(*words):
    print(*words, flush=True)


FORM = "%-14s %-14s %-5s %-9s %6s %7s  %s"


def report(name, result, row, protocol, notes):
    say(FORM % (name, row.version, f"RESP{protocol}", row.commands, row.calls or "", row.checks or "", result))
    for note in notes:
        note = "".join(c if c.isprintable() or c == "\n" else "?" for c in note)  # dumps are in some
        say("    %s: %s" % (result, note.replace("\n", "\n        ")))


def rows(name, folder_name, make, protocols):
    """(protocol, result, row, notes) for each protocol of one client."""
    try:
        folder = languages.copy_sources(HERE, WORK, folder_name)
        command = make(folder)
    except (Skip, Failed) as problem:
        result = "skipped" if isinstance(problem, Skip) else "failed"
        for protocol in protocols:
            yield protocol, result, Row(), [str(problem)]
        return
    for protocol in protocols:
        row = check(command, folder, protocol)
        yield protocol, "failed" if row.problems else "passed", row, row.problems


def main(names):
    chosen = [client for client in CLIENTS if not names or client[0] in names]
    if len(chosen) < len(set(names)):
        sys.exit("clients: " + " ".join(client[0] for client in CLIENTS))
    WORK.mkdir(parents=True, exist_ok=True)
    languages.copy_sources(HERE, WORK, "shared")
    count = {"passed": 0, "failed": 0, "skipped": 0}
    say(FORM % ("client", "version", "proto", "commands", "calls", "checks", "result"))
    for client in chosen:
        for protocol, result, row, notes in rows(*client):
            count[result] += 1
            report(client[0], result, row, protocol, notes)
    say("%d passed, %d failed, %d skipped" % tuple(count.values()))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
