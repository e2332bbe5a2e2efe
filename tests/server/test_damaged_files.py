"""Damaged snapshots and AOFs at start, and a transfer to a replica that breaks off: the server
refuses with a log line, as it does for its own types, or goes on; it never dies by a signal.

Offsets are a sample, the same in every run; BLOOMPORT_OFFSETS=all takes every one (minutes). Only
bytes of the filters are flipped, as the rest of the file is the server's own.
"""

import glob
import os
import re
import shutil
import socket
import subprocess
import threading

import pytest

from filters import QUIET, Filters, follow, look, same_filter, server_info, until, until_in_sync
from redis_server import Server
from resp import OK

REFUSALS = re.compile(
    r"bloomport: cannot load|Short read or OOM|Unexpected EOF|Wrong RDB checksum|Internal error in RDB"
    r"|Bad file format|Unexpected end of file|Fatal error|Unknown command",
    re.I,
)
RESERVES = {"a": ("0.01", "20"), "b": ("0.01", "5", "LAYOUT", "BLOCKED"), "c": ("BITSPERKEY", "9.6", "40", "HASH", "FNV1A")}
TAIL = 9  # the end mark and the checksum


def sample(first, end, count):
    if os.environ.get("BLOOMPORT_OFFSETS") == "all":
        return list(range(first, end))
    return sorted({first + (end - 1 - first) * i // (count - 1) for i in range(count)})


@pytest.fixture
def place(new_server):
    """place(config) -> a running server with three filters, and one that is started again and again
    on files put into its directory."""
    fresh = []

    def make(config):
        server = new_server(config=config)
        call = server.connection().call
        for key, words in RESERVES.items():
            assert call("BF.RESERVE", key, *words) == OK
            call("BF.MADD", key, *range(30)).plain
        fresh.append(Server(config=config))
        return server, fresh[-1]

    yield make
    for server in fresh:
        server.close()


def ends(server):
    """Wait until the launched server answers (False) or refuses its files (True) with a log line.

    Having refused, every server so far runs its own check of the snapshot, and that never ends
    where a module's value breaks off between two strings: then it is killed, after a second."""
    until(lambda: server.process.poll() is not None or REFUSALS.search(server.log) or server.answers(), "begun")
    if server.process.poll() is None and not REFUSALS.search(server.log):
        return False
    try:
        code = server.process.wait(1)
        assert code in (0, 1), server.log_tail()  # 0: its own check saw nothing wrong; < 0: a signal
    except subprocess.TimeoutExpired:
        pass
    assert REFUSALS.search(server.log), server.log_tail()
    server.kill9()
    return True


def starts(server):
    """True if the server started and every filter can be read, added to and saved; False if it refused."""
    for name in ("server.log", "stderr.log"):
        path = os.path.join(server.directory, name)
        if os.path.exists(path):
            os.unlink(path)
    server.launch()
    if ends(server):
        return False
    call = server.connection().call
    for key in call("KEYS", "*").plain:
        look(call, key)
        call("BF.ADD", key, "one more")
        call("DUMP", key).plain
    server.stop()
    return True


def flip(data, at):
    return data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def snapshot(server):
    assert server.call("SAVE") == OK
    with open(server.directory + "/dump.rdb", "rb") as file:
        data = file.read()
    # A key's record: its type (7, a module's), the length of its name, the name.
    first = min(data.index(b"\x07\x01" + key.encode()) for key in RESERVES)
    return data, first


def test_truncated_snapshot_is_refused(place):
    server, other = place({"rdbchecksum": "no"})
    data, _ = snapshot(server)
    for size in sample(1, len(data) - TAIL, 25):
        write(other.directory + "/dump.rdb", data[:size])
        assert not starts(other), "%d of %d bytes" % (size, len(data))


def test_snapshot_with_a_flipped_bit_and_a_checksum_is_refused(place):
    server, other = place({})
    data, first = snapshot(server)
    for at in sample(first, len(data) - TAIL, 12):
        write(other.directory + "/dump.rdb", flip(data, at))
        assert not starts(other), "bit flipped at %d of %d" % (at, len(data))


def test_snapshot_with_a_flipped_bit_and_no_checksum_is_refused_or_gives_sound_filters(place):
    server, other = place({"rdbchecksum": "no"})
    data, first = snapshot(server)
    refused = 0
    offsets = sample(first, len(data) - TAIL, 40)
    for at in offsets:
        write(other.directory + "/dump.rdb", flip(data, at))
        refused += not starts(other)
    # A flip in a key's name is a key of another name; anywhere else in a record it is seen.
    assert refused >= len(offsets) * 0.9


@pytest.fixture
def aof(place):
    """aof(preamble) -> (server to start, path of its base file, of its increments, their bytes)."""

    def make(preamble):
        config = {"appendonly": "yes", "appendfsync": "always", "auto-aof-rewrite-percentage": "0"}
        config["aof-use-rdb-preamble"] = preamble
        server, other = place(config)
        call = server.connection().call
        assert not call("BGREWRITEAOF").is_error
        until(lambda: server_info(call, "persistence")["aof_rewrite_in_progress"] == "0", "rewritten")
        call("BF.MADD", "a", *range(100, 160)).plain
        call("BF.INSERT", "d", "CAPACITY", "7", "ITEMS", *range(30)).plain
        server.kill9()
        folder = other.directory + "/appendonlydir"
        shutil.copytree(server.directory + "/appendonlydir", folder)
        server.start()
        (base,), (increment,) = glob.glob(folder + "/*.base.*"), glob.glob(folder + "/*.incr.aof")
        contents = []
        for path in (base, increment):
            with open(path, "rb") as file:
                contents.append(file.read())
        return other, base, increment, *contents

    return make


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_damaged_aof_is_refused_or_gives_sound_filters(aof, preamble):
    server, base, increment, base_data, data = aof(preamble)
    assert starts(server)
    write(increment, data)  # the start above added to it
    refused = [0, 0]
    first = base_data.index(b"\x07\x01") if preamble == "yes" else 0
    end = len(base_data) - (TAIL if preamble == "yes" else 0)
    for at in sample(first, end, 15):
        write(base, flip(base_data, at))
        refused[0] += not starts(server)
        write(increment, data)
        write(base, base_data[:at])
        refused[1] += not starts(server)
        write(increment, data)
    # A cut between two commands is no damage that can be seen; a flip in an RDB is always seen.
    tries = len(sample(first, end, 15))
    assert refused[1] >= tries - 2 and (preamble == "no" or refused[0] == tries)


def test_truncated_increment_gives_the_commands_before_the_cut(aof):
    server, _, increment, _, data = aof("yes")
    for size in sample(0, len(data), 15):
        write(increment, data[:size])
        assert starts(server), "%d of %d bytes" % (size, len(data))


def test_increment_with_a_flipped_bit_is_refused_or_gives_sound_filters(aof):
    server, _, increment, _, data = aof("yes")
    for at in sample(0, len(data), 20):
        write(increment, flip(data, at))
        starts(server)


# ---- A transfer that breaks off ----------------------------------------------------------------


class Wire(threading.Thread):
    """Stands between replica and master; hangs up after `limit` bytes from the master (None: never)."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.to, self.limit, self.cuts = port, None, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                replica, _ = self.listener.accept()
            except OSError:
                return  # closed
            master = socket.create_connection(("127.0.0.1", self.to))
            threading.Thread(target=self.forward, args=(replica, master, None), daemon=True).start()
            threading.Thread(target=self.forward, args=(master, replica, self.limit), daemon=True).start()

    def forward(self, source, sink, limit):
        passed = 0
        try:
            while limit is None or passed < limit:
                data = source.recv(1 << 16 if limit is None else min(1 << 16, limit - passed))
                if not data:
                    break
                sink.sendall(data)
                passed += len(data)
        except OSError:
            pass
        self.cuts += limit is not None and passed == limit
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@pytest.mark.parametrize("load_way", ["swapdb", "disabled"])
def test_replica_whose_transfer_breaks_off_lives_on_and_syncs_later(new_server, load_way):
    config = dict(QUIET, **{"repl-diskless-load": load_way})
    master, replica = new_server(tcp=True, config=config), new_server(tcp=True, config=config)
    call = master.connection().call
    filters = Filters(call)
    follow(replica, master)
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    memory = int(server_info(replica.call, "memory")["used_memory"])
    call("BF.MADD", "later", *range(1000))
    call("CONFIG", "SET", "repl-backlog-size", 16384)
    call("BF.MADD", "later", *range(1000, 9000))  # more than the backlog has: a full transfer
    until(lambda: call("SAVE") == OK, "saved")  # the child of the transfer may be there still
    size = os.path.getsize(master.directory + "/dump.rdb")
    wire = Wire(master.port)
    for part in (0.02, 0.3, 0.6, 0.9, 0.99):
        wire.limit, cuts = int(size * part) + 300, wire.cuts
        assert replica.call("REPLICAOF", "127.0.0.1", wire.port) == OK
        until(lambda: wire.cuts > cuts, "the wire was cut")
        until(lambda: server_info(replica.call, "replication")["master_sync_in_progress"] == "0", "given up")
        assert replica.call("REPLICAOF", "NO", "ONE") == OK
        replica.check_alive()
    wire.limit = None
    assert replica.call("REPLICAOF", "127.0.0.1", wire.port) == OK
    until_in_sync(replica, master)
    assert replica.call("DEBUG", "DIGEST") == call("DEBUG", "DIGEST")
    same_filter(look(call, "later"), look(replica.connection().call, "later"))
    filters.assert_same(replica.connection().call)
    assert int(server_info(replica.call, "memory")["used_memory"]) < memory + 2_000_000
    replica.call("REPLICAOF", "NO", "ONE")
    wire.listener.close()
