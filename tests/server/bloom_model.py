"""A Bloom filter in plain Python, written from the definitions: the oracle of test_probes.py.

The schemes (rdb/FORMAT.md has them too):
    xxh64   h1 = XXH64(item, 0), h2 = XXH64(item, 1)
    fnv1a   mix = splitmix64(fnv1a64(item)), h1 = its low 32 bits, h2 = its high 32 bits
    bit i of k: (h1 + i * h2 mod 2^64) mod m;  bit p is byte p >> 3, mask 1 << (p & 7)
XXH64 follows the algorithm's public description (xxhash_spec.md of the xxHash project).
"""

MASK = (1 << 64) - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _rotate_left(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK


def _round(accumulator, lane):
    return (_rotate_left((accumulator + lane * P2) & MASK, 31) * P1) & MASK


def _merge(accumulator, value):
    return (((accumulator ^ _round(0, value)) * P1) + P4) & MASK


def xxh64(data, seed):
    at, left = 0, len(data)
    if left >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while left >= 32:
            for i in range(4):
                lanes[i] = _round(lanes[i], int.from_bytes(data[at : at + 8], "little"))
                at += 8
            left -= 32
        h = sum(_rotate_left(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = _merge(h, lane)
    else:
        h = (seed + P5) & MASK
    h = (h + len(data)) & MASK
    while left >= 8:
        h ^= _round(0, int.from_bytes(data[at : at + 8], "little"))
        h = (_rotate_left(h, 27) * P1 + P4) & MASK
        at, left = at + 8, left - 8
    if left >= 4:
        h ^= (int.from_bytes(data[at : at + 4], "little") * P1) & MASK
        h = (_rotate_left(h, 23) * P2 + P3) & MASK
        at, left = at + 4, left - 4
    while left > 0:
        h ^= (data[at] * P5) & MASK
        h = (_rotate_left(h, 11) * P1) & MASK
        at, left = at + 1, left - 1
    h = ((h ^ (h >> 33)) * P2) & MASK
    h = ((h ^ (h >> 29)) * P3) & MASK
    return h ^ (h >> 32)


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def hash_xxh64(item):
    return xxh64(item, 0), xxh64(item, 1)


def hash_fnv1a(item):
    mix = splitmix64(fnv1a64(item))
    return mix & 0xFFFFFFFF, mix >> 32


HASHES = {"XXH64": hash_xxh64, "FNV1A": hash_fnv1a}


def positions(item_hash, nbits, nhashes):
    h1, h2 = item_hash
    return [((h1 + i * h2) & MASK) % nbits for i in range(nhashes)]


class LayerModel:
    def __init__(self, nbits, nhashes, capacity):
        self.nbits, self.nhashes, self.capacity = nbits, nhashes, capacity
        self.bits = bytearray((nbits + 7) // 8)
        self.items = 0

    def contains(self, item_hash):
        places = positions(item_hash, self.nbits, self.nhashes)
        return all(self.bits[p >> 3] & 1 << (p & 7) for p in places)

    def set(self, item_hash):
        for p in positions(item_hash, self.nbits, self.nhashes):
            self.bits[p >> 3] |= 1 << (p & 7)
        self.items += 1


class FilterModel:
    """`shapes` are the (bits, hashes, capacity) of the layers, oldest first, taken from BF.DEBUG."""

    def __init__(self, shapes, scheme="XXH64"):
        self.shapes = list(shapes)
        self.hash = HASHES[scheme]
        self.layers = [LayerModel(*self.shapes[0])]

    def contains(self, item):
        return int(any(layer.contains(self.hash(item)) for layer in self.layers))

    def add(self, item):
        """1 if the item was new. A full newest layer gets a successor before the next new item."""
        if self.contains(item):
            return 0
        if self.layers[-1].items == self.layers[-1].capacity:
            self.layers.append(LayerModel(*self.shapes[len(self.layers)]))
        self.layers[-1].set(self.hash(item))
        return 1
