"""Writes the golden files, each once: a file that exists is never written again.

    /usr/bin/python3 tests/golden/make_golden.py accepted     what this build saves; needs the module
    /usr/bin/python3 tests/golden/make_golden.py forgetting   the same of windows and COUNTING filters
    /usr/bin/python3 tests/golden/make_golden.py rejected     one DUMP payload per defect; pure Python

The expectations go to manifest.json beside the files; entries that are there stay as they are.
"""

import hashlib
import json
import math
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "server"))

from bloom_model import xxh64  # noqa: E402
from filters import ITEMS, PORTABLE, Filters, Layer, count_ones, header, look  # noqa: E402

# ---- DUMP payloads, from the server's documented RDB encoding ----------------------------------

RDB_VERSION = 10  # of Redis 7.0; every later server takes it
TYPE_MODULE_2 = 7
OPCODE_EOF, OPCODE_UINT, OPCODE_STRING = 0, 2, 5
CHARSET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _crc64_table():
    """The Jones polynomial, reflected, as the server's crc64.c has it."""
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x95AC9329AC4BC9B5 if byte & 1 else 0)
        yield byte


CRC64_TABLE = list(_crc64_table())


def crc64(data):
    crc = 0
    for byte in data:
        crc = CRC64_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc


def length(n):
    if n < 1 << 6:
        return bytes([n])
    if n < 1 << 14:
        return struct.pack(">H", 0x4000 | n)
    return b"\x80" + struct.pack(">I", n) if n < 1 << 32 else b"\x81" + struct.pack(">Q", n)


def string(data):
    return length(OPCODE_STRING) + length(len(data)) + data


def with_footer(body):
    """The version and the checksum that RESTORE checks before anything else."""
    body += struct.pack("<H", RDB_VERSION)
    return body + struct.pack("<Q", crc64(body))


def module_value(strings, encoding_version=1, type_name="bloomport"):
    """A value of a module's type up to its footer: the id, then the strings, then the end mark. A
    piece that has its opcode already is a bytearray."""
    name = 0
    for letter in type_name:
        name = name << 6 | CHARSET.index(letter)
    body = bytes([TYPE_MODULE_2]) + b"\x81" + struct.pack(">Q", name << 10 | encoding_version)
    for item in strings:
        body += bytes(item) if isinstance(item, bytearray) else string(item)
    return body + length(OPCODE_EOF)


def payload(strings, encoding_version=1):
    return with_footer(module_value(strings, encoding_version))


# ---- A small valid filter, to be damaged -------------------------------------------------------


def bits_of_every(step, m):
    """Every `step`-th of m bits."""
    bits = bytearray((m + 7) // 8)
    for p in range(0, m, step):
        bits[p >> 3] |= 1 << (p & 7)
    return bytes(bits)


BITS = [bits_of_every(7, 100), bits_of_every(5, 163)]
LAYERS = [
    Layer(capacity=10, items=6, ones=count_ones(BITS[0]), error_rate=0.006, k=3, m=100),
    Layer(capacity=20, items=12, ones=count_ones(BITS[1]), error_rate=0.002, k=4, m=163),
]


def strings(layers=None, bits=None, **fields):
    """The strings of a value: header, then for each layer its k | m and its bits."""
    layers, bits = layers or LAYERS, bits or BITS
    result = [header(layers, **fields)]
    for layer, array in zip(layers, bits):
        result += [PORTABLE.pack(layer.k, layer.m), array]
    return result


def spoiled(which, **fields):
    """strings() with fields of one layer replaced; the portable part follows."""
    layers = list(LAYERS)
    layers[which] = layers[which]._replace(**fields)
    return strings(layers)


def replaced(at, *items):
    """strings() with the string `at` replaced by any number of others."""
    result = strings()
    result[at : at + 1] = items
    return result


def flipped(data, at, mask):
    data = bytearray(data)
    data[at] ^= mask
    return bytes(data)


def with_tail(bits, mask):
    """The first bit, which is set, moved to beyond m: the number of ones is right."""
    return flipped(flipped(bits, 0, 1), len(bits) - 1, mask)


HEADER_FAULT = "header"  # what the log line must name
LAYER_FAULT = "layer"
BITS_FAULT = "bits"
NAN = math.nan
TOTAL = sum(map(len, BITS))


def rejected():
    """{name: (the defect in words, what the log line names or None if the server finds it, strings)}"""
    whole = header(LAYERS)
    cases = {
        "magic": ("another magic", strings(magic=b"BLOOMPRU")),
        "version-0": ("version 0", strings(version=0)),
        "version-newest": ("an unknown version", strings(version=2**32 - 1)),
        "scheme": ("scheme 255", strings(scheme=255)),
        "layout": ("layout 255", strings(layout=255)),
        "flags": ("an unknown flag", strings(flags=0x8000)),
        "expansion": ("expansion 32769", strings(expansion=32769)),
        "layers-0": ("0 layers, two follow", [header(LAYERS, layers=0)] + strings()[1:]),
        "layers-none": ("0 layers, none follows", [header([])]),
        "layers-fewer": ("1 layer, two follow", [header(LAYERS, layers=1)] + strings()[1:]),
        "layers-more": ("3 layers, two follow", [header(LAYERS, layers=3)] + strings()[1:]),
        "layers-most": ("2^32-1 layers, two follow", [header(LAYERS, layers=2**32 - 1)] + strings()[1:]),
        "error-rate-0": ("no promise: error rate 0, bits per key 0", strings(error_rate=0.0)),
        "error-rate-1": ("error rate 1", strings(error_rate=1.0)),
        "error-rate-negative": ("error rate below 0", strings(error_rate=-0.01)),
        "error-rate-nan": ("error rate not a number", strings(error_rate=NAN)),
        "error-rate-infinite": ("error rate infinite", strings(error_rate=math.inf)),
        "bits-per-key-minus-zero": ("bits per key -0", strings(bits_per_key=-0.0)),
        "both-promises": ("error rate and bits per key", strings(bits_per_key=10.0)),
        "bits-per-key-half": ("bits per key 0.5", strings(error_rate=0.0, bits_per_key=0.5)),
        "bits-per-key-257": ("bits per key 257", strings(error_rate=0.0, bits_per_key=257.0)),
        "bits-per-key-negative": ("bits per key -1", strings(error_rate=0.0, bits_per_key=-1.0)),
        "bits-per-key-nan": ("bits per key not a number", strings(error_rate=0.0, bits_per_key=NAN)),
        "loaded-less": ("fewer bytes have arrived than there are, not loading", strings(loaded=TOTAL - 1)),
        "loaded-more": ("more bytes have arrived than there are", strings(loaded=TOTAL + 1)),
        "loaded-0": ("no byte has arrived, not loading", strings(loaded=0)),
        "loading-whole": ("loading, and all bytes have arrived", strings(flags=1, loaded=TOTAL)),
        "loading-more": ("loading, and more bytes than there are", strings(flags=1, loaded=2**64 - 1)),
        "checksum": ("another checksum", strings(checksum=1)),
        "header-empty": ("an empty header", replaced(0, b"")),
        "header-truncated": ("the header without its last byte", replaced(0, whole[:-1])),
        "header-longer": ("a byte after the header", replaced(0, whole + b"\0")),
        "header-flipped": ("one bit of the header flipped", replaced(0, flipped(whole, 50, 1))),
        "capacity-0": ("capacity 0", spoiled(0, capacity=0)),
        "capacity-most": ("capacity 2^63", spoiled(1, capacity=2**63)),
        "capacity-sum": ("a sum of capacities over 2^63-1", spoiled(1, capacity=2**63 - 1)),
        "items-over-capacity": ("more items than capacity", spoiled(0, items=11)),
        "items-over-ones": ("more items than ones", spoiled(1, capacity=1000, items=LAYERS[1].ones + 1)),
        "items-too-few": ("fewer items than ones/k", spoiled(1, items=8)),
        "items-0": ("ones without items", spoiled(0, items=0)),
        "ones-over-m": ("more ones than bits", spoiled(0, capacity=10**6, items=101, ones=101)),
        "layer-rate-0": ("a layer's error rate 0", spoiled(0, error_rate=0.0)),
        "layer-rate-over-1": ("a layer's error rate over 1", spoiled(1, error_rate=1.5)),
        "layer-rate-nan": ("a layer's error rate not a number", spoiled(1, error_rate=NAN)),
        "k-0": ("k = 0", spoiled(0, k=0)),
        "k-256": ("k = 256", spoiled(0, k=256)),
        "m-0": ("m = 0", spoiled(1, m=0)),
        "m-most": ("m = 2^60 + 1", spoiled(1, m=2**60 + 1)),
        "m-2-to-64": ("m = 2^64 - 1", spoiled(1, m=2**64 - 1)),
        "nothing": ("no strings at all", []),
        "number-for-header": ("a number where the header belongs", replaced(0, bytearray([OPCODE_UINT, 7]))),
        "m-over-fnv1a": ("fnv1a with 2^32 + 1 bits", spoiled_fnv1a()),
    }
    cases.update(rejected_blocked())
    result = {name: (text, HEADER_FAULT, items) for name, (text, items) in cases.items()}
    result["m-no-memory"] = ("m = 2^60, which no machine has", "memory", spoiled(1, m=2**60))
    first, second = BITS
    layer_cases = {
        "layer-k": ("a layer's k other than in the header", replaced(1, PORTABLE.pack(4, 100))),
        "layer-m": ("a layer's m other than in the header", replaced(3, PORTABLE.pack(4, 164))),
        "layer-short": ("a layer's k | m of 11 bytes", replaced(1, PORTABLE.pack(3, 100)[:11])),
        "layer-long": ("a layer's k | m of 13 bytes", replaced(1, PORTABLE.pack(3, 100) + b"\0")),
        "layer-missing": ("the second layer is not there", strings()[:3]),
        "layers-swapped": ("the layers in the wrong order", [strings()[i] for i in (0, 3, 4, 1, 2)]),
        "loading-without-bits": ("loading, and a layer is missing", strings(flags=1, loaded=5)[:3]),
    }
    bits_cases = {
        "loading-bits-to-come": ("loading, and a bit is set that has not arrived", strings(flags=1, loaded=5)),
        "bits-missing": ("no bits of the last layer", strings()[:4]),
        "bits-short": ("the last byte of the bits is missing", replaced(4, second[:-1])),
        "bits-short-in-pieces": ("the last of three pieces is missing", replaced(4, second[:9], second[9:15])),
        "bits-empty-piece": ("an empty piece", replaced(4, second[:9], b"", second[9:])),
        "bits-long": ("a byte more than the layer has", replaced(4, second + b"\0")),
        "bits-long-first": ("the first layer's bits reach into the second", replaced(2, first + b"\0")),
        "bits-long-in-pieces": ("the second piece is longer than what is left", replaced(4, second[:9], second[8:])),
        "bits-one-more": ("one bit more than the header says", replaced(4, flipped(second, 3, 1))),
        "bits-one-less": ("one bit less than the header says", replaced(2, flipped(first, 0, 1))),
        "bits-tail": ("a bit beyond m, one less before it", replaced(2, with_tail(first, 0x80))),
        "bits-tail-last": ("the same in the last layer", replaced(4, with_tail(second, 0x08))),
        "number-for-bits": ("a number where bits belong", replaced(4, bytearray([OPCODE_UINT, 7]))),
    }
    for cases, names in ((layer_cases, LAYER_FAULT), (bits_cases, BITS_FAULT)):
        result.update({name: (text, names, items) for name, (text, items) in cases.items()})
    result["piece-behind-the-end"] = ("a piece after the last", None, strings() + [b"x"])
    return result


def spoiled_fnv1a():
    layers = [LAYERS[0], LAYERS[1]._replace(m=2**32 + 1)]
    return strings(layers, scheme=1)


# One layer of layout BLOCKED: 2 blocks, every 7th bit set.
BLOCKED_BITS = bits_of_every(7, 512)
BLOCKED_LAYER = Layer(capacity=40, items=30, ones=count_ones(BLOCKED_BITS), error_rate=0.01, k=8, m=512)


def blocked_strings(bits=BLOCKED_BITS, scheme=0, **fields):
    """The strings of a BLOCKED filter, with fields of its layer replaced."""
    return strings([BLOCKED_LAYER._replace(**fields)], [bits], layout=1, scheme=scheme)


def rejected_blocked():
    longer = BLOCKED_BITS + bytes(1)
    return {
        "blocked-m-not-whole-blocks": ("BLOCKED with m = 520", blocked_strings(longer, m=520)),
        "blocked-m-half-a-block": ("BLOCKED with m = 384", blocked_strings(BLOCKED_BITS[:48], m=384, ones=55)),
        "blocked-k-7": ("BLOCKED with k = 7", blocked_strings(k=7)),
        "blocked-k-9": ("BLOCKED with k = 9", blocked_strings(k=9)),
        "blocked-fnv1a": ("BLOCKED with fnv1a", blocked_strings(scheme=1)),
        "blocked-m-most": ("BLOCKED with m = 2^40 + 256", blocked_strings(m=2**40 + 256)),
    }


# ---- Version 2: a window of two generations, and a COUNTING filter ------------------------------

STEP = 15_000  # of a window of 60 s in 4 generations
STARTS = (1000 * STEP, 1003 * STEP)
FIXED_2, LAYER_2 = struct.Struct("<IIQ32s32s"), struct.Struct("<Q12s")
WINDOW_LAYERS = [
    Layer(capacity=10, items=6, ones=count_ones(BITS[0]), error_rate=0.0016, k=3, m=100),
    Layer(capacity=10, items=6, ones=count_ones(BITS[0]), error_rate=0.0016, k=3, m=100),
]
COUNTERS = bytes(p % 13 & 15 | ((p * 5) % 11) << 4 if p < 48 else 7 for p in range(49))  # of 97 positions


def count_counters(data):
    return sum((byte & 15 > 0) + (byte >> 4 > 0) for byte in data)


COUNTING_LAYER = Layer(capacity=20, items=15, ones=count_counters(COUNTERS), error_rate=0.01, k=4, m=97)


def header_2(layers, starts, *, window=60, generations=4, capacity=40, seed=b"", rest=b"", layer_rest=b"", **fields):
    """The header of version 2, in Python from rdb/FORMAT.md."""
    fixed = header([], version=2, **{"layers": len(layers), "loaded": 0, **fields})[:-8]
    data = fixed + FIXED_2.pack(window, generations, capacity, seed, rest)
    for layer, start in zip(layers, starts):
        data += header([layer])[len(fixed) : -8] + LAYER_2.pack(start, layer_rest)
    return data + struct.pack("<Q", xxh64(data, 0))


def window_strings(layers=None, starts=STARTS, bits=None, **fields):
    layers, bits = layers or WINDOW_LAYERS, bits or [BITS[0]] * 2
    result = [header_2(layers, starts, **{"loaded": sum(map(len, bits)), **fields})]
    for layer, array in zip(layers, bits):
        result += [PORTABLE.pack(layer.k, layer.m), array]
    return result


def counting_strings(bits=COUNTERS, copies=1, start=0, spoil=None, **fields):
    layer = COUNTING_LAYER._replace(**(spoil or {}))
    given = {"window": 0, "generations": 0, "capacity": 0, "expansion": 0, "layout": 2, **fields}
    return window_strings([layer] * copies, [start] * copies, [bits] * copies, **given)


def rejected_2():
    """As rejected(), of version 2."""
    first, second = STARTS
    one = WINDOW_LAYERS[:1]
    cases = {
        "v2-plain": ("version 2 of what version 1 describes", window_strings(starts=(0, 0), window=0, generations=0, capacity=0)),
        "v2-counting-in-v1": ("layout COUNTING in version 1", strings([COUNTING_LAYER], [COUNTERS], layout=2, expansion=0)),
        "v2-layout": ("version 2 with layout 3", window_strings(layout=3)),
        "v2-window-most": ("a window of 1000000001 s", window_strings(one, [250000000250], [BITS[0]], window=10**9 + 1)),
        "v2-window-0-with-generations": ("generations without a window", counting_strings(generations=4)),
        "v2-generations-0": ("a window of 0 generations", window_strings(generations=0)),
        "v2-generations-65": ("a window of 65 generations", window_strings(one, [924_000], [BITS[0]], generations=65)),
        "v2-capacity-0": ("a window of capacity 0", window_strings(capacity=0)),
        "v2-capacity-most": ("a window of capacity 2^63", window_strings(capacity=2**63)),
        "v2-capacity-without-window": ("a window's capacity without a window", counting_strings(capacity=1)),
        "v2-window-nonscaling": ("a window with expansion 0", window_strings(expansion=0)),
        "v2-seed": ("a seed, and scheme xxh64", window_strings(seed=b"\1")),
        "v2-seed-last": ("the last byte of a seed", window_strings(seed=bytes(31) + b"\1")),
        "v2-rest": ("a byte of the rest of the header", window_strings(rest=b"\1")),
        "v2-rest-last": ("the last byte of the rest of the header", window_strings(rest=bytes(31) + b"\1")),
        "v2-layer-rest": ("a byte of the rest of a layer", window_strings(layer_rest=b"\1")),
        "v2-layer-rest-last": ("the last byte of the rest of a layer", window_strings(layer_rest=bytes(11) + b"\1")),
        "v2-start-between": ("a start that is no multiple of the step", window_strings(starts=(first, second + 1))),
        "v2-start-order": ("the newest generation first", window_strings(starts=(second, first))),
        "v2-start-0-and-another": ("a generation that has not begun beside one that has", window_strings(starts=(0, second))),
        "v2-start-0-last": ("the newest generation has not begun", window_strings(starts=(first, 0))),
        "v2-start-over": ("a generation that is over when the newest begins", window_strings(starts=(second - 5 * STEP, second))),
        "v2-start-most": ("a start over 2^63", window_strings(one, [2**64 - 2**64 % STEP], [BITS[0]])),
        "v2-start-without-window": ("a start without a window", counting_strings(start=STEP)),
        "v2-counting-window": ("COUNTING with a window", counting_strings(window=60, generations=4, capacity=40, start=first)),
        "v2-counting-expansion": ("COUNTING with expansion 2", counting_strings(expansion=2)),
        "v2-counting-layers": ("COUNTING with two layers", counting_strings(copies=2)),
        "v2-counting-k-31": ("COUNTING with k = 31", counting_strings(spoil={"k": 31})),
        "v2-counting-ones-over-m": ("more counters over 0 than counters", counting_strings(spoil={"ones": 98})),
        "v2-counting-items-most": ("2^63 items", counting_strings(spoil={"items": 2**63})),
        "v2-header-of-v1-length": ("version 2 with the length of version 1", [header(LAYERS, version=2)] + strings()[1:]),
        "v2-header-truncated": ("the header without its last byte", [window_strings()[0][:-1]] + window_strings()[1:]),
        "v2-layers-more": ("3 layers, two follow", spoiled_count()),
    }
    result = {name: (text, HEADER_FAULT, items) for name, (text, items) in cases.items()}
    bits_cases = {
        "v2-counting-ones": ("a counter of 0 more than the header says", counting_strings(flipped(COUNTERS, 0, COUNTERS[0] & 15 or 1))),
        "v2-counting-tail": ("a counter beyond m", counting_strings(with_counter_beyond())),
        "v2-window-bits": ("a bit more than the header says", window_strings(bits=[BITS[0], flipped(BITS[0], 1, 1)])),
    }
    result.update({name: (text, BITS_FAULT, items) for name, (text, items) in bits_cases.items()})
    return result


def spoiled_count():
    """A header that names three layers and has two."""
    data = bytearray(window_strings()[0][:-8])
    data[20:24] = struct.pack("<I", 3)
    return [bytes(data) + struct.pack("<Q", xxh64(bytes(data), 0))] + window_strings()[1:]


def with_counter_beyond():
    """The last counter of a byte whose other half is in use moves to beyond m."""
    assert COUNTERS[1] >> 4 and not COUNTERS[-1] >> 4
    return flipped(flipped(COUNTERS, 1, COUNTERS[1] & 0xF0), len(COUNTERS) - 1, 0x70)


# ---- Writing -----------------------------------------------------------------------------------


def write_once(path, data):
    """Whether it was written: a golden file is never changed."""
    try:
        with open(path, "xb") as file:
            file.write(data)
    except FileExistsError:
        print("%s exists and stays as it is" % path.name)
        return False
    return True


class Manifest:
    def __init__(self, directory):
        directory.mkdir(exist_ok=True)
        self.path = directory / "manifest.json"
        self.entries = json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, name, data, entry):
        if write_once(self.path.parent / name, data):
            assert name not in self.entries
            self.entries[name] = entry

    def save(self):
        self.path.write_text(json.dumps(self.entries, indent=1, sort_keys=True) + "\n")


def write_rejected():
    manifest = Manifest(HERE / "rejected")
    for name, (text, names, items) in {**rejected(), **rejected_2()}.items():
        manifest.add(name + ".dump", payload(items), {"defect": text, "log names": names})
    newer = payload(strings(), encoding_version=2)
    manifest.add("encoding-version.dump", newer, {"defect": "encoding version 2", "log names": "version"})
    manifest.save()


def expectation(seen):
    """What a look at a filter must give in every later version."""
    if seen.is_loading:
        return {"is loading": True}
    digest = hashlib.sha256()
    for iterator, data in seen.dump:
        digest.update(b"%d:" % iterator + data)
    return {
        "card": seen.card,
        "info": {name.decode() if isinstance(name, bytes) else name: value for name, value in seen.info.items()},
        "scandump sha256": digest.hexdigest(),
        "answers": "".join(map(str, seen.answers)),
    }


def add_dumps(manifest, call, filters):
    """One payload for each filter; returns {key: what it must give}. The megabytes stay out."""
    expected = {}
    version = call("INFO", "server").plain.decode().split("redis_version:")[1].split()[0]
    for key, seen in filters.looks.items():
        if key.startswith("pieces:"):
            call("DEL", key)
            continue
        expected[key] = dict(expectation(seen), producer="Redis %s" % version)
        if seen.is_loading:
            rest, whole = filters.half[key]
            expected[key]["rest"] = [[iterator, data.hex()] for iterator, data in rest]
            expected[key]["whole"] = expectation(whole)
        manifest.add(key.replace(":", "-") + ".dump", call("DUMP", key).plain, expected[key])
    return expected


NOW = 1_600_000_000_000  # where the clock of the windows stands


def forgetting(server, call):
    """Makes a filter of every kind that needs version 2, with a clock that moves; returns the keys."""
    window, clock = ("WINDOW", 400, "GENERATIONS", 4), server.clock
    clock.stop(NOW)
    for key, words in {
        "window-fresh": ("0.01", 100, *window),
        "window-CLASSIC": ("0.001", 300, *window),
        "window-BLOCKED": ("0.01", 300, "LAYOUT", "BLOCKED", *window),
        "window-bits-per-key": ("BITSPERKEY", "9.6", 300, "HASH", "FNV1A", *window),
        "counting-copies": ("0.01", 300, "LAYOUT", "COUNTING"),
        "counting-copies-fnv1a": ("BITSPERKEY", "7", 301, "LAYOUT", "COUNTING", "HASH", "FNV1A"),
    }.items():
        assert call("BF.RESERVE", key, *words).plain == "OK"
    for step in range(7):
        clock.stop(NOW + 100_000 * step)
        for key in ("window-CLASSIC", "window-BLOCKED", "window-bits-per-key"):
            call("BF.MADD", key, *ITEMS[: 200 if step == 5 else 30 + step]).plain
    for key in ("counting-copies", "counting-copies-fnv1a"):
        call("BF.MADD", key, *ITEMS, *ITEMS[:50], *ITEMS[:1] * 20).plain
        call("BF.DEL", key, *ITEMS[200:]).plain
    return ["window-fresh", "window-CLASSIC", "window-BLOCKED", "window-bits-per-key", "counting-copies", "counting-copies-fnv1a"]


def add_by_hand(manifest, call, name, data):
    """A payload in Python; what it must give is what the server shows then."""
    assert call("RESTORE", "by hand", 0, data).plain == "OK"
    entry = dict(expectation(look(call, "by hand")), producer="make_golden.py, from rdb/FORMAT.md")
    manifest.add(name, data, entry)
    call("DEL", "by hand")


def write_forgetting():
    """Dumps and one RDB file of version 2."""
    from redis_server import Server

    manifest = Manifest(HERE / "accepted")
    server = Server(has_clock=True).start()
    try:
        call = server.connection().call
        expected = {}
        for key in forgetting(server, call):
            window = call("BF.INFO", key, "WINDOW").plain
            expected[key] = dict(expectation(look(call, key)), producer="Redis 7.0.15", window=window)
            expected[key]["clock"] = server.clock.now_ms()
            manifest.add(key + ".dump", call("DUMP", key).plain, expected[key])
        assert call("SAVE").plain == "OK"
        data = Path(server.directory, "dump.rdb").read_bytes()
        manifest.add("forgetting.rdb", data, {"keys": expected, "clock": server.clock.now_ms()})
        over = payload(counting_strings(spoil={"items": 21}))
        add_by_hand(manifest, call, "counting-items-over-capacity.dump", over)
        manifest.save()
    finally:
        server.close()


def add_files(manifest, server, call, name, expected):
    """SAVE of what is there, as strings and as LZF."""
    for compression in ("no", "yes"):
        call("CONFIG", "SET", "rdbcompression", compression)
        assert call("SAVE").plain == "OK"
        data = Path(server.directory, "dump.rdb").read_bytes()
        manifest.add("%s-rdbcompression-%s.rdb" % (name, compression), data, {"keys": expected})


def write_accepted():
    from redis_server import Server  # needs redis-py and a built module

    manifest = Manifest(HERE / "accepted")
    server = Server().start()
    try:
        call = server.connection().call
        expected = add_dumps(manifest, call, Filters(call))
        pieces = BITS[1][:1], BITS[1][1:2], BITS[1][2:12], BITS[1][12:]
        add_by_hand(manifest, call, "small-pieces.dump", payload(replaced(4, *pieces)))
        # A file for each layout; that of CLASSIC is called `all`, being older than the other.
        for layout, name in (("BLOCKED", "all-BLOCKED"), ("CLASSIC", "all")):
            mine = {key: entry for key, entry in expected.items() if key.endswith(":" + layout)}
            others = [(key, call("DUMP", key).plain) for key in expected if key not in mine]
            call("DEL", *(key for key, _ in others))
            add_files(manifest, server, call, name, mine)
            for key, data in others:
                assert call("RESTORE", key, 0, data).plain == "OK"
        manifest.save()
    finally:
        server.close()


if __name__ == "__main__":
    ways = {"accepted": write_accepted, "forgetting": write_forgetting, "rejected": write_rejected}
    if len(sys.argv) != 2 or sys.argv[1] not in ways:
        sys.exit(__doc__)
    ways[sys.argv[1]]()
