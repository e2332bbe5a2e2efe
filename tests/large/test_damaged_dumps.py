"""Every damaged variant of the filters that RedisBloom and valkey-bloom recorded (golden/redisbloom; the
small ones of golden/valkeybloom, both encodings), loaded in every way, and of the files of other libraries
(golden/formats): it is refused, or it is a filter that answers every command. `make test-damaged` runs this under the sanitizers, which find silent faults
and leaks too. Prints how many variants were tried.

    payloads   every byte changed, every truncation, the checksum repaired, to RESTORE
    chunks     every other value of every byte of every header, every truncation; every truncation
               of every piece, to BF.LOADCHUNK
    BF.LOAD    every other value of every byte of the fields, every byte of the bits changed, every truncation
    BF.IMPORT  every other value of every byte at either end, where the fields are, every byte of the bits
               changed, every truncation (unit/test_formats_libraries.c does redisson's)
    files      a server is started on dump.rdb with a byte changed or cut off, without checksum
"""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from redis_server import Server, ServerDied, served  # noqa: E402  (the path must come first)
from bloom_model import xxh64  # noqa: E402
from foreign_fixtures import IMPORTABLE  # noqa: E402
from redisbloom import DUMP_FILE, FIXTURES, Spoiler, rdb_value  # noqa: E402
from resp import OK, ONE, simple  # noqa: E402
from valkeybloom import ALL as VALKEYBLOOMS  # noqa: E402
from valkeybloom import readable_file  # noqa: E402

ID_BYTES = 10  # of a payload: the type and the module's id
FILES = 80
IN_FLIGHT = 50
# One layer and many, compressed and not, non-scaling, flag 0, and encoding version 0.
SMALL = ["empty", "one", "one-grown", "auto", "bytes", "scaling-1", "seed-fixed", "tightening-config"]
SMALL += ["old-small", "old-scaling"]

USES = [
    ("BF.MEXISTS", "k", "a", "b", "fixture:0"),
    ("BF.INSERT", "k", "NOCREATE", "ITEMS", *("new%d" % i for i in range(5))),
    ("BF.INFO", "k"),
    ("BF.CARD", "k"),
    ("BF.DEBUG", "k"),
    ("BF.SCANDUMP", "k", 0),
    ("BF.SCANDUMP", "k", 1),
    ("DEL", "k"),
]


@pytest.fixture(scope="module")
def server():
    yield from served(config={"rdbcompression": "yes"})


def try_all(server, what, commands):
    """Runs each command, and all of USES on its key. A server that hangs is a timeout of the socket."""
    connection, counts, some = server.connection(), {"refused": 0, "taken": 0}, []

    def flush():
        replies = connection.pipeline(word for command in some for word in [command, *USES])
        for reply, deleted in zip(replies[:: len(USES) + 1], replies[len(USES) :: len(USES) + 1]):
            assert (reply == OK) == (deleted == ONE)
            counts["taken" if reply == OK else "refused"] += 1
        some.clear()

    for command in commands:
        some.append(command)
        if len(some) == IN_FLIGHT:
            flush()
    flush()
    server.check_alive()
    assert connection.call("PING") == simple("PONG")
    assert connection.call("DBSIZE").plain == 0
    connection.close()
    print("\n%s: %d refused, %d taken" % (what, counts["refused"], counts["taken"]))
    return counts


def restores(variants):
    return (("RESTORE", "k", 0, spoiled) for _, spoiled in variants)


@pytest.mark.parametrize("key", FIXTURES)
@pytest.mark.parametrize("mask", [0x01, 0x10, 0x80, 0xFF])
def test_every_changed_byte_of_a_payload(server, key, mask):
    spoiler = Spoiler(FIXTURES[key].payload)
    counts = try_all(server, "%s, payload ^ %#x" % (key, mask), restores(spoiler.flips(mask, ID_BYTES)))
    assert counts["refused"] and (counts["taken"] or key == "empty")


@pytest.mark.parametrize("key", FIXTURES)
def test_every_truncation_of_a_payload(server, key):
    spoiler = Spoiler(FIXTURES[key].payload)
    counts = try_all(server, "%s, payload cut" % key, restores(spoiler.truncations(ID_BYTES)))
    assert counts["taken"] == 0


@pytest.mark.parametrize("key", FIXTURES)
def test_every_other_byte_in_a_header(server, key):
    header = FIXTURES[key].chunks[0][1]

    def variants():
        for at in range(len(header)):
            for value in range(256):
                if value != header[at]:
                    yield "BF.LOADCHUNK", "k", 1, header[:at] + bytes([value]) + header[at + 1 :]
        for size in range(len(header)):
            yield "BF.LOADCHUNK", "k", 1, header[:size]

    assert try_all(server, "%s, header" % key, variants())["refused"] > len(header) * 100


@pytest.mark.parametrize("key", FIXTURES)
def test_every_truncation_of_a_piece(server, key):
    """The piece is stored where its iterator says, or refused; the next piece repairs the filter."""
    fixture = FIXTURES[key]
    connection = server.connection()
    assert connection.call("BF.LOADCHUNK", "k", *fixture.chunks[0]) == OK
    for iterator, data in fixture.chunks[1:]:
        for start in range(0, len(data), 100):
            batch = [("BF.LOADCHUNK", "k", iterator, data[:size]) for size in range(start, start + 100)]
            connection.pipeline(batch)
    assert all(not reply.is_error for reply in connection.pipeline(USES[:-1]))
    assert connection.call("DEL", "k") == ONE
    assert connection.call("BF.LOADCHUNK", "k", *fixture.chunks[0]) == OK
    for iterator, data in fixture.chunks[1:]:
        assert connection.call("BF.LOADCHUNK", "k", iterator, data) == OK
    assert connection.call("DUMP", "k").plain == fixture.payload
    assert connection.call("DEL", "k") == ONE
    connection.close()


def test_what_was_refused_took_no_memory(server):
    """Two rounds over the smallest fixture's payload: the second must not need more than the first."""
    connection = server.connection()
    spoiler = Spoiler(FIXTURES["auto"].payload)

    def used_after_a_round():
        for _, spoiled in [*spoiler.truncations(ID_BYTES), *spoiler.flips(0xFF, ID_BYTES)]:
            connection.pipeline([("RESTORE", "k", 0, spoiled), ("DEL", "k")])
        text = connection.call("INFO", "memory").plain.decode()
        return int(text.split("used_memory:")[1].split()[0])

    used_after_a_round()
    before = used_after_a_round()
    assert used_after_a_round() < before + 50_000  # 350 filters of 300 bytes would be 105,000
    connection.close()


# ---- valkey-bloom's ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("mask", [0x01, 0x10, 0x80, 0xFF])
def test_every_changed_byte_of_valkeyblooms_payload(server, name, mask):
    spoiler = Spoiler(VALKEYBLOOMS[name].payload)
    counts = try_all(server, "%s, payload ^ %#x" % (name, mask), restores(spoiler.flips(mask, ID_BYTES)))
    assert counts["refused"] and counts["taken"]


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_of_valkeyblooms_payload(server, name):
    """But by up to three bytes: the server then reads on in the footer, whose second byte is an end mark."""
    spoiler = Spoiler(VALKEYBLOOMS[name].payload)
    variants = list(restores(spoiler.truncations(ID_BYTES)))
    assert try_all(server, "%s, payload cut" % name, variants[:-3])["taken"] == 0
    try_all(server, "%s, its last bytes cut" % name, variants[-3:])


def other_bytes(data, ends):
    """Every other value of each byte outside the bits, and the bits' bytes inverted; `ends` of the bits."""
    for at in range(len(data)):
        in_bits = any(start <= at < end for start, end in ends)
        for value in [data[at] ^ 0xFF] if in_bits else range(256):
            if value != data[at]:
                yield data[:at] + bytes([value]) + data[at + 1 :]


@pytest.mark.parametrize("name", ["empty", "bytes", "seed-fixed", "old-small", "low-error"])
def test_every_other_byte_and_every_truncation_of_the_string_of_bf_load(server, name):
    fixture, at, ends = VALKEYBLOOMS[name], 30, []
    for layer in fixture.model().layers:
        ends.append((at + 8 + 45, at + 8 + 45 + len(layer.bits)))
        at = ends[-1][1] + 16
    commands = (("BF.LOAD", "k", data) for data in other_bytes(fixture.load, ends))
    counts = try_all(server, "%s, BF.LOAD" % name, commands)
    assert counts["refused"] and counts["taken"] >= sum(end - start for start, end in ends)
    cut = (("BF.LOAD", "k", fixture.load[:size]) for size in range(len(fixture.load)))
    assert try_all(server, "%s, BF.LOAD cut" % name, cut)["taken"] == 0


@pytest.mark.parametrize("name", ["empty", "seed-fixed", "low-error"])
def test_every_other_byte_in_a_header_of_valkeyblooms(server, name):
    """Without its checksum none is taken; with it repaired, it is a header or refused. Its bits are not in
    it, so that any number of them is legal: the limit keeps the filters small."""
    assert server.call("CONFIG", "SET", "bf.max-bytes", 1_000_000) == OK
    header = VALKEYBLOOMS[name].model().chunks[0][1]
    body = header[:-8]
    commands = (("BF.LOADCHUNK", "k", 1, data) for data in other_bytes(header, []))
    assert try_all(server, "%s, header" % name, commands)["taken"] == 0
    commands = (("BF.LOADCHUNK", "k", 1, header[:size]) for size in range(len(header)))
    assert try_all(server, "%s, header cut" % name, commands)["taken"] == 0
    repaired = (data + xxh64(data, 0).to_bytes(8, "little") for data in other_bytes(body, []))
    commands = (("BF.LOADCHUNK", "k", 1, data) for data in repaired)
    counts = try_all(server, "%s, header, checksum right" % name, commands)
    assert counts["refused"] > len(body) and counts["taken"]
    assert server.call("CONFIG", "SET", "bf.max-bytes", 0) == OK


# ---- Other libraries' ----------------------------------------------------------------------------

FIELDS = 32  # bytes at either end of a file that may be fields
# One of each kind: both of Guava, Spark and RocksDB, any m, words and bytes, a long length.
KINDS = ["guava/mitz32_bytes.bin", "guava/mitz64_bytes.bin", "spark/s40_default_bytes.bin"]
KINDS += ["spark/s42_V2_seedneg_i64.bin", "go/m4096k5.bin", "go/m1000k3.json", "cassandra/c1_2_19.db"]
KINDS += ["cassandra/c4_1_9.db", "bip37/tweak0.bin", "rocksdb/fv4_legacy_bpk6.sst", "rocksdb/fv5_bpk6.sst"]
KINDS += ["datasketches/bytes.bin"]


def imports(fixture, variants):
    words = fixture.model.words
    return (("BF.IMPORT", "k", "FORMAT", fixture.model.name, *words, "DATA", data) for data in variants)


@pytest.mark.parametrize("name", KINDS)
def test_every_other_byte_of_a_librarys_file(server, name):
    fixture = IMPORTABLE[name]
    variants = other_bytes(fixture.data, [(FIELDS, len(fixture.data) - FIELDS)])
    counts = try_all(server, name, imports(fixture, variants))
    assert counts["refused"] and counts["taken"] >= len(fixture.data) - 2 * FIELDS


@pytest.mark.parametrize("name", KINDS)
def test_every_truncation_of_a_librarys_file(server, name):
    fixture = IMPORTABLE[name]
    variants = (fixture.data[:size] for size in range(len(fixture.data)))
    assert try_all(server, "%s, cut" % name, imports(fixture, variants))["taken"] == 0


# ---- Files ---------------------------------------------------------------------------------------


def damaged_files():
    source = random.Random(20)
    whole = DUMP_FILE.read_bytes()[:-8] + bytes(8)  # a checksum of 0 is not looked at
    starts = [whole.index(rdb_value(f.data)[1:20]) for f in FIXTURES.values()]
    yield from damaged(source, whole, starts, lambda: source.randrange(source.choice(starts) + 9, len(whole) - 9))


def damaged(source, whole, starts, cut):
    for number in range(FILES):
        start = source.choice(starts) + 9
        if number % 4 == 0:
            yield whole[: cut()]
        else:
            at = start + source.randrange(60)  # mostly fields, few bits
            yield whole[:at] + bytes([source.randrange(256)]) + whole[at + 1 :]


def damaged_valkeybloom_files(call):
    """Cut inside an array only: of a module's value cut between fields, Redis itself never stops reading."""
    source = random.Random(21)
    for file in ("mixed.rdb", "old-encver0.rdb"):
        whole = readable_file(file, call)[:-8] + bytes(8)
        starts = {name: whole.find(VALKEYBLOOMS[name].dump[1:18]) for name in SMALL}
        long = [starts[name] for name in ("auto", "bytes", "seed-fixed", "old-small") if starts[name] >= 0]
        found = [start for start in starts.values() if start >= 0]
        yield from damaged(source, whole, found, lambda: source.choice(long) + source.randrange(50, 95))


def test_a_start_on_a_damaged_file_serves_it_or_ends_in_order():
    serve_or_end(damaged_files(), FIXTURES)


def test_a_start_on_a_damaged_file_of_valkeyblooms_serves_it_or_ends_in_order(server):
    serve_or_end(damaged_valkeybloom_files(server.call), [VALKEYBLOOMS[name].key for name in SMALL])


def serve_or_end(files, keys):
    counts = {"served": 0, "ended": 0}
    for data in files:
        server = Server(config={"rdbcompression": "yes"})
        try:
            Path(server.directory, "dump.rdb").write_bytes(data)
            server.start()
            for key in keys:
                server.call("BF.MADD", key, "a", "b", "c")
            counts["served"] += 1
        except ServerDied as death:
            # the server looks at the whole file once more before it ends, and likes it or not
            assert "ended at start, code 0\n" in str(death) or "ended at start, code 1\n" in str(death), str(death)
            counts["ended"] += 1
        finally:
            server.close()
    print("\nfiles: %(served)d served, %(ended)d ended in order" % counts)
    assert counts["ended"] > FILES // 4
