"""RESTORE and MIGRATE from clients are held to bf.max-bytes and maxmemory as every other command is;
what a server loads of its own, and what a replica is sent, is not."""

import pytest

from checks import layers_of
from filters import QUIET, follow, look, same_filter, until, until_in_sync
from redisbloom import FIXTURES
from resp import OK, ONE, ZERO

LIMIT = 20 << 20
LARGE = 32_000_000  # bytes of bits, nearly all 0: its payload is small


@pytest.fixture
def source(new_server):
    """A server without limits that has `large` and `small`."""
    server = new_server(tcp=True, config={**QUIET, "rdbcompression": "yes"})
    call = server.connection().call
    assert call("BF.RESERVE", "large", "BITSPERKEY", "8", LARGE, "NONSCALING") == OK
    for key in ("large", "small"):
        assert call("BF.ADD", key, "a") == ONE
    assert len(call("DUMP", "large").plain) < LIMIT / 4
    return server


def limited(new_server, setting):
    """A server that has an old `large` already, and a limit under which the other does not fit."""
    server = new_server(tcp=True, config=QUIET)
    call = server.connection().call
    assert call("BF.ADD", "large", "old") == ONE
    assert call("CONFIG", "SET", setting, LIMIT) == OK
    return server


def assert_one_log_line(server, before):
    new = [line for line in server.log[before:].splitlines() if "bloomport" in line]
    assert len(new) == 1, new


@pytest.mark.parametrize("setting", ["bf.max-bytes", "maxmemory"])
@pytest.mark.parametrize("tail", [(), ("REPLACE",)], ids=["new", "replace"])
def test_restore_of_a_filter_over_the_limit_is_refused(new_server, source, setting, tail):
    target = limited(new_server, setting)
    call, key = target.connection().call, "large" if tail else "k"
    payload = source.call("DUMP", "large").plain
    before, log = look(call, "large"), len(target.log)
    reply = call("RESTORE", key, "0", payload, *tail)
    assert reply.is_error, "%d bytes under a limit of %d" % (LARGE, LIMIT)
    same_filter(before, look(call, "large"))
    assert call("DBSIZE") == ONE
    assert not reply.value.startswith("OOM"), "the server's own refusal, the payload is too large"
    assert_one_log_line(target, log)
    reply = call("RESTORE", "small", "0", source.call("DUMP", "small").plain)
    assert reply == OK


@pytest.mark.parametrize("setting", ["bf.max-bytes", "maxmemory"])
def test_migrate_of_a_filter_over_the_limit_is_refused_and_stays_where_it_was(new_server, source, setting):
    target = limited(new_server, setting)
    before = look(target.connection().call, "large")
    reply = source.call("MIGRATE", "127.0.0.1", target.port, "large", "0", "30000", "REPLACE")
    assert reply.is_error
    same_filter(before, look(target.connection().call, "large"))
    assert source.call("EXISTS", "large") == ONE
    assert source.call("MIGRATE", "127.0.0.1", target.port, "small", "0", "30000") == OK
    assert target.call("BF.EXISTS", "small", "a") == ONE


def test_restore_of_a_redisbloom_filter_over_the_limit_is_refused(new_server):
    server = new_server()
    call = server.connection().call
    assert call("RESTORE", "k", "0", FIXTURES["grown"].payload) == OK
    size = sum(layer.bytes for layer in layers_of(call, "k"))
    assert call("DEL", "k") == ONE
    assert call("CONFIG", "SET", "bf.max-bytes", size - 1) == OK
    assert call("RESTORE", "k", "0", FIXTURES["grown"].payload).is_error
    assert call("EXISTS", "k") == ZERO


@pytest.mark.parametrize("path", ["restart from RDB", "restart from AOF", "full sync", "stream"])
def test_what_is_loaded_or_replicated_is_not_held_to_the_limit(new_server, source, path):
    call = source.connection().call
    before = look(call, "large")
    if path in ("full sync", "stream"):
        other = new_server(tcp=True, config={**QUIET, "bf.max-bytes": LIMIT})
        if path == "stream":
            payload = call("DUMP", "large").plain
            assert call("DEL", "large") == ONE
            follow(other, source)
            reply = call("RESTORE", "large", "0", payload)
            assert reply == OK
            until_in_sync(other, source)
        else:
            follow(other, source)
        same_filter(before, look(other.connection().call, "large"))
        return
    assert call("CONFIG", "SET", "bf.max-bytes", LIMIT) == OK
    if path == "restart from RDB":
        assert call("DEBUG", "RELOAD") == OK
    else:
        payload = call("DUMP", "large").plain
        assert call("CONFIG", "SET", "bf.max-bytes", 0) == OK
        assert call("CONFIG", "SET", "appendonly", "yes") == OK
        until(lambda: b"aof_rewrite_in_progress:0" in call("INFO", "persistence").plain, "the AOF")
        reply = call("RESTORE", "large", "0", payload, "REPLACE")
        assert reply == OK
        assert call("CONFIG", "SET", "bf.max-bytes", LIMIT) == OK
        assert call("DEBUG", "LOADAOF") == OK
    same_filter(before, look(call, "large"))
