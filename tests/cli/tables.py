"""Tables of RocksDB (.sst), as small as they can be: a filter block, a metaindex, a footer. Real ones are in
tests/golden/formats/rocksdb."""

import struct

MAGIC = 0x88E241B785F4CFF7
FULL = b"fullfilter.rocksdb.BuiltinBloomFilter"
KEYS = b"rocksdb.block.based.table.whole.key.filtering"
PREFIXES = b"rocksdb.block.based.table.prefix.filtering"
EXTRACTOR = b"rocksdb.prefix.extractor.name"
LINE = bytes(range(64)) + bytes([0xFF, 0, 6, 0, 0])  # a filter block of one line, k = 6


def varint(value):
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def block(data, compression=0):
    return data + bytes([compression]) + b"\0\0\0\0"


def entry(name, value, before=b""):
    shared = next((i for i, (a, b) in enumerate(zip(name, before)) if a != b), min(len(name), len(before)))
    return varint(shared) + varint(len(name) - shared) + varint(len(value)) + name[shared:] + value


def metaindex(names):
    """names: [(name, value)], sorted; names share their beginnings, as RocksDB writes them."""
    before, out = b"", b""
    for name, value in names:
        out, before = out + entry(name, value, before), name
    return out + struct.pack("<II", 0, 1)


def footer(version, at, size):
    if version <= 5:
        start = b"\1" + varint(at) + varint(size) + varint(0) + varint(0)
        return start.ljust(41, b"\0") + struct.pack("<IQ", version, MAGIC)
    return b"\1\x3e\0\x7a\0" + struct.pack("<III", 0, 0, size) + bytes(24) + struct.pack("<IQ", version, MAGIC)


def table(filter_block=LINE, version=5, name=FULL, others=(), compression=(0, 0), properties=None):
    """others: further names; compression: of the filter block, the metaindex and, if there are three, the properties;
    properties: the texts by the names, or the bytes of the block; None: the table has none."""
    data = block(filter_block, compression[0])
    value = varint(0) + varint(len(filter_block))
    names = [*((other, value) for other in others), *([(name, value)] if name else [])]
    if properties is not None:
        listed = properties if isinstance(properties, bytes) else metaindex(sorted(properties.items()))
        names.append((b"rocksdb.properties", varint(len(data)) + varint(len(listed))))
        data += block(listed, compression[2] if len(compression) > 2 else 0)
    index = metaindex(sorted(names))
    return data + block(index, compression[1]) + footer(version, len(data), len(index))
