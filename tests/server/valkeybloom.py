"""valkey-bloom's filters for tests: what it recorded, and a model of it in plain Python.

    FIXTURES, OLD       by name: what golden/valkeybloom has, encoding versions 1 and 0
    ValkeyBloom         the model: its hash, growth, RDB value, BF.LOAD string, our chunks, BF.INFO
    payload             an RDB value as a DUMP payload that every server reads
    readable_file       its RDB file with a version that this server reads, and no checksum

Encoding (rdb/FORMAT.md section 7): every number of an RDB value has its opcode before it.
"""

import json
import math
import struct
from base64 import b64decode
from functools import lru_cache

from bloom_model import MASK, _rotate_left, xxh64
from checks import CHUNK_LIMIT
from redisbloom import GOLDEN, double, uint

from make_golden import module_value, string, with_footer

FOLDER = GOLDEN / "valkeybloom"
TYPE_NAME = "bloomfltr"
FIXED_SEED = bytes.fromhex("590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383")
LIMIT = 128 << 20  # of a key there; MAXSCALEDCAPACITY follows from it
SMALLEST_NORMAL = 2.2250738585072014e-308
FOOTER = 10  # of a payload: the server's own RDB version and a checksum
ID_BYTES = 10  # of a payload: the type and the module's id

# ---- Its hash ------------------------------------------------------------------------------------


def siphash13(key, data):
    """SipHash with one round for each word and three at the end."""
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def mix():
        nonlocal v0, v1, v2, v3
        v0, v2 = (v0 + v1) & MASK, (v2 + v3) & MASK
        v1, v3 = _rotate_left(v1, 13) ^ v0, _rotate_left(v3, 16) ^ v2
        v0 = _rotate_left(v0, 32)
        v2, v0 = (v2 + v1) & MASK, (v0 + v3) & MASK
        v1, v3 = _rotate_left(v1, 17) ^ v2, _rotate_left(v3, 21) ^ v0
        v2 = _rotate_left(v2, 32)

    rest = len(data) % 8
    end = data[len(data) - rest :] + bytes(7 - rest) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", data[: len(data) - rest] + end):
        v3 ^= word
        mix()
        v0 ^= word
    v2 ^= 0xFF
    for _ in range(3):
        mix()
    return v0 ^ v1 ^ v2 ^ v3


@lru_cache(maxsize=100_000)
def hashes(seed, item):
    data = struct.pack("<Q", len(item)) + item
    return siphash13(seed[:16], data), siphash13(seed[16:], data)


def positions(hash_pair, m, k):
    h1, h2 = hash_pair
    first = [h1 % m, h2 % m]
    return (first + [((h1 + i * h2) & MASK) % 0xFFFFFFFFFFFFFFC5 % m for i in range(2, k)])[:k]


# ---- Its filters ---------------------------------------------------------------------------------


class Layer:
    def __init__(self, capacity, rate):
        self.capacity, self.items = capacity, 0
        nbytes = math.ceil(capacity * math.log(rate) / (-8 * math.log(2) ** 2))
        self.bits = bytearray(nbytes)
        self.k = max(1, math.floor(8 * nbytes / capacity * math.log(2) + 0.5))

    def bit(self, position):
        return self.bits[position >> 3] >> (position & 7) & 1

    def contains(self, pair):
        return all(map(self.bit, positions(pair, 8 * len(self.bits), self.k)))

    def add(self, pair):
        for position in positions(pair, 8 * len(self.bits), self.k):
            self.bits[position >> 3] |= 1 << (position & 7)
        self.items += 1


class ValkeyBloom:
    """expansion 0: non-scaling. `flag` is 0 exactly for the fixed seed."""

    def __init__(self, rate=0.01, capacity=100, expansion=2, ratio=0.5, seed=bytes(range(32))):
        self.rate, self.expansion, self.ratio, self.seed = rate, expansion, ratio, seed
        self.layers = [Layer(capacity, rate)]
        self.flag = int(seed != FIXED_SEED)

    @classmethod
    def loaded(cls, data):
        """From the string of BF.LOAD."""
        _, expansion, rate, ratio, flag, count = struct.unpack_from("<BIddBQ", data)
        model, at = cls(rate, 1, expansion, ratio), 30
        model.flag, model.layers = flag, []
        for _ in range(count):
            (size,) = struct.unpack_from("<Q", data, at)
            layer = Layer.__new__(Layer)
            (layer.k,), model.seed = struct.unpack_from("<I", data, at + 17), data[at + 21 : at + 53]
            layer.bits = bytearray(data[at + 53 : at + 8 + size])
            layer.items, layer.capacity = struct.unpack_from("<qq", data, at + 8 + size)
            model.layers.append(layer)
            at += 8 + size + 16
        assert at == len(data)
        return model

    def contains(self, item):
        pair = hashes(self.seed, item)
        return int(any(layer.contains(pair) for layer in self.layers))

    def add(self, item):
        """1, 0, or None if it is full."""
        if self.contains(item):
            return 0
        last = self.layers[-1]
        if last.items == last.capacity:
            if not self.expansion:
                return None
            last = Layer(last.capacity * self.expansion, self.rate * self.ratio ** len(self.layers))
            self.layers.append(last)
        last.add(hashes(self.seed, item))
        return 1

    @property
    def items(self):
        return sum(layer.items for layer in self.layers)

    @property
    def capacity(self):
        return sum(layer.capacity for layer in self.layers)

    def array(self, layer):
        return struct.pack("<BQI", 1, len(layer.bits), layer.k) + self.seed + bytes(layer.bits)

    @property
    def value(self):
        """Its RDB value, encoding version 1, strings uncompressed."""
        out = uint(len(self.layers)) + uint(self.expansion) + double(self.rate) + double(self.ratio) + uint(self.flag)
        for layer in self.layers:
            out += uint(layer.capacity) + (uint(layer.items) if layer is self.layers[-1] else b"")
            out += string(self.array(layer))
        return module_value([bytearray(out)], 1, TYPE_NAME)

    @property
    def data(self):
        """What BF.LOAD takes."""
        out = struct.pack("<BIddBQ", 1, self.expansion, self.rate, self.ratio, self.flag, len(self.layers))
        for layer in self.layers:
            array = self.array(layer)
            out += struct.pack("<Q", len(array)) + array + struct.pack("<qq", layer.items, layer.capacity)
        return out

    @property
    def chunks(self):
        """What BF.SCANDUMP gives."""
        head = b"BLOOMFLT" + struct.pack("<IIII", 1, self.expansion, len(self.layers), self.flag)
        head += struct.pack("<dd", self.rate, self.ratio) + self.seed
        for layer in self.layers:
            head += struct.pack("<QQQQ", layer.capacity, layer.items, 8 * len(layer.bits), layer.k)
        found, done = [(1, head + struct.pack("<Q", xxh64(head, 0)))], 1
        for layer in self.layers:
            for start in range(0, len(layer.bits), CHUNK_LIMIT):
                piece = bytes(layer.bits[start : start + CHUNK_LIMIT])
                done += len(piece)
                found.append((done, piece))
        return found

    @staticmethod
    def size_of(count, nbytes):
        room = 1 if count == 1 else 4
        while room < count:
            room *= 2
        return 48 + 8 * room + 208 * count + nbytes

    @property
    def info(self):
        return {
            "Capacity": self.capacity,
            "Size": self.size_of(len(self.layers), sum(len(layer.bits) for layer in self.layers)),
            "Number of filters": len(self.layers),
            "Number of items inserted": self.items,
            "Expansion rate": self.expansion or None,
        }

    def max_capacity(self, limit=LIMIT):
        """How much it can hold in all, grown to the limit."""
        sizes, capacities = [len(layer.bits) for layer in self.layers], [layer.capacity for layer in self.layers]
        while True:
            capacity, rate = capacities[-1] * self.expansion, self.rate * self.ratio ** len(sizes)
            if rate <= SMALLEST_NORMAL:
                break
            sizes.append(math.ceil(capacity * math.log(rate) / (-8 * math.log(2) ** 2)))
            if self.size_of(len(sizes), sum(sizes)) > limit:
                break
            capacities.append(capacity)
        return sum(capacities)


def payload(value):
    return with_footer(value)


# ---- What it recorded ----------------------------------------------------------------------------


class Fixture:
    def __init__(self, row, line, prefix):
        name, count, further, answers, load = line
        self.name = name
        self.key = bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode()
        self.card, self.recorded = row["card"], row["info"]
        self.items = [b"%s:%d" % (prefix, i) for i in range(int(count))]
        self.items += [bytes.fromhex(x[1:]) for x in further.split(",")] if further != "-" else []
        self.probes = [b"%s:probe:%d" % (prefix, j) for j in range(5000)]
        self.answers = bin(int("1" + answers, 16))[3:]
        self.dump = b64decode(row["dump_base64"]) if "dump_base64" in row else None
        self.load = self._load_of(load)
        self.expire_at = row.get("expire_at_ms")
        self.info = {**self.recorded}
        for field in ("Error rate", "Tightening ratio", "Max scaled capacity"):
            self.info.pop(field, None)
        self.model = lambda: ValkeyBloom.loaded(self.load)

    @staticmethod
    def _load_of(text):
        """The string of BF.LOAD; of encoding version 0, which had none, what 1.0 would write."""
        if not text.startswith("old:"):
            return bytes.fromhex(text) if text != "-" else None
        (expansion, rate), *layers = (part.split(",") for part in text[4:].split(";"))
        model = ValkeyBloom(struct.unpack("<f", bytes.fromhex(rate))[0], 1, int(expansion), seed=FIXED_SEED)
        model.layers = []
        for capacity, items, _, k, bits in layers:
            layer = Layer.__new__(Layer)
            layer.capacity, layer.items, layer.k = int(capacity), int(items), int(k)
            layer.bits = bytearray(int(bin(256 + byte)[:2:-1], 2) for byte in bytes.fromhex(bits))
            model.layers.append(layer)
        return model.data

    @property
    def payload(self):
        """Its DUMP payload, with the version and checksum that every server takes."""
        return payload(self.dump[:-FOOTER])


def _read():
    manifest = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    lines = (FOLDER / "filters.txt").read_text(encoding="utf-8").splitlines()
    by_name = {line.split()[0]: line.split() for line in lines if not line.startswith("#")}
    found = []
    for rows, prefix in ((manifest["filters"], b"vbfix"), (manifest["old"], b"vbold")):
        names = [row["key"] if "key" in row else "hex:" + row["key_hex"] for row in rows]
        found.append({name: Fixture(row, by_name[name], prefix) for name, row in zip(names, rows)})
    return found


FIXTURES, OLD = _read()
ALL = {**FIXTURES, **OLD}
SMALL = {name: fixture for name, fixture in ALL.items() if fixture.dump}


def readable_file(name, call):
    """The bytes of a recorded file for the server of `call`: as they are if it reads their version."""
    data = (FOLDER / name).read_bytes()
    text = call("INFO", "server").plain.decode()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    is_valkey = "valkey_version" in fields
    number = fields["valkey_version" if is_valkey else "redis_version"].split(".")
    reads = {b"REDIS0011": is_valkey or number >= ["7", "2"], b"VALKEY080": is_valkey and number >= ["9"]}
    if reads[data[:9]]:
        return data
    return b"REDIS0010" + data[9:-8] + bytes(8)  # a checksum of 0 is not looked at
