"""The recipe parquet_ids.py on a file of 100 million ids, a tenth of which has come before.

    make test-large T=test_parquet_ids

Prints the recipe's time, its peak of memory and the filter's size. The files take 1.6 GB in TMPDIR.
BLOOMPORT_LARGE_ITEMS, default 100000000, makes it smaller.
"""

import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "server"))

from redis_server import served  # noqa: E402  (found by the line above)
from test_ten_gigabytes import status  # noqa: E402

ITEMS = int(os.environ.get("BLOOMPORT_LARGE_ITEMS", "100_000_000")) // 1_000_000 * 1_000_000
PYTHON = REPO / "build" / "venv" / "bin" / "python"
RECIPE = REPO / "tests" / "recipes" / "parquet_ids.py"

# In each million 900,000 new numbers, spread over 64 bits by odd factors and shifts, which keep them
# different, and 100,000 of those before; of the first million all are new.
WRITE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, new = np.random.default_rng(1), 0
def spread(x):
    x = x.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)).view(np.int64)
with pq.ParquetWriter(sys.argv[1], pa.schema([("id", pa.int64())])) as out:
    for _ in range(int(sys.argv[2]) // 1_000_000):
        again = rng.integers(0, new, 100_000) if new else np.arange(0)
        fresh = np.arange(new, new + 1_000_000 - len(again))
        ids = np.concatenate([again, fresh])
        rng.shuffle(ids)
        out.write_table(pa.table({"id": spread(ids)}))
        new += len(fresh)
print(new)
"""


@pytest.fixture
def server():
    yield from served()


def run_recipe(server, *words):
    """(what it printed, seconds, peak of resident memory in MB)"""
    begin, peak = time.monotonic(), 0
    environment = {**os.environ, "REDIS_URL": f"unix://{server.socket}"}
    with subprocess.Popen([PYTHON, "-B", RECIPE, *words], env=environment, stdout=subprocess.PIPE,
                          text=True) as child:
        while child.poll() is None:
            peak = max(peak, status(child.pid, "VmHWM") / 1e6)
            time.sleep(0.05)
        printed = child.stdout.read()
    assert child.returncode == 0
    return printed, time.monotonic() - begin, peak


def test_a_hundred_million_ids_lose_their_duplicates_and_hardly_any_other(tmp_path, server, capsys):
    if not PYTHON.exists():
        pytest.skip("pyarrow is not in build/venv: make test-large T=test_parquet_ids downloads it")
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    written = subprocess.run([PYTHON, "-c", WRITE, source, str(ITEMS)], check=True, stdout=subprocess.PIPE)
    distinct = int(written.stdout)
    printed, seconds, peak = run_recipe(server, source, target, "id")
    rows, kept, dropped = map(int, re.findall(r"\d+", printed))
    (size,) = server.call("BF.INFO", "ids", "SIZE").plain
    with capsys.disabled():
        print("\n%d rows, %d distinct: %d kept, %d new ones dropped" % (rows, distinct, kept, distinct - kept))
        print("%.1f s, %.1f million rows a second, peak %.0f MB; filter %.0f MB, %.1f bits an id"
              % (seconds, rows / seconds / 1e6, peak, size / 1e6, size * 8 / distinct))
    assert rows == ITEMS and kept + dropped == rows
    # A false positive drops a new row. The filter fills up on the way, so that a millionth of all is the
    # most to expect; five sigmas.
    assert 0 <= distinct - kept <= distinct * 1.1e-6 + 5 * math.sqrt(distinct * 1.1e-6)
