"""Filters of other libraries in the tool. What the libraries made is in tests/golden/formats: it is recognised, its
answers are the library's, it is written again byte for byte, and `build` makes it of the items.

Tables of RocksDB are in test_tool_sst.py, Redisson's filters in test_tool_redisson.py.
"""

import json
import re
import subprocess

import pytest

from test_tool import TOOL, WORDS, info, lines, r, run, server, words_file  # noqa: F401  (fixtures)

from foreign_fixtures import FIXTURES, IMPORTABLE
from foreign_formats import Cassandra

FILES = {name: one for name, one in IMPORTABLE.items() if one.path.suffix != ".json"}  # JSON is no format of ours
CASSANDRA = {name: one for name, one in FILES.items() if one.variant}
ALL = pytest.mark.parametrize("fixture", FILES.values(), ids=FILES)


def hexed(items):
    return lines(item.hex().encode() for item in items)


def how(fixture):
    """The words that name the format, where the bytes do not."""
    return ["--from", "cassandra", "--variant", fixture.variant] if fixture.variant else []


def words_of(fixture):
    return ["--variant", fixture.variant] if fixture.variant else []


# what is read


@ALL
def test_info_recognises_all_that_can_be_told_from_bytes(fixture):
    if fixture.variant:
        error = run("info", fixture.path, status=2)
        assert "looks like a Cassandra filter, which --from cassandra --variant old, 3.x or 4.x reads" in error
    expected = "sst" if fixture.path.suffix == ".sst" else fixture.format.name
    told, model = info(fixture.path, *how(fixture)), fixture.model
    assert told["format"] == expected
    assert (told["bits"], told["hashes"], told["hash"]) == (model.m, model.k, model.scheme.lower())


@ALL
def test_every_answer_is_the_librarys(fixture):
    found = run("check", "--hex", *how(fixture), fixture.path, stdin=hexed(fixture.probes))
    assert found == hexed(item for item, answer in zip(fixture.probes, fixture.answers) if answer)


@ALL
def test_converted_to_a_dump_and_back_it_is_the_librarys_file(tmp_path, fixture):
    dump = tmp_path / "f.dump"
    run("convert", *how(fixture), "--to", "dump", "-o", dump, fixture.path)
    assert run("convert", "--to", fixture.format.name, *words_of(fixture), dump) == fixture.data
    assert run("check", "--hex", "-c", dump, stdin=hexed(fixture.added)) == b"%d\n" % len(fixture.added)


@ALL
def test_pushed_and_pulled_it_is_the_librarys_file(server, r, fixture):  # noqa: F811
    where = ("-s", server.socket, "--key", "k")
    run("push", *how(fixture), *where, fixture.path)
    assert run("pull", *where, "--format", fixture.format.name, *words_of(fixture)) == fixture.data
    some = fixture.probes[::40]
    assert r.execute_command("BF.MEXISTS", "k", *some) == fixture.answers[::40]


@ALL
def test_merged_with_itself_and_an_empty_one_it_is_the_librarys_file(tmp_path, fixture):
    same, empty = tmp_path / "same", tmp_path / "empty"
    same.write_bytes(fixture.data)
    empty.write_bytes(fixture.model.empty().data)
    assert run("merge", *how(fixture), same, empty) == fixture.data


# what is built


def sized_by(fixture):
    """The options that make the size of the library's filter. None: the library was given a size that we do not
    choose, or made a kind of filter that only old programs make."""
    p = fixture.params
    name = fixture.format.name
    if name == "guava" and p["strategy"] == "MURMUR128_MITZ_64":  # Guava has made no other since version 18
        return "--error", p["fpp"], "--capacity", p["expectedInsertions"]
    if name == "spark" and "fpp" in p:  # the others are of create(n, number of bits)
        variant = "v2" if fixture.entry["version"] >= "4.1" else "v1"  # what create(n, p) makes there
        return "--error", p["fpp"], "--capacity", p["expectedNumItems"], "--variant", variant
    if name == "cassandra":
        return "--error", p["maxFalsePosProbability"], "--capacity", p["numElements"], *words_of(fixture)
    if name == "bip37" and fixture.entry["added"] <= p["elements"]:  # build refuses more
        return "--error", p["fpr"], "--capacity", p["elements"]
    if name == "rocksdb" and p["format_version"] >= 5:
        return "--bits-per-key", p["bits_per_key"], "--capacity", len(fixture.added)
    if name == "datasketches":
        return "--error", p["fpp"], "--capacity", p["n"]
    return None  # go: New(m, k), m and k chosen by hand; see the test of its own


def ours(fixture):
    """The library's file, but for the seed or tweak that it was given: build's is 0."""
    model = fixture.model
    plain = {"bip37": {"tweak": 0, "flags": 0}, "datasketches": {"seed": 0}, "spark": {"seed": 0}}.get(model.name, {})
    fresh = model.empty()
    for field, value in plain.items():
        if hasattr(fresh, field):
            setattr(fresh, field, value)
    return fresh.add_all(fixture.added).data


BUILT = {name: one for name, one in FILES.items() if sized_by(one)}
SEEDED = {"bip37/pybitcoinlib.bin", "bip37/tweak0.bin", "datasketches/bytes.bin", "datasketches/i64.bin"}


@pytest.mark.parametrize("fixture", BUILT.values(), ids=BUILT)
def test_built_of_the_items_it_is_the_librarys_file_byte_for_byte(fixture):
    built = run("build", "--format", fixture.format.name, "--hex", *sized_by(fixture), stdin=hexed(fixture.added))
    assert built == ours(fixture)
    if fixture.name not in SEEDED:
        assert built == fixture.data


def test_most_fixtures_are_built_and_the_others_are_known():
    others = sorted(set(FILES) - set(BUILT))
    assert others == ["bip37/tweak7_all.bin", "go/m4096k5.bin", *("guava/mitz32_%s.bin" % rule for rule in ("bytes", "int", "long", "utf8")),
                      "rocksdb/fv4_legacy_bpk10.sst", "rocksdb/fv4_legacy_bpk6.sst",
                      *sorted(name for name in FILES if re.match(r"spark/s42_V", name))]


def test_gos_filters_have_the_size_of_new_with_estimates():
    """No fixture has it: those of Go were made by New(m, k). m = ceil(-n ln p / ln(2)^2), k = ceil(ln(2) m / n)."""
    fixture = FIXTURES["go/m4096k5.bin"]
    items = fixture.items(500)
    built = run("build", "--format", "go", "--hex", "--error", 0.04, "--capacity", 500, stdin=hexed(items))
    model = fixture.format.decode(built)
    assert (model.m, model.k) == (3350, 5)
    assert built == model.empty().add_all(items).data


@pytest.mark.parametrize("name", ["go", "bip37"])
def test_formats_whose_positions_need_the_item_are_built_of_files_and_of_pipes_with_a_capacity(tmp_path, words_file, name):  # noqa: F811
    built = run("build", "--format", name, words_file)
    assert run("build", "--format", name, "--capacity", len(WORDS), stdin=lines(WORDS)) == built
    path = tmp_path / "f"
    path.write_bytes(built)
    assert run("check", "--format", name, "-c", path, words_file) == b"%d\n" % len(WORDS)
    like = run("build", "--like", path, "--format", name, stdin=lines(WORDS[:4000]))
    assert like != built and len(like) == len(built)
    path.write_bytes(like)
    assert run("check", "--format", name, "-c", path, stdin=lines(WORDS[:4000])) == b"4000\n"
    error = run("build", "--format", name, stdin=lines(WORDS), status=2)
    assert error == "bloomport: a filter with hash %s needs --capacity, or items from plain files\n" % name


@pytest.mark.parametrize("name", ["go", "bip37"])
def test_formats_whose_positions_need_the_item_are_not_built_of_a_servers_set(server, r, name):  # noqa: F811
    r.sadd("s", "a", "b")
    for more in [], ["--capacity", 5]:
        error = run("build", "--from-set", "s", "-s", server.socket, "--format", name, *more, status=2)
        assert "a filter with hash %s needs items from files or a pipe" % name in error


@pytest.mark.parametrize("name", ["guava", "spark", "cassandra", "rocksdb", "datasketches"])
def test_files_pipes_and_columns_build_the_same_bytes(tmp_path, words_file, name):  # noqa: F811
    built = run("build", "--format", name, words_file)
    assert run("build", "--format", name, stdin=lines(WORDS)) == built
    table = tmp_path / "table"
    table.write_bytes(lines(b'x,"%s"' % word for word in WORDS))
    assert run("build", "--format", name, "--column", 2, "--delimiter", ",", table) == built


@pytest.mark.parametrize("words, expected", [
    (["--format", "redisson"], "build cannot make a Redisson filter: m and k are in a hash on the server, {name}:config"),
    (["--format", "guava", "--expansion", 2], "--format guava has one layer: it does not go with --expansion"),
    (["--format", "guava", "--hash", "fnv1a"], "--format guava has a layout and a hash of its own"),
    (["--format", "sst"], "cannot write sst: only RocksDB makes tables, the format rocksdb is their filter"),
    (["--format", "cassandra", "--error", 1e-9], "cassandra has no filter of this size and error rate"),
    (["--variant", "3.x"], "--variant goes with --format, which it is of"),
    (["--format", "spark", "--variant", "3.x"], "--variant: format spark has no variant '3.x'"),
    (["--format", "cassandra", "--variant", "5"], "--variant: format cassandra has no variant '5'"),
])
def test_what_cannot_be_built_is_an_error_that_says_why(words, expected):
    assert expected in run("build", *words, stdin=b"a\nb\n", status=2)


# Cassandra's variants


@pytest.fixture
def cassandra(tmp_path):
    """cassandra(variant, name) -> a file of such a filter with 300 items."""
    def make(variant, name):
        path = tmp_path / name
        path.write_bytes(Cassandra(3520, 5, variant=variant).add_all(WORDS[:300]).data)
        return path

    return make


@pytest.mark.parametrize("command", [["info"], ["check"], ["convert", "--to", "dump"], ["push", "--key", "k"]])
def test_a_cassandra_filter_needs_its_variant(server, r, cassandra, command):  # noqa: F811
    path = cassandra("4.x", "Filter.db")
    where = ["-s", server.socket] if command[0] == "push" else []
    error = run(*command, *where, "--from", "cassandra", path, status=2)
    assert error.endswith(": --from cassandra needs --variant old, 3.x or 4.x: the bytes do not tell which it is, nor does "
                          "the file's name\n")
    run(*command, *where, "--from", "cassandra", "--variant", "4.x", path, stdin=lines(WORDS[:1]))


@pytest.mark.parametrize("name, variant", [
    ("ks-table-ic-5-Filter.db", "old"), ("ks-table-ka-12-Filter.db", "old"), ("la-1-big-Filter.db", "old"),
    ("lb-77-big-Filter.db", "old"), ("ma-2-big-Filter.db", "3.x"), ("md-1-big-Filter.db", "3.x"),
    ("na-1-big-Filter.db", "4.x"), ("nb-1-big-Filter.db", "4.x"), ("oa-3-big-Filter.db", "4.x"),
    ("da-1-bti-Filter.db", "4.x"), ("nb-3gm0_0yh6_3r0n42dwzh5j5cymom-big-Filter.db", "4.x")])
def test_a_name_that_tells_the_variant_is_enough(cassandra, name, variant):
    path = cassandra(variant, name)
    assert info(path)["format"] == "cassandra"
    assert run("check", "-c", path, stdin=lines(WORDS[:300])) == b"300\n"
    assert run("check", "--from", "cassandra", "-c", path, stdin=lines(WORDS[:300])) == b"300\n"
    assert run("convert", "--to", "cassandra", path) == path.read_bytes()  # as it was read
    assert run("merge", path, path) == path.read_bytes()
    other = "old" if variant != "old" else "4.x"  # what is said wins over the name
    assert int(run("check", "--from", "cassandra", "--variant", other, "--absent", "-c", path, stdin=lines(WORDS[:300]))) > 0


@pytest.mark.parametrize("name", ["Filter.db", "big-Filter.db", "nb-1-big-Data.db", "nb-1-big-Filter.db.bak", "NB-1-big-Filter.db",
                                  "nb1-1-big-Filter.db", "nb-1-Filter.db", "aa-1-bti-Filter.db", "nb-1-mid-Filter.db",
                                  "ks-table-nb-1-Filter.db", "-Filter.db"])
def test_other_names_tell_no_variant(cassandra, name):
    assert "looks like a Cassandra filter" in run("info", "./" + name, cwd=cassandra("4.x", name).parent, status=2)


def test_a_name_alone_makes_no_cassandra_filter(tmp_path, words_file):  # noqa: F811
    path = tmp_path / "nb-1-big-Filter.db"
    run("build", "--format", "guava", "-o", path, words_file)
    assert info(path)["format"] == "guava"


def test_the_variant_that_is_written_can_be_named(tmp_path, cassandra):
    data = {variant: cassandra(variant, "f" + variant) for variant in ("old", "3.x", "4.x")}
    dump = tmp_path / "dump"
    run("convert", "--from", "cassandra", "--variant", "3.x", "--to", "dump", "-o", dump, data["3.x"])
    assert run("convert", "--to", "cassandra", dump) == data["4.x"].read_bytes()  # the newest
    for variant in "3.x", "4.x":
        assert run("convert", "--to", "cassandra", "--variant", variant, dump) == data[variant].read_bytes()
    error = run("convert", "--to", "cassandra", "--variant", "old", dump, status=2)
    assert "cannot write cassandra: hash is that of Cassandra 3.0 and later" in error
    built = {variant: run("build", "--format", "cassandra", "--variant", variant, stdin=lines(WORDS[:300]))
             for variant in ("old", "3.x", "4.x")}
    assert built["4.x"] == run("build", "--format", "cassandra", stdin=lines(WORDS[:300]))
    for variant, bytes_ in built.items():
        assert bytes_ == Cassandra.decode(bytes_, variant).empty().add_all(WORDS[:300]).data


def test_a_variant_of_another_format_is_an_error(tmp_path, words_file):  # noqa: F811
    path = tmp_path / "f"
    run("build", "-o", path, words_file)
    for command in ["info"], ["check"]:
        assert "--variant goes with --format" in run(*command, "--variant", "old", path, status=2)
    assert "format portable has no variant 'old'" in run("convert", "--to", "portable", "--variant", "old", path, status=2)


def test_a_spark_filter_is_not_written_in_the_version_that_it_is_not():
    for name, other in ("spark/s40_default_utf8.bin", 2), ("spark/s42_default_utf8.bin", 1):
        path = FIXTURES[name].path
        expected = "cannot write spark: hash is that of Spark's version %d, use v%d" % (3 - other, 3 - other)
        assert expected in run("convert", "--to", "spark", "--variant", "v%d" % other, path, status=2)
        assert run("convert", "--to", "spark", "--variant", "v%d" % (3 - other), path) == path.read_bytes()


def test_a_file_recognised_by_its_name_is_converted_to_another_variant(cassandra):
    old, new = cassandra("3.x", "ma-2-big-Filter.db"), cassandra("4.x", "expected")
    assert run("convert", "--to", "cassandra", "--variant", "4.x", old) == new.read_bytes()
    assert run("merge", "--format", "cassandra", "--variant", "4.x", old, old) == new.read_bytes()


def test_redissons_bits_alone_are_an_error_that_says_where_the_rest_is():
    fixture = FIXTURES["redisson/bytes.bitmap"]
    assert "{name}:config: pull --redisson reads both" in run("info", "--from", "redisson", fixture.path, status=2)


# many files


def test_info_of_many_files_has_a_line_for_each(tmp_path):
    paths = [FIXTURES[name].path for name in ("guava/mitz64_bytes.bin", "spark/s42_default_utf8.bin", "rocksdb/fv5_bpk10.sst")]
    heading, *rows = run("info", *paths).decode().splitlines()
    assert heading.split() == ["format", "hash", "layers", "k", "bits", "fill", "estimated", "items", "error", "rate", "file"]
    for path, row in zip(paths, rows):
        told = info(path)
        assert row.split() == [told["format"], told["hash"], "1", str(told["hashes"]), str(told["bits"]),
                               "%.6f" % told["fill"], str(told["estimated_items"]), "%.6g" % told["current_error_rate"], str(path)]
    assert len(rows) == 3
    for path, text in zip(paths, run("info", "--json", *paths).splitlines()):
        assert json.loads(text) == {"file": str(path), **info(path)}


def test_a_file_without_a_filter_has_a_line_that_says_so_and_the_list_goes_on(tmp_path):
    good = FIXTURES["guava/mitz64_bytes.bin"].path
    bad = tmp_path / 'te"x\\t\x1b[2J'
    bad.write_bytes(b"some text\n")
    for options, last in ([], str(good)), (["--json"], "}"):
        done = subprocess.run([TOOL, "info", *options, bad, good], capture_output=True, check=False, timeout=60)
        assert done.returncode == 2 and done.stderr == b"bloomport: 1 of 2 files have no filter to show\n"
        rows = done.stdout.decode().splitlines()[0 if options else 1:]
        assert len(rows) == 2 and rows[1].endswith(last) and "\x1b" not in rows[0]
        if options:
            name = str(bad).replace("\x1b", "?")
            assert json.loads(rows[0]) == {"file": name, "error": "not a filter file (looks like text)"}
        else:
            assert rows[0].startswith("- ") and rows[0].endswith(": not a filter file (looks like text)")
