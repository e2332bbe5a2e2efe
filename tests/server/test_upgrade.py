"""Upgrading from 0.1.0 and 0.2.0, and back where the format allows it.

Files (RDB, AOF, DUMP) of an older version open in this one with the same filters. The other way round AOFs of
commands do, and RDB files and DUMP without small filters, whose short record an older version refuses. A rolling
upgrade as OPERATIONS.md has it, the replica first, FAILOVER, then the old master, loses nothing under writes.
test_old_replica has the replicas."""

import os
import re
import shutil

import pytest

from checks import look_up_all
from filters import QUIET, follow, look, same_filter, server_info, until, until_in_sync, until_rewritten
from old_version import BOTH, KEYS, OLD, REFUSED, delete_short, is_short, program, with_old
from redis_server import MODULE, REPO, ServerDied
from resp import OK, error

DOCUMENT = REPO / "module" / "docs" / "OPERATIONS.md"
SHAPES = {"plain": ("0.01", 100), "small": ("0.3", 2000), "fixed": ("BITSPERKEY", 10, 5000, "NONSCALING"), "blocked": ("0.01", 100, "LAYOUT", "BLOCKED")}
NEWER = {"window": ("0.01", 100, "WINDOW", 1000), "counting": ("0.01", 5000, "LAYOUT", "COUNTING"),
         "keyed": ("0.01", 100, "HASH", "SIP13")}


class Writer:
    """Adds to every filter, and knows what it has added."""

    def __init__(self, shapes):
        self.shapes, self.count = list(shapes), 0

    def write(self, server, n=200):
        for key in self.shapes:
            answers = server.call("BF.MADD", key, *range(self.count, self.count + n)).plain
            assert set(answers) <= {0, 1}
        self.count += n

    def check(self, server):
        for key in self.shapes:
            assert set(look_up_all(server.call, key, range(self.count))) == {1}


def replace_file(server, module):
    """As `make install` and the package do: a new file under the old name, so that the running one stays."""
    shutil.copyfile(module, server.module + ".new")
    shutil.copymode(module, server.module + ".new")
    os.rename(server.module + ".new", server.module)


@pytest.fixture
def start(new_server, tmp_path):
    """start(module) -> a server with a module file of its own, which can be replaced."""
    count = iter(range(9))

    def make(module, **config):
        own = str(tmp_path / ("%d.so" % next(count)))
        shutil.copyfile(module, own)
        shutil.copymode(module, own)
        server = new_server(tcp=True, module=own, config={**QUIET, "save": "3600 1", **config})
        server.module = own
        return server

    return make


# Files


def save(server):
    assert server.call("SAVE") == OK


def append(server):
    """The AOF has everything already."""
    del server


def rewrite(server):
    assert not server.call("BGREWRITEAOF").is_error
    until_rewritten(server.call)


AOF = {"appendonly": "yes", "auto-aof-rewrite-percentage": "0"}
# The last: whether it goes back with small filters. An RDB preamble has their short records.
WAYS = [pytest.param(save, {}, False, id="rdb"), pytest.param(append, AOF, True, id="aof"),
        pytest.param(rewrite, AOF, False, id="rewritten aof"),
        pytest.param(rewrite, {**AOF, "aof-use-rdb-preamble": "no"}, True, id="rewritten aof of commands")]  # fmt: skip


def run_commands(server, seed):
    print("seed", seed)
    for words in program(seed):
        server.call(*words)


def look_at(server, key):
    """What a filter shows but for its size in memory, which is each version's own."""
    seen = look(server.call, key)
    del seen.info["Size"]
    return seen


def look_at_all(server):
    found = {key: look_at(server, key) for key in KEYS if server.call("EXISTS", key).value}
    assert len(found) > 2
    return found


def become(server, module):
    """The same files under another version of the module."""
    server.stop()
    replace_file(server, module)
    server.start()
    modules = [dict(zip(row[::2], row[1::2])) for row in server.call("MODULE", "LIST").plain]
    (version,) = [one[b"ver"] for one in modules if one[b"name"] == b"bf"]
    assert (version == 100) == (module == OLD)


def holds_short(call):
    return [key for key in KEYS if call("EXISTS", key).value and is_short(call("DUMP", key).value)]


@pytest.mark.parametrize("old", BOTH)
@pytest.mark.parametrize("write, config, takes_small", WAYS)
def test_files_go_from_an_older_version_to_this_one_and_back(start, old, write, config, takes_small):
    server = start(old, **config)
    run_commands(server, 6)
    write(server)
    before = look_at_all(server)
    become(server, MODULE)
    assert look_at_all(server) == before

    run_commands(server, 7)
    assert holds_short(server.call)
    if not takes_small:
        delete_short(server.call)
    write(server)
    before = look_at_all(server)
    become(server, old)
    assert look_at_all(server) == before


@pytest.mark.parametrize("module", BOTH)
def test_dumps_restore_in_either_version_but_small_filters_in_the_newer_only(start, module):
    old, new = start(module), start(MODULE)
    for seed, (origin, target) in ((8, (old, new)), (9, (new, old))):
        origin.call("FLUSHALL")
        run_commands(origin, seed)
        refused = 0
        for key, before in look_at_all(origin).items():
            payload = origin.call("DUMP", key).value
            reply = target.call("RESTORE", key, 0, payload, "REPLACE")
            refused += is_short(payload)
            if is_short(payload):
                assert reply == error("ERR Bad data format") and REFUSED in target.log
            else:
                assert reply == OK
                assert look_at(target, key) == before
        assert bool(refused) == (origin is new)


def assert_refuses_and_leaves_whole(start, module, key, words):
    server = start(MODULE)
    assert server.call("BF.RESERVE", key, *words) == OK
    server.call("BF.ADD", key, "item")
    before = look_at(server, key)
    save(server)
    with pytest.raises(ServerDied, match=REFUSED):
        become(server, module)
    server.process = None
    replace_file(server, MODULE)
    server.start()
    assert look_at(server, key) == before


@with_old
@pytest.mark.parametrize("kind", NEWER)
def test_0_1_0_refuses_files_with_newer_filters_and_leaves_them_whole(start, kind):
    assert_refuses_and_leaves_whole(start, OLD, kind, NEWER[kind])


@pytest.mark.parametrize("module", BOTH)
def test_older_versions_refuse_files_with_small_filters_and_leave_them_whole(start, module):
    assert_refuses_and_leaves_whole(start, module, "small", SHAPES["small"])


# A rolling upgrade


@pytest.mark.parametrize("old", [pytest.param(MODULE, id="same"), *BOTH])
def test_a_rolling_upgrade_loses_nothing(start, old):
    master, replica = start(old), start(old)
    shapes = SHAPES if old == OLD else {**SHAPES, **NEWER}
    for key, words in shapes.items():
        assert master.call("BF.RESERVE", key, *words) == OK
    follow(replica, master)
    writer = Writer(shapes)
    writer.write(master)

    replace_file(replica, MODULE)
    assert replica.call("CONFIG", "REWRITE") == OK  # it is a replica after the restart too
    assert replica.call("SAVE") == OK
    writer.write(master)
    replica.restart()
    until_in_sync(replica, master)

    writer.write(master)
    assert master.call("FAILOVER") == OK
    until(lambda: server_info(master.call, "replication")["role"] == "slave", "the roles are exchanged")
    until(lambda: server_info(replica.call, "replication")["role"] == "master", "the replica is master")
    writer.write(replica)

    replace_file(master, MODULE)
    assert master.call("CONFIG", "REWRITE") == OK
    master.restart()
    until_in_sync(master, replica)
    writer.write(replica)
    until_in_sync(master, replica)
    for server in (master, replica):
        writer.check(server)
    assert master.call("DEBUG", "DIGEST") == replica.call("DEBUG", "DIGEST")


@pytest.mark.parametrize("module", BOTH)
def test_an_old_replica_refuses_a_snapshot_with_a_small_filter_and_follows_with_the_new_module(start, module):
    """Why an upgrade begins with the replicas. The server ends, as it does with any file that it cannot read."""
    master, replica = start(MODULE), start(module)
    follow(replica, master)
    assert replica.call("CONFIG", "REWRITE") == OK
    replica.stop()
    os.unlink(os.path.join(replica.directory, "dump.rdb"))  # with it, the stream would be enough
    master.call("BF.ADD", "small", "item")
    replica.launch()
    until(lambda: REFUSED in replica.log, "the snapshot is refused")
    replica.kill9()
    replace_file(replica, MODULE)
    replica.start()
    until_in_sync(replica, master)
    same_filter(look(master.call, "small"), look(replica.call, "small"))


def test_the_document_has_these_steps():
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## Upgrading\n")[1].split("\n## ")[0]
    steps = re.findall(r"^\d\. (.*)$", section, re.M)
    words = ["CONFIG REWRITE", "master_link_status:up", "FAILOVER", "old master"]
    assert [any(word in step for step in steps) for word in words] == [True] * 4
