"""The filters that other libraries made (tests/golden/formats), their items and their answers.

    FIXTURES    all of them, by "guava/mitz64_bytes.bin"
    PREFIXED    tables of RocksDB whose filters hold prefixes of keys, alone or beside whole keys
    Fixture     data: the filter's bytes as BF.IMPORT takes them; model: the oracle's filter of them
                added, probes, answers: bytes of the items; the library's 0 or 1 for each of the probes
                vectors: one item in an empty filter each
"""

import json
import struct
from base64 import urlsafe_b64decode
from collections import namedtuple
from functools import cached_property
from pathlib import Path

from foreign_formats import FORMATS, Redisson, filter_block
from foreign_hashes import MASK32, MASK64

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "formats"
VARIANTS = {"oldser/oldhash": "old", "oldser/newhash": "3.x", "newser/newhash": "4.x"}
LETTERS = "abcdefghijklmnopqrstuvwxyz" * 2

Vector = namedtuple("Vector", "item data positions m k")


def numbered_bytes(i, most):
    start = struct.pack("<I", i * 2654435761 & MASK32)
    return start + bytes((i * 31 + j * 17 + 200) % 256 for j in range(i % most))


def numbered_text(i):
    return "k%d:" % i + "\u00e9" * (i % 3) + LETTERS[: i % 41]


RULES = {
    "bytes": lambda i: numbered_bytes(i, 64),
    "longbytes": lambda i: numbered_bytes(i, 300),
    "prefix4": lambda i: numbered_bytes(i, 64)[:4],
    "utf8": lambda i: numbered_text(i).encode(),
    "utf16": lambda i: numbered_text(i).encode("utf-16-le"),
    "i64": lambda i: struct.pack("<Q", i * 0x9E3779B97F4A7C15 & MASK64),
    "i32": lambda i: struct.pack("<I", i * 0x9E3779B1 & MASK32),
}


class Fixture:
    def __init__(self, name, entry):
        self.name, self.entry, self.params = name, entry, entry["params"]
        self.path = GOLDEN / name
        self.rule = "utf16" if self.params.get("funnel") == "unencodedCharsFunnel" else entry["rule"]
        self.variant = VARIANTS.get(self.params.get("variant"))
        self.format = FORMATS[name.split("/")[0]]

    @cached_property
    def data(self):
        data = self.path.read_bytes()
        if self.path.suffix == ".sst":
            return filter_block(data)
        if self.path.suffix == ".json":
            parts = json.loads(data)
            return struct.pack(">QQ", parts["m"], parts["k"]) + urlsafe_b64decode(parts["b"])
        return data

    def decode(self, data, config="config_hash"):
        if self.format is Redisson:
            fields = self.params[config]
            return Redisson.decode(data, int(fields["size"]), int(fields["hashIterations"]))
        return self.format.decode(data, self.variant) if self.variant else self.format.decode(data)

    @property
    def model(self):
        return self.decode(self.data)

    def items(self, n):
        return [RULES[self.rule](i) for i in range(n)]

    @property
    def added(self):
        return self.items(self.entry["added"]) + [bytes.fromhex(text) for text in self.entry.get("extra_added_hex", ())]

    @property
    def probes(self):
        return self.items(self.entry["probes"])

    @property
    def answers(self):
        return [int(answer) for answer in self.entry["answers"]]

    def item_of(self, item):
        """A vector's item as the library feeds it to its hash."""
        if "int" in item:
            return item["int"].to_bytes(4 if self.rule == "i32" else 8, "little", signed=True)
        data = bytes.fromhex(item["hex"])
        return data.decode().encode("utf-16-le") if self.rule == "utf16" else data

    @property
    def vectors(self):
        return [
            Vector(self.item_of(one["item"]), bytes.fromhex(one["serialized"]), one["positions"], one["m"], one["k"])
            for one in self.entry["vectors"]
        ]


def fixtures(name, part="fixtures"):
    for entry in json.loads((GOLDEN / name / "manifest.json").read_text())[part]:
        yield entry["file"], Fixture(entry["file"], entry)


FIXTURES = {file: one for name in FORMATS for file, one in fixtures(name)}
PREFIXED = dict(fixtures("rocksdb", "tables_with_prefixes"))
# BF.IMPORT does not take Redisson's: half of such a filter is in another key
IMPORTABLE = {name: one for name, one in FIXTURES.items() if one.format is not Redisson}
