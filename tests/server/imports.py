"""What the tests of BF.IMPORT share: small filters of every format, and that bad data is refused."""

from checks import keyspace
from formats_model import LevelDb, Parquet, Plain, RedisBloom

FORMATS = ["portable", "sstable", "leveldb", "parquet", "redisbloom"]
SINGLE = FORMATS[:4]

ITEMS = [b"item:%d" % i for i in range(60)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(940)]


def payload(name, items=()):
    """A small filter of `items`, about 600 bits and 6 hashes, and the model that predicts its answers."""
    if name == "parquet":
        model = Parquet(96, items)
        return model.data, model
    if name == "leveldb":
        model = LevelDb(75, 6, items)
        return model.data, model
    if name == "redisbloom":
        model = RedisBloom(0.02, 60)
        for item in items:
            model.add(item)
        return model.data, model
    model = Plain(601, 6, "XXH64", items)
    return (model.portable if name == "portable" else model.sstable(10)), model


def import_(call, key, name, data, *words):
    return call("BF.IMPORT", key, "FORMAT", name, *words, "DATA", data)


def assert_bad_data(call, name, data, field=None, key="k"):
    """The import is refused with an error that names the field, or one of a set; nothing changed."""
    before = keyspace(call, key)
    reply = import_(call, key, name, data)
    assert reply.is_error and reply.value.startswith("ERR bad data: "), reply
    assert len(reply.value) > len("ERR bad data: "), "which field?"
    if isinstance(field, set):
        assert reply.value.removeprefix("ERR bad data: ") in field
    elif field is not None:
        assert field in reply.value
    assert keyspace(call, key) == before
    assert call("PING").plain == "PONG"


DATA = payload("portable", ITEMS)[0]
