"""Time travels in the stream: windows on replicas whose clocks are hours away, in AOF and RDB files, in
dumps and copies, are the same bit by bit. What commands answer is in test_window.py.
"""

import random

import pytest

from checks import dump, layers_of, load
from clock import CALM
from filters import QUIET, Stream, follow, server_info, until, until_in_sync
from redis_server import Server
from resp import OK, ONE, ZERO, array, error
from test_redisbloom_master import errors_to_master

SERVER_HAS_CLOCK = True
SERVER_CONFIG = Stream.CONFIG

SECOND, HOUR, DAY = 1000, 3600_000, 86400_000
NOW = 1_600_000_000_000
WINDOW, GENERATIONS, STEP = 400, 4, 100 * SECOND
LIFE = (GENERATIONS + 1) * STEP
SHORT = ("WINDOW", WINDOW, "GENERATIONS", GENERATIONS)
CREATION = "BF.RESERVE k 0.001 1000 EXPANSION 2 LAYOUT CLASSIC HASH XXH64 WINDOW 400 GENERATIONS 4"


def reserve(call, key="k", *options, p="0.001", n=1000):
    assert call("BF.RESERVE", key, p, n, *SHORT, *options) == OK


def names(prefix, count):
    return ["%s%d" % (prefix, i) for i in range(count)]


def digest(call, key="k"):
    (seen,) = call("DEBUG", "DIGEST-VALUE", key).plain
    assert seen.strip("0"), "%s is not there" % key
    return seen


def ages(call, key="k"):
    return call("BF.INFO", key, "WINDOW").plain[0][2]


def fill(call, clock, key="k", steps=7, items=120):
    """Adds to several generations, one of them grown; the clock ends in the last one."""
    for i in range(steps):
        call("BF.MADD", key, *names("g%d-" % i, items * (5 if i == steps - 2 else 1))).plain
        if i < steps - 1:
            clock.advance(STEP)
    assert len(layers_of(call, key)) > GENERATIONS + 1


# ---- What the stream has -------------------------------------------------------------------------


@pytest.fixture
def taken(call, clock, stream):
    """taken() -> what came since the last time, one line for each command; the clock stands at NOW."""
    clock.stop(NOW)

    def take():
        lines = []
        for words in stream.take():
            name = words[0].decode().upper() if words[0].upper() in (b"MULTI", b"EXEC", b"DEL") else words[0].decode()
            lines.append(" ".join([name] + [word.decode() for word in words[1:]]))
        return lines

    return take


def test_a_creation_has_every_parameter(call, taken):
    reserve(call)
    assert taken() == [CREATION]
    assert call("BF.RESERVE", "l", "BITSPERKEY", "9.6", 7, "window", 60, "LAYOUT", "blocked", "EXPANSION", 4) == OK
    assert taken() == [
        "BF.RESERVE l BITSPERKEY 9.5999999999999996 7 EXPANSION 4 LAYOUT BLOCKED HASH XXH64 WINDOW 60 GENERATIONS 4"
    ]


def test_a_creation_with_a_ttl_has_its_time(call, taken):
    reserve(call, "k", "EX", 60)
    assert taken() == [CREATION + " PXAT %d" % (NOW + 60_000)]


def test_the_first_add_begins_the_first_generation(call, clock, taken):
    reserve(call)
    clock.advance(STEP + 5)
    taken()
    assert call("BF.ADD", "k", "a") == ONE
    assert taken() == ["MULTI", "BF.ROTATE k %d" % (NOW + STEP), "BF.ADD k a", "EXEC"]
    assert call("BF.ADD", "k", "b") == ONE
    assert call("BF.ADD", "k", "b") == ZERO
    assert taken() == ["BF.ADD k b"]


@pytest.mark.parametrize("words", [("BF.INSERT", "k", "EX", 60, *SHORT, "ERROR", "0.001", "CAPACITY", 1000, "ITEMS")])
def test_an_insert_that_creates_is_a_creation_a_step_and_an_add(call, taken, words):
    assert call(*words, "a", "b", "a").plain == [1, 1, 0]
    assert taken() == [
        "MULTI", CREATION + " PXAT %d" % (NOW + 60_000), "BF.ROTATE k %d" % NOW, "BF.MADD k a b", "EXEC",
    ]  # fmt: skip


@pytest.mark.parametrize("words", [("BF.ADD", "k", "a"), ("BF.MADD", "k", "a"), ("bf.insert", "k", "items", "a")])
def test_a_creation_by_the_setting_has_every_parameter_too(call, taken, words):
    assert call("CONFIG", "SET", "bf.window", 60) == OK
    try:
        assert call(*words).plain in (1, [1])
    finally:
        assert call("CONFIG", "SET", "bf.window", 0) == OK
    assert taken() == [
        "MULTI",
        "BF.RESERVE k 0.01 100 EXPANSION 2 LAYOUT CLASSIC HASH XXH64 WINDOW 60 GENERATIONS 4",
        "BF.ROTATE k %d" % (NOW - NOW % 15_000),
        "BF.MADD k a",
        "EXEC",
    ]


def test_a_step_comes_before_the_items_that_changed_the_window(call, clock, taken):
    reserve(call)
    call("BF.MADD", "k", "a", "b")
    taken()
    clock.advance(2 * STEP)
    assert call("BF.MADD", "k", "a", "c", "c", "b").plain == [0, 1, 0, 0]
    assert taken() == ["MULTI", "BF.ROTATE k %d" % (NOW + 2 * STEP), "BF.MADD k a c b", "EXEC"]
    assert call("BF.INSERT", "k", "ITEMS", "a", "b", "c").plain == [0, 0, 0]
    assert taken() == []
    assert call("BF.INSERT", "k", "NOCREATE", "ITEMS", "a", "d").plain == [0, 1]
    assert taken() == ["BF.MADD k d"]


@pytest.mark.parametrize("name, words", [("bf.add", ["BF.MADD k a"]), ("BF.MADD", ["BF.MADD k a"]), ("Bf.Madd", ["BF.MADD k a"])])
def test_the_name_of_the_command_is_canonical_after_a_step(call, clock, taken, name, words):
    reserve(call)
    taken()
    call(name, "k", "a").plain
    assert taken() == ["MULTI", "BF.ROTATE k %d" % NOW, *words, "EXEC"]


def test_what_is_dropped_is_one_command_with_the_start_of_the_newest(call, clock, taken):
    reserve(call)
    for _ in range(4):
        call("BF.ADD", "k", "a")
        clock.advance(STEP)
    taken()
    assert call("bf.rotate", "k") == OK
    assert taken() == []
    clock.advance(LIFE - 3 * STEP + 77)
    assert call("bf.rotate", "k") == OK
    assert taken() == ["BF.ROTATE k DROP %d" % (NOW + STEP)]
    assert call("BF.ROTATE", "k") == OK
    assert taken() == []


def test_all_dropped_is_a_window_cleared(call, clock, taken):
    """Which version 0.2.0 knows too."""
    reserve(call)
    call("BF.ADD", "k", "a")
    clock.advance(LIFE)
    taken()
    assert call("BF.ROTATE", "k") == OK
    assert taken() == ["BF.CLEAR k"]
    assert call("BF.ROTATE", "k") == OK
    assert taken() == []


@pytest.mark.parametrize("words", [("DROP", NOW), (NOW, "DROP"), ("DROP",), ("DROP", 0)])
def test_a_client_says_nothing_of_what_is_to_be_dropped(call, taken, words):
    reserve(call)
    call("BF.ADD", "k", "a")
    taken()
    assert call("BF.ROTATE", "k", *words).is_error
    assert taken() == []


def test_transactions_and_scripts_have_the_same_commands_inside_their_own_multi(server, call, clock, taken):
    reserve(call)
    call("BF.ADD", "k", "a")
    taken()
    clock.advance(STEP)
    for words in (("MULTI",), ("BF.ADD", "k", "a"), ("BF.ROTATE", "k"), ("BF.ADD", "k", "b"), ("BF.EXISTS", "k", "a")):
        call(*words).plain
    assert call("EXEC") == array(ZERO, OK, ONE, ONE)
    assert taken() == ["MULTI", "BF.ROTATE k %d" % (NOW + STEP), "BF.ADD k a", "BF.ADD k b", "EXEC"]
    clock.advance(LIFE - STEP)
    script = "redis.call('BF.ROTATE', KEYS[1]) return redis.call('BF.MADD', KEYS[1], 'a', 'c', 'c')"
    assert call("EVAL", script, 1, "k").plain == [0, 1, 0]
    assert taken() == ["MULTI", "BF.ROTATE k DROP %d" % NOW, "BF.ROTATE k %d" % (NOW + LIFE), "BF.MADD k a c", "EXEC"]
    reply = call("EVAL", "return redis.pcall('BF.ROTATE', KEYS[1], ARGV[1])", 1, "k", NOW + 3 * STEP)
    assert reply.is_error and "BF.ROTATE takes a time only in a replication stream or an AOF" in reply.value
    assert taken() == []


def test_clear_and_merge_are_propagated_as_they_are(call, clock, taken):
    reserve(call)
    call("BF.ADD", "k", "a")
    taken()
    assert call("BF.MERGE", "l", "k") == OK
    assert call("BF.CLEAR", "k") == OK
    assert call("BF.CLEAR", "k") == OK
    assert taken() == ["BF.MERGE l k", "BF.CLEAR k"]


def test_a_batch_of_over_512_items_has_its_step_before_it(call, clock, taken):
    reserve(call, p="0.01", n=100_000)
    call("BF.ADD", "k", "x")
    taken()
    clock.advance(STEP)
    call("BF.MADD", "k", *names("i", 1000), "i1").plain
    lines = taken()
    assert lines[:2] == ["MULTI", "BF.ROTATE k %d" % (NOW + STEP)] and lines[3:] == ["EXEC"]
    assert lines[2].startswith("BF.MADD k i0 i1 ")


# ---- Master and replica --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def servers():
    """A master and its replica, each with its own clock."""
    master = Server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    replica = Server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    try:
        follow(replica.start(), master.start())
        yield master, replica
    finally:
        for server in (replica, master):
            server.close()


@pytest.fixture
def pair(servers):
    master, replica = servers
    assert master.call("FLUSHALL", "SYNC") == OK
    master.clock.stop(NOW)
    replica.clock.stop(NOW)
    until_in_sync(replica, master)
    yield master, replica
    for server in servers:
        server.check_alive()
        server.clock.go_on()
        server.clock.set(0)


def assert_agree(master, replica, *keys):
    until_in_sync(replica, master)
    for key in keys:
        assert digest(replica.call, key) == digest(master.call, key), key
        assert dump(replica.call, key) == dump(master.call, key), key
    assert replica.call("DEBUG", "DIGEST") == master.call("DEBUG", "DIGEST")
    assert server_info(replica.call, "stats").get("unexpected_error_replies", "0") == "0", replica.log_tail()


SKEWS = {"behind": -9 * HOUR, "ahead": 9 * HOUR, "years-ahead": 1000 * DAY, "equal": 0}


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED"])
@pytest.mark.parametrize("skew", SKEWS.values(), ids=SKEWS)
def test_a_replica_has_the_same_bits_whatever_its_clock_shows(pair, skew, layout):
    master, replica = pair
    replica.clock.set(skew)
    source = random.Random(skew)
    reserve(master.call, "k", "LAYOUT", layout, n=400)
    for i in range(15):
        master.call("BF.MADD", "k", *("i%d" % source.randrange(500) for _ in range(source.choice([1, 40, 250])))).plain
        if i % 4 == 3:
            master.call("BF.ROTATE", "k").plain
        assert_agree(master, replica, "k")
        master.clock.advance(source.choice([0, STEP // 2, STEP, 2 * STEP, -STEP]))
        replica.clock.advance(source.choice([0, STEP, -STEP]))
    for server in pair:
        server.clock.set(master.clock.offset_ms)
    asked = names("i", 500)
    assert replica.call("BF.MEXISTS", "k", *asked) == master.call("BF.MEXISTS", "k", *asked)
    assert replica.call("BF.INFO", "k", "WINDOW") == master.call("BF.INFO", "k", "WINDOW")


@pytest.mark.parametrize("skew", SKEWS.values(), ids=SKEWS)
def test_a_replica_drops_what_its_master_drops_whatever_its_clock_shows(pair, skew):
    master, replica = pair
    replica.clock.set(skew)
    reserve(master.call, "k", n=400)
    for _ in range(4):
        master.call("BF.MADD", "k", *names("a", 200)).plain
        master.clock.advance(STEP)
    held = []
    for _ in range(8):
        assert master.call("BF.ROTATE", "k") == OK
        assert_agree(master, replica, "k")
        held.append(len(layers_of(master.call, "k")))
        master.clock.advance(STEP)
    assert held[0] > 4 and held[-1] == 1 and len(set(held)) == 5
    assert master.call("BF.INFO", "k", "ITEMS").plain == [0]
    master.call("BF.ADD", "k", "new").plain
    assert_agree(master, replica, "k")


def test_a_replica_judges_age_by_its_own_clock_and_changes_nothing(pair):
    master, replica = pair
    reserve(master.call)
    master.call("BF.ADD", "k", "a")
    replica.clock.set(LIFE)
    assert_agree(master, replica, "k")
    assert master.call("BF.EXISTS", "k", "a") == ONE
    assert replica.call("BF.EXISTS", "k", "a") == ZERO
    assert replica.call("BF.CARD", "k") == ZERO
    replica.clock.set(0)
    assert replica.call("BF.EXISTS", "k", "a") == ONE
    assert_agree(master, replica, "k")


def test_the_setting_of_the_replica_does_not_concern_what_it_replays(pair):
    master, replica = pair
    assert replica.call("CONFIG", "SET", "bf.window", 60, "bf.expansion-factor", 0) == OK
    try:
        for key, words in (("a", ("BF.ADD", "a", "x")), ("b", ("BF.INSERT", "b", "ITEMS", "x")),
                           ("c", ("BF.RESERVE", "c", "0.01", 100, "WINDOW", 9)), ("c", ("BF.ADD", "c", "x"))):  # fmt: skip
            master.call(*words).plain
            assert_agree(master, replica, key)
        assert replica.call("BF.INFO", "a", "WINDOW").plain == [None]
    finally:
        assert replica.call("CONFIG", "SET", "bf.window", 0, "bf.expansion-factor", 2) == OK


def test_limits_of_the_replica_do_not_concern_what_it_replays(pair):
    master, replica = pair
    assert replica.call("CONFIG", "SET", "bf.max-bytes", 1) == OK
    try:
        reserve(master.call)
        fill(master.call, master.clock)
        assert_agree(master, replica, "k")
    finally:
        assert replica.call("CONFIG", "SET", "bf.max-bytes", 0) == OK


def test_merged_cleared_and_copied_windows_agree_on_the_replica(pair):
    master, replica = pair
    replica.clock.set(-7 * HOUR)
    call = master.call
    for key in ("a", "b", "c"):
        reserve(call, key)
    call("BF.MADD", "a", *names("a0-", 100))
    master.clock.advance(2 * STEP)
    call("BF.MADD", "b", *names("b2-", 300))
    call("BF.MADD", "a", *names("a2-", 50))
    master.clock.advance(3 * STEP)
    call("BF.MADD", "b", *names("b5-", 100))
    for words in (("BF.MERGE", "new", "a", "b"), ("BF.MERGE", "c", "a"), ("BF.MERGE", "a", "b", "c"), ("COPY", "a", "d"),
                  ("BF.CLEAR", "b"), ("BF.MERGE", "b", "a", "missing"), ("BF.MERGE", "b", "b")):  # fmt: skip
        assert call(*words).plain in ("OK", 1), words
        assert_agree(master, replica, *(key.decode() for key in call("KEYS", "*").plain))


def test_a_promoted_replica_goes_on_where_the_master_was(new_server):
    master = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    replica = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    master.clock.stop(NOW)
    replica.clock.stop(NOW + 3 * HOUR)  # ahead
    follow(replica, master)
    reserve(master.call)
    fill(master.call, master.clock, steps=6)
    until_in_sync(replica, master)
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    replica.clock.stop(NOW)
    replica.clock.set(master.clock.offset_ms)
    for call in (master.call, replica.call):
        call("BF.MADD", "k", *names("both", 50)).plain
    assert digest(replica.call) == digest(master.call)
    for server in (master, replica):
        server.clock.advance(STEP)
        server.call("BF.MADD", "k", *names("later", 50)).plain
    assert digest(replica.call) == digest(master.call)
    assert replica.call("BF.INFO", "k", "WINDOW") == master.call("BF.INFO", "k", "WINDOW")


def test_a_promoted_replica_whose_clock_is_behind_loses_nothing(new_server):
    master = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    replica = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    master.clock.stop(NOW)
    replica.clock.stop(NOW - 5 * HOUR)
    follow(replica, master)
    reserve(master.call)
    master.call("BF.MADD", "k", *names("a", 50))
    until_in_sync(replica, master)
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    assert replica.call("BF.ADD", "k", "b") == ONE
    assert all(replica.call("BF.MEXISTS", "k", "b", *names("a", 50)).plain)
    assert ages(replica.call) == [[0, 51]]


def test_a_full_sync_brings_windows_as_they_are(new_server):
    master = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    replica = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    master.clock.stop(NOW)
    reserve(master.call)
    fill(master.call, master.clock)
    replica.clock.stop(NOW + DAY)
    follow(replica, master)
    assert digest(replica.call) == digest(master.call)
    master.clock.advance(STEP)
    master.call("BF.ADD", "k", "a")
    until_in_sync(replica, master)
    assert digest(replica.call) == digest(master.call)


def test_a_replica_that_lost_the_window_does_not_make_another_filter_of_the_stream(new_server):
    """A replica may evict keys by itself."""
    master = new_server(config={**CALM, **QUIET}, tcp=True, has_clock=True)
    replica = new_server(config={**CALM, **QUIET, "replica-read-only": "no"}, tcp=True)
    master.clock.stop(NOW)
    follow(replica, master)
    reserve(master.call)
    master.call("BF.ADD", "k", "a")
    until_in_sync(replica, master)
    assert replica.call("DEL", "k") == ONE
    master.clock.advance(STEP)
    master.call("BF.MADD", "k", "b", "c")
    until_in_sync(replica, master)
    assert replica.call("EXISTS", "k") == ZERO
    assert errors_to_master(replica) == []


# ---- Files ---------------------------------------------------------------------------------------


def down_for(server, ms):
    """A restart after which the clock shows `ms` more."""
    server.stop()
    server.clock.advance(ms)
    server.start()


@pytest.mark.parametrize("downtime", [0, STEP, DAY, -DAY])
@pytest.mark.parametrize("way", ["aof", "rewritten", "preamble", "rdb"])
def test_a_window_comes_back_after_any_downtime(new_server, way, downtime):
    config = {"appendonly": "no" if way == "rdb" else "yes", "auto-aof-rewrite-percentage": "0",
              "aof-use-rdb-preamble": "yes" if way == "preamble" else "no"}  # fmt: skip
    server = new_server(config=config, has_clock=True)
    server.clock.stop(NOW)
    call = server.call
    reserve(call, "k")
    reserve(call, "fresh")
    reserve(call, "blocked", "LAYOUT", "BLOCKED")
    for key in ("k", "blocked"):
        server.clock.set(0)
        fill(call, server.clock, key)
    if way == "rdb":
        assert call("SAVE") == OK
    elif way != "aof":
        call("BGREWRITEAOF").plain
        until(lambda: server_info(call, "persistence")["aof_rewrite_in_progress"] == "0", "the rewrite is done")
        assert call("BF.ADD", "k", "after the rewrite") == ONE
    before = {key: (digest(call, key), dump(call, key)) for key in ("k", "fresh", "blocked")}
    newest, card = call("BF.MEXISTS", "k", *names("g6-", 120)), call("BF.CARD", "k")
    down_for(server, downtime)
    assert {key: (digest(call, key), dump(call, key)) for key in before} == before
    if downtime == DAY:
        assert call("BF.CARD", "k") == ZERO and not any(call("BF.MEXISTS", "k", *names("g6-", 120)).plain)
    elif downtime <= 0:
        assert call("BF.MEXISTS", "k", *names("g6-", 120)) == newest and call("BF.CARD", "k") == card
    else:
        assert call("BF.MEXISTS", "k", *names("g3-", 120)).plain == [1] * 120
        assert sum(call("BF.MEXISTS", "k", *names("g2-", 120)).plain) <= 2, "its generation is over"
    assert call("BF.MADD", "k", "x", "y").plain == [1, 1]
    assert call("BF.MEXISTS", "k", "x", "y").plain == [1, 1]


def test_an_aof_is_replayed_without_a_look_at_the_clock_or_the_settings(new_server):
    server = new_server(config={"appendonly": "yes", "auto-aof-rewrite-percentage": "0"}, has_clock=True)
    server.clock.stop(NOW)
    call = server.call
    assert call("BF.INSERT", "k", *SHORT, "EX", 10**6, "ITEMS", "a").plain == [1]
    assert call("BF.ADD", "plain", "a") == ONE
    fill(call, server.clock, items=30)
    before = [digest(call), digest(call, "plain"), call("PEXPIRETIME", "k")]
    assert call("CONFIG", "SET", "bf.window", 77, "bf.max-bytes", 100_000) == OK
    assert call("CONFIG", "REWRITE") == OK
    down_for(server, -1000 * DAY)
    assert call("CONFIG", "GET", "bf.window").plain == [b"bf.window", b"77"]
    assert [digest(call), digest(call, "plain"), call("PEXPIRETIME", "k")] == before


@pytest.fixture
def filled(call, clock):
    clock.stop(NOW)
    reserve(call)
    fill(call, clock)
    return digest(call)


def test_dump_and_restore_at_another_time_give_the_same_window(call, clock, filled):
    payload = call("DUMP", "k").plain
    for ms in (-DAY, 0, DAY):
        clock.advance(ms)
        assert call("RESTORE", "l", 0, payload, "REPLACE") == OK
        assert digest(call, "l") == filled
        assert call("DUMP", "l").plain == payload


def test_copies_and_renamed_windows_are_the_same(call, clock, filled):
    clock.advance(DAY)
    assert call("COPY", "k", "l") == ONE
    assert call("RENAME", "l", "m") == OK
    assert digest(call, "m") == filled
    clock.advance(-DAY)
    assert call("BF.ADD", "m", "x") == ONE
    assert digest(call, "k") == filled


def test_scandump_and_loadchunk_at_another_time_give_the_same_window(call, clock, filled):
    chunks = dump(call, "k")
    clock.advance(DAY)
    assert dump(call, "k") == chunks
    load(call, "l", chunks)
    assert digest(call, "l") == filled
    assert call("BF.INFO", "l", "WINDOW") == call("BF.INFO", "k", "WINDOW")


def test_a_window_that_is_being_loaded_refuses_the_new_commands(call, filled):
    chunks = dump(call, "k")
    load(call, "l", chunks[:2])
    for words in (("BF.ROTATE", "l"), ("BF.DEL", "l", "a"), ("BF.COUNT", "l", "a")):
        assert call(*words) == error("ERR filter is being loaded")
    load(call, "l", chunks[2:])
    assert digest(call, "l") == filled


def test_debug_reload_and_loadaof_keep_the_window(call, filled):
    assert call("DEBUG", "RELOAD") == OK
    assert digest(call) == filled
    assert call("DEBUG", "LOADAOF") == OK
    assert digest(call) == filled


# ---- BF.MERGE ------------------------------------------------------------------------------------


def test_a_merge_unites_generations_of_equal_start(call, clock):
    """Against a window that got all adds itself: equal bits, generation by generation."""
    clock.stop(NOW)
    for key in ("a", "b", "both"):
        reserve(call, key)
    for i in range(6):
        for key in ("a", "b"):
            if (key, i) not in (("a", 2), ("b", 4)):
                items = names("%s%d-" % (key, i), 80)
                call("BF.MADD", key, *items).plain
                call("BF.MADD", "both", *items).plain
        clock.advance(STEP)
    clock.advance(-STEP)
    assert call("BF.MERGE", "a", "b") == OK
    assert dump(call, "a")[1:] == dump(call, "both")[1:]
    assert [age for age, _ in ages(call, "a")] == [age for age, _ in ages(call, "both")]
    for key in ("a", "b"):
        assert all(call("BF.MEXISTS", "a", *names(key + "3-", 80)).plain)


def test_a_merge_with_a_later_window_drops_what_is_over_by_then(call, clock):
    clock.stop(NOW)
    reserve(call, "old"), reserve(call, "new")
    call("BF.MADD", "old", *names("first", 80))
    clock.advance(STEP)
    call("BF.MADD", "old", *names("second", 80))
    clock.advance(LIFE - STEP)
    call("BF.MADD", "new", *names("third", 80))
    for dest, source in (("old", "new"), ("new", "old")):
        assert call("COPY", dest, "dest", "REPLACE") == ONE
        assert call("BF.MERGE", "dest", source) == OK
        assert [age for age, _ in ages(call, "dest")] == [0, LIFE - STEP]
        assert all(call("BF.MEXISTS", "dest", *names("second", 80), *names("third", 80)).plain)
        assert sum(call("BF.MEXISTS", "dest", *names("first", 80)).plain) <= 2


def test_windows_that_have_not_begun_merge_with_those_that_have(call, clock):
    clock.stop(NOW)
    reserve(call, "fresh"), reserve(call, "begun"), reserve(call, "other")
    call("BF.MADD", "begun", *names("a", 80))
    before = dump(call, "begun")
    assert call("BF.MERGE", "begun", "fresh") == OK
    assert dump(call, "begun") == before
    assert call("BF.MERGE", "fresh", "begun") == OK
    assert dump(call, "fresh")[1:] == before[1:]
    assert ages(call, "fresh") == ages(call, "begun")
    assert call("BF.CLEAR", "fresh") == OK
    empty = digest(call, "other")
    assert call("BF.MERGE", "other", "fresh") == OK
    assert digest(call, "other") == empty


def test_a_merge_is_judged_by_no_clock(call, clock):
    clock.stop(NOW)
    reserve(call, "a")
    call("BF.MADD", "a", *names("a", 80))
    clock.advance(DAY)
    assert call("BF.MERGE", "new", "a") == OK
    assert dump(call, "new") == dump(call, "a")
    assert call("BF.CARD", "new") == ZERO
    clock.advance(-DAY)
    assert all(call("BF.MEXISTS", "new", *names("a", 80)).plain)


def test_merged_generations_that_grew_keep_every_layer(call, clock):
    clock.stop(NOW)
    reserve(call, "a"), reserve(call, "b")
    call("BF.MADD", "a", *names("a", 2000))
    call("BF.MADD", "b", *names("b", 100))
    clock.advance(STEP)
    call("BF.MADD", "b", *names("c", 2000))
    assert call("BF.MERGE", "b", "a") == OK
    assert all(call("BF.MEXISTS", "b", *names("a", 2000), *names("b", 100), *names("c", 2000)).plain)
    assert call("BF.ADD", "b", "goes on") == ONE
    clock.advance(STEP)
    assert call("BF.ADD", "b", "and steps") == ONE
    assert call("DEBUG", "RELOAD") == OK


# ---- Version 0.1.0 -------------------------------------------------------------------------------


def test_the_header_of_other_filters_is_still_of_version_1(call, clock):
    reserve(call)
    assert call("BF.RESERVE", "counting", "0.01", 100, "LAYOUT", "COUNTING") == OK
    for key, words, version in (("plain", (), 1), ("blocked", ("LAYOUT", "BLOCKED"), 1), ("ttl", ("EX", 100), 1)):
        assert call("BF.RESERVE", key, "0.01", 100, *words) == OK
        assert dump(call, key)[0][1][8:12] == version.to_bytes(4, "little")
    for key in ("k", "counting"):
        assert dump(call, key)[0][1][8:12] == b"\2\0\0\0"


