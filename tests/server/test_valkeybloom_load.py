"""BF.LOAD, the command that valkey-bloom writes to its AOF: from clients, what it sends to replicas and
the AOF, and files that hold it. test_valkeybloom.py has the wrong fields."""

from pathlib import Path

import pytest

from checks import NO_MEMORY, WRONGTYPE, arity_error, assert_refused, dump, filter_state, look_up_all
from filters import QUIET, Stream, follow, until, until_in_sync
from resp import OK, ONE, encode, integer, simple
from test_valkeybloom import assert_is_model, assert_recorded
from valkeybloom import ALL, FIXTURES, TYPE_NAME, ValkeyBloom

SERVER_CONFIG = Stream.CONFIG
DECODING = "ERR bloom object decoding failed"
VERSION = "ERR bloom object decoding failed. Unsupported version"
LOADABLE = {name: fixture for name, fixture in ALL.items() if fixture.load}

# ---- From clients ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOADABLE)
def test_every_recorded_filter_is_loaded_as_it_was(call, name):
    assert call("BF.LOAD", "k", ALL[name].load) == OK
    assert_recorded(call, "k", ALL[name])
    assert_is_model(call, "k", ALL[name].model())


def test_a_filter_that_exists_is_kept(call):
    assert call("BF.LOAD", "k", FIXTURES["small"].load) == OK
    before = filter_state(call, "k")
    assert_refused(call, "BUSYKEY Target key name already exists.", "BF.LOAD", "k", FIXTURES["scaling"].load)
    assert_refused(call, "BUSYKEY Target key name already exists.", "BF.LOAD", "k", b"no filter")
    assert filter_state(call, "k") == before
    call("BF.ADD", "own", "x")
    assert_refused(call, "BUSYKEY Target key name already exists.", "BF.LOAD", "own", FIXTURES["small"].load)


def test_a_key_of_another_type_is_kept(call):
    call("SET", "k", "x")
    assert_refused(call, WRONGTYPE, "BF.LOAD", "k", FIXTURES["small"].load)
    assert call("GET", "k").plain == b"x"


def test_another_version_is_named_and_all_else_is_bad_data(call):
    data = FIXTURES["scaling-1"].load
    for version in (0, 2, 255):
        assert_refused(call, VERSION, "BF.LOAD", "k", bytes([version]) + data[1:])
    assert_refused(call, DECODING, "BF.LOAD", "k", b"")
    for size in range(1, len(data)):
        assert_refused(call, DECODING, "BF.LOAD", "k", data[:size])


@pytest.mark.parametrize("rest", [b"\0", b"x", b"x" * 61, FIXTURES["one"].load], ids=len)
def test_bytes_after_the_last_layer_are_refused(call, rest):
    assert_refused(call, DECODING, "BF.LOAD", "k", FIXTURES["scaling-1"].load + rest)


def test_as_many_arguments_as_it_has(call):
    for words in (("BF.LOAD", "k"), ("BF.LOAD", "k", FIXTURES["one"].load, "x")):
        assert_refused(call, arity_error("BF.LOAD"), *words)


def test_more_than_max_bytes_is_refused(call):
    call("CONFIG", "SET", "bf.max-bytes", "1000")
    try:
        assert_refused(call, NO_MEMORY, "BF.LOAD", "k", FIXTURES["scaling"].load)
        assert call("BF.LOAD", "k", FIXTURES["small"].load) == OK
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


def test_a_load_is_one_event(call, events):
    call("BF.LOAD", "k", FIXTURES["small"].load)
    call("BF.LOAD", "k", FIXTURES["small"].load)
    assert [event for event in events() if event[1].startswith("bf.")] == [("k", "bf.loadchunk")]


# ---- What replicas and the AOF get -------------------------------------------------------------


@pytest.mark.parametrize("name", ["small", "scaling", "one-grown", "seed-fixed", "nonscaling-full"])
def test_the_stream_has_the_header_and_the_pieces(call, stream, name):
    """valkey-bloom itself sends its replicas an item instead."""
    fixture = FIXTURES[name]
    assert call("BF.LOAD", "k", fixture.load) == OK
    commands = [words for words in stream.take() if words[0] not in (b"MULTI", b"EXEC")]
    assert commands == [[b"BF.LOADCHUNK", b"k", b"%d" % at, data] for at, data in fixture.model().chunks]


def test_what_is_refused_is_not_propagated(call, stream):
    call("BF.LOAD", "k", FIXTURES["small"].load + b"x")
    call("BF.LOAD", "k", b"")
    assert stream.take() == []


def test_a_large_one_goes_in_pieces(call, stream):
    model = ValkeyBloom(0.01, 15_000_000, 0)
    model.layers[0].bits[12345] = 255
    model.layers[0].bits[-1] = 1
    assert len(model.chunks) == 3
    assert call("BF.LOAD", "k", model.data) == OK
    sent = [words for words in stream.take() if words[0] == b"BF.LOADCHUNK"]
    same = [(int(words[2]), words[3]) for words in sent] == model.chunks
    assert same
    assert call("DEBUG", "LOADAOF") == OK
    same = dump(call, "k") == model.chunks
    assert same


def test_a_replica_has_it_bit_by_bit_and_what_is_added_after(new_server):
    master, replica = (new_server(config=QUIET, tcp=True) for _ in range(2))
    follow(replica, master)
    call, there = master.connection().call, replica.connection().call
    models = {name: fixture.model() for name, fixture in LOADABLE.items()}
    for name, fixture in LOADABLE.items():
        assert call("BF.LOAD", name, fixture.load) == OK
        assert call("PEXPIREAT", name, "4102444800000") == ONE
    for name, model in models.items():
        items = [b"after:%d" % i for i in range(200)] if model.expansion else []
        for item in items:
            model.add(item)
        if items:
            call("BF.MADD", name, *items).plain
    until_in_sync(replica, master)
    for name, model in models.items():
        assert_is_model(there, name, model)
        assert filter_state(there, name) == filter_state(call, name)
        assert there("PEXPIRETIME", name) == integer(4102444800000)


def test_a_replica_that_lost_one_gets_nothing_from_an_add(new_server):
    """A master that holds nothing but what BF.LOAD brought: its stream is known to be ours by the header."""
    master, replica = (new_server(config={**QUIET, "replica-read-only": "no"}, tcp=True) for _ in range(2))
    follow(replica, master)
    assert master.call("BF.LOAD", "k", FIXTURES["low-error"].load) == OK
    until_in_sync(replica, master)
    assert replica.call("DEL", "k") == ONE
    assert master.call("BF.ADD", "k", "new item") == ONE
    until_in_sync(replica, master)
    assert replica.call("EXISTS", "k") == integer(0)


def test_clear_and_merge_reach_the_replica(new_server):
    master, replica = (new_server(config=QUIET, tcp=True) for _ in range(2))
    follow(replica, master)
    call, there = master.connection().call, replica.connection().call
    one, two = ValkeyBloom(), ValkeyBloom()
    for i in range(60):
        one.add(b"one:%d" % i)
        two.add(b"two:%d" % i)
    for name, model in (("one", one), ("two", two), ("cleared", FIXTURES["scaling"].model())):
        assert call("BF.LOAD", name, model.data) == OK
    assert call("BF.MERGE", "one", "two") == OK
    assert call("BF.MERGE", "made", "one", "two") == OK
    assert call("BF.INTERSTORE", "common", "one", "two") == OK
    assert call("BF.CLEAR", "cleared") == OK
    assert call("COPY", "one", "copy") == ONE
    until_in_sync(replica, master)
    for name in ("one", "two", "made", "common", "cleared", "copy"):
        assert filter_state(there, name) == filter_state(call, name)
        assert call("TYPE", name) == simple(TYPE_NAME)


# ---- AOF files ---------------------------------------------------------------------------------


def start_on_aof(new_server, commands):
    server = new_server(config={**QUIET, "aof-use-rdb-preamble": "no"})
    server.kill9()
    Path(server.directory, "appendonly.aof").write_bytes(b"".join(map(encode, commands)))
    with open(server.config_file, "a", encoding="utf-8") as config:
        config.write("appendonly yes\n")
    return server.start()


def rewrite_and_restart(server):
    assert server.call("BGREWRITEAOF").plain
    until(lambda: b"aof_rewrite_in_progress:0" in server.call("INFO", "persistence").plain, "rewritten")
    server.restart()
    return server.connection().call


def test_a_restart_on_an_aof_that_valkeybloom_rewrote(new_server):
    """BF.LOAD, PEXPIREAT, then what it appends: creations by its rules, and adds as clients sent them."""
    commands, models = [("SELECT", "0")], {}
    for name, fixture in LOADABLE.items():
        models[name] = fixture.model()
        commands += [("BF.LOAD", name, fixture.load), ("PEXPIREAT", name, "4102444800000")]
    words = "CAPACITY 10 ERROR 0.01 TIGHTENING 0.5 SEED".split()
    commands.append(("BF.INSERT", "made", *words, bytes(range(32)), "EXPANSION", "2", "ITEMS", "a"))
    models["made"] = ValkeyBloom(0.01, 10)
    models["made"].add(b"a")
    for name, model in models.items():
        items = [b"aof:%d" % i for i in range(120)] if model.expansion else []
        items = [item for item in items if model.add(item)]
        if items:
            commands += [("BF.MADD", name, *items[:-1]), ("BF.ADD", name, items[-1])]
    server = start_on_aof(new_server, commands)
    call = server.connection().call
    for turn in ("read", "rewritten"):
        assert call("DBSIZE") == integer(len(models)), turn
        for name, model in models.items():
            assert_is_model(call, name, model)
            assert call("PEXPIRETIME", name) == integer(4102444800000 if name != "made" else -1)
        call = rewrite_and_restart(server)


def test_an_add_in_such_a_file_for_a_key_that_is_not_there_creates_nothing(new_server):
    commands = [("BF.LOAD", "k", FIXTURES["small"].load), ("BF.ADD", "lost", "a"), ("BF.MADD", "lost", "b")]
    server = start_on_aof(new_server, [("SELECT", "0"), *commands])
    assert server.call("EXISTS", "lost") == integer(0)
    assert_recorded(server.connection().call, "k", FIXTURES["small"])


@pytest.mark.parametrize("preamble", ["no", "yes"])
def test_a_rewritten_aof_keeps_every_filter(new_server, preamble):
    config = {"aof-use-rdb-preamble": preamble, "appendonly": "yes", "rdbcompression": "yes"}
    server = new_server(config=config)
    call = server.connection().call
    for name, fixture in LOADABLE.items():
        assert call("BF.LOAD", name, fixture.load) == OK
    assert call("PEXPIREAT", "small", "4102444800000") == ONE
    call = rewrite_and_restart(server)
    for name, fixture in LOADABLE.items():
        assert_recorded(call, name, fixture)
        assert_is_model(call, name, fixture.model())
    assert call("PEXPIRETIME", "small") == integer(4102444800000)
    if preamble == "no":
        (base,) = Path(server.directory, "appendonlydir").glob("*.base.aof")
        text = base.read_bytes()
        for name, fixture in LOADABLE.items():
            for at, data in fixture.model().chunks:
                assert encode(("BF.LOADCHUNK", name, at, data)) in text


def test_in_a_script_and_a_transaction(call, stream):
    data = FIXTURES["small"].load
    assert call("EVAL", "return redis.call('BF.LOAD', KEYS[1], ARGV[1])", 1, "a", data) == OK
    assert [call("MULTI"), call("BF.LOAD", "b", data).value] == [OK, "QUEUED"]
    assert call("EXEC").value == [OK]
    sent = [words[1] for words in stream.take() if words[0] == b"BF.LOADCHUNK"]
    assert sent == [b"a", b"a", b"b", b"b"]
    assert look_up_all(call, "b", FIXTURES["small"].items) == [1] * 100
