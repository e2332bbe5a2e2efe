"""A small Redis protocol client that keeps the exact shape of every reply.

redis-py turns `+OK` and `$2 OK` into the same value and cuts `ERR ` off error texts; these tests
need to tell them apart. A reply is a Reply(kind, value), kind being the protocol's own first byte:

    :  integer      +  simple string    -  error       $  bulk string (None: RESP2 null bulk)
    *  array (None: RESP2 null array)   %  map, as a list of pairs        ~  set, as a list
    #  boolean      _  null             ,  double      (  big number

Build the expected value with the functions below and compare with ==; repr() shows a reply by its
protocol byte and value. It has no reconnecting, push messages or streamed types.
"""

import os
import socket
from collections import namedtuple

ANSWER_SECONDS = 300 if os.environ.get("BLOOMPORT_WRAP") else 30  # under valgrind or an emulator
BRACKETS = {"*": "[%s]", "%": "{%s}", "~": "~{%s}"}


class Reply(namedtuple("Reply", "kind value")):
    """One reply; nested replies are Reply values too."""

    __slots__ = ()

    def __repr__(self):
        if self.value is None:
            return "_" if self.kind == "_" else self.kind + "nil"
        if self.kind == "%":
            return "{" + ", ".join("%r: %r" % pair for pair in self.value) + "}"
        if self.kind in "*~":
            return BRACKETS[self.kind] % ", ".join(map(repr, self.value))
        if self.kind == "#":
            return "#t" if self.value else "#f"
        return "%s%s" % (self.kind, self.value)

    @property
    def is_error(self):
        return self.kind == "-"

    @property
    def plain(self):
        """The value as plain Python; an error reply, also a nested one, is an AssertionError."""
        assert not self.is_error, "the server answered: %s" % self.value
        if self.value is not None and self.kind in "*~":
            return [item.plain for item in self.value]
        if self.kind == "%":
            return {key.plain: value.plain for key, value in self.value}
        return self.value


def integer(number):
    return Reply(":", number)


def simple(text):
    return Reply("+", text)


def error(text):
    return Reply("-", text)


def bulk(data):
    return Reply("$", data.encode() if isinstance(data, str) else data)


def boolean(claim):
    return Reply("#", claim)


def array(*items):
    return Reply("*", list(items))


def mapping(*pairs):
    return Reply("%", list(pairs))


OK = simple("OK")
ONE, ZERO = integer(1), integer(0)
TRUE, FALSE = boolean(True), boolean(False)
NULL_BULK = Reply("$", None)  # RESP2
NULL = Reply("_", None)  # RESP3


def encode(words):
    """A command as the protocol writes it: an array of bulk strings. Numbers and str are taken."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        if not isinstance(word, (bytes, bytearray, memoryview)):
            word = str(word).encode()
        out.append(b"$%d\r\n" % len(word))
        out.append(word)
        out.append(b"\r\n")
    return b"".join(out)


class Connection:
    """One connection. `address` is a unix socket path or a (host, port) pair."""

    def __init__(self, address, protocol=2, timeout=ANSWER_SECONDS):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb", buffering=1 << 16)
        if protocol == 3:
            assert self.call("HELLO", 3).kind == "%"

    def call(self, *words):
        """Send one command, return its Reply (an error is a Reply too)."""
        self.send(*words)
        return self.read()

    def pipeline(self, commands):
        """Send all commands, then read as many replies."""
        commands = list(commands)
        self.socket.sendall(b"".join(map(encode, commands)))
        return [self.read() for _ in commands]

    def send(self, *words):
        self.socket.sendall(encode(words))

    def close(self):
        self.file.close()
        self.socket.close()

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = chr(line[0]), line[1:-2]
        if kind in "+-":
            return Reply(kind, rest.decode("utf-8", "backslashreplace"))
        if kind in ":(":
            return Reply(kind, int(rest))
        if kind == ",":
            return Reply(kind, float(rest))
        if kind == "#":
            return Reply(kind, {b"t": True, b"f": False}[rest])
        if kind == "_":
            return Reply(kind, None)
        if kind == "=":  # verbatim string: three letters of format and a colon stand before the text
            return Reply(kind, self._read_exactly(int(rest))[4:])
        if kind not in "$*%~":
            raise ValueError("not understood: %r" % line)
        size = int(rest)
        if size < 0:
            return Reply(kind, None)
        if kind == "$":
            return Reply(kind, self._read_exactly(size))
        if kind == "%":
            return Reply(kind, [(self.read(), self.read()) for _ in range(size)])
        return Reply(kind, [self.read() for _ in range(size)])

    def _read_exactly(self, size):
        data = self.file.read(size + 2)
        if len(data) != size + 2 or data[-2:] != b"\r\n":
            raise ConnectionError("the server closed the connection within a bulk string")
        return data[:-2]
