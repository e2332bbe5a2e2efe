"""RedisBloom in the tests: recorded filters, how it saves, and what its master sends. The oracle for
its filters is RedisBloom in formats_model.py. All of it is written from observation (rdb/FORMAT.md 6);
of bloomport's code it uses only the RDB pieces of golden/make_golden.py.

    FIXTURES, PROBES    five filters that RedisBloom itself made: fields, chunks, DUMP payload
    rdb_value, payload  a model as its RDB encoding, version 4, and as a DUMP payload
    chunks              a model as BF.SCANDUMP's pieces
    Spoiler             every flipped byte and every truncation of a payload, checksum repaired
    Master              a master on the replication link: a full sync, then commands as they are given
"""

import contextlib
import json
import socket
import struct
import sys
import threading
from base64 import b64decode
from pathlib import Path

from checks import CHUNK_LIMIT
from formats_model import FIXTURES as MANIFEST
from formats_model import REDISBLOOM_FIXED, REDISBLOOM_LAYER
from resp import encode

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from make_golden import CRC64_TABLE, RDB_VERSION, length, module_value, string, with_footer  # noqa: E402

DUMP_FILE = GOLDEN / "redisbloom" / "dump.rdb"
TYPE_NAME = "MBbloom--"
ENCODING = 4
UINT, DOUBLE = 2, 4  # opcodes of a module's values

# ---- What RedisBloom recorded --------------------------------------------------------------------


class Fixture:
    def __init__(self, row):
        self.key, self.card, self.info, self.answers = row["key"], row["card"], row["info"], row["answers"]
        self.items = [b"fixture:%d" % i for i in range(row["items"])]
        self.payload = b64decode(row["dump_base64"])
        self.chunks = [(iterator, b64decode(data)) for iterator, data in row["scandump_base64"]]
        self.data = b"".join(data for _, data in self.chunks)


FIXTURES = {row["key"]: Fixture(row) for row in json.loads(MANIFEST.read_text(encoding="utf-8"))["filters"]}
PROBES = [b"fixture:probe:%d" % j for j in range(5000)]

# ---- How it saves --------------------------------------------------------------------------------


def uint(n):
    return length(UINT) + length(n)


def double(x):
    return length(DOUBLE) + struct.pack("<d", x)


def rdb_value(data, encoding=ENCODING):
    """A dump (header and bits in one string) as an RDB value up to its footer, strings as they are."""
    items, count, options, growth = REDISBLOOM_FIXED.unpack_from(data)
    out = uint(items) + uint(count) + uint(options) + uint(growth)
    at, bits_at = REDISBLOOM_FIXED.size, REDISBLOOM_FIXED.size + count * REDISBLOOM_LAYER.size
    for _ in range(count):
        nbytes, bits, size, error, bpe, hashes, capacity, n2 = REDISBLOOM_LAYER.unpack_from(data, at)
        array = data[bits_at : bits_at + nbytes]
        out += uint(capacity) + double(error) + uint(hashes) + double(bpe) + uint(bits) + uint(n2)
        out += string(array) + uint(size)
        at, bits_at = at + REDISBLOOM_LAYER.size, bits_at + nbytes
    return module_value([bytearray(out)], encoding, TYPE_NAME)


def payload(data, encoding=ENCODING):
    return with_footer(rdb_value(data, encoding))


def chunks(data):
    """A dump as the pieces BF.SCANDUMP gives."""
    _, count, _, _ = REDISBLOOM_FIXED.unpack_from(data)
    at = REDISBLOOM_FIXED.size + count * REDISBLOOM_LAYER.size
    found, done = [(1, data[:at])], 0
    for i in range(count):
        (nbytes,) = struct.unpack_from("<Q", data, REDISBLOOM_FIXED.size + i * REDISBLOOM_LAYER.size)
        for start in range(0, nbytes, CHUNK_LIMIT):
            piece = data[at + start : at + min(start + CHUNK_LIMIT, nbytes)]
            done += len(piece)
            found.append((1 + done, piece))
        at += nbytes
    return found


# ---- What can go wrong ---------------------------------------------------------------------------


class Spoiler:
    """Variants of a DUMP payload with a repaired checksum, at O(1) each: CRC64 is linear."""

    def __init__(self, whole):
        self.body = whole[:-8]  # with the version, of which the checksum is
        (self.crc,) = struct.unpack("<Q", whole[-8:])
        self.value = whole[:-10]
        self.prefix = [0]  # of the first n bytes
        for byte in self.value:
            self.prefix.append(self._step(self.prefix[-1], byte))

    @staticmethod
    def _step(crc, byte):
        return CRC64_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)

    def flips(self, mask, first, last=None):
        """(at, payload) with byte `at` changed by `mask`, from the end down to `first`."""
        delta = None
        for at in range(len(self.body) - 1, first - 1, -1):
            if delta is None:
                delta = CRC64_TABLE[mask]
            else:
                delta = self._step(delta, 0)
            if at < len(self.value) and (last is None or at < last):
                spoiled = bytearray(self.body)
                spoiled[at] ^= mask
                yield at, bytes(spoiled) + struct.pack("<Q", self.crc ^ delta)

    def truncations(self, first):
        version = struct.pack("<H", RDB_VERSION)
        for size in range(first, len(self.value)):
            crc = self.prefix[size]
            for byte in version:
                crc = self._step(crc, byte)
            yield size, self.value[:size] + version + struct.pack("<Q", crc)


# ---- Its master ----------------------------------------------------------------------------------


class Master:
    """Speaks PSYNC to one replica: sends it `rdb`, then the commands given to send(), as they are."""

    def __init__(self, rdb):
        self.rdb, self.offset, self.connection, self.acknowledged = rdb, 0, None, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_synced = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        try:
            self.connection, _ = self.listener.accept()
            stream = self.connection.makefile("rb")
            while True:
                words = self._read_command(stream)
                if words is None:
                    return
                self._answer([word.upper() for word in words])
        except OSError:
            pass  # the replica was promoted, or its server is gone

    @staticmethod
    def _read_command(stream):
        line = stream.readline()
        if not line.startswith(b"*"):
            return line.split() or None  # PING may come inline
        words = []
        for _ in range(int(line[1:])):
            size = int(stream.readline()[1:])
            words.append(stream.read(size + 2)[:-2])
        return words

    def _answer(self, words):
        if words[0] == b"PING":
            self.connection.sendall(b"+PONG\r\n")
        elif words[:2] == [b"REPLCONF", b"ACK"]:
            self.acknowledged = int(words[2])
        elif words[0] == b"PSYNC":
            self.connection.sendall(b"+FULLRESYNC %s 0\r\n" % (b"r" * 40))
            self.connection.sendall(b"$%d\r\n%s" % (len(self.rdb), self.rdb))
            self.is_synced.set()
        else:
            self.connection.sendall(b"+OK\r\n")

    def send(self, *commands):
        assert self.is_synced.wait(60), "no replica asked for a sync"
        for words in commands:
            data = encode(words)
            self.connection.sendall(data)
            self.offset += len(data)

    def close(self):
        if self.connection:
            with contextlib.suppress(OSError):  # the replica may be gone
                self.connection.shutdown(socket.SHUT_RDWR)  # ends the thread's read
            self.connection.close()
        self.listener.close()
        self.thread.join()
