"""Keyed filters: HASH SIP13 and SEED, their stream and their files; and the words TIGHTENING and
VALIDATESCALETO of BF.INSERT. The bits are compared with keyed_model.py.
"""

import itertools
import random

import pytest

from checks import WRONGTYPE, add_all, arity_error, assert_refused, bits_of, dump, info, layers_of, load
from filters import ITEMS, PROBES, QUIET, Stream, follow, look, same_filter, server_info, until, until_in_sync
from keyed_model import positions
from resp import OK, ONE, ZERO, array, error

SERVER_CONFIG = Stream.CONFIG

SEED = bytes(range(32))
HEX = SEED.hex()
OTHER = bytes(range(100, 132))

BAD_SEED = "ERR invalid seed"
SEED_HASH = "ERR SEED goes with hash SIP13 only"
BLOCKED_HASH = "ERR layout BLOCKED goes with hash XXH64 only"
NO_TIGHTENING = "ERR bad tightening ratio"
TIGHTENING_RANGE = "ERR (0 < tightening ratio range < 1)"
SCALE_LIMIT = "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"
SCALE_NONSCALING = "ERR cannot use NONSCALING and VALIDATESCALETO options together"

# Every kind of filter that takes a seed, by BF.RESERVE's words.
KINDS = {
    "one-layer": ("0.01", "300"),
    "grown": ("0.01", "10", "EXPANSION", "2"),
    "bits-per-key": ("BITSPERKEY", "9.6", "33", "EXPANSION", "4"),
    "nonscaling": ("0.01", "300", "NONSCALING"),
    "tiny": ("0.1", "1", "EXPANSION", "1"),
    "pieces": ("BITSPERKEY", "8", "2500003", "NONSCALING"),
    "counting": ("0.01", "300", "LAYOUT", "COUNTING"),
    "window": ("0.01", "40", "WINDOW", "1000000000", "GENERATIONS", "1"),
}
all_kinds = pytest.mark.parametrize("kind", KINDS)


def reserve(call, key="k", *options, seed=HEX, kind="one-layer"):
    seeded = ("SEED", seed) if seed else ()
    assert call("BF.RESERVE", key, *KINDS[kind], "HASH", "SIP13", *seeded, *options) == OK


def filled(call, key, kind, seed=HEX):
    reserve(call, key, kind=kind, seed=seed)
    call("BF.MADD", key, *ITEMS).plain


def seed_of(call, key):
    """The seed, from the header that BF.SCANDUMP gives (rdb/FORMAT.md, version 2)."""
    (_, head), *_ = dump(call, key)
    assert head[:8] == b"BLOOMPRT" and head[8] == 2 and head[12] == 3
    return head[64:96]


def words_of(commands):
    return [[word.decode("latin-1") for word in command] for command in commands]


# ---- Creating --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [SEED, HEX, HEX.upper(), HEX[:30].upper() + HEX[30:]], ids=["raw", "hex", "upper", "mixed"])
@pytest.mark.parametrize("words", [("HASH", "SIP13"), ("hash", "sip13"), ()], ids=["HASH", "lower", "SEED-alone"])
def test_a_seed_is_32_bytes_or_64_hex_digits_and_means_sip13(call, seed, words):
    assert call("BF.RESERVE", "k", "0.01", 100, *words, "SEED", seed) == OK
    assert call("BF.INSERT", "i", "CAPACITY", 100, "SEED", seed, *words, "ITEMS", "a") == array(ONE)
    assert call("BF.ADD", "k", "a") == ONE
    assert seed_of(call, "k") == seed_of(call, "i") == SEED
    assert bits_of(call, "k") == bits_of(call, "i")
    stats = call("BF.STATS", "k").plain
    assert stats[stats.index("hash") + 1] == b"SIP13"


def test_32_hex_digits_are_taken_as_raw_bytes(call):
    assert call("BF.RESERVE", "k", "0.01", 100, "SEED", HEX[:32]) == OK
    assert seed_of(call, "k") == HEX[:32].encode()


def test_the_all_zero_seed_is_a_seed(call):
    assert call("BF.RESERVE", "k", "0.01", 100, "SEED", bytes(32)) == OK
    call("BF.ADD", "k", "a").plain
    assert seed_of(call, "k") == bytes(32)
    assert call("DEBUG", "RELOAD") == OK
    assert (seed_of(call, "k"), call("BF.EXISTS", "k", "a")) == (bytes(32), ONE)


BAD_SEEDS = ["", "a", SEED[:31], SEED + b"\0", HEX[:63], HEX + "0", "g" + HEX[1:], HEX[:63] + " ", "0x" + HEX[2:], HEX + HEX]


@pytest.mark.parametrize("seed", BAD_SEEDS, ids=lambda seed: "%d-%.2r" % (len(seed), seed[:2]))
def test_any_other_seed_is_refused(call, seed):
    for words in (("HASH", "SIP13"), ()):
        assert_refused(call, BAD_SEED, "BF.RESERVE", "k", "0.01", 100, *words, "SEED", seed)
        assert_refused(call, BAD_SEED, "BF.INSERT", "k", *words, "SEED", seed, "ITEMS", "a")


def test_a_seed_without_a_value_and_a_second_one_are_refused(call):
    assert_refused(call, arity_error("BF.RESERVE"), "BF.RESERVE", "k", "0.01", 100, "SEED")
    for words in (("BF.RESERVE", "k", "0.01", 100), ("BF.INSERT", "k")):
        reply = call(*words, "SEED", SEED, "SEED", SEED, "ITEMS", "a")
        assert reply.is_error and call("EXISTS", "k") == ZERO


@pytest.mark.parametrize("scheme", ["XXH64", "FNV1A", "xxh64"])
def test_a_seed_with_another_hash_is_refused_in_either_order(call, scheme):
    for words in itertools.permutations([("HASH", scheme), ("SEED", SEED)]):
        flat = [word for pair in words for word in pair]
        assert_refused(call, SEED_HASH, "BF.RESERVE", "k", "0.01", 100, *flat)
        assert_refused(call, SEED_HASH, "BF.INSERT", "k", *flat, "ITEMS", "a")


def test_blocked_is_refused_with_sip13_and_with_a_seed(call):
    for words in (("HASH", "SIP13"), ("SEED", SEED), ("HASH", "SIP13", "SEED", HEX)):
        assert_refused(call, BLOCKED_HASH, "BF.RESERVE", "k", "0.01", 100, "LAYOUT", "BLOCKED", *words)
        assert_refused(call, BLOCKED_HASH, "BF.INSERT", "k", *words, "LAYOUT", "BLOCKED", "ITEMS", "a")
        assert_refused(call, BLOCKED_HASH, "BF.RESERVE", "k", "0.01", 100, "LAYOUT", "BLOCKED", "WINDOW", 60, *words)


def test_import_knows_no_keyed_hash(call):
    data = b"\1\0\0\0\10\0\0\0\0\0\0\0\1"
    text = "ERR bad hash: XXH64 or FNV1A"
    assert_refused(call, text, "BF.IMPORT", "k", "FORMAT", "portable", "HASH", "SIP13", "DATA", data)
    assert call("BF.IMPORT", "k", "FORMAT", "portable", "SEED", SEED, "DATA", data).is_error
    assert call("EXISTS", "k") == ZERO


@all_kinds
def test_filters_without_seed_have_different_random_ones(call, kind):
    seeds = set()
    for i in range(20):
        filled(call, "k%d" % i, kind, seed=None)
        seeds.add(seed_of(call, "k%d" % i))
    assert len(seeds) == 20
    ones = sum(bin(byte).count("1") for seed in seeds for byte in seed)
    # 5,120 fair bits: 2,560 expected, sigma 35.8; the bound is 6 sigma
    assert 2560 - 215 < ones < 2560 + 215


# ---- The bits --------------------------------------------------------------------------------------


def model_bits(layers, arrays, seed, items):
    """Whether each item is in one of the layers, bit by bit."""
    found = []
    for item in items:
        places = [positions(seed, item.encode(), layer.bits, layer.hashes) for layer in layers]
        found.append(int(any(all(bits[p >> 3] >> (p & 7) & 1 for p in at) for bits, at in zip(arrays, places))))
    return found


@pytest.mark.parametrize("kind", ["one-layer", "grown", "bits-per-key", "nonscaling", "tiny"])
@pytest.mark.parametrize("seed", [SEED, OTHER], ids=["seed", "other"])
def test_answers_are_those_of_the_definition(call, kind, seed):
    filled(call, "k", kind, seed)
    assert call("BF.MEXISTS", "k", *PROBES).plain == model_bits(layers_of(call, "k"), bits_of(call, "k"), seed, PROBES)


def test_the_bits_of_one_layer_are_those_of_the_definition(call):
    items = [b"", b"a", b"1234567", b"12345678", b"123456789", bytes(range(256)), b"x" * 300, *(b"%d" % i for i in range(200))]
    reserve(call)
    assert call("BF.MADD", "k", *items).plain[:7] == [1] * 7
    (layer,) = layers_of(call, "k")
    expected = bytearray(layer.bytes)
    for p in (p for item in items for p in positions(SEED, item, layer.bits, layer.hashes)):
        expected[p >> 3] |= 1 << (p & 7)
    assert bits_of(call, "k") == [bytes(expected)]


@all_kinds
def test_a_batch_is_what_single_commands_are(call, kind):
    filled(call, "batch", kind)
    reserve(call, "single", kind=kind)
    for item in ITEMS:
        call("BF.ADD", "single", item).plain
    same_filter(look(call, "batch"), look(call, "single"))
    assert [call("BF.EXISTS", "single", item).plain for item in PROBES] == call("BF.MEXISTS", "batch", *PROBES).plain


def test_a_counting_filter_deletes_what_it_was_given(call):
    reserve(call, kind="counting")
    assert call("BF.MADD", "k", "a", "b", "a").plain == [1, 1, 0]
    assert call("BF.COUNT", "k", "a").plain == 2
    assert call("BF.DEL", "k", "a", "b", "c").plain == [1, 1, 0]
    assert call("BF.MEXISTS", "k", "a", "b").plain == [1, 0]
    assert call("BF.DEL", "k", "a").plain == [1]
    reserve(call, "fresh", kind="counting")
    assert call("DEBUG", "DIGEST-VALUE", "k") == call("DEBUG", "DIGEST-VALUE", "fresh")


def test_clear_keeps_the_seed(call):
    filled(call, "k", "grown")
    assert call("BF.CLEAR", "k") == OK
    reserve(call, "fresh", kind="grown")
    same_filter(look(call, "k"), look(call, "fresh"))


# ---- The prefetch hint -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one-layer", "counting", "window", "pieces"])
def test_single_commands_on_filters_of_different_seeds_in_turn_give_each_its_own_answers(call, kind):
    """Two of one size whose memory is used again by the next: what the last command left as a hint has the
    same address, size and hash, and another seed."""
    for i in range(60):
        names, seeds = ("a", "b"), (SEED, bytes([i]) + OTHER[1:])
        for name, seed in zip(names, seeds):
            reserve(call, name, kind=kind, seed=seed)
        items = ["%d-%d" % (i, j) for j in range(6)]
        for item, name in itertools.product(items, names):
            assert call("BF.ADD", name, item) == ONE, (i, name, item)
        for item, name in itertools.product(items, names):
            assert call("BF.EXISTS", name, item) == ONE, (i, name, item)
            assert call("BF.ADD", name, item) == ZERO, (i, name, item)
        copies = 12 if kind == "counting" else 6
        assert [call("BF.CARD", name).plain for name in names] == [copies, copies]
        if kind == "one-layer":
            for name, seed in zip(names, seeds):
                absent = ["absent%d" % j for j in range(20)]
                answers = [call("BF.EXISTS", name, item).plain for item in absent]
                assert answers == model_bits(layers_of(call, name), bits_of(call, name), seed, absent)
        call("DEL", *random.Random(i).sample(names, 2)).plain


@pytest.mark.parametrize("second", [("HASH", "XXH64"), ("HASH", "FNV1A"), ("SEED", OTHER)], ids=lambda words: words[1] if words[0] == "HASH" else "seed")
def test_a_filter_at_the_address_of_a_deleted_one_of_another_hash_has_its_own_bits(call, second):
    """BITSPERKEY gives all of them one size."""
    assert call("BF.RESERVE", "reference", "BITSPERKEY", 10, 1000, "NONSCALING", *second) == OK
    for i in range(100):
        item = "item%d" % i
        first = ("SEED", bytes([i]) * 32)
        assert call("BF.RESERVE", "k", "BITSPERKEY", 10, 1000, "NONSCALING", *first) == OK
        assert (call("BF.ADD", "k", item), call("BF.EXISTS", "k", item)) == (ONE, ONE)
        call("DEL", "k").plain
        assert call("BF.RESERVE", "k", "BITSPERKEY", 10, 1000, "NONSCALING", *second) == OK
        assert (call("BF.EXISTS", "k", item), call("BF.ADD", "k", item), call("BF.EXISTS", "k", item)) == (ZERO, ONE, ONE)
        call("DEL", "reference").plain
        assert call("BF.RESERVE", "reference", "BITSPERKEY", 10, 1000, "NONSCALING", *second) == OK
        call("BF.MADD", "reference", item).plain
        same_filter(look(call, "reference"), look(call, "k"))
        call("DEL", "k").plain


# ---- Who sees the seed -----------------------------------------------------------------------------


def shows(reply, seed):
    """Whether a reply has the seed in it, as bytes or as hex digits in any case."""
    text = repr(reply).lower().encode("latin-1")
    return any(form in text for form in (seed.hex().encode(), repr(seed)[2:-1].lower().encode(), seed[:8].hex().encode()))


@all_kinds
def test_no_command_shows_the_seed_but_those_that_hand_out_the_filter(call, call3, kind):
    filled(call, "k", kind, seed=None)
    seed = seed_of(call, "k")
    assert shows(call("BF.SCANDUMP", "k", 0).value[1].value.hex(), seed) and shows(call("DUMP", "k").value.hex(), seed)
    selectors = ["CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION", "ERROR", "WINDOW", "TIGHTENING", "MAXSCALEDCAPACITY"]
    commands = [("BF.INFO", "k", name) for name in selectors]
    commands += [(name, "k") for name in ("BF.INFO", "BF.STATS", "BF.DEBUG", "BF.CARD", "BF.EXPORT")]
    commands += [("INFO", "everything"), ("INFO", "bf"), ("DEBUG", "OBJECT", "k"), ("DEBUG", "DIGEST-VALUE", "k")]
    commands += [("OBJECT", "ENCODING", "k"), ("MEMORY", "USAGE", "k"), ("BF.MERGE", "k", "k"), ("CONFIG", "GET", "bf*")]
    for words in commands:
        for one in (call, call3):
            assert not shows(one(*words), seed), words


def test_the_servers_log_has_no_seed(call, server):
    filled(call, "k", "grown")
    assert call("DEBUG", "RELOAD") == OK
    assert call("BF.RESERVE", "k", "0.01", 100, "SEED", SEED).is_error
    assert HEX not in server.log.lower()


# ---- The stream ------------------------------------------------------------------------------------


@all_kinds
def test_a_creation_is_propagated_with_the_seed_as_64_hex_digits(call, stream, kind):
    reserve(call, kind=kind, seed=SEED)
    reserve(call, "random", kind=kind, seed=None)
    one, other = words_of(stream.take())
    for words, seed in ((one, SEED), (other, seed_of(call, "random"))):
        at = words.index("HASH")
        assert words[0] == "BF.RESERVE" and words[at : at + 4] == ["HASH", "SIP13", "SEED", seed.hex()]
        assert "LAYOUT" in words and "TIGHTENING" not in words


def test_the_whole_stream_of_an_insert_is_canonical(call, stream):
    assert call("bf.insert", "k", "tightening", ".5", "seed", SEED, "validatescaleto", "1000", "Items", "a", "a", "b") == array(ONE, ZERO, ONE)
    assert call("BF.INSERT", "k", "SEED", OTHER, "TIGHTENING", "0.9", "ITEMS", "a", "c") == array(ZERO, ONE)
    created, added = words_of(stream.take())
    assert " ".join(created) == (
        "BF.INSERT k CAPACITY 100 ERROR 0.01 EXPANSION 2 LAYOUT CLASSIC HASH SIP13 SEED %s ITEMS a b" % HEX
    ).replace("0.01", "%.17g" % 0.01)
    assert added == ["BF.MADD", "k", "c"]


def test_filters_without_a_seed_are_propagated_as_ever(call, stream):
    call("BF.INSERT", "k", "TIGHTENING", "0.5", "VALIDATESCALETO", "1000", "ITEMS", "a").plain
    call("BF.RESERVE", "r", "0.01", 10).plain
    for words in words_of(stream.take()):
        assert not {"SEED", "TIGHTENING", "VALIDATESCALETO", "SIP13"} & set(words), words


# ---- Everywhere the same ---------------------------------------------------------------------------


def make_all(call):
    for kind in KINDS:
        filled(call, "given:" + kind, kind)
        filled(call, "random:" + kind, kind, seed=None)
        call("BF.INSERT", "inserted:" + kind, "HASH", "SIP13", "ITEMS", *ITEMS).plain
    call("BF.DEL", "given:counting", *ITEMS[:40]).plain
    call("BF.MERGE", "merged", "given:grown", "merged").plain
    return {key.decode(): look(call, key) for key in call("KEYS", "*").plain}


def assert_all(looks, call):
    for key, before in looks.items():
        same_filter(before, look(call, key), key)


def test_a_replica_gets_the_same_bits_by_its_stream_and_by_a_full_sync(new_server):
    master, early, late = (new_server(config=QUIET, tcp=True) for _ in range(3))
    follow(early, master)
    looks = make_all(master.call)
    until_in_sync(early, master)
    assert_all(looks, early.call)
    follow(late, master)
    assert_all(looks, late.call)
    assert early.call("REPLICAOF", "NO", "ONE") == OK
    for key in ("given:grown", "random:tiny", "random:window"):  # the seed is there to grow on with
        for call in (master.call, early.call):
            call("BF.MADD", key, *("more%d" % i for i in range(300))).plain
        same_filter(look(master.call, key), look(early.call, key), key)


@pytest.mark.parametrize("preamble", ["no", "yes"])
def test_the_aof_as_it_is_and_rewritten_gives_the_same_bits(new_server, preamble):
    server = new_server(config=Stream.CONFIG)
    looks = make_all(server.call)
    server.restart()
    assert_all(looks, server.call)
    assert server.call("CONFIG", "SET", "aof-use-rdb-preamble", preamble) == OK
    server.call("BGREWRITEAOF").plain
    until(lambda: server_info(server.call, "persistence")["aof_rewrite_in_progress"] == "0", "the rewrite is done")
    server.restart()
    assert_all(looks, server.call)


def test_rdb_dump_copy_and_scandump_give_the_same_bits(call):
    looks = make_all(call)
    assert call("DEBUG", "RELOAD") == OK
    assert_all(looks, call)
    for key in looks:
        assert call("COPY", key, "copy") == ONE
        assert call("RESTORE", "restored", 0, call("DUMP", key).value) == OK
        load(call, "loaded", dump(call, key))
        for name in ("copy", "restored", "loaded"):
            same_filter(looks[key], look(call, name), "%s of %s" % (name, key))
            assert call("DEL", name) == ONE


def test_an_old_stream_without_these_words_is_replayed_as_ever(new_server):
    """An AOF whose commands come in another order, and from 0.1.0."""
    server = new_server(config=Stream.CONFIG)
    server.call("BF.RESERVE", "k", "0.01", 100, "SEED", SEED).plain
    server.call("BF.INSERT", "k", "HASH", "XXH64", "ITEMS", "a").plain
    seen = look(server.call, "k")
    server.restart()
    same_filter(seen, look(server.call, "k"))


# ---- Together --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one-layer", "grown", "counting", "window"])
def test_filters_of_one_seed_are_merged_to_what_adds_give(call, kind):
    reserve(call, "a", kind=kind)
    reserve(call, "b", kind=kind)
    reserve(call, "both", kind=kind)
    call("BF.MADD", "a", *ITEMS[:8]).plain
    call("BF.MADD", "b", *ITEMS[8:10]).plain
    call("BF.MADD", "both", *ITEMS[:10]).plain
    assert call("BF.MERGE", "a", "b") == OK
    assert dump(call, "a")[1:] == dump(call, "both")[1:]
    assert call("BF.MEXISTS", "a", *PROBES) == call("BF.MEXISTS", "both", *PROBES)
    assert seed_of(call, "a") == SEED
    assert call("BF.MERGE", "new", "a", "b") == OK
    assert seed_of(call, "new") == SEED and call("BF.MEXISTS", "new", *ITEMS[:10]).plain == [1] * 10
    call("BF.MADD", "new", *ITEMS[:100]).plain
    assert call("BF.MEXISTS", "new", *ITEMS[:100]).plain == [1] * 100


def test_filters_of_another_seed_or_hash_are_refused(call):
    for name, seed in (("a", SEED), ("b", SEED), ("c", OTHER)):
        filled(call, name, "one-layer", seed)
    assert call("BF.RESERVE", "x", *KINDS["one-layer"]) == OK
    refused = "ERR cannot %s source %d: its seed is another one"
    assert_refused(call, refused % ("merge", 1), "BF.MERGE", "a", "c")
    assert_refused(call, refused % ("merge", 2), "BF.MERGE", "a", "b", "c")
    assert_refused(call, refused % ("merge", 2), "BF.MERGE", "new", "a", "c")
    assert_refused(call, refused % ("intersect", 2), "BF.INTERSTORE", "new", "a", "c")
    assert_refused(call, "ERR cannot merge source 1: its hash is XXH64 and not SIP13", "BF.MERGE", "a", "x")
    assert_refused(call, "ERR cannot merge source 1: its hash is SIP13 and not XXH64", "BF.MERGE", "x", "a")


@pytest.mark.parametrize("kind", ["one-layer", "nonscaling", "counting"])
def test_interstore_of_one_seed_keeps_it_and_the_common_items(call, kind):
    for name, items in (("a", ITEMS[:20]), ("b", ITEMS[10:30])):
        reserve(call, name, kind=kind)
        call("BF.MADD", name, *items).plain
    assert call("BF.INTERSTORE", "both", "a", "b") == OK
    assert seed_of(call, "both") == SEED
    assert call("BF.MEXISTS", "both", *ITEMS[10:20]).plain == [1] * 10
    if kind != "counting":
        ands = [bytes(x & y for x, y in zip(*pair)) for pair in zip(bits_of(call, "a"), bits_of(call, "b"))]
        assert bits_of(call, "both") == ands


# ---- Formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["portable", "sstable", "leveldb", "parquet", "redisbloom"])
def test_formats_without_a_seed_are_refused_with_advice(call, form):
    """valkey-bloom's layers have whole bytes; where ours have not, only our own format can have them."""
    assert call("BF.RESERVE", "bytes", "BITSPERKEY", "8", "100", "SEED", SEED) == OK
    assert_refused(call, "ERR cannot export: hash is SIP13, use valkeybloom", "BF.EXPORT", "bytes", "FORMAT", form)
    assert call("BF.RESERVE", "bits", "BITSPERKEY", "9", "101", "SEED", SEED) == OK
    reply = call("BF.EXPORT", "bits", "FORMAT", form)
    assert reply == call("BF.EXPORT", "bits", "FORMAT", "valkeybloom")
    assert reply == error("ERR cannot export: a layer is not as valkey-bloom sizes it, use BF.SCANDUMP")


def test_the_export_without_a_format_is_refused_too(call):
    assert call("BF.RESERVE", "k", "BITSPERKEY", "8", "100", "SEED", SEED) == OK
    assert_refused(call, "ERR cannot export: hash is SIP13, use valkeybloom", "BF.EXPORT", "k")


# ---- TIGHTENING and VALIDATESCALETO ------------------------------------------------------------------


@pytest.mark.parametrize("value, text", [
    ("x", NO_TIGHTENING), ("", NO_TIGHTENING), ("0.5x", NO_TIGHTENING),
    ("0", TIGHTENING_RANGE), ("1", TIGHTENING_RANGE), ("-0.5", TIGHTENING_RANGE), ("2", TIGHTENING_RANGE), ("inf", TIGHTENING_RANGE),
])  # fmt: skip
def test_a_bad_tightening_ratio_is_refused_on_a_new_and_on_an_existing_key(call, value, text):
    assert_refused(call, text, "BF.INSERT", "k", "TIGHTENING", value, "ITEMS", "a")
    call("BF.ADD", "k", "a").plain
    assert_refused(call, text, "BF.INSERT", "k", "TIGHTENING", value, "ITEMS", "b")


def test_a_nan_is_no_tightening_ratio(call):
    assert call("BF.INSERT", "k", "TIGHTENING", "nan", "ITEMS", "a").value in (NO_TIGHTENING, TIGHTENING_RANGE)
    assert call("EXISTS", "k") == ZERO


@pytest.mark.parametrize("ratio", ["0.1", "0.5", "0.999", "1e-9"])
def test_a_tightening_ratio_changes_nothing(call, ratio):
    assert call("BF.INSERT", "plain", "CAPACITY", 10, "ITEMS", *ITEMS).plain == call(
        "BF.INSERT", "k", "CAPACITY", 10, "TIGHTENING", ratio, "ITEMS", *ITEMS).plain  # fmt: skip
    same_filter(look(call, "plain"), look(call, "k"))
    assert call("TYPE", "k").plain == "bloomport"


def test_tightening_and_validatescaleto_are_words_of_insert_only(call):
    for word, value in (("TIGHTENING", "0.5"), ("VALIDATESCALETO", "1000")):
        reply = call("BF.RESERVE", "k", "0.01", 100, word, value)
        assert reply.is_error and call("EXISTS", "k") == ZERO
        assert_refused(call, arity_error("BF.INSERT"), "BF.INSERT", "k", "CAPACITY", "10", word)


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "9223372036854775808"])
def test_a_validatescaleto_that_is_no_capacity_is_refused(call, value):
    assert_refused(call, "ERR bad capacity", "BF.INSERT", "k", "VALIDATESCALETO", value, "ITEMS", "a")


@pytest.mark.parametrize("words", [("NONSCALING",), ("EXPANSION", "0"), ("LAYOUT", "COUNTING")], ids=" ".join)
def test_validatescaleto_is_refused_where_nothing_grows(call, words):
    assert_refused(call, SCALE_NONSCALING, "BF.INSERT", "k", *words, "VALIDATESCALETO", "1000", "ITEMS", "a")
    assert_refused(call, SCALE_NONSCALING, "BF.INSERT", "k", "VALIDATESCALETO", "1000", *words, "ITEMS", "a")


@pytest.fixture
def limited(call):
    yield lambda limit: call("CONFIG", "SET", "bf.max-bytes", limit).plain
    call("CONFIG", "SET", "bf.max-bytes", 0).plain


SIZES = [(), ("HASH", "SIP13"), ("LAYOUT", "BLOCKED"), ("BITSPERKEY", "8"), ("EXPANSION", "4"), ("EXPANSION", "1", "CAPACITY", "1000")]


@pytest.mark.parametrize("options", SIZES, ids=lambda words: " ".join(words) or "default")
def test_validatescaleto_tells_exactly_whether_the_filter_fits(call, limited, options):
    """A filter that was really filled to n is the oracle: with as many bytes as it takes n is accepted, with
    one byte less it is not."""
    n = 5000
    call("BF.INSERT", "grown", *options, "ITEMS", "0").plain
    i = 0
    while call("BF.CARD", "grown").plain < n:
        batch = n - call("BF.CARD", "grown").plain
        add_all(call, "grown", ["grow%d" % j for j in range(i, i + batch)])
        i += batch
    size = info(call, "grown")["Size"]
    limited(size - 1)
    assert_refused(call, SCALE_LIMIT, "BF.INSERT", "k", *options, "VALIDATESCALETO", n, "ITEMS", "a")
    limited(size)
    assert call("BF.INSERT", "k", *options, "VALIDATESCALETO", n, "ITEMS", "a") == array(ONE)
    call("BF.INSERT", "plain", *options[:2], *options[2:], "ITEMS", "a").plain
    if "SIP13" not in options:  # it has a seed of its own
        same_filter(look(call, "plain"), look(call, "k"))


@pytest.mark.parametrize("generations", [1, 4])
def test_validatescaleto_of_a_window_counts_all_of_its_generations_grown_to_their_share(call, limited, generations):
    """One generation that was really filled to its share is the oracle. The size of a layer's structure is that by
    which the second one made the window larger, less its bits."""
    options, n = ("CAPACITY", 1000, "WINDOW", 1_000_000_000, "GENERATIONS", generations), 3000
    call("BF.INSERT", "grown", *options, "ITEMS", "first").plain
    sizes, i = {}, 0
    while call("BF.CARD", "grown").plain < n // generations:
        sizes.setdefault(len(layers_of(call, "grown")), info(call, "grown")["Size"])
        call("BF.ADD", "grown", "grow%d" % i).plain
        i += 1
    layers, size = layers_of(call, "grown"), info(call, "grown")["Size"]
    assert len(layers) == 2  # its share and as much again twice over
    structure = size - sizes[1] - layers[1].bytes
    base = sizes[1] - structure - layers[0].bytes
    needed = base + (generations + 1) * (size - base)
    limited(needed - 1)
    assert_refused(call, SCALE_LIMIT, "BF.INSERT", "k", *options, "VALIDATESCALETO", n, "ITEMS", "a")
    limited(needed)
    assert call("BF.INSERT", "k", *options, "VALIDATESCALETO", n, "ITEMS", "a") == array(ONE)


def test_a_scale_far_beyond_all_memory_is_refused_at_once_and_nothing_is_stored(call, limited):
    limited(10**6)
    for n in (10**9, 2**63 - 1):
        assert_refused(call, SCALE_LIMIT, "BF.INSERT", "k", "VALIDATESCALETO", n, "ITEMS", "a")


def test_validatescaleto_within_the_capacity_is_the_filter_itself(call, limited):
    call("BF.INSERT", "plain", "CAPACITY", 1000, "ITEMS", "a").plain
    limited(info(call, "plain")["Size"])
    for n in (1, 999, 1000):
        assert call("BF.INSERT", "k", "CAPACITY", 1000, "VALIDATESCALETO", n, "ITEMS", "a") == array(ONE)
        same_filter(look(call, "plain"), look(call, "k"))
        call("DEL", "k").plain
    assert_refused(call, SCALE_LIMIT, "BF.INSERT", "k", "CAPACITY", 1000, "VALIDATESCALETO", 1001, "ITEMS", "a")


def test_insert_without_items_is_an_arity_error_for_clients(call):
    for words in (("CAPACITY", "10"), ("SEED", SEED), ("TIGHTENING", "0.5", "SEED", SEED), ("TIGHTENING", "0.5", "ITEMS")):
        assert_refused(call, arity_error("BF.INSERT"), "BF.INSERT", "k", *words)
        assert_refused(call, arity_error("BF.INSERT"), "BF.INSERT", "k", *words[:2])


def test_the_words_are_checked_before_the_type_of_the_key(call):
    call("SET", "k", "text").plain
    assert call("BF.INSERT", "k", "SEED", "x", "ITEMS", "a") == error(BAD_SEED)
    assert call("BF.INSERT", "k", "SEED", SEED, "ITEMS", "a") == error(WRONGTYPE)
