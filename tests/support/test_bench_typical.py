"""The rows of typical work (tests/bench/typical_rows.py) and what is printed of them. Nothing is timed here."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import bench  # noqa: E402
import speed  # noqa: E402
import typical_instructions  # noqa: E402
import typical_report  # noqa: E402
from typical_rows import GROWN_10K, NEW, OTHER_KEYS, RESERVED, ROWS, Row, commands_of, one_of, only  # noqa: E402

DUMP = "version: 1\npart: 1\nevents: Ir\nsummary: 2792962\n\nfn=(1) main\n1 2792962\n"


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_row_has_a_name_of_its_own():
    assert len({row.work for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.work)
def test_a_command_has_the_items_of_its_row_and_each_its_own(row):
    sent = [row.at(i) for i in range(20)]
    items = [word for words in sent for word in words if str(word).startswith("key:")]
    assert {words[0] for words in sent} == {row.command}
    assert len(items) == 20 * row.items
    if row.kind in ("absent", "fresh"):
        assert len(set(items)) == len(items)


def test_keys_are_met_in_another_order_than_that_of_memory_and_none_is_left_out():
    key = one_of("k", 10)
    keys = [key(i) for i in range(10)]
    assert sorted(keys) == ["k%06d" % i for i in range(10)] and keys != sorted(keys)


def test_fresh_items_of_a_timed_run_fit_into_the_layers_that_the_row_names():
    """10,000 of 12,700 items are in each of ten filters, and a run and its tenth before it add 22,000 to all."""
    row = next(row for row in ROWS if row.state is GROWN_10K and row.changes)
    added = 1.1 * commands_of(row, 20_000) * row.items
    assert GROWN_10K.items + added / 10 <= 100 * (2**7 - 1)


def test_what_a_row_creates_leaves_the_table_of_keys_its_size():
    row = next(row for row in ROWS if row.state is NEW)
    assert OTHER_KEYS + 1.1 * commands_of(row, 20_000) < 65_536


@pytest.mark.parametrize("kind, replies", [
    ("present", b":1\r\n:0\r\n"), ("absent", b":1\r\n:0\r\n"), ("fresh", b":0\r\n:0\r\n"), ("present again", b":1\r\n:0\r\n")])
def test_wrong_answers_are_an_error(kind, replies):
    with pytest.raises(RuntimeError, match="% of all answers are 1"):
        Row("x", RESERVED, "BF.EXISTS", only("k"), kind, 1).check(replies, 2)


def test_right_answers_are_none():
    for kind, replies in (("present", b":1\r\n:1\r\n"), ("absent", b":0\r\n:0\r\n"), ("fresh", b"*2\r\n:1\r\n:1\r\n")):
        Row("x", RESERVED, "BF.MADD", only("k"), kind, 2).check(replies, 1)


def test_a_dump_that_is_not_written_to_its_end_has_no_total():
    assert typical_instructions.total_of(DUMP) is None
    assert typical_instructions.total_of(DUMP + "totals: 2794049\n") == 2792962


def counted(factor):
    return {row.work: {"per_command": factor * 1000 * max(row.items, 1), "per_item": factor * 1000, "repeated": 0.0011}
            for row in ROWS if row.state.is_counted}


def test_instructions_stand_beside_the_peers_with_their_ratio():
    text = typical_report.instructions_table({"bloomport": counted(3), "other": counted(2)})
    lines = text.splitlines()
    assert cells(lines[0]) == ["typical work, instructions", "bloomport", "other", "ratio"]
    assert cells(lines[3]) == ["one layer of 100,000: BF.EXISTS absent", "3,000", "2,000", "1.50"]
    assert cells(lines[5]) == ["one layer of 100,000: BF.MEXISTS of 10 absent, per item (per command)",
                               "3,000 (30,000)", "2,000 (20,000)", "1.50"]
    assert lines[-1] == "The same commands, counted twice, differ by 0.110 % at most."


def test_instructions_alone_have_no_ratio():
    lines = typical_report.instructions_table({"bloomport": counted(1)}).splitlines()
    assert cells(lines[2]) == ["one layer of 100,000: PING, the server's own share", "1,000"]


def times(names):
    rows = speed.Rows()
    for row in ROWS:
        for factor, name in enumerate(names, start=1):
            for ns in (100, 300, 200):
                rows.note(row.work, name, SimpleNamespace(ns=factor * ns, as_json=dict))
    saving = {name: [{"save": 30 * i, "load": 10 * i, "bytes": 26_000_000}] for i, name in enumerate(names, start=1)}
    return {"rows": rows, "memory": {name: 33_000_000 for name in names}, "saving": saving}


def test_times_are_the_median_of_the_rounds_and_so_are_the_ratios():
    lines = typical_report.times_table(times(["bloomport", "other"])).splitlines()
    assert len(lines) == 2 + len(ROWS) + 4
    assert cells(lines[2]) == ["one layer of 100,000: PING, the server's own share, per command",
                               "200 (100..300)", "400 (200..600)", "0.50 (0.50..0.50)"]
    assert cells(lines[-4]) == ["100,000 small filters: SAVE, ms of CPU", "30", "60", "0.50"]
    assert cells(lines[-2]) == ["100,000 small filters: bytes of the file", "26,000,000", "26,000,000", "1.00"]


def test_without_a_peer_times_stand_alone_and_can_be_kept_as_json():
    result = times(["bloomport"])
    lines = typical_report.times_table(result).splitlines()
    assert {len(cells(line)) for line in lines} == {2}
    assert len(bench.as_json({"typical": result})["typical"]["rows"]) == len(ROWS)
