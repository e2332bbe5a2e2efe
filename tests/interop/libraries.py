"""Do the libraries whose formats we import and export read our filters, and do we read theirs?

run.py calls main() of this file. Each folder of libraries/ is one library and a short program around
it, with no code of bloomport. It is called with

    write FILE parameters    makes the library's own filter of the items on standard input
    read FILE parameters     prints the library's answer for each of them, 1 or 0

with items as hexadecimal digits, one a line. A row of the table is one kind of filter of one library:

    import   the library's file, by BF.IMPORT: all answers are the library's, false positives too
    export   BF.EXPORT of it is the same file again
    add      the library's file of half the items, the other half added by BF.MADD: exported, it is the
             library's own file of all; 500 more items added, the library's answers are BF.MEXISTS's
    build    `bloomport build` of the same items, and of fewer with other error rates, is the library's own
             file: where the library's parameters are those that the tool takes, "-" where not
"""
import functools
import os
import re
import struct
from pathlib import Path

import languages
from answers import compare, madd, mexists
from languages import Failed, Skip, run

HERE = Path(__file__).resolve().parent / "libraries"
WORK = Path(__file__).resolve().parents[2] / "build" / "interop" / "libraries"
TOOL = os.environ.get("BLOOMPORT_TOOL", str(WORK.parents[1] / "bloomport"))

ADDED, PROBES, MORE = 4000, 12000, 500  # items 0 to ADDED - 1 are in the filters
RATE = 0.02  # so 160 of the 8,000 that are not in it are false positives
# Items and error rates whose sizes are compared; 12,000 at 1e-6 is more than BIP 37 allows.
SIZES = ((2, 0.5), (7, 0.1), (20, 0.01), (100, 0.001), (1000, 1e-6), (12000, 0.03), (12000, 1e-6))


# The items, as the bytes that the server gets

def item_of_bytes(i):
    """Any bytes, of 0 and 4 to 67 bytes, one in 16 of up to 1,500: every path of every hash function."""
    length = i % 1500 if i % 16 == 0 else i % 64
    return struct.pack("<I", i * 2654435761 % 2**32) + bytes((i * 31 + j * 17 + 200) % 256 for j in range(length))


def item_of_text(i):
    return ("k%d:" % i + "é" * (i % 3) + "abcdefghijklmnopqrstuvwxyz"[:i % 27]).encode()


def item_of_long(i):
    return struct.pack("<Q", i * 0x9E3779B97F4A7C15 % 2**64)


ITEM = {"bytes": item_of_bytes, "string": item_of_text, "long": item_of_long}


def hexadecimal(items):
    return "".join(item.hex() + "\n" for item in items).encode()


def tool(*words, stdin=b""):
    return run([TOOL, *words], WORK, stdin=stdin)


# How each library's program is made: these return the command.

def java(folder):
    sources = sorted(path.name for path in folder.glob("*.java"))
    shared = ["../shared/Items.java", *(["../spark3/Spark.java"] if folder.name == "spark4" else [])]
    return languages.java_program(folder, *sources, *shared)


def cpp(folder):
    return languages.c_program(folder, os.environ.get("CXX", "g++"), "c++", "rocksdb/db.h", "librocksdb-dev",
                               "-std=c++17", "rocksdb.cpp", "-lrocksdb")


def python(folder):
    (script,) = folder.glob("*.py")
    return languages.python_program(folder, script)


MAKE = {"bits-and-blooms": languages.go_program, "python-bitcoinlib": python, "pyspark": python, "rocksdb": cpp}


def version(folder):
    """What the folder's package file asks for."""
    for name, pattern in (("pom.xml", r"<version>([^0<].*|0\..*)</version>"), ("go.mod", r"bloom/v3 v(\S+)"),
                          ("requirements.txt", r"==(\S+)")):
        if (folder / name).exists():
            return re.search(pattern, (folder / name).read_text(encoding="utf-8"))[1]
    header = Path("/usr/include/rocksdb/version.h")
    numbers = re.findall(r"ROCKSDB_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text(encoding="utf-8")) if header.exists() else []
    return ".".join(numbers)


# The rows

class Filter:
    """One kind of filter of one library.

    `write` and `read` are the program's parameters, with N for the number of items and P for the error
    rate. `sizes` are the pairs of them for which the tool builds what the library writes: none if a
    parameter of the library's is not one of the tool's. `words` stand before CAPACITY in BF.IMPORT.
    """

    rate_option, rate = "--error", RATE

    def __init__(self, library, name, form, write, read=(), kind="bytes", words=(), sizes=SIZES, has_empty=True,
                 variant=None):
        self.library, self.name, self.form, self.words = library, name, form, words
        self.write, self.read, self.sizes = write, read, sizes
        self.variant = ["--variant", variant] if variant else []  # of bloomport build
        self.folder, self.key = WORK / library, f"{library} {name}".replace(" ", "-")
        items = [ITEM[kind](i) for i in range(PROBES)]
        if kind != "long" and has_empty:
            items[1] = b""
        self.items, self.members = items, items[:ADDED]

    def written(self, items):
        """What the library's file of these items holds."""
        return items

    def prepare(self, command, server):
        self.command, self.server = command, server
        self.connection = server.connection()

    def call(self, *words):
        reply = self.connection.call(*words)
        if reply.is_error:
            raise Failed(f"{words[0]}: {reply.value}")
        return reply.plain

    # What the library does

    def program(self, mode, name, items, *parameters):
        return run([*self.command, mode, name, *parameters], self.folder, stdin=hexadecimal(items))

    def make(self, items, n=ADDED, rate=None):
        """The library's own filter, sized for n items, as BF.IMPORT takes it."""
        return self.made(items, [{"N": n, "P": rate or self.rate}.get(word, word) for word in self.write])

    def made(self, items, parameters):
        path = self.folder / f"{self.key}.theirs"
        path.unlink(missing_ok=True)
        self.program("write", path, items, *parameters)
        return path.read_bytes()

    def answers(self, data):
        """The library's answers, if that is its filter."""
        path = self.folder / f"{self.key}.asked"
        path.write_bytes(data)
        return [int(word) for word in self.program("read", path, self.items, *self.read).split()]

    # What the server does

    def load(self, data):
        self.call("DEL", self.key)
        self.call("BF.IMPORT", self.key, "FORMAT", self.form, *self.words, "CAPACITY", 2 * ADDED, "DATA", data)

    def export(self):
        return self.call("BF.EXPORT", self.key, "FORMAT", self.form, *self.words)

    def present(self):
        return mexists(self.connection, self.key, self.items)

    # The steps

    def check_import(self):
        self.theirs = self.make(self.members)
        self.expected = self.answers(self.theirs)
        if not all(self.expected[:ADDED]):
            raise Failed("the library forgot an item")
        false_positives = sum(self.expected[ADDED:])
        if not 20 < false_positives < 400:
            raise Failed(f"{false_positives} false positives")
        self.load(self.theirs)
        compare("import", self.present(), self.expected)

    def check_export(self):
        compare("export", self.export(), self.theirs)

    def check_add(self):
        self.load(self.make(self.members[:ADDED // 2]))
        madd(self.connection, self.key, self.members[ADDED // 2:])
        compare("add", self.export(), self.theirs)
        self.check_more()

    def check_more(self):
        madd(self.connection, self.key, self.items[-MORE:])
        ours = self.export()
        if ours == self.theirs:
            raise Failed("500 more items changed nothing")
        compare("add more", self.answers(ours), self.present())

    def check_build(self):
        for n, rate in ((ADDED, self.rate), *self.sizes):
            path = self.folder / f"{self.key}.built"
            path.unlink(missing_ok=True)
            items = self.written(self.items[:n])
            tool("build", "--format", self.form, *self.variant, "--capacity", len(items), self.rate_option, rate, "--hex",
                 "-o", path, stdin=hexadecimal(items))
            compare(f"build {n} at {rate}", path.read_bytes(), self.make(self.items[:n], n, rate))

    def steps(self):
        return [self.check_import, self.check_export, self.check_add, *([self.check_build] if self.sizes else [])]


class RocksDB(Filter):
    """Its filters are blocks inside an .sst, and the program cannot be given one. So the tool takes the
    block of a real .sst, and a block of ours goes into that .sst in place of its own, where RocksDB
    then uses it for its lookups."""

    rate_option, rate = "--bits-per-key", 8

    def written(self, items):
        return [*items, b"\xff" * 100]  # see rocksdb.cpp

    def made(self, items, parameters):
        self.sst = self.folder / f"{self.key}.sst"
        self.sst.unlink(missing_ok=True)
        self.program("write", self.sst, items, *parameters)
        block = self.folder / f"{self.key}.block"
        block.unlink(missing_ok=True)
        tool("convert", "--from", "sst", "--to", "rocksdb", self.sst, "-o", block)
        self.block = block.read_bytes()
        return self.block

    def answers(self, data):
        file = self.sst.read_bytes()
        if file.count(self.block) != 1 or len(data) != len(self.block):
            raise Failed(f"{file.count(self.block)} blocks in the .sst, of {len(self.block)} and not {len(data)} bytes")
        return super().answers(file.replace(self.block, data))

    def check_add(self):
        """From an empty block of its size; first other items, so that it cannot be RocksDB's own."""
        self.load(bytes(len(self.block) - 5) + self.block[-5:])
        self.check_more()
        self.load(bytes(len(self.block) - 5) + self.block[-5:])
        madd(self.connection, self.key, self.written(self.members))
        compare("add", self.export(), self.theirs)


class Redisson(Filter):
    """Its filters are a string and a hash on a server, which the program talks to."""

    def config(self):
        return f"{{{self.key}.theirs}}:config"

    def made(self, items, parameters):
        name = f"{self.key}.theirs"
        self.call("DEL", name, self.config())
        self.program("write", self.server.port, items, name, *parameters)
        return self.call("GET", name)

    def put(self, name, data):
        """The bitmap as a filter of Redisson's, with the parameters of make()'s."""
        self.call("DEL", f"{{{name}}}:config")
        self.call("HSET", f"{{{name}}}:config", *self.call("HGETALL", self.config()))
        # More items than Redisson was told of are added later; it looks up by the other fields alone.
        self.call("HSET", f"{{{name}}}:config", "expectedInsertions", 2 * ADDED)
        self.call("SET", name, data)

    def answers(self, data):
        name = f"{self.key}.asked"
        self.put(name, data)
        return [int(word) for word in self.program("read", self.server.port, self.items, name).split()]

    def load(self, data):
        name, file = f"{self.key}.pulled", self.folder / "pulled.dump"
        self.put(name, data)
        file.unlink(missing_ok=True)
        address = ["-p", self.server.port]
        tool("pull", *address, "--redisson", name, "-o", file)
        self.call("DEL", self.key)
        tool("push", *address, "--key", self.key, file)


# Cassandra has no filters of more than 20 bits an item. It chooses by a table of rounded rates: the
# last four are near such a rate.
CASSANDRA_SIZES = (*((n, rate) for n, rate in SIZES if rate > 1e-6), (100, 0.393), (100, 0.1469), (100, 0.0919), (100, 0.0007))
ROCKSDB_SIZES = ((2, 1), (7, 3.3), (20, 6), (100, 9.9), (1000, 12), (1000, 20), (12000, 30), (1000, 60))

FILTERS = (
    Filter("guava", "bytes", "guava", ("bytes", "N", "P"), ("bytes",)),
    Filter("guava", "string", "guava", ("string", "N", "P"), ("string",), kind="string"),
    Filter("guava", "long", "guava", ("long", "N", "P"), ("long",), kind="long"),
    Filter("guava", "before 18", "guava", ("old", "N", "P"), ("old",), sizes=()),
    Filter("spark3", "V1 bytes", "spark", ("bytes", "N", "P"), ("bytes",)),
    Filter("spark3", "V1 string", "spark", ("string", "N", "P"), ("string",), kind="string"),
    Filter("spark3", "V1 long", "spark", ("long", "N", "P"), ("long",), kind="long"),
    Filter("spark4", "V1 bytes", "spark", ("bytes", "N", "P", "V1", 0), ("bytes",), variant="v1"),
    Filter("spark4", "V2 bytes", "spark", ("bytes", "N", "P", "V2", 0), ("bytes",), variant="v2"),
    Filter("spark4", "V2 with a seed", "spark", ("bytes", "N", "P", "V2", -559038737), ("bytes",), sizes=()),
    Filter("spark4", "default long", "spark", ("long", "N", "P", "default", 0), ("long",), kind="long", variant="v2"),
    Filter("pyspark", "string column", "spark", ("string", "N", "P"), ("string",), kind="string", sizes=SIZES[:1],
           variant="v2"),
    Filter("bits-and-blooms", "n and p", "go", ("N", "P")),
    Filter("bits-and-blooms", "m and k", "go", ("m", 40961, 5), sizes=()),
    Filter("bitcoinj", "tweak 0", "bip37", ("N", "P", 0, "UPDATE_NONE")),
    Filter("bitcoinj", "a tweak", "bip37", ("N", "P", 4000000007, "UPDATE_P2PUBKEY_ONLY"), sizes=()),
    # The first size would have no bytes here; bitcoinj gives it one.
    Filter("python-bitcoinlib", "tweak 0", "bip37", ("N", "P", 0, 0), sizes=SIZES[1:]),
    Filter("python-bitcoinlib", "a tweak", "bip37", ("N", "P", 2147483649, 1), sizes=()),
    Filter("cassandra3", "as 2.2", "cassandra", ("old", "N", "P"), ("old",), words=("VARIANT", "old"), sizes=CASSANDRA_SIZES,
           variant="old"),
    Filter("cassandra3", "3.x", "cassandra", ("3.x", "N", "P"), ("3.x",), words=("VARIANT", "3.x"), sizes=CASSANDRA_SIZES,
           variant="3.x"),
    Filter("cassandra4", "4.x", "cassandra", ("N", "P"), ("4.x",), words=("VARIANT", "4.x"), sizes=CASSANDRA_SIZES),
    # DataSketches ignores the empty item.
    Filter("datasketches", "bytes", "datasketches", ("bytes", "N", "P", 0), ("bytes",), has_empty=False),
    Filter("datasketches", "string", "datasketches", ("string", "N", "P", -5), ("string",), kind="string", sizes=(),
           has_empty=False),
    Filter("datasketches", "long", "datasketches", ("long", "N", "P", 0), ("long",), kind="long"),
    RocksDB("rocksdb", "format_version 5", "rocksdb", ("P", 5), sizes=ROCKSDB_SIZES),
    RocksDB("rocksdb", "format_version 4", "rocksdb", ("P", 4), sizes=()),
    Redisson("redisson", "bytes", "redisson", ("N", "P"), sizes=()),
)
LIBRARIES = list(dict.fromkeys(one.library for one in FILTERS))
COLUMNS = ("import", "export", "add", "build")
FORM = "%-18s %-11s %-17s" + " %-8s" * len(COLUMNS)


@functools.lru_cache(maxsize=None)
def prepared(library):
    """The command of a library's program, or the Skip or Failed that prevents it."""
    try:
        languages.copy_sources(HERE, WORK, "shared")
        if library == "spark4":
            languages.copy_sources(HERE, WORK, "spark3")
        return MAKE.get(library, java)(languages.copy_sources(HERE, WORK, library))
    except (Skip, Failed) as problem:
        return problem


def check(one, server):
    """The word for each column, and what went wrong."""
    command = prepared(one.library)
    if isinstance(command, Exception):
        word = "skipped" if isinstance(command, Skip) else "failed"
        return [word] * len(COLUMNS), [str(command)]
    one.prepare(command, server)
    words, notes = [], []
    for step in one.steps():
        try:
            step()
            words.append("ok")
        except (Skip, Failed, OSError) as problem:
            words.append("failed")
            notes.append(str(problem))
            if step == one.check_import:  # the others start from it
                break
    return words + ["-"] * (len(COLUMNS) - len(words)), notes


def rows(names, server):
    """(line, result, notes) for each row of the libraries of these names."""
    for one in FILTERS:
        if one.library not in names:
            continue
        words, notes = check(one, server)
        result = next((word for word in ("failed", "skipped") if word in words), "ok")
        yield (FORM % (one.library, version(HERE / one.library), one.name, *words)).rstrip(), result, notes
