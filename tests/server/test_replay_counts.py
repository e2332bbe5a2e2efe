"""Streams of version 0.2.0, whose filters count items in another way: no item that it acknowledged is lost."""

from pathlib import Path

import pytest

from checks import FULL, assert_refused
from filters import dump, look, same_filter
from resp import OK, integer

HEAD = ("BF.RESERVE", "k", "0.0001", "3", "EXPANSION", "0", "LAYOUT", "COUNTING", "HASH", "XXH64")
INSERT = ("BF.INSERT", "k", "CAPACITY", "3", "ERROR", "0.0001", "EXPANSION", "0", "LAYOUT", "COUNTING", "HASH", "XXH64", "ITEMS")
# 0.2.0 counts the distinct items: three here, of seven copies
STREAMS = {
    "BF.ADD": [HEAD, *(("BF.ADD", "k", item) for item in "aaaaabc")],
    "BF.MADD": [HEAD, ("BF.MADD", "k", *"aaaaabc")],
    "BF.MADD after BF.ADD": [HEAD, ("BF.ADD", "k", "a"), ("BF.MADD", "k", *"aaaabc")],
    "BF.BULKADD": [HEAD, ("BF.BULKADD", "k", "WIDTH", "1", "aaaaabc")],
    "BF.INSERT": [(*INSERT, *"aaaaabc")],
}


def replayed(new_server, commands):
    """A server that has loaded an AOF with these commands at its end."""
    server = new_server(config={"appendonly": "yes"})
    assert server.call("PING").value == "PONG"
    server.stop()
    (path,) = Path(server.directory, "appendonlydir").glob("*.incr.aof")
    with open(path, "ab") as file:
        for words in commands:
            file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
    server.start()
    return server.connection().call


@pytest.mark.parametrize("name", STREAMS)
def test_adds_that_0_2_0_accepted_beyond_the_capacity_are_in_the_filter(new_server, name):
    call = replayed(new_server, STREAMS[name])
    assert call("BF.MEXISTS", "k", *"abc").plain == [1, 1, 1], "an acknowledged item is lost"
    assert [call("BF.COUNT", "k", item).plain for item in "abc"] == [5, 1, 1]
    assert call("BF.CARD", "k") == integer(7)
    assert_refused(call, FULL, "BF.ADD", "k", "a client's new item")
    before = look(call, "k")
    for command in (("DEBUG", "RELOAD"), ("DEBUG", "LOADAOF")):
        assert call(*command) == OK
        same_filter(before, look(call, "k"))


def test_an_intersection_with_itself_that_0_2_0_sent_makes_the_count_an_estimate_as_it_did_there(new_server):
    """Else the counts differ, and with them what a full filter takes."""
    reserve = ("BF.RESERVE", "k", "0.01", "100", "EXPANSION", "0", "LAYOUT", "CLASSIC", "HASH", "XXH64")
    call = replayed(new_server, [reserve, ("BF.MADD", "k", *map(str, range(90))), ("BF.INTERSTORE", "k", "k")])
    flags = int.from_bytes(dump(call, "k")[0][1][14:16], "little")
    assert flags == 2, "rdb/FORMAT.md, section 2: estimated"
