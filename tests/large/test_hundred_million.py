"""A hundred million numbers from a pipe into a filter, to a server and back: the same file.

    make test-large T=test_hundred_million

Prints time and peak memory of each step. Needs 2 GB in TMPDIR (default /var/tmp), where the hashes
wait until they are counted. BLOOMPORT_LARGE_ITEMS, default 100000000, makes it smaller.
"""

import filecmp
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "server"))

from redis_server import served  # noqa: E402  (found by the line above)
from test_ten_gigabytes import status  # noqa: E402

TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))
ITEMS = int(os.environ.get("BLOOMPORT_LARGE_ITEMS", "100_000_000"))
BUFFERS = 300_000  # kB beside the filter: what waits to be set, and the spool


@pytest.fixture
def server():
    yield from served()


def run(what, *words, stdin=None):
    """Runs the tool to its end; returns what it printed, and its peak of resident memory in kB. (The
    kernel's own peak would include the memory of this process, from which the tool was forked.)"""
    begin, peak = time.monotonic(), 0
    with subprocess.Popen([TOOL, *map(str, words)], stdin=stdin, stdout=subprocess.PIPE) as child:
        while child.poll() is None:
            peak = max(peak, status(child.pid, "VmHWM") // 1024)
            time.sleep(0.01)
        printed = child.stdout.read()  # a line at most: it cannot fill the pipe
    print("%-10s %6.1f s, peak %5.0f MB" % (what, time.monotonic() - begin, peak / 1000))
    assert child.returncode == 0
    return printed, peak


def test_a_hundred_million_numbers_travel_to_a_server_and_back(tmp_path, server, capsys):
    there, back = tmp_path / "f.bloom", tmp_path / "g.bloom"
    with capsys.disabled():
        print("\n%d numbers" % ITEMS)
        with subprocess.Popen(["seq", "1", str(ITEMS)], stdout=subprocess.PIPE) as numbers:
            _, peak = run("build", "build", "--error", "0.01", "-o", there, stdin=numbers.stdout)
        size = there.stat().st_size
        print("%-10s %d bytes" % ("file", size))
        assert peak < size / 1000 + BUFFERS
        run("push", "push", there, "--key", "k", "-s", server.socket)
        for item in (1, 2, ITEMS // 2, ITEMS - 1, ITEMS):
            assert server.call("BF.EXISTS", "k", str(item)).plain == 1
        # 10,000 absent ones at 0.01: 100 expected, sigma 10; six sigmas.
        absent = [str(ITEMS + 1 + i) for i in range(10_000)]
        assert 40 < sum(server.call("BF.MEXISTS", "k", *absent).plain) < 160
        run("pull", "pull", "--key", "k", "-s", server.socket, "-o", back)
        assert filecmp.cmp(there, back, shallow=False)
        with subprocess.Popen(["seq", "1", str(ITEMS)], stdout=subprocess.PIPE) as numbers:
            printed, peak = run("check -c", "check", "-c", back, stdin=numbers.stdout)
        assert int(printed) == ITEMS
        assert peak < size / 1000 * 2 + BUFFERS  # the file is mapped beside the filter
