"""BF.IMPORT of wrong filters of other libraries: truncated, extended, contradictory, giant, damaged. Each is
refused with an error that names the field, and no key appears. What is accepted is exported as it came.
"""

import random
import re
import struct

import pytest

from checks import NO_MEMORY, dump, filter_state, keyspace, load, look_up_all
from foreign_fixtures import IMPORTABLE
from foreign_formats import SAMPLES, Bip37, Cassandra, Datasketches, Go, Guava, Rocksdb, RocksdbLegacy, Spark, compact_size
from resp import OK, ZERO, error

MODULE_ARGS = ["max-bytes", "2000000"]  # 24 bytes of DataSketches may claim 32 GiB of zeros

ITEMS = [b"item:%d" % i for i in range(4)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(100)]
VARIANT = {"cassandra": ("VARIANT", "4.x")}
BAD = "ERR bad data: "


def import_(call, key, name, data, *words):
    return call("BF.IMPORT", key, "FORMAT", name, *words, *VARIANT.get(name, ()), "DATA", data)


def assert_bad_data(call, name, data, field=""):
    """One error that names the field, which is a pattern; nothing changed."""
    before = keyspace(call, "k")
    reply = import_(call, "k", name, data)
    assert reply.is_error and reply.value.startswith(BAD), reply
    assert re.search(field, reply.value.removeprefix(BAD)), reply
    assert len(reply.value) > len(BAD) and "\n" not in reply.value, "which field?"
    assert keyspace(call, "k") == before


# The smallest of each, whose every byte is damaged below.
SMALL = {
    "guava64": Guava(64, 3),
    "guava32": Guava(64, 3, strategy=0),
    "spark1": Spark(64, 3, version=1),
    "spark2": Spark(64, 3, version=2, seed=-2),
    "go": Go(75, 3),
    "cassandra": Cassandra(64, 3),
    "bip37": Bip37(72, 3, tweak=5, flags=1),
    "rocksdb": Rocksdb(512, 3),
    "rocksdb-legacy": RocksdbLegacy(512, 3),
    "datasketches": Datasketches(64, 3, seed=9),
    "datasketches-counted": Datasketches(64, 3, seed=9, is_counted=True),
    "datasketches-empty": Datasketches(64, 3, seed=9),
}


def small(name):
    model = SMALL[name].empty()
    return model if name.endswith("-empty") else model.add_all(ITEMS)


EACH = pytest.mark.parametrize("name", SMALL)

# ---- Fields --------------------------------------------------------------------------------------

BITS = bytes(range(1, 9))  # one word
LINES = "line"
K, M, LENGTH = r"\bk\b", r"\bm\b|length|words", r"length|bytes after|shorter|\bm\b"


def guava(strategy=1, k=3, words=1, bits=BITS):
    return struct.pack(">BBi", strategy, k, words) + bits


def spark(version=1, k=3, words=1, bits=BITS, seed=b""):
    return struct.pack(">ii", version, k) + seed + struct.pack(">i", words) + bits


def go(m=64, k=3, length=None, bits=BITS):
    return struct.pack(">QQQ", m, k, m if length is None else length) + bits


def cassandra(k=3, words=1, bits=BITS):
    return struct.pack(">ii", k, words) + bits


def bip37(start=b"\x08", bits=BITS, k=3, flags=0):
    return start + bits + struct.pack("<IIB", k, 7, flags)


def rocksdb(bits=bytes(63) + b"\x01", trailer=b"\xff\x00\x03\x00\x00"):
    return bits + trailer


def legacy(bits=bytes(63) + b"\x01", k=3, lines=1):
    return bits + struct.pack("<BI", k, lines)


def datasketches(longs=4, version=1, family=21, flags=0, k=3, zero=0, seed=7, words=1, zero2=0, count=None, bits=BITS):
    start = struct.pack("<BBBBHHQII", longs, version, family, flags, k, zero, seed, words, zero2)
    ones = int.from_bytes(bits, "little").bit_count()
    return start + struct.pack("<Q", ones if count is None else count) + bits


NEGATIVE, MOST = -1, 2**31 - 1
GIANTS = [2**63 - 1, 2**63, 2**64 - 1, 2**64 - 63, 2**60, 2**40]

RIGHT = [
    ("guava", guava()),
    ("guava", guava(strategy=0)),
    ("guava", guava(k=255)),
    ("spark", spark()),
    ("spark", spark(k=255)),
    ("spark", spark(version=2, seed=b"\xff\xff\xff\xfe")),
    ("go", go()),
    ("go", go(k=255)),
    ("go", go(m=57, bits=b"\x01" + BITS[1:])),
    ("cassandra", cassandra()),
    ("cassandra", cassandra(k=255)),
    ("bip37", bip37()),
    ("bip37", bip37(k=50)),
    ("rocksdb", rocksdb()),
    ("rocksdb", rocksdb(trailer=b"\xff\x00\x1e\x00\x00")),
    ("rocksdb", legacy()),
    ("rocksdb", legacy(k=30)),
    ("rocksdb", legacy(bits=bytes(191) + b"\x01", lines=3)),
    ("datasketches", datasketches()),
    ("datasketches", datasketches(k=255)),
    ("datasketches", datasketches(count=2**64 - 1)),
    ("datasketches", datasketches(longs=3, flags=4)[:24]),
]

WRONG = [
    *[("guava", guava(strategy=x), "strategy") for x in (2, 3, 127, 128, 255)],
    ("guava", guava(k=0), K),
    ("guava", guava(words=0), M),
    ("guava", guava(words=0, bits=b""), M),
    *[("guava", guava(words=x), M) for x in (NEGATIVE, -(2**31), 2, MOST)],
    ("guava", guava(bits=BITS * 2), LENGTH),
    *[("spark", spark(version=x), "version") for x in (0, 3, NEGATIVE, MOST, 256)],
    *[("spark", spark(version=v, k=x, seed=s), K) for x in (0, 256, NEGATIVE, MOST) for v, s in ((1, b""), (2, bytes(4)))],
    *[("spark", spark(version=v, words=x, seed=s), M) for x in (0, 2, NEGATIVE, MOST) for v, s in ((1, b""), (2, bytes(4)))],
    ("spark", spark(words=0, bits=b""), M),
    ("spark", spark(version=2, seed=bytes(4), words=0, bits=b""), M),
    *[("go", go(k=x), K) for x in (0, 256, 2**32, 2**32 + 3, 2**64 - 1)],
    ("go", go(m=0), M),
    ("go", go(m=0, bits=b""), M),
    *[("go", go(m=x), M) for x in (65, 128, *GIANTS)],
    *[("go", go(length=x), "length|m") for x in (0, 63, 65, *GIANTS)],
    ("go", go(m=56), "beyond m"),
    ("go", go(m=1), "beyond m"),
    ("go", go(m=65, bits=BITS + b"\x00" * 7 + b"\x02"), "beyond m"),
    *[("cassandra", cassandra(k=x), K) for x in (0, 256, NEGATIVE, MOST)],
    *[("cassandra", cassandra(words=x), M) for x in (0, 2, NEGATIVE, -(2**31), MOST)],
    ("cassandra", cassandra(words=0, bits=b""), M),
    *[("bip37", bip37(k=x), K) for x in (0, 51, 255, 256, 2**31, 2**32 - 1)],
    ("bip37", bip37(b"\x00", b""), M),
    *[("bip37", bip37(start), M + "|shorter") for start in (b"\x07", b"\x09", b"\x00", b"\xfc")],
    *[("bip37", bip37(start), M + "|shorter") for start in (b"\xfd\x08\x00", b"\xfe\x08\x00\x00\x00", b"\xff\x08" + bytes(7))],
    *[("bip37", bip37(start), M + "|shorter") for start in (b"\xfd\xff\xff", b"\xfe\xff\xff\xff\xff", b"\xff" + b"\xff" * 8)],
    ("bip37", bip37(compact_size(36001), bytes(36001)), "length of the bits"),
    ("rocksdb", b"", LINES),
    ("rocksdb", rocksdb(bits=b""), LINES),
    ("rocksdb", rocksdb(bits=bytes(63)), LINES),
    ("rocksdb", rocksdb(bits=bytes(65)), LINES),
    *[("rocksdb", rocksdb(trailer=bytes([0xFF, 0, x, 0, 0])), K) for x in (0, 31)],
    *[("rocksdb", rocksdb(trailer=bytes([0xFF, 0, x << 5 | 3, 0, 0])), "size of a line") for x in range(1, 8)],
    *[("rocksdb", rocksdb(trailer=bytes([0xFF, x, 3, 0, 0])), "kind of filter") for x in (1, 2, 128, 255)],
    *[("rocksdb", rocksdb(trailer=bytes([0xFF, 0, 3, *x])), "trailer") for x in ((1, 0), (0, 1), (255, 255))],
    *[("rocksdb", rocksdb(trailer=bytes([x, 0, 3, 0, 0])), LINES) for x in (0xFE, 0x80, 0x00)],
    *[("rocksdb", legacy(k=x), K) for x in (0, 31, 128, 254)],
    *[("rocksdb", legacy(lines=x), LINES) for x in (0, 2, 3, 4, 2**25, 2**26, 2**31, 2**32 - 1)],
    ("rocksdb", legacy(bits=bytes(127) + b"\x01", lines=1), LINES),  # a line of 128 bytes
    ("rocksdb", legacy(bits=bytes(95) + b"\x01", lines=3), LINES),  # three of 32 bytes
    ("rocksdb", legacy(bits=b"", lines=0), LINES),
    *[("datasketches", datasketches(longs=x), "length of the header") for x in (0, 3, 5, 255)],
    *[("datasketches", datasketches(version=x), "version") for x in (0, 2, 255)],
    *[("datasketches", datasketches(family=x), "family") for x in (0, 20, 22, 255)],
    *[("datasketches", datasketches(k=x), K) for x in (0, 256, 65535)],
    *[("datasketches", datasketches(words=x), M) for x in (0, 2, 2**31 - 1, 2**31, 2**32 - 1)],
    *[("datasketches", datasketches(flags=x), "flags") for x in (1, 2, 5, 8, 16, 128, 255)],
    *[("datasketches", datasketches(zero=x), "header") for x in (1, 256, 65535)],
    *[("datasketches", datasketches(zero2=x), "header") for x in (1, 2**31)],
    ("datasketches", datasketches(flags=4), "length of the header"),
    ("datasketches", datasketches(longs=4, flags=4)[:24], "length of the header"),
    ("datasketches", datasketches(longs=3, flags=0)[:24], "length of the header"),
    ("datasketches", datasketches(longs=3, flags=4, words=0)[:24], M),
    ("datasketches", datasketches(longs=3, flags=4, k=0)[:24], K),
    ("datasketches", datasketches(longs=3, flags=4)[:24] + bytes(8), LENGTH),
    *[("datasketches", datasketches(count=x), "set bits") for x in (0, 12, 14, 65, 2**63, 2**64 - 2)],
]


@pytest.mark.parametrize("name, data", RIGHT, ids=lambda value: value if isinstance(value, str) else value.hex()[:40])
def test_the_payload_under_those_faults_is_imported_without_them(call, name, data):
    assert import_(call, "k", name, data) == OK
    assert call("BF.EXPORT", "k", "FORMAT", name).plain == data


@pytest.mark.parametrize("name, data, field", WRONG, ids=lambda value: value if isinstance(value, str) else value.hex()[:60])
def test_a_wrong_field_is_refused_by_its_name(call, name, data, field):
    assert_bad_data(call, name, data, field)


@pytest.mark.parametrize("words", [2**15, 2**18, 2**26, 2**26 + 1, 2**32 - 1])
def test_zeros_that_an_empty_filter_of_datasketches_claims_count_for_max_bytes(call, words):
    data = datasketches(longs=3, flags=4, words=words)[:24]
    reply = import_(call, "k", "datasketches", data)
    if words == 2**15:
        assert reply == OK and call("BF.EXPORT", "k", "FORMAT", "datasketches").plain == data
        return
    assert reply == error("ERR bad data: m" if words > 2**26 else NO_MEMORY)  # over 512 MiB
    assert call("DBSIZE") == ZERO


# ---- Damage --------------------------------------------------------------------------------------


def assert_kept(call, name, data):
    """What was accepted is exported as it came, answers as the oracle does, is dumped, restored and added to."""
    model = SMALL[name]
    exported = call("BF.EXPORT", "k", "FORMAT", model.name).plain
    decoded = model.decode(data)
    if exported != data:  # all bits are 0: DataSketches has a form of its own for that
        assert model.name == "datasketches" and not any(decoded.bits), data.hex()
        assert exported == decoded.data
    else:
        assert decoded.data == data
    if decoded.m < 10**6:
        assert look_up_all(call, "k", PROBES) == [decoded.contains(item) for item in PROBES]
    load(call, "loaded", dump(call, "k"))
    assert call("RESTORE", "restored", "0", call("DUMP", "k").plain) == OK
    state = filter_state(call, "k")
    assert filter_state(call, "restored") == state == filter_state(call, "loaded")
    reply = call("BF.ADD", "k", "flip")
    assert not reply.is_error or reply == error("ERR non scaling filter is full"), reply
    call("DEL", "k", "loaded", "restored")


def import_damaged(call, name, data):
    reply = import_(call, "k", SMALL[name].name, data)
    if reply == OK:
        assert_kept(call, name, data)
        return True
    assert reply.is_error and reply.value.startswith((BAD, "ERR Insufficient memory")), (data.hex(), reply)
    assert call("DBSIZE") == ZERO
    return False


@EACH
def test_every_truncation_is_refused(call, name):
    data = small(name).data
    if name == "rocksdb-legacy":
        data = bytes(b | 0x80 for b in data[:-5]) + data[-5:]  # so that no prefix ends in a trailer
    for length in range(len(data)):
        assert_bad_data(call, SMALL[name].name, data[:length])
    assert call("PING").plain == "PONG"


@EACH
@pytest.mark.parametrize("more", [b"\x00", b"\xff", bytes(8), bytes(64), bytes(range(1, 65))], ids=bytes.hex)
def test_trailing_bytes_are_refused(call, name, more):
    assert_bad_data(call, SMALL[name].name, small(name).data + more)


@EACH
def test_every_byte_flipped_is_refused_or_kept_as_it_is(call, name):
    data, accepted, refused = small(name).data, 0, 0
    for at in range(len(data)):
        for flip in (0x01, 0x02, 0x10, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flip
            if import_damaged(call, name, bytes(damaged)):
                accepted += 1
            else:
                refused += 1
    assert accepted and refused
    assert call("PING").plain == "PONG"


@EACH
def test_random_bytes_and_random_damage_do_no_harm(call, name):
    seed = 1900 + list(SMALL).index(name)
    print("seed", seed)
    source, data = random.Random(seed), small(name).data
    for _ in range(300):
        if source.random() < 0.3:
            damaged = source.randbytes(source.randint(0, 100))
        else:
            damaged = bytearray(data)
            for _ in range(source.randint(1, 4)):
                damaged[source.randrange(len(damaged))] = source.choice((0, 1, 127, 128, 255, source.randrange(256)))
        import_damaged(call, name, bytes(damaged))
    assert call("PING").plain == "PONG"


@pytest.mark.parametrize("fixture", IMPORTABLE.values(), ids=IMPORTABLE)
def test_a_librarys_file_cut_or_extended_is_refused(call, fixture):
    """Every cut near the ends, some between."""
    name, data, words = fixture.model.name, fixture.data, fixture.model.words
    lengths = sorted({*range(40), *range(0, len(data), 37), *range(len(data) - 40, len(data))})
    for cut in [data[:length] for length in lengths] + [data + b"\x00", data + bytes(8)]:
        reply = call("BF.IMPORT", "k", "FORMAT", name, *words, "DATA", cut)
        if name == "rocksdb" and reply == OK:  # the last five bytes of a prefix may be a trailer
            assert call("BF.EXPORT", "k", "FORMAT", name).plain == cut
            call("DEL", "k")
            continue
        assert reply.is_error and reply.value.startswith(BAD), (len(cut), reply)
    assert call("DBSIZE") == ZERO


@pytest.mark.parametrize("name", ["guava", "spark", "go", "cassandra", "bip37", "rocksdb", "datasketches"])
def test_nothing_at_all_is_refused(call, name):
    assert_bad_data(call, name, b"")


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_refused_import_leaves_the_filter_that_is_there(call, sample):
    data = sample.empty().add_all(ITEMS).data
    words = ("FORMAT", sample.name, *sample.words)
    assert call("BF.IMPORT", "k", *words, "DATA", data) == OK
    before = keyspace(call, "k")
    for wrong in (data[:-1], data + b"\x00"):
        assert call("BF.IMPORT", "k", *words, "REPLACE", "DATA", wrong).is_error
        assert keyspace(call, "k") == before
    assert call("BF.IMPORT", "k", *words, "DATA", data) == error("ERR item exists")
