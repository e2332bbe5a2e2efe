"""Parquet files: the filters that pyarrow writes and duckdb reads, and the recipe that drops rows seen before."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from checks import add_all, look_up_all
from conftest import LIBRARIES, need
from formats_model import parquet_header
from resp import OK, bulk
from test_recipes import numbers, run

ITEMS = [b"item:%d" % i for i in range(500)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(4500)]


# ---- BF.EXPORT and BF.IMPORT -------------------------------------------------------------------


@pytest.fixture(scope="module")
def parquet_libraries():
    need(LIBRARIES, "pyarrow", "duckdb")

    def run_them(*words, values):
        command = [LIBRARIES, "-B", Path(__file__).with_name("parquet_libraries.py"), *map(str, words)]
        text = b"".join(value + b"\n" for value in values)
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout.decode()

    return run_them


def parquet_file(parquet_libraries, path, ndv, fpp):
    """A file of ITEMS as pyarrow writes it, and where the Bloom filter is in it."""
    at, length = map(int, parquet_libraries("write", path, ndv, fpp, values=ITEMS).split())
    return path.read_bytes(), slice(at, at + length)


@pytest.mark.parametrize("ndv, fpp", [(500, 0.05), (500, 0.001), (20, 0.1)])
def test_parquet_is_what_pyarrow_writes(call, parquet_libraries, tmp_path, ndv, fpp):
    whole, where = parquet_file(parquet_libraries, tmp_path / "f.parquet", ndv, fpp)
    theirs = whole[where]
    assert call("BF.IMPORT", "k", "FORMAT", "parquet", "DATA", theirs) == OK
    assert look_up_all(call, "k", ITEMS) == [1] * len(ITEMS)
    assert call("BF.EXPORT", "k", "FORMAT", "parquet") == bulk(theirs)
    nbytes = next(n for n in (32 << i for i in range(20)) if len(parquet_header(n)) + n == len(theirs))
    empty = parquet_header(nbytes) + bytes(nbytes)
    assert call("BF.IMPORT", "k2", "FORMAT", "parquet", "CAPACITY", "5000", "DATA", empty) == OK
    add_all(call, "k2", ITEMS)
    assert call("BF.EXPORT", "k2", "FORMAT", "parquet") == bulk(theirs)


def test_duckdb_reads_pyarrows_filter_and_bloomports_and_answers_alike(call, parquet_libraries, tmp_path):
    path = tmp_path / "f.parquet"
    whole, where = parquet_file(parquet_libraries, path, 200, 0.1)
    probes = PROBES[300:1300]

    def answers():
        return [int(c) for c in parquet_libraries("probe", path, values=probes)]

    assert call("BF.IMPORT", "k", "FORMAT", "parquet", "DATA", whole[where]) == OK
    theirs = answers()
    assert sum(theirs[200:]) > 10, "no false positives to compare"
    assert look_up_all(call, "k", probes) == theirs

    # The same file with a filter of bloomport in place of pyarrow's, of other items.
    bits = 8 * (where.stop - where.start - len(parquet_header(256)))
    assert call("BF.RESERVE", "ours", "BITSPERKEY", bits // 64, "64", "LAYOUT", "BLOCKED", "NONSCALING") == OK
    add_all(call, "ours", probes[700:764])
    ours = call("BF.EXPORT", "ours", "FORMAT", "parquet").plain
    assert len(ours) == where.stop - where.start
    path.write_bytes(whole[: where.start] + ours + whole[where.stop :])
    seen = answers()
    assert seen[700:764] == [1] * 64 and seen != theirs
    assert look_up_all(call, "ours", probes) == seen


# ---- The recipe --------------------------------------------------------------------------------

PARQUET = """
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
rows = json.load(sys.stdin)
if rows:
    pq.write_table(pa.table(rows), sys.argv[1], row_group_size=7000)
else:
    json.dump(pq.read_table(sys.argv[1]).to_pydict(), sys.stdout)
"""


def parquet(file, rows=None):
    """Writes a table of columns, or reads it."""
    done = subprocess.run([str(LIBRARIES), "-c", PARQUET, str(file)], input=json.dumps(rows), check=True,
                          timeout=60, text=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout or "null")


def first_rows(table, column, seen):
    """The rows whose id is not in `seen`, which it then is: what a set gives."""
    kept = [i for i, one in enumerate(table[column]) if not (one in seen or seen.add(one))]
    return {name: [values[i] for i in kept] for name, values in table.items()}


@pytest.mark.parametrize("column", ["id", "url"])
def test_a_parquet_file_keeps_the_first_row_of_each_id_also_of_those_in_an_earlier_file(server, tmp_path, column):
    need(LIBRARIES, "numpy", "pyarrow", "redis")
    rng = random.Random(1)
    ids = [[rng.randrange(-40_000, 40_000) << 40 for _ in range(n)] for n in (30_001, 12_345)]
    seen = set()
    for one in ids:
        table = {"row": list(range(len(one))), "id": one, "url": [f"https://example.com/{i}" for i in one]}
        parquet(tmp_path / "in.parquet", table)
        out = run(server, "parquet_ids.py", tmp_path / "in.parquet", tmp_path / "out.parquet", column,
                  python=LIBRARIES)
        expected = first_rows(table, column, seen)  # 0.04 false positives expected: none with these ids
        assert parquet(tmp_path / "out.parquet") == expected
        assert numbers(out) == [len(one), len(expected["row"]), len(one) - len(expected["row"])]
