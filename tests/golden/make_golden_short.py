"""Writes the golden files of short records, version 3 of the format, each once.

    /usr/bin/python3 tests/golden/make_golden_short.py accepted    what this build saves; needs the module
    /usr/bin/python3 tests/golden/make_golden_short.py rejected    one DUMP payload per defect; pure Python
"""

import math
import sys
from pathlib import Path

from make_golden import (BITS, HEADER_FAULT, HERE, NAN, Manifest, add_by_hand, bits_of_every, expectation, flipped, payload,
                         with_tail)  # fmt: skip

from filters import ITEMS, PORTABLE, count_ones, look, short_record

# ---- Rejected -----------------------------------------------------------------------------------

SHORT_FAULT = "short record"
SHORT_BITS = BITS[0]  # every 7th of 100


def short(bits=SHORT_BITS, **fields):
    """The only string of a value: LAYERS[0] alone, with fields replaced."""
    return short_record(bits, **{"k": 3, "m": 100, "capacity": 10, "items": 6, **fields})


def rejected():
    """{name: (the defect in words, what the log line names or None if the server finds it, strings)}"""
    whole, nbytes, ones = short(), len(SHORT_BITS), count_ones(SHORT_BITS)
    cases = {
        "k-0": ("k = 0", short(k=0)),
        "expansion": ("expansion 32769", short(expansion=32769)),
        "m-0": ("m = 0, no bits", short(b"", m=0, items=0)),
        "m-0-with-bits": ("m = 0, a byte of bits", short(b"\0", m=0, items=0)),
        "m-most": ("m = 8193", short(bits_of_every(7, 8193), m=8193, k=200)),
        "m-65535": ("m = 65535", short(bits_of_every(14, 65535), m=65535, k=255, capacity=5000, items=4000)),
        "m-longer": ("m of a byte more than there is", short(m=nbytes * 8 + 1)),
        "m-shorter": ("m of a byte less than there is", short(m=nbytes * 8 - 8)),
        "bits-tail": ("a bit beyond m, one less before it", short(with_tail(SHORT_BITS, 0x80))),
        "capacity-0": ("capacity 0", short(capacity=0)),
        "items-over-capacity": ("more items than capacity", short(items=11)),
        "items-over-ones": ("more items than set bits", short(capacity=1000, items=ones + 1)),
        "items-too-few": ("fewer items than set bits / k", short(items=4)),
        "items-0": ("set bits without items", short(items=0)),
        "items-without-bits": ("items without set bits", short(bytes(nbytes))),
        "error-rate-0": ("error rate 0", short(error_rate=0.0)),
        "error-rate-minus-zero": ("error rate -0", short(error_rate=-0.0)),
        "error-rate-1": ("error rate 1", short(error_rate=1.0)),
        "error-rate-negative": ("error rate below 0", short(error_rate=-0.01)),
        "error-rate-nan": ("error rate not a number", short(error_rate=NAN)),
        "error-rate-infinite": ("error rate infinite", short(error_rate=math.inf)),
        "checksum": ("another checksum", flipped(whole, len(whole) - 1, 1)),
        "flipped": ("a bit of the bits flipped", flipped(whole, 20, 1)),
        "truncated": ("the record without its last byte", whole[:-1]),
        "longer": ("a byte after the checksum", whole + b"\0"),
        "version-alone": ("the version and nothing else", b"\3"),
    }
    result = {"short-" + name: (text, SHORT_FAULT, [item]) for name, (text, item) in cases.items()}
    result["short-version-4"] = ("the first byte is 4", HEADER_FAULT, [short(version=4)])
    layer = [PORTABLE.pack(3, 100), SHORT_BITS]
    result["short-and-layer"] = ("k | m and the bits after the record", None, [whole, *layer])
    return result


# ---- Accepted -----------------------------------------------------------------------------------

SHORT_OF = ("empty", "one-item", "full")  # *-CLASSIC.dump, which version 1 of the format wrote
SHORT_MADE = {  # BF.RESERVE's words, and how many ITEMS
    "short-grows": (("0.01", 100, "EXPANSION", 4), 77),
    "short-strict": (("0.000001", 250, "NONSCALING"), 250),
    "short-lax": (("0.9", 3), 3),
}
SHORT_BY_HAND = {  # each field at an end of its range
    "short-least": dict(bits=b"\1", k=1, m=1, capacity=1, items=1, expansion=0, error_rate=5e-324),
    "short-most": dict(bits=b"\xff" * 1024, k=255, m=8192, capacity=65535, items=8192, expansion=32768,
                       error_rate=math.nextafter(1, 0)),
}  # fmt: skip


def write_accepted():
    """Dumps of short records, and one RDB file."""
    from redis_server import Server

    manifest = Manifest(HERE / "accepted")
    server = Server().start()
    try:
        call = server.connection().call
        for name, (words, count) in SHORT_MADE.items():
            assert call("BF.RESERVE", name, *words).plain == "OK"
            call("BF.MADD", name, *ITEMS[:count])
        for name in SHORT_OF:
            assert call("RESTORE", "short-" + name, 0, (HERE / "accepted" / (name + "-CLASSIC.dump")).read_bytes()).plain == "OK"
        expected = {}
        for key in [*SHORT_MADE, *("short-" + name for name in SHORT_OF)]:
            expected[key] = dict(expectation(look(call, key)), producer="Redis 7.0.15")
            manifest.add(key + ".dump", call("DUMP", key).plain, expected[key])
        call("CONFIG", "SET", "rdbcompression", "yes")
        assert call("SAVE").plain == "OK"
        manifest.add("short.rdb", Path(server.directory, "dump.rdb").read_bytes(), {"keys": expected})
        for name, fields in SHORT_BY_HAND.items():
            add_by_hand(manifest, call, name + ".dump", payload([short_record(**fields)]))
        manifest.save()
    finally:
        server.close()


def write_rejected():
    manifest = Manifest(HERE / "rejected")
    for name, (text, names, items) in rejected().items():
        manifest.add(name + ".dump", payload(items), {"defect": text, "log names": names})
    manifest.save()


if __name__ == "__main__":
    ways = {"accepted": write_accepted, "rejected": write_rejected}
    if len(sys.argv) != 2 or sys.argv[1] not in ways:
        sys.exit(__doc__)
    ways[sys.argv[1]]()
