"""BF.MERGE and BF.INTERSTORE: in which order sources count, sources that are named twice, what is refused before
any work, and commands that change nothing."""

from pathlib import Path

import pytest

from checks import NO_MEMORY, assert_refused, changes, info
from filters import QUIET, Stream, follow, look, same_filter, until_in_sync
from redis_server import INSTRUMENTED
from resp import OK, ONE, integer

SERVER_CONFIG = Stream.CONFIG

ITEMS = ["item%d" % i for i in range(400)]

# Equal m and k, all else different: one counter or bit an item, and two.
UNLIKE = [("BITSPERKEY", "1", "1000"), ("BITSPERKEY", "2", "500")]
LAYOUTS = {
    "CLASSIC": ([], ["EXPANSION", "4"]),
    "FNV1A": (["HASH", "FNV1A", "EXPANSION", "3"], ["HASH", "FNV1A", "NONSCALING"]),
    "COUNTING": (["LAYOUT", "COUNTING"], ["LAYOUT", "COUNTING"]),
}


def reserve_unlike(call, names, layout):
    for name, words, options in zip(names, UNLIKE, LAYOUTS[layout]):
        assert call("BF.RESERVE", name, *words, *options) == OK


def parameters(call, key):
    """All but items and sizes."""
    seen = info(call, key)
    return [seen[field] for field in ("Capacity", "Expansion rate")], call("BF.INFO", key, "ERROR").plain


def stats(call, key):
    flat = call("BF.STATS", key).plain
    return dict(zip(flat[::2], flat[1::2]))


# ---- The order of the sources --------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_missing_dest_becomes_like_the_first_source_named_on_the_replica_and_in_the_aof_too(new_server, layout):
    """Whatever the addresses of the filters: of 40 pairs some stand in the one order, and some in the other."""
    master, replica = new_server(tcp=True, config={"appendonly": "yes", **QUIET}), new_server(config=QUIET)
    call = master.call
    first, second = {}, {}
    for i in range(40):
        names = [["%s%d" % (name, i) for name in order] for order in ("ab", "ba")][i % 2]
        reserve_unlike(call, names, layout)
        call("BF.MADD", names[0], *ITEMS[:20]).plain
        call("BF.MADD", names[1], *ITEMS[10:30]).plain
    follow(replica, master)
    for i in range(40):
        a, b = "a%d" % i, "b%d" % i
        assert call("BF.MERGE", "d%d" % i, "missing", b, a, b) == call("BF.MERGE", "e%d" % i, a, b, b) == OK
        first[i], second[i] = parameters(call, b), parameters(call, a)
    assert first[0] != second[0]
    until_in_sync(replica, master)
    assert call("DEBUG", "LOADAOF") == OK
    for where in (call, replica.call):
        assert {i: parameters(where, "d%d" % i) for i in first} == first
        assert {i: parameters(where, "e%d" % i) for i in second} == second
    for i in first:
        for key in ("d%d" % i, "e%d" % i):
            same_filter(look(call, key), look(replica.call, key), key)


def test_what_was_merged_into_a_new_key_takes_what_its_replica_takes(new_server):
    """The symptom: the master acknowledged 2,999 items, and its replica had 1,859 of them."""
    master, replica = new_server(tcp=True, config=QUIET), new_server(config=QUIET)
    reserve_unlike(master.call, ["a", "b"], "COUNTING")
    follow(replica, master)
    assert master.call("BF.MERGE", "d", "b", "a") == OK
    replies = master.call("BF.MADD", "d", *["new%d" % i for i in range(3000)]).value
    taken = ["new%d" % i for i, reply in enumerate(replies) if not reply.is_error]
    assert 400 < len(taken) < 3000
    until_in_sync(replica, master)
    assert replica.call("BF.MEXISTS", "d", *taken).plain == [1] * len(taken)


# ---- Sources named twice -------------------------------------------------------------------------

SHAPES = {
    "classic": ("0.01", "300", "NONSCALING"),
    "packed": ("0.01", "300"),
    "blocked": ("0.01", "300", "LAYOUT", "BLOCKED"),
    "counting": ("0.01", "2000", "LAYOUT", "COUNTING"),
}


def fill(call, shape):
    for key, items in (("a", ITEMS[:100]), ("b", ITEMS[50:150]), ("c", ITEMS[:200])):
        assert call("BF.RESERVE", key, *SHAPES[shape]) == OK
        call("BF.MADD", key, *items).plain
    assert call("COPY", "a", "dest") == ONE


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["BF.MERGE", "BF.INTERSTORE"])
@pytest.mark.parametrize("repeated, once", [("b b", "b"), ("b c b b c", "b c"), ("c b b", "c b"), ("c dest b dest c", "c dest b")])
def test_a_source_named_twice_counts_once(call, shape, name, repeated, once):
    fill(call, shape)
    for dest in ("dest", "new"):
        states = []
        for words in (repeated, once):
            if dest == "dest":
                assert call("COPY", "a", "dest", "REPLACE") == ONE
            call("DEL", "new")
            assert call(name, dest, *words.replace("dest", dest).split()) == OK
            states.append(look(call, dest) if call("EXISTS", dest) == ONE else None)
        if states != [None, None]:
            same_filter(*states, dest)


@pytest.mark.parametrize("name, verb", [("BF.MERGE", "merge"), ("BF.INTERSTORE", "intersect")])
def test_an_error_counts_the_sources_as_they_were_named(call, name, verb):
    fill(call, "classic")
    assert call("BF.RESERVE", "other", "0.01", "300", "LAYOUT", "BLOCKED") == OK
    text = "ERR cannot %s source 6: its layout is BLOCKED and not CLASSIC" % verb
    assert_refused(call, text, name, "new", "a", "a", "missing", "b", "a", "other", "b", "other")


MIB = 1 << 20


def most(server, what):
    """The most memory that the process ever had, in bytes: VmPeak, addresses; VmHWM, resident."""
    (line,) = [line for line in Path("/proc/%d/status" % server.pid).read_text().splitlines() if line.startswith(what)]
    return int(line.split()[1]) << 10


MEASURES = pytest.mark.skipif(INSTRUMENTED, reason="sanitizers and valgrind have memory of their own")


@MEASURES
@pytest.mark.parametrize("name", ["BF.MERGE", "BF.INTERSTORE"])
def test_a_source_named_100000_times_is_opened_once(new_server, name):
    """An open key takes over 500 bytes, 54 MB for all; the command itself takes 9 MB."""
    server = new_server()
    for key in ("a", "b"):
        assert server.call("BF.RESERVE", key, "0.01", "100", "LAYOUT", "COUNTING") == OK
        server.call("BF.MADD", key, "x", "x", key).plain
    before = most(server, "VmHWM")
    assert server.call(name, "new", *["a", "b"] * 50_000) == OK
    print("%d bytes more" % (most(server, "VmHWM") - before))
    assert most(server, "VmHWM") - before < 30 * MIB
    assert server.call("BF.COUNT", "new", "x") == integer(4 if name == "BF.MERGE" else 2)


# ---- Refused before the work ---------------------------------------------------------------------

WINDOW = ("BITSPERKEY", "8", 64 * MIB, "WINDOW", 400, "GENERATIONS", 1)  # a generation has 64 MiB, hardly any bit set


@MEASURES
def test_a_merge_into_a_new_key_is_refused_before_the_first_source_is_copied(new_server):
    """The union of two windows has a generation of each, which is over the limit; each window is within it."""
    server = new_server(has_clock=True)
    call = server.call
    server.clock.stop(1_600_000_000_000)
    for key in ("one", "other"):
        assert call("BF.RESERVE", key, *WINDOW) == OK
        assert call("BF.ADD", key, "x") == ONE
        server.clock.advance(400_000)
    assert call("CONFIG", "SET", "bf.max-bytes", 100 * MIB) == OK
    before = most(server, "VmPeak")
    assert_refused(call, NO_MEMORY, "BF.MERGE", "new", "one", "other")
    assert most(server, "VmPeak") - before < 32 * MIB
    assert call("BF.MERGE", "new", "one") == OK  # it takes what the refused command would have taken
    assert most(server, "VmPeak") - before > 60 * MIB


# ---- What changes nothing ------------------------------------------------------------------------


@pytest.fixture
def quiet(server, call, stream, events):
    """quiet(words): whether a command that is answered OK neither changes, propagates nor announces anything, and
    leaves WATCH alone."""
    watcher = server.connection()

    def is_quiet(*words):
        dest = words[1]
        for command in (("WATCH", dest), ("MULTI",), ("PING",)):
            assert not watcher.call(*command).is_error
        stream.take(), events()
        before = (changes(call), call("DUMP", dest), call("PEXPIRETIME", dest))
        assert call(*words) == OK
        seen = [before == (changes(call), call("DUMP", dest), call("PEXPIRETIME", dest)), not stream.take(), not events()]
        seen.append(watcher.call("EXEC").value is not None)
        assert len(set(seen)) == 1, "unchanged, not propagated, not announced, watched: %s" % seen
        return seen[0]

    yield is_quiet
    watcher.close()


@pytest.mark.parametrize("shape", SHAPES)
def test_an_intersection_that_dest_holds_already_changes_nothing(call, quiet, shape):
    fill(call, shape)
    count = call("BF.CARD", "c")
    for words in (["c"], ["c", "c"]):
        assert quiet("BF.INTERSTORE", "c", *words), "an exact count stays exact"
    assert (call("BF.CARD", "c"), stats(call, "c")["items are estimated"]) == (count, 0)
    assert not quiet("BF.INTERSTORE", "i", "a", "b")
    for words in (["a", "b"], ["b", "a"], ["a", "i", "b", "i"], ["i"], ["i", "i"]):
        assert quiet("BF.INTERSTORE", "i", *words), words
    assert quiet("BF.MERGE", "i", "i")
    assert shape == "counting" or quiet("BF.MERGE", "c", "a", "i", "a")
    call("BF.ADD", "i", "surely new").plain
    assert not quiet("BF.INTERSTORE", "i", "a", "b")


def test_an_intersection_that_is_empty_changes_nothing_where_dest_is_empty(call, quiet):
    for key in "ae":
        assert call("BF.RESERVE", key, *SHAPES["packed"]) == OK
    call("BF.ADD", "a", "x").plain
    assert quiet("BF.INTERSTORE", "e", "e", "a")
    assert quiet("BF.INTERSTORE", "missing", "a", "nothing")
    assert quiet("BF.CLEAR", "e") and not quiet("BF.CLEAR", "a") and quiet("BF.CLEAR", "a")


OTHERS = {
    "capacity": ("BITSPERKEY", "10", "100"),
    "expansion": ("BITSPERKEY", "10", "100", "EXPANSION", "3"),
    "nonscaling": ("BITSPERKEY", "10", "100", "NONSCALING"),
}


@pytest.mark.parametrize("difference", [*OTHERS, "estimate", "bits"])
def test_an_intersection_unlike_dest_in_anything_replaces_it(call, quiet, difference):
    """The bits of dest and of the intersection are the same, but for the last case."""
    alike = ("BITSPERKEY", "10", "100", "EXPANSION", "2")
    words = OTHERS.get(difference, alike)
    for key in "ab":
        assert call("BF.RESERVE", key, *alike) == OK
    assert call("BF.RESERVE", "i", *words) == OK
    if difference == "capacity":  # the same m, and k is imported
        portable = call("BF.EXPORT", "a").plain
        assert call("BF.IMPORT", "i", "FORMAT", "portable", "CAPACITY", 99, "EXPANSION", 2, "REPLACE", "DATA", portable) == OK
    for key in "abi":
        call("BF.MADD", key, *ITEMS[:60]).plain
    if difference == "bits":
        call("BF.ADD", "i", "surely new").plain
    assert not quiet("BF.INTERSTORE", "i", "a", "b")
    assert parameters(call, "i") == parameters(call, "a") and stats(call, "i")["items are estimated"] == 1
    assert quiet("BF.INTERSTORE", "i", "a", "b")


def test_a_ttl_goes_by_an_intersection_that_dest_holds_already(call, quiet):
    fill(call, "packed")
    for words in (["c"], ["a", "b"]):
        assert call("BF.INTERSTORE", "i", *words) == OK
        assert call("EXPIRE", "i", 1000) == ONE
        assert not quiet("BF.INTERSTORE", "i", "i")
        assert call("TTL", "i") == integer(-1)
        assert quiet("BF.INTERSTORE", "i", "i")
