"""EX, PX and PXAT of BF.RESERVE and BF.INSERT: a TTL that comes with the creation, and never without one."""

import pytest

from checks import arity_error, assert_refused, changes
from clock import CALM
from filters import QUIET, Stream, follow, server_info, until, until_in_sync
from resp import OK, ONE, ZERO, array, error, integer

SERVER_HAS_CLOCK = True
SERVER_CONFIG = Stream.CONFIG

NOW = 1_600_000_000_123
DAY = 86400_000
MOST = 2**63 - 1

# the options, and when the key ends
ENDS = {
    "ex": (("EX", 60), NOW + 60_000),
    "px": (("pX", 77), NOW + 77),
    "pxat": (("PXAT", NOW + 5), NOW + 5),
    "ex-1": (("ex", 1), NOW + 1000),
    "px-most": (("PX", MOST - NOW), MOST),
    "pxat-most": (("PXAT", MOST), MOST),
    "ex-most": (("EX", (MOST - NOW) // 1000), NOW + (MOST - NOW) // 1000 * 1000),
}
# what stands beside them: a filter of every kind
KINDS = {
    "plain": (),
    "blocked": ("LAYOUT", "BLOCKED"),
    "counting": ("LAYOUT", "COUNTING"),
    "window": ("WINDOW", 60),
    "nonscaling": ("NONSCALING",),
}


@pytest.fixture(autouse=True)
def stopped(clock):
    clock.stop(NOW)


def reserve(key, *options):
    return ("BF.RESERVE", key, "0.01", 100, *options)


def insert(key, *options, items=("a",)):
    return ("BF.INSERT", key, *options, "ITEMS", *items)


COMMANDS = {"bf.reserve": reserve, "bf.insert": insert}
both = pytest.mark.parametrize("name", COMMANDS)


# ---- What they do --------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ENDS)
def test_the_key_that_is_created_gets_the_ttl(call, name, case, kind):
    options, end = ENDS[case]
    assert call(*COMMANDS[name]("k", *options, *KINDS[kind])).plain in ("OK", [1])
    assert call("PEXPIRETIME", "k") == integer(end)
    assert call(*COMMANDS[name]("l", *KINDS[kind], *options)).plain in ("OK", [1])
    assert call("PEXPIRETIME", "l") == integer(end)


def test_large_filters_get_it_too(call):
    """A small one is packed when it is given to the key."""
    assert call("BF.RESERVE", "k", "0.01", 1_000_000, "EX", 60) == OK
    assert call("BF.INSERT", "l", "CAPACITY", 1_000_000, "EX", 60, "ITEMS", "a").plain == [1]
    assert call("PTTL", "k") == call("PTTL", "l") == integer(60_000)


@both
def test_without_them_there_is_no_ttl(call, name):
    call(*COMMANDS[name]("k")).plain
    assert call("PTTL", "k") == integer(-1)


@pytest.mark.parametrize("case", ENDS)
def test_an_insert_into_an_existing_key_leaves_its_ttl_alone(call, events, stream, case):
    call("BF.ADD", "k", "a"), call("BF.ADD", "l", "a")
    call("PEXPIRE", "l", DAY)
    events(), stream.take()
    options, _ = ENDS[case]
    for key in "kl":
        assert call(*insert(key, *options, items=("a", "b"))) == array(ZERO, ONE)
        assert call(*insert(key, "NOCREATE", *options, items=("a", "c"))) == array(ZERO, ONE)
    assert call("PTTL", "k") == integer(-1)
    assert call("PTTL", "l") == integer(DAY)
    assert events() == [(key, "bf.add") for key in "kkll"]
    assert [b" ".join(words) for words in stream.take()] == [b"BF.MADD %s %s" % (k, i) for k in (b"k", b"l") for i in (b"b", b"c")]


def test_a_reserve_of_an_existing_key_is_refused_and_leaves_its_ttl_alone(call):
    call("BF.ADD", "k", "a")
    assert_refused(call, "ERR item exists", *reserve("k", "EX", 60))
    assert_refused(call, "ERR not found", *insert("missing", "EX", 60, "NOCREATE"))


@both
def test_the_key_ends_when_the_clock_gets_there(call, clock, name):
    call(*COMMANDS[name]("k", "PX", 1000)).plain
    clock.advance(999)
    assert call("EXISTS", "k") == ONE
    clock.advance(2)
    assert call("EXISTS", "k") == ZERO
    call(*COMMANDS[name]("k")).plain
    assert call("PTTL", "k") == integer(-1), "a later filter of that name has none"


# ---- The stream and the events -------------------------------------------------------------------


def lines(stream):
    return [" ".join(word.decode() for word in words) for words in stream.take()]


@pytest.mark.parametrize("case", ENDS)
def test_the_ttl_is_in_the_creation_as_pxat(call, stream, case):
    options, end = ENDS[case]
    call(*reserve("k", *options, "EXPANSION", 4)).plain
    assert lines(stream) == ["BF.RESERVE k 0.01 100 EXPANSION 4 LAYOUT CLASSIC HASH XXH64 PXAT %d" % end]
    call(*insert("l", *options, items=("a", "b", "a"))).plain
    assert lines(stream) == [
        "BF.INSERT l CAPACITY 100 ERROR 0.01 EXPANSION 2 LAYOUT CLASSIC HASH XXH64 PXAT %d ITEMS a b" % end
    ]


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_a_creation_without_a_ttl_has_no_word_of_it(call, stream, options):
    call(*reserve("k", *options)).plain
    call(*insert("l", *options)).plain
    assert not any("PX" in line for line in lines(stream))


@both
@pytest.mark.parametrize("kind", KINDS)
def test_the_events_are_the_commands_own_and_then_expire(call, events, name, kind):
    events()
    call(*COMMANDS[name]("k", "EX", 60, *KINDS[kind])).plain
    seen = [event for key, event in events() if event != "new"]
    steps = ["bf.rotate"] if kind == "window" and name == "bf.insert" else []
    assert seen == [*steps, "bf.reserve" if name == "bf.reserve" else "bf.add", "expire"]
    call(*COMMANDS[name]("l", *KINDS[kind])).plain
    assert "expire" not in [event for key, event in events()]


def test_set_announces_expire_last_too(call, events):
    """The oracle of the order."""
    events()
    call("SET", "k", "v", "EX", 60)
    assert [event for key, event in events() if event != "new"] == ["set", "expire"]


@pytest.mark.parametrize("skew", [-DAY // 2, 0, DAY // 2])
def test_a_replica_and_a_restart_have_the_same_time(new_server, skew):
    config = {**CALM, **QUIET, "appendonly": "yes", "auto-aof-rewrite-percentage": "0"}
    master, replica = (new_server(config=config, tcp=True, has_clock=True) for _ in range(2))
    master.clock.stop(NOW)
    replica.clock.stop(NOW + skew)
    follow(replica, master)
    for name, kind in ((name, kind) for name in COMMANDS for kind in KINDS):
        master.call(*COMMANDS[name](name + kind, "EX", DAY // 1000, *KINDS[kind])).plain
    keys = [name + kind for name in COMMANDS for kind in KINDS]
    until_in_sync(replica, master)
    ends = [master.call("PEXPIRETIME", key) for key in keys]
    assert ends == [integer(NOW + DAY)] * len(keys)
    assert [replica.call("PEXPIRETIME", key) for key in keys] == ends
    assert replica.call("DEBUG", "DIGEST") == master.call("DEBUG", "DIGEST")
    for rewritten in (False, True):
        if rewritten:
            master.call("BGREWRITEAOF").plain
            until(lambda: server_info(master.call, "persistence")["aof_rewrite_in_progress"] == "0", "it is rewritten")
        master.restart()
        assert [master.call("PEXPIRETIME", key) for key in keys] == ends


def test_a_replayed_creation_whose_time_is_over_ends_as_the_master_says(new_server):
    """The replica's clock is ahead: it hides the key and keeps it until its master deletes it."""
    config = {**CALM, **QUIET}
    master, replica = (new_server(config=config, tcp=True, has_clock=True) for _ in range(2))
    master.clock.stop(NOW)
    replica.clock.stop(NOW + DAY)
    follow(replica, master)
    assert master.call(*insert("k", "EX", 60, "WINDOW", 400)).plain == [1]
    assert master.call("BF.MADD", "k", "b", "c").plain == [1, 1]
    until_in_sync(replica, master)
    assert replica.call("BF.EXISTS", "k", "b") == ZERO
    replica.clock.stop(NOW)
    assert replica.call("BF.MEXISTS", "k", "a", "b", "c") == array(ONE, ONE, ONE)
    assert replica.call("DEBUG", "DIGEST-VALUE", "k") == master.call("DEBUG", "DIGEST-VALUE", "k")
    master.clock.advance(60_001)
    assert master.call("EXISTS", "k") == ZERO
    until_in_sync(replica, master)
    assert replica.call("DBSIZE") == ZERO


@both
def test_a_time_that_is_over_creates_a_key_that_has_expired(call, stream, events, name):
    """As SET .. PXAT does on Redis; SET of Valkey 9 creates nothing, with the same end."""
    events(), stream.take()
    assert call(*COMMANDS[name]("k", "PXAT", NOW - 1)).plain in ("OK", [1])
    assert call("EXISTS", "k") == ZERO
    assert call("BF.EXISTS", "k", "a") == ZERO
    own = "bf.reserve" if name == "bf.reserve" else "bf.add"
    assert [event for _, event in events() if event != "new"] == [own, "expire", "expired"]
    creation, deletion = stream.take()
    assert creation[0].decode().lower() == name and deletion[0].upper() in (b"DEL", b"UNLINK")
    assert call("DBSIZE") == ZERO
    assert call("SET", "s", "v", "PXAT", NOW - 1) == OK
    assert call("EXISTS", "s") == ZERO


def test_a_script_and_a_transaction_propagate_one_time(call, stream):
    assert call("EVAL", "return redis.call('BF.RESERVE', KEYS[1], 0.01, 100, 'PX', 500)", 1, "k") == OK
    call("MULTI"), call(*insert("l", "PX", 500)), call(*insert("l", "PX", 900))
    assert call("EXEC") == array(array(ONE), array(ZERO))
    seen = [line for line in lines(stream) if line.upper() not in ("MULTI", "EXEC")]
    assert [line.split(" PXAT ")[1].split()[0] for line in seen] == [str(NOW + 500)] * 2


# ---- What is refused -----------------------------------------------------------------------------

NOT_INTEGER = "ERR value is not an integer or out of range"
TWICE = "ERR EX, PX and PXAT exclude each other"
WORDS = ["EX", "PX", "PXAT"]


@both
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("value", ["", "x", "1.5", "1e3", " 1", "1 ", "0x10", "9223372036854775808", "nan", "+1"])
def test_a_value_that_is_no_integer_is_refused(call, stream, name, word, value):
    assert_refused(call, NOT_INTEGER, *COMMANDS[name]("k", word, value))
    assert stream.take() == []


@both
@pytest.mark.parametrize("word, value", [
    *((word, value) for word in WORDS for value in (0, -1, -(2**63))),
    ("EX", MOST), ("EX", MOST // 1000), ("EX", (MOST - NOW) // 1000 + 1), ("PX", MOST), ("PX", MOST - NOW + 1),
])  # fmt: skip
def test_a_time_that_is_not_positive_or_too_late_is_refused(call, stream, name, word, value):
    text = "ERR invalid expire time in '%s' command" % name
    assert_refused(call, text, *COMMANDS[name]("k", word, value))
    assert call("SET", "s", "v", word, value) == error("ERR invalid expire time in 'set' command"), "as SET does"
    call("BF.ADD", "k", "a")
    if name == "bf.insert":
        assert_refused(call, text, *COMMANDS[name]("k", word, value))


@both
@pytest.mark.parametrize("options", [
    ("EX", 1, "PX", 1), ("PX", 1, "PXAT", NOW + 1), ("PXAT", NOW + 1, "EX", 1), ("EX", 1, "PX", 1, "PXAT", NOW + 1),
])  # fmt: skip
def test_two_of_them_are_refused(call, stream, name, options):
    assert_refused(call, TWICE, *COMMANDS[name]("k", *options))
    assert stream.take() == []


@both
@pytest.mark.parametrize("word", WORDS)
def test_the_same_one_twice_is_a_repeated_option(call, name, word):
    assert_refused(call, "ERR repeated option", *COMMANDS[name]("k", word, NOW + 9, word, NOW + 9))


@pytest.mark.parametrize("word", WORDS)
def test_one_without_its_value_is_an_arity_error(call, word):
    assert_refused(call, arity_error("bf.reserve"), *reserve("k", word))
    assert_refused(call, arity_error("bf.insert"), "BF.INSERT", "k", "CAPACITY", 10, word)


@both
def test_exat_and_keepttl_are_unknown_words(call, name):
    for options in (("EXAT", NOW), ("KEEPTTL",), ("PERSIST",)):
        assert_refused(call, "ERR Unknown argument received", *COMMANDS[name]("k", *options))


def test_a_creation_that_is_refused_for_its_size_sets_nothing(call):
    before = changes(call)
    assert call("BF.RESERVE", "k", "0.01", 10**18, "EX", 60).is_error
    assert (call("EXISTS", "k"), changes(call)) == (ZERO, before)
