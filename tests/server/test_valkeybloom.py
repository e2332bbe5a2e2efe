"""valkey-bloom's filters open as they are: a restart on its RDB files, RESTORE of its DUMP payloads, and
every path that a key takes. golden/valkeybloom has 27 filters that valkey-bloom recorded. For what is
added later the model of valkeybloom.py is the oracle, which is first checked against the recorded ones.

The server compresses as the recording one did, so that payloads can be compared byte by byte.
"""

import random
import struct
from pathlib import Path

import pytest

from checks import FULL, GROWTH_FAILED, add_all, assert_one_error, assert_refused, dump, info, layers_of
from checks import filter_state, load, look_up_all
from resp import NULL_BULK, OK, ONE, ZERO, array, error, integer, simple
from test_foreign import same_bytes
from valkeybloom import ALL, FIXTURES, FOLDER, FOOTER, ID_BYTES, OLD, SMALL, TYPE_NAME, ValkeyBloom
from valkeybloom import payload, readable_file

SERVER_CONFIG = {"rdbcompression": "yes"}
LOG_LINE = "bloomport: cannot load a filter of valkey-bloom: "


def number(call, key, field):
    (value,) = call("BF.INFO", key, field).plain
    return value if value is None else float(value)


def assert_recorded(call, key, fixture):
    """The key is what valkey-bloom recorded, in all that it shows."""
    assert call("TYPE", key) == simple(TYPE_NAME)
    assert call("BF.CARD", key) == integer(fixture.card)
    seen, recorded = info(call, key), dict(fixture.info)
    if fixture.name in OLD:  # 0.1.0 counted the size in another way
        recorded["Size"] = fixture.model().info["Size"]
    assert seen == recorded
    assert "".join(map(str, look_up_all(call, key, fixture.probes))) == fixture.answers
    assert look_up_all(call, key, fixture.items) == [1] * len(fixture.items)
    assert_selectors(call, key, fixture)


def assert_selectors(call, key, fixture):
    if fixture.name in OLD:
        model = fixture.model()
        rate, ratio, most = model.rate, model.ratio, model.expansion and model.max_capacity()
        assert ratio == 0.5
    else:
        rate, ratio = float(fixture.recorded["Error rate"]), float(fixture.recorded.get("Tightening ratio", 0))
        most = fixture.recorded.get("Max scaled capacity")
    assert number(call, key, "ERROR") == rate
    if fixture.info["Expansion rate"]:
        assert number(call, key, "TIGHTENING") == ratio
        assert call("BF.INFO", key, "MAXSCALEDCAPACITY") == array(integer(most))
    else:
        assert call("BF.INFO", key, "TIGHTENING") == array(NULL_BULK)
        assert call("BF.INFO", key, "MAXSCALEDCAPACITY") == array(NULL_BULK)


def assert_is_model(call, key, model):
    """To the last bit: our chunks have every field, seed and ratio too."""
    assert call("TYPE", key) == simple(TYPE_NAME)
    seen, expected = dump(call, key), model.chunks
    assert [at for at, _ in seen] == [at for at, _ in expected]
    same_bytes(b"".join(data for _, data in seen), b"".join(data for _, data in expected), key)
    assert call("BF.CARD", key) == integer(model.items)
    assert info(call, key) == model.info


# ---- The model is right ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FIXTURES if FIXTURES[name].load])
def test_the_model_gives_what_valkeybloom_recorded(name):
    fixture = FIXTURES[name]
    loaded = fixture.model()
    made = ValkeyBloom(loaded.rate, loaded.layers[0].capacity, loaded.expansion, loaded.ratio, loaded.seed)
    for item in fixture.items:
        made.add(item)
    same_bytes(made.data, fixture.load, "BF.LOAD")
    assert made.info == fixture.info
    assert "".join(str(made.contains(probe)) for probe in fixture.probes[:300]) == fixture.answers[:300]
    if made.expansion:
        assert made.max_capacity() == fixture.recorded["Max scaled capacity"]


# ---- Files and payloads ------------------------------------------------------------------------


def start_on(new_server, name, **config):
    server = new_server(config={**SERVER_CONFIG, **config})
    data = readable_file(name, server.call)
    server.kill9()
    Path(server.directory, "dump.rdb").write_bytes(data)
    return server.start()


@pytest.mark.parametrize("name", ["dump.rdb", "dump-valkey9.rdb"])
def test_a_restart_on_valkeyblooms_dump_file_finds_every_filter(new_server, name):
    """Written by Valkey 8.1 and 9. A server that cannot read the version gets the file with one it can."""
    server = start_on(new_server, name)
    call = server.connection().call
    assert call("DBSIZE") == integer(len(FIXTURES))
    for fixture in FIXTURES.values():
        assert_recorded(call, fixture.key, fixture)
        assert call("PEXPIRETIME", fixture.key) == integer(fixture.expire_at or -1)


def test_a_restart_on_a_file_of_encoding_version_0_finds_every_filter(new_server):
    server = start_on(new_server, "old-encver0.rdb")
    call = server.connection().call
    assert call("DBSIZE") == integer(len(OLD))
    for fixture in OLD.values():
        assert_recorded(call, fixture.key, fixture)
        assert_is_model(call, fixture.key, fixture.model())


OTHERS = {"string": "string", "int": "string", "list": "list", "hash": "hash", "set": "set", "zset": "zset"}


def test_a_file_with_keys_of_other_types_is_loaded_with_all_of_them(new_server):
    server = start_on(new_server, "mixed.rdb", rdbcompression="no")
    call = server.connection().call
    mixed = [fixture for name, fixture in FIXTURES.items() if name not in ("dense", "large")]
    for fixture in mixed:
        assert_recorded(call, fixture.key, fixture)
    for name, kind in OTHERS.items():
        assert call("TYPE", "other:" + name) == simple(kind)
    assert call("PTTL", "other:ttl").plain > 0
    assert call("DBSIZE") == integer(len(mixed) + len(OTHERS) + 1)
    assert call("SELECT", 3) == OK
    assert_recorded(call, "scaling", FIXTURES["scaling"])
    # and saved again as it was, uncompressed
    assert call("SAVE") == OK
    seen, recorded = Path(server.directory, "dump.rdb").read_bytes(), (FOLDER / "mixed.rdb").read_bytes()
    for fixture in mixed:
        value = key_and_value(fixture.key, fixture.model().value)
        assert value in recorded, "the file and the model are of one filter"
        assert value in seen, fixture.name


def key_and_value(key, value):
    return value[:1] + bytes([len(key)]) + key + value[1:]


def test_the_file_saved_again_holds_the_same_values_byte_for_byte(new_server):
    server = start_on(new_server, "dump.rdb")
    call = server.connection().call
    assert call("SAVE") == OK
    seen, recorded = Path(server.directory, "dump.rdb").read_bytes(), (FOLDER / "dump.rdb").read_bytes()
    for fixture in FIXTURES.values():
        value = call("DUMP", fixture.key).plain[:-FOOTER]
        if fixture.dump:
            same_bytes(value, fixture.dump[:-FOOTER], "DUMP of %s" % fixture.name)
        value = key_and_value(fixture.key, value)
        assert value in recorded, fixture.name
        assert value in seen, fixture.name
    server.restart()
    for fixture in FIXTURES.values():
        assert_recorded(server.connection().call, fixture.key, fixture)


@pytest.mark.parametrize("name", SMALL)
def test_valkeyblooms_dump_payload_is_restored(call, name):
    fixture = SMALL[name]
    assert call("RESTORE", "k", 0, fixture.payload) == OK
    assert_recorded(call, "k", fixture)
    if name in FIXTURES:
        same_bytes(call("DUMP", "k").plain[:-FOOTER], fixture.dump[:-FOOTER], "DUMP")
    else:  # encoding version 0 is saved as 1
        assert_is_model(call, "k", fixture.model())
        assert call("RESTORE", "again", 0, call("DUMP", "k").plain) == OK
        assert_recorded(call, "again", fixture)


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].load])
def test_what_is_exported_is_valkeyblooms_own_string(call, name):
    assert call("RESTORE", "k", 0, ALL[name].payload) == OK
    same_bytes(call("BF.EXPORT", "k", "FORMAT", "valkeybloom").plain, ALL[name].load, "BF.EXPORT")


# ---- They grow as valkey-bloom's ---------------------------------------------------------------


def assert_layers(call, key, model):
    seen = [(layer.bits, layer.hashes, layer.capacity, layer.size) for layer in layers_of(call, key)]
    assert seen == [(8 * len(one.bits), one.k, one.capacity, one.items) for one in model.layers]


def add_and_compare(call, key, model, items):
    """BF.MADD and BF.ADD in turn; the items that a full one refuses are left out."""
    items = [item for item in items if model.expansion or model.items < model.capacity or model.contains(item)]
    if not model.expansion:
        items = items[: model.capacity - model.items]
    half = len(items) // 2
    assert add_all(call, key, items[:half]) == [model.add(item) for item in items[:half]]
    for item in items[half : half + 100]:
        assert call("BF.ADD", key, item) == integer(model.add(item))


@pytest.mark.parametrize("name", [name for name in SMALL if name != "high-error"])
def test_further_items_on_both_sides_of_a_reload_give_the_models_bytes(call, name):
    """Growth included, and the old encoding's filters too."""
    fixture = SMALL[name]
    model = fixture.model()
    assert call("RESTORE", "k", 0, fixture.payload) == OK
    for turn in range(3):
        count = min(3 * model.capacity, 900)
        add_and_compare(call, "k", model, [b"further:%d:%d" % (turn, i) for i in range(count)])
        assert_is_model(call, "k", model)
        assert_layers(call, "k", model)
        assert call("DEBUG", "RELOAD") == OK
        assert_is_model(call, "k", model)
    if model.expansion:
        assert len(model.layers) > fixture.info["Number of filters"]


@pytest.mark.parametrize(
    "rate, capacity, expansion, ratio",
    [
        (0.01, 1, 1, 0.5), (0.01, 7, 3, 0.5), (0.25, 50, 1, 0.9), (1e-6, 20, 2, 0.1), (0.01, 1, 70000, 0.5),
        (0.99, 3, 2, 0.99), (0.5, 1, 2, 0.001), (1e-10, 5, 4, 0.5),
    ],
)  # fmt: skip
def test_filters_of_other_shapes_grow_as_the_model_does(call, rate, capacity, expansion, ratio):
    model = ValkeyBloom(rate, capacity, expansion, ratio)
    assert call("BF.LOAD", "k", model.data) == OK
    items = [b"%d" % i for i in range(min(12 * capacity, 200))]
    assert add_all(call, "k", items) == [model.add(item) for item in items]
    assert_is_model(call, "k", model)
    assert call("DEBUG", "RELOAD") == OK
    assert_is_model(call, "k", model)
    assert len(model.layers) > 1


def test_a_full_non_scaling_one_refuses_what_is_new_and_knows_the_rest(call):
    fixture = FIXTURES["nonscaling-full"]
    model = fixture.model()
    assert call("RESTORE", "k", 0, fixture.payload) == OK
    new = next(b"new%d" % i for i in range(100) if not model.contains(b"new%d" % i))
    assert_refused(call, FULL, "BF.ADD", "k", new)
    assert call("BF.ADD", "k", fixture.items[0]) == ZERO
    assert_is_model(call, "k", model)


def test_a_rate_that_degrades_to_nothing_ends_the_growth_with_an_error(call):
    model = ValkeyBloom(1e-300, 1, 1, 1e-9)
    assert call("BF.LOAD", "k", model.data) == OK
    assert call("BF.ADD", "k", "a") == ONE
    assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", "b")


def test_growth_over_max_bytes_is_one_error(call):
    model = ValkeyBloom(0.01, 1, 2**32 - 1)
    model.add(b"a")
    assert call("BF.LOAD", "k", model.data) == OK
    call("CONFIG", "SET", "bf.max-bytes", "1000000")
    try:
        assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", "b")
        assert call("BF.INFO", "k", "MAXSCALEDCAPACITY") == array(integer(1))
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


@pytest.mark.parametrize("limit", [1000, 5000, 1_000_000])
def test_maxscaledcapacity_is_what_fits_into_max_bytes(call, limit):
    """limit 5000: between two layers; from the moment the filter is larger than that it is its capacity."""
    fixture = FIXTURES["scaling"]
    assert call("RESTORE", "k", 0, fixture.payload) == OK
    call("CONFIG", "SET", "bf.max-bytes", limit)
    try:
        assert call("BF.INFO", "k", "MAXSCALEDCAPACITY") == array(integer(fixture.model().max_capacity(limit)))
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


# ---- The keys are like any other ---------------------------------------------------------------


@pytest.fixture
def fixtures(call):
    for name, fixture in SMALL.items():
        assert call("RESTORE", name, 0, fixture.payload) == OK
    return call


def test_copy_rename_and_restore_keep_them(fixtures):
    call = fixtures
    for name, fixture in SMALL.items():
        assert call("COPY", name, "copy") == ONE
        assert call("RENAME", "copy", "renamed") == OK
        assert call("RESTORE", "again", 0, call("DUMP", "renamed").plain) == OK
        assert filter_state(call, "again") == filter_state(call, name)
        assert_is_model(call, "again", fixture.model())
        assert call("UNLINK", "again", "renamed") == integer(2)


def test_a_copy_is_another_filter(fixtures):
    call, model = fixtures, FIXTURES["scaling"].model()
    assert call("COPY", "scaling", "copy") == ONE
    add_all(call, "copy", [b"more:%d" % i for i in range(1000)])
    assert_is_model(call, "scaling", model)


def test_digests_tell_filters_apart_and_know_equal_ones(fixtures):
    digests = {str(fixtures("DEBUG", "DIGEST-VALUE", name)) for name in SMALL}
    assert len(digests) == len(SMALL)
    model = ValkeyBloom()
    others = [ValkeyBloom(0.01, 100, 2, 0.25), ValkeyBloom(seed=bytes(32)), ValkeyBloom(0.01, 100, 3)]
    for i, each in enumerate([model, model, *others]):
        assert fixtures("BF.LOAD", "d%d" % i, each.data) == OK
    seen = [str(fixtures("DEBUG", "DIGEST-VALUE", "d%d" % i)) for i in range(5)]
    assert seen[0] == seen[1] and len(set(seen)) == 4


def test_memory_usage_is_what_is_taken(fixtures):
    for name in SMALL:
        arrays = sum(layer.bytes for layer in layers_of(fixtures, name))
        assert arrays < fixtures("MEMORY", "USAGE", name).plain < arrays + 600 + 250 * len(layers_of(fixtures, name))


def test_stats_names_hash_and_layers(fixtures):
    for name, fixture in SMALL.items():
        flat = fixtures("BF.STATS", name).plain
        stats, model = dict(zip(flat[::2], flat[1::2])), fixture.model()
        assert stats["hash"] == b"SIP13" and stats["layout"] == b"CLASSIC"
        assert (stats["items"], stats["capacity"]) == (fixture.card, fixture.info["Capacity"])
        assert float(stats["promised error rate"]) == pytest.approx(model.rate)
        rows = [dict(zip(row[::2], row[1::2])) for row in stats["layers"]]
        for row, layer in zip(rows, model.layers, strict=True):
            ones = int.from_bytes(layer.bits, "little").bit_count()
            assert (row["bits"], row["hashes"]) == (8 * len(layer.bits), layer.k)
            assert float(row["fill ratio"]) == pytest.approx(ones / (8 * len(layer.bits)))


@pytest.mark.parametrize("name", SMALL)
def test_chunks_make_the_same_filter_in_any_order(call, name):
    assert call("RESTORE", "k", 0, SMALL[name].payload) == OK
    header, *pieces = dump(call, "k")
    random.Random(18).shuffle(pieces)
    load(call, "again", [header, *pieces, *pieces[:1]])
    assert filter_state(call, "again") == filter_state(call, "k")
    assert_is_model(call, "again", SMALL[name].model())


def test_half_a_dump_is_saved_as_what_it_is(call):
    fixture = FIXTURES["scaling"]
    chunks = fixture.model().chunks
    load(call, "k", chunks[:3])
    assert call("BF.CARD", "k") == integer(fixture.card)
    before = dump(call, "k")
    assert call("DEBUG", "RELOAD") == OK
    assert dump(call, "k") == before
    load(call, "k", chunks[3:])
    assert_recorded(call, "k", fixture)


def test_a_cleared_one_is_as_new_and_grows_again_by_its_rules(call):
    for name in ("scaling", "nonscaling-full", "tightening", "seed-fixed-scaling", "old-scaling"):
        model = SMALL[name].model()
        assert call("RESTORE", "k", 0, SMALL[name].payload, "REPLACE") == OK
        assert call("BF.CLEAR", "k") == OK
        first = model.layers[0]
        fresh = ValkeyBloom(model.rate, first.capacity, model.expansion, model.ratio, model.seed)
        fresh.layers[0].k, fresh.layers[0].bits = first.k, bytearray(len(first.bits))
        assert_is_model(call, "k", fresh)
        add_and_compare(call, "k", fresh, [b"again:%d" % i for i in range(300)])
        assert_is_model(call, "k", fresh)


def test_only_formats_that_can_hold_its_hash_are_exported(fixtures):
    for name in SMALL:
        for name_of_format in ("portable", "sstable", "leveldb", "redisbloom", "parquet"):
            reply = fixtures("BF.EXPORT", name, "FORMAT", name_of_format)
            assert reply == error("ERR cannot export: hash is SIP13, use valkeybloom")


def test_exported_and_imported_it_is_a_native_filter_with_its_answers(call):
    """The documented way to turn a key of valkey-bloom's into one of bloomport's own."""
    for fixture in (FIXTURES[name] for name in ("small", "scaling", "nonscaling-full", "seed-fixed")):
        assert call("RESTORE", "k", 0, fixture.payload, "REPLACE") == OK
        data = call("BF.EXPORT", "k", "FORMAT", "valkeybloom").plain
        assert call("BF.IMPORT", "k", "FORMAT", "valkeybloom", "REPLACE", "DATA", data) == OK
        assert call("TYPE", "k") == simple("bloomport")
        assert "".join(map(str, look_up_all(call, "k", fixture.probes))) == fixture.answers
        assert call("BF.INFO", "k", "TIGHTENING") == call("BF.INFO", "k", "MAXSCALEDCAPACITY") == array(NULL_BULK)
        same_bytes(call("BF.EXPORT", "k", "FORMAT", "valkeybloom").plain, data, "BF.EXPORT")


def test_clients_options_on_one_that_exists_change_nothing_but_items(fixtures):
    call, model = fixtures, FIXTURES["scaling"].model()
    words = ("CAPACITY", "7", "ERROR", "0.3", "TIGHTENING", "0.9", "EXPANSION", "5", "VALIDATESCALETO", "10")
    assert call("BF.INSERT", "scaling", *words, "ITEMS", "new item").plain == [model.add(b"new item")]
    assert_is_model(call, "scaling", model)
    assert_refused(call, "ERR item exists", "BF.RESERVE", "scaling", "0.01", "100")


# ---- Merging -----------------------------------------------------------------------------------


SEED = bytes(range(50, 82))


def models(*seeds, capacity=200, expansion=2, count=100):
    """Two filters of equal shape and other items."""
    made = []
    for number, seed in enumerate(seeds):
        model = ValkeyBloom(0.01, capacity, expansion, 0.5, seed)
        for i in range(count):
            model.add(b"%d:%d" % (number, i))
        made.append(model)
    return made


def test_a_merge_of_equal_seeds_has_the_items_of_both(call):
    for number, model in enumerate(models(SEED, SEED)):
        assert call("BF.LOAD", "m%d" % number, model.data) == OK
    assert call("BF.MERGE", "m0", "m1") == OK
    assert call("TYPE", "m0") == simple(TYPE_NAME)
    items = [b"%d:%d" % (number, i) for number in range(2) for i in range(100)]
    assert look_up_all(call, "m0", items) == [1] * 200
    before = dump(call, "m0")
    assert call("DEBUG", "RELOAD") == OK
    assert dump(call, "m0") == before


@pytest.mark.parametrize("words", [{"capacity": 20}, {"count": 180}, {"count": 180, "expansion": 0}], ids=str)
def test_a_merge_that_overfills_one_can_still_be_saved_and_loaded(call, words):
    """Its counts stay those that valkey-bloom itself can have."""
    for number, model in enumerate(models(SEED, SEED, **words)):
        assert call("BF.LOAD", "m%d" % number, model.data) == OK
    for key in ("m0", "new"):
        assert call("BF.MERGE", key, "m0", "m1") == OK
        for layer in layers_of(call, key):
            assert layer.size <= layer.capacity
        before = filter_state(call, key)
        assert call("RESTORE", key, 0, call("DUMP", key).plain, "REPLACE") == OK
        assert filter_state(call, key) == before
        data = call("BF.EXPORT", key, "FORMAT", "valkeybloom").plain
        assert call("BF.LOAD", key + ":loaded", data) == OK
        assert dump(call, key + ":loaded") == dump(call, key)


def test_a_merge_of_another_seed_is_refused(call):
    for number, model in enumerate(models(SEED, SEED[::-1])):
        assert call("BF.LOAD", "m%d" % number, model.data) == OK
    assert_refused(call, "ERR cannot merge source 1: its seed is another one", "BF.MERGE", "m0", "m1")
    assert_refused(call, "ERR cannot merge source 2: its seed is another one", "BF.MERGE", "new", "m0", "m1")


@pytest.mark.parametrize("into, kind", [("native", "bloomport"), ("foreign", TYPE_NAME)])
def test_a_native_filter_of_equal_seed_and_sizes_is_merged_and_keeps_its_type(call, into, kind):
    one, two = models(SEED, SEED)
    assert call("BF.LOAD", "foreign", one.data) == OK
    assert call("BF.IMPORT", "native", "FORMAT", "valkeybloom", "DATA", two.data) == OK
    assert call("BF.MERGE", into, "foreign" if into == "native" else "native") == OK
    assert call("TYPE", into) == simple(kind)
    assert look_up_all(call, into, [b"%d:%d" % (n, i) for n in range(2) for i in range(100)]) == [1] * 200
    before = filter_state(call, into)
    assert call("DEBUG", "RELOAD") == OK
    assert filter_state(call, into) == before


def test_a_native_filter_of_equal_seed_and_our_sizes_is_refused(call):
    (model,) = models(SEED)
    assert call("BF.LOAD", "foreign", model.data) == OK
    assert call("BF.RESERVE", "native", "0.01", "200", "SEED", SEED) == OK
    text = "ERR cannot merge source 1: its layer 1 has 1920 bits and not 2129"
    assert_refused(call, text, "BF.MERGE", "native", "foreign")


# ---- What is wrong -----------------------------------------------------------------------------


def wrong(**fields):
    """A filter with one item whose fields are replaced, right or wrong; `of_layer`: those of its layer."""
    model = ValkeyBloom()
    model.add(b"a")
    model.layers[0].__dict__.update(fields.pop("of_layer", {}))
    model.__dict__.update(fields)
    return model


def wrong_array(at, data):
    model = wrong()
    spoiled = bytearray(model.array(model.layers[0]))
    spoiled[at : at + len(data)] = data
    model.array = lambda layer: bytes(spoiled)
    return model


def two_seeds():
    """Two layers, whose seeds differ."""
    model = wrong()
    for i in range(150):
        model.add(b"%d" % i)
    right = model.array
    seeds = {model.layers[0]: model.seed, model.layers[1]: bytes(32)}
    model.array = lambda layer: right(layer).replace(model.seed, seeds[layer])
    return model


WRONG = {
    "no layers": lambda: wrong(layers=[]),
    "error rate 0": lambda: wrong(rate=0.0),
    "error rate 1": lambda: wrong(rate=1.0),
    "error rate 1.5": lambda: wrong(rate=1.5),
    "error rate nan": lambda: wrong(rate=float("nan")),
    "error rate negative": lambda: wrong(rate=-0.1),
    "ratio 0": lambda: wrong(ratio=0.0),
    "ratio 1": lambda: wrong(ratio=1.0),
    "ratio 2": lambda: wrong(ratio=2.0),
    "ratio nan": lambda: wrong(ratio=float("nan")),
    "flag 0 with another seed": lambda: wrong(flag=0),
    "flag 2": lambda: wrong(flag=2),
    "capacity 0": lambda: wrong(of_layer={"capacity": 0}),
    "k 0": lambda: wrong(of_layer={"k": 0}),
    "k 1101": lambda: wrong(of_layer={"k": 1101}),
    "array version 2": lambda: wrong_array(0, b"\2"),
    "array version 0": lambda: wrong_array(0, b"\0"),
    "array longer than it says": lambda: wrong_array(1, struct.pack("<Q", 119)),
    "array shorter than it says": lambda: wrong_array(1, struct.pack("<Q", 121)),
    "array far shorter": lambda: wrong_array(1, struct.pack("<Q", 2**63)),
    "no bits": lambda: wrong(of_layer={"bits": b""}),
    "two seeds": two_seeds,
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_field_is_refused_with_one_line(call, server, what):
    """Most of these abort the original."""
    model = WRONG[what]()
    before = server.log.count(LOG_LINE)
    assert "Bad data format" in assert_one_error(call, "RESTORE", "k", 0, payload(model.value))
    assert server.log.count(LOG_LINE) == before + 1
    assert_refused(call, "ERR bloom object decoding failed", "BF.LOAD", "k", model.data)


@pytest.mark.parametrize("version", [2, 3, 1023])
def test_a_higher_encoding_version_is_refused(call, version):
    value = bytearray(ValkeyBloom().value)
    (number,) = struct.unpack(">Q", value[2:10])
    value[2:10] = struct.pack(">Q", number & ~1023 | version)
    assert "Bad data format" in assert_one_error(call, "RESTORE", "k", 0, payload(bytes(value)))


def test_values_that_the_original_takes_are_taken(call):
    """An expansion of any size, and an array that does not fit the capacity."""
    odd = [{"expansion": 2**32 - 1}, *({"of_layer": fields} for fields in ({"k": 1100}, {"k": 1}, {"capacity": 10**9}))]
    for model in (wrong(**fields) for fields in odd):
        assert call("RESTORE", "k", 0, payload(model.value), "REPLACE") == OK
        assert_is_model(call, "k", model)


# ---- Random damage -----------------------------------------------------------------------------

USES = [
    ("BF.MEXISTS", "k", "a", "vbfix:0"),
    ("BF.MADD", "k", *("new%d" % i for i in range(5))),
    ("BF.INFO", "k"),
    ("BF.INFO", "k", "MAXSCALEDCAPACITY"),
    ("BF.STATS", "k"),
    ("BF.DEBUG", "k"),
    ("BF.SCANDUMP", "k", 0),
    ("DUMP", "k"),
    ("DEBUG", "DIGEST-VALUE", "k"),
]


@pytest.mark.parametrize("name", ["one-grown", "seed-fixed", "scaling-1", "old-scaling", "bytes", "empty"])
def test_random_damage_is_refused_with_one_line_or_answers(server, call, name):
    """All of it: large/test_damaged_dumps.py."""
    source, value = random.Random(1818), SMALL[name].dump[:-FOOTER]
    taken = 0
    for turn in range(300):
        spoiled = bytearray(value)
        if turn % 3 == 0:
            spoiled = spoiled[: source.randrange(ID_BYTES, len(value))]
        else:
            near = len(spoiled) if turn % 3 == 1 else min(60, len(spoiled))
            for _ in range(source.randint(1, 3)):
                spoiled[source.randrange(ID_BYTES, near)] = source.randrange(256)
        reply = call("RESTORE", "k", 0, payload(bytes(spoiled)), "REPLACE")
        if reply == OK:
            taken += 1
            for words in USES:
                seen = call(*words)
                assert not seen.is_error or words[0] == "BF.MADD", (turn, words, seen)
            assert call("RESTORE", "again", 0, call("DUMP", "k").plain, "REPLACE") == OK
        else:
            assert reply.is_error and "Bad data format" in reply.value, reply
        assert call("PING") == simple("PONG")
    print(name, taken)
    assert 0 < taken < 300 or name == "empty"
