"""The filter inside a table of RocksDB: what the tool extracts, what it refuses by name, and every damage."""

import random
import struct
import subprocess

import pytest

from tables import EXTRACTOR, FULL, KEYS, LINE, MAGIC, PREFIXES, block, entry, footer, metaindex, table, varint
from test_tool import TOOL, info, lines, r, run, server  # noqa: F401  (fixtures)

from foreign_fixtures import FIXTURES, PREFIXED

REAL = {name: one for name, one in FIXTURES.items() if one.path.suffix == ".sst"}
NO_FILTER = "no filter can be extracted from this table: "


@pytest.fixture
def fault(tmp_path):
    """fault(bytes) -> why no filter can be extracted from a table: the same from a file and from a pipe."""
    path = tmp_path / "t.sst"

    def ask(data):
        path.write_bytes(data)
        error = run("convert", "--from", "sst", "--to", "rocksdb", path, status=2)
        piped = run("convert", "--from", "sst", "--to", "rocksdb", "-", stdin=data, status=2)
        assert piped == error.replace(str(path), "-")
        return error[len("bloomport: %s: " % path):-1].replace(NO_FILTER, "")

    return ask


@pytest.mark.parametrize("fixture", REAL.values(), ids=REAL)
def test_the_filter_block_of_a_real_table_is_extracted(tmp_path, fixture):
    for words in ["--from", "sst"], []:
        assert run("convert", *words, "--to", "rocksdb", fixture.path) == fixture.data
        assert run("convert", *words, "--to", "rocksdb", "-", stdin=fixture.path.read_bytes()) == fixture.data
    block_file = tmp_path / "f"
    block_file.write_bytes(fixture.data)
    assert {**info(fixture.path), "format": "rocksdb"} == info(block_file)


def test_only_the_needed_parts_of_a_large_table_are_read(tmp_path):
    path = tmp_path / "large.sst"
    index = metaindex([(FULL, varint(1 << 40) + varint(len(LINE)))])
    with open(path, "wb") as file:  # a terabyte, of which almost nothing is there
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write(block(LINE) + block(index) + footer(5, (1 << 40) + len(LINE) + 5, len(index)))
    assert run("convert", "--to", "rocksdb", path) == LINE


@pytest.mark.parametrize("version", range(1, 8))
def test_every_footer_is_read(version, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(table(version=version, others=[b"fullfilter.another", b"fullfilter.rocksdb."], properties={KEYS: b"1"}))
    assert run("convert", "--to", "rocksdb", path) == LINE


@pytest.mark.parametrize("data, expected", [
    (table(name=None), "it has no filter"),
    (table(name=None, properties={}), "it has no filter"),
    (table(name=b"partitionedfilter.rocksdb.BuiltinBloomFilter"), "its filter is partitioned, which is many filters"),
    (table(name=b"filter.rocksdb.BuiltinBloomFilter"), "it has a filter for each block, as RocksDB made before 7.0"),
    (table(name=b"fullfilter.mine"), "its filter is that of another policy"),
    (table(name=FULL + b"2"), "its filter is that of another policy"),
    (table(LINE[:64] + b"\xfe\0\6\0\0"), "its filter is a Ribbon filter, not a Bloom filter"),
    (table(compression=(1, 0)), "its filter is compressed"),
    (table(compression=(0, 7)), "its metaindex is compressed"),
    (table(version=0), "its format_version is none of 1 to 7"),
    (table(version=8), "its format_version is none of 1 to 7"),
    (b"", "it is not a table of RocksDB"),
    (struct.pack("<Q", MAGIC), "it is not a table of RocksDB"),
    (b"x" * 100, "it is not a table of RocksDB"),
    (footer(5, 0, 0), "bad footer"),
    (footer(6, 0, 0), "bad footer"),
    (footer(5, 0, 1 << 63), "bad footer"),
    (footer(5, (1 << 64) - 1, (1 << 64) - 1), "bad footer"),
    (bytes(100) + footer(6, 0, 96), "bad footer"),
    (block(b"") + footer(5, 0, 0), "bad metaindex"),
    (block(struct.pack("<I", 1)) + footer(5, 0, 4), "bad metaindex"),
    (block(b"\x05\x01\x00x" + struct.pack("<II", 0, 1)) + footer(5, 0, 12), "bad metaindex"),
    (block(b"\x00\x7f\x00x" + struct.pack("<II", 0, 1)) + footer(5, 0, 12), "bad metaindex"),
    (block(b"\xff" * 12 + struct.pack("<II", 0, 1)) + footer(5, 0, 20), "bad metaindex"),
    (table(b"\0" * 3), "bad rocksdb data: shorter than a line and its trailer"),
    (table(LINE[:64] + b"x" + LINE[64:]), "bad rocksdb data: length is not that of whole lines"),
], ids=range(26))
def test_what_cannot_be_extracted_is_refused_by_name(fault, data, expected):
    assert fault(data) == expected


@pytest.mark.parametrize("at, size", [(0, 1000), (1000, 1), (1 << 63, 1 << 63), ((1 << 64) - 1, 1), (0, (1 << 64) - 1)])
def test_a_filter_that_is_not_in_the_file_is_refused(fault, at, size):
    index = metaindex([(FULL, varint(at) + varint(size))])
    assert fault(block(index) + footer(5, 0, len(index))) == "bad place of the filter"
    index = metaindex([(FULL, b"\xff")])
    assert fault(block(index) + footer(5, 0, len(index))) == "bad place of the filter"


def test_names_longer_than_any_that_is_looked_for_do_no_harm(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(table(others=[b"a" * 300, b"a" * 300 + b"b" * 300, b"a" * 700, b"fullfilter." + b"x" * 5000]))
    assert run("convert", "--to", "rocksdb", path) == LINE


def test_a_name_is_built_upon_the_one_before(tmp_path):
    data = block(LINE)
    value = varint(0) + varint(len(LINE))
    index = entry(b"fullfilter.", b"") + entry(FULL, value, b"fullfilter.") + struct.pack("<II", 0, 1)
    path = tmp_path / "t"
    path.write_bytes(data + block(index) + footer(5, len(data), len(index)))
    assert run("convert", "--to", "rocksdb", path) == LINE


# What a filter's items are: keys, prefixes, or both

ALONE = {name: one for name, one in PREFIXED.items() if not one.params["whole_key_filtering"]}
BOTH = PREFIXED["rocksdb/fv5_both4_bpk6.sst"]
DENIED = "its filter has prefixes of keys and no whole keys, which it would deny"
HINT = " (--prefix of check, info, merge, convert and push reads it as a filter of prefixes)"


def noted(*words, stdin=b""):
    """What a command that succeeds prints, and what it says."""
    done = subprocess.run([TOOL, *map(str, words)], input=stdin, capture_output=True, check=True, timeout=60)
    return done.stdout, done.stderr.decode()


def hexed(items):
    return lines(item.hex().encode() for item in items)


def found_in(fixture):
    return [item for item, answer in zip(fixture.probes, fixture.answers) if answer]


@pytest.mark.parametrize("fixture", ALONE.values(), ids=ALONE)
def test_a_filter_without_whole_keys_is_refused_at_every_door_and_says_why(tmp_path, server, r, fixture):  # noqa: F811
    path, whole = fixture.path, REAL["rocksdb/fv5_bpk6.sst"].path
    keys = tmp_path / "keys"
    keys.write_bytes(b"any\n")
    doors = [["info", path], ["check", path, keys], ["convert", path, "--to", "dump"], ["merge", path, path, whole],
             ["merge", whole, path], ["push", path, "--key", "k", "-s", server.socket], ["build", "--like", path, keys]]
    for words in doors:
        for named in [], ["--from", "sst"]:
            if named and words[0] == "build":
                continue
            error = run(*words, *named, status=2)
            assert NO_FILTER + DENIED + HINT + "; prefixes by rocksdb.FixedPrefix.4\n" in error, words
    assert not r.exists("k")
    assert DENIED in run("info", "-", stdin=path.read_bytes(), status=2)
    rows = subprocess.run([TOOL, "info", whole, path], capture_output=True, check=False).stdout.decode().splitlines()
    assert rows[1].startswith("sst ") and rows[2].startswith("- ") and DENIED in rows[2]


@pytest.mark.parametrize("fixture", ALONE.values(), ids=ALONE)
def test_with_prefix_it_answers_for_prefixes_as_rocksdb_does(tmp_path, server, r, fixture):  # noqa: F811
    assert 0 < sum(fixture.answers[100:]) and all(fixture.answers[:100])  # false positives are among them
    found, said = noted("check", "--prefix", "--hex", fixture.path, stdin=hexed(fixture.probes))
    assert found == hexed(found_in(fixture))
    assert "read as a filter of prefixes (rocksdb.FixedPrefix.4): a key that has none is not in it" in said
    assert run("convert", "-q", "--prefix", "--to", "rocksdb", fixture.path) == fixture.data
    run("push", "-q", "--prefix", fixture.path, "--key", "k", "-s", server.socket)
    assert r.execute_command("BF.MEXISTS", "k", *fixture.probes) == fixture.answers
    other = tmp_path / "other.sst"
    other.write_bytes(fixture.path.read_bytes())
    assert run("merge", "-q", "--prefix", fixture.path, other) == fixture.data


def test_a_filter_of_keys_and_prefixes_is_read_and_this_is_said(server, r):  # noqa: F811
    found, said = noted("check", "--hex", BOTH.path, stdin=hexed(BOTH.probes))
    assert found == hexed(found_in(BOTH))
    assert "its filter has prefixes (rocksdb.FixedPrefix.4) beside whole keys: it finds both" in said
    for words in ["info", BOTH.path], ["convert", "--to", "rocksdb", BOTH.path]:
        assert "beside whole keys" in noted(*words)[1]
    _, said = noted("push", BOTH.path, "--key", "both", "-s", server.socket)
    assert "beside whole keys" in said
    assert r.execute_command("BF.MEXISTS", "both", *BOTH.probes) == BOTH.answers


def test_the_prefixes_of_such_a_filter_are_found_with_prefix():
    prefixes = [probe[:4] for probe in BOTH.probes]
    found, said = noted("check", "--prefix", "--hex", BOTH.path, stdin=hexed(prefixes))
    assert found == hexed(p for p, answer in zip(prefixes, BOTH.entry["prefix_answers"]) if answer == "1")
    assert "read as a filter of prefixes" in said


def test_whole_keys_alone_are_read_without_a_word_and_not_with_prefix():
    path = REAL["rocksdb/fv5_bpk6.sst"].path
    assert noted("info", path)[1] == ""
    assert NO_FILTER + "its filter has whole keys and no prefixes" in run("info", "--prefix", path, status=2)


def test_prefix_is_of_tables_alone(tmp_path):
    path = tmp_path / "block"
    path.write_bytes(LINE)
    assert "--prefix reads tables of RocksDB (sst), and this is rocksdb" in run("info", "--prefix", path, status=2)


@pytest.mark.parametrize("properties, expected", [
    ({KEYS: b"0"}, "its filter has no whole keys, which it would deny"),
    ({KEYS: b"0", PREFIXES: b"0"}, "its filter has no whole keys, which it would deny"),
    ({KEYS: b"0", PREFIXES: b"1"}, DENIED + HINT),
    ({KEYS: b"0", PREFIXES: b"1", EXTRACTOR: b"\x1b[2J"}, DENIED + HINT + "; prefixes by ?[2J"),
    ({KEYS: b"2"}, "bad properties"),
    ({KEYS: b""}, "bad properties"),
    ({KEYS: b"00"}, "bad properties"),
    ({KEYS: b"1", PREFIXES: b"yes"}, "bad properties"),
    (b"", "bad properties"),
    (b"\0\xff\xff", "bad properties"),
], ids=range(10))
def test_properties_that_do_not_say_whole_keys_are_a_refusal(fault, properties, expected):
    assert fault(table(properties=properties)) == expected


def test_properties_that_cannot_be_read_are_a_refusal(fault):
    assert fault(table(properties={KEYS: b"1"}, compression=(0, 0, 7))) == "its properties are compressed"
    for value in varint(1 << 40) + varint(8), b"\xff", varint(0) + varint(1 << 30):
        index = metaindex([(FULL, varint(0) + varint(len(LINE))), (b"rocksdb.properties", value)])
        data = block(LINE)
        assert fault(data + block(index) + footer(5, len(data), len(index))) == "bad place of the properties"


def test_an_extractors_name_is_cut_and_none_is_said_so(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(table(properties={KEYS: b"1", PREFIXES: b"1", EXTRACTOR: b"x" * 300}))
    assert "(" + "x" * 63 + ")" in noted("info", path)[1]
    path.write_bytes(table(properties={KEYS: b"1", PREFIXES: b"1"}))
    assert "(an extractor without a name)" in noted("info", path)[1]


def test_a_table_of_leveldb_is_named(tmp_path):
    path = tmp_path / "000005.ldb"
    path.write_bytes(bytes(300) + struct.pack("<Q", 0xDB4775248B80FB57))
    assert "looks like a table of LevelDB, or of RocksDB's format_version 0" in run("info", path, status=2)


def test_tables_of_equal_size_are_merged_as_filters(tmp_path):
    paths = tmp_path / "a.sst", tmp_path / "b.sst"
    paths[0].write_bytes(table(b"\x0f" * 64 + LINE[64:]))
    paths[1].write_bytes(table(b"\xf0" * 64 + LINE[64:], version=6))
    assert run("merge", *paths) == b"\xff" * 64 + LINE[64:]


def damaged():
    """The smallest tables with every byte flipped and cut off at every place, and a sample of such real ones. The
    flips of a real table are of its last 1500 bytes, where all is that is read but for the filter."""
    source = random.Random(1905)
    for data in table(properties={KEYS: b"1", PREFIXES: b"0", EXTRACTOR: b"nullptr"}), table(version=6):
        yield from (data[:i] for i in range(len(data)))
        yield from (data[:i] + bytes([data[i] ^ 1 << source.randrange(8)]) + data[i + 1:] for i in range(len(data)))
    for name in "rocksdb/fv5_bpk6.sst", "rocksdb/jni_fv7_bpk6.sst", "rocksdb/fv4_legacy_bpk6.sst":
        data = FIXTURES[name].path.read_bytes()
        yield from (data[:source.randrange(len(data))] for _ in range(20))
        for i in source.sample(range(len(data) - 1500, len(data)), 150):
            yield data[:i] + bytes([source.randrange(256)]) + data[i + 1:]


def test_every_damage_gives_an_error_or_a_filter_and_never_a_crash(tmp_path):
    """In the list of `info` one bad file does not end the program: thousands are read by one process."""
    paths = []
    for i, data in enumerate(damaged()):
        paths.append(tmp_path / str(i))
        paths[-1].write_bytes(data)
    done = subprocess.run([TOOL, "info", "--from", "sst", *paths], capture_output=True, check=False, timeout=120)
    assert done.returncode == 2, done.stderr
    _, *rows = done.stdout.decode().splitlines()
    assert len(rows) == len(paths)
    good = sum(row.startswith("sst ") for row in rows)
    assert done.stderr.decode() == "bloomport: %d of %d files have no filter to show\n" % (len(paths) - good, len(paths))
    assert 100 < good < len(paths) - 100  # flips of bits and of checksums give filters
