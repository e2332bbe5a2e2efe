"""A filter of 10 GB: created, filled, saved by BGSAVE, loaded by a restart; prints time and peak memory.

    make test-large T=test_ten_gigabytes

Needs 12 GB of free memory and 21 GB in the temporary directory. BLOOMPORT_LARGE_BYTES, default
10000000000, makes it smaller.

    few items    made as a user does; most of its pages are never touched
    half full    loaded by BF.LOADCHUNK from random bytes: every page is there and LZF finds nothing

Peaks are of resident memory, VmHWM of /proc/<pid>/status. The child shares its parent's pages, so
what it costs by itself is the private part, sampled while it saves.
"""

import hashlib
import os
import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

import redis_server  # noqa: E402  (the path must come first)
from filters import load_random, server_info, until  # noqa: E402
from resp import OK, Connection  # noqa: E402

SIZE = int(os.environ.get("BLOOMPORT_LARGE_BYTES", "10_000_000_000"))
ALLOWANCE = 300_000_000  # beside the filter: the server, its buffers, pages changed while it saves
GIB = 1 << 30


def status(pid, field):
    """VmHWM or VmRSS in bytes; 0 if the process has gone."""
    try:
        text = Path("/proc/%d/status" % pid).read_text()
        return int(re.search(r"%s:\s+(\d+) kB" % field, text).group(1)) * 1024
    except (OSError, AttributeError):
        return 0


def private_bytes(pid):
    try:
        text = Path("/proc/%d/smaps_rollup" % pid).read_text()
    except OSError:
        return 0
    return sum(int(kb) * 1024 for kb in re.findall(r"Private_(?:Clean|Dirty):\s+(\d+) kB", text))


def children(pid):
    return [int(child) for child in Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]


def say(what, seconds, *peaks):
    peaks = ", ".join("%s %.2f GiB" % (name, size / GIB) for name, size in peaks)
    print("  %-28s %9.3f s   %s" % (what, seconds, peaks), flush=True)


class Clock:
    def __init__(self):
        self.start = time.monotonic()

    def seconds(self):
        return time.monotonic() - self.start


@pytest.fixture
def large_server(monkeypatch):
    free = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1)) * 1024
    if free < SIZE * 1.2 or shutil.disk_usage(tempfile.gettempdir()).free < SIZE * 2.1:
        reason = "a filter of %.1f GB needs 1.2 times that of memory, and 2.1 times of disk" % (SIZE / 1e9)
        print(reason)
        pytest.skip(reason)
    monkeypatch.setattr(redis_server, "START_SECONDS", 1800)
    monkeypatch.setattr(redis_server, "STOP_SECONDS", 600)
    server = redis_server.Server(config={"rdbcompression": "yes"}).start()
    yield server
    server.close()


def sampled(call, seed=1):
    """A digest of 20,000 answers, of what BF.INFO and BF.CARD say, and of pieces from all over."""
    source = random.Random(seed)
    digest = hashlib.sha256()
    for start in range(0, 20_000, 1000):
        answers = call("BF.MEXISTS", "k", *("item%d" % i for i in range(start, start + 1000))).plain
        digest.update(bytes(answers))
    for words in (("BF.CARD", "k"), ("BF.INFO", "k"), ("BF.DEBUG", "k"), ("BF.SCANDUMP", "k", 0)):
        digest.update(repr(call(*words).plain).encode())
    for iterator in [1, SIZE - 1000, *(source.randrange(1, SIZE) for _ in range(20))]:
        digest.update(call("BF.SCANDUMP", "k", iterator).plain[1])
    return digest.hexdigest()


def few_items(call):
    clock = Clock()
    assert call("BF.RESERVE", "k", "BITSPERKEY", "10", SIZE * 8 // 10, "NONSCALING") == OK
    say("BF.RESERVE", clock.seconds())
    clock = Clock()
    for start in range(0, 200_000, 1000):
        call("BF.MADD", "k", *("item%d" % i for i in range(start, start + 1000))).plain
    say("200,000 items added", clock.seconds())


def half_full(call):
    clock = Clock()
    load_random(call, "k", SIZE)
    say("BF.LOADCHUNK", clock.seconds())


def bgsave(server, call):
    """Saves in the background and returns the most private memory the child was seen to have."""
    clock = Clock()
    assert not call("BGSAVE").is_error
    fork = clock.seconds()
    most_private = most_resident = 0
    while server_info(call, "persistence")["rdb_bgsave_in_progress"] == "1":
        for child in children(server.pid):
            most_private = max(most_private, private_bytes(child))
            most_resident = max(most_resident, status(child, "VmHWM"))
        time.sleep(0.1)
    assert server_info(call, "persistence")["rdb_last_bgsave_status"] == "ok"
    say("fork", fork)
    peaks = [("parent", status(server.pid, "VmHWM")), ("child", most_resident), ("of it private", most_private)]
    say("BGSAVE", clock.seconds(), *peaks)
    size = os.path.getsize(os.path.join(server.directory, "dump.rdb"))
    print("  %-28s %9.2f GiB" % ("dump.rdb", size / GIB), flush=True)
    return most_private


@pytest.mark.parametrize("fill", [few_items, half_full], ids=lambda fill: fill.__name__)
def test_ten_gigabytes_are_saved_and_loaded_without_a_second_copy(large_server, capfd, fill):
    with capfd.disabled():  # the figures are the point: shown although the test passes
        save_and_load(large_server, fill)


def save_and_load(server, fill):
    print("\n%s, %d bytes" % (fill.__name__, SIZE))
    call = Connection(server.socket, timeout=1800).call
    fill(call)
    before = sampled(call)
    assert bgsave(server, call) < ALLOWANCE
    assert status(server.pid, "VmHWM") < SIZE + ALLOWANCE

    server.kill9()
    clock = Clock()
    server.start()
    peak = status(server.pid, "VmHWM")
    say("start, with loading", clock.seconds(), ("server", peak))
    assert peak < SIZE + ALLOWANCE
    call = Connection(server.socket, timeout=1800).call
    assert sampled(call) == before
    assert call("BF.EXISTS", "k", "item7").plain in (0, 1)

    clock = Clock()
    assert call("UNLINK", "k").plain == 1
    say("UNLINK", clock.seconds())
    until(lambda: server.rss() < ALLOWANCE, "memory is given back")
