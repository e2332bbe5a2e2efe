"""A replica whose keys are not quite its master's, and one that loads while it serves: nobody's add
makes a filter of another type than the client would have made, and nothing ends in an error to the
master. A RedisBloom master's words still create RedisBloom's filters."""

from pathlib import Path

import pytest

from filters import QUIET, follow, server_info, until, until_in_sync
from redisbloom import DUMP_FILE, FIXTURES, Master
from resp import OK, ONE, simple
from test_redisbloom_master import errors_to_master, until_applied

WRITABLE = {**QUIET, "replica-read-only": "no"}


@pytest.mark.parametrize("words", [("BF.ADD", "b"), ("BF.MADD", "b", "c"), ("BF.INSERT", "ITEMS", "b")], ids=lambda w: w[0])
def test_an_add_of_our_master_to_a_key_the_replica_lacks_makes_no_filter_of_another_type(new_server, words):
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=WRITABLE)
    follow(replica, master)
    assert master.call("BF.ADD", "k", "a") == ONE
    until_in_sync(replica, master)
    assert replica.call("DEL", "k") == ONE
    master.call(words[0], "k", *words[1:]).plain
    assert master.call("BF.ADD", "other", "x") == ONE
    until_in_sync(replica, master)
    assert replica.call("TYPE", "k") == simple("none")  # a new one would answer no to what the master has
    assert replica.call("TYPE", "other") == simple("bloomport")
    assert errors_to_master(replica) == []


def test_the_same_after_a_full_sync_that_brought_our_type(new_server):
    """The stream alone has not said whose it is: the snapshot has."""
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=WRITABLE)
    assert master.call("BF.ADD", "k", "a") == ONE
    follow(replica, master)
    assert replica.call("DEL", "k") == ONE
    assert master.call("BF.ADD", "k", "b") == ONE
    until_in_sync(replica, master)
    assert replica.call("TYPE", "k") == simple("none")
    assert errors_to_master(replica) == []


def test_a_replica_that_evicts_by_itself_recreates_nothing_as_another_type(new_server):
    master = new_server(tcp=True, config=QUIET)
    config = {**QUIET, "replica-ignore-maxmemory": "no", "maxmemory-policy": "allkeys-random"}
    replica = new_server(tcp=True, config=config)
    follow(replica, master)
    call = master.connection().call
    keys = ["k%d" % i for i in range(200)]
    for key in keys:
        assert call("BF.INSERT", key, "CAPACITY", "10000", "ITEMS", "a").plain == [1]
    until_in_sync(replica, master)
    used = int(server_info(replica.call, "memory")["used_memory"])
    assert replica.call("CONFIG", "SET", "maxmemory", used - 1_000_000) == OK
    until(lambda: replica.call("DBSIZE").plain < len(keys), "the replica evicts")
    for key in keys:
        assert call("BF.ADD", key, "b") == ONE
    until_in_sync(replica, master)
    kinds = {replica.call("TYPE", key).value for key in keys}
    assert kinds <= {"none", "bloomport"}, kinds
    assert errors_to_master(replica) == []


def test_an_add_of_a_redisbloom_master_to_a_missing_key_creates_its_type(new_server):
    master = Master(DUMP_FILE.read_bytes())
    replica = new_server(tcp=True, config={**QUIET, "rdbcompression": "yes"})
    try:
        assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
        assert master.is_synced.wait(60)
        until_applied(replica, master)
        master.send(("BF.ADD", "k", "a"), ("BF.MADD", "l", "a"))
        until_applied(replica, master)
        assert [replica.call("TYPE", key).value for key in "kl"] == ["MBbloom--"] * 2
        assert replica.call("BF.EXISTS", "k", "a") == ONE
    finally:
        replica.call("REPLICAOF", "NO", "ONE")
        master.close()


def is_loading_beside(call):
    return server_info(call, "persistence").get("async_loading") == "1"


FILL = "for _ = 1, 100 do redis.call('SET', 'filler', string.rep('x', 10000)) end"


def cut_off(master):
    """A replica that is in step is cut off and misses more than the backlog has, so that it has to have
    the same master's data once more: only then does it load beside what it serves."""
    if "state=online" in master.call("INFO", "replication").plain.decode():
        master.connection().pipeline([("CLIENT", "KILL", "TYPE", "replica"), ("EVAL", FILL, "0")])


def test_a_client_of_a_writable_replica_creates_our_type_while_it_loads(new_server):
    """repl-diskless-load swapdb: the old keys are served while the new ones are loaded beside them."""
    master = new_server(tcp=True, config={**QUIET, "repl-diskless-sync": "yes", "repl-backlog-size": "16kb"})
    config = {**WRITABLE, "repl-diskless-load": "swapdb", "loading-process-events-interval-bytes": "1024"}
    replica = new_server(tcp=True, config=config)
    call = master.connection().call
    for i in range(300):
        assert call("BF.INSERT", "k%d" % i, "ITEMS", "a").plain == [1]
    follow(replica, master)
    assert call("CONFIG", "SET", "rdb-key-save-delay", "100000") == OK  # 30 s for all keys: the client comes first
    connection = replica.connection()
    until(lambda: is_loading_beside(connection.call) or cut_off(master), "it loads beside", 20)
    # In one piece: a server that loads turns to its clients only now and then, after seconds even.
    words = [("BF.ADD", "mine", "x"), ("BF.INSERT", "mine2", "BITSPERKEY", "10", "ITEMS", "x"), ("TYPE", "mine"),
             ("TYPE", "mine2"), ("BF.EXISTS", "mine", "x"), ("INFO", "persistence")]  # fmt: skip
    *answers, state = connection.pipeline(words)
    assert not call("CLIENT", "KILL", "TYPE", "replica").is_error  # which ends the load, and the master's child
    assert b"async_loading:1" in state.plain, "it was over before the client came"
    assert [answer.plain for answer in answers] == [1, [1], "bloomport", "bloomport", 1]

# ---- Filters that no command of BF.* made: only the master knows that they are there ---------------


def foreign_payload():
    return FIXTURES["auto"].payload


# What a client of a master of ours does to have a filter at `k`, where a filter of ours is at `own` or none.
WITHOUT_CREATION = {
    "RESTORE of ours": lambda call, payload: [("RESTORE", "k", 0, payload)],
    "RESTORE of RedisBloom's": lambda call, payload: [("RESTORE", "k", 0, foreign_payload())],
    "COPY": lambda call, payload: [("RESTORE", "first", 0, foreign_payload()), ("COPY", "first", "k")],
    "RENAME": lambda call, payload: [("RESTORE", "first", 0, foreign_payload()), ("RENAME", "first", "k")],
    "MOVE": lambda call, payload: [
        ("SELECT", 1), ("RESTORE", "k", 0, foreign_payload()), ("MOVE", "k", 0), ("SELECT", 0)],
    "SWAPDB": lambda call, payload: [
        ("SELECT", 1), ("RESTORE", "k", 0, foreign_payload()), ("SWAPDB", 0, 1), ("SELECT", 0)],
    "BF.LOADCHUNK": lambda call, payload: [("BF.LOADCHUNK", "k", it, data) for it, data in FIXTURES["auto"].chunks],
}  # fmt: skip

LOSSES = {"DEL": ("DEL", "k"), "FLUSHALL": ("FLUSHALL",), "RENAME": ("RENAME", "k", "elsewhere")}


def own_payload(new_server):
    source = new_server(config=QUIET)
    assert source.call("BF.ADD", "k", "a") == ONE
    return source.call("DUMP", "k").value


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("way", WITHOUT_CREATION)
def test_a_replica_that_lost_a_filter_no_command_of_ours_made_makes_none_of_the_next_add(new_server, way, loss):
    payload = own_payload(new_server)
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=WRITABLE)
    follow(replica, master)
    connection = master.connection()
    for words in WITHOUT_CREATION[way](connection.call, payload):
        assert not connection.call(*words).is_error
    until_in_sync(replica, master)
    assert replica.call("EXISTS", "k") == ONE
    assert not replica.call(*LOSSES[loss]).is_error
    assert connection.call("BF.ADD", "k", "new on the master") == ONE
    until_in_sync(replica, master)
    assert replica.call("TYPE", "k") == simple("none")
    assert errors_to_master(replica) == []


def test_a_replica_of_a_replica_learns_it_too(new_server):
    """It comes to a stream that has begun, with a snapshot that only has RedisBloom's type."""
    first, second, third = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=QUIET), new_server(tcp=True, config=WRITABLE)
    follow(second, first)
    assert first.call("RESTORE", "k", 0, foreign_payload()) == OK
    assert first.call("BF.ADD", "k", "the first add that this stream has") == ONE
    until_in_sync(second, first)
    follow(third, second)
    assert first.call("RESTORE", "other", 0, foreign_payload()) == OK
    connection = first.connection()

    def has_learned():
        """An add to a filter that it lost makes none."""
        has_learned.n += 1
        assert connection.call("BF.ADD", "k", "%d" % has_learned.n).plain in (0, 1)
        until_in_sync(second, first)
        until_in_sync(third, second)
        third.call("DEL", "k")
        connection.call("BF.ADD", "k", "again %d" % has_learned.n)
        until_in_sync(second, first)
        until_in_sync(third, second)
        return third.call("TYPE", "k") == simple("none")

    has_learned.n = 0
    until(has_learned, "the replica's replica knows whose stream it has", 20)
    assert errors_to_master(third) == []


def test_a_replica_that_was_restarted_and_goes_on_where_it_was_learns_it_again(new_server):
    """A partial resynchronisation brings no snapshot; its own file has RedisBloom's type only."""
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=WRITABLE)
    follow(replica, master)
    assert master.call("RESTORE", "k", 0, foreign_payload()) == OK
    until_in_sync(replica, master)
    replica.stop()
    replica.start()
    follow(replica, master)
    assert replica.call("DEL", "k") == ONE
    assert master.call("BF.ADD", "k", "x") == ONE
    until_in_sync(replica, master)
    assert replica.call("TYPE", "k") == simple("none")


def test_a_replica_of_a_server_with_append_only_file_adds_no_words_to_it(new_server):
    """What says whose stream it is, is for replicas: a file loses no filter."""
    config = {**QUIET, "appendonly": "yes", "appendfsync": "always", "aof-use-rdb-preamble": "no"}
    master, replica = new_server(tcp=True, config=config), new_server(tcp=True, config=QUIET)
    follow(replica, master)
    assert master.call("RESTORE", "k", 0, foreign_payload()) == OK
    assert master.call("BF.ADD", "k", "x") == ONE
    until_in_sync(replica, master)
    assert b"BF.CARD" not in b"".join(path.read_bytes() for path in Path(master.directory).rglob("*.aof"))
