"""BF.BULKEXISTS and BF.BULKADD with data of 512 MB, the most that a string of the protocol may have.

    make test-large T=test_bulk_large

Needs 4 GB of memory and 2 GB in the temporary directory. Prints how long each command holds the server.
"""

import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from checks import CHUNK_LIMIT  # noqa: E402  (the path must come first)
from filters import QUIET, Stream, follow, until_in_sync  # noqa: E402
from redis_server import Server  # noqa: E402
from resp import OK, Connection, error  # noqa: E402

MOST = 512 * 1024 * 1024  # the server's proto-max-bulk-len
MIB = 1 << 20
WIDTH = 64  # 8,388,608 items
ITEMS = MOST // WIDTH


@pytest.fixture(scope="module")
def data():
    seed = 25
    print("seed", seed)
    return random.Random(seed).randbytes(MIB) * (MOST // MIB)  # 16,384 different items of 64 bytes


@pytest.fixture
def servers():
    config = dict(QUIET, **Stream.CONFIG, **{"repl-timeout": "600", "client-output-buffer-limit": "replica 0 0 0"})
    pair = [Server(config=config, tcp=True).start() for _ in range(2)]
    yield pair
    for server in reversed(pair):
        server.close()


def patient(server):
    """A command on half a billion items takes longer than any other test's."""
    return Connection(server.socket, timeout=600).call


def digest(server):
    return server.call("DEBUG", "DIGEST-VALUE", "k").plain


def held_seconds(server, name):
    text = server.call("INFO", "commandstats").plain.decode()
    return int(re.search(r"cmdstat_%s:calls=1,usec=(\d+)" % name, text)[1]) / 1e6


def test_512_mb_of_one_width_are_answered_propagated_and_found_again(data, servers):
    """Every item is different: its number stands in its first bytes."""
    master, replica = servers
    follow(replica, master)
    stream = Stream(master)
    numbered = bytearray(data)
    for i in range(ITEMS):
        numbered[i * WIDTH : i * WIDTH + 4] = i.to_bytes(4, "little")
    numbered = bytes(numbered)
    call = patient(master)
    assert call("BF.RESERVE", "k", "0.0001", ITEMS, "LAYOUT", "BLOCKED") == OK
    stream.take()
    added = call("BF.BULKADD", "k", "WIDTH", WIDTH, numbered).plain
    count = int.from_bytes(added, "big").bit_count()
    assert len(added) == ITEMS // 8 and 0.999 * ITEMS < count <= ITEMS
    assert call("BF.CARD", "k").plain == count
    pieces = [words for words in stream.take() if words[0] == b"BF.BULKADD"]
    assert sum(len(words[-1]) for words in pieces) == count * WIDTH
    assert max(len(words[-1]) for words in pieces) <= CHUNK_LIMIT
    until_in_sync(replica, master)
    assert digest(replica) == digest(master)
    assert call("BF.BULKEXISTS", "k", "WIDTH", WIDTH, numbered).plain == b"\xff" * (ITEMS // 8)
    for name in ("bf.bulkadd", "bf.bulkexists"):
        print("%s of %d items: %.2f s" % (name, ITEMS, held_seconds(master, name)))
    before = digest(master)
    master.restart()
    assert digest(master) == before


@pytest.mark.parametrize("line", [b"", b"x" * 1023, b"x" * (MOST - 1)], ids=["empty", "1023 bytes", "one line"])
def test_512_mb_of_lines_are_cut(servers, line):
    call = patient(servers[0])
    count = MOST // (len(line) + 1)
    lines = (line + b"\n") * count
    assert len(lines) == MOST
    added, size = call("BF.BULKADD", "k", "LINES", lines).plain, (count + 7) // 8
    assert added[:1] == b"\x80" and len(added) == size and not any(added[1:])
    assert call("BF.CARD", "k").plain == 1
    found = call("BF.BULKEXISTS", "k", "LINES", lines).plain
    assert found == (b"\x80" if count == 1 else b"\xff" * size)
    print("%d lines: %.2f s, %.2f s" % (count, held_seconds(servers[0], "bf.bulkadd"), held_seconds(servers[0], "bf.bulkexists")))


def test_512_mb_that_a_width_does_not_divide_are_refused_and_change_nothing(data, servers):
    call = patient(servers[0])
    text = "ERR the data is no whole number of items of 7 bytes"
    for name in ("BF.BULKADD", "BF.BULKEXISTS"):
        assert call(name, "k", "WIDTH", 7, data) == error(text)
    assert call("EXISTS", "k").plain == 0


def test_512_mb_and_one_byte_are_the_servers_own_error(data, servers):
    connection = servers[0].connection()
    try:
        reply = connection.call("BF.BULKADD", "k", "WIDTH", 1, data + b"x")
        assert reply.is_error
    except OSError:
        pass  # it may close the connection before it has read all
    assert servers[0].call("EXISTS", "k").plain == 0
