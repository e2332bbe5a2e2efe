"""An imported filter is one like any other: it is saved, replicated, restored, copied and limited."""

import random
import struct

import pytest

from checks import CHUNK_LIMIT, NO_MEMORY, add_all, assert_refused, dump, filter_state, info, load
from filters import QUIET, Stream, follow, look, same_filter, until_in_sync, until_rewritten
from formats_model import Plain
from imports import DATA, FORMATS, ITEMS, import_, payload
from resp import OK, ONE, ZERO, bulk, integer

def import_all(call):
    """One of every format, fixed and growing, small and grown."""
    keys = []
    for name in FORMATS:
        for words in [()] if name == "redisbloom" else [(), ("CAPACITY", "20", "EXPANSION", "2")]:
            for many in (0, 200):
                if many and not words and name != "redisbloom":
                    continue
                key = "%s%d%d" % (name, len(words), many)
                assert import_(call, key, name, payload(name, ITEMS)[0], *words) == OK
                if many:
                    add_all(call, key, [b"more:%d" % i for i in range(many)])
                    assert info(call, key)["Number of filters"] > 1
                keys.append(key)
    assert import_(call, "fnv1a", "portable", Plain(999, 5, "FNV1A", ITEMS).portable, "HASH", "FNV1A") == OK
    full = struct.pack("<IQ", 3, 512) + b"\xff" * 64
    assert import_(call, "all-ones", "portable", full, "CAPACITY", "3", "EXPANSION", "2") == OK
    return [*keys, "fnv1a", "all-ones"]


def looks(call, keys):
    return {key: look(call, key) for key in keys}


def assert_same_looks(call, before):
    for key, seen in before.items():
        same_filter(seen, look(call, key), key)


def assert_still_grows_alike(call, other, keys):
    """Both grow alike: what is not in the bits (the promised rate) arrived too."""
    more = [b"later:%d" % i for i in range(300)]
    for key in keys:
        for item in more:
            reply = call("BF.ADD", key, item)
            assert other("BF.ADD", key, item) == reply
            if reply.is_error:
                break
        same_filter(look(call, key), look(other, key), key)


def test_imports_survive_save_and_restart(new_server):
    server = new_server()
    keys = import_all(server.call)
    before = looks(server.call, keys)
    assert server.call("SAVE") == OK
    server.restart()
    assert_same_looks(server.call, before)


def test_imports_survive_dump_and_restore_and_copy(call):
    for key in import_all(call):
        state = filter_state(call, key)
        assert call("RESTORE", "restored", "0", call("DUMP", key).plain, "REPLACE") == OK
        assert filter_state(call, "restored") == state
        assert call("COPY", key, "copied", "REPLACE") == ONE
        assert filter_state(call, "copied") == state
        load(call, "loaded", dump(call, key))
        assert filter_state(call, "loaded") == state
        call("DEL", "loaded")


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("rewrite", [True, False])
def test_imports_survive_the_aof_rewritten_or_not(new_server, preamble, rewrite):
    server = new_server(config={**Stream.CONFIG, "aof-use-rdb-preamble": preamble})
    keys = import_all(server.call)
    before = looks(server.call, keys)
    if rewrite:
        server.call("BGREWRITEAOF").plain
        until_rewritten(server.call)
    server.restart()
    assert_same_looks(server.call, before)


def test_replicas_become_identical(new_server):
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=QUIET)
    follow(replica, master)
    call = master.call
    keys = import_all(call)
    call("BF.ADD", "replaced", "a")
    call("EXPIRE", "replaced", "1000")
    assert import_(call, "replaced", "portable", DATA, "REPLACE") == OK
    until_in_sync(replica, master)
    assert replica.call("DEBUG", "DIGEST") == call("DEBUG", "DIGEST")
    assert replica.call("TTL", "replaced") == integer(-1)
    for key in keys:
        same_filter(look(call, key), look(replica.call, key), key)
    for key in keys:
        for i in range(300):
            if call("BF.ADD", key, b"later:%d" % i).is_error:
                break
    until_in_sync(replica, master)
    assert replica.call("DEBUG", "DIGEST") == call("DEBUG", "DIGEST")


def test_a_restored_import_goes_on_as_the_original_does(call):
    keys = import_all(call)
    for key in keys:
        assert call("RESTORE", "r:" + key, "0", call("DUMP", key).plain) == OK
    for key in keys:
        for i in range(300):
            reply = call("BF.ADD", key, b"later:%d" % i)
            assert call("BF.ADD", "r:" + key, b"later:%d" % i) == reply
        assert filter_state(call, "r:" + key) == filter_state(call, key)


def test_forty_mebibytes_propagate_in_pieces_of_at_most_sixteen(new_server):
    server = new_server(config=Stream.CONFIG, tcp=True)
    stream = Stream(server)
    nbytes = 40 << 20
    data = struct.pack("<IQ", 7, nbytes * 8 - 3) + random.Random(1).randbytes(nbytes - 1) + b"\x01"
    assert import_(server.call, "k", "portable", data) == OK
    commands = [words for words in stream.take() if words[0] not in (b"MULTI", b"EXEC")]
    stream.close()
    assert {words[0] for words in commands} == {b"BF.LOADCHUNK"}
    assert {words[1] for words in commands} == {b"k"}
    assert len(commands) == 1 + 3
    assert all(len(words[3]) <= CHUNK_LIMIT for words in commands)
    same = b"".join(words[3] for words in commands[1:]) == data[12:]
    assert same
    digest = server.call("DEBUG", "DIGEST")
    server.restart()
    assert server.call("DEBUG", "DIGEST") == digest
    same = server.call("BF.EXPORT", "k").plain == data
    assert same


def test_replacing_propagates_the_deletion_too(new_server):
    server = new_server(config=Stream.CONFIG)
    call = server.call
    call("BF.ADD", "k", "a")
    call("EXPIRE", "k", "1000")
    assert import_(call, "k", "portable", DATA, "REPLACE") == OK
    digest, state = call("DEBUG", "DIGEST"), filter_state(call, "k")
    server.restart()
    assert server.call("DEBUG", "DIGEST") == digest
    assert filter_state(server.call, "k") == state
    assert server.call("TTL", "k") == integer(-1)


def test_a_refused_import_propagates_nothing(new_server):
    server = new_server(config=Stream.CONFIG)
    call = server.call
    call("BF.ADD", "there", "a")
    call("SET", "text", "a")
    stream = Stream(server)
    assert import_(call, "k", "portable", DATA[:-1]).is_error
    assert import_(call, "k", "portable", DATA, "CAPACITY", "0").is_error
    assert import_(call, "there", "portable", DATA).is_error
    assert import_(call, "there", "portable", DATA + b"\x00", "REPLACE").is_error
    assert import_(call, "text", "portable", DATA, "REPLACE").is_error
    assert stream.take() == []
    stream.close()


@pytest.mark.parametrize("words", [(), ("REPLACE",)])
def test_one_event_per_import(call, server, words):
    call("CONFIG", "SET", "notify-keyspace-events", "KEA")
    if words:
        call("BF.ADD", "k", "a")
    listener = server.connection()
    listener.call("PSUBSCRIBE", "__keyevent@0__:*")
    assert import_(call, "k", "portable", DATA, *words) == OK
    assert import_(call, "k", "portable", DATA[:-1], "REPLACE").is_error
    call("SET", "end", "x")
    events = []
    while not events or events[-1][1] != b"end":
        _, _, channel, key = listener.read().plain
        events.append((channel.split(b":", 1)[1], key))
    listener.close()
    call("CONFIG", "SET", "notify-keyspace-events", "")
    assert [event for event in events if event[0] == b"bf.import"] == [(b"bf.import", b"k")]
    assert not [event for event in events if event[0] == b"bf.loadchunk"]


@pytest.mark.parametrize("name", FORMATS)
def test_max_bytes_is_respected_to_the_byte(call, name):
    data, _ = payload(name, ITEMS)
    assert import_(call, "k", name, data) == OK
    size = call("BF.INFO", "k", "SIZE").plain[0]
    call("DEL", "k")
    try:
        assert call("CONFIG", "SET", "bf.max-bytes", size - 1) == OK
        assert_refused(call, NO_MEMORY, "BF.IMPORT", "k", "FORMAT", name, "DATA", data)
        assert call("CONFIG", "SET", "bf.max-bytes", size) == OK
        assert import_(call, "k", name, data) == OK
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


def test_maxmemory_is_respected(call, r):
    data = struct.pack("<IQ", 7, 32 << 23) + bytes(32 << 20)
    used = r.info("memory")["used_memory"]
    try:
        call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        call("CONFIG", "SET", "maxmemory", used + (40 << 20))
        reply = import_(call, "k", "portable", data)
        assert reply.is_error, reply
        assert call("DBSIZE") == ZERO
        call("CONFIG", "SET", "maxmemory", "1")
        assert import_(call, "k", "portable", DATA).value.startswith("OOM ")
    finally:
        call("CONFIG", "SET", "maxmemory", "0")
    assert import_(call, "k", "portable", data) == OK


def test_import_works_in_multi_and_in_scripts(call):
    assert call("MULTI") == OK
    import_(call, "k", "portable", DATA)
    assert call("EXEC").plain == ["OK"]
    script = "return redis.call('BF.IMPORT', KEYS[1], 'FORMAT', 'portable', 'DATA', ARGV[1])"
    assert call("EVAL", script, "1", "k2", DATA) == OK
    assert call("EVAL", "return redis.call('BF.EXPORT', KEYS[1])", "1", "k2") == bulk(DATA)
    assert filter_state(call, "k") == filter_state(call, "k2")


def test_the_key_is_binary_safe(call):
    key = bytes(range(256))
    assert import_(call, key, "portable", DATA) == OK
    assert call("BF.EXPORT", key) == bulk(DATA)
