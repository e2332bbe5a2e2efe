"""A replica whose keys are not quite its master's, and one that loads while it serves: nobody's add
makes a filter of another type than the client would have made, and nothing ends in an error to the
master. A RedisBloom master's words still create RedisBloom's filters."""

import pytest

from filters import QUIET, follow, server_info, until, until_in_sync
from redisbloom import DUMP_FILE, Master
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
