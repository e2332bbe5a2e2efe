"""A bloomport server that replicates a RedisBloom master, or starts from an AOF that RedisBloom wrote.
RedisBloom propagates every command as the client sent it, also those that changed nothing, and accepts
words that bloomport refuses from clients. Replaying such a stream must give the same bytes as on the
master. Master (redisbloom.py) plays the master; the model predicts its bytes.
"""

from pathlib import Path

import pytest

from checks import add_all, look_up_all, assert_refused
from filters import QUIET, follow, until, until_in_sync
from formats_model import RedisBloom
from redisbloom import DUMP_FILE, FIXTURES, Master
from resp import OK, ONE, encode, integer, simple
from test_foreign import assert_foreign, assert_is_model

CONFIG = {"rdbcompression": "yes", "appendonly": "no", **QUIET}


def until_applied(replica, master):
    """Waits until the replica has applied all that the master sent."""

    def is_applied():
        text = replica.call("INFO", "replication").plain.decode()
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return fields.get("master_link_status") == "up" and int(fields["slave_repl_offset"]) == master.offset

    until(is_applied, "the replica has applied the whole stream")


@pytest.fixture
def master():
    master = Master(DUMP_FILE.read_bytes())
    yield master
    master.close()


@pytest.fixture
def replica(new_server, master):
    replica = new_server(config=CONFIG, tcp=True)
    assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
    assert master.is_synced.wait(60)
    until_applied(replica, master)
    return replica


def errors_to_master(server):
    return [line for line in server.log.splitlines() if "is sending an error to its master" in line]


def test_full_sync_then_the_stream_then_promotion(master, replica):
    """A complete live migration."""
    call = replica.connection().call
    for key, fixture in FIXTURES.items():
        assert_foreign(call, key, fixture)

    models = {key: RedisBloom.loaded(fixture.data) for key, fixture in FIXTURES.items()}
    for key, model in models.items():
        items = [b"stream:%s:%d" % (key.encode(), i) for i in range(min(model.capacity, 1500))]
        room = len(items) if model.is_scaling else 60
        known = items[:3]  # no-op adds are in the stream too
        master.send(("BF.MADD", key, *items[: room // 2], *known))
        master.send(*(("BF.ADD", key, item) for item in items[room // 2 : room]))
        master.send(("bf.insert", key, "nocreate", "ITEMS", *known))
        for item in items[:room]:
            model.add(item)
    until_applied(replica, master)
    assert errors_to_master(replica) == []
    for key, model in models.items():
        assert_is_model(call, key, model)
    assert len(models["auto"].layers) == 2  # it grew on the way

    assert call("REPLICAOF", "NO", "ONE") == OK
    assert call("BF.ADD", "grown", "by a client of the new master") == ONE
    models["grown"].add(b"by a client of the new master")
    assert call("BF.ADD", "created", "x") == ONE
    assert call("TYPE", "created") == simple("bloomport")
    assert call("DEBUG", "RELOAD") == OK
    for key, model in models.items():
        assert_is_model(call, key, model)


# What a client of the master sent for a key that did not exist, and the filter it made there.
CREATIONS = [
    (("BF.ADD", "k", "a"), lambda: RedisBloom(0.01, 100)),
    (("BF.MADD", "k", "a"), lambda: RedisBloom(0.01, 100)),
    (("BF.INSERT", "k", "ITEMS", "a"), lambda: RedisBloom(0.01, 100)),
    (("BF.RESERVE", "k", "0.001", "10"), lambda: RedisBloom(0.001, 10)),
    (("bf.reserve", "k", "1e-3", "10", "expansion", "4"), lambda: RedisBloom(0.001, 10, 4)),
    (("BF.RESERVE", "k", "0.001", "10", "NONSCALING"), lambda: RedisBloom(0.001, 10, 2, False)),
    (("BF.RESERVE", "k", "0.001", "10", "EXPANSION", "0"), lambda: RedisBloom(0.001, 10, 2, False)),
    # Unknown words are skipped, a bare integer too, and EXPANSION is found anywhere
    (("BF.RESERVE", "k", "0.001", "10", "FOO"), lambda: RedisBloom(0.001, 10)),
    (("BF.RESERVE", "k", "0.001", "10", "EXP", "4"), lambda: RedisBloom(0.001, 10)),
    (("BF.RESERVE", "k", "0.001", "10", "NONS"), lambda: RedisBloom(0.001, 10)),
    (("BF.RESERVE", "k", "0.001", "10", "5"), lambda: RedisBloom(0.001, 10)),
    (("BF.RESERVE", "k", "0.001", "10", "FOO", "EXPANSION", "3"), lambda: RedisBloom(0.001, 10, 3)),
    # 0.25 is the most
    (("BF.RESERVE", "k", "0.9", "10"), lambda: RedisBloom(0.25, 10)),
    (("BF.INSERT", "k", "ERROR", "0.5", "NONSCALING", "ITEMS", "a"), lambda: RedisBloom(0.25, 100, 2, False)),
    # of 2.8
    (("BF.RESERVE", "k", "0.001", "10", "EXPANSION", "40000"), lambda: RedisBloom(0.001, 10, 40000)),
    # First letters, repeated options (the last wins), NONSCALING over EXPANSION
    (("BF.INSERT", "k", "cap", "20", "err", "0.05", "exp", "3", "it", "a"), lambda: RedisBloom(0.05, 20, 3)),
    (("BF.INSERT", "k", "C", "20", "ER", "0.05", "E", "3", "I", "a"), lambda: RedisBloom(0.05, 20, 3)),
    (("BF.INSERT", "k", "CAPACITY", "9", "CAPACITY", "20", "ITEMS", "a"), lambda: RedisBloom(0.01, 20)),
    (("BF.INSERT", "k", "N", "ITEMS", "a"), lambda: RedisBloom(0.01, 100, 2, False)),
    (("BF.INSERT", "k", "EXPANSION", "2", "NONSCALING", "ITEMS", "a"), lambda: RedisBloom(0.01, 100, 2, False)),
    (("BF.INSERT", "k", "ITEMS", "a", "LAYOUT", "ITEMS"), lambda: RedisBloom(0.01, 100)),
]  # fmt: skip


def created_by(words, make):
    """The model with the items of the command in it."""
    model = make()
    name = words[0].upper()
    if name != "BF.RESERVE":
        first = 2 if name != "BF.INSERT" else next(i for i, w in enumerate(words) if i > 1 and w[0] in "iI") + 1
        for item in words[first:]:
            model.add(item.encode())
    return model


def test_what_the_master_creates_is_created_as_there(master, replica):
    """All in one sync: one key each."""
    call, models = replica.connection().call, {}
    more = [b"more:%d" % i for i in range(60)]
    for number, (words, make) in enumerate(CREATIONS):
        key = "k%d" % number
        models[key] = model = created_by(words, make)
        master.send((words[0], key, *words[2:]))
        for item in more:
            if model.is_scaling or model.items < model.capacity:
                model.add(item)
                master.send(("BF.ADD", key, item))
    until_applied(replica, master)
    assert errors_to_master(replica) == []
    for key, model in models.items():
        assert_is_model(call, key, model)


def test_adds_the_master_refused_are_refused_here_too(master, replica):
    """The refused adds are in the stream too; the filter stays equal to the master's."""
    model = RedisBloom(0.01, 20, 2, False)
    master.send(("BF.RESERVE", "k", "0.01", "20", "NONSCALING"))
    for i in range(40):
        item = b"%d" % i
        if model.items < 20 or model.contains(item):
            model.add(item)
        master.send(("BF.ADD", "k", item))
    master.send(("BF.MADD", "k", "0", "1", "new", "never looked at"))
    until_applied(replica, master)
    assert_is_model(replica.connection().call, "k", model)


def test_chunks_the_master_loaded_are_loaded_here(master, replica):
    fixture = FIXTURES["grown"]
    master.send(*(("BF.LOADCHUNK", "k", iterator, data) for iterator, data in fixture.chunks))
    until_applied(replica, master)
    assert_foreign(replica.connection().call, "k", fixture)


def test_clients_are_held_to_the_words_meanwhile_and_after(master, replica):
    call = replica.connection().call
    assert call("BF.RESERVE", "k", "0.01", "10", "FOO").is_error
    assert call("REPLICAOF", "NO", "ONE") == OK
    assert_refused(call, "ERR Unknown argument received", "BF.RESERVE", "k", "0.01", "10", "FOO")
    assert_refused(call, "ERR Unknown argument received", "BF.INSERT", "k", "cap", "20", "ITEMS", "a")


def test_the_replicas_own_aof_and_replica_have_it_as_the_master_does(new_server):
    """Filters that the stream created are foreign on the replica's replica and in its AOF too."""
    master = Master(DUMP_FILE.read_bytes())
    config = {**CONFIG, "appendonly": "yes", "appendfsync": "always", "aof-use-rdb-preamble": "no"}
    replica, below = new_server(config=config, tcp=True), new_server(config=CONFIG, tcp=True)
    try:
        assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
        follow_port = replica.port
        assert below.call("REPLICAOF", "127.0.0.1", follow_port) == OK
        assert master.is_synced.wait(60)
        until_applied(replica, master)
        until_applied(below, master)
        # other settings here, so that the result cannot depend on the settings of the server that replays
        models = {}
        for number, (words, make) in enumerate(CREATIONS):
            models["k%d" % number] = created_by(words, make)
            master.send((words[0], "k%d" % number, *words[2:]))
        until_applied(replica, master)
        until_applied(below, master)
        for server in (replica, below):
            for key, model in models.items():
                assert_is_model(server.connection().call, key, model)
        assert replica.call("CONFIG", "SET", "bf.error-rate", "0.3", "bf.initial-size", "7") == OK
        assert replica.call("CONFIG", "SET", "bf.expansion-factor", "5") == OK
        assert replica.call("REPLICAOF", "NO", "ONE") == OK
        assert replica.call("DEBUG", "LOADAOF") == OK
        for key, model in models.items():
            assert_is_model(replica.connection().call, key, model)
        for key, fixture in FIXTURES.items():
            assert_foreign(replica.connection().call, key, fixture)
    finally:
        master.close()


def test_a_restart_on_an_aof_that_redisbloom_wrote(new_server):
    """The AOF was rewritten without a preamble: it has chunks, then commands as clients sent them."""
    server = new_server(config=CONFIG)
    server.kill9()
    models = {key: RedisBloom.loaded(fixture.data) for key, fixture in FIXTURES.items()}
    commands = [("SELECT", "0")]
    for key, fixture in FIXTURES.items():
        commands += [("BF.LOADCHUNK", key, iterator, data) for iterator, data in fixture.chunks]
    for key, model in models.items():
        for i in range(50):
            commands.append(("BF.ADD", key, "aof:%d" % i))
            model.add(b"aof:%d" % i)
    for number, (words, make) in enumerate(CREATIONS):
        models["k%d" % number] = created_by(words, make)
        commands.append((words[0], "k%d" % number, *words[2:]))
    Path(server.directory, "appendonly.aof").write_bytes(b"".join(map(encode, commands)))
    with open(server.config_file, "a", encoding="utf-8") as config:
        config.write("appendonly yes\n")
    server.start()
    call = server.connection().call
    assert call("DBSIZE") == integer(len(models))
    for key, model in models.items():
        assert_is_model(call, key, model)


def test_a_bloomport_master_that_holds_foreign_keys_syncs_them(new_server):
    """bloomport's own filters are synced too; then the replica is promoted."""
    master, replica = (new_server(config=CONFIG, tcp=True) for _ in range(2))
    call = master.connection().call
    for key, fixture in FIXTURES.items():
        assert call("RESTORE", key, 0, fixture.payload) == OK
    call("BF.ADD", "own", "x")
    follow(replica, master)
    there = replica.connection().call
    for key, fixture in FIXTURES.items():
        assert_foreign(there, key, fixture)
    models = {key: RedisBloom.loaded(fixture.data) for key, fixture in FIXTURES.items()}
    for key, model in models.items():
        items = [b"new:%d" % i for i in range(min(model.capacity, 1200) if model.is_scaling else 50)]
        assert add_all(call, key, items) == [model.add(item) for item in items]
    call("BF.MADD", "own too", "y")
    until_in_sync(replica, master)
    for key, model in models.items():
        assert_is_model(there, key, model)
    assert there("REPLICAOF", "NO", "ONE") == OK
    assert [there("TYPE", key) for key in ("own", "own too")] == [simple("bloomport")] * 2
    assert look_up_all(there, "own too", [b"y", b"z"]) == [1, 0]
