"""A full disk while the server saves or appends: the last good file stays, no acknowledged item is lost,
no memory leaks, and when there is room again saving works.

RLIMIT_FSIZE on the running server stands for the full disk: the first byte beyond it is a failed
write, like ENOSPC, for the process and the children it forks. It needs no mount.
"""

import glob
import os
import signal

import pytest

from filters import Filters, Writer, batches, load_random, look, missing_items, same_filter, server_info, until
from resp import OK

AOF = {"appendonly": "yes", "auto-aof-rewrite-percentage": "0"}
KEYS = ["a", "b", "c"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def persistence(call, field):
    return server_info(call, "persistence")[field]


def bgsave(call):
    assert not call("BGSAVE").is_error
    until(lambda: persistence(call, "rdb_bgsave_in_progress") == "0", "the child ended")
    return persistence(call, "rdb_last_bgsave_status") == "ok"


def save(call):
    return not call("SAVE").is_error


def rewrite(call):
    assert not call("BGREWRITEAOF").is_error
    until(lambda: persistence(call, "aof_rewrite_scheduled") == "0", "begun")
    until(lambda: persistence(call, "aof_rewrite_in_progress") == "0", "the child ended")
    return persistence(call, "aof_last_bgrewrite_status") == "ok"


def used_memory(call):
    return int(server_info(call, "memory")["used_memory"])


def restarted(server):
    server.kill9()
    server.start()
    return server.connection().call


def leftovers(server):
    return glob.glob(server.directory + "/temp-*")


def limits_within(size, steps=8):
    """From the first byte to the last but one."""
    return sorted({size * i // steps for i in range(steps)} | {9, size - 9, size - 1})


@pytest.mark.parametrize("way", [save, bgsave], ids=["save", "bgsave"])
def test_full_disk_fails_the_save_and_leaves_the_last_snapshot(new_server, way):
    server = new_server()
    call = server.connection().call
    filters = Filters(call)
    assert way(call)
    path = server.directory + "/dump.rdb"
    good = read(path)
    call("BF.MADD", "later", *range(1000))
    assert way(call)
    size, later = os.path.getsize(path), look(call, "later")
    with open(path, "wb") as file:  # as if `later` had never been saved
        file.write(good)
    memory = used_memory(call)
    for limit in limits_within(size):
        server.limit_files(limit)
        assert not way(call), "limit %d of %d" % (limit, size)
        assert read(path) == good
    assert leftovers(server) == []
    assert used_memory(call) < memory + 32 * 1024
    filters.assert_same(call)
    server.limit_files(None)
    assert way(call)
    call = restarted(server)
    filters.assert_arrived(call)
    same_filter(later, look(call, "later"))


def test_snapshot_that_a_full_disk_spoilt_can_be_loaded_as_it_was_before(new_server):
    server = new_server()
    call = server.connection().call
    filters = Filters(call)
    assert call("SAVE") == OK
    call("BF.MADD", "five-layers:CLASSIC", *("later%d" % i for i in range(1000)))
    load_random(call, "large", 4_000_000)
    server.limit_files(2_000_000)
    assert not bgsave(call)
    assert not save(call)
    call = restarted(server)
    filters.assert_arrived(call)
    assert call("EXISTS", "large").plain == 0


def test_adds_are_refused_after_a_failed_bgsave_by_the_servers_own_rule_and_go_on_after_a_good_one(new_server):
    server = new_server(config={"save": ("3600", "1000000")})
    call = server.connection().call
    load_random(call, "large", 1_000_000)
    before = look(call, "large")
    server.limit_files(100_000)
    assert not bgsave(call)
    assert call("BF.ADD", "k", "a").value.startswith("MISCONF")
    same_filter(before, look(call, "large"))
    server.limit_files(None)
    assert bgsave(call)
    assert call("BF.ADD", "k", "a").plain == 1


def test_child_killed_in_the_middle_of_bgsave_leaves_the_last_snapshot_and_the_server(new_server):
    server = new_server()
    call = server.connection().call
    filters = Filters(call)
    assert call("SAVE") == OK
    good = read(server.directory + "/dump.rdb")
    call("BF.MADD", "later", *range(1000))
    call("CONFIG", "SET", "rdb-key-save-delay", 20000)
    assert not call("BGSAVE").is_error
    (child,) = read("/proc/%d/task/%d/children" % (server.pid, server.pid)).split()
    os.kill(int(child), signal.SIGKILL)
    until(lambda: persistence(call, "rdb_bgsave_in_progress") == "0", "the child ended")
    assert persistence(call, "rdb_last_bgsave_status") == "err"
    assert read(server.directory + "/dump.rdb") == good
    call("CONFIG", "SET", "rdb-key-save-delay", 0)
    assert bgsave(call)
    call = restarted(server)
    filters.assert_arrived(call)
    assert call("BF.MEXISTS", "later", *range(1000)).plain == [1] * 1000


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_full_disk_fails_the_aof_rewrite_and_loses_nothing(new_server, preamble):
    server = new_server(config=dict(AOF, appendfsync="always", **{"aof-use-rdb-preamble": preamble}))
    call = server.connection().call
    filters = Filters(call)
    assert rewrite(call)
    (base,) = glob.glob(server.directory + "/appendonlydir/*.base.*")
    size = os.path.getsize(base)
    writer = Writer(server.socket, batches(KEYS, seed=1))
    for limit in (size // 7, size // 2, size - 1):
        server.limit_files(limit)
        assert not rewrite(call), "limit %d of %d" % (limit, size)
        writer.until_acknowledged(len(writer.acknowledged) + 20)
    assert leftovers(server) == []
    writer.finish()
    server.limit_files(None)
    call = restarted(server)
    filters.assert_same(call)
    assert missing_items(call, writer.acknowledged) == []
    assert rewrite(call)
    call = restarted(server)
    filters.assert_arrived(call)
    assert missing_items(call, writer.acknowledged) == []


@pytest.mark.skipif("BLOOMPORT_COVERAGE" in os.environ, reason="lines are counted in files, which the limit cuts off too")
def test_full_disk_under_aof_appends_ends_the_server_and_loses_nothing_acknowledged(new_server):
    """With appendfsync always the server ends, by its own rule, before it answers."""
    server = new_server(config=dict(AOF, appendfsync="always"))
    for limit in (2_000, 50_000, 200_123):
        writer = Writer(server.socket, batches(KEYS, seed=limit))
        server.limit_files(limit)
        writer.join(60)
        assert server.process.wait(60) == 1, server.log_tail()
        assert "Exiting" in server.log_tail(5)
        server.process = None
        server._drop_connections()
        server.start()
        assert missing_items(server.connection().call, writer.acknowledged) == []


def test_full_disk_under_aof_appends_every_second_refuses_adds_until_there_is_room(new_server):
    server = new_server(config=dict(AOF, appendfsync="everysec"))
    call = server.connection().call
    server.limit_files(30_000)
    added = []
    for words in batches(KEYS, seed=2):
        reply = call(*words)
        if reply.is_error:
            break
        added.append(words)
    assert reply.value.startswith("MISCONF"), reply
    assert missing_items(call, added) == []
    looks = [look(call, key) for key in KEYS]
    server.limit_files(None)
    until(lambda: persistence(call, "aof_last_write_status") == "ok", "there is room again")
    until(lambda: persistence(call, "aof_buffer_length") == "0", "written")
    call = restarted(server)
    assert missing_items(call, added) == []
    for key, before in zip(KEYS, looks):
        same_filter(before, look(call, key), key)
    assert call("BF.ADD", "a", "one more").plain == 1
