"""valkey-bloom's filters through the tool and a real server. The oracle is what valkey-bloom itself recorded
(golden/valkeybloom): the argument of BF.LOAD, which is the format `valkeybloom`, and the answers to 5000 probes.
"""

import json
import random
import struct

import pytest

from test_tool import REPO, WORDS, built, info, lines, r, run, server, words_file  # noqa: F401  (fixtures)

GOLDEN = REPO / "tests" / "golden" / "valkeybloom"
PROBES = [b"vbfix:probe:%d" % j for j in range(5000)]
TYPE = b"bloomfltr"
FIXED = struct.Struct("<BIddBQ")  # version, expansion, error rate, ratio, seed flag, layers
ARRAY = struct.Struct("<BQI32s")  # version, bytes of bits, k, seed
COUNTS = struct.Struct("<QQ")  # items, capacity
SEED = bytes(range(32))


class Recorded:
    def __init__(self, line):
        key, count, further, answers, data = line.split()
        self.key, self.data = key, bytes.fromhex(data)
        self.items = [b"vbfix:%d" % i for i in range(int(count))]
        self.items += [bytes.fromhex(item[1:]) for item in further.split(",") if item != "-"]
        bits = int.from_bytes(bytes.fromhex(answers), "big")
        self.found = [probe for j, probe in enumerate(PROBES) if bits >> (4999 - j) & 1]


def recorded():
    """Those whose BF.LOAD is recorded: all but the two largest, and those of the version before 1.0."""
    rows = (GOLDEN / "filters.txt").read_text(encoding="ascii").splitlines()[1:]
    return {row.split()[0]: Recorded(row) for row in rows if row.split()[-1].startswith("01")}


FIXTURES = recorded()
MANIFEST = {row["key"]: row for row in json.loads((GOLDEN / "manifest.json").read_text(encoding="utf-8"))["filters"]
            if "key" in row}


def load_string(layers, expansion=2, error_rate=0.01, ratio=0.5, flag=1, seed=SEED):
    """BF.LOAD's argument. A layer: bits, k, items, capacity."""
    out = FIXED.pack(1, expansion, error_rate, ratio, flag, len(layers))
    for bits, k, items, capacity in layers:
        array = ARRAY.pack(1, len(bits), k, seed) + bits
        out += struct.pack("<Q", len(array)) + array + COUNTS.pack(items, capacity)
    return out


@pytest.fixture
def file(tmp_path):
    """file(bytes) -> the path of a file that has them."""
    count = iter(range(1000))

    def make(data):
        path = tmp_path / ("file%d" % next(count))
        path.write_bytes(data)
        return path

    return make


def test_the_recorded_filters_are_there():
    assert len(FIXTURES) == 22 and sum(len(fixture.found) > 0 for fixture in FIXTURES.values()) > 15


# files


@pytest.mark.parametrize("key", FIXTURES)
def test_valkeyblooms_file_is_recognised_and_answers_as_valkeybloom_did(file, key):
    fixture = FIXTURES[key]
    path = file(fixture.data)
    seen = info(path)
    assert (seen["format"], seen["hash"], seen["layout"]) == ("valkeybloom", "sip13", "classic")
    if key in MANIFEST:
        row = MANIFEST[key]
        assert (seen["items"], seen["capacity"]) == (row["card"], row["info"]["Capacity"])
        assert seen["expansion"] == row["expansion"] and not seen["items_are_estimated"]
        assert [(layer["bits"], layer["hashes"], layer["ones"]) for layer in seen["layers"]] == \
            [(layer["bits"], layer["hashes"], layer["bits_set"]) for layer in row["layers"]]
    expected = lines(fixture.found, b"\0")
    assert run("check", "-0", path, stdin=lines(PROBES, b"\0"), status=0 if expected else 1) == expected
    digits = lines(item.hex().encode() for item in fixture.items)
    absent = run("check", "--hex", "-c", "-v", path, stdin=digits, status=1)
    assert absent == b"0\n"
    assert run("convert", path, "--to", "valkeybloom") == fixture.data


def test_info_names_the_hash_and_keeps_the_seed_to_itself(file):
    data = load_string([(b"\1" * 120, 7, 50, 100)])
    for path in file(data), file(run("convert", file(data), "--to", "dump")):
        for printed in run("info", path), run("info", "--json", path):
            assert b"sip13" in printed and SEED.hex().encode() not in printed
        assert b"hash                sip13\n" in run("info", path)


@pytest.mark.parametrize("key", ["one-grown", "seed-fixed"])
def test_every_truncation_is_refused_as_valkeyblooms(file, key):
    data = FIXTURES[key].data
    path = file(data)
    for n in range(FIXED.size, len(data)):
        path.write_bytes(data[:n])
        assert "bad valkeybloom data: " in run("info", path, status=2)
    assert "bad valkeybloom data: " in run("info", file(data + b"\0"), status=2)


@pytest.mark.parametrize("at, value, field", [
    (0, b"\2", None), (5, struct.pack("<d", 1.0), None), (5, struct.pack("<d", float("nan")), None),
    (13, struct.pack("<d", 2.0), None), (21, b"\2", None), (21, b"\0", "seed"), (22, b"\0", "layers"),
    (30, b"\1", "array"), (38, b"\2", "version"), (39, b"\1", "bits"), (47, bytes(4), "hashes"),
    (30 + 8 + 45 + 120, struct.pack("<Q", 101), "items"), (30 + 8 + 45 + 128, bytes(8), "capacity"),
])
def test_a_field_out_of_range_is_refused_by_its_name(file, at, value, field):
    good = load_string([(bytes(120), 7, 50, 100)])
    path = file(good[:at] + value + good[at + len(value):])
    error = run("info", "--from", "valkeybloom", path, status=2)
    assert "bad valkeybloom data: " in error and (field or "") in error
    if field:
        assert run("info", path, status=2) == error


def test_a_file_that_announces_terabytes_takes_no_memory(file):
    head = FIXED.pack(1, 2, 0.01, 0.5, 1, 1)
    path = file(head + struct.pack("<Q", 45 + (1 << 50)) + ARRAY.pack(1, 1 << 50, 7, SEED) + bytes(100))
    assert "bad valkeybloom data: " in run("info", path, status=2)
    layers = file(FIXED.pack(1, 2, 0.01, 0.5, 1, 1 << 60))  # so many that only a name makes it one
    assert "bad valkeybloom data: " in run("info", "--from", "valkeybloom", layers, status=2)


# push and pull


@pytest.mark.parametrize("key", FIXTURES)
def test_valkeyblooms_filters_are_pulled_and_pushed_byte_for_byte(tmp_path, server, r, key):  # noqa: F811
    data, path = FIXTURES[key].data, tmp_path / "f"
    r.execute_command("BF.LOAD", "k", data)
    before = r.dump("k")
    run("pull", "--key", "k", "-s", server.socket, "-o", path)
    assert path.read_bytes() == data
    run("push", path, "--key", "copy", "-s", server.socket)
    assert r.type("copy") == TYPE and r.dump("copy") == before
    run("push", path, "--key", "copy", "-s", server.socket, "--replace")
    assert r.dump("copy") == before and sorted(r.keys()) == [b"copy", b"k"]


def test_a_filter_of_many_pieces_travels(file, server, r):  # noqa: F811
    seed = 18
    print("seed", seed)
    bits = [random.Random(seed).randbytes(size) for size in (20_000_000, 17_000_001)]  # 2 pieces each
    path = file(load_string([(bits[0], 7, 9_000_000, 9_000_000), (bits[1], 8, 5, 18_000_000)]))
    run("push", path, "--key", "k", "-s", server.socket)
    assert r.type("k") == TYPE
    same = run("pull", "--key", "k", "-s", server.socket) == path.read_bytes()
    assert same


def test_what_was_added_on_the_server_is_found_in_the_file(file, server, r):  # noqa: F811
    run("push", file(FIXTURES["small"].data), "--key", "k", "-s", server.socket)
    r.execute_command("BF.MADD", "k", *WORDS[:1000])  # it grows
    path = file(run("pull", "--key", "k", "-s", server.socket))
    assert info(path)["format"] == "valkeybloom" and len(info(path)["layers"]) > 3
    queried = WORDS[:1000] + FIXTURES["small"].items + PROBES
    answers = r.execute_command("BF.MEXISTS", "k", *queried)
    assert run("check", path, stdin=lines(queried)) == lines(item for item, answer in zip(queried, answers) if answer)


def test_push_of_a_damaged_file_touches_nothing(file, server, r):  # noqa: F811
    data = FIXTURES["scaling"].data
    r.execute_command("BF.ADD", "k", "old")
    run("push", file(data[:-1]), "--key", "k", "-s", server.socket, "--replace", status=2)
    run("push", file(data + b"\0"), "--key", "new", "-s", server.socket, status=2)
    assert r.keys() == [b"k"] and r.execute_command("BF.EXISTS", "k", "old") == 1


# filters of our own out of them


@pytest.mark.parametrize("key", FIXTURES)
def test_valkeyblooms_filter_becomes_a_native_one_with_the_same_answers(file, server, r, key):  # noqa: F811
    fixture = FIXTURES[key]
    native = file(run("convert", file(fixture.data), "--to", "dump"))
    assert (info(native)["format"], info(native)["hash"]) == ("dump", "sip13")
    run("push", native, "--key", "k", "-s", server.socket)
    assert r.type("k") == b"bloomport"
    answers = r.execute_command("BF.MEXISTS", "k", *PROBES)
    assert [probe for probe, answer in zip(PROBES, answers) if answer] == fixture.found
    assert run("check", "-0", native, stdin=lines(PROBES, b"\0"), status=0 if fixture.found else 1) == \
        lines(fixture.found, b"\0")
    if fixture.items:
        assert set(r.execute_command("BF.MEXISTS", "k", *fixture.items)) == {1}
    assert run("pull", "--key", "k", "-s", server.socket, "--format", "dump") == native.read_bytes()


@pytest.mark.parametrize("key", FIXTURES)
def test_the_native_filter_promises_no_less_than_its_layers_have(file, key):
    """valkey-bloom gives all of the rate to the first layer; ours is that of all layers, those to come included."""
    _, expansion, error_rate, ratio, _, nlayers = FIXED.unpack_from(FIXTURES[key].data)
    (promised,) = struct.unpack_from("<d", run("convert", file(FIXTURES[key].data), "--to", "dump"), 24)
    rates = sum(error_rate * ratio**i for i in range(nlayers))
    if expansion == 0:
        assert promised == error_rate
    else:
        assert rates < promised < 1 or promised == 1 - 2**-53


def test_a_foreign_key_is_pulled_as_a_native_dump_on_demand(file, server, r):  # noqa: F811
    data = FIXTURES["scaling"].data
    r.execute_command("BF.LOAD", "k", data)
    pulled = run("pull", "--key", "k", "-s", server.socket, "--format", "dump")
    assert pulled == run("convert", file(data), "--to", "dump")


@pytest.mark.parametrize("data", [
    load_string([(bytes(120), 7, 0, 100)], expansion=2**32 - 1),
    load_string([(bytes(120), 1100, 0, 100)]),
], ids=["expansion", "hashes"])
def test_what_only_valkeybloom_makes_is_converted_and_comes_back(file, tmp_path, data):
    dump = tmp_path / "d"
    run("convert", file(data), "--to", "dump", "-o", dump)
    assert run("convert", dump, "--to", "valkeybloom") == data


@pytest.mark.parametrize("bits, items", [(b"\xff" * 120, 960), (bytes(120), 0), (bytes(119) + b"\x7f", 1)])
def test_counts_that_the_bits_rule_out_become_estimates_in_a_dump(file, tmp_path, bits, items):
    """One item sets 7 bits: not 960, and not none. With 7 the count is possible, and stays exact."""
    data, path = load_string([(bits, 7, 1, 100)]), tmp_path / "d"
    run("convert", file(data), "--to", "dump", "-o", path)
    header = path.read_bytes()
    assert struct.unpack_from("<HQ", header[14:16] + header[136:144]) == (2 if items == 960 else 0, items)
    run("info", path)  # which checks it as the server does
    assert run("convert", file(data), "--to", "valkeybloom") == data


@pytest.mark.parametrize("name", ["portable", "sstable", "leveldb", "parquet", "redisbloom"])
def test_formats_of_another_hash_turn_it_away(file, name):
    assert "cannot write %s: hash is SIP13" % name in \
        run("convert", file(FIXTURES["small"].data), "--to", name, status=2)
    assert "cannot write valkeybloom" in run("build", "--format", "valkeybloom", stdin=b"a\n", status=2)


def test_a_native_filter_with_this_hash_is_pulled_as_a_dump(file, server, r):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.01, 1000, "HASH", "SIP13", "SEED", SEED.hex())
    r.execute_command("BF.MADD", "k", *WORDS[:500])
    path = file(run("pull", "--key", "k", "-s", server.socket))
    assert (info(path)["format"], info(path)["hash"]) == ("dump", "sip13")
    assert run("check", "-c", path, stdin=lines(WORDS[:500])) == b"500\n"
    run("push", path, "--key", "again", "-s", server.socket)
    assert r.dump("again") == r.dump("k")


# merge


@pytest.fixture
def part(server, r, file):  # noqa: F811
    """part(items, options...) -> the file of a valkey-bloom filter that holds them."""
    def make(items, capacity=1000, seed=SEED):
        r.execute_command("BF.LOAD", "part", load_string([(bytes(capacity * 2), 7, 0, capacity)], seed=seed))
        for at in range(0, len(items), 500):
            r.execute_command("BF.MADD", "part", *items[at:at + 500])
        path = file(run("pull", "--key", "part", "-s", server.socket))
        r.delete("part")
        return path

    return make


def test_filters_of_one_seed_are_merged_and_stay_valkeyblooms(part, file, server, r):  # noqa: F811
    for left, right in (WORDS[:300], WORDS[200:600]), (WORDS[:300], WORDS[:4000]), (WORDS[:4000], WORDS[:300]):
        both = file(run("merge", part(left), part(right)))
        assert info(both)["format"] == "valkeybloom"
        wanted = sorted(set(left + right))
        assert run("check", "-c", both, stdin=lines(wanted)) == b"%d\n" % len(wanted)
        run("push", both, "--key", "both", "-s", server.socket, "--replace")
        assert r.type("both") == TYPE and 0 not in r.execute_command("BF.MEXISTS", "both", *wanted)


def test_merge_with_a_native_filter_of_the_same_seed_is_the_union(part, file):
    left, right = part(WORDS[:300]), part(WORDS[200:600])
    native = file(run("convert", right, "--to", "dump"))
    for pair, name in ((left, native), "valkeybloom"), ((native, left), "dump"):
        both = file(run("merge", *pair))
        assert info(both)["format"] == name
        assert run("check", "-c", both, stdin=lines(WORDS[:600])) == b"600\n"


def test_filters_of_other_seeds_hashes_and_sizes_are_not_merged(part, built):  # noqa: F811
    one = part(WORDS[:10])
    assert "its seed is another one" in run("merge", one, part(WORDS[:10], seed=SEED[::-1]), status=2)
    assert "its hash is xxh64 and not sip13" in run("merge", one, built, status=2)
    assert "bits and not" in run("merge", one, part(WORDS[:10], capacity=2000), status=2)
