"""Two architectures, the same commands: the same replies and, byte for byte, the same RDB file, AOF, DUMP,
BF.SCANDUMP and BF.EXPORT; each server loads the other's files, and both tools write the same files.

The clocks of both servers stand still, and every keyed filter is given its seed.

Environment: that of redis_server.py for the other architecture; BLOOMPORT_NATIVE, the folder of this
machine's own build.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import make_golden
from checks import dump, load
from clock import CALM
from filters import FORGETTING, ITEMS, LAYOUTS, PROBES, QUIET, SHAPES, follow, make, until_in_sync, until_rewritten
from foreign_fixtures import IMPORTABLE
from imports import FORMATS, import_, payload
from redis_server import MODULE, Server
from redisbloom import FIXTURES as REDISBLOOM
from resp import OK
from valkeybloom import SMALL as VALKEYBLOOM

NATIVE = Path(os.environ.get("BLOOMPORT_NATIVE", MODULE + "/..")).resolve()
TOOLS = [str(NATIVE / "bloomport"), os.environ.get("BLOOMPORT_TOOL", str(NATIVE / "bloomport"))]
START_MS = 1_700_000_000_123
# One filter in each database: within one, a server saves keys in the order of a hash that it draws anew.
CONFIG = {"databases": "1000", "aof-use-rdb-preamble": "no", "auto-aof-rewrite-percentage": "0", **QUIET, **CALM}
SEED = "9f1c0c3e5d7a4b2886f0e1d2c3b4a5968778695a4b3c2d1e0f00112233445566"
EXPORTS = [*FORMATS, "valkeybloom", "guava", "spark", "go", "cassandra", "bip37", "rocksdb", "datasketches", "redisson"]
BINARY = [bytes([i % 256, i // 256, 255 - i % 256, 7] * 3) for i in range(500)]  # items of 12 bytes


# ---- Two servers ---------------------------------------------------------------------------------


def new_server(is_native, **config):
    """Not started yet; its clock stands still."""
    options = {"config": dict(CONFIG, **config), "has_clock": True, "tcp": True}
    if is_native:
        options.update(module=str(NATIVE / "bloomport.so"), command=["redis-server"])
    server = Server(**options)
    if is_native:
        server.clock.library = str(NATIVE / "release" / "clock.so")
    server.clock.stop(START_MS)
    return server


# ---- The same commands ---------------------------------------------------------------------------


class Recorder:
    """A connection that keeps every reply; each filter gets a database of its own."""

    def __init__(self, server):
        self.server, self.connection = server, server.connection()
        self.replies, self.keys = [], []

    def call(self, *words):
        reply = self.connection.call(*words)
        self.replies.append((words[:2], reply))
        return reply

    def select(self, key):
        """A database for this filter."""
        self.keys.append(key)
        assert self.connection.call("SELECT", len(self.keys)) == OK

    def go_to(self, key):
        assert self.connection.call("SELECT", 1 + self.keys.index(key)) == OK


def make_all(one):
    for layout in LAYOUTS:
        for shape in SHAPES:
            if layout == "CLASSIC" or shape != "fnv1a":
                one.select(f"{shape}-{layout}")
                make(one.call, "k", shape, layout)
    for shape in FORGETTING:
        one.select(shape)
        make(one.call, "k", shape)
    make_with_options(one)
    make_windows(one)
    make_by_import(one)
    make_united(one)


def make_with_options(one):
    for name, words in {
        "keyed": ("0.001", 50, "SEED", SEED),
        "keyed-window": ("0.01", 20, "SEED", SEED, "WINDOW", 4000, "GENERATIONS", 4),
        "keyed-counting": ("0.01", 400, "SEED", SEED, "LAYOUT", "COUNTING"),
        "small-rate": ("0.0000001", 12, "EXPANSION", 3),
        "odd-rate": ("0.0137", 1009, "EXPANSION", 1),
        "bits": ("BITSPERKEY", "13.7", 77),
    }.items():
        one.select(name)
        assert one.call("BF.RESERVE", "k", *words) == OK
        one.call("BF.MADD", "k", *ITEMS, *BINARY[:100])
    for name, words in {"width": ("WIDTH", 12, b"".join(BINARY)), "lines": ("LINES", "\n".join(ITEMS))}.items():
        for layout in LAYOUTS:
            one.select(f"bulk-{name}-{layout}")
            assert one.call("BF.RESERVE", "k", "0.01", 100, "LAYOUT", layout) == OK
            one.call("BF.BULKADD", "k", *words).plain
            one.call("BF.BULKEXISTS", "k", *words).plain
    for count in (1, 2, 5, 9, 20):  # few items are kept packed
        one.select(f"packed-{count}")
        one.call("BF.MADD", "k", *ITEMS[:count])
    one.select("validated")
    one.call("BF.INSERT", "k", "ERROR", "0.01", "CAPACITY", 10, "TIGHTENING", "0.7", "ITEMS", *ITEMS).plain


def make_windows(one):
    """The golden files' windows and counters, which move the clock."""
    one.select("forgetting")
    for key in make_golden.forgetting(one.server, one.call):
        data = one.call("DUMP", key).plain
        one.call("DEL", key)
        one.select(key)
        assert one.call("RESTORE", "k", 0, data) == OK
        one.go_to("forgetting")
    one.go_to("window-CLASSIC")
    one.call("BF.ROTATE", "k").plain
    one.call("BF.MADD", "k", *BINARY).plain
    one.server.clock.stop(START_MS)


def make_by_import(one):
    for name in FORMATS:
        one.select("import-" + name)
        assert import_(one.call, "k", name, payload(name, [b"a", b"b"])[0]) == OK
        one.call("BF.MADD", "k", *ITEMS[:20])
    for name, fixture in IMPORTABLE.items():
        one.select(name)
        words = ("VARIANT", fixture.variant) if fixture.variant else ()
        assert import_(one.call, "k", fixture.format.name, fixture.data, *words) == OK
        one.call("BF.MADD", "k", *fixture.added[:10], *BINARY[:20])
    for name, fixture in REDISBLOOM.items():
        one.select("redisbloom-" + name)
        load(one.call, "k", fixture.chunks)
        one.call("BF.MADD", "k", *ITEMS)
    for name, fixture in VALKEYBLOOM.items():
        one.select("valkeybloom-" + name)
        assert one.call("RESTORE", "k", 0, fixture.payload) == OK
        one.call("BF.MADD", "k", *ITEMS)


def make_united(one):
    for command in ("BF.MERGE", "BF.INTERSTORE"):
        for layout in LAYOUTS:
            one.select(f"{command}-{layout}")
            for key, items in (("a", ITEMS[:150]), ("b", ITEMS[100:])):
                assert one.call("BF.RESERVE", key, "0.01", 300, "LAYOUT", layout) == OK
                one.call("BF.MADD", key, *items)
            assert one.call(command, "k", "a", "b") == OK
            one.call("DEL", "a", "b")


def read_all(one):
    """[(key, what, bytes)] of every way in which a server gives a filter."""
    for key in one.keys:
        one.go_to(key)
        if key == "forgetting":
            continue
        yield key, "DUMP", one.connection.call("DUMP", "k").plain
        yield key, "answers", one.connection.call("BF.MEXISTS", "k", *PROBES, *BINARY).plain
        yield key, "info", one.connection.call("BF.INFO", "k")
        yield key, "stats", one.connection.call("BF.STATS", "k")
        for iterator, data in dump(one.connection.call, "k"):
            yield key, f"SCANDUMP {iterator}", data
        for name in EXPORTS:
            words = ("VARIANT", "4.x") if name == "cassandra" else ()
            yield key, "EXPORT " + name, one.connection.call("BF.EXPORT", "k", "FORMAT", name, *words)


def assert_equal(here, there):
    """Of two lists; the first difference is named, for the values may be long."""
    here, there = list(here), list(there)
    for one, other in zip(here, there):
        assert one[:-1] == other[:-1]
        is_same = one[-1] == other[-1]
        assert is_same, "not the same: %s, %.300r, %.300r" % (one[:-1], one[-1], other[-1])
    assert len(here) == len(there)


@pytest.fixture(scope="module")
def both():
    """Recorders of this machine's server and of the other one, with all filters and an AOF of all that was done."""
    servers = [new_server(is_native, appendonly="yes") for is_native in (True, False)]
    try:
        recorders = [Recorder(server.start()) for server in servers]
        for one in recorders:
            make_all(one)
        yield recorders
    finally:
        for server in servers:
            server.close()


# ---- What they hold ------------------------------------------------------------------------------


def test_the_servers_are_of_different_architectures(both):
    """Otherwise the other tests would show nothing."""
    if not os.environ.get("BLOOMPORT_EMULATED"):
        pytest.skip("no other architecture: run by make test-arm64 and make test-s390x")
    here, there = (server_machine(one) for one in both)
    assert here != there


def server_machine(one):
    lines = one.connection.call("INFO", "server").plain.decode().splitlines()
    return [line.split()[-1] for line in lines if line.startswith("os:")]


def test_every_reply_is_the_same(both):
    assert_equal(*(one.replies for one in both))
    assert len(both[0].keys) > 100


def test_every_filter_is_given_as_the_same_bytes(both):
    """DUMP, BF.SCANDUMP, BF.EXPORT in every format, and what BF.INFO and BF.STATS say."""
    assert_equal(*map(read_all, both))


# ---- Files ---------------------------------------------------------------------------------------


def aof(one, kind):
    """The bytes of the newest file of this kind, "base" or "incr"."""
    folder = Path(one.server.directory, "appendonlydir")
    return max(folder.glob(f"*.{kind}.*"), key=lambda path: int(path.name.split(".")[2])).read_bytes()


def rdb_parts(data):
    """An RDB file without what differs between two servers of one machine too: the memory that is used, and the
    checksum of it all."""
    assert data.startswith(b"REDIS")
    at, name = data.index(b"used-mem") + 8, b"used-mem"
    size = {0xC0: 2, 0xC1: 3, 0xC2: 5}[data[at]]  # a number of 8, 16 or 32 bits
    assert data.count(name, 0, at + size) == 1
    return data[:at], data[at + size : -8]


def assert_same_bytes(here, there):
    at = len(os.path.commonprefix([here, there]))
    is_same = here == there
    assert is_same, "%d and %d bytes, other ones from byte %d on" % (len(here), len(there), at)


def test_the_aof_is_the_same(both):
    assert_same_bytes(*(aof(one, "incr") for one in both))
    assert len(aof(both[0], "incr")) > 100_000


@pytest.mark.parametrize("compression", ["no", "yes"])
def test_the_rdb_file_is_the_same(both, compression):
    parts = []
    for one in both:
        assert one.connection.call("CONFIG", "SET", "rdbcompression", compression) == OK
        assert one.connection.call("SAVE") == OK
        assert one.connection.call("CONFIG", "SET", "rdbcompression", "no") == OK  # DUMP compresses too
        parts.append(rdb_parts(Path(one.server.directory, "dump.rdb").read_bytes()))
    for here, there in zip(*parts):
        assert_same_bytes(here, there)
    assert len(parts[0][1]) > 100_000


def test_the_rewritten_aof_is_the_same(both):
    for one in both:
        one.connection.call("BGREWRITEAOF").plain
        until_rewritten(one.connection.call)
    assert_same_bytes(*(aof(one, "base") for one in both))


@pytest.mark.parametrize("to", ["here", "there"])
@pytest.mark.parametrize("name", ["dump.rdb", "appendonlydir"])
def test_each_server_loads_the_files_of_the_other(both, name, to):
    source = both[to == "here"]
    if name == "dump.rdb":
        assert source.connection.call("SAVE") == OK
    server = new_server(to == "here", appendonly="yes" if name == "appendonlydir" else "no")
    try:
        path = Path(source.server.directory, name)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, Path(server.directory, name))
        loaded = Recorder(server.start())
        loaded.keys = source.keys
        assert_equal(read_all(source), read_all(loaded))
    finally:
        server.close()


@pytest.mark.parametrize("to", ["here", "there"])
def test_each_server_is_a_replica_of_the_other(both, to):
    master, replica = both[to == "here"], new_server(to == "here")
    try:
        follow(replica.start(), master.server)
        for key in ("five-layers-CLASSIC", "five-layers-BLOCKED", "keyed", "counting", "packed-2", "spark/s42_V1_i64.bin"):
            master.go_to(key)
            master.connection.call("BF.MADD", "k", *BINARY[200:400])
        until_in_sync(replica, master.server)
        copy = Recorder(replica)
        copy.keys = master.keys
        assert_equal(read_all(master), read_all(copy))
    finally:
        replica.close()


# ---- The tool ------------------------------------------------------------------------------------


def built(tool, *words):
    items = b"".join(b"item:%d\n" % i for i in range(20_000))
    done = subprocess.run([tool, "build", "-q", *words], input=items, stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0
    return done.stdout


BUILDS = {
    **{name: ("--format", name, "--capacity", "20000") for name in EXPORTS if name not in ("redisbloom", "valkeybloom", "cassandra", "redisson")},
    **{"cassandra " + variant: ("--format", "cassandra", "--variant", variant, "--capacity", "20000") for variant in ("old", "3.x", "4.x")},
    "spark v2": ("--format", "spark", "--variant", "v2", "--capacity", "20000"),
    "dump": ("--format", "dump"),
    "of a pipe": ("--format", "portable"),
    "growing": ("--format", "dump", "--capacity", "1000", "--expansion", "2"),
    "blocked": ("--format", "dump", "--layout", "blocked", "--error", "0.003"),
    "fnv1a": ("--format", "portable", "--hash", "fnv1a"),
    "bits per key": ("--format", "sstable", "--bits-per-key", "9.7"),
}


@pytest.mark.parametrize("what", BUILDS)
def test_both_tools_build_the_same_file(what):
    assert_same_bytes(*(built(tool, *BUILDS[what]) for tool in TOOLS))
