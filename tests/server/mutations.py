"""Damage for test_fuzz.py: DUMP payloads, chunks, exports and command words, mutated at random.

A payload is mutated at the level of the server's encoding (opcodes, lengths, strings), at that of
rdb/FORMAT.md (fields of the header, its checksum repaired), or blindly. Its footer and CRC64 are
repaired afterwards, so that the module's loader has to refuse it.
"""

import random
import struct
import sys
from pathlib import Path

from filters import FIXED, LAYER, PORTABLE, SHORT_RECORD, Layer, count_ones, header, short_record
from bloom_model import xxh64

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
from make_golden import length, payload, with_footer  # noqa: E402

NUMBERS = [0, 1, 2, 3, 7, 8, 9, 30, 31, 63, 64, 65, 127, 128, 255, 256, 257, 4095, 32768, 32769]
NUMBERS += [(1 << n) + d for n in (16, 31, 32, 40, 57, 60, 63, 64) for d in (-1, 0, 1)]
REALS = [0.0, -0.0, 1.0, 0.01, 0.5, 1.5, -1.0, 1e-300, 5e-324, 1e300, 256.0, 257.0]
REALS += [float("inf"), float("-inf"), float("nan"), 0.9999999999999999, 1e-70, 1e-130]


def number(source, nbytes):
    """A number of that many bytes: one at an edge, or a random one."""
    value = source.choice(NUMBERS) if source.random() < 0.8 else source.getrandbits(8 * nbytes)
    return (value % (1 << 8 * nbytes)).to_bytes(nbytes, "little")


def flip(source, data):
    """A few bytes changed, anywhere."""
    data = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
        if data:
            at = source.randrange(len(data))
            data[at] = source.choice((data[at] ^ 1 << source.randrange(8), 0, 255, source.randrange(256)))
    return bytes(data)


def cut(source, data):
    """Some bytes dropped, repeated, or inserted at random."""
    at = source.randrange(len(data) + 1)
    to = min(len(data), at + source.choice((1, 2, 4, 8, 44, 53, 1000)))
    way = source.randrange(4)
    if way == 0:
        return data[:at]
    if way == 1:
        return data[:at] + data[to:]
    if way == 2:
        return data[:to] + data[at:]
    return data[:at] + source.randbytes(source.choice((1, 4, 8, 40))) + data[at:]


def blind(source, data):
    for _ in range(source.choice((1, 1, 2, 4))):
        data = source.choice((flip, flip, cut))(source, data)
    return data


# ---- The header of rdb/FORMAT.md ---------------------------------------------------------------

FIELDS = ((8, 4), (12, 1), (13, 1), (14, 2), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8))
LAYER_FIELDS = ((0, 8), (8, 8), (16, 8), (24, 8), (32, 4), (36, 8))
SHORT_FIELDS = ((0, 1), (1, 1), (2, 2), (4, 2), (6, 2), (8, 2), (10, 8), (18, 1))


def field(source, data):
    """One field of a header (or of data as long) set to an edge value, checksum repaired."""
    if data[:1] == b"\3" and len(data) >= SHORT_RECORD.size + 5:
        return short_field(source, bytearray(data[:-4]))
    if len(data) < FIXED.size + 8:
        return flip(source, data)
    data = bytearray(data)
    for _ in range(source.choice((1, 1, 2))):
        nlayers = (len(data) - FIXED.size - 8) // LAYER.size
        at, size = source.choice(FIELDS)
        if nlayers and source.random() < 0.7:
            at, size = source.choice(LAYER_FIELDS)
            at += FIXED.size + LAYER.size * source.randrange(nlayers)
        is_real = size == 8 and source.random() < 0.4
        data[at : at + size] = struct.pack("<d", source.choice(REALS)) if is_real else number(source, size)
    return repaired(bytes(data))


def short_field(source, data):
    """The same of a short record, which comes without its checksum."""
    at, size = source.choice(SHORT_FIELDS)
    is_real = size == 8 and source.random() < 0.8
    data[at : at + size] = struct.pack("<d", source.choice(REALS)) if is_real else number(source, size)
    return bytes(data) + struct.pack("<I", xxh64(bytes(data), 0) & 0xFFFFFFFF)


def repaired(data):
    return data[:-8] + struct.pack("<Q", xxh64(data[:-8], 0))


def invented(source):
    """The strings of an invented filter: most fields are sound, so that it is often accepted."""
    layers, arrays = [], []
    blocked = source.random() < 0.3
    for _ in range(source.choice((1, 1, 2, 3))):
        m = 256 * source.randint(1, 3) if blocked else source.randint(1, 300)
        bits = bytearray(source.randbytes((m + 7) // 8))
        if source.random() < 0.3:
            bits = bytearray(len(bits))
        bits[-1] &= (1 << (m - 8 * (len(bits) - 1))) - 1
        ones, k = count_ones(bits), 8 if blocked else source.choice((1, 2, 7, 30, 31, 255))
        items = source.randint(-(-ones // k), ones)
        rate = source.choice((1.0, 0.5, 0.01, 1e-9, 5e-324, 1e-200))
        capacity = source.choice((max(items, 1), items + 1, items + 5, 1 << 32, (1 << 63) - 1))
        layers.append(Layer(capacity, items, ones, rate, k, m))
        arrays.append(bytes(bits))
    fields = {"layout": int(blocked), "expansion": source.choice((0, 1, 2, 32768))}
    fields["scheme"] = 0 if blocked else source.choice((0, 0, 1, 2, 4))
    if source.random() < 0.3:
        fields.update(error_rate=0.0, bits_per_key=source.choice((1.0, 10.0, 256.0)))
    if source.random() < 0.2:
        fields.update(flags=source.choice((1, 2, 3)), loaded=source.randrange(sum(map(len, arrays)) + 1))
    if len(layers) == 1 and not blocked and source.random() < 0.5:
        (layer,), (bits,) = layers, arrays
        return [short_record(bits, k=layer.k, m=layer.m, capacity=min(layer.capacity, 65535), items=layer.items,
                             expansion=fields["expansion"], error_rate=source.choice(REALS))]  # fmt: skip
    strings = [header(layers, **fields)]
    for layer, bits in zip(layers, arrays):
        strings += [PORTABLE.pack(layer.k, layer.m), *pieces(source, bits)]
    return strings


def pieces(source, bits):
    """The same bytes in one string or in several."""
    if source.random() < 0.7 or len(bits) < 2:
        return [bits]
    at = source.randrange(1, len(bits))
    return [bits[:at], bits[at:]]


# ---- The server's encoding ---------------------------------------------------------------------

ID_BYTES = 10  # the type byte, and the module's id as a 64-bit length


def take_length(data, at):
    """(value, where it ends), or (None, at) if it is a special encoding or truncated."""
    kind = data[at] >> 6
    if kind == 0:
        return data[at] & 63, at + 1
    if kind == 1 and at + 1 < len(data):
        return (data[at] & 63) << 8 | data[at + 1], at + 2
    if data[at] == 0x80 and at + 5 <= len(data):
        return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5
    if data[at] == 0x81 and at + 9 <= len(data):
        return int.from_bytes(data[at + 1 : at + 9], "big"), at + 9
    return None, at


def elements(dumped):
    """The values of a DUMP payload of a module's type: (opcode, string or raw bytes), as far as they
    can be parsed."""
    data, at, found = dumped[:-10], ID_BYTES, []
    while at < len(data):
        opcode, at = take_length(data, at)
        if not opcode:
            break
        if opcode in (1, 2):  # a number
            value, end = take_length(data, at)
        elif opcode in (3, 4):  # a float or a double
            value, end = True, at + (4 if opcode == 3 else 8)
        else:
            size, start = take_length(data, at)
            if size is None:
                break
            found.append((opcode, data[start : start + size]))
            at = start + size
            continue
        if value is None:
            break
        found.append((opcode, data[at:end]))
        at = end
    return found


def encoded(source, opcode, value):
    """An element as bytes, its string written the usual way or, now and then, another one."""
    if opcode != 5:
        return length(opcode) + value
    way = source.random()
    if way > 0.15:
        return length(5) + length(len(value)) + value
    if way > 0.10:  # as LZF, all literal runs: what the server unpacks to the same bytes
        runs = [value[i : i + 32] for i in range(0, len(value), 32)]
        packed = b"".join(bytes([len(run) - 1]) + run for run in runs)
        return length(5) + b"\xc3" + length(len(packed)) + length(len(value)) + packed
    if way > 0.06:  # a length that is not the string's
        return length(5) + source.choice((b"\x81" + number(source, 8), b"\x80" + number(source, 4),
                                          length(source.choice(NUMBERS) % (1 << 62)))) + value
    if way > 0.03:  # an integer in place of a string
        size = source.choice((0, 1, 2))
        return length(5) + bytes([0xC0 | size]) + source.randbytes(1 << size)
    return length(source.randrange(8)) + length(len(value)) + value


def shuffled(source, items, others):
    """Elements dropped, repeated, swapped, taken from elsewhere, or of another kind."""
    items = list(items)
    at = source.randrange(len(items) + 1)
    way = source.randrange(6)
    if way == 0 and items:
        del items[at % len(items)]
    elif way == 1 and items:
        items.insert(at, source.choice(items))
    elif way == 2 and items:
        other = source.randrange(len(items))
        items[at % len(items)], items[other] = items[other], items[at % len(items)]
    elif way == 3:
        items.insert(at, source.choice(others))
    elif way == 4:
        items.insert(at, source.choice(((2, length(source.choice(NUMBERS) % (1 << 62))),
                                        (4, struct.pack("<d", source.choice(REALS))), (5, b""))))
    elif items:
        opcode, value = items[at % len(items)]
        items[at % len(items)] = (opcode, damaged(source, opcode, value))
    return items


def damaged(source, opcode, value):
    """Another number in place of a number, bytes with damage in place of bytes."""
    if opcode in (1, 2) and source.random() < 0.8:
        return length(source.choice((*NUMBERS, source.getrandbits(16))) % (1 << 64))
    if opcode == 4 and source.random() < 0.8:
        return struct.pack("<d", source.choice(REALS))
    return source.choice((flip, cut))(source, value)


class Payloads:
    """Endless mutated DUMP payloads. `seeds` are good ones, of any module type."""

    def __init__(self, source, seeds):
        self.source = source
        self.seeds = [(seed[:ID_BYTES], elements(seed), seed) for seed in seeds]

    def __next__(self):
        source = self.source
        way = source.random()
        head, items, whole = source.choice(self.seeds)
        if way < 0.15:
            return with_footer(blind(source, whole[:-10]))
        if way < 0.35:
            return payload(invented(source), source.choice((1, 1, 1, 1, 1, 1, 1, 0, 2)))
        others = source.choice(self.seeds)[1] or items
        if way < 0.65 and items:  # a field of the record
            first = next((i for i, item in enumerate(items) if item[0] == 5), 0)
            if items[first][0] == 5 and len(items) > first + 1 and items[0][0] != 5:
                first = source.randrange(len(items))  # a record of numbers, as RedisBloom's
            opcode, value = items[first]
            value = field(source, value) if opcode == 5 and items[0][0] == 5 else damaged(source, opcode, value)
            items = [*items[:first], (items[first][0], value), *items[first + 1 :]]
        if way >= 0.6:
            for _ in range(source.choice((1, 1, 2))):
                items = shuffled(source, items, others or [(5, b"x")])
        if source.random() < 0.03:
            head = head[:-1] + bytes([head[-1] ^ 1 << source.randrange(3)])  # the encoding version
        body = head + b"".join(encoded(source, *item) for item in items)
        return with_footer(body + (b"" if source.random() < 0.02 else b"\0"))


# ---- Command words -----------------------------------------------------------------------------

WORDS = ["CAPACITY", "ERROR", "BITSPERKEY", "EXPANSION", "NONSCALING", "LAYOUT", "CLASSIC", "BLOCKED",
         "HASH", "XXH64", "FNV1A", "MURMUR", "NOCREATE", "ITEMS", "FORMAT", "portable", "sstable",
         "leveldb", "parquet", "redisbloom", "REPLACE", "DATA", "SIZE", "FILTERS", "capacity"]
ODD = ["", "0", "1", "-1", "2", "3", "7", "100", "0.01", "0.5", "1e-3", "1e-300", "1e-320", "nan", "inf",
       "-inf", "0x10", "1 ", " 1", "+1", "1.5", "9223372036854775807", "9223372036854775808",
       "-9223372036854775808", "18446744073709551616", "1e18", "32768", "32769", "256", "257",
       b"\0", b"\xff\xfe", b"a" * 5000, b"k\0", "BLOOMPRT"]
KEYS = ["k", "k2", "text", "list", "missing", "", b"\0\xff"]


def soup(source, commands, data):
    """A command of random words: its own, with some replaced, dropped or added, or none of them."""
    name = source.choice(list(commands))
    words = list(commands[name][1]) if source.random() < 0.8 else []
    for _ in range(source.choice((0, 1, 1, 2, 3, 6))):
        word = source.choice(source.choice((WORDS, ODD, KEYS, data)))
        at = source.randrange(len(words) + 1)
        words[at : at + source.randrange(2)] = [word]
    if words and source.random() < 0.15:
        del words[source.randrange(len(words))]
    if source.random() < 0.7 and words:
        words[0] = source.choice(KEYS)
    return (name, *words)


def seeded(name, seed):
    """A random source for one kind of damage; its seed is printed, so that a run can be repeated."""
    print("%s: seed %d" % (name, seed))
    return random.Random("%s %d" % (name, seed))
