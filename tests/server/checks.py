"""What the server tests share: reading a filter's state, and two claims about it.

assert_refused   one exact error, and nothing at all changed
filter_state     everything a filter shows, bits included; equal states mean the same filter
"""

import random
import re
from collections import namedtuple

from resp import OK, Reply, error


class Refusal(str):
    """An error text, which may go on to name the limit that is in the way and the bytes that are needed."""

    LIMIT = re.compile(r": it needs (\d+) bytes, and (bf\.max-bytes|maxmemory|the memory [a-z ]+) is (\d+)")
    __hash__ = str.__hash__

    def __eq__(self, other):
        if not isinstance(other, str) or not str.startswith(other, self):
            return False
        rest = other[len(self):]
        limit = self.LIMIT.fullmatch(rest)
        return not rest or (limit is not None and int(limit[1]) > int(limit[3]))

    def __ne__(self, other):
        return not self == other


WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
FULL = "ERR non scaling filter is full"
NO_MEMORY = Refusal("ERR Insufficient memory to create filter")
GROWTH_FAILED = Refusal("ERR problem inserting into filter")
BAD_DATA = "ERR received bad data"
LOADING = "ERR filter is being loaded"

# the module's settings as CONFIG GET shows them on a server without any
DEFAULTS = {
    "bf.error-rate": "0.01",
    "bf.bits-per-key": "0",
    "bf.initial-size": "100",
    "bf.expansion-factor": "2",
    "bf.max-bytes": "0",
    "bf.window": "0",
}

INFO_FIELDS = {
    "CAPACITY": "Capacity",
    "SIZE": "Size",
    "FILTERS": "Number of filters",
    "ITEMS": "Number of items inserted",
    "EXPANSION": "Expansion rate",
}

CHUNK_LIMIT = 16 * 1024 * 1024

# arity as COMMAND INFO gives it, and a valid call on key `k` (BF.LOADCHUNK: valid but for its data)
COMMANDS = {
    "BF.RESERVE": (-4, ("k", "0.01", "100")),
    "BF.ADD": (3, ("k", "a")),
    "BF.MADD": (-3, ("k", "a")),
    "BF.INSERT": (-4, ("k", "ITEMS", "a")),
    "BF.EXISTS": (3, ("k", "a")),
    "BF.MEXISTS": (-3, ("k", "a")),
    "BF.BULKEXISTS": (-4, ("k", "LINES", "a")),
    "BF.BULKADD": (-4, ("k", "WIDTH", "1", "a")),
    "BF.CARD": (2, ("k",)),
    "BF.INFO": (-2, ("k",)),
    "BF.DEBUG": (2, ("k",)),
    "BF.SCANDUMP": (3, ("k", "0")),
    "BF.LOADCHUNK": (-4, ("k", "1", "data")),
    "BF.EXPORT": (-2, ("k",)),
    "BF.MERGE": (-3, ("k", "a")),
    "BF.INTERSTORE": (-3, ("k", "a")),
    "BF.CLEAR": (2, ("k",)),
    "BF.ROTATE": (-2, ("k",)),
    "BF.DEL": (-3, ("k", "a")),
    "BF.COUNT": (3, ("k", "a")),
    "BF.STATS": (2, ("k",)),
    "BF.LOAD": (3, ("k", "data")),
    "BF.IMPORT": (-6, ("k", "FORMAT", "portable", "DATA", b"\1\0\0\0\10\0\0\0\0\0\0\0\1")),
}
# dest and sources, where others have one key
COMBINING = ("BF.MERGE", "BF.INTERSTORE")
WRITES = (
    "BF.RESERVE", "BF.ADD", "BF.MADD", "BF.INSERT", "BF.BULKADD", "BF.DEL", "BF.LOADCHUNK", "BF.LOAD", "BF.IMPORT", "BF.CLEAR", "BF.ROTATE", *COMBINING,
)  # fmt: skip

LAYER_LINE = re.compile(
    rb"bytes:(\d+) bits:(\d+) hashes:(\d+) hashwidth:64 capacity:(\d+) size:(\d+) ratio:(\S+)"
)

Layer = namedtuple("Layer", "bytes bits hashes capacity size ratio")


def arity_error(command):
    return "ERR wrong number of arguments for '%s' command" % command.lower()


def card_and_layers(call, key):
    """BF.DEBUG, parsed: (items counted, [Layer, oldest first])."""
    first, *lines = call("BF.DEBUG", key).plain
    assert re.fullmatch(rb"size:\d+", first), first
    layers = []
    for line in lines:
        match = LAYER_LINE.fullmatch(line)
        assert match, line
        *numbers, ratio = match.groups()
        layers.append(Layer(*map(int, numbers), ratio=float(ratio)))
    return int(first[len("size:") :]), layers


def layers_of(call, key):
    return card_and_layers(call, key)[1]


def info(call, key):
    """BF.INFO over RESP2 as a dict by long name."""
    flat = call("BF.INFO", key).plain
    return dict(zip(flat[::2], flat[1::2]))


def add_all(call, key, items, batch=10_000):
    """BF.MADD in batches; returns the answers, all integers."""
    answers = []
    for start in range(0, len(items), batch):
        answers += call("BF.MADD", key, *items[start : start + batch]).plain
    return answers


def look_up_all(call, key, items, batch=10_000):
    answers = []
    for start in range(0, len(items), batch):
        answers += call("BF.MEXISTS", key, *items[start : start + batch]).plain
    return answers


def dump(call, key):
    """All [(iterator, data)] of BF.SCANDUMP, header first, without the closing [0, ""]."""
    chunks, iterator = [], 0
    while True:
        iterator, data = call("BF.SCANDUMP", key, iterator).plain
        if iterator == 0:
            assert data == b""
            return chunks
        chunks.append((iterator, data))


def load(call, key, chunks):
    for iterator, data in chunks:
        assert call("BF.LOADCHUNK", key, iterator, data) == OK


def bits_of(call, key):
    """The bit arrays of all layers, one bytes per layer, put together from BF.SCANDUMP."""
    rest = b"".join(data for _, data in dump(call, key)[1:])
    arrays = []
    for layer in layers_of(call, key):
        arrays.append(rest[: layer.bytes])
        rest = rest[layer.bytes :]
    assert rest == b""
    return arrays


def assert_every_add_is_predicted(call, key, model_of, seed):
    """Random adds with repeats until there are several layers: a model, which model_of(call, key) makes of the layers'
    sizes, predicts answers, counts and all bits."""
    source = random.Random(seed)
    items = [b"item:%d" % source.randrange(1500) for _ in range(2000)]
    answers = add_all(call, key, items, batch=97)
    model = model_of(call, key)
    assert len(model.shapes) >= 5
    assert answers == [model.add(item) for item in items]
    card, layers = card_and_layers(call, key)
    assert [layer.size for layer in layers] == [layer.items for layer in model.layers]
    assert card == sum(answers)
    assert bits_of(call, key) == [layer.bits for layer in model.layers]
    probes = [b"absent:%d" % i for i in range(2000)]
    assert look_up_all(call, key, probes) == [model.contains(item) for item in probes]


def filter_state(call, key):
    """Everything a filter shows. Two filters with equal states are the same filter."""
    return {
        "type": call("TYPE", key),
        "card": call("BF.CARD", key),
        "info": call("BF.INFO", key),
        "layers": call("BF.DEBUG", key),
        "digest": call("DEBUG", "DIGEST-VALUE", key),
        "dump": dump(call, key),
    }


def settings(call, pattern="bf.*"):
    """CONFIG GET as a dict of text."""
    flat = [word.decode() for word in call("CONFIG", "GET", pattern).plain]
    return dict(zip(flat[::2], flat[1::2]))


def has_module_categories(r):
    """Whether modules can have ACL categories of their own here. Valkey says redis_version 7.2.4."""
    seen = r.info("server")
    number = seen.get("valkey_version") or seen["redis_version"]
    return tuple(map(int, number.split(".")[:2])) >= (7, 4)


def changes(call):
    """The server's own count of changes to the data, which is also what it would propagate."""
    text = call("INFO", "persistence").plain
    return int(re.search(rb"rdb_changes_since_last_save:(\d+)", text).group(1))


def keyspace(call, key):
    """All keys by digest and number, and what `key` shows, errors included."""
    seen = [call("DBSIZE"), call("DEBUG", "DIGEST"), changes(call), call("TYPE", key)]
    if seen[-1].value == "bloomport":
        seen += [call(name, key) for name in ("BF.CARD", "BF.INFO", "BF.DEBUG")]
        seen += [call("DEBUG", "DIGEST-VALUE", key), call("PTTL", key)]
    return seen


def assert_refused(call, text, *words):
    """`words` get exactly the error `text`, and no key was made, changed or marked as changed."""
    before = keyspace(call, words[1])
    assert call(*words) == error(text)
    assert keyspace(call, words[1]) == before


def assert_one_error(call, *words):
    """assert_refused for an error of the server itself, whose text differs by version; returns the text."""
    before = keyspace(call, words[1])
    reply = call(*words)
    assert isinstance(reply, Reply) and reply.is_error, reply
    assert keyspace(call, words[1]) == before
    return reply.value
