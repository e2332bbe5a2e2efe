"""Every way a filter can be saved, moved and loaded again leaves the same filter, bit by bit.

All shapes go through each path at once (filters.py), among them partly loaded filters, which must
stay partly loaded and take the rest of their pieces.
"""

import glob
import time

import pytest

from checks import CHUNK_LIMIT, LOADING
from filters import HUNDRED_MB, Filters, Writer, assert_is_what_commands_gave, batches, look, load_random
from filters import missing_items, same_filter, server_info, until, until_rewritten
from resp import OK, ONE, ZERO, error, integer

COMPRESSION = pytest.mark.parametrize("compression", ["yes", "no"])
PREAMBLE = pytest.mark.parametrize("preamble", ["yes", "no"])
AOF = {"appendonly": "yes", "auto-aof-rewrite-percentage": "0"}


def restarted(server):
    """kill -9, start, and a new connection."""
    server.kill9()
    server.start()
    return server.connection().call


def until_saved(call):
    until(lambda: server_info(call, "persistence")["rdb_bgsave_in_progress"] == "0", "saved")
    assert server_info(call, "persistence")["rdb_last_bgsave_status"] == "ok"


# RDB


@COMPRESSION
def test_save_and_restart_keep_every_filter(new_server, compression):
    server = new_server(config={"rdbcompression": compression})
    call = server.connection().call
    filters = Filters(call, hundred_mb=True)
    assert call("SAVE") == OK
    filters.assert_arrived(restarted(server))


@COMPRESSION
def test_bgsave_and_kill_9_keep_every_filter_as_it_was_at_the_snapshot(new_server, compression):
    server = new_server(config={"rdbcompression": compression})
    call = server.connection().call
    filters = Filters(call)
    assert not call("BGSAVE").is_error
    call("BF.MADD", "five-layers:CLASSIC", *("later%d" % i for i in range(1000)))
    until_saved(call)
    filters.assert_arrived(restarted(server))


def test_kill_9_in_the_middle_of_bgsave_leaves_the_last_snapshot(new_server):
    server = new_server()
    call = server.connection().call
    filters = Filters(call)
    assert call("SAVE") == OK
    call("BF.MADD", "five-layers:CLASSIC", *("later%d" % i for i in range(1000)))
    call("CONFIG", "SET", "rdb-key-save-delay", 20000)
    assert not call("BGSAVE").is_error
    assert server_info(call, "persistence")["rdb_bgsave_in_progress"] == "1"
    filters.assert_arrived(restarted(server))


@COMPRESSION
def test_debug_reload_keeps_every_filter(new_server, compression):
    server = new_server(config={"rdbcompression": compression})
    call = server.connection().call
    filters = Filters(call)
    for _ in range(2):
        assert call("DEBUG", "RELOAD") == OK
        filters.assert_same(call)
    filters.assert_arrived(call)


def test_server_with_other_settings_loads_the_same_filters(new_server):
    server = new_server()
    call = server.connection().call
    filters = Filters(call)
    for words in ("error-rate 0.3", "bits-per-key 5", "initial-size 7", "expansion-factor 0", "max-bytes 1000"):
        name, value = words.split()
        assert call("CONFIG", "SET", "bf." + name, value) == OK
    assert call("CONFIG", "REWRITE") == OK
    assert call("SAVE") == OK
    filters.assert_same(restarted(server))


def test_loaded_filters_grow_like_the_originals(new_server):
    """The clock stands still: both times the window's first generation has the same start."""
    server = new_server(has_clock=True)
    server.clock.stop()
    call = server.connection().call
    keys = list(Filters(call).looks)
    assert call("SAVE") == OK

    def grow(call):
        """Adds to every filter that can be added to, and looks at them."""
        answers = {key: call("BF.MADD", key, *("later%d" % i for i in range(3000))) for key in keys}
        return answers, {key: look(call, key) for key in keys}

    answers, looks = grow(call)
    assert looks["five-layers:CLASSIC"].info["Number of filters"] > 5
    answers_later, looks_later = grow(restarted(server))
    assert answers == answers_later
    for key in keys:
        same_filter(looks[key], looks_later[key], key)


# AOF


@pytest.mark.parametrize("fsync", ["always", "everysec"])
def test_aof_and_kill_9_keep_every_filter(new_server, fsync):
    server = new_server(config=dict(AOF, appendfsync=fsync))
    call = server.connection().call
    filters = Filters(call)
    if fsync == "everysec":  # what was answered may wait in the server for a second or two
        time.sleep(0.1)
        until(lambda: server_info(call, "persistence")["aof_buffer_length"] == "0", "written")
    filters.assert_arrived(restarted(server))


@PREAMBLE
def test_rewritten_aof_and_kill_9_keep_every_filter(new_server, preamble):
    server = new_server(config=dict(AOF, **{"aof-use-rdb-preamble": preamble}))
    call = server.connection().call
    filters = Filters(call, hundred_mb=True)
    assert not call("BGREWRITEAOF").is_error
    until_rewritten(call)
    filters.assert_arrived(restarted(server))


def test_debug_loadaof_keeps_every_filter(new_server):
    server = new_server(config=AOF)
    call = server.connection().call
    filters = Filters(call)
    assert call("DEBUG", "LOADAOF") == OK
    filters.assert_arrived(call)


def bulk_sizes(path):
    """The lengths of the words in an AOF, without reading the words."""
    with open(path, "rb") as file:
        for line in iter(file.readline, b""):
            if line.startswith(b"$"):
                yield int(line[1:])
                file.seek(int(line[1:]) + 2, 1)


def test_rewritten_aof_has_pieces_of_at_most_16_mib(new_server):
    """40 MB are three pieces; without the RDB preamble the base file holds them as commands."""
    server = new_server(config=dict(AOF, **{"aof-use-rdb-preamble": "no"}))
    call = server.connection().call
    load_random(call, "k", 40_000_000)
    before = look(call, "k")
    assert not call("BGREWRITEAOF").is_error
    until_rewritten(call)
    (base,) = glob.glob(server.directory + "/appendonlydir/*.base.aof")
    sizes = sorted(bulk_sizes(base))
    assert sizes[-3:] == [40_000_000 - 2 * CHUNK_LIMIT, CHUNK_LIMIT, CHUNK_LIMIT]
    same_filter(before, look(restarted(server), "k"))


RESERVE = {  # growth every 20 items, and growth by doubling
    "a": ("0.01", "20", "EXPANSION", "1"),
    "b": ("0.001", "10", "EXPANSION", "2"),
    "c": ("BITSPERKEY", "12", "50", "EXPANSION", "3"),
    "d": ("0.01", "30", "HASH", "FNV1A"),
}


def reserve_all(call):
    for key, words in RESERVE.items():
        assert call("BF.RESERVE", key, *words) == OK


def assert_prefix(call, writer, lost=0):
    """Each filter is what the commands gave up to some point not before the last acknowledged."""
    for key, words in RESERVE.items():
        known = sum(1 for command in writer.acknowledged if command[1] == key)
        assert_is_what_commands_gave(call, key, words, writer.sent, 0 if lost else known)
    if not lost:
        assert missing_items(call, writer.acknowledged) == []


@pytest.mark.parametrize("fsync", ["always", "everysec"])
def test_kill_9_in_the_middle_of_adds_and_growth_leaves_all_that_was_acknowledged(new_server, fsync):
    """With `everysec` the server may write answered commands up to a second later, by its own rules; the
    file must then still be an exact prefix of the commands."""
    server = new_server(config=dict(AOF, appendfsync=fsync))
    reserve_all(server.call)
    for seed, count in ((1, 40), (2, 150)):
        writer = Writer(server.socket, batches(list(RESERVE), seed))
        writer.until_acknowledged(count)
        call = restarted(server)
        writer.finish()
        assert_prefix(call, writer, lost=fsync == "everysec")
        call("FLUSHALL")
        reserve_all(call)


@PREAMBLE
@pytest.mark.parametrize("moment", ["during", "after"])
def test_aof_rewrite_while_items_are_added_loses_none(new_server, preamble, moment):
    """kill -9 comes while the child writes, and right after its file has replaced the old one."""
    server = new_server(config=dict(AOF, appendfsync="always", **{"aof-use-rdb-preamble": preamble}))
    call = server.connection().call
    reserve_all(call)
    filters = Filters(call, prefix="still:")
    for i in range(60):
        call("SET", "filler%d" % i, i)
    # microseconds for each of 74 keys: the rewrite takes a while, or longer than the test needs
    call("CONFIG", "SET", "rdb-key-save-delay", 5000 if moment == "after" else 50000)
    writer = Writer(server.socket, batches(list(RESERVE), 3))
    writer.until_acknowledged(20)
    assert not call("BGREWRITEAOF").is_error
    until(lambda: server_info(call, "persistence")["aof_rewrite_in_progress"] == "1", "begun")
    writer.until_acknowledged(len(writer.acknowledged) + 20)
    if moment == "during":
        assert server_info(call, "persistence")["aof_rewrite_in_progress"] == "1"
    else:
        until_rewritten(call)
        writer.until_acknowledged(len(writer.acknowledged) + 5)
    call = restarted(server)
    writer.finish()
    assert_prefix(call, writer)
    filters.assert_arrived(call)


def test_load_chunk_by_chunk_goes_on_after_a_rewrite_and_kill_9_at_every_piece(new_server):
    server = new_server(config=dict(AOF, appendfsync="always", **{"aof-use-rdb-preamble": "no"}))
    call = server.connection().call
    filters = Filters(call)
    key = "half-loaded-1:CLASSIC"
    pieces, whole = filters.half[key]
    for at, (iterator, data) in enumerate(pieces):
        assert call("BF.ADD", key, "a") == error(LOADING)
        if at % 2:
            call("BGREWRITEAOF")
            until_rewritten(call)
        call = restarted(server)
        assert call("BF.LOADCHUNK", key, iterator, data) == OK
    same_filter(whole, look(call, key))


# One server, other keys and databases


def dump_and_restore(call, key, to, ttl=0):
    return call("RESTORE", to, ttl, call("DUMP", key).plain)


@COMPRESSION
def test_dump_and_restore_keep_every_filter(new_server, compression):
    server = new_server(config={"rdbcompression": compression})
    call = server.connection().call
    filters = Filters(call)
    for key in filters.looks:
        assert dump_and_restore(call, key, "restored:" + key) == OK
        assert dump_and_restore(call, key, "restored:" + key).value.startswith("BUSYKEY")
    filters.assert_same(call)
    filters.assert_arrived(call, lambda key: "restored:" + key)
    filters.assert_same(call)


def test_copy_keeps_every_filter_and_is_independent(call):
    filters = Filters(call)
    for key in filters.looks:
        assert call("COPY", key, "copy:" + key) == ONE
    filters.assert_arrived(call, lambda key: "copy:" + key)
    for key in filters.looks:
        call("BF.MADD", "copy:" + key, *("later%d" % i for i in range(300)))
    filters.assert_same(call)
    call("DEL", *("copy:" + key for key in filters.looks))
    filters.assert_arrived(call)


def test_copy_survives_its_original(call):
    filters = Filters(call)
    for key in filters.looks:
        assert call("COPY", key, "copy:" + key) == ONE
        assert call("DEL", key) == ONE
    filters.assert_arrived(call, lambda key: "copy:" + key)


def test_rename_keeps_every_filter(call):
    filters = Filters(call)
    for key in filters.looks:
        assert call("RENAME", key, "renamed:" + key) == OK
        assert call("EXISTS", key) == ZERO
    filters.assert_arrived(call, lambda key: "renamed:" + key)


def test_move_keeps_every_filter(call):
    filters = Filters(call)
    for key in filters.looks:
        assert call("MOVE", key, 1) == ONE
    assert call("DBSIZE") == ZERO
    call("SELECT", 1)
    filters.assert_arrived(call)


def test_swapdb_keeps_every_filter(call):
    filters = Filters(call)
    assert call("SWAPDB", 0, 2) == OK
    assert call("DBSIZE") == ZERO
    call("SELECT", 2)
    filters.assert_arrived(call)


@pytest.mark.parametrize("options", [(), ("COPY",)], ids=["move", "copy"])
def test_migrate_keeps_every_filter(new_server, options):
    target, source = new_server(tcp=True), new_server()
    call = source.connection().call
    filters = Filters(call)
    words = ("MIGRATE", "127.0.0.1", target.port, "", 0, 60000, *options, "KEYS", *filters.looks)
    assert call(*words) == OK
    assert call("DBSIZE") == integer(len(filters.looks) if options else 0)
    filters.assert_arrived(target.connection().call)
    if options:
        filters.assert_arrived(call)


def test_migrate_keeps_a_hundred_megabytes(new_server):
    target, source = new_server(tcp=True), new_server()
    call = source.connection().call
    load_random(call, "k", HUNDRED_MB)
    before = look(call, "k")
    assert call("MIGRATE", "127.0.0.1", target.port, "k", 0, 60000) == OK
    same_filter(before, look(target.connection().call, "k"))


# Time to live


def reload(server, call):
    assert call("DEBUG", "RELOAD") == OK
    return call


def save_and_restart(server, call):
    assert call("SAVE") == OK
    return restarted(server)


def aof_and_kill(server, call):
    assert call("CONFIG", "SET", "appendonly", "yes") == OK
    until_rewritten(call)
    assert call("CONFIG", "REWRITE") == OK
    return restarted(server)


def rename(server, call):
    assert call("RENAME", "k", "other") == OK
    assert call("RENAME", "other", "k") == OK
    return call


def copy(server, call):
    assert call("COPY", "k", "other") == ONE
    assert call("RENAME", "other", "k") == OK
    return call


def restore(server, call):
    at = call("PEXPIRETIME", "k").plain
    assert call("RESTORE", "k", at, call("DUMP", "k").plain, "ABSTTL", "REPLACE") == OK
    return call


def move(server, call):
    assert call("MOVE", "k", 1) == ONE
    call("SELECT", 1)
    return call


def swapdb(server, call):
    assert call("SWAPDB", 0, 1) == OK
    call("SELECT", 1)
    return call


def add_and_grow(server, call):
    call("BF.MADD", "k", *("later%d" % i for i in range(1000)))
    return call


@pytest.mark.parametrize(
    "path",
    [reload, save_and_restart, aof_and_kill, rename, copy, restore, move, swapdb, add_and_grow],
    ids=lambda path: path.__name__,
)
def test_time_to_live_is_kept_to_the_millisecond(new_server, path):
    server = new_server()
    call = server.connection().call
    call("BF.MADD", "k", "a", "b")
    assert call("PEXPIRE", "k", 1_234_567) == ONE
    at = call("PEXPIRETIME", "k").plain
    assert at > 0
    call = path(server, call)
    assert call("PEXPIRETIME", "k").plain == at
    assert call("BF.EXISTS", "k", "a") == ONE


def test_filter_that_expired_while_the_server_was_down_is_gone_after_it(new_server):
    server = new_server(config=dict(AOF, appendfsync="always"))
    call = server.connection().call
    call("BF.MADD", "k", "a", "b")
    call("BF.ADD", "stays", "a")
    call("PEXPIRE", "k", 50)
    server.kill9()
    time.sleep(0.06)
    server.start()
    call = server.connection().call
    assert call("BF.EXISTS", "k", "a") == ZERO
    assert call("BF.EXISTS", "stays", "a") == ONE
