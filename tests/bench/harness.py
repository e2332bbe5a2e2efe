"""What every benchmark row needs: a server, a load, and the server's own account of its CPU time.

CPU time, unlike wall time, is the module's own cost, whatever else runs on the machine. The server's
main thread does all of the work measured here, and getrusage counts its user and system time to the
microsecond. (Other programs still evict its cache lines: measure on a quiet machine.)
"""

import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "server"))

# tests/server has them; others import MODULE and REDIS_SERVER from here
from redis_server import MODULE, REDIS_SERVER, Server  # noqa: E402, F401
from resp import encode  # noqa: E402

BUILT = Path(os.environ.get("BENCH_BUILT", REPO / "build" / "release" / "tests" / "bench"))
LOAD = str(BUILT / "load")
FLOOR = str(BUILT / "floor.so")
PEER = os.environ.get("PEER", "")

# Bytes on the way to the server: some 2,600 commands of one item, or four of 1,000. Enough that
# it always finds more to read (16 KiB at a time), whatever the client's core is doing: a server
# that has to wait pays for sleeping and waking on both sides of each ratio, which moves it towards 1.
DEPTH = 131072


def cores():
    """(server's core, client's core), or None where there is only one. The server gets the last:
    the first often has the interrupts."""
    usable = sorted(os.sched_getaffinity(0))
    return (usable[-1], usable[0]) if len(usable) > 1 else None


CORES = cores()


def pinned(core):
    """For subprocess: run before the program starts, so that all its threads inherit the core."""
    return (lambda: os.sched_setaffinity(0, {core})) if CORES else None


class BenchServer(Server):
    """A server on its own core, without persistence, with one module under test."""

    def __init__(self, module, with_floor=False, has_clock=False, tcp=False):
        config = {"maxclients": "100"}
        if with_floor:
            config["loadmodule"] = FLOOR
        super().__init__(config=config, module=os.path.abspath(module), has_clock=has_clock,
                         tcp=tcp)

    def start(self):
        before = os.sched_getaffinity(0)
        if CORES:
            os.sched_setaffinity(0, {CORES[0]})  # the server's threads inherit it
        try:
            super().start()
        finally:
            os.sched_setaffinity(0, before)
        self.control = self.connection()
        return self

    def do(self, *words):
        """One command; an error reply is an exception."""
        return self.control.call(*words).plain

    def info(self, section):
        lines = self.do("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def micros_per_call(self, command):
        """Microseconds of one call since CONFIG RESETSTAT: how long each held the server."""
        stats = next(value for key, value in self.info("commandstats").items()
                     if key.lower() == "cmdstat_" + command.lower())
        return float(stats.partition("usec_per_call=")[2].partition(",")[0])

    def huge_bytes(self):
        """What of its memory is in huge pages."""
        line = first_line("/proc/%d/smaps_rollup" % self.pid, "AnonHugePages")
        return int(line.split()[1]) * 1024 if line else 0

    def cpu_seconds(self):
        """What the main thread has used so far, user and system."""
        info = self.info("cpu")
        for suffix in ("_main_thread", ""):  # Valkey and Redis since 6.2 have the first
            if "used_cpu_user" + suffix in info:
                return float(info["used_cpu_user" + suffix]) + float(info["used_cpu_sys" + suffix])
        raise KeyError("INFO cpu has no CPU times")

    def children_cpu_seconds(self):
        """What its children that have ended used, user and system."""
        info = self.info("cpu")
        return float(info["used_cpu_user_children"]) + float(info["used_cpu_sys_children"])


class Measurement:
    """One run: `ns` is server CPU per item, `per_second` items per second of wall time."""

    def __init__(self, cpu, answers):
        self.answers = answers
        self.micros = None  # of one command, where it was taken
        self.items = answers["items"]
        self.cpu = cpu
        self.ns = cpu / self.items * 1e9
        self.per_second = self.items / answers["seconds"]
        self.server_share = cpu / answers["seconds"]
        self.client_ns = answers["client_cpu"] / self.items * 1e9

    @property
    def error_rate(self):
        return self.answers["absent_ones"] / self.answers["absent"]

    def as_json(self):
        return dict(self.answers, cpu=self.cpu, micros=self.micros)


def run_load(server, command, key, batch, count, **options):
    """Send `count` items and return the Measurement. Nothing is subtracted: it includes the cost of two
    INFO and the connection, some 100 microseconds."""
    options.setdefault("depth", DEPTH)
    if "port" not in options:
        options["socket"] = server.socket
    words = dict(
        options, command=command, key=key, batch=batch, count=int(count)
    )
    before = server.cpu_seconds()
    done = subprocess.run(
        [LOAD] + ["%s=%s" % pair for pair in words.items()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=pinned(CORES and CORES[1]),
    )
    if done.returncode != 0:
        server.check_alive()
        raise RuntimeError(done.stderr.strip())
    return Measurement(server.cpu_seconds() - before, json.loads(done.stdout))


END = b"all commands are answered"
AT_ONCE = 200


def exchange(connection, commands):
    """Sends all commands in one pipeline and returns the bytes of their replies; an error among them is an
    exception. A thread sends, so that the server always finds more to read; nothing is parsed before the
    last reply is there."""
    data = b"".join(map(encode, commands)) + encode(("ECHO", END))
    sender = threading.Thread(target=connection.socket.sendall, args=(data,))
    sender.start()
    replies, last = bytearray(), b"$%d\r\n%s\r\n" % (len(END), END)
    while not replies.endswith(last):
        part = connection.socket.recv(1 << 20)
        if not part:
            raise ConnectionError("the server closed the connection")
        replies += part
    sender.join()
    error = re.search(rb"(?:^|\r\n)(-.*)\r\n", replies)
    if error:
        raise RuntimeError("the server answered " + error[1].decode())
    return bytes(replies[:-len(last)])


def exchange_many(connection, commands):
    """So many that they do not fit into memory; the replies are dropped."""
    commands = iter(commands)
    while piece := list(islice(commands, AT_ONCE)):
        exchange(connection, piece)


def say(text):
    """Progress, beside the tables on stdout."""
    print("%s  %s" % (time.strftime("%H:%M:%S"), text), file=sys.stderr, flush=True)


# The machine, to stand beside the numbers


def first_line(path, starting=""):
    try:
        with open(path, encoding="utf-8") as lines:
            return next((line.strip() for line in lines if line.startswith(starting)), "")
    except OSError:
        return ""


def machine(server):
    info = server.info("server")
    cpu = first_line("/proc/cpuinfo", "model name").partition(":")[2].strip()
    caches = [
        first_line("/sys/devices/system/cpu/cpu0/cache/index%d/size" % index) for index in (2, 3)
    ]
    name = "Valkey" if "valkey_version" in info else "Redis"
    return {
        "cpu": cpu or platform.machine(),
        "cores": os.cpu_count(),
        "caches": "L2 %s, L3 %s" % tuple(size or "?" for size in caches),
        "kernel": platform.release(),
        "server": "%s %s" % (name, info.get("valkey_version", info["redis_version"])),
        "allocator": server.info("memory").get("mem_allocator", "?"),
        "pinned": "server on core %d, client on core %d" % CORES if CORES else "not pinned",
        "date": time.strftime("%Y-%m-%d"),
        "load": "%.1f" % os.getloadavg()[0],
    }
