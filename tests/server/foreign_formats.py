"""The filters of Guava, Spark, bits-and-blooms, Cassandra, BIP37, RocksDB, DataSketches and Redisson in plain
Python: the oracle of test_formats_fixtures.py and test_formats_refused.py, and the filters that random
programs import. It shares no code with the module. test_foreign_formats_oracle.py compares it with what the
libraries themselves made (tests/golden/formats).

Each format is a subclass of Foreign:

    Guava(m, k, strategy=1)         Spark(m, k, version=2, seed=0)      Go(m, k)
    Cassandra(m, k, variant="4.x")  Bip37(m, k, tweak=0, flags=0)       Rocksdb(m, k)
    RocksdbLegacy(m, k)             Datasketches(m, k, seed=0)          Redisson(m, k)

    name, scheme    the word after FORMAT, and what BF.INFO HASH shows
    words           what BF.IMPORT and BF.EXPORT need besides FORMAT
    positions(item) the bits of an item, for m and k of this filter or of another layer
    data            the bytes that the library writes, and decode(data) the inverse
    empty()         an empty one of the same parameters

`bits` has bit p in byte p >> 3, mask 1 << (p & 7), whatever the format's own order is.
"""

import struct

from bloom_model import xxh64
from foreign_hashes import (
    MASK32,
    MASK64,
    highway128,
    murmur3_128,
    murmur3_32,
    rocksdb_hash32,
    signed,
    spark_hash,
    xxph3,
)


def swapped(data):
    """64-bit words from little-endian to big-endian, and back."""
    words = struct.unpack("<%dQ" % (len(data) // 8), data)
    return struct.pack(">%dQ" % len(words), *words)


def folded(x, nbits):
    """x as a signed number; of a negative one the complement."""
    x = signed(x, nbits)
    return x if x >= 0 else ~x


class Foreign:
    name = scheme = None
    words = ()
    grows = True

    def __init__(self, m, k, **parameters):
        self.m, self.k, self.parameters = m, k, parameters
        self.bits = bytearray((m + 7) // 8)
        for name, value in parameters.items():
            setattr(self, name, value)

    def empty(self):
        return type(self)(self.m, self.k, **self.parameters)

    @classmethod
    def of(cls, bits, m, k, **parameters):
        self = cls(m, k, **parameters)
        assert len(bits) >= len(self.bits) and not any(bits[len(self.bits) :])
        self.bits[:] = bits[: len(self.bits)]
        assert not m % 8 or self.bits[-1] >> m % 8 == 0
        return self

    def positions(self, item, m=None, k=None):
        raise NotImplementedError

    def add(self, item):
        """1 if a bit was not set before, as BF.ADD answers."""
        if self.contains(item):
            return 0
        for p in self.positions(item):
            self.bits[p >> 3] |= 1 << (p & 7)
        return 1

    def add_all(self, items):
        for item in items:
            self.add(item)
        return self

    def contains(self, item):
        return int(all(self.bits[p >> 3] & 1 << (p & 7) for p in self.positions(item)))

    def unite(self, other):
        assert (type(self), self.m, self.k, self.parameters) == (type(other), other.m, other.k, other.parameters)
        self.bits[:] = bytes(a | b for a, b in zip(self.bits, other.bits))
        return self

    def set_positions(self):
        return [p for p in range(self.m) if self.bits[p >> 3] & 1 << (p & 7)]


# ---- Guava ---------------------------------------------------------------------------------------


class Guava(Foreign):
    name, strategy = "guava", 1

    @property
    def scheme(self):
        return "GUAVA64" if self.strategy else "GUAVA32"

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        h1, h2 = murmur3_128(item)
        if self.strategy:
            return [(h1 + i * h2 & MASK64 >> 1) % m for i in range(k)]
        a, b = h1 & MASK32, h1 >> 32
        return [folded(a + i * b, 32) % m for i in range(1, k + 1)]

    @property
    def data(self):
        return struct.pack(">BBi", self.strategy, self.k, self.m // 64) + swapped(self.bits)

    @classmethod
    def decode(cls, data):
        strategy, k, words = struct.unpack_from(">BBi", data)
        assert len(data) == 6 + 8 * words
        return cls.of(swapped(data[6:]), 64 * words, k, strategy=strategy)


# ---- Spark ---------------------------------------------------------------------------------------


class Spark(Foreign):
    name, version, seed = "spark", 2, 0

    @property
    def scheme(self):
        return "SPARK%d" % self.version

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        h1 = spark_hash(item, self.seed if self.version == 2 else 0)
        h2 = spark_hash(item, h1)
        if self.version == 1:
            return [folded(h1 + i * h2, 32) % m for i in range(1, k + 1)]
        return [folded(h1 * 0x7FFFFFFF + i * h2, 64) % m for i in range(1, k + 1)]

    @property
    def data(self):
        seed = struct.pack(">i", self.seed) if self.version == 2 else b""
        return struct.pack(">ii", self.version, self.k) + seed + struct.pack(">i", self.m // 64) + swapped(self.bits)

    @classmethod
    def decode(cls, data):
        version, k, third = struct.unpack_from(">iii", data)
        if version == 1:
            assert len(data) == 12 + 8 * third
            return cls.of(swapped(data[12:]), 64 * third, k, version=1)
        (words,) = struct.unpack_from(">i", data, 12)
        assert version == 2 and len(data) == 16 + 8 * words
        return cls.of(swapped(data[16:]), 64 * words, k, version=2, seed=third)


# ---- bits-and-blooms -----------------------------------------------------------------------------


class Go(Foreign):
    name, scheme = "go", "GO"

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        h = murmur3_128(item) + murmur3_128(item + b"\x01")
        return [(h[i % 2] + i * h[2 + (i + i % 2) % 4 // 2] & MASK64) % m for i in range(k)]

    @property
    def data(self):
        words = bytes(self.bits).ljust((self.m + 63) // 64 * 8, b"\0")
        return struct.pack(">QQQ", self.m, self.k, self.m) + swapped(words)

    @classmethod
    def decode(cls, data):
        m, k, nbits = struct.unpack_from(">QQQ", data)
        assert m == nbits and len(data) == 24 + (m + 63) // 64 * 8
        return cls.of(swapped(data[24:]), m, k)


# ---- Cassandra -----------------------------------------------------------------------------------


class Cassandra(Foreign):
    """The bytes do not say which variant they are."""

    name, variant = "cassandra", "4.x"

    @property
    def scheme(self):
        return "CASSANDRA2" if self.variant == "old" else "CASSANDRA3"

    @property
    def words(self):
        return ("VARIANT", self.variant)

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        base, step = murmur3_128(item, signed_tail=True)
        if self.variant != "old":
            base, step = step, base
        return [abs(signed(base + i * step, 64)) % m for i in range(k)]

    @property
    def data(self):
        bits = bytes(self.bits) if self.variant == "4.x" else swapped(self.bits)
        return struct.pack(">ii", self.k, self.m // 64) + bits

    @classmethod
    def decode(cls, data, variant="4.x"):
        k, words = struct.unpack_from(">ii", data)
        assert len(data) == 8 + 8 * words
        bits = data[8:] if variant == "4.x" else swapped(data[8:])
        return cls.of(bits, 64 * words, k, variant=variant)


# ---- BIP37 ---------------------------------------------------------------------------------------


def compact_size(n):
    return bytes([n]) if n < 0xFD else struct.pack("<BH", 0xFD, n) if n < 1 << 16 else struct.pack("<BI", 0xFE, n)


class Bip37(Foreign):
    name, scheme, grows = "bip37", "BIP37", False
    tweak = flags = 0

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        return [murmur3_32(item, i * 0xFBA4C795 + self.tweak & MASK32) % m for i in range(k)]

    @property
    def data(self):
        return compact_size(len(self.bits)) + bytes(self.bits) + struct.pack("<IIB", self.k, self.tweak, self.flags)

    @classmethod
    def decode(cls, data):
        n, at = data[0], 1
        if n >= 0xFD:
            at = {0xFD: 3, 0xFE: 5}[n]
            n = int.from_bytes(data[1:at], "little")
        k, tweak, flags = struct.unpack_from("<IIB", data, at + n)
        assert len(data) == at + n + 9
        return cls.of(data[at : at + n], 8 * n, k, tweak=tweak, flags=flags)


# ---- RocksDB -------------------------------------------------------------------------------------

LINE = 512  # bits


class Rocksdb(Foreign):
    """FastLocalBloom: format_version 5 and later."""

    name, scheme, grows = "rocksdb", "ROCKSDB", False

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        h = xxph3(item)
        line, g, found = (h & MASK32) * (m // LINE) >> 32, h >> 32, []
        for _ in range(k):
            found.append(LINE * line + (g >> 23))
            g = g * 0x9E3779B9 & MASK32
        return found

    @property
    def data(self):
        return bytes(self.bits) + bytes([0xFF, 0, self.k, 0, 0])

    @classmethod
    def decode(cls, data):
        if data[-5] != 0xFF:
            return RocksdbLegacy.decode(data)
        assert data[-4] == 0 and data[-2:] == b"\0\0" and data[-3] < 32
        return cls.of(data[:-5], 8 * (len(data) - 5), data[-3])


class RocksdbLegacy(Foreign):
    name, scheme, grows = "rocksdb", "ROCKSDB4", False

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        h = rocksdb_hash32(item)
        step, line, found = (h >> 17 | h << 15) & MASK32, h % (m // LINE), []
        for _ in range(k):
            found.append(LINE * line + h % LINE)
            h = h + step & MASK32
        return found

    @property
    def data(self):
        return bytes(self.bits) + struct.pack("<BI", self.k, self.m // LINE)

    @classmethod
    def decode(cls, data):
        k, lines = struct.unpack("<BI", data[-5:])
        assert len(data) == 64 * lines + 5
        return cls.of(data[:-5], LINE * lines, k)


class Varints:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            value, shift, self.at = value | (byte & 0x7F) << shift, shift + 7, self.at + 1
            if byte < 0x80:
                return value

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n : self.at]


def metaindex_of(table):
    footer, (version,) = table[-53:], struct.unpack("<I", table[-12:-8])
    assert struct.unpack("<Q", table[-8:])[0] == 0x88E241B785F4CFF7
    if version <= 5:
        handle = Varints(footer, 1)
        at, size = handle.next(), handle.next()
    else:
        (size,) = struct.unpack_from("<I", footer, 13)
        at = len(table) - 53 - 5 - size
    return table[at : at + size]


def filter_block(table):
    """The filter of an .sst file of RocksDB."""
    block = metaindex_of(table)
    (restarts,) = struct.unpack("<I", block[-4:])
    entries, key = Varints(block[: len(block) - 4 - 4 * restarts]), b""
    while entries.at < len(entries.data):
        shared, unshared, size = entries.next(), entries.next(), entries.next()
        key = key[:shared] + entries.bytes(unshared)
        value = Varints(entries.bytes(size))
        if key == b"fullfilter.rocksdb.BuiltinBloomFilter":
            at, size = value.next(), value.next()
            return table[at : at + size]
    raise AssertionError("no full filter of RocksDB's own policy")


# ---- DataSketches --------------------------------------------------------------------------------

NOT_COUNTED = MASK64
EMPTY = 4


class Datasketches(Foreign):
    name, scheme = "datasketches", "DATASKETCHES"
    seed, is_counted = 0, False

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        h0 = xxh64(item, self.seed)
        h1 = xxh64(item, h0)
        return [((h0 + i * h1 & MASK64) >> 1) % m for i in range(1, k + 1)]

    @property
    def data(self):
        ones = int.from_bytes(self.bits, "little").bit_count()
        start = struct.pack("<BBBBHHQII", 4 if ones else 3, 1, 21, 0 if ones else EMPTY, self.k, 0, self.seed, self.m // 64, 0)
        if not ones:
            return start
        return start + struct.pack("<Q", ones if self.is_counted else NOT_COUNTED) + bytes(self.bits)

    @classmethod
    def decode(cls, data):
        longs, version, family, flags, k, zero, seed, words, zero2 = struct.unpack_from("<BBBBHHQII", data)
        assert (version, family, zero, zero2) == (1, 21, 0, 0)
        if flags & EMPTY:
            assert longs == 3 and len(data) == 24
            return cls(64 * words, k, seed=seed)
        (count,) = struct.unpack_from("<Q", data, 24)
        assert longs == 4 and len(data) == 32 + 8 * words
        return cls.of(data[32:], 64 * words, k, seed=seed, is_counted=count != NOT_COUNTED)


# ---- Redisson ------------------------------------------------------------------------------------

REVERSED = bytes(int("{:08b}".format(byte)[::-1], 2) for byte in range(256))


class Redisson(Foreign):
    """A string in SETBIT's order; m and k are in the hash beside it."""

    name, scheme = "redisson", "REDISSON"

    def positions(self, item, m=None, k=None):
        m, k = m or self.m, k or self.k
        a, b = highway128(item)
        h, found = a, []
        for i in range(k):
            found.append((h & MASK64 >> 1) % m)
            h = h + (a if i % 2 else b) & MASK64
        return found

    @property
    def data(self):
        return bytes(self.bits).translate(REVERSED).rstrip(b"\0")

    @classmethod
    def decode(cls, data, m, k):
        return cls.of(data.translate(REVERSED).ljust((m + 7) // 8, b"\0"), m, k)


FORMATS = {
    "guava": Guava,
    "spark": Spark,
    "go": Go,
    "cassandra": Cassandra,
    "bip37": Bip37,
    "rocksdb": Rocksdb,
    "datasketches": Datasketches,
    "redisson": Redisson,
}

# Small empty filters, one of each scheme and of each way to write it.
SAMPLES = {
    "guava64": Guava(640, 5),
    "guava32": Guava(640, 5, strategy=0),
    "spark1": Spark(640, 5, version=1),
    "spark2": Spark(640, 5, version=2, seed=-559038737),
    "go": Go(601, 6),
    "cassandra-old": Cassandra(640, 4, variant="old"),
    "cassandra-3.x": Cassandra(640, 4, variant="3.x"),
    "cassandra-4.x": Cassandra(640, 4, variant="4.x"),
    "bip37": Bip37(600, 5, tweak=0xDEADBEEF, flags=2),
    "rocksdb": Rocksdb(1024, 6),
    "rocksdb-legacy": RocksdbLegacy(1536, 6),
    "datasketches": Datasketches(640, 5, seed=MASK64 - 4),
    "datasketches-counted": Datasketches(640, 5, seed=1, is_counted=True),
}


def import_words(key, model, *words):
    return ["BF.IMPORT", key, "FORMAT", model.name, *model.words, *words, "DATA", model.data]


def import_foreign(call, key, model, *words):
    return call(*import_words(key, model, *words))


def export_foreign(call, key, model):
    return call("BF.EXPORT", key, "FORMAT", model.name, *model.words)
