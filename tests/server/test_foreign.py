"""RedisBloom's filters open as they are: a restart on its dump.rdb, RESTORE of its DUMP payloads,
BF.LOADCHUNK of its chunks. golden/redisbloom has five filters that RedisBloom recorded. For what is added
later, the model of formats_model.py is the oracle, which is first checked against the recorded ones.

The server compresses as RedisBloom's did, so that payloads can be compared byte by byte.
"""

import math
import os
import random
import shutil
import struct
from pathlib import Path

import pytest

from checks import BAD_DATA, CHUNK_LIMIT, FULL, GROWTH_FAILED, NO_MEMORY, WRONGTYPE, add_all, assert_refused, changes
from checks import dump, info, layers_of, load, look_up_all
from formats_model import REDISBLOOM_FIXED, REDISBLOOM_LAYER, RedisBloom, RedisBloomLayer, with_fields
from redis_server import ServerDied
from redisbloom import DUMP_FILE, FIXTURES, PROBES, Spoiler, chunks, payload, rdb_value
from resp import OK, ONE, ZERO, bulk, error, integer, simple

SERVER_CONFIG = {"rdbcompression": "yes"}
BAD_FORMAT = "ERR Bad data format"
LOG_LINE = "bloomport: cannot load a filter of RedisBloom: "
ID_BYTES = 10  # of a payload: the type and the module's id
FOOTER = 10  # of a payload: the server's own RDB version and a checksum
NAN, INF = math.nan, math.inf


def same_bytes(seen, expected, what):
    """A function of its own, as pytest would print kilobytes."""
    assert len(seen) == len(expected), "%s: length" % what
    same = seen == expected
    assert same, "%s: other bytes" % what


def assert_foreign(call, key, fixture):
    """The key is what RedisBloom recorded: all that it shows, and the bytes it is saved as."""
    assert call("TYPE", key) == simple("MBbloom--")
    assert call("BF.CARD", key) == integer(fixture.card)
    assert info(call, key) == fixture.info
    assert "".join(map(str, look_up_all(call, key, PROBES))) == fixture.answers
    assert look_up_all(call, key, fixture.items) == [1] * len(fixture.items)
    assert dump(call, key) == fixture.chunks
    same_bytes(call("DUMP", key).plain[:-FOOTER], fixture.payload[:-FOOTER], "DUMP")
    same_bytes(call("BF.EXPORT", key, "FORMAT", "redisbloom").plain, fixture.data, "BF.EXPORT")


def assert_is_model(call, key, model):
    assert call("TYPE", key) == simple("MBbloom--")
    same_bytes(b"".join(data for _, data in dump(call, key)), model.data, key)
    assert call("BF.CARD", key) == integer(model.items)


# ---- The model is right ------------------------------------------------------------------------


@pytest.mark.parametrize("key", FIXTURES)
def test_the_model_gives_what_redisbloom_recorded(key):
    fixture = FIXTURES[key]
    shapes = {
        "auto": RedisBloom(0.01, 100),
        "grown": RedisBloom(0.01, 100, 2),
        "fixed": RedisBloom(0.001, 1000, 2, is_scaling=False),
        "tight": RedisBloom(0.0001, 200, 4),
        "empty": RedisBloom(0.05, 1000),
    }
    model = shapes[key]
    for item in fixture.items:
        model.add(item)
    same_bytes(model.data, fixture.data, "the dump")
    same_bytes(RedisBloom.loaded(fixture.data).data, fixture.data, "the dump, continued")
    assert chunks(model.data) == fixture.chunks
    if key != "empty":  # whose bits are compressed
        same_bytes(payload(model.data), fixture.payload, "the DUMP payload")
    assert "".join(str(model.contains(probe)) for probe in PROBES[:500]) == fixture.answers[:500]


# ---- Three ways to load ------------------------------------------------------------------------


def start_on(new_server, rdb, **config):
    server = new_server(config={**SERVER_CONFIG, **config})
    server.kill9()
    shutil.copy(rdb, Path(server.directory, "dump.rdb"))
    return server.start()


def test_a_restart_on_redisblooms_dump_file_finds_every_filter(new_server):
    server = start_on(new_server, DUMP_FILE)
    call = server.connection().call
    assert call("DBSIZE") == integer(len(FIXTURES))
    for key, fixture in FIXTURES.items():
        assert_foreign(call, key, fixture)


def test_the_file_saved_again_holds_the_same_values_byte_for_byte(new_server):
    server = start_on(new_server, DUMP_FILE)
    assert server.call("SAVE") == OK
    seen, recorded = Path(server.directory, "dump.rdb").read_bytes(), DUMP_FILE.read_bytes()
    for key, fixture in FIXTURES.items():
        value = fixture.payload[:1] + bytes([len(key)]) + key.encode() + fixture.payload[1:-10]
        assert value in recorded, "the file and the payloads are of one filter"
        assert value in seen, key
    server.restart()
    for key, fixture in FIXTURES.items():
        assert_foreign(server.connection().call, key, fixture)


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_dump_payload_is_restored(call, key):
    assert call("RESTORE", "k", 0, FIXTURES[key].payload) == OK
    assert_foreign(call, "k", FIXTURES[key])


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_chunks_are_loaded(call, key):
    load(call, "k", FIXTURES[key].chunks)
    assert_foreign(call, "k", FIXTURES[key])


# ---- The keys are like any other ---------------------------------------------------------------


@pytest.fixture
def fixtures(call):
    for key, fixture in FIXTURES.items():
        assert call("RESTORE", key, 0, fixture.payload) == OK
    return call


def assert_all_there(call):
    for key, fixture in FIXTURES.items():
        assert_foreign(call, key, fixture)


def test_reload_keeps_them(fixtures):
    assert fixtures("DEBUG", "RELOAD") == OK
    assert_all_there(fixtures)


@pytest.mark.parametrize("preamble", ["no", "yes"])
def test_a_rewritten_aof_keeps_them(new_server, preamble):
    server = new_server(config={**SERVER_CONFIG, "aof-use-rdb-preamble": preamble, "appendonly": "yes"})
    call = server.connection().call
    for key, fixture in FIXTURES.items():
        assert call("RESTORE", key, 0, fixture.payload) == OK
    assert call("BGREWRITEAOF").plain
    while b"aof_rewrite_in_progress:0" not in call("INFO", "persistence").plain:
        pass
    assert call("DEBUG", "LOADAOF") == OK
    assert_all_there(call)
    if preamble == "no":
        (base,) = Path(server.directory, "appendonlydir").glob("*.base.aof")
        text = base.read_bytes()
        for fixture in FIXTURES.values():
            for iterator, data in fixture.chunks:
                words = (b"BF.LOADCHUNK", fixture.key.encode(), b"%d" % iterator, data)
                assert b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words) in text


def test_copy_rename_move_and_restore_keep_them(fixtures):
    call = fixtures
    for key, fixture in FIXTURES.items():
        assert call("COPY", key, "copy") == ONE
        assert_foreign(call, "copy", fixture)
        assert call("RENAME", "copy", "renamed") == OK
        assert call("RESTORE", "again", 0, call("DUMP", "renamed").plain) == OK
        assert_foreign(call, "again", fixture)
        assert call("DEBUG", "DIGEST-VALUE", "again") == call("DEBUG", "DIGEST-VALUE", key)
        assert call("UNLINK", "again", "renamed") == integer(2)


def test_size_is_redisblooms_and_memory_usage_is_what_is_taken(fixtures):
    for key, fixture in FIXTURES.items():
        arrays = sum(layer.bytes for layer in layers_of(fixtures, key))
        layers = fixture.info["Number of filters"]
        assert info(fixtures, key)["Size"] == arrays + 32 + 64 * layers
        assert fixtures("MEMORY", "USAGE", key).plain > arrays


def test_debug_shows_redisblooms_numbers(fixtures):
    assert fixtures("BF.DEBUG", "tight").plain == [
        b"size:2998",
        b"bytes:520 bits:4160 hashes:15 hashwidth:64 capacity:200 size:200 ratio:5e-05",
        b"bytes:2208 bits:17664 hashes:16 hashwidth:64 capacity:800 size:800 ratio:2.5e-05",
        b"bytes:9400 bits:75200 hashes:17 hashwidth:64 capacity:3200 size:1998 ratio:1.25e-05",
    ]


def test_commands_know_both_types_and_no_third(fixtures):
    call = fixtures
    assert_refused(call, "ERR item exists", "BF.RESERVE", "auto", "0.01", "100")
    assert call("BF.INSERT", "auto", "NOCREATE", "ITEMS", "fixture:0").plain == [0]
    call("SET", "text", "x")
    for words in (("BF.ADD", "text", "a"), ("BF.LOADCHUNK", "text", "1", FIXTURES["auto"].chunks[0][1])):
        assert_refused(call, WRONGTYPE, *words)


def test_exported_and_imported_with_replace_it_is_a_native_filter(fixtures):
    """The documented way to turn a foreign key into one of bloomport's own."""
    call = fixtures
    for key, fixture in FIXTURES.items():
        data = call("BF.EXPORT", key, "FORMAT", "redisbloom").plain
        assert call("BF.IMPORT", key, "FORMAT", "redisbloom", "REPLACE", "DATA", data) == OK
        assert call("TYPE", key) == simple("bloomport")
        assert "".join(map(str, look_up_all(call, key, PROBES))) == fixture.answers
        assert call("BF.CARD", key) == integer(fixture.card)
        assert dump(call, key)[0][1].startswith(b"BLOOMPRT")
        assert call("BF.EXPORT", key, "FORMAT", "redisbloom") == bulk(fixture.data)
        assert call("RESTORE", key, 0, fixture.payload, "REPLACE") == OK  # and back
        assert_foreign(call, key, fixture)


def test_what_a_client_creates_is_native(call):
    call("BF.ADD", "a", "x")
    call("BF.RESERVE", "b", "0.01", "10")
    assert [call("TYPE", key) for key in "ab"] == [simple("bloomport")] * 2


# ---- They grow as RedisBloom's -----------------------------------------------------------------


@pytest.mark.parametrize("key", FIXTURES)
def test_further_items_on_both_sides_of_a_reload_give_the_models_bytes(call, key):
    """Growth included. One copy is saved and reloaded between the items, the other never is."""
    fixture = FIXTURES[key]
    model = RedisBloom.loaded(fixture.data)
    load(call, "saved", fixture.chunks)
    for round_ in range(3):
        room = model.capacity - model.items
        count = min(room // 4 if not model.is_scaling else model.capacity, 2500)
        more = [b"further:%d:%d" % (round_, i) for i in range(count)] + fixture.items[:5]
        expected = [model.add(item) for item in more]
        assert add_all(call, "saved", more) == expected
        if round_ == 0:
            load(call, "kept", fixture.chunks)
        assert call("RESTORE", "saved", 0, call("DUMP", "saved").plain, "REPLACE") == OK
        assert add_all(call, "kept", more) == expected
        assert_is_model(call, "saved", model)
        assert call("DUMP", "saved") == call("DUMP", "kept")
    if model.is_scaling:
        assert len(model.layers) > fixture.info["Number of filters"]


def test_a_full_non_scaling_one_refuses_what_is_new_and_knows_the_rest(call):
    model = RedisBloom(0.01, 50, is_scaling=False)
    load(call, "k", chunks(model.data))
    added = [i for i in range(50) if model.add(b"%d" % i)]
    assert [i for i in range(50) if call("BF.ADD", "k", i).plain] == added
    while model.items < 50:
        item = os.urandom(8)
        assert call("BF.ADD", "k", item) == integer(model.add(item))
    new = next(b"new%d" % i for i in range(100) if not model.contains(b"new%d" % i))
    assert_refused(call, FULL, "BF.ADD", "k", new)
    assert call("BF.ADD", "k", added[0]) == ZERO
    assert_is_model(call, "k", model)


@pytest.mark.parametrize(
    "rate, capacity, expansion",
    [(0.01, 7, 3), (0.25, 50, 1), (1e-6, 20, 2), (0.01, 1, 32768), (0.01, 1, 70000), (0.5, 3, 1), (0.99, 1, 2)],
)
def test_filters_of_other_shapes_grow_as_the_model_does(call, rate, capacity, expansion):
    model = RedisBloom(rate, capacity, expansion)
    load(call, "k", chunks(model.data))
    items = [b"%d" % i for i in range(min(12 * capacity, 200))]
    assert add_all(call, "k", items) == [model.add(item) for item in items]
    assert_is_model(call, "k", model)
    assert call("DEBUG", "RELOAD") == OK
    assert_is_model(call, "k", model)
    assert info(call, "k")["Expansion rate"] == expansion


def test_a_rate_so_small_that_it_takes_hundreds_of_hashes_is_taken(call):
    """With EXPANSION 1 the rate halves from layer to layer, as long as it is over 0."""
    model = RedisBloom(0.01, 2, 1)
    model.layers = [RedisBloomLayer(2, 0.5**300)]
    load(call, "k", chunks(model.data))
    items = [b"%d" % i for i in range(20)]
    assert add_all(call, "k", items) == [model.add(item) for item in items]
    assert_is_model(call, "k", model)
    assert layers_of(call, "k")[-1].hashes == model.layers[-1].nhashes > 255
    assert call("DEBUG", "RELOAD") == OK
    assert_is_model(call, "k", model)


def test_a_rate_that_halves_to_nothing_ends_the_growth_with_an_error(call):
    model = RedisBloom(0.01, 1, 1)
    model.layers = [RedisBloomLayer(1, 5e-324)]
    load(call, "k", chunks(model.data))
    assert call("BF.ADD", "k", "a") == ONE
    assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", "b")


def test_growth_past_what_memory_can_hold_is_one_error(call):
    model = RedisBloom(0.01, 1, 2**32 - 1)
    model.layers[0].items = 1  # full
    load(call, "k", chunks(model.data))
    call("CONFIG", "SET", "bf.max-bytes", "1000000")
    try:
        assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", "b")
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


@pytest.mark.parametrize(
    "fields",
    [
        *({"growth": x} for x in (0, 4, 2**32 - 1)),
        {"bpe": math.nextafter(14.37758756605117, 15)},
        {"size": 1001, "items": 1001},
    ],
    ids=str,
)
def test_what_redisbloom_stores_is_written_back_as_it_was(call, fields):
    """A non-scaling filter keeps its growth too, and bits per item to the last bit."""
    data = with_fields(FIXTURES["fixed"].data, **fields)
    load(call, "k", chunks(data))
    same_bytes(call("BF.EXPORT", "k", "FORMAT", "redisbloom").plain, data, "BF.EXPORT")
    same_bytes(call("DUMP", "k").plain[:-FOOTER], payload(data)[:-FOOTER], "DUMP")
    assert call("RESTORE", "again", 0, payload(data)) == OK
    assert call("DUMP", "again") == call("DUMP", "k")


# ---- Chunks ------------------------------------------------------------------------------------


def test_chunks_come_in_any_order_and_any_number_of_times(call):
    fixture, source = FIXTURES["grown"], random.Random(5)
    pieces = fixture.chunks[1:] * 3
    source.shuffle(pieces)
    load(call, "k", fixture.chunks[:1] + pieces)
    assert_foreign(call, "k", fixture)


def test_a_key_is_usable_from_its_header_on(call):
    """Counts are there, bits are not, as in RedisBloom."""
    fixture = FIXTURES["grown"]
    load(call, "k", fixture.chunks[:1])
    assert call("BF.CARD", "k") == integer(fixture.card)
    assert info(call, "k") == fixture.info
    assert look_up_all(call, "k", fixture.items[:100]) == [0] * 100
    load(call, "k", fixture.chunks[1:])
    assert_foreign(call, "k", fixture)


def test_half_a_dump_is_saved_as_what_it_is(call):
    fixture = FIXTURES["grown"]
    load(call, "k", fixture.chunks[:3])
    before = dump(call, "k")
    assert call("DEBUG", "RELOAD") == OK
    assert dump(call, "k") == before
    load(call, "k", fixture.chunks[3:])
    assert_foreign(call, "k", fixture)


def test_a_piece_may_be_any_part_of_a_layer_and_empty(call):
    fixture, source = FIXTURES["fixed"], random.Random(6)
    bits = fixture.chunks[1][1]
    load(call, "k", fixture.chunks[:1])
    cuts = sorted(source.sample(range(1, len(bits)), 40))
    parts = list(zip([0] + cuts, cuts + [len(bits)]))
    source.shuffle(parts)
    for start, end in parts:
        assert call("BF.LOADCHUNK", "k", end + 1, bits[start:end]) == OK
    assert call("BF.LOADCHUNK", "k", 700, b"") == OK
    assert_foreign(call, "k", fixture)


def test_a_piece_that_is_there_already_changes_nothing(call):
    load(call, "k", FIXTURES["auto"].chunks)
    before = changes(call)
    load(call, "k", FIXTURES["auto"].chunks[1:])
    assert changes(call) == before


def test_a_piece_overwrites_and_the_fill_is_counted_anew(call):
    fixture = FIXTURES["auto"]
    load(call, "k", fixture.chunks)
    assert call("BF.LOADCHUNK", "k", 145, bytes(144)) == OK
    assert look_up_all(call, "k", fixture.items) == [0] * 50
    assert call("BF.ADD", "k", "fixture:0") == ONE
    assert call("BF.LOADCHUNK", "k", 145, fixture.chunks[1][1]) == OK
    assert look_up_all(call, "k", fixture.items) == [1] * 50


@pytest.mark.parametrize(
    "iterator, size, text",
    [
        (1, 73, BAD_DATA),  # a header never replaces a filter
        (0, 0, BAD_DATA),
        (-1, 1, BAD_DATA),
        (-(2**63), 1, BAD_DATA),
        (10, 10, BAD_DATA),
        (13354, 1, "ERR invalid offset - no link found"),
        (2**63 - 1, 1, "ERR invalid offset - no link found"),
        (146, 2, "ERR invalid chunk - Too big for current filter"),
        (13353, 7305, "ERR invalid chunk - Too big for current filter"),
        (457, 456, "ERR invalid chunk - Too big for current filter"),
    ],
)
def test_a_piece_that_fits_nowhere_is_refused(call, iterator, size, text):
    load(call, "k", FIXTURES["grown"].chunks)
    assert_refused(call, text, "BF.LOADCHUNK", "k", iterator, b"\xff" * size)
    assert_foreign(call, "k", FIXTURES["grown"])


def test_a_layer_over_16_mib_travels_in_pieces(call):
    capacity = 2 * CHUNK_LIMIT // 2 + 12345  # at 0.01 some 9.6 bits each
    layer = RedisBloomLayer(capacity, 0.01)
    bits = random.Random(8).randbytes(1000) + bytes(len(layer.bits) - 1001) + b"\x80"
    data = REDISBLOOM_FIXED.pack(7, 1, 13, 2)
    data += REDISBLOOM_LAYER.pack(len(bits), layer.nbits, 7, 0.01, layer.bits_per_item, 7, capacity, 0)
    pieces = chunks(data + bits)
    assert [iterator for iterator, _ in pieces] == [1, CHUNK_LIMIT + 1, len(bits) + 1]
    load(call, "k", pieces)
    same = dump(call, "k") == pieces
    assert same
    assert call("RESTORE", "k2", 0, call("DUMP", "k").plain) == OK
    same = dump(call, "k2") == pieces
    assert same


def test_loadchunk_is_propagated_to_a_replica_as_it_came(new_server):
    from filters import QUIET, follow, until_in_sync

    master, replica = (new_server(config={**SERVER_CONFIG, **QUIET}, tcp=True) for _ in range(2))
    call = master.connection().call
    load(call, "before", FIXTURES["grown"].chunks)
    follow(replica, master)
    load(call, "after", FIXTURES["grown"].chunks)
    add_all(call, "before", [b"more:%d" % i for i in range(3000)])
    until_in_sync(replica, master)
    there = replica.connection().call
    assert_foreign(there, "after", FIXTURES["grown"])
    assert there("DUMP", "before") == call("DUMP", "before")
    assert there("REPLICAOF", "NO", "ONE") == OK
    assert there("BF.ADD", "before", "on the new master") == ONE


# ---- What is refused ---------------------------------------------------------------------------

WRONG = [
    {"items": 51}, {"items": 2**64 - 1}, {"items": 2**63, "size": 2**63}, {"nlayers": 0}, {"nlayers": 2},
    {"nlayers": 2**31}, {"nlayers": 2**32 - 1},
    *[{"options": x} for x in (0, 1, 4, 7, 8, 12, 15, 21, 2**32 - 1)],
    {"growth": 0},
    *[{"error": x} for x in (NAN, INF, -INF, 0.0, -0.01, 1.0)],
    *[{"bpe": x} for x in (NAN, INF, -INF, 0.0, -1.0, 1e308, 5e-324, 100.0)],
    *[{"hashes": x} for x in (0, 7, 9, 2**31, 2**32 - 1)],
    {"bpe": NAN, "hashes": 2**31}, {"bpe": 1e9, "hashes": 693147181},
    *[{"bits": x} for x in (0, 1, 1151, 1153, 2**40, 2**64 - 1)],
    *[{"bytes": x} for x in (0, 143, 145, 2**40, 2**61, 2**64 - 1)],
    {"bytes": 2**58, "bits": 2**61}, {"bytes": 2**61, "bits": 0},
    *[{"capacity": x} for x in (0, 2**63, 2**64 - 1)],
    *[{"size": x} for x in (0, 49, 2**64 - 1)],
    *[{"n2": x} for x in (1, 6, 10, 63, 255)],
]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG, ids=str)
def test_a_wrong_field_is_refused_in_chunks_and_payloads(server, call, fields):
    data = with_fields(FIXTURES["auto"].data, **fields)
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", 1, data[:73])
    if set(fields) & {"bytes", "nlayers"}:
        return  # the length is the string's own there; the layers are not there at all
    start = len(server.log)
    assert call("RESTORE", "k", 0, payload(data)) == error(BAD_FORMAT)
    assert server.log[start:].count(LOG_LINE) == 1
    assert call("EXISTS", "k") == ZERO


@pytest.mark.parametrize("nlayers", [0, 2, 65537, 2**32, 2**62, 2**64 - 1])
def test_a_wrong_number_of_layers_in_a_payload_is_refused(call, nlayers):
    """It is refused before anything of that size is allocated."""
    fixture = FIXTURES["auto"]
    value = rdb_value(fixture.data)
    at = value.index(b"\x02\x01\x02\x05") + 1  # layers, options
    number = b"\x81" + struct.pack(">Q", nlayers)
    from make_golden import with_footer

    assert call("RESTORE", "k", 0, with_footer(value[:at] + number + value[at + 1 :])) == error(BAD_FORMAT)


@pytest.mark.parametrize("encoding", [0, 1, 2, 3, 5, 1023])
def test_another_encoding_version_is_refused_with_one_line(server, call, encoding):
    """Version 2, of RedisBloom 1.x, has no public description."""
    start = len(server.log)
    assert call("RESTORE", "k", 0, payload(FIXTURES["auto"].data, encoding)) == error(BAD_FORMAT)
    (line,) = [line for line in server.log[start:].splitlines() if LOG_LINE in line]
    assert "encoding version" in line


def test_a_file_that_cannot_be_loaded_stops_the_start_with_one_line(new_server, tmp_path):
    data = bytearray(DUMP_FILE.read_bytes()[:-8] + bytes(8))  # without a checksum
    value = FIXTURES["auto"].payload[1:-10]
    at = data.index(value)
    data[at + value.index(b"\x02\x05\x02\x02") + 1] = 4  # other options
    (tmp_path / "dump.rdb").write_bytes(data)
    with pytest.raises(ServerDied) as death:
        start_on(new_server, tmp_path / "dump.rdb")
    assert str(death.value).count(LOG_LINE + "options") == 1


def test_redisblooms_header_in_a_value_of_our_own_type_is_refused(call):
    from make_golden import payload as own_payload

    fixture = FIXTURES["auto"]
    assert call("RESTORE", "k", 0, own_payload([fixture.chunks[0][1]])) == error(BAD_FORMAT)


def test_max_bytes_holds_for_redisblooms_chunks_too(call):
    header = FIXTURES["grown"].chunks[0][1]
    call("CONFIG", "SET", "bf.max-bytes", "10000")
    try:
        assert_refused(call, NO_MEMORY, "BF.LOADCHUNK", "k", 1, header)
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0")


# ---- Damage: a sample; `make test-damaged` has all of it ---------------------------------------


def use(connection, key):
    """Every command on the filter answers, whatever its bits are; any answer is accepted."""
    commands = [
        ("BF.MEXISTS", key, "a", "b", "fixture:0"),
        ("BF.MADD", key, *("new%d" % i for i in range(5))),
        ("BF.INFO", key),
        ("BF.DEBUG", key),
        ("BF.SCANDUMP", key, 0),
        ("DEL", key),
    ]
    assert connection.pipeline(commands)[-1] == ONE


def test_every_flipped_byte_and_truncation_of_a_payload_is_harmless(server, call):
    connection, taken = server.connection(), 0
    spoiler = Spoiler(FIXTURES["auto"].payload)
    call("CONFIG", "SET", "bf.max-bytes", "100mb")
    for mask in (0x01, 0x80, 0xFF):
        for _, spoiled in spoiler.flips(mask, ID_BYTES):
            if connection.call("RESTORE", "k", 0, spoiled) == OK:
                taken += 1
                use(connection, "k")
    assert taken > 3 * 144  # the bits cannot be wrong
    for size, spoiled in spoiler.truncations(ID_BYTES):
        assert connection.call("RESTORE", "k", 0, spoiled) == error(BAD_FORMAT), size
    assert call("DBSIZE") == ZERO
    call("CONFIG", "SET", "bf.max-bytes", "0")


def test_every_flipped_bit_and_truncation_of_a_header_is_harmless(server, call):
    connection = server.connection()
    call("CONFIG", "SET", "bf.max-bytes", "100mb")
    header = FIXTURES["tight"].chunks[0][1]
    for at in range(len(header)):
        for bit in range(8):
            bad = bytearray(header)
            bad[at] ^= 1 << bit
            if connection.call("BF.LOADCHUNK", "k", 1, bad) == OK:
                use(connection, "k")
    for size in range(len(header)):
        assert connection.call("BF.LOADCHUNK", "k", 1, header[:size]) == error(BAD_DATA)
    assert call("DBSIZE") == ZERO
    call("CONFIG", "SET", "bf.max-bytes", "0")


def test_clear_forgets_items_whose_bits_have_not_come(call):
    """A header alone counts items already; RedisBloom's pieces may come at any time, or never."""
    model = RedisBloom(0.01, 100)
    for i in range(5):
        model.add(b"%d" % i)
    assert call("BF.LOADCHUNK", "k", "1", model.header) == OK
    assert call("BF.CARD", "k") == integer(5)
    assert call("BF.CLEAR", "k") == OK
    assert call("BF.CARD", "k") == integer(0)
