"""The doors by which a filter of another program comes in: an RDB value (RESTORE, and files), BF.LOAD,
BF.LOADCHUNK, BF.IMPORT. All have the same limits: what one takes, every other takes, with the same answers;
what those programs can write legally is taken; and what a key exports comes back."""

import struct

import pytest

import redisbloom
from checks import look_up_all
from filters import QUIET
from formats_model import REDISBLOOM_FIXED, RedisBloom
from resp import OK, ONE
from valkeybloom import FIXED_SEED, ValkeyBloom, payload

ITEMS = [b"item:%d" % i for i in range(5)]
MOST_EXPANSION = 2**32 - 1
MOST_HASHES = 1100


def by_chunks(call, key, chunks):
    """Whether every piece was taken. What a refused one left is removed."""
    for iterator, data in chunks:
        if call("BF.LOADCHUNK", key, iterator, data).is_error:
            call("DEL", key)
            return False
    return True


def is_ok(reply):
    return reply == OK


# ---- valkey-bloom's ------------------------------------------------------------------------------

VALKEY_DOORS = {
    "RESTORE": lambda call, key, model: is_ok(call("RESTORE", key, 0, payload(model.value))),
    "BF.LOAD": lambda call, key, model: is_ok(call("BF.LOAD", key, model.data)),
    "BF.LOADCHUNK": lambda call, key, model: by_chunks(call, key, model.chunks),
    "BF.IMPORT": lambda call, key, model: is_ok(
        call("BF.IMPORT", key, "FORMAT", "valkeybloom", "DATA", model.data)),
}  # fmt: skip


def valkeys(**fields):
    """A filter with five items. Of the fields, `k` and those of a layer are set before the items come."""
    model = ValkeyBloom(capacity=fields.pop("capacity", 100))
    layer = model.layers[0]
    layer.k = fields.pop("k", layer.k)
    for name, value in fields.items():
        setattr(layer if name in ("bits",) else model, name, value)
    if layer.k and layer.bits:
        for item in ITEMS[: layer.capacity]:
            model.add(item)
    return model


def with_items(n, capacity=100):
    model = valkeys(capacity=capacity)
    model.layers[0].items = n
    return model


# What, a filter that has it, whether it is taken.
VALKEYS = [
    ("expansion 0", valkeys(expansion=0), True),
    ("expansion 1", valkeys(expansion=1), True),
    ("expansion 32768", valkeys(expansion=32768), True),
    ("expansion 32769", valkeys(expansion=32769), True),
    ("expansion 2^32-1", valkeys(expansion=MOST_EXPANSION), True),
    ("k 0", valkeys(k=0), False),
    ("k 1", valkeys(k=1), True),
    ("k 255", valkeys(k=255), True),
    ("k 256", valkeys(k=256), True),
    ("k 260", valkeys(k=260), True),
    ("k 1100", valkeys(k=MOST_HASHES), True),
    ("k 1101", valkeys(k=MOST_HASHES + 1), False),
    ("k 2^32-1", valkeys(k=0), False),
    ("error rate 0", valkeys(rate=0.0), False),
    ("error rate -0.0", valkeys(rate=-0.0), False),
    ("error rate 5e-324", valkeys(rate=5e-324), True),
    ("error rate under 1", valkeys(rate=1 - 2**-53), True),
    ("error rate 1", valkeys(rate=1.0), False),
    ("error rate nan", valkeys(rate=float("nan")), False),
    ("ratio 0", valkeys(ratio=0.0), False),
    ("ratio 5e-324", valkeys(ratio=5e-324), True),
    ("ratio under 1", valkeys(ratio=1 - 2**-53), True),
    ("ratio 1", valkeys(ratio=1.0), False),
    ("ratio nan", valkeys(ratio=float("nan")), False),
    ("seed flag 0 and its seed", valkeys(flag=0, seed=FIXED_SEED), True),
    ("seed flag 0 and another", valkeys(flag=0), False),
    ("seed flag 2", valkeys(flag=2), False),
    ("no bits", valkeys(bits=bytearray()), False),
    ("capacity 1", valkeys(capacity=1), True),
    ("capacity 5 and five items", with_items(5, capacity=5), True),
    ("items over the capacity", with_items(101), False),
]  # fmt: skip
VALKEYS[[row[0] for row in VALKEYS].index("k 2^32-1")][1].layers[0].k = 2**32 - 1
VALKEY_IDS = [row[0] for row in VALKEYS]


@pytest.mark.parametrize("door", VALKEY_DOORS)
@pytest.mark.parametrize("what, model, is_taken", VALKEYS, ids=VALKEY_IDS)
def test_every_door_takes_the_same_filters_of_valkeybloom(call, door, what, model, is_taken):
    assert VALKEY_DOORS[door](call, "k", model) is is_taken, what
    assert call("EXISTS", "k").plain == int(is_taken)
    if is_taken:
        n = min(len(ITEMS), model.capacity)
        assert look_up_all(call, "k", ITEMS[:n]) == [1] * n


@pytest.mark.parametrize("what, model, is_taken", [row for row in VALKEYS if row[2]], ids=[row[0] for row in VALKEYS if row[2]])
def test_what_a_key_of_valkeyblooms_exports_comes_back_and_can_be_kept(call, what, model, is_taken):
    assert call("RESTORE", "k", 0, payload(model.value)) == OK
    data = call("BF.EXPORT", "k", "FORMAT", "valkeybloom").plain
    assert data == model.data
    assert call("BF.IMPORT", "own", "FORMAT", "valkeybloom", "DATA", data) == OK
    assert_is_kept(call)


def assert_is_kept(call):
    """A filter `own` goes through every door of our own type: DUMP, chunks, a file."""
    digest = call("DEBUG", "DIGEST-VALUE", "own").plain
    assert call("RESTORE", "restored", 0, call("DUMP", "own").plain) == OK
    iterator = 0
    while True:
        iterator, piece = call("BF.SCANDUMP", "own", iterator).plain
        if iterator == 0:
            break
        assert call("BF.LOADCHUNK", "loaded", iterator, piece) == OK
    assert call("DEBUG", "RELOAD") == OK
    for key in ("own", "restored", "loaded"):
        assert call("DEBUG", "DIGEST-VALUE", key).plain == digest
        assert look_up_all(call, key, ITEMS[:1]) == [1]


# ---- RedisBloom's --------------------------------------------------------------------------------

REDIS_DOORS = {
    "RESTORE": lambda call, key, data: is_ok(call("RESTORE", key, 0, redisbloom.payload(data))),
    "BF.LOADCHUNK": lambda call, key, data: by_chunks(call, key, redisbloom.chunks(data)),
    "BF.IMPORT": lambda call, key, data: is_ok(call("BF.IMPORT", key, "FORMAT", "redisbloom", "DATA", data)),
}  # fmt: skip


def rediss(error=0.01, capacity=100, expansion=2):
    model = RedisBloom(error, capacity, expansion)
    for item in ITEMS:
        model.add(item)
    return model.data


def changed(data, at, layout, value):
    return data[:at] + struct.pack(layout, value) + data[at + struct.calcsize(layout) :]


IN_LAYER = REDISBLOOM_FIXED.size
RATE, HASHES, CAPACITY = IN_LAYER + 24, IN_LAYER + 40, IN_LAYER + 44
LEAST = 2.0**-760  # bits per item and k follow from the rate: k is 762

REDISS = [
    ("expansion 0", changed(rediss(), 16, "<I", 0), False),
    ("expansion 1", rediss(expansion=1), True),
    ("expansion 32768", rediss(expansion=32768), True),
    ("expansion 32769", rediss(expansion=32769), True),
    ("expansion 2^32-1", rediss(expansion=MOST_EXPANSION), True),
    ("k 255", rediss(error=2 * 2.0**-254.5), True),
    ("k 256", rediss(error=2 * 2.0**-255.5), True),
    ("k 761", rediss(error=2 * LEAST), True),
    ("k 1073", rediss(error=2.0**-1071), True),
    ("k that does not follow", changed(rediss(), HASHES, "<I", 6), False),
    ("error rate 0", changed(rediss(), RATE, "<d", 0.0), False),
    ("error rate 1", changed(rediss(), RATE, "<d", 1.0), False),
    ("error rate nan", changed(rediss(), RATE, "<d", float("nan")), False),
    ("capacity 0", changed(rediss(), CAPACITY, "<Q", 0), False),
    ("capacity 2^63", changed(rediss(), CAPACITY, "<Q", 2**63), False),
]  # fmt: skip


@pytest.mark.parametrize("door", REDIS_DOORS)
@pytest.mark.parametrize("what, data, is_taken", REDISS, ids=[row[0] for row in REDISS])
def test_every_door_takes_the_same_filters_of_redisbloom(call, door, what, data, is_taken):
    assert REDIS_DOORS[door](call, "k", data) is is_taken, what
    assert call("EXISTS", "k").plain == int(is_taken)
    if is_taken:
        assert look_up_all(call, "k", ITEMS) == [1] * len(ITEMS)


@pytest.mark.parametrize("what, data, is_taken", [row for row in REDISS if row[2]], ids=[row[0] for row in REDISS if row[2]])
def test_what_a_key_of_redisblooms_exports_comes_back_and_can_be_kept(call, what, data, is_taken):
    assert call("RESTORE", "k", 0, redisbloom.payload(data)) == OK
    exported = call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain
    assert exported == data
    assert call("BF.IMPORT", "own", "FORMAT", "redisbloom", "DATA", exported) == OK
    assert call("BF.EXPORT", "own", "FORMAT", "redisbloom").plain == data
    assert_is_kept(call)


# ---- What such a filter may take -----------------------------------------------------------------


def test_a_filter_of_any_expansion_grows_no_further_than_the_limit_of_memory(call):
    """60 items made a layer of 98,856,170,005 bytes out of a payload of 123."""
    model = ValkeyBloom(rate=0.01, capacity=50, expansion=MOST_EXPANSION)
    assert call("BF.LOAD", "k", model.data) == OK
    assert call("BF.IMPORT", "own", "FORMAT", "valkeybloom", "DATA", model.data) == OK
    call("CONFIG", "SET", "bf.max-bytes", "1gb")
    try:
        for key in ("k", "own"):
            answers = [call("BF.ADD", key, b"%d" % i) for i in range(60)]
            assert [a.plain for a in answers[:45]] == [1] * 45
            assert b"bf.max-bytes is 1073741824" in answers[-1].value.encode()
            assert call("BF.INFO", key, "FILTERS").plain == [1]
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


def test_a_client_cannot_ask_for_so_large_an_expansion(call):
    for words in (("BF.RESERVE", "k", "0.01", "100", "EXPANSION"), ("BF.INSERT", "k", "EXPANSION")):
        rest = ("ITEMS", "a") if words[0] == "BF.INSERT" else ()
        assert call(*words, "32769", *rest).is_error
        assert not call(*words, "32768", *rest).is_error
        assert call("DEL", "k") == ONE


def test_a_replica_and_a_file_get_such_filters_too(new_server):
    """The same limits where the command is replayed."""
    config = {**QUIET, "appendonly": "yes", "appendfsync": "always", "aof-use-rdb-preamble": "no"}
    server = new_server(config=config)
    call = server.connection().call
    models = [valkeys(expansion=MOST_EXPANSION), valkeys(k=MOST_HASHES)]
    for i, model in enumerate(models):
        for door, send in VALKEY_DOORS.items():
            assert send(call, "%s %d" % (door, i), model)
    before = sorted((key, call("DEBUG", "DIGEST-VALUE", key).plain) for key in call("KEYS", "*").plain)
    assert len(before) == len(models) * len(VALKEY_DOORS)
    assert call("DEBUG", "LOADAOF") == OK
    assert sorted((key, call("DEBUG", "DIGEST-VALUE", key).plain) for key in call("KEYS", "*").plain) == before
