"""Reads and writes Bloom filters in bloomport's portable format with the `xxhash` package.

    bloom.py query FILE       items on standard input, one a line; prints 1 (possibly in) or 0
    bloom.py build K M FILE   writes a filter of M bits, K hashes, holding the items

The file: k u32 | m u64 | bits, little-endian. It is what BF.EXPORT answers and BF.IMPORT takes.
"""
import struct
import sys

import xxhash

HEADER = struct.Struct("<IQ")
MASK64 = 2**64 - 1


def positions(item, k, m):
    h1 = xxhash.xxh64_intdigest(item, seed=0)
    h2 = xxhash.xxh64_intdigest(item, seed=1)
    return (((h1 + i * h2) & MASK64) % m for i in range(k))


def load(data):
    k, m = HEADER.unpack_from(data)
    bits = memoryview(data)[HEADER.size:]
    if k == 0 or m == 0 or len(bits) != (m + 7) // 8:
        raise ValueError("not a portable filter")
    return k, m, bits


def contains(k, m, bits, item):
    return all(bits[p >> 3] & 1 << (p & 7) for p in positions(item, k, m))


def build(k, m, items):
    bits = bytearray((m + 7) // 8)
    for item in items:
        for p in positions(item, k, m):
            bits[p >> 3] |= 1 << (p & 7)
    return HEADER.pack(k, m) + bits


def main(arguments):
    items = (line.removesuffix(b"\n") for line in sys.stdin.buffer)
    match arguments:
        case ["query", path]:
            with open(path, "rb") as file:
                k, m, bits = load(file.read())
            for item in items:
                print(int(contains(k, m, bits, item)))
        case ["build", k, m, path]:
            with open(path, "wb") as file:
                file.write(build(int(k), int(m), items))
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
