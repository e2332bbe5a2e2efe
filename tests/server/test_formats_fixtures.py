"""The filters of other libraries in the module: every answer and every byte of what the libraries made
(tests/golden/formats), then an imported filter's life. The oracle is foreign_formats.py.

Wrong payloads are in test_formats_refused.py.
"""

import random

import pytest

from checks import FULL, add_all, assert_refused, bits_of, filter_state, info, keyspace, layers_of, look_up_all
from filters import QUIET, Stream, follow, look, same_filter, until_in_sync, until_rewritten
from foreign_fixtures import IMPORTABLE
from foreign_formats import SAMPLES, Bip37, Cassandra, Datasketches, Go, Guava, Rocksdb, Spark, export_foreign, import_foreign
from resp import OK, bulk, error, integer

ALL = pytest.mark.parametrize("fixture", IMPORTABLE.values(), ids=IMPORTABLE)
EACH = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
GROWING = {name: one for name, one in SAMPLES.items() if one.grows}
ROOM = ("CAPACITY", "100000")  # a capacity of m ln 2 / k would be full

ITEMS = [b"item:%d" % i for i in range(40)]
PROBES = ITEMS + [b"absent:%d" % i for i in range(960)]


def filled(sample, items=ITEMS):
    return sample.empty().add_all(items)


def items_of_every_length():
    """Every way through the hash functions, with bytes over 127 at every place of the tail."""
    source = random.Random(19)
    lengths = [*range(300), *range(1020, 1032), *range(1084, 1092), 2047, 2048, 2049, 5000]
    return [source.randbytes(length) for length in lengths]


def hash_of(call, key):
    (shown,) = call("BF.INFO", key, "HASH").plain
    stats = call("BF.STATS", key).plain
    assert dict(zip(stats[::2], stats[1::2]))["hash"] == shown
    return shown.decode()


# ---- What the libraries made ---------------------------------------------------------------------


@ALL
def test_every_answer_is_the_librarys_false_positives_included(call, fixture):
    assert import_foreign(call, "k", fixture.model) == OK
    assert look_up_all(call, "k", fixture.probes) == fixture.answers
    assert [call("BF.EXISTS", "k", item).plain for item in fixture.probes[-50:]] == fixture.answers[-50:]


@ALL
def test_what_the_library_wrote_is_exported_byte_for_byte(call, fixture):
    assert call("BF.IMPORT", "k", "FORMAT", fixture.model.name, *fixture.model.words, "DATA", fixture.data) == OK
    assert export_foreign(call, "k", fixture.model) == bulk(fixture.data)


@ALL
def test_built_from_the_items_it_is_the_librarys_file_byte_for_byte(call, fixture):
    assert import_foreign(call, "k", fixture.model.empty(), *ROOM) == OK
    model = fixture.model.empty()
    assert add_all(call, "k", fixture.added) == [model.add(item) for item in fixture.added]
    assert export_foreign(call, "k", fixture.model) == bulk(fixture.data)


@ALL
def test_every_vector_is_the_librarys_bytes(call, fixture):
    for vector in fixture.vectors:
        model = fixture.decode(vector.data)
        assert import_foreign(call, "k", model.empty(), "REPLACE", *ROOM) == OK
        assert call("BF.ADD", "k", vector.item) == integer(1)
        assert call("BF.ADD", "k", vector.item) == integer(0)
        assert export_foreign(call, "k", model) == bulk(vector.data)
        assert bits_of(call, "k") == [bytes(model.bits)]


@ALL
def test_adds_after_the_import_are_the_librarys_own(call, fixture):
    model = fixture.model
    assert import_foreign(call, "k", model, *ROOM) == OK
    more = [b"more:%d" % i for i in range(100)] + [b""]
    for item in more:
        assert call("BF.ADD", "k", item) == integer(model.add(item))
    assert look_up_all(call, "k", fixture.probes) == [model.contains(item) for item in fixture.probes]
    assert export_foreign(call, "k", model) == bulk(model.data)


@ALL
def test_the_scheme_is_shown_by_its_name(call, fixture):
    assert import_foreign(call, "k", fixture.model) == OK
    assert hash_of(call, "k") == fixture.model.scheme
    assert call("BF.INFO", "k", "LAYOUT").plain == [b"CLASSIC"]


@ALL
def test_two_halves_merge_to_the_librarys_file(call, fixture):
    half = len(fixture.added) // 2
    for key, items in (("a", fixture.added[:half]), ("b", fixture.added[half:])):
        assert import_foreign(call, key, fixture.model.empty().add_all(items)) == OK
    assert call("BF.MERGE", "a", "b") == OK
    assert export_foreign(call, "a", fixture.model) == bulk(fixture.data)


# ---- One of each scheme --------------------------------------------------------------------------


@EACH
def test_an_empty_filter_comes_and_goes_as_it_is(call, sample):
    assert import_foreign(call, "k", sample) == OK
    assert call("BF.CARD", "k") == integer(0)
    assert look_up_all(call, "k", PROBES) == [0] * len(PROBES)
    assert export_foreign(call, "k", sample) == bulk(sample.data)


@EACH
def test_the_empty_item_answers_as_in_the_library(call, sample):
    model = filled(sample, [b""])
    assert import_foreign(call, "k", sample, *ROOM) == OK
    assert call("BF.EXISTS", "k", b"") == integer(0)
    assert call("BF.ADD", "k", b"") == integer(1)
    assert call("BF.EXISTS", "k", b"") == integer(1)
    assert bits_of(call, "k") == [bytes(model.bits)]
    if model.scheme in ("GUAVA32", "GUAVA64", "SPARK1", "CASSANDRA2", "CASSANDRA3"):
        assert model.set_positions() == [0]


def built_anew(sample, m, k):
    """An empty one. DataSketches does not count the bits that are added to an empty filter."""
    parameters = {name: value for name, value in sample.parameters.items() if name != "is_counted"}
    return type(sample)(m, k, **parameters)


@EACH
def test_items_of_every_length_and_byte_are_hashed_as_the_library_does(call, sample):
    sample = built_anew(sample, sample.m * 64, sample.k)
    model, items = sample.empty(), items_of_every_length()
    assert import_foreign(call, "k", sample, *ROOM) == OK
    assert add_all(call, "k", items) == [model.add(item) for item in items]
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert export_foreign(call, "k", model) == bulk(model.data)


@EACH
@pytest.mark.parametrize("k", [1, 2, 3, 8, 9, 16, 17, 30, 50, 64, 255])
def test_every_number_of_hashes_is_the_librarys(call, sample, k):
    most = {"bip37": 50, "rocksdb": 30}.get(sample.name, 255)
    model = built_anew(sample, sample.m, min(k, most))
    assert import_foreign(call, "k", model, *ROOM) == OK
    for item in ITEMS[:6]:
        assert call("BF.ADD", "k", item) == integer(model.add(item))
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert export_foreign(call, "k", model) == bulk(model.data)


@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000])
def test_go_takes_any_number_of_bits(call, m):
    model = filled(Go(m, 3), ITEMS[:3])
    assert import_foreign(call, "k", model) == OK
    assert look_up_all(call, "k", PROBES) == [model.contains(item) for item in PROBES]
    assert export_foreign(call, "k", model) == bulk(model.data)


@pytest.mark.parametrize("nbytes", [1, 2, 0xFC, 0xFD, 0xFE, 0x100, 36000])
def test_bip37_of_every_length_of_its_length(call, nbytes):
    model = filled(Bip37(8 * nbytes, 5, tweak=1), ITEMS[:3])
    assert import_foreign(call, "k", model) == OK
    assert export_foreign(call, "k", model) == bulk(model.data)


@EACH
def test_insert_and_single_adds_give_what_a_batch_gives(call, sample):
    for key in ("one", "batch", "insert"):
        assert import_foreign(call, key, sample, *ROOM) == OK
    for item in ITEMS:
        call("BF.ADD", "one", item).plain
    call("BF.MADD", "batch", *ITEMS).plain
    call("BF.INSERT", "insert", "NOCREATE", "ITEMS", *ITEMS).plain
    assert filter_state(call, "one") == filter_state(call, "batch") == filter_state(call, "insert")


@EACH
def test_a_full_one_refuses_and_keeps_its_bits(call, sample):
    model = filled(sample, ITEMS[:5])
    assert import_foreign(call, "k", model, "CAPACITY", "3") == OK
    assert info(call, "k")["Expansion rate"] is None
    assert info(call, "k")["Capacity"] == 3
    new = next(item for item in PROBES if not model.contains(item))
    replies = call("BF.MADD", "k", ITEMS[0], new).value
    assert replies[0] == integer(0) and replies[1] == error(FULL)
    assert export_foreign(call, "k", model) == bulk(model.data)


@EACH
def test_cleared_it_is_the_empty_filter(call, sample):
    assert import_foreign(call, "k", filled(sample), *ROOM) == OK
    assert call("BF.CLEAR", "k") == OK
    assert export_foreign(call, "k", sample) == bulk(sample.data)
    call("BF.MADD", "k", *ITEMS).plain
    assert export_foreign(call, "k", sample) == bulk(filled(sample).data)


# ---- Merging -------------------------------------------------------------------------------------


@EACH
def test_merge_is_the_oracles_union_and_interstore_its_intersection(call, sample):
    one, other = filled(sample, ITEMS[:25]), filled(sample, ITEMS[15:])
    common = bytes(a & b for a, b in zip(one.bits, other.bits))
    assert import_foreign(call, "a", one) == OK
    assert import_foreign(call, "b", other) == OK
    assert call("BF.INTERSTORE", "both", "a", "b") == OK
    assert call("BF.MERGE", "new", "a", "b") == OK
    assert call("BF.MERGE", "a", "b") == OK
    union = one.empty().unite(one).unite(other)
    for key in ("a", "new"):
        assert export_foreign(call, key, union) == bulk(union.data)
        assert hash_of(call, key) == sample.scheme
    assert export_foreign(call, "both", sample) == bulk(sample.of(common, sample.m, sample.k, **sample.parameters).data)


DIFFERENT = {
    "m": (Guava(640, 5), Guava(704, 5)),
    "k": (Guava(640, 5), Guava(640, 4)),
    "strategy": (Guava(640, 5), Guava(640, 5, strategy=0)),
    "version": (Spark(640, 5, version=1), Spark(640, 5, version=2)),
    "seed of spark": (Spark(640, 5, seed=1), Spark(640, 5, seed=2)),
    "variant": (Cassandra(640, 4, variant="old"), Cassandra(640, 4, variant="3.x")),
    "tweak": (Bip37(640, 5, tweak=1), Bip37(640, 5, tweak=2)),
    "seed of datasketches": (Datasketches(640, 5, seed=1), Datasketches(640, 5, seed=2)),
    "library": (Guava(640, 5), Datasketches(640, 5)),
    "murmur of go and guava": (Go(640, 5), Guava(640, 5)),
    "rocksdb": (Rocksdb(1024, 5), SAMPLES["rocksdb-legacy"].of(bytes(128), 1024, 5)),
}


@pytest.mark.parametrize("command", ["BF.MERGE", "BF.INTERSTORE"])
@pytest.mark.parametrize("what", DIFFERENT)
def test_different_ones_are_not_merged(call, what, command):
    for key, model in zip("ab", DIFFERENT[what]):
        assert import_foreign(call, key, filled(model)) == OK
    for words in (("a", "a", "b"), ("new", "a", "b")):
        before = keyspace(call, words[0])
        reply = call(command, *words)
        assert reply.is_error and reply.value.startswith("ERR cannot "), reply
        assert keyspace(call, words[0]) == before


@EACH
def test_a_filter_of_our_own_scheme_is_not_merged_with_it(call, sample):
    assert import_foreign(call, "a", filled(sample)) == OK
    assert call("BF.RESERVE", "b", "0.01", "100") == OK
    for words in (("a", "b"), ("b", "a")):
        before = keyspace(call, words[0])
        assert call("BF.MERGE", *words).is_error
        assert keyspace(call, words[0]) == before


def test_the_two_variants_of_one_hash_order_merge(call):
    one, other = filled(SAMPLES["cassandra-3.x"], ITEMS[:20]), filled(SAMPLES["cassandra-4.x"], ITEMS[20:])
    assert import_foreign(call, "a", one) == OK
    assert import_foreign(call, "b", other) == OK
    assert call("BF.MERGE", "a", "b") == OK
    for sample in (one, other):
        assert export_foreign(call, "a", sample) == bulk(filled(sample).data)


NO_MATTER = {
    "flags": (Bip37(640, 5, tweak=1, flags=0), Bip37(640, 5, tweak=1, flags=2)),
    "count": (Datasketches(640, 5, seed=1, is_counted=True), Datasketches(640, 5, seed=1)),
}


@pytest.mark.parametrize("what", NO_MATTER)
def test_what_is_no_part_of_the_hash_does_not_hinder_a_merge_and_dest_keeps_its_own(call, what):
    for dest, source in (NO_MATTER[what], NO_MATTER[what][::-1]):
        assert import_foreign(call, "dest", filled(dest, ITEMS[:20]), "REPLACE") == OK
        assert import_foreign(call, "source", filled(source, ITEMS[20:]), "REPLACE") == OK
        assert call("BF.MERGE", "dest", "source") == OK
        assert export_foreign(call, "dest", dest) == bulk(filled(dest).data)
        assert export_foreign(call, "source", source) == bulk(filled(source, ITEMS[20:]).data)


# ---- Words ---------------------------------------------------------------------------------------

DATA = filled(SAMPLES["cassandra-4.x"]).data
NEEDS = "ERR FORMAT cassandra needs VARIANT old, 3.x or 4.x"
BAD_VARIANT = "ERR bad VARIANT: it is one of old, 3.x, 4.x"
CASSANDRA_ONLY = "ERR VARIANT goes with FORMAT cassandra only"


def test_cassandra_needs_its_variant(call):
    assert_refused(call, NEEDS, "BF.IMPORT", "k", "FORMAT", "cassandra", "DATA", DATA)
    for word in ("5.x", "", "4", "OLDER"):
        assert_refused(call, BAD_VARIANT, "BF.IMPORT", "k", "FORMAT", "cassandra", "VARIANT", word, "DATA", DATA)


def test_variant_is_a_word_of_any_case_in_any_place_after_format(call):
    words = [("format", "Cassandra", "variant", "OLD"), ("FORMAT", "CASSANDRA", "CAPACITY", "5", "Variant", "Old")]
    for one in words:
        assert call("BF.IMPORT", "k", *one, "REPLACE", "DATA", DATA) == OK
        assert hash_of(call, "k") == "CASSANDRA2"


def test_a_repeated_variant_is_refused(call):
    assert call("BF.IMPORT", "k", "FORMAT", "cassandra", "VARIANT", "old", "VARIANT", "old", "DATA", DATA).is_error
    assert call("BF.EXISTS", "k", "a") == integer(0) and call("DBSIZE") == integer(0)


@pytest.mark.parametrize("name", ["guava", "portable", "rocksdb"])
def test_variant_with_another_format_is_refused(call, name):
    assert_refused(call, CASSANDRA_ONLY, "BF.IMPORT", "k", "FORMAT", name, "VARIANT", "old", "DATA", DATA)
    assert import_foreign(call, "g", filled(SAMPLES["guava64"])) == OK
    assert_refused(call, CASSANDRA_ONLY, "BF.EXPORT", "g", "FORMAT", name, "VARIANT", "old")


def test_export_has_a_default_variant_for_each_hash_order(call):
    for variant, default in (("old", "old"), ("3.x", "4.x"), ("4.x", "4.x")):
        assert import_foreign(call, "k", filled(SAMPLES["cassandra-" + variant]), "REPLACE") == OK
        assert call("BF.EXPORT", "k", "FORMAT", "cassandra") == bulk(filled(SAMPLES["cassandra-" + default]).data)
        for other in ("old", "3.x", "4.x"):
            reply = call("BF.EXPORT", "k", "FORMAT", "cassandra", "VARIANT", other)
            if (variant == "old") == (other == "old"):
                assert reply == bulk(filled(SAMPLES["cassandra-" + other]).data)
            else:
                assert reply.is_error and reply.value.startswith("ERR "), reply


def test_redisson_is_imported_by_the_tool(call):
    reply = call("BF.IMPORT", "k", "FORMAT", "redisson", "DATA", b"\x80")
    assert reply.is_error and reply.value.startswith("ERR ") and "bloomport pull --redisson" in reply.value
    assert call("DBSIZE") == integer(0)


@EACH
@pytest.mark.parametrize("name", ["guava", "spark", "go", "cassandra", "bip37", "rocksdb", "datasketches", "redisson"])
def test_a_filter_is_exported_in_its_own_format_only(call, sample, name):
    assert import_foreign(call, "k", filled(sample)) == OK
    reply = call("BF.EXPORT", "k", "FORMAT", name)
    assert reply.is_error == (name != sample.name), reply
    if reply.is_error:
        assert reply.value.startswith("ERR cannot export: "), reply


@EACH
def test_the_formats_of_our_own_scheme_do_not_carry_it(call, sample):
    assert import_foreign(call, "k", filled(sample)) == OK
    assert call("BF.RESERVE", "own", "0.01", "100") == OK
    for name in ("portable", "sstable", "leveldb", "parquet", "redisbloom"):
        reply = call("BF.EXPORT", "k", "FORMAT", name)
        assert reply.is_error and reply.value.startswith("ERR cannot export: "), reply
    reply = export_foreign(call, "own", sample)
    assert reply.is_error and reply.value.startswith("ERR cannot export: "), reply


@EACH
def test_no_command_makes_one_from_nothing(call, sample):
    for name in (sample.scheme, sample.name):
        assert call("BF.RESERVE", "k", "0.01", "100", "HASH", name).is_error
        assert call("BF.INSERT", "k", "HASH", name, "ITEMS", "a").is_error
    assert call("DBSIZE") == integer(0)


# ---- Growth --------------------------------------------------------------------------------------


class Grown:
    """The oracle of a chain; BF.DEBUG says how large its layers are."""

    def __init__(self, sample, shapes):
        self.layers, self.room = [], []
        for shape in shapes:
            self.layers.append(type(sample)(shape.bits, shape.hashes, **sample.parameters))
            self.room.append(shape.capacity)

    def add(self, item):
        if any(layer.contains(item) for layer in self.layers):
            return 0
        at = next(i for i, left in enumerate(self.room) if left)
        self.room[at] -= 1
        return self.layers[at].add(item)


@pytest.mark.parametrize("name", GROWING)
def test_layers_of_a_grown_one_have_the_bits_of_the_librarys_rule(call, name):
    sample, items = GROWING[name], [b"more:%d" % i for i in range(400)]
    assert import_foreign(call, "k", sample, "CAPACITY", "20", "EXPANSION", "2") == OK
    answers = add_all(call, "k", items)
    grown = Grown(sample, layers_of(call, "k"))
    assert len(grown.layers) > 3
    assert answers == [grown.add(item) for item in items]
    assert bits_of(call, "k") == [bytes(layer.bits) for layer in grown.layers]
    assert look_up_all(call, "k", PROBES) == [int(any(one.contains(item) for one in grown.layers)) for item in PROBES]
    reply = export_foreign(call, "k", sample)
    assert reply.is_error and reply.value.startswith("ERR cannot export: ") and "layer" in reply.value


@pytest.mark.parametrize("name", [name for name, one in SAMPLES.items() if not one.grows])
def test_formats_that_do_not_grow_refuse_an_expansion(call, name):
    sample = filled(SAMPLES[name])
    for words in (("EXPANSION", "1"), ("EXPANSION", "2")):
        refused = ["BF.IMPORT", "k", "FORMAT", sample.name, *words, "DATA", sample.data]
        assert_refused(call, "ERR filters of this format do not grow", *refused)
    assert import_foreign(call, "k", sample, "EXPANSION", "0") == OK


@pytest.mark.parametrize("name", ["guava32", "spark1"])
def test_positions_of_31_bits_grow_to_two_to_the_31_bits_a_layer(call, name):
    """The third layer would have 32768 * 32768 items, over 2^33 bits."""
    assert import_foreign(call, "k", SAMPLES[name], "CAPACITY", "1", "EXPANSION", "32768") == OK
    items = [b"%d" % i for i in range(34000)]
    refused = [reply for reply in call("BF.MADD", "k", *items).value if reply.is_error]
    assert refused and refused[0].value.startswith("ERR problem inserting into filter"), refused[:1]
    assert info(call, "k")["Number of filters"] == 2
    assert look_up_all(call, "k", items[:100]) == [1] * 100


# ---- A filter like any other ---------------------------------------------------------------------


def import_all(call):
    keys = []
    for name, sample in SAMPLES.items():
        assert import_foreign(call, name, filled(sample)) == OK
        assert import_foreign(call, name + "-empty", sample) == OK
        keys += [name, name + "-empty"]
        if sample.grows:
            key = name + "-grown"
            assert import_foreign(call, key, sample, "CAPACITY", "20", "EXPANSION", "2") == OK
            add_all(call, key, [b"more:%d" % i for i in range(200)])
            assert info(call, key)["Number of filters"] > 1
            keys.append(key)
    return keys


def assert_all_there(call, before):
    """The same bits, and the library's own bytes."""
    for key, seen in before.items():
        same_filter(seen, look(call, key), key)
    for name, sample in SAMPLES.items():
        assert export_foreign(call, name, sample) == bulk(filled(sample).data)
        assert export_foreign(call, name + "-empty", sample) == bulk(sample.data)
        assert hash_of(call, name) == sample.scheme


def looks(call):
    return {key: look(call, key) for key in import_all(call)}


def test_dumped_restored_copied_and_loaded_it_is_the_same(call):
    for key in import_all(call):
        state = filter_state(call, key)
        assert call("RESTORE", "restored", "0", call("DUMP", key).plain, "REPLACE") == OK
        assert filter_state(call, "restored") == state
        assert call("COPY", key, "copied", "REPLACE") == integer(1)
        assert filter_state(call, "copied") == state
        call("DEL", "loaded")
        for iterator, data in state["dump"]:
            assert call("BF.LOADCHUNK", "loaded", iterator, data) == OK
        assert filter_state(call, "loaded") == state


def test_restored_it_is_added_to_and_exported_as_the_original(call):
    more = [b"later:%d" % i for i in range(60)]
    for name, sample in SAMPLES.items():
        assert import_foreign(call, name, filled(sample), *ROOM) == OK
        assert call("RESTORE", "restored", "0", call("DUMP", name).plain, "REPLACE") == OK
        call("BF.MADD", "restored", *more).plain
        model = filled(sample).add_all(more)
        assert export_foreign(call, "restored", sample) == bulk(model.data)


def test_saved_and_loaded_it_is_the_same(new_server):
    server = new_server()
    before = looks(server.call)
    assert server.call("SAVE") == OK
    server.restart()
    assert_all_there(server.call, before)


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("rewrite", [True, False])
def test_from_the_aof_rewritten_or_not_it_is_the_same(new_server, preamble, rewrite):
    server = new_server(config={**Stream.CONFIG, "aof-use-rdb-preamble": preamble})
    before = looks(server.call)
    if rewrite:
        server.call("BGREWRITEAOF").plain
        until_rewritten(server.call)
    server.restart()
    assert_all_there(server.call, before)


def test_a_replica_has_the_same_and_follows_adds_merges_and_clears(new_server):
    master, replica = new_server(tcp=True, config=QUIET), new_server(tcp=True, config=QUIET)
    before = looks(master.call)
    follow(replica, master)
    assert_all_there(replica.call, before)
    for name, sample in SAMPLES.items():
        assert import_foreign(master.call, name + "-later", sample, *ROOM) == OK
        master.call("BF.MADD", name + "-later", *PROBES[:90]).plain
        assert master.call("BF.MERGE", name, name + "-later") == OK
        assert master.call("BF.CLEAR", name + "-empty") == OK
        if sample.grows:
            master.call("BF.MADD", name + "-grown", *PROBES[:300]).plain
    until_in_sync(replica, master)
    assert replica.call("DEBUG", "DIGEST") == master.call("DEBUG", "DIGEST")
    for name, sample in SAMPLES.items():
        expected = filled(built_anew(sample, sample.m, sample.k), PROBES[:90]).data
        assert export_foreign(replica.call, name + "-later", sample) == bulk(expected)
