"""Filters that forget, and TTLs at creation, while another module acts on their keys inside its handlers
of events. The oracle is test_stands_alone.py's: the command and then the same act of a client.
"""

import pytest

from clock import CALM
from filters import QUIET, follow, until_in_sync
from redis_server import Server
from resp import OK, simple
from test_stands_alone import LEAVES, NEIGHBOUR, REMOVES, USES, everything

NOW, STEP, LIFE = 1_600_000_000_000, 100_000, 500_000
CONFIG = {"loadmodule": NEIGHBOUR, **QUIET, **CALM}
END = ("PXAT", NOW + 10**9)

WINDOW = ("BF.RESERVE", "k", "0.01", 100, "WINDOW", 400)
LARGE_WINDOW = ("BF.RESERVE", "k", "0.01", 2_000_000, "WINDOW", 400)  # generations of 1 MB, freed in the background
COUNTING = ("BF.RESERVE", "k", "0.01", 100, "LAYOUT", "COUNTING")
LATER = ("CLOCK", STEP)  # the server's clock
FILL = ("BF.MADD", "k", "a", "b", "c")
OTHER = [("BF.RESERVE", "s", "0.01", 100, "WINDOW", 400), ("BF.MADD", "s", "x", "y")]

# name: (what stands before, the ms that pass then, the command, its events)
CASES = {
    "reserve-ttl": ([], 0, ("BF.RESERVE", "k", "0.01", 100, *END), ["bf.reserve", "expire"]),
    "reserve-large-ttl": ([], 0, ("BF.RESERVE", "k", "0.01", 10**6, *END), ["bf.reserve", "expire"]),
    "insert-ttl": ([], 0, ("BF.INSERT", "k", *END, "ITEMS", "a", "b"), ["bf.add", "expire"]),
    "insert-window-ttl": ([], 0, ("BF.INSERT", "k", *END, "WINDOW", 400, "ITEMS", "a"), ["bf.rotate", "bf.add", "expire"]),
    "insert-counting-ttl": ([], 0, ("BF.INSERT", "k", *END, "LAYOUT", "COUNTING", "ITEMS", "a"), ["bf.add", "expire"]),
    "window-begins": ([WINDOW], 0, ("BF.ADD", "k", "a"), ["bf.rotate", "bf.add"]),
    "window-steps": ([WINDOW, FILL], STEP, ("BF.MADD", "k", "a", "d"), ["bf.rotate", "bf.add"]),
    "window-drops": ([LARGE_WINDOW, FILL], LIFE, ("BF.ADD", "k", "d"), ["bf.rotate", "bf.add"]),
    "rotate": ([LARGE_WINDOW, FILL, LATER, FILL], LIFE, ("BF.ROTATE", "k"), ["bf.rotate"]),
    "rotate-drops-all": ([LARGE_WINDOW, FILL], LIFE, ("BF.ROTATE", "k"), ["bf.rotate"]),
    "window-merge": ([WINDOW, FILL, *OTHER], 0, ("BF.MERGE", "k", "s"), ["bf.merge"]),
    "window-merge-new": (OTHER, 0, ("BF.MERGE", "k", "s"), ["bf.merge"]),
    "window-clear": ([WINDOW, FILL], 0, ("BF.CLEAR", "k"), ["bf.clear"]),
    "counting-add": ([COUNTING, FILL], 0, ("BF.ADD", "k", "a"), ["bf.add"]),
    "del": ([COUNTING, FILL], 0, ("BF.DEL", "k", "a", "x"), ["bf.del"]),
}
NEW = [name for name, (_, _, words, _) in CASES.items() if words[0] == "BF.INSERT" or "reserve" in name]


@pytest.fixture(scope="module")
def server():
    server = Server(config=CONFIG, tcp=True, has_clock=True)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def replica(server):
    replica = Server(config={**QUIET, **CALM}, tcp=True, has_clock=True)
    try:
        follow(replica.start(), server)
        yield replica
    finally:
        replica.close()


def prepare(server, call, case):
    server.clock.stop(NOW)
    assert call("FLUSHALL", "SYNC") == OK
    before, ms, words, _ = CASES[case]
    for command in before:
        if command[0] == "CLOCK":
            server.clock.stop(NOW + command[1])
        else:
            call(*command).plain
    server.clock.stop(NOW + ms)
    return words


def check(server, replica, call, case, event, act):
    words = prepare(server, call, case)
    expected_reply = call(*words)
    assert not expected_reply.is_error, expected_reply
    call(*act)
    expected = everything(call)

    words = prepare(server, call, case)
    assert call("NEIGHBOUR.ON", event, *act) == OK
    assert call(*words) == expected_reply
    assert call("NEIGHBOUR.SAW").plain[0] == 1, "the handler did not run"
    assert everything(call) == expected
    assert call("PING") == simple("PONG")
    replica.clock.stop(server.clock.stopped_ms)
    until_in_sync(replica, server)
    assert everything(replica.connection().call) == everything(call), "the replica has other keys"


@pytest.mark.parametrize("act", [*REMOVES, *LEAVES])
@pytest.mark.parametrize("case", CASES)
def test_a_handler_of_any_event_may_do_anything_to_the_key(server, replica, call, clock, case, act):
    for event in CASES[case][3]:
        check(server, replica, call, case, event, {**REMOVES, **LEAVES}[act])


# A copy that is made while `new` is announced has no TTL, since the server itself allows none before that;
# the same holds for SET with EX. On a replica, where the copy comes after the creation, it has one.
@pytest.mark.parametrize("act", [name for name in USES if name != "copies"])
@pytest.mark.parametrize("case", NEW)
def test_a_handler_of_the_new_key_may_use_it_before_it_gets_its_ttl(server, replica, call, clock, case, act):
    """A handler of `new` that removes the key breaks the server itself: test_stands_alone.py says why."""
    check(server, replica, call, case, "new", USES[act])
    assert call("PEXPIRETIME", "k").plain == END[1]


@pytest.mark.parametrize("case", [case for case in NEW if "ttl" in case])
def test_a_filter_that_replaces_the_new_one_does_not_get_its_ttl(server, replica, call, clock, case):
    """Neither where the handler acts between the value and its TTL's event, nor after it."""
    for event in CASES[case][3]:
        check(server, replica, call, case, event, REMOVES["replaces"])
        assert call("PEXPIRETIME", "k").plain == -1
        assert call("BF.EXISTS", "k", "theirs").plain == 1


MOVED = {
    "a-filter": "redis.call('RENAME', 'k', 'elsewhere') redis.call('BF.INSERT', 'k', 'CAPACITY', 7, 'ITEMS', 'theirs') return 1",
    "a-string": "redis.call('RENAME', 'k', 'elsewhere') redis.call('SET', 'k', 'theirs') return 1",
}


@pytest.mark.parametrize("script", MOVED.values(), ids=MOVED)
@pytest.mark.parametrize("case", [case for case in NEW if "ttl" in case])
def test_what_is_at_the_key_when_the_ttl_is_set_gets_it_only_if_it_is_the_new_filter(server, call, clock, events, case, script):
    """A handler of `new` renames the filter, which the server survives, and creates another value."""
    words = prepare(server, call, case)
    events()
    assert call("NEIGHBOUR.ON", "new", "EVAL", script, 0) == OK
    call(*words).plain
    assert call("NEIGHBOUR.SAW").plain == [1, b":1\r\n"]
    assert call("PEXPIRETIME", "k").plain == -1
    assert ("k", "expire") not in events()
    assert call("BF.EXISTS", "elsewhere", "a").plain == (words[0] == "BF.INSERT")
    assert call("DEL", "k", "elsewhere").plain == 2
