"""The clock that tests move (clock.py, tests/support/clock.c) is the server's, in all that it does with the
time of day, and is no other server's."""

import os
import subprocess
import sys
import time

import pytest

from clock import CALM, VARIABLE
from filters import follow, until_in_sync
from redis_server import PRELOAD
from resp import OK, ONE, ZERO, array, integer

SERVER_HAS_CLOCK = True

SECOND, HOUR, DAY = 1000, 3600_000, 86400_000
YEAR = 365 * DAY
NOW = 1_600_000_000_123  # a time to stop at


def test_the_servers_time_is_the_machines_until_the_clock_is_moved(server, clock):
    assert clock.offset_ms == 0
    assert server.clock.is_shown()


@pytest.mark.parametrize("ms", [HOUR, YEAR, -HOUR, -YEAR])
def test_the_servers_time_jumps_with_the_clock(server, clock, ms):
    clock.advance(ms)
    assert clock.offset_ms == ms
    assert server.clock.is_shown()
    clock.set(0)
    assert server.clock.is_shown()


@pytest.mark.parametrize("ms", [1, 876, 877, 999, 1000, -1, -123, -124, -1000, -1001, DAY - 1, -DAY - 1])
def test_a_jump_is_exact_to_the_millisecond(server, clock, ms):
    clock.stop(NOW)
    clock.advance(ms)
    assert server.time_ms() == NOW + ms


def test_a_clock_that_stands_still_moves_by_what_it_is_told_alone(server, clock):
    clock.stop(NOW)
    assert [server.time_ms() for _ in range(3)] == [NOW] * 3
    clock.advance(877)
    assert server.time_ms() == NOW + 877
    clock.advance(-1000)
    assert server.time_ms() == NOW - 123
    clock.go_on()
    assert server.clock.is_shown()


def test_every_time_of_day_function_shows_the_clock_and_the_monotonic_clock_does_not(clock):
    """In a process of its own, which calls each of the C library's functions."""
    clock.stop(NOW)
    code = """
import ctypes, time
libc = ctypes.CDLL(None)
two = (ctypes.c_long * 2)()
print(libc.time(None))
assert libc.gettimeofday(two, None) == 0
print(two[0], two[1])
for clock in (time.CLOCK_REALTIME, 5, time.CLOCK_MONOTONIC):
    assert libc.clock_gettime(clock, two) == 0
    print(two[0], two[1])
assert libc.clock_gettime(-1, two) == -1
"""
    environment = dict(os.environ, **clock.environment(PRELOAD), ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True, text=True)
    *lines, monotonic = done.stdout.splitlines()
    assert lines == ["1600000000", "1600000000 123000", "1600000000 123000000", "1600000000 123000000"]
    assert int(monotonic.split()[0]) < 1_000_000_000


def test_a_process_without_a_clock_file_has_the_machines_time(clock):
    """The variable is missing, as in programs that a server starts with an environment of their own."""
    environment = dict(os.environ, **clock.environment(PRELOAD), ASAN_OPTIONS="detect_leaks=0")
    del environment[VARIABLE]
    clock.advance(-YEAR)
    before = time.time()
    done = subprocess.run([sys.executable, "-c", "import time; print(time.time())"], env=environment, stdout=subprocess.PIPE, check=True)
    assert before <= float(done.stdout) <= time.time()


def test_two_servers_are_hours_apart(server, clock, new_server):
    other = new_server(has_clock=True)
    clock.advance(5 * HOUR)
    other.clock.advance(-7 * HOUR)
    assert server.clock.is_shown()
    assert other.clock.is_shown()
    assert server.time_ms() - other.time_ms() == pytest.approx(12 * HOUR, abs=10 * SECOND)


def test_a_clock_outlives_a_restart(new_server):
    server = new_server(has_clock=True)
    server.clock.advance(-3 * HOUR)
    server.restart()
    assert server.clock.is_shown()


def test_a_key_with_px_expires_when_the_clock_jumps_past_it_and_not_before(call, clock):
    clock.stop(NOW)
    assert call("SET", "k", "v", "PX", HOUR) == OK
    clock.advance(HOUR - 1)
    assert call("PTTL", "k") == ONE
    assert call("EXISTS", "k") == ONE
    clock.advance(2)
    assert call("EXISTS", "k") == ZERO


def test_a_filters_ttl_follows_the_clock_back_and_forth(call, clock):
    clock.stop(NOW)
    assert call("BF.MADD", "k", "a") == array(ONE)
    assert call("PEXPIRE", "k", DAY) == ONE
    clock.advance(-DAY)
    assert call("PTTL", "k") == integer(2 * DAY)
    clock.advance(2 * DAY + 1)
    assert call("BF.CARD", "k") == ZERO


def test_a_replica_follows_a_master_hours_away_through_jumps_of_both_clocks(new_server):
    master = new_server(config=CALM, tcp=True, has_clock=True)
    replica = new_server(config=CALM, tcp=True, has_clock=True)
    replica.clock.advance(-9 * HOUR)
    follow(replica, master)
    for i, ms in enumerate([DAY, -2 * DAY, HOUR, -HOUR]):
        assert master.call("BF.ADD", "k", i) == ONE
        master.clock.advance(ms)
        assert master.call("SET", "ends %d" % i, "", "PX", HOUR) == OK
        replica.clock.advance(-ms)
        until_in_sync(replica, master)
        assert replica.call("BF.CARD", "k") == integer(i + 1)
        expires = master.call("PEXPIRETIME", "ends %d" % i)
        assert expires.value == pytest.approx(master.clock.now_ms() + HOUR, abs=60 * SECOND)
        replica.clock.set(master.clock.offset_ms - 9 * HOUR)  # before it ends; a replica hides what ended by its own clock
        assert replica.call("PEXPIRETIME", "ends %d" % i) == expires
    assert "timeout" not in master.log + replica.log
