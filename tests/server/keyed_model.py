"""Scheme sip13 in plain Python, written from rdb/FORMAT.md: the oracle of test_keyed.py.

SipHash-1-3 follows its public description (Aumasson and Bernstein, 2012) with one round a word and three at
the end. The message is the item's length, 8 bytes little endian, and then its bytes.
"""

import struct

from bloom_model import MASK

PRIME = 0xFFFFFFFFFFFFFFC5


def rotate(x, n):
    return (x << n | x >> (64 - n)) & MASK


def one_round(v):
    v[0] = (v[0] + v[1]) & MASK
    v[1] = rotate(v[1], 13) ^ v[0]
    v[0] = rotate(v[0], 32)
    v[2] = (v[2] + v[3]) & MASK
    v[3] = rotate(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) & MASK
    v[3] = rotate(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) & MASK
    v[1] = rotate(v[1], 17) ^ v[2]
    v[2] = rotate(v[2], 32)


def siphash13(key, message):
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        one_round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        one_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def positions(seed, item, m, k):
    """The k positions of an item in a layer of m bits."""
    message = struct.pack("<Q", len(item)) + item
    h1, h2 = siphash13(seed[:16], message), siphash13(seed[16:], message)
    later = [((h1 + i * h2) & MASK) % PRIME % m for i in range(2, k)]
    return [h1 % m, h2 % m, *later][:k]
