"""A filter is a key like any other: TYPE, TTL, RENAME, COPY, MULTI, scripts, files."""

import pytest

from checks import look_up_all, filter_state, info
from resp import OK, ONE, ZERO, array, bulk, error, integer, simple

ITEMS = ["item%d" % i for i in range(300)]

SHAPES = {
    "empty": ("0.01", "100"),
    "grown": ("0.01", "10"),
    "full": ("0.01", "50", "NONSCALING"),
    "bits": ("BITSPERKEY", "9.6", "33", "EXPANSION", "4"),
    "fnv": ("0.001", "20", "HASH", "FNV1A"),
    "single": ("BITSPERKEY", "1", "1", "NONSCALING"),
    "large": ("0.01", "3000000"),
}


@pytest.fixture
def filters(call):
    """One filter of each shape under its name; all states by key."""
    for name, words in SHAPES.items():
        assert call("BF.RESERVE", name, *words) == OK
        if name != "empty":
            call("BF.MADD", name, *ITEMS)
    return {name: filter_state(call, name) for name in SHAPES}


def states(call):
    return {name: filter_state(call, name) for name in SHAPES}


def test_type_is_bloomport_and_encoding_raw(call):
    call("BF.ADD", "k", "a")
    assert call("TYPE", "k") == simple("bloomport")
    assert call("OBJECT", "ENCODING", "k") == bulk("raw")


def test_scan_finds_filters_by_type(call):
    call("BF.ADD", "k", "a")
    call("SET", "other", "v")
    assert call("SCAN", 0, "COUNT", 1000, "TYPE", "bloomport").plain == [b"0", [b"k"]]


@pytest.mark.parametrize(
    "words",
    [
        ("BF.ADD", "k", "new"),
        ("BF.MADD", "k", *ITEMS),
        ("BF.INSERT", "k", "ITEMS", "new"),
        ("BF.EXISTS", "k", "a"),
    ],
    ids=lambda words: words[0],
)
def test_ttl_survives_writes_and_growth(call, words):
    call("BF.RESERVE", "k", "0.01", "10")
    call("EXPIRE", "k", 1000)
    call(*words)
    assert 900 < call("TTL", "k").value <= 1000


def test_expired_filter_is_gone(call):
    call("BF.ADD", "k", "a")
    call("PEXPIRE", "k", 1)
    call("DEBUG", "SLEEP", "0.01")
    assert call("BF.EXISTS", "k", "a") == ZERO
    assert call("BF.INFO", "k") == error("ERR not found")
    assert call("BF.ADD", "k", "a") == ONE
    assert call("TTL", "k") == integer(-1)


def test_rename_keeps_everything(call, filters):
    for name in SHAPES:
        assert call("RENAME", name, "renamed") == OK
        assert filter_state(call, "renamed") == filters[name]
        call("DEL", "renamed")


def test_move_and_swapdb_keep_everything(call, filters):
    assert call("MOVE", "grown", 1) == ONE
    assert call("EXISTS", "grown") == ZERO
    assert call("SWAPDB", 0, 1) == OK
    assert filter_state(call, "grown") == filters["grown"]


def test_dump_and_restore_keep_everything(call, filters):
    for name in SHAPES:
        payload = call("DUMP", name).plain
        assert call("RESTORE", "restored", 0, payload, "REPLACE") == OK
        assert filter_state(call, "restored") == filters[name]
        assert look_up_all(call, "restored", ITEMS) == look_up_all(call, name, ITEMS)


def test_restored_filter_goes_on_like_the_original(call, filters):
    call("RESTORE", "restored", 0, call("DUMP", "grown").plain)
    later = ["later%d" % i for i in range(500)]
    assert call("BF.MADD", "restored", *later) == call("BF.MADD", "grown", *later)
    assert filter_state(call, "restored") == filter_state(call, "grown")


def test_copy_is_the_same_filter_and_independent(call, filters):
    for name in SHAPES:
        assert call("COPY", name, "copy", "REPLACE") == ONE
        assert filter_state(call, "copy") == filters[name]
    call("COPY", "grown", "copy", "REPLACE")
    call("BF.MADD", "copy", *("later%d" % i for i in range(500)))
    assert filter_state(call, "grown") == filters["grown"]
    assert call("COPY", "grown", "copy") == ZERO


def test_copy_to_another_database_works(call, filters):
    assert call("COPY", "grown", "grown", "DB", 1) == ONE
    call("DEL", "grown")
    call("SELECT", 1)
    assert filter_state(call, "grown") == filters["grown"]
    call("SELECT", 0)


@pytest.mark.parametrize("command", ["DEL", "UNLINK"])
def test_deleted_filters_are_gone(call, filters, command):
    assert call(command, *SHAPES) == integer(len(SHAPES))
    assert call("DBSIZE") == ZERO
    assert call("BF.MEXISTS", "grown", *ITEMS[:3]).plain == [0, 0, 0]


@pytest.mark.parametrize("how", ["SYNC", "ASYNC"])
def test_flushall_removes_filters(call, filters, how):
    assert call("FLUSHALL", how) == OK
    assert call("BF.CARD", "grown") == ZERO


def test_set_overwrites_a_filter(call):
    call("BF.ADD", "k", "a")
    assert call("SET", "k", "v") == OK
    assert call("GET", "k") == bulk("v")


def test_multi_runs_the_commands_in_order(call):
    call("MULTI")
    for words in (("BF.ADD", "k", "a"), ("BF.MADD", "k", "a", "b"), ("BF.CARD", "k"), ("BF.EXISTS", "k", "b")):
        assert call(*words) == simple("QUEUED")
    assert call("EXEC") == array(ONE, array(ZERO, ONE), integer(2), ONE)


def test_error_inside_multi_is_one_element_and_the_rest_runs(call):
    call("MULTI")
    call("BF.RESERVE", "k", "2", "100")
    call("BF.ADD", "k", "a")
    first, second = call("EXEC").value
    assert first == error("ERR error rate must be in the range (0.000000, 1.000000)")
    assert second == ONE


def test_lua_scripts_can_call_the_commands(call):
    script = """
        local added = redis.call('BF.ADD', KEYS[1], ARGV[1])
        local seen = redis.call('BF.MEXISTS', KEYS[1], ARGV[1], ARGV[2])
        return {added, seen, redis.call('BF.CARD', KEYS[1])}
    """
    expected = array(ONE, array(ONE, ZERO), ONE)
    assert call("EVAL", script, 1, "k", "a", "b") == expected


def test_lua_pcall_gets_the_error_text(call):
    script = "return redis.pcall('BF.RESERVE', KEYS[1], '0.01', '0')['err']"
    text = call("EVAL", script, 1, "k").plain
    assert text.startswith(b"ERR capacity must be in the range")


def test_memory_usage_is_at_least_the_size(call, filters):
    for name in SHAPES:
        assert call("MEMORY", "USAGE", name).value >= info(call, name)["Size"]


def test_digest_changes_with_an_item_and_not_without(call):
    call("BF.RESERVE", "k", "0.01", "100")
    seen = [call("DEBUG", "DIGEST-VALUE", "k").plain[0]]
    assert seen[0].strip("0")
    call("BF.ADD", "k", "a")
    seen.append(call("DEBUG", "DIGEST-VALUE", "k").plain[0])
    call("BF.ADD", "k", "a")
    assert call("DEBUG", "DIGEST-VALUE", "k").plain[0] == seen[-1]
    assert seen[0] != seen[1]


def test_digest_tells_filters_with_other_parameters_apart(call):
    shapes = [("0.01", "100"), ("0.01", "101"), ("0.02", "100"), ("0.01", "100", "NONSCALING")]
    shapes += [("0.01", "100", "EXPANSION", "3"), ("0.01", "100", "HASH", "FNV1A")]
    digests = set()
    for i, words in enumerate(shapes):
        call("BF.RESERVE", "k%d" % i, *words)
        digests.add(call("DEBUG", "DIGEST-VALUE", "k%d" % i).plain[0])
    assert len(digests) == len(shapes)


def test_debug_reload_keeps_everything(call, filters):
    call("EXPIRE", "large", 1000)
    filters["large"] = filter_state(call, "large")  # the server digests the time to live too
    assert call("DEBUG", "RELOAD") == OK
    assert states(call) == filters
    assert call("TTL", "large").value > 900


def test_save_and_restart_keep_everything(new_server):
    server = new_server()
    call = server.connection().call
    for name, words in SHAPES.items():
        call("BF.RESERVE", name, *words)
        call("BF.MADD", name, *ITEMS[:200])
    call("EXPIRE", "grown", 1000)
    before = states(call)
    assert call("SAVE") == OK
    server.restart()
    call = server.connection().call
    assert states(call) == before
    assert call("TTL", "grown").value > 900
    assert call("BF.ADD", "grown", "one more") in (ONE, ZERO)


def test_saved_filters_do_not_depend_on_the_settings_of_the_server_that_loads(new_server):
    server = new_server()
    call = server.connection().call
    call("BF.MADD", "k", *ITEMS)
    before = filter_state(call, "k")
    call("CONFIG", "SET", "bf.error-rate", "0.3", "bf.initial-size", "7", "bf.expansion-factor", "0")
    call("CONFIG", "REWRITE")
    call("SAVE")
    server.restart()
    assert filter_state(server.connection().call, "k") == before


def test_bgsave_and_kill_keep_what_was_saved(new_server):
    server = new_server()
    r = server.client()
    r.execute_command("BF.MADD", "k", *ITEMS)
    before = filter_state(server.connection().call, "k")
    r.bgsave()
    while r.info("persistence")["rdb_bgsave_in_progress"]:
        pass
    server.kill9()
    server.start()
    assert filter_state(server.connection().call, "k") == before
