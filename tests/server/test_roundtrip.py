"""What is exported can be imported: every format, and every state that commands can bring a filter into."""

import pytest

from checks import dump, look_up_all
from foreign_formats import SAMPLES, import_foreign
from formats_model import LevelDb, Parquet, Plain, RedisBloom
from redisbloom import FIXTURES as REDISBLOOMS
from redisbloom import chunks
from redisbloom import payload as redisbloom_payload
from resp import OK
from valkeybloom import ValkeyBloom
from valkeybloom import payload as valkeybloom_payload

FORMATS = [
    "portable", "sstable", "leveldb", "parquet", "redisbloom", "valkeybloom", "guava", "spark", "go",
    *(("cassandra", "VARIANT", variant) for variant in ("old", "3.x", "4.x")), "bip37", "rocksdb", "datasketches",
]  # fmt: skip
ITEMS = [b"item:%d" % i for i in range(300)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(300)]


# ---- Filters of every home -----------------------------------------------------------------------


def reserve(*words):
    return lambda call, key: call("BF.RESERVE", key, *words)


def imported(form, data, *words):
    return lambda call, key: call("BF.IMPORT", key, "FORMAT", form, *words, "DATA", data)


def restored(data):
    return lambda call, key: call("RESTORE", key, 0, data)


def of_library(model):
    return lambda call, key: import_foreign(call, key, model, "CAPACITY", "50")


def redisbloom(capacity, is_scaling):
    return RedisBloom(0.01, capacity, 2, is_scaling).data


def valkeybloom(capacity, expansion):
    return valkeybloom_payload(ValkeyBloom(0.01, capacity, expansion).value)


MADE = {
    "classic": reserve("0.01", 50, "NONSCALING"),
    "scaling": reserve("0.01", 50),
    "fnv1a": reserve("0.01", 50, "HASH", "FNV1A", "NONSCALING"),
    "blocked": reserve("0.01", 50, "LAYOUT", "BLOCKED", "NONSCALING"),
    "counting": reserve("0.01", 50, "LAYOUT", "COUNTING"),
    "window": reserve("0.01", 50, "WINDOW", 10**9),
    "keyed": reserve("0.01", 50, "HASH", "SIP13"),
    "portable of 1 hash": imported("portable", Plain(601, 1).portable),
    "portable of 255 hashes": imported("portable", Plain(6001, 255).portable, "EXPANSION", 2),
    "sstable": imported("sstable", Plain(601, 6).sstable(10)),
    "sstable of 300 bits a key": imported("sstable", Plain(6000, 6).sstable(300)),
    "leveldb": imported("leveldb", LevelDb(75, 6).data, "CAPACITY", 50),
    "leveldb of 30 hashes": imported("leveldb", LevelDb(75, 30).data, "EXPANSION", 2),
    "parquet": imported("parquet", Parquet(96).data),
    "redisbloom": imported("redisbloom", redisbloom(50, True)),
    "redisbloom, non-scaling": imported("redisbloom", redisbloom(50, False)),
    "redisbloom's own": restored(redisbloom_payload(redisbloom(50, True))),
    "redisbloom's own, non-scaling": restored(redisbloom_payload(redisbloom(50, False))),
    "redisbloom's own, grown": restored(REDISBLOOMS["grown"].payload),
    "valkeybloom": imported("valkeybloom", ValkeyBloom(0.01, 50).data),
    "valkeybloom, non-scaling": imported("valkeybloom", ValkeyBloom(0.01, 50, 0).data),
    "valkeybloom's own": restored(valkeybloom(50, 2)),
    "valkeybloom's own, non-scaling": restored(valkeybloom(50, 0)),
    **{name: of_library(model) for name, model in SAMPLES.items()},
}


# ---- The states, each from a fresh filter `k` and another, `other` -------------------------------


def filled(call, count, key="k", first=0):
    call("BF.MADD", key, *ITEMS[first : first + count])


def empty(call):
    pass


def with_items(call):
    filled(call, 20)


def with_more_than_fit(call):
    filled(call, 200)


def merged(call):
    filled(call, 30)
    filled(call, 30, "other", 20)
    call("BF.MERGE", "k", "other")


def merged_beyond_the_capacity(call):
    for turn in range(6):
        call("BF.CLEAR", "other")
        filled(call, 50, "other", 50 * turn)
        call("BF.MERGE", "k", "other")


def merged_and_filled(call):
    merged_beyond_the_capacity(call)
    filled(call, 300)


def merged_into_a_longer_one(call):
    filled(call, 200)
    filled(call, 300, "other")
    call("BF.MERGE", "k", "other")


def intersected(call):
    filled(call, 45)
    filled(call, 45, "other", 10)
    call("BF.INTERSTORE", "k", "k", "other")


def cleared(call):
    merged_beyond_the_capacity(call)
    call("BF.CLEAR", "k")


def cleared_and_filled(call):
    cleared(call)
    filled(call, 20)


STATES = [empty, with_items, with_more_than_fit, merged, merged_beyond_the_capacity, merged_and_filled, merged_into_a_longer_one,
          intersected, cleared, cleared_and_filled]  # fmt: skip


def words_of(form):
    return ["FORMAT", *([form] if isinstance(form, str) else form)]


def bare(fields):
    """What BF.IMPORT needs besides the bytes."""
    scheme = fields[fields.index("hash") + 1].decode()
    return ["HASH", scheme] if scheme == "FNV1A" else []


def assert_comes_back(call, key, form):
    """If it is exported, the import answers as it did, and can be saved. Whether it was exported."""
    data = call("BF.EXPORT", key, *words_of(form))
    if data.is_error:
        assert data.value.startswith("ERR cannot export: "), data
        return False
    hash_words = bare(call("BF.STATS", key).plain) if form in ("portable", "sstable") else []
    assert call("BF.IMPORT", "back", *words_of(form), *hash_words, "REPLACE", "DATA", data.value) == OK, form
    assert look_up_all(call, "back", PROBES) == look_up_all(call, key, PROBES)
    assert call("DEBUG", "RELOAD") == OK, "what was imported can be loaded"
    again = call("BF.EXPORT", "back", *words_of(form))
    has_other_counts = form == "valkeybloom" and again.is_error  # valkey-bloom has no more items than capacity
    assert has_other_counts or len(again.value) == len(data.value)
    call("BF.MADD", "back", *ITEMS[:100])
    assert call("DEBUG", "RELOAD") == OK
    return True


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("name", MADE)
def test_what_is_exported_can_be_imported(call, name, state):
    for key in ("k", "other"):
        assert MADE[name](call, key) == OK
    state(call)
    exported = [form for form in FORMATS if assert_comes_back(call, "k", form)]
    is_single = len(dump(call, "k")) <= 2
    assert exported or not is_single or call("BF.INFO", "k", "HASH").plain == [b"SIP13"]


def test_redisblooms_header_without_its_bits_comes_back(call):
    """Its filters are complete once the header is there; the count is that of items whose bits never came."""
    model = RedisBloom(0.01, 50)
    for item in ITEMS[:30]:
        model.add(item)
    assert call("BF.LOADCHUNK", "k", *chunks(model.data)[0]) == OK
    assert call("BF.CARD", "k").plain == 30
    assert assert_comes_back(call, "k", "redisbloom")
    data = call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain
    assert call("BF.IMPORT", "native", "FORMAT", "redisbloom", "DATA", data) == OK
    assert call("BF.CARD", "native").plain == 0, "the estimate of bits that are all zero"


def test_the_states_are_what_their_names_say(call):
    """So that the table above does not test one state ten times."""
    seen = []
    for state in STATES:
        call("FLUSHALL")
        for key in ("k", "other"):
            assert MADE["redisbloom, non-scaling"](call, key) == OK
        state(call)
        flat = call("BF.STATS", "k").plain
        fields = dict(zip(flat[::2], flat[1::2]))
        seen.append((fields["items"], fields["items are estimated"], fields["state"]))
    estimated = [bool(one[1]) for one in seen]
    assert estimated == [False, False, False, True, True, True, False, True, False, False]  # no longer one where none grows
    assert seen[4][0] > 4 * 50 and seen[4][2] == b"overfilled"
    assert [one[0] for one in seen][:3] == [0, 20, 50] and [one[0] for one in seen][-2:] == [0, 20]


