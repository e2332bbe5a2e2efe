"""A server can load again what it holds: every state that commands and settings can reach passes the
checks of the loader. An add that would exceed a limit is refused and changes nothing.
"""

import math
import os

import pytest

from checks import BAD_DATA, info, settings
from filters import PORTABLE, QUIET, Layer, header, until
from formats_model import REDISBLOOM_FIXED, REDISBLOOM_LAYER
from redis_server import MODULE, Server, ServerDied
from redisbloom import DUMP_FILE, Master, module_value, string, with_footer
from resp import OK, ONE, ZERO, encode, error, integer, simple
from test_redisbloom_master import until_applied

MOST = 2**63 - 1  # of items and of capacity
MOST_LAYERS = 65536
CLIENTS_LAYERS = 1024  # to which clients' adds grow a filter of RedisBloom's

# ---- Filters at the limits, as bytes -------------------------------------------------------------

ERROR = 0.01
BITS_PER_ITEM = -math.log(ERROR) / 0.480453013918201
HASHES = math.ceil(BITS_PER_ITEM * math.log(2))


def redisblooms(counts, growth=2):
    """RedisBloom's header of layers of 64 bits, each (capacity, items)."""
    parts = [REDISBLOOM_FIXED.pack(sum(items for _, items in counts), len(counts), 5, growth)]
    for capacity, items in counts:
        parts.append(REDISBLOOM_LAYER.pack(8, 64, items, ERROR, BITS_PER_ITEM, HASHES, capacity, 0))
    return b"".join(parts)


def natives(nlayers):
    """Layers of bloomport's own type, full, of one item each: capacity, items, ones, rate, k, m."""
    return [Layer(1, 1, 1, 0.01, 1, 8)] * nlayers


def native_payload(layers, bits, **fields):
    """A DUMP payload of a native filter, from FORMAT.md; `bits` are those of each layer."""
    parts = [string(header(layers, **fields))]
    for layer in layers:
        parts += [string(PORTABLE.pack(layer.k, layer.m)), string(bits)]
    return with_footer(module_value([bytearray(b"".join(parts))]))


def shown(call):
    """What is cheap to show of `k`, which may have 65,536 layers."""
    return call("TYPE", "k"), call("BF.CARD", "k"), info(call, "k")


def assert_loads(server, call):
    """By RDB, by DUMP and RESTORE, after a restart, and by a rewritten AOF."""

    def whole():
        return shown(call), call("DEBUG", "DIGEST-VALUE", "k")

    before = whole()
    reply = call("RESTORE", "k", 0, call("DUMP", "k").plain, "REPLACE")  # apart: pytest would print it
    assert reply == OK
    assert shown(call) == before[0], "after DUMP and RESTORE"
    assert call("SAVE") == OK
    server.restart()
    call = server.connection().call
    assert whole() == before, "after a restart"
    if before[0][2]["Number of filters"] > CLIENTS_LAYERS and before[0][0] == simple("MBbloom--"):
        return  # a piece each, and its rate is computed anew after each: two minutes
    assert call("CONFIG", "SET", "appendonly", "yes") == OK
    until(lambda: b"aof_rewrite_in_progress:0" in call("INFO", "persistence").plain, "the AOF")
    until(lambda: b"aof_rewrite_scheduled:0" in call("INFO", "persistence").plain, "the AOF")
    assert call("DEBUG", "LOADAOF") == OK
    assert whole() == before, "after a rewritten AOF"


@pytest.fixture
def other(new_server):
    """A server of the test's own: if it cannot load, no other test fails."""
    return new_server(config={"aof-use-rdb-preamble": "no", **QUIET})


# Each layer (capacity, items); the last is full
LIMITS = {
    "2^63-1 items": [(1, MOST)],
    "2^63-1 items of as many": [(MOST, MOST)],
    "2^63-1 items in two layers": [(5, MOST - 7), (7, 7)],
    "65536 layers": [(1, 1)] * MOST_LAYERS,
}


@pytest.mark.parametrize("name", LIMITS)
def test_an_add_to_a_redisbloom_filter_at_its_limits_is_refused_and_the_filter_loads(other, name):
    call = other.connection().call
    reply = call("BF.LOADCHUNK", "k", 1, redisblooms(LIMITS[name]))
    assert reply == OK
    before = shown(call)
    for words in (("BF.ADD", "k", "x"), ("BF.MADD", "k", "x", "y"), ("BF.INSERT", "k", "ITEMS", "x")):
        reply = call(*words)
        replies = [reply] if words[0] == "BF.ADD" else reply.value
        assert replies and all(each.is_error for each in replies), reply
        assert shown(call) == before
    assert before[1].value > 0
    assert_loads(other, call)


# Near the limits: whether the header is taken is the loader's choice; what it takes must stay loadable
NEAR = {
    "one below": [(MOST, MOST - 1)],
    "last layer not full": [(5, MOST - 6), (5, 4)],
    "sum passes with the last layer's capacity": [(5, MOST - 4), (5, 4)],
    "capacities pass": [(MOST - 3, 5), (5, 4)],
    "half the capacity and full": [(2**62, 2**62)],
    "items over the capacity": [(5, 2**62), (5, 2**62 - 2), (1, 0)],
    "65535 layers": [(1, 1)] * (MOST_LAYERS - 1),
}


@pytest.mark.parametrize("name, growth", [(name, growth) for name in NEAR for growth in (1, 3) if name[:5] != "65535" or growth == 1])
def test_whatever_header_is_taken_stays_loadable_under_adds(other, name, growth):
    call = other.connection().call
    reply = call("BF.LOADCHUNK", "k", 1, redisblooms(NEAR[name], growth))
    if reply.is_error:
        assert reply == error(BAD_DATA) and call("EXISTS", "k") == ZERO
        return
    for i in range(8):
        before = shown(call)
        reply = call("BF.ADD", "k", "x%d" % i)
        card = call("BF.CARD", "k").plain
        assert card >= 0
        if reply.is_error:
            assert shown(call) == before
        else:
            assert card == before[1].plain + reply.plain
    assert_loads(other, call)


def test_more_than_65536_layers_are_refused(other):
    call = other.connection().call
    for head in (redisblooms([(1, 1)] * (MOST_LAYERS + 1)), header(natives(MOST_LAYERS + 1))):
        reply = call("BF.LOADCHUNK", "k", 1, head)
        assert reply == error(BAD_DATA)
        assert call("EXISTS", "k") == ZERO


def test_a_native_filter_of_65536_layers_is_taken_refuses_to_grow_and_loads(other):
    call = other.connection().call
    reply = call("RESTORE", "k", 0, native_payload(natives(MOST_LAYERS), b"\1"))
    assert reply == OK
    assert info(call, "k")["Number of filters"] == MOST_LAYERS
    before = shown(call)
    assert call("BF.ADD", "k", "x").is_error or call("BF.EXISTS", "k", "x") == ONE
    assert shown(call) == before
    assert_loads(other, call)


# ---- How far a RedisBloom filter grows ------------------------------------------------------------


def absent_items(call, count):
    """Items that `k` does not seem to have."""
    found = []
    for number in range(100000):
        item = "absent%d" % number
        if call("BF.EXISTS", "k", item) == ZERO:
            found.append(item)
        if len(found) == count:
            return found
    raise AssertionError("the filter has everything")


def test_clients_grow_a_redisbloom_filter_to_1024_layers_and_no_further(call, server):
    assert call("BF.LOADCHUNK", "k", 1, redisblooms([(1, 1)] * (CLIENTS_LAYERS - 1), growth=1)) == OK
    first, second = absent_items(call, 2)
    assert call("BF.ADD", "k", first) == ONE
    assert info(call, "k")["Number of filters"] == CLIENTS_LAYERS
    (second,) = absent_items(call, 1)
    before = shown(call)
    assert call("BF.ADD", "k", second).is_error
    assert shown(call) == before
    assert call("BF.EXISTS", "k", first) == ONE


def test_replayed_adds_grow_a_redisbloom_filter_further(new_server):
    master = Master(DUMP_FILE.read_bytes())
    replica = new_server(config=QUIET, tcp=True)
    try:
        assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
        assert master.is_synced.wait(60)
        until_applied(replica, master)
        items = ["item%d" % i for i in range(40)]
        master.send(("BF.LOADCHUNK", "k", 1, redisblooms([(1, 1)] * CLIENTS_LAYERS, growth=1)))
        master.send(*(("BF.ADD", "k", item) for item in items))
        until_applied(replica, master)
        assert replica.call("BF.MEXISTS", "k", *items).plain == [1] * len(items)
        assert info(replica.connection().call, "k")["Number of filters"] > CLIENTS_LAYERS
    finally:
        replica.call("REPLICAOF", "NO", "ONE")
        master.close()


def test_a_replayed_add_beyond_65536_layers_is_refused_and_the_server_starts(new_server):
    server = new_server(config={"appendonly": "yes", "aof-use-rdb-preamble": "no", "appendfsync": "always"})
    server.stop()
    folder = os.path.join(server.directory, "appendonlydir")
    (name,) = [name for name in os.listdir(folder) if name.endswith(".incr.aof")]
    commands = [
        ("SELECT", "0"),
        ("BF.LOADCHUNK", "k", 1, redisblooms(LIMITS["65536 layers"])),
        ("BF.ADD", "k", "x"),
        ("BF.LOADCHUNK", "items", 1, redisblooms(LIMITS["2^63-1 items"])),
        ("BF.ADD", "items", "x"),
    ]
    with open(os.path.join(folder, name), "ab") as out:
        out.write(b"".join(map(encode, commands)))
    server.start()
    call = server.connection().call
    assert info(call, "k")["Number of filters"] == MOST_LAYERS
    assert call("BF.CARD", "k") == integer(MOST_LAYERS)
    assert call("BF.CARD", "items") == integer(MOST)


# ---- Settings ------------------------------------------------------------------------------------

ILLEGAL = {
    "bf.bits-per-key": ["-0", "-0.0", "-0e7", "-.0", "10\0", "10\0x", "0\0", "nan", "inf", "0.999", "257", "", " 10"],
    "bf.error-rate": ["0.5\0", "0.5\0x", "\0", "0", "-0", "1", "nan", "-nan", "inf", "-0.1", "", " 0.5", "1e-400"],
}
PAIRS = [(name, text) for name, texts in ILLEGAL.items() for text in texts]


@pytest.mark.parametrize("name, text", PAIRS, ids=lambda word: repr(word).strip("'"))
def test_an_illegal_setting_is_refused_and_changes_nothing(call, name, text):
    before = settings(call)
    assert call("CONFIG", "SET", name, text).is_error
    assert settings(call) == before


@pytest.mark.parametrize("name, text", PAIRS, ids=lambda word: repr(word).strip("'"))
def test_an_illegal_load_argument_is_refused(new_server, name, text):
    server = new_server(module=None)
    assert server.call("MODULE", "LOAD", MODULE, name.replace("bf.", ""), text).is_error
    names = [dict(zip(row[::2], row[1::2])).get(b"name") for row in server.call("MODULE", "LIST").plain]
    assert b"bf" not in names  # Valkey 9 has a module of its own
    assert server.call("PING") == simple("PONG")


@pytest.mark.parametrize("name, text", [("bf.bits-per-key", "-0"), ("bf.bits-per-key", "-0.0"), ("bf.error-rate", "-0")])
def test_an_illegal_setting_in_the_file_ends_the_start(name, text):
    server = Server(config={name: text})
    try:
        with pytest.raises(ServerDied):
            server.start()
    finally:
        server.close()


# Texts that are numbers and at the edge of being legal: those that are taken must make good filters
EDGES = {
    "bf.bits-per-key": ["0", "-0", "+0", "0.0", "1", "1.0000000000000002", "256", "0x10", "1e1", "25.6e1", "0x0", "-0x0"],
    "bf.error-rate": ["5e-324", "1e-310", "1e-300", "0.9999999999999999", "0x1p-3", "+.5", "1e-17", "0.99"],
    "bf.initial-size": ["1", "10000", "9223372036854775807", "1000000000"],
    "bf.expansion-factor": ["0", "1", "32768"],
}


@pytest.mark.parametrize("name, text", [(name, text) for name in EDGES for text in EDGES[name]])
def test_a_setting_that_is_taken_makes_filters_that_load(other, name, text):
    call = other.connection().call
    if call("CONFIG", "SET", name, text).is_error:
        return
    made = []
    for size in ("1", "100", "10000"):
        if name != "bf.initial-size":
            assert call("CONFIG", "SET", "bf.initial-size", size) == OK
        if call("BF.MADD", "k" + size, *map(str, range(40))).is_error:
            continue
        if info(call, "k" + size)["Size"] < 64 << 20:
            made.append("k" + size)
        else:
            assert call("DEL", "k" + size) == ONE  # gigabytes, which would take too long
    digest = call("DEBUG", "DIGEST")
    assert call("DEBUG", "RELOAD") == OK
    assert call("DEBUG", "DIGEST") == digest
    for key in made:
        before = call("DEBUG", "DIGEST-VALUE", key)
        assert call("RESTORE", key, 0, call("DUMP", key).plain, "REPLACE") == OK
        assert call("DEBUG", "DIGEST-VALUE", key) == before
        assert call("BF.EXISTS", key, "0") == ONE
    assert call("CONFIG", "SET", "appendonly", "yes") == OK
    until(lambda: b"aof_rewrite_in_progress:0" in call("INFO", "persistence").plain, "the AOF")
    assert call("DEBUG", "LOADAOF") == OK
    assert call("DEBUG", "DIGEST") == digest
