"""The server survives any bytes and words: mutated RESTORE payloads with repaired checksums, chunks,
imports, and arguments of every command.

`make test` runs a few thousand; `make fuzz-server RUNS=500000` (SEED= for others) any number, and
prints what it did. After each the server lives, every reply is OK or one error, and a filter that was
accepted can be queried, shown, dumped, restored, saved and loaded.
"""

import json
import os
from base64 import b64decode
from pathlib import Path

import pytest

import mutations
from checks import COMMANDS
from filters import SHAPES, server_info, until
from formats_model import FIXTURES
from foreign_formats import SAMPLES, import_foreign
from resp import OK

RUNS = int(os.environ.get("BLOOMPORT_FUZZ_RUNS") or 2000)
SEED = int(os.environ.get("BLOOMPORT_FUZZ_SEED") or 1)
BATCH = 100
RELOAD_EVERY = 40 if RUNS > 10_000 else 5  # batches

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SMALL = [shape for shape in SHAPES if shape != "pieces"]
FORMATS = ("portable", "sstable", "leveldb", "parquet", "redisbloom")
FEW = [b"%d" % i for i in range(20)]


def make_filters(connection):
    """Makes small filters of every shape; returns their keys."""
    connection.call("FLUSHALL")
    keys = []
    for layout in ("CLASSIC", "BLOCKED"):
        for shape in SMALL:
            if shape == "fnv1a" and layout == "BLOCKED":
                continue
            words, count = SHAPES[shape]
            key = "%s:%s" % (shape, layout)
            assert connection.call("BF.RESERVE", key, *words, "LAYOUT", layout) == OK
            if count:
                connection.call("BF.MADD", key, *map(str, range(min(count, 40))))
            keys.append(key)
    for name, model in SAMPLES.items():
        assert import_foreign(connection.call, name, model.empty().add_all(FEW)) == OK
        keys.append(name)
    return keys


def seeds_of(connection):
    """DUMP payloads of those filters and of the golden files, accepted and rejected ones."""
    seeds = [connection.call("DUMP", key).plain for key in make_filters(connection)]
    seeds += [file.read_bytes() for file in sorted(GOLDEN.glob("*ed/*.dump"))]
    for row in json.loads(FIXTURES.read_text(encoding="utf-8"))["filters"]:
        seeds += [b64decode(row["dump_base64"])] * 10 if "dump_base64" in row else []
    return [seed for seed in seeds if 20 < len(seed) < 2500]


def assert_plain(reply, words):
    """The reply is OK or an error with a code."""
    assert reply == OK or (reply.is_error and reply.value.split()[0].isupper()), (words, reply)


def exercise(connection, keys):
    """Does what a server and its clients do with a filter. Every command must be answered; a filter that
    is still being loaded may answer with that error."""
    commands = [
        command
        for key in keys
        for command in (
            ("BF.INFO", key),
            ("BF.DEBUG", key),
            ("BF.CARD", key),
            ("BF.MEXISTS", key, "a", "b", ""),
            ("BF.MADD", key, "a", "b", "c"),
            ("BF.EXISTS", key, "a"),
            ("BF.SCANDUMP", key, 0),
            ("MEMORY", "USAGE", key),
            ("COPY", key, key + "-copy", "REPLACE"),
            ("DUMP", key),
        )
    ]
    replies = connection.pipeline(commands)
    again = []
    for key, at in zip(keys, range(0, len(replies), 10)):
        added, known, copied, dumped = replies[at + 4], replies[at + 5], replies[at + 8], replies[at + 9]
        assert copied.value == 1 and dumped.value, (key, copied, dumped)
        if not added.is_error and not added.value[0].is_error:
            assert known.value == 1, key
        again.append(("RESTORE", key + "-again", 0, dumped.value, "REPLACE"))
    for key, reply in zip(keys, connection.pipeline(again)):
        assert reply == OK, (key, reply)
    names = [(key, key + "-again") for key in keys]
    digests = connection.pipeline(("DEBUG", "DIGEST-VALUE", *pair) for pair in names)
    for pair, digest in zip(names, digests):
        assert digest.value[0] == digest.value[1], pair


def save_and_load(connection):
    before = connection.call("DEBUG", "DIGEST").value, connection.call("DBSIZE").value
    assert connection.call("DEBUG", "RELOAD") == OK
    assert (connection.call("DEBUG", "DIGEST").value, connection.call("DBSIZE").value) == before


def used_memory(call):
    return int(server_info(call, "memory")["used_memory"])


class Tally:
    def __init__(self, what):
        self.what, self.sent, self.taken, self.reloads = what, 0, 0, 0

    def __str__(self):
        return "%s: %d sent, %d taken, %d saved and loaded" % (self.what, self.sent, self.taken, self.reloads)


@pytest.fixture
def connection(empty_server):
    """When all keys are gone, the server uses what it used before, and so it leaks nothing."""
    before = used_memory(empty_server.call)
    connection = empty_server.connection()
    # Or adding three items to a filter of expansion 32768 makes it a large one, which takes its time.
    connection.call("CONFIG", "SET", "bf.max-bytes", "20000")
    yield connection
    connection.call("CONFIG", "SET", "bf.max-bytes", "0")
    connection.close()
    assert empty_server.call("FLUSHALL", "SYNC") == OK
    # Buffers of the connection go when the server comes to it, and its log of slow commands stays.
    until(lambda: used_memory(empty_server.call) < before + 500_000, "all memory is given back")


def test_mutated_restores_are_refused_or_stand_everything(connection):
    source = mutations.seeded("restore", SEED)
    payloads = mutations.Payloads(source, seeds_of(connection))
    tally = Tally("RESTORE")
    for batch in range(max(1, RUNS // BATCH)):
        words = [("RESTORE", "r%d" % i, 0, next(payloads), "REPLACE") for i in range(BATCH)]
        replies = connection.pipeline(words)
        for command, reply in zip(words, replies):
            assert_plain(reply, command)
        taken = [command[1] for command, reply in zip(words, replies) if reply == OK]
        exercise(connection, taken)
        tally.sent += BATCH
        tally.taken += len(taken)
        if batch % RELOAD_EVERY == 0:
            save_and_load(connection)
            tally.reloads += 1
        connection.call("FLUSHALL", "SYNC")
    print(tally)
    assert tally.taken * 20 > tally.sent, "hardly any was taken: the loader is not reached"


def chunk_commands(source, chunks, key):
    """BF.LOADCHUNK of a dump with a chunk damaged, dropped, repeated or under another iterator."""
    chunks = list(chunks)
    for _ in range(source.choice((0, 1, 1, 2))):
        at = source.randrange(len(chunks))
        iterator, data = chunks[at]
        way = source.randrange(6)
        if way == 0:
            data = mutations.blind(source, data)
        elif way == 1:
            data = mutations.field(source, data)
        elif way == 2:
            iterator = source.choice((*mutations.NUMBERS, -1, iterator + 1, iterator - 1))
        elif way == 3 and len(chunks) > 1:
            del chunks[at]
            continue
        elif way == 4:
            chunks.insert(source.randrange(len(chunks) + 1), (iterator, data))
            continue
        else:
            cut = source.randrange(len(data) + 1)
            chunks[at : at + 1] = [(iterator - len(data) + cut, data[:cut]), (iterator, data[cut:])]
            continue
        chunks[at] = (iterator, data)
    return [("BF.LOADCHUNK", key, iterator, data) for iterator, data in chunks]


def all_chunks(connection):
    dumps = []
    for key in make_filters(connection):
        chunks, iterator = [], 0
        while True:
            iterator, data = connection.call("BF.SCANDUMP", key, iterator).plain
            if iterator == 0:
                break
            chunks.append((iterator, data))
        dumps.append(chunks)
    return dumps + redisbloom_dumps()


def redisbloom_dumps():
    """The small ones of RedisBloom's recorded BF.SCANDUMP dumps."""
    dumps = []
    for row in json.loads(FIXTURES.read_text(encoding="utf-8"))["filters"]:
        chunks = [(number, b64decode(data)) for number, data in row["scandump_base64"]]
        if sum(len(data) for _, data in chunks) < 4000:
            dumps.append(chunks)
    assert dumps
    return dumps


def test_mutated_chunks_are_refused_or_stand_everything(connection):
    source = mutations.seeded("chunks", SEED)
    dumps = all_chunks(connection)
    tally = Tally("BF.LOADCHUNK")
    for batch in range(max(1, RUNS // BATCH // 4)):
        words = [
            command for i in range(BATCH // 4) for command in chunk_commands(source, source.choice(dumps), "c%d" % i)
        ]
        replies = connection.pipeline(words)
        for command, reply in zip(words, replies):
            assert_plain(reply, command)
        exercise(connection, [key.decode() for key in connection.call("KEYS", "c*").plain])
        tally.sent += len(words)
        tally.taken += sum(reply == OK for reply in replies)
        if batch % RELOAD_EVERY == 0:
            save_and_load(connection)
            tally.reloads += 1
        connection.call("FLUSHALL", "SYNC")
    print(tally)
    assert tally.taken * 20 > tally.sent


def exports_of(connection):
    found = []
    for key in make_filters(connection):
        for form in FORMATS:
            reply = connection.call("BF.EXPORT", key, "FORMAT", form)
            if not reply.is_error:
                found.append((form, reply.value))
    found += [("leveldb", bytes(range(40)) + b"\6")]
    found += [("redisbloom", b"".join(data for _, data in chunks)) for chunks in redisbloom_dumps()]
    return found


def foreign_exports():
    """[(format and its VARIANT, data)] of filters of other libraries; the empty ones have headers of their own."""
    return [((one.name, *one.words), data) for one in SAMPLES.values() for data in (one.data, one.empty().add_all(FEW).data)]


def test_mutated_imports_are_refused_or_stand_everything(connection):
    source = mutations.seeded("import", SEED)
    exports = exports_of(connection)
    assert {form for form, _ in exports} == set(FORMATS)
    exports = [((form,), data) for form, data in exports] + foreign_exports()
    tally = Tally("BF.IMPORT")
    for batch in range(max(1, RUNS // BATCH // 4)):
        words = []
        for i in range(BATCH):
            form, data = source.choice(exports)
            if source.random() < 0.5:
                at = source.randrange(min(80, len(data)))
                size = source.choice((1, 4, 8))
                data = data[:at] + mutations.number(source, size) + data[at + size :]
            else:
                data = mutations.blind(source, data)
            options = source.choice(
                ((), ("CAPACITY", source.choice((1, 5, 1 << 40, (1 << 63) - 1))), ("EXPANSION", "2"), ("HASH", "FNV1A"))
            )
            words.append(("BF.IMPORT", "i%d" % i, "FORMAT", *form, *options, "REPLACE", "DATA", data))
        replies = connection.pipeline(words)
        for command, reply in zip(words, replies):
            assert_plain(reply, command)
        taken = [command[1] for command, reply in zip(words, replies) if reply == OK]
        exercise(connection, taken)
        tally.sent += len(words)
        tally.taken += len(taken)
        if batch % RELOAD_EVERY == 0:
            save_and_load(connection)
            tally.reloads += 1
        connection.call("FLUSHALL", "SYNC")
    print(tally)
    assert tally.taken * 20 > tally.sent


def test_any_words_get_an_answer(connection):
    source = mutations.seeded("arguments", SEED)
    chunks = [chunk for chunks in all_chunks(connection) for chunk in chunks]
    data = [data for _, data in chunks] + [iterator for iterator, _ in chunks]
    data += [export for _, export in exports_of(connection)]
    tally = Tally("any words")
    for batch in range(max(1, RUNS // BATCH)):
        connection.pipeline([("SET", "text", "v"), ("DEL", "list"), ("RPUSH", "list", "v")])
        words = [mutations.soup(source, COMMANDS, data) for _ in range(BATCH)]
        replies = connection.pipeline(words)
        for command, reply in zip(words, replies):
            assert not reply.is_error or reply.value.split()[0].isupper(), (command, reply)
        tally.sent += len(words)
        tally.taken += sum(not reply.is_error for reply in replies)
        if batch % RELOAD_EVERY == 0:
            save_and_load(connection)
            tally.reloads += 1
        connection.call("FLUSHALL", "SYNC")
    print(tally)
    assert tally.taken * 20 > tally.sent
