"""A replica of version 0.1.0 follows a master whose clients use nothing that is newer: the stream has no word
that 0.1.0 does not know, and snapshots have headers of version 1. Small filters are an exception: their short
record in a snapshot is refused, by 0.2.0 too: test_upgrade.
"""

import pytest

from checks import dump
from filters import QUIET, Stream, follow, until_in_sync
from old_version import KEYS, OLD, delete_short, program, with_old
from redis_server import Server
from resp import OK

SERVER_CONFIG = Stream.CONFIG
OLD_COMMANDS = {b"BF.RESERVE", b"BF.ADD", b"BF.MADD", b"BF.INSERT", b"BF.LOADCHUNK", b"BF.MERGE", b"BF.INTERSTORE", b"BF.CLEAR",
                b"MULTI", b"EXEC", b"DEL", b"UNLINK", b"COPY", b"RENAME"}  # fmt: skip
OLD_OPTIONS = {b"CAPACITY", b"ERROR", b"BITSPERKEY", b"EXPANSION", b"LAYOUT", b"CLASSIC", b"BLOCKED", b"HASH", b"XXH64",
               b"FNV1A", b"ITEMS"}  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_the_stream_has_no_word_that_0_1_0_does_not_know(call, stream, seed):
    for words in program(seed):
        call(*words)
    commands = stream.take()
    assert {words[0].upper() for words in commands} <= OLD_COMMANDS
    creations = [words for words in commands if words[0] in (b"BF.RESERVE", b"BF.INSERT")]
    assert len(creations) > 10
    for words in creations:
        options = words[4:] if words[0] == b"BF.RESERVE" else words[2 : words.index(b"ITEMS")]
        known = {word for word in options if word.isalpha() or word in (b"XXH64", b"FNV1A")}
        assert known <= OLD_OPTIONS, words
    assert all(words[3][8:12] == b"\1\0\0\0" for words in commands if words[0] == b"BF.LOADCHUNK" and words[2] == b"1")
    for key in KEYS:
        if call("TYPE", key).value == "bloomport":
            assert dump(call, key)[0][1][8:12] == b"\1\0\0\0"


@with_old
@pytest.mark.parametrize("seed, first", [(3, 0), (3, 100), (4, 100)])
def test_a_replica_of_0_1_0_has_the_same_filters(new_server, seed, first):
    """The first commands arrive as a snapshot, the others as a stream."""
    print("seed", seed)
    master = new_server(config=QUIET, tcp=True)
    old = Server(config=QUIET, tcp=True, module=OLD)
    try:
        commands = list(program(seed))
        for words in commands[:first]:
            master.call(*words)
        delete_short(master.call)
        assert bool(master.call("DBSIZE").plain) == (first > 0)
        follow(old.start(), master)
        for words in commands[first:]:
            master.call(*words)
        until_in_sync(old, master)
        assert old.call("DEBUG", "DIGEST") == master.call("DEBUG", "DIGEST")
        assert "is sending an error to its master" not in old.log
        assert old.call("BF.HELP").is_error, "this is no 0.1.0"
        assert old.call("REPLICAOF", "NO", "ONE") == OK
    finally:
        old.close()


@with_old
def test_a_master_of_0_1_0_is_followed(new_server):
    old = Server(config=QUIET, tcp=True, module=OLD)
    replica = new_server(config=QUIET, tcp=True)
    try:
        follow(replica, old.start())
        for words in program(5):
            old.call(*words)
        until_in_sync(replica, old)
        assert replica.call("DEBUG", "DIGEST") == old.call("DEBUG", "DIGEST")
    finally:
        old.close()
