"""What the log says when a filter becomes full or has many layers: one line of each kind a minute, with
what to do. What BF.MERGE logs is in test_stats."""

import struct

import pytest

from checks import add_all, bits_of
from clock import CALM
from filters import QUIET, Stream, follow, until_in_sync
from resp import OK

SERVER_HAS_CLOCK = True
MINUTE = 60_000
FULL, LAYERS = "is full: it holds ", "has more than 16 layers"


def lines(server, words):
    return [line.split(" filter ", 1)[1] for line in server.log.splitlines() if words in line]


@pytest.fixture
def new_lines(call, server, clock):
    """new_lines(words) -> the lines with these words since the last time; a minute passes first, and what
    was left out before this test is said here and not in its first line."""
    clock.advance(2 * MINUTE)
    fill(call, "first")
    grow(call, "first, too")
    clock.advance(MINUTE)
    seen = {words: len(lines(server, words)) for words in (FULL, LAYERS)}

    def take(words):
        found = lines(server, words)[seen[words]:]
        seen[words] += len(found)
        return found

    return take


def fill(call, key, *words):
    assert call("BF.RESERVE", key, "0.001", "20", *(words or ("NONSCALING",))) == OK
    call("BF.MADD", key, *range(25))


def grow(call, key, items=40):
    assert call("BF.RESERVE", key, "0.001", "2", "EXPANSION", "1") == OK
    add_all(call, key, range(items))


def test_a_filter_that_becomes_full_is_logged_with_what_to_do(call, new_lines):
    call("BF.RESERVE", "visitors", "0.001", "20", "NONSCALING")
    for i in range(19):
        call("BF.ADD", "visitors", i)
    assert new_lines(FULL) == []
    call("BF.ADD", "visitors", 19)
    assert new_lines(FULL) == ["visitors is full: it holds 20 items and takes no new ones. Make a larger one, or "
                               "one with an expansion; BF.STATS has more"]
    call("BF.ADD", "visitors", 20)
    assert new_lines(FULL) == []


def test_a_full_counting_filter_is_not_told_to_grow(call, new_lines):
    """It never does: BF.RESERVE refuses COUNTING with an expansion."""
    fill(call, "counted", "LAYOUT", "COUNTING")
    assert new_lines(FULL) == ["counted is full: it holds 20 items and takes no new ones. Delete items, or make a larger "
                               "one; BF.STATS has more"]


def test_an_imported_filter_that_cannot_grow_is_not_told_to(call, new_lines):
    data = struct.pack("<B", 8) + bytes(8) + struct.pack("<IIB", 3, 5, 0)
    assert call("BF.IMPORT", "bitcoin", "FORMAT", "bip37", "CAPACITY", 5, "DATA", data) == OK
    call("BF.MADD", "bitcoin", *range(20))
    (line,) = new_lines(FULL)
    assert line.startswith("bitcoin is full: it holds 5 items") and "Make a larger one; BF.STATS" in line


DIGITS = "0123456789abcdef" * 2
STAGING = {  # name: what the log calls it, or None: nothing
    "{visitors}:bloomport-push:" + DIGITS: "visitors",
    "{a}:b:bloomport-push:" + DIGITS: "{a}:b",
    "{a}{b}:bloomport-push:" + DIGITS: "{a}{b}",
    "bloomport-push:" + DIGITS: None,
    "{visitors}:bloomport-push:" + DIGITS[1:]: "{visitors}:bloomport-push:" + DIGITS[1:],
    "bloomport-push:" + DIGITS[1:] + "x": "bloomport-push:" + DIGITS[1:] + "x",
    "": "",
}


@pytest.mark.parametrize("name, shown", STAGING.items())
def test_the_log_names_the_users_key_and_no_staging_key(call, new_lines, name, shown):
    fill(call, name)
    assert [line.split(" is full")[0] for line in new_lines(FULL)] == ([] if shown is None else [shown])
    assert call("DEL", name).plain == 1
    grow(call, name)
    assert [line.split(" has more")[0] for line in new_lines(LAYERS)] == ([] if shown is None else [shown])


def test_a_filter_that_passes_16_layers_is_logged_once(call, clock, new_lines):
    grow(call, "chain", 32)
    assert new_lines(LAYERS) == []
    add_all(call, "chain", range(32, 40))
    (line,) = new_lines(LAYERS)
    assert line.startswith("chain has more than 16 layers") and "it holds 40 items. Reserve a capacity like that" in line
    clock.advance(MINUTE)
    add_all(call, "chain", range(40, 2000))
    assert new_lines(LAYERS) == []


def test_each_kind_is_written_once_a_minute_and_then_says_what_was_left_out(call, clock, new_lines):
    for i in range(5):
        fill(call, "k%d" % i)
        grow(call, "c%d" % i)
    assert [line.split()[0] for line in new_lines(FULL)] == ["k0"]
    assert [line.split()[0] for line in new_lines(LAYERS)] == ["c0"]
    clock.advance(MINUTE)
    fill(call, "later")
    (line,) = new_lines(FULL)
    assert line.startswith("later is full") and line.endswith("(4 more filters since the last such line)")
    clock.advance(MINUTE)
    fill(call, "last")
    assert new_lines(FULL)[0].endswith("BF.STATS has more")


def test_a_clock_that_is_set_back_silences_nothing(call, clock, new_lines):
    fill(call, "a")
    clock.advance(-10 * MINUTE)
    fill(call, "b")
    assert [line.split()[0] for line in new_lines(FULL)] == ["a", "b"]


def test_a_key_writes_no_lines_of_its_own_and_is_cut_off(call, new_lines):
    fill(call, b"a\nb\x00\xff" + b"x" * 100)
    (line,) = new_lines(FULL)
    assert line.startswith("a?b??" + "x" * 59 + " is full")


def test_every_way_to_become_full_is_logged(call, clock, new_lines):
    fill(call, "counting", "LAYOUT", "COUNTING")
    assert len(new_lines(FULL)) == 1
    clock.advance(MINUTE)
    call("BF.IMPORT", "imported", "FORMAT", "portable", "CAPACITY", "20", "DATA", call("BF.EXPORT", "counting").plain)
    assert len(new_lines(FULL)) == 1
    clock.advance(MINUTE)
    call("BF.DEL", "counting", 0)
    call("BF.ADD", "counting", 0)
    assert [line.split()[0] for line in new_lines(FULL)] == ["counting"]
    clock.advance(MINUTE)
    call("COPY", "counting", "copy")  # what is loaded or copied did not become full here
    call("RESTORE", "restored", 0, call("DUMP", "counting").plain)
    assert bits_of(call, "copy") == bits_of(call, "restored") and new_lines(FULL) == []


def test_a_replica_and_the_loading_of_a_log_write_none(new_server):
    master = new_server(tcp=True, config={**QUIET, **Stream.CONFIG, **CALM})
    replica = new_server(config=QUIET)
    follow(replica, master)
    fill(master.call, "k")
    grow(master.call, "c")
    until_in_sync(replica, master)
    assert replica.call("INFO", "bf").plain.count(b"bf_full:1") == 1
    for words in (FULL, LAYERS):
        assert (len(lines(master, words)), len(lines(replica, words))) == (1, 0)
    assert len(lines(master.restart(), FULL)) == 1
