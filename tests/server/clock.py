"""The clock of one server, which a test moves while the server runs (tests/support/clock.c).

    server = new_server(has_clock=True)         or SERVER_HAS_CLOCK = True in a test file, for its `server`
    server.clock.advance(3600_000)              an hour forward; a negative number: back
    server.clock.set(0)                         the machine's time again
    server.clock.stop()                         time stands still and moves by advance() and set() alone
    server.clock.now_ms()                       what the server's TIME shows, in ms

A clock outlives restarts of its server. Another server has another clock, and another time. Only the
time of day moves: timers, and so the server's own cron, go on. A server takes a jump for the truth:
where a replica is attached, `config` has CALM, so that neither side takes the other for dead.
"""

import os
import struct
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
CLOCK_SO = os.path.abspath(os.environ.get("BLOOMPORT_CLOCK_SO", str(REPO / "build" / "release" / "clock.so")))
VARIABLE = "BLOOMPORT_TEST_CLOCK"
OFFSET, STOPPED = 0, 8  # where the file has them
FIELD = struct.Struct("<q")  # of any machine: the server may run under an emulator
SLACK_MS = 10  # that far may a server be from a clock that runs
SHOWN_SECONDS = 30
CALM = {"repl-timeout": "2000000"}  # seconds; the server multiplies it by 1000 in an int


class Clock:
    """What the file at `path` says. `shown` returns the time in ms that the server shows, or None if it is
    not running."""

    def __init__(self, path, shown=lambda: None):
        if not os.path.exists(CLOCK_SO):
            raise FileNotFoundError("%s is missing: run make test-server" % CLOCK_SO)
        self.path, self.shown, self.offset_ms, self.stopped_ms = path, shown, 0, 0
        self.library = CLOCK_SO  # of the server's own architecture
        with open(path, "wb") as file:
            file.write(bytes(2 * FIELD.size))

    def environment(self, preload):
        """What a process needs to have this clock; a sanitizer's runtime, `preload`, must come first."""
        return {"LD_PRELOAD": ":".join(filter(None, [preload, self.library])), VARIABLE: self.path}

    def set(self, ms):
        """The difference from the machine's time, or from the time at which it was stopped."""
        self.offset_ms = ms
        self._write(OFFSET, ms)

    def advance(self, ms):
        self.set(self.offset_ms + ms)

    def stop(self, at_ms=None):
        """It shows `at_ms`, else the present time, plus the offset, until it goes on."""
        self.stopped_ms = at_ms or time.time_ns() // 1_000_000
        self._write(STOPPED, self.stopped_ms)

    def go_on(self):
        self.stopped_ms = 0
        self._write(STOPPED, 0)

    def now_ms(self):
        return (self.stopped_ms or time.time_ns() // 1_000_000) + self.offset_ms

    def _write(self, at, value):
        with open(self.path, "r+b", buffering=0) as file:  # one write of 8 bytes: nobody sees half of it
            file.seek(at)
            file.write(FIELD.pack(value))
        self._wait_until_shown()

    def _wait_until_shown(self):
        """Valkey 9 remembers the time of day for about a millisecond, over several commands."""
        deadline = time.monotonic() + SHOWN_SECONDS
        while not self.is_shown():
            assert time.monotonic() < deadline, "the server shows %s, its clock %d" % (self.shown(), self.now_ms())
            time.sleep(0.001)

    def is_shown(self):
        """Whether the server's time is this clock's, exactly if it stands still; True if it is not running."""
        slack = 0 if self.stopped_ms else SLACK_MS
        before, shown, after = self.now_ms(), self.shown(), self.now_ms()
        return shown is None or before - slack <= shown <= after + slack
