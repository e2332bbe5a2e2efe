"""The server's rdbcompression: half-full filters are saved uncompressed, everything else as it says.

Bits set at random cannot be compressed, and trying costs more than saving. The server's setting must
be unchanged afterwards, whatever way a filter is written.
"""

import os
import random

import pytest

from checks import add_all, changes, load, settings
from filters import (
    LAYOUTS,
    QUIET,
    Layer,
    count_ones,
    follow,
    header,
    load_random,
    look,
    same_filter,
    server_info,
    until,
    until_in_sync,
)
from resp import OK, ONE, Reply, array, error

SERVER_CONFIG = {"rdbcompression": "yes"}

CAPACITY = 60_000  # at 10 bits each 75,000 bytes: over the 64 KiB from which the bits are not compressed
TEXT = "x" * 100_000  # a string that compresses to next to nothing
YES, NO = {"rdbcompression": "yes"}, {"rdbcompression": "no"}


def half_full(call, key, layout):
    """A filter of 75 kB that holds its capacity: about half of its bits are set."""
    assert call("BF.RESERVE", key, "BITSPERKEY", 10, CAPACITY, "NONSCALING", "LAYOUT", layout) == OK
    answers = add_all(call, key, ["%s-%d" % (key, i) for i in range(CAPACITY)])
    assert sum(answers) > CAPACITY * 0.98


def nearly_empty(call, key, layout):
    """2.5 MB with 100 items in it."""
    assert call("BF.RESERVE", key, "BITSPERKEY", 8, 2_500_003, "LAYOUT", layout) == OK
    call("BF.MADD", key, *range(100)).plain


def compression(call):
    return settings(call, "rdbcompression")


def saved(server, value):
    """The bytes of dump.rdb, saved by a child with rdbcompression as given; the setting stays. Only a child
    switches compression off for bits that cannot be compressed."""
    call = server.connection().call
    assert call("CONFIG", "SET", "rdbcompression", value) == OK
    assert not call("BGSAVE").is_error
    until_saved(call)
    assert compression(call) == {"rdbcompression": value}
    return os.path.getsize(os.path.join(server.directory, "dump.rdb"))


def until_saved(call):
    until(lambda: server_info(call, "persistence")["rdb_bgsave_in_progress"] == "0", "saved")
    assert server_info(call, "persistence")["rdb_last_bgsave_status"] == "ok"


# ---- How large files are ------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_half_full_filters_are_saved_as_large_with_compression_as_without(server, call, layout):
    half_full(call, "k", layout)
    for i in range(3):
        assert call("COPY", "k", "k%d" % i) == ONE
    plain, compressed = saved(server, "no"), saved(server, "yes")
    assert plain >= 4 * CAPACITY * 10 / 8
    assert abs(compressed - plain) <= 0.01 * plain


def test_half_full_filter_is_not_even_tried(server, call):
    """These bits could be compressed, as they are one random kilobyte 200 times. They are not, which shows
    that compression was not tried: trying takes six times as long as saving."""
    bits = random.Random(12).randbytes(1000) * 200
    ones = count_ones(bits)
    assert abs(ones / len(bits) / 8 - 0.5) < 0.02
    layer = Layer(capacity=200_000, items=ones // 7 + 1, ones=ones, error_rate=0.01, k=7, m=8 * len(bits))
    load(call, "k", [(1, header([layer])), (len(bits) + 1, bits)])
    assert call("SET", "same bytes", bits) == OK
    plain, compressed = saved(server, "no"), saved(server, "yes")
    assert plain > 2 * len(bits)
    assert len(bits) < compressed < 1.2 * len(bits)  # the string is, the filter is not


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nearly_empty_filter_is_saved_far_smaller_with_compression(server, call, layout):
    nearly_empty(call, "k", layout)
    plain, compressed = saved(server, "no"), saved(server, "yes")
    assert plain > 2_500_000
    assert compressed < plain / 20


def test_small_filters_are_compressed_as_ever(server, call):
    """Under 64 KiB nothing is switched: an array of zeroes shrinks."""
    for i in range(20):
        assert call("BF.RESERVE", "k%d" % i, "BITSPERKEY", 10, 40_000) == OK
    assert saved(server, "yes") < saved(server, "no") / 10


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strings_saved_beside_half_full_filters_are_still_compressed(server, call, layout):
    """The order in which the server saves keys is not defined, so there are several of each: some strings
    are saved after a filter, whatever the order."""
    half_full(call, "k", layout)
    for i in range(5):
        assert call("COPY", "k", "filter%d" % i) == ONE
        for j in range(6):
            assert call("SET", "text%d-%d" % (i, j), TEXT) == OK
    plain, compressed = saved(server, "no"), saved(server, "yes")
    assert plain - compressed >= 30 * len(TEXT) * 0.95


def test_layers_of_one_filter_are_switched_each_for_itself(server, call):
    """The first, full, is saved as it is; the second, large and nearly empty, is compressed."""
    assert call("BF.RESERVE", "k", "BITSPERKEY", 10, CAPACITY, "EXPANSION", "4") == OK
    add_all(call, "k", range(CAPACITY))
    full = saved(server, "yes")
    add_all(call, "k", range(CAPACITY, CAPACITY + 1000))
    assert call("BF.INFO", "k", "FILTERS").plain == [2]
    plain, compressed = saved(server, "no"), saved(server, "yes")
    second = plain - full
    assert second > 4 * full
    assert compressed < full + second / 4


def test_no_stays_no(server, call):
    half_full(call, "k", "CLASSIC")
    nearly_empty(call, "e", "CLASSIC")
    size = saved(server, "no")
    assert size > 2_500_000
    assert compression(call) == NO
    assert call("CONFIG", "SET", "rdbcompression", "yes") == OK


# ---- The setting, by every way of writing a filter ----------------------------------------------


@pytest.fixture(params=LAYOUTS)
def filled(request, call):
    """`call` on a server that has rdbcompression yes and a half-full filter `k`."""
    assert call("CONFIG", "SET", "rdbcompression", "yes") == OK
    half_full(call, "k", request.param)
    return call


def test_setting_is_yes_after_save(filled):
    assert filled("SAVE") == OK
    assert compression(filled) == YES


def test_setting_is_yes_after_bgsave(filled):
    assert not filled("BGSAVE").is_error
    until_saved(filled)
    assert compression(filled) == YES


def test_setting_is_yes_while_a_child_saves(server, filled):
    """10 filters, 50 ms each: the child is at it for half a second, and switches 20 times."""
    for i in range(9):
        assert filled("COPY", "k", "k%d" % i) == ONE
    filled("CONFIG", "SET", "rdb-key-save-delay", 50_000)
    assert not filled("BGSAVE").is_error
    seen = []
    while server_info(filled, "persistence")["rdb_bgsave_in_progress"] == "1":
        seen.append(compression(filled))
    filled("CONFIG", "SET", "rdb-key-save-delay", 0)
    until_saved(filled)
    assert len(seen) > 10
    assert seen == [YES] * len(seen)


def test_setting_is_yes_after_dump_and_the_payload_is_the_filter(filled):
    payload = filled("DUMP", "k").plain
    assert compression(filled) == YES
    assert len(payload) > CAPACITY * 10 / 8
    assert filled("RESTORE", "copy", 0, payload) == OK
    same_filter(look(filled, "k"), look(filled, "copy"))


def test_setting_is_yes_after_an_aof_rewrite_with_an_rdb_preamble(new_server):
    server = new_server(config={**YES, "appendonly": "yes", "aof-use-rdb-preamble": "yes"})
    call = server.connection().call
    half_full(call, "k", "CLASSIC")
    before = look(call, "k")
    assert not call("BGREWRITEAOF").is_error
    until(lambda: server_info(call, "persistence")["aof_rewrite_in_progress"] == "0", "rewritten")
    assert server_info(call, "persistence")["aof_last_bgrewrite_status"] == "ok"
    assert compression(call) == YES
    server.restart()
    same_filter(before, look(server.connection().call, "k"))


@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_setting_is_yes_on_both_sides_of_a_full_resync(new_server, diskless):
    config = {**YES, **QUIET, "repl-diskless-sync": diskless}
    master, replica = new_server(config=config, tcp=True), new_server(config=config, tcp=True)
    call = master.connection().call
    half_full(call, "k", "BLOCKED")
    follow(replica, master)
    there = replica.connection().call
    same_filter(look(call, "k"), look(there, "k"))
    there("DUMP", "k").plain  # a replica can, too
    assert compression(call) == compression(there) == YES
    call("BF.ADD", "k2", "a").plain
    until_in_sync(replica, master)
    assert there("BF.EXISTS", "k2", "a") == ONE


def test_setting_is_yes_after_the_server_is_reloaded(filled):
    before = look(filled, "k")
    assert filled("DEBUG", "RELOAD") == OK
    assert compression(filled) == YES
    same_filter(before, look(filled, "k"))


@pytest.mark.parametrize("how", ["SHUTDOWN SAVE", "SIGTERM"])
def test_half_full_filter_is_saved_when_the_server_ends(new_server, how):
    """The last save is made by the server itself, and after a signal by none of its clients."""
    server = new_server(config={**YES, "save": "3600 1"})
    connection = server.connection()
    half_full(connection.call, "k", "BLOCKED")
    before = look(connection.call, "k")
    if how == "SIGTERM":
        server.process.terminate()
    else:
        connection.send("SHUTDOWN", "SAVE")
    assert server.process.wait(60) == 0
    server.kill9()  # only forgets it
    server.start()
    call = server.connection().call
    same_filter(before, look(call, "k"))
    assert compression(call) == YES


# ---- Where a command may not simply be called ---------------------------------------------------


def assert_is_k(call, payload):
    assert call("RESTORE", "copy", 0, payload, "REPLACE") == OK
    same_filter(look(call, "k"), look(call, "copy"))
    assert compression(call) == YES


def test_dump_inside_multi_works(filled):
    assert filled("MULTI") == OK
    for words in (("SET", "s", TEXT), ("DUMP", "k"), ("DUMP", "s"), ("DUMP", "k")):
        assert filled(*words) == Reply("+", "QUEUED")
    ok, first, text, second = filled("EXEC").plain
    assert ok == "OK" and first == second
    assert len(text) < len(TEXT) / 10
    assert_is_k(filled, first)


@pytest.mark.parametrize("command", ["EVAL", "EVAL_RO"])
def test_dump_inside_a_script_works(filled, command):
    assert_is_k(filled, filled(command, "return redis.call('DUMP', KEYS[1])", 1, "k").plain)


def test_dump_inside_a_script_changes_no_data_and_leaves_the_script_as_it_was(filled):
    before = changes(filled)
    script = "redis.call('DUMP', KEYS[1]) redis.call('SET', KEYS[2], 'x') return redis.call('GET', KEYS[2])"
    assert filled("EVAL", script, 2, "k", "s").plain == b"x"
    assert changes(filled) == before + 1
    assert compression(filled) == YES


def test_dump_changes_no_data(filled):
    before = changes(filled)
    filled("DUMP", "k").plain
    assert changes(filled) == before


def test_dump_by_a_user_who_may_not_use_config_works(server, filled):
    """The module's own calls do not count as the user's, and make no entry in the ACL log."""
    assert filled("ACL", "SETUSER", "dumper", "on", "nopass", "~*", "-@all", "+dump", "+auth") == OK
    other = server.connection().call
    assert other("AUTH", "dumper", "any") == OK
    assert other("CONFIG", "GET", "rdbcompression").is_error
    filled("ACL", "LOG", "RESET")
    payload = other("DUMP", "k").plain
    assert filled("ACL", "LOG") == array()
    assert_is_k(filled, payload)


def test_dump_under_maxmemory_works(filled):
    """CONFIG SET is no write, but the server checks memory for it too."""
    assert filled("CONFIG", "SET", "maxmemory", "1mb") == OK
    try:
        assert filled("SET", "s", "x").is_error
        payload = filled("DUMP", "k").plain
    finally:
        assert filled("CONFIG", "SET", "maxmemory", "0") == OK
    assert_is_k(filled, payload)


def test_without_a_config_command_filters_are_saved_and_loaded(new_server):
    server = new_server(config={**YES, "rename-command": ("CONFIG", "")})
    call = server.connection().call
    assert call("CONFIG", "GET", "rdbcompression").is_error
    half_full(call, "k", "CLASSIC")
    half_full(call, "b", "BLOCKED")
    nearly_empty(call, "e", "CLASSIC")
    before = {key: look(call, key) for key in "kbe"}
    assert call("RESTORE", "copy", 0, call("DUMP", "k").plain) == OK
    same_filter(before["k"], look(call, "copy"))
    assert not call("BGSAVE").is_error
    until_saved(call)
    assert call("SAVE") == OK
    # Compressed as usual: the 2.5 MB of `e` shrink to little.
    assert os.path.getsize(os.path.join(server.directory, "dump.rdb")) < 1_000_000
    server.restart()
    call = server.connection().call
    for key, expected in before.items():
        same_filter(expected, look(call, key), key)


def test_with_config_renamed_filters_are_saved_and_loaded(new_server):
    server = new_server(config={**YES, "rename-command": ("CONFIG", "SETTINGS")})
    call = server.connection().call
    half_full(call, "k", "CLASSIC")
    before = look(call, "k")
    assert call("SAVE") == OK
    assert call("SETTINGS", "GET", "rdbcompression").plain == [b"rdbcompression", b"yes"]
    server.restart()
    same_filter(before, look(server.connection().call, "k"))


def test_filter_loaded_half_way_is_saved_and_the_setting_is_yes(call):
    assert call("CONFIG", "SET", "rdbcompression", "yes") == OK
    load_random(call, "whole", 200_000)
    iterator, first = call("BF.SCANDUMP", "whole", 0).plain
    assert call("BF.LOADCHUNK", "half", iterator, first) == OK
    assert call("RESTORE", "copy", 0, call("DUMP", "half").plain) == OK
    assert call("BF.CARD", "copy") == error("ERR filter is being loaded")
    assert compression(call) == YES
