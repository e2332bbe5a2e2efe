"""Whose stream it is that is replayed (module/replay.h): what clients of this server do says nothing
about it."""

from checks import dump
from filters import QUIET, until
from redisbloom import DUMP_FILE, Master
from resp import OK, ONE
from test_redisbloom_master import until_applied


def test_a_clients_restore_does_not_make_a_redisbloom_masters_stream_ours(new_server):
    """A writable replica: the master's next BF.ADD of a new key creates it all the same."""
    replica = new_server(config={"replica-read-only": "no", **QUIET}, tcp=True)
    call = replica.connection().call
    assert call("BF.ADD", "native", "x") == ONE
    payload = call("DUMP", "native").plain
    master = Master(DUMP_FILE.read_bytes())
    try:
        assert call("REPLICAOF", "127.0.0.1", master.port) == OK
        assert master.is_synced.wait(60)
        until_applied(replica, master)
        master.send(("BF.ADD", "before", "item"))
        until_applied(replica, master)
        assert call("BF.EXISTS", "before", "item") == ONE
        assert call("RESTORE", "native", "0", payload) == OK
        master.send(("BF.ADD", "after", "item"), ("BF.MADD", "many", "a", "b"))
        until_applied(replica, master)
        assert call("BF.EXISTS", "after", "item") == ONE, "an acknowledged item is lost"
        assert call("BF.MEXISTS", "many", "a", "b").plain == [1, 1]
    finally:
        master.close()


def test_what_a_redisbloom_master_created_is_in_the_aof_beside_a_clients_own_filter(new_server):
    """A writable replica's AOF: our words stand in it, and then RedisBloom's creations."""
    replica = new_server(config={"replica-read-only": "no", "appendonly": "yes", **QUIET}, tcp=True)
    call = replica.connection().call
    master = Master(DUMP_FILE.read_bytes())
    try:
        assert call("REPLICAOF", "127.0.0.1", master.port) == OK
        assert master.is_synced.wait(60)
        until_applied(replica, master)
        assert call("BF.ADD", "native", "x") == ONE
        master.send(("BF.ADD", "added", "item"), ("BF.INSERT", "inserted", "NONSCALING", "ITEMS", "a", "b"))
        until_applied(replica, master)
        assert call("REPLICAOF", "NO", "ONE") == OK
    finally:
        master.close()
    until(lambda: b"aof_rewrite_in_progress:0" in call("INFO", "persistence").plain, "the new AOF is written")
    before = {key: dump(call, key) for key in ("native", "added", "inserted")}
    replica.restart()
    call = replica.connection().call
    assert call("BF.EXISTS", "native", "x") == ONE
    assert call("BF.EXISTS", "added", "item") == ONE, "an acknowledged item is lost"
    assert call("BF.MEXISTS", "inserted", "a", "b").plain == [1, 1]
    assert {key: dump(call, key) for key in before} == before
