"""The n-th allocation fails, for every n, in every command and loader: there is one clear error or none,
the filter is unchanged, and the same command works when there is memory again.

The server runs a copy of the module whose allocator is wrapped by tests/server/faults.c.
"""

import os
import re
import struct

import pytest

from checks import COMMANDS, GROWTH_FAILED, NO_MEMORY, changes, dump
from redis_server import MODULE, Server, ServerDied
from resp import OK, ONE, error
from valkeybloom import FIXTURES

FAULTS = os.path.join(os.path.dirname(MODULE), "release", "faults.so")
FAULTS = os.environ.get("BLOOMPORT_FAULTS_SO", FAULTS)
MOST = 60  # allocations that any one command may make
ITEMS = ["item-%d" % i for i in range(40)]
LINES = "\n".join(ITEMS)
BULK_MEMORY = "ERR not enough memory for the answers"
EXPORT_MEMORY = "ERR not enough memory to export"
COPY_FAILED = "ERR module key failed to copy"  # the server's own
ERRORS = {NO_MEMORY, GROWTH_FAILED, BULK_MEMORY, EXPORT_MEMORY, COPY_FAILED}


@pytest.fixture(scope="module")
def server():
    server = Server(module=FAULTS, config={"appendonly": "yes", "appendfsync": "no"})
    try:
        server.start()
        yield server
    finally:
        server.close()


def portable(m, k):
    return struct.pack("<IQ", k, m) + b"\1" + bytes((m + 7) // 8 - 1)


def parquet(nbytes):
    return b"\x15" + bytes([nbytes * 2]) + bytes.fromhex("1c1c00001c1c00001c1c000000") + bytes(nbytes)


def redisbloom(nlayers):
    fixed = struct.pack("<QIII", 0, nlayers, 5, 2)
    layer = struct.pack("<QQQddIQB", 16, 128, 0, 0.01, 9.585058377367439, 7, 10, 0)
    return fixed + layer * nlayers + bytes(16 * nlayers)


SMALL = ("BF.RESERVE", "k", "0.01", "5")
LARGE = ("BF.RESERVE", "k", "0.01", "2000")
LARGE_ONE = (LARGE, ("BF.MADD", "k", *ITEMS[:5]))
FULL = (SMALL, ("BF.MADD", "k", *ITEMS[:5]))
GROWN = (*FULL, ("BF.MADD", "k", *ITEMS[5:15]))
OTHER = tuple((name, "other", *words) for name, _, *words in (*FULL[:1], ("BF.MADD", "k", *ITEMS[9:14]), ("BF.MADD", "k", *ITEMS[20:])))
IMPORT = ("BF.IMPORT", "k", "FORMAT")
HUGE_STEPS = ("WINDOW", "1000000000", "GENERATIONS", "1")  # no step is due while the test runs
WINDOW = (("BF.RESERVE", "k", "0.01", "20", *HUGE_STEPS), ("BF.MADD", "k", *ITEMS[:15]))
COUNTING = (("BF.RESERVE", "k", "0.01", "60", "LAYOUT", "COUNTING"), ("BF.MADD", "k", *ITEMS[:15]))


def of_other(commands):
    return tuple((name, "other", *words) for name, _, *words in commands)


OTHER_WINDOW = of_other((*WINDOW, ("BF.MADD", "k", *ITEMS[15:])))  # grown
OTHER_COUNTING = of_other(COUNTING)

# The commands before, and the command whose allocations fail.
CASES = {
    "reserve-small": ((), SMALL),
    "reserve-large": ((), LARGE),
    "reserve-blocked": ((), ("BF.RESERVE", "k", "0.01", "50", "LAYOUT", "BLOCKED")),
    "load": ((), ("BF.LOAD", "k", FIXTURES["scaling"].load)),
    "add-creates": ((), ("BF.ADD", "k", "a")),
    "add": (FULL[:1], ("BF.ADD", "k", "a")),
    "add-makes-a-packed-filter-grow": (FULL, ("BF.ADD", "k", "a")),
    "add-makes-a-whole-filter-grow": (GROWN, ("BF.ADD", "k", "another")),
    "madd-creates": ((), ("BF.MADD", "k", *ITEMS)),
    "madd-creates-and-grows": ((), ("BF.INSERT", "k", "CAPACITY", "3", "ITEMS", *ITEMS)),
    "madd-grows-twice": (FULL, ("BF.MADD", "k", *ITEMS)),
    "insert-creates": ((), ("BF.INSERT", "k", "ITEMS", "a")),
    "insert-nocreate": (FULL, ("BF.INSERT", "k", "NOCREATE", "ITEMS", *ITEMS)),
    "exists": (GROWN, ("BF.EXISTS", "k", "a")),
    "mexists": (GROWN, ("BF.MEXISTS", "k", *ITEMS)),
    "bulkexists": (GROWN, ("BF.BULKEXISTS", "k", "LINES", LINES)),
    "bulkexists-missing": ((), ("BF.BULKEXISTS", "k", "WIDTH", "1", LINES)),
    "bulkadd": (LARGE_ONE, ("BF.BULKADD", "k", "LINES", LINES)),
    "bulkadd-creates": ((), ("BF.BULKADD", "k", "WIDTH", "3", "abcdefabc")),
    "bulkadd-creates-and-grows": ((), ("BF.BULKADD", "k", "WIDTH", "2", bytes(range(250)))),
    "bulkadd-grows-twice": (FULL, ("BF.BULKADD", "k", "LINES", LINES)),
    "card": (GROWN, ("BF.CARD", "k")),
    "info": (GROWN, ("BF.INFO", "k")),
    "debug": (GROWN, ("BF.DEBUG", "k")),
    "scandump-header": (GROWN, ("BF.SCANDUMP", "k", "0")),
    "scandump-bits": (GROWN, ("BF.SCANDUMP", "k", "1")),
    "export": (FULL, ("BF.EXPORT", "k")),
    "import-portable": ((), (*IMPORT, "portable", "DATA", portable(100, 3))),
    "import-sstable": ((), (*IMPORT, "sstable", "DATA", struct.pack("<QII", 64, 3, 10) + bytes(8))),
    "import-leveldb": ((), (*IMPORT, "leveldb", "DATA", bytes(8) + b"\3")),
    "import-parquet": ((), (*IMPORT, "parquet", "DATA", parquet(32))),
    "import-redisbloom": ((), (*IMPORT, "redisbloom", "DATA", redisbloom(3))),
    "import-replaces": (GROWN, (*IMPORT, "portable", "REPLACE", "DATA", portable(100, 3))),
    "merge": ((*GROWN, *OTHER), ("BF.MERGE", "k", "other")),
    "merge-of-packed-filters": ((*FULL, *OTHER[:2]), ("BF.MERGE", "k", "other")),
    "merge-adds-layers": ((*FULL, *OTHER), ("BF.MERGE", "k", "other")),
    "merge-creates": (OTHER, ("BF.MERGE", "k", "other", "other")),
    "interstore": ((*FULL, *OTHER[:2]), ("BF.INTERSTORE", "k", "k", "other")),
    "interstore-creates": (OTHER[:2], ("BF.INTERSTORE", "k", "other")),
    "interstore-deletes": (GROWN, ("BF.INTERSTORE", "k", "missing")),
    "clear": (GROWN, ("BF.CLEAR", "k")),
    "stats": (GROWN, ("BF.STATS", "k")),
    "reserve-with-ttl": ((), (*SMALL, "PXAT", "9999999999999")),
    "reserve-window": ((), WINDOW[0]),
    "window-begins": (WINDOW[:1], ("BF.ADD", "k", "a")),
    "window-add": (WINDOW, ("BF.ADD", "k", "another")),
    "window-madd-grows": (WINDOW, ("BF.MADD", "k", *ITEMS)),
    "window-bulkadd-grows": (WINDOW, ("BF.BULKADD", "k", "LINES", LINES)),
    "window-insert-creates": ((), ("BF.INSERT", "k", *HUGE_STEPS, "CAPACITY", "20", "PXAT", "9999999999999", "ITEMS", *ITEMS[:5])),
    "window-rotate": (WINDOW, ("BF.ROTATE", "k")),
    "window-export": (WINDOW, ("BF.EXPORT", "k")),
    "window-stats": (WINDOW, ("BF.STATS", "k")),
    "window-merge": ((*WINDOW, *OTHER_WINDOW), ("BF.MERGE", "k", "other")),
    "window-merge-into-a-fresh-one": ((*WINDOW[:1], *OTHER_WINDOW), ("BF.MERGE", "k", "other")),
    "window-merge-creates": (OTHER_WINDOW, ("BF.MERGE", "k", "other", "other")),
    "window-clear": (WINDOW, ("BF.CLEAR", "k")),
    "window-copy": (WINDOW, ("COPY", "k", "copy")),
    "counting-reserve": ((), COUNTING[0]),
    "counting-insert-creates": ((), ("BF.INSERT", "k", "LAYOUT", "COUNTING", "ITEMS", *ITEMS)),
    "counting-add": (COUNTING, ("BF.ADD", "k", "a")),
    "counting-bulkadd": (COUNTING, ("BF.BULKADD", "k", "LINES", LINES)),
    "counting-del": (COUNTING, ("BF.DEL", "k", *ITEMS)),
    "counting-count": (COUNTING, ("BF.COUNT", "k", ITEMS[0])),
    "counting-export": (COUNTING, ("BF.EXPORT", "k")),
    "counting-merge": ((*COUNTING, *OTHER_COUNTING), ("BF.MERGE", "k", "other", "other", "k")),
    "counting-merge-creates": (OTHER_COUNTING, ("BF.MERGE", "k", "other", "other")),
    "counting-interstore": ((*COUNTING, *OTHER_COUNTING), ("BF.INTERSTORE", "k", "k", "other")),
    "counting-clear": (COUNTING, ("BF.CLEAR", "k")),
    "copy": (GROWN, ("COPY", "k", "copy")),
    "copy-packed": (FULL, ("COPY", "k", "copy")),
    "dump": (GROWN, ("DUMP", "k")),
}


def look(call):
    """Everything that is there."""
    return call("DEBUG", "DIGEST").plain, call("DBSIZE").plain, call("EXISTS", "k").plain


def failing(call, before, words):
    """[(n, reply, the keys before)] for n = 1, 2, ... until nothing fails any more; each time starts with
    an empty server."""
    for n in range(1, MOST):
        call("FLUSHALL")
        for command in before:
            call(*command).plain
        state, written = look(call), changes(call)
        call("BFTEST.FAIL", n)
        reply = call(*words)
        happened = call("BFTEST.FAIL", 0).plain >= n
        if not happened:
            reply.plain
            return
        yield n, reply, state, written
    raise AssertionError("%s: more than %d allocations" % (words[0], MOST))


def reference(call, before, words):
    call("FLUSHALL")
    for command in before:
        call(*command).plain
    call(*words).plain
    return look(call)


@pytest.mark.parametrize("name", CASES)
def test_a_command_without_memory_gives_one_error_and_changes_nothing(call, name):
    before, words = CASES[name]
    expected = reference(call, before, words)
    for n, reply, state, written in failing(call, before, words):
        if reply.is_error and reply.value.endswith(" items taken"):
            assert_bulk_failed_in_part(call, words, reply)
            continue
        if reply.is_error:
            assert reply.value in ERRORS, (n, reply)
            assert look(call) == state and changes(call) == written, n
            call(*words).plain
        elif reply.kind == "*" and any(item.is_error for item in reply.value):
            assert_batch_failed_in_part(call, words, reply)
            continue
        assert look(call) == expected, (n, reply)


def assert_batch_failed_in_part(call, words, reply):
    """Some items failed: the others are added, and the AOF has the same; with memory all are added."""
    items = words[words.index("ITEMS") + 1 :] if "ITEMS" in words else words[2:]
    assert len(reply.value) == len(items)
    answers = call("BF.MEXISTS", "k", *items).plain
    for answer, exists in zip(reply.value, answers):
        assert answer == error(GROWTH_FAILED) if answer.is_error else exists == 1
    before = look(call)
    assert call("DEBUG", "LOADAOF") == OK
    assert look(call) == before
    call(*words).plain
    assert call("BF.MEXISTS", "k", *items).plain == [1] * len(items)


def assert_bulk_failed_in_part(call, words, reply):
    """The items before the error are added, and the AOF has the same; with memory all are added."""
    items = words[3].split("\n") if words[2] == "LINES" else [words[4][i : i + 2] for i in range(0, len(words[4]), 2)]
    text, taken, given = re.fullmatch(r"(.*): (\d+) of (\d+) items taken", reply.value).groups()
    assert text == GROWTH_FAILED and int(given) == len(items)
    assert call("BF.MEXISTS", "k", *items[: int(taken)]).plain == [1] * int(taken)
    assert call("BF.EXISTS", "k", items[int(taken)]).plain == 0
    before = look(call)
    assert call("DEBUG", "LOADAOF") == OK
    assert look(call) == before
    call(*words).plain
    assert call("BF.MEXISTS", "k", *items).plain == [1] * len(items)


NOW, STEP = 1_600_000_000_000, 100_000
STEPPING = (("CLOCK", NOW), ("BF.RESERVE", "k", "0.01", "20", "WINDOW", "400"), ("BF.MADD", "k", *ITEMS[:15]))


@pytest.mark.parametrize("steps", [1, 5, 100])
@pytest.mark.parametrize("words", [("BF.ADD", "k", "a"), ("BF.INSERT", "k", "ITEMS", "a", "b"), ("BF.BULKADD", "k", "LINES", "a\nb")], ids=lambda words: words[0])
def test_a_step_of_a_window_without_memory_gives_one_error_and_changes_nothing(words, steps):
    """The step begins a generation; from the fifth on it also drops the only one."""
    assert refusals((*STEPPING, ("CLOCK", NOW + steps * STEP)), words) >= 3


@pytest.mark.parametrize("life, nrefused", [(5, 2), (7, 2), (8, 2)], ids=["the first", "the first two", "all"])
def test_dropping_without_memory_gives_one_error_and_changes_nothing(life, nrefused):
    """A shorter list of layers is made, and a holder of what is dropped."""
    steps = [command for at in (1, 3) for command in (("CLOCK", NOW + at * STEP), ("BF.MADD", "k", *ITEMS[:5]))]
    assert refusals((*STEPPING, *steps, ("CLOCK", NOW + life * STEP)), ("BF.ROTATE", "k")) == nrefused


def refusals(before, words):
    """How often the command is refused, each time by another allocation that fails."""
    server = Server(module=FAULTS, has_clock=True)
    try:
        connection = server.start().connection()

        def call(*given):
            if given[0] != "CLOCK":
                return connection.call(*given)
            server.clock.stop(given[1])
            return OK

        expected, refused = reference(call, before, words), 0
        for n, reply, state, written in failing(call, before, words):
            refused += reply.is_error
            if reply.is_error:
                assert reply.value in ERRORS and look(call) == state and changes(call) == written, n
                call(*words).plain
            assert look(call) == expected, (n, reply)
        return refused
    finally:
        server.close()


@pytest.mark.parametrize("kind", [("LAYOUT", "COUNTING"), ("WINDOW", 60, "GENERATIONS", 1)], ids=["COUNTING", "WINDOW"])
@pytest.mark.parametrize("bits, n, words, text", [
    (8, 100_000, ("FORMAT", "guava"), "ERR cannot export: "),
    (8, 100_000, ("FORMAT", "cassandra"), "ERR cannot export: "),
    (8, 100_000, ("FORMAT", "leveldb"), "ERR cannot export: "),
    (8, 100_000, ("FORMAT", "parquet"), "ERR cannot export: "),
    (8, 100_000, ("FORMAT", "valkeybloom"), "ERR cannot export: "),
    (8, 100_000, ("FORMAT", "redisbloom"), "ERR cannot export: "),
    (200, 25_000_000, (), "ERR filter is larger than a bulk string, use BF.SCANDUMP"),
])  # fmt: skip
def test_an_export_that_is_refused_makes_no_copy_of_the_bits_first(call, kind, bits, n, words, text):
    """It took 11.5 s for a COUNTING filter of 900 million. What is allocated is the fields: a filter, a layer."""
    assert call("BF.RESERVE", "k", "BITSPERKEY", bits, n, *kind) == OK
    assert call("BF.ADD", "k", "a") == ONE
    call("BFTEST.FAIL", MOST)
    reply = call("BF.EXPORT", "k", *words)
    assert call("BFTEST.FAIL", 0).plain == 2
    assert reply.value.startswith(text)


def test_every_command_has_its_case():
    assert set(COMMANDS) - {words[0] for _, words in CASES.values()} == {"BF.LOADCHUNK"}


def test_restore_without_memory_is_refused(call):
    for before in (FULL, GROWN, WINDOW, COUNTING):
        call("FLUSHALL")
        for command in before:
            call(*command).plain
        data = call("DUMP", "k").plain
        words = ("RESTORE", "k", "0", data)
        expected = reference(call, (), words)
        refused = 0
        for n, reply, state, _ in failing(call, (), words):
            refused += reply.is_error
            if reply.is_error:
                assert reply == error("ERR Bad data format") and look(call) == state, n
                assert call(*words) == OK
            assert look(call) == expected
        assert refused >= (1 if before == FULL else 3)  # a short record is loaded into one allocation


def test_chunks_without_memory_are_refused_and_can_come_again(call):
    for command in GROWN:
        call(*command).plain
    chunks = dump(call, "k")
    expected = look(call)
    for at, (iterator, data) in enumerate(chunks):
        before = [("BF.LOADCHUNK", "k", *chunk) for chunk in chunks[:at]]
        for n, reply, state, _ in failing(call, before, ("BF.LOADCHUNK", "k", iterator, data)):
            if reply.is_error:
                assert reply == error(NO_MEMORY) and look(call) == state, n
                assert call("BF.LOADCHUNK", "k", iterator, data) == OK
            for chunk in chunks[at + 1 :]:
                assert call("BF.LOADCHUNK", "k", *chunk) == OK
            assert look(call) == expected


def test_a_file_that_does_not_fit_into_memory_is_refused_and_stays(monkeypatch):
    """At each allocation the server logs the reason and ends, as it does for any file it cannot load;
    with memory it loads everything."""
    server = Server(module=FAULTS)
    try:
        call = server.start().call
        for command in (*GROWN, ("BF.RESERVE", "other", "0.01", "50", "LAYOUT", "BLOCKED")):
            call(*command).plain
        assert call("SAVE") == OK
        expected = look(call)
        refused = 0
        for n in range(1, MOST):
            server.stop()
            monkeypatch.setenv("BLOOMPORT_FAIL_AT", str(n))
            try:
                server.start()
            except ServerDied:
                assert "bloomport: cannot load a filter: not enough memory" in server.log
                refused += 1
                monkeypatch.delenv("BLOOMPORT_FAIL_AT")
                server.start()
            assert look(server.call) == expected
            if server.call("BFTEST.FAIL", 0).plain < n and "BLOOMPORT_FAIL_AT" in os.environ:
                break
        assert refused >= 5
    finally:
        server.close()
