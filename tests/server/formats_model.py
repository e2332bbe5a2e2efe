"""The filters of other programs in plain Python, from their public descriptions (module/docs/EXPORT.md):
the oracle of test_export.py and test_import.py. It shares no code with the module; XXH64 and FNV-1a are
those of bloom_model.py, which are from public descriptions too.

    portable, sstable   12 or 16 bytes of header, then one layer
    LevelDb             bits, then k in one byte
    Parquet             a Thrift header, then blocks of 32 bytes
    RedisBloom          a chain of layers; its dump is the SCANDUMP header and all bits
    estimate            the number of items, estimated from the set bits
"""

import json
import math
import struct
from base64 import b64decode
from pathlib import Path

from bloom_model import HASHES, LayerModel, xxh64

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
FIXTURES = Path(__file__).resolve().parents[1] / "golden" / "redisbloom" / "manifest.json"


def set_bits(positions, nbytes):
    bits = bytearray(nbytes)
    for p in positions:
        bits[p >> 3] |= 1 << (p & 7)
    return bits


def ones(bits):
    return int.from_bytes(bits, "little").bit_count()


def estimate(m, k, bits):
    """-(m/k) ln(1 - ones/m)"""
    return -m / k * math.log(1 - ones(bits) / m)


# ---- portable and sstable ----------------------------------------------------------------------


class Plain:
    """m bits, k hashes, (h1 + i*h2) mod m."""

    def __init__(self, m, k, scheme="XXH64", items=()):
        self.m, self.k, self.hash = m, k, HASHES[scheme]
        self.layer = LayerModel(m, k, 0)
        for item in items:
            self.add(item)

    def add(self, item):
        self.layer.set(self.hash(item))

    def contains(self, item):
        return int(self.layer.contains(self.hash(item)))

    @property
    def bits(self):
        return bytes(self.layer.bits)

    @property
    def portable(self):
        return struct.pack("<IQ", self.k, self.m) + self.bits

    def sstable(self, bits_per_key):
        return struct.pack("<QII", self.m, self.k, bits_per_key) + self.bits


class Bits:
    """An array of bits, and the item's `positions` in it."""

    def add(self, item):
        for p in self.positions(item):
            self.bits[p >> 3] |= 1 << (p & 7)

    def contains(self, item):
        return int(all(self.bits[p >> 3] & 1 << (p & 7) for p in self.positions(item)))


# ---- LevelDB -----------------------------------------------------------------------------------


def leveldb_hash(data, seed=0xBC9F1D34):
    mul = 0xC6A4A793
    h = seed ^ (len(data) * mul & MASK32)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        h = (h + int.from_bytes(data[at : at + 4], "little")) * mul & MASK32
        h ^= h >> 16
    if whole < len(data):
        h = (h + int.from_bytes(data[whole:], "little")) * mul & MASK32
        h ^= h >> 24
    return h


class LevelDb(Bits):
    def __init__(self, nbytes, k, items=()):
        self.m, self.k, self.bits = nbytes * 8, k, bytearray(nbytes)
        for item in items:
            self.add(item)

    @classmethod
    def built(cls, items, bits_per_key):
        """As FilterPolicy::CreateFilter sizes it."""
        bits = max(64, len(items) * bits_per_key)
        return cls((bits + 7) // 8, min(max(int(bits_per_key * 0.69), 1), 30), items)

    def positions(self, item):
        h = leveldb_hash(item)
        delta = (h >> 17 | h << 15) & MASK32
        for _ in range(self.k):
            yield h % self.m
            h = (h + delta) & MASK32

    @property
    def data(self):
        return bytes(self.bits) + bytes([self.k])


# ---- Parquet -----------------------------------------------------------------------------------

SALTS = [
    0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
]  # fmt: skip
# algorithm {BLOCK {}}, hash {XXHASH {}}, compression {UNCOMPRESSED {}}, end of the header
PARQUET_TAIL = bytes.fromhex("1c1c0000" * 3 + "00")


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def parquet_header(nbytes):
    """Thrift's compact protocol: field 1, an i32, zigzag; then three unions."""
    return b"\x15" + varint((nbytes << 1) ^ (nbytes >> 63)) + PARQUET_TAIL


class Parquet(Bits):
    def __init__(self, nbytes, items=()):
        self.m, self.k, self.bits = nbytes * 8, 8, bytearray(nbytes)
        for item in items:
            self.add(item)

    def positions(self, item):
        h = xxh64(item, 0)
        block = (h >> 32) * (len(self.bits) // 32) >> 32
        for i, salt in enumerate(SALTS):
            yield block * 256 + i * 32 + ((h * salt & MASK32) >> 27)

    @property
    def data(self):
        return parquet_header(len(self.bits)) + bytes(self.bits)


# ---- RedisBloom --------------------------------------------------------------------------------


def murmur64a(data, seed):
    mul = 0xC6A4A7935BD1E995
    h = seed ^ (len(data) * mul & MASK64)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        w = int.from_bytes(data[at : at + 8], "little") * mul & MASK64
        h = (h ^ ((w ^ w >> 47) * mul & MASK64)) * mul & MASK64
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * mul & MASK64
    h = (h ^ h >> 47) * mul & MASK64
    return h ^ h >> 47


def hash_murmur(item):
    a = murmur64a(item, 0xC6A4A7935BD1E995)
    return a, murmur64a(item, a)


REDISBLOOM_FIXED = struct.Struct("<QIII")
REDISBLOOM_LAYER = struct.Struct("<QQQddIQB")
LN2_SQUARED = 0.480453013918201


class RedisBloomLayer(LayerModel):
    def __init__(self, capacity, ratio):
        self.ratio = ratio
        self.bits_per_item = -math.log(ratio) / LN2_SQUARED
        bits = (int(capacity * self.bits_per_item) + 63) // 64 * 64
        super().__init__(bits, math.ceil(self.bits_per_item * math.log(2)), capacity)


class RedisBloom:
    """A filter as RedisBloom sizes and grows it. `growth` is in the header of a non-scaling one too: 2."""

    def __init__(self, error, capacity, expansion=2, is_scaling=True):
        self.growth, self.is_scaling = expansion, is_scaling
        self.layers = [RedisBloomLayer(capacity, error / 2 if is_scaling else error)]

    @classmethod
    def loaded(cls, data):
        """The model that continues from a dump, taking sizes from the rule and bits from the dump."""
        _, count, options, growth = REDISBLOOM_FIXED.unpack_from(data)
        self = cls.__new__(cls)
        self.growth, self.is_scaling, self.layers = growth, not options & 8, []
        at = REDISBLOOM_FIXED.size
        bits_at = at + count * REDISBLOOM_LAYER.size
        for _ in range(count):
            nbytes, bits, items, ratio, _, hashes, capacity, _ = REDISBLOOM_LAYER.unpack_from(data, at)
            at += REDISBLOOM_LAYER.size
            layer = RedisBloomLayer(capacity, ratio)
            assert (layer.nbits, layer.nhashes) == (bits, hashes)
            layer.bits[:], layer.items = data[bits_at : bits_at + nbytes], items
            bits_at += nbytes
            self.layers.append(layer)
        return self

    def contains(self, item):
        return int(any(layer.contains(hash_murmur(item)) for layer in self.layers))

    def add(self, item):
        if self.contains(item):
            return 0
        last = self.layers[-1]
        if last.items >= last.capacity:
            assert self.is_scaling
            last = RedisBloomLayer(last.capacity * self.growth, last.ratio * 0.5)
            self.layers.append(last)
        last.set(hash_murmur(item))
        return 1

    @property
    def items(self):
        return sum(layer.items for layer in self.layers)

    @property
    def capacity(self):
        return sum(layer.capacity for layer in self.layers)

    @property
    def header(self):
        options = 5 if self.is_scaling else 13
        out = REDISBLOOM_FIXED.pack(self.items, len(self.layers), options, self.growth)
        for x in self.layers:
            out += REDISBLOOM_LAYER.pack(
                len(x.bits), x.nbits, x.items, x.ratio, x.bits_per_item, x.nhashes, x.capacity, 0
            )
        return out

    @property
    def data(self):
        return self.header + b"".join(bytes(x.bits) for x in self.layers)


def redisbloom_fixtures():
    """Filters that RedisBloom itself wrote: (recorded fields, dump as one string) by name."""
    manifest = json.loads(FIXTURES.read_text(encoding="utf-8"))
    found = {}
    for row in manifest["filters"]:
        data = b"".join(b64decode(part) for _, part in row.pop("scandump_base64"))
        found[row["key"]] = (row, data)
    return found


def with_fields(data, layer=0, **fields):
    """RedisBloom's dump with fields replaced, right or wrong."""
    data = bytearray(data)
    names = ("items", "nlayers", "options", "growth")
    fixed = dict(zip(names, REDISBLOOM_FIXED.unpack_from(data)))
    own = ("bytes", "bits", "size", "error", "bpe", "hashes", "capacity", "n2")
    at = REDISBLOOM_FIXED.size + layer * REDISBLOOM_LAYER.size
    values = dict(zip(own, REDISBLOOM_LAYER.unpack_from(data, at)))
    for name, value in fields.items():
        (fixed if name in fixed else values)[name] = value
    REDISBLOOM_FIXED.pack_into(data, 0, *fixed.values())
    REDISBLOOM_LAYER.pack_into(data, at, *values.values())
    return bytes(data)
