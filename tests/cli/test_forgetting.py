"""Windows and counting filters through the tool and a real server. The ages of generations are written into
dumps (rdb/FORMAT.md, section 2), so that nothing depends on time: a window is hundreds of days long.
"""

import datetime
import math
import os
import re
import struct
import time

import pytest

from test_tool import WORDS, built, info, lines, r, run, server, words_file  # noqa: F401  (fixtures)

from bloom_model import xxh64

SECONDS, GENERATIONS = 40_000_000, 4
STEP = 1000 * SECONDS // GENERATIONS  # ms
NOW = time.time_ns() // 1_000_000 // STEP * STEP  # when the present generation began
PARTS = [WORDS[i * 100:i * 100 + 100] for i in range(6)]
WINDOW = ("WINDOW", SECONDS, "GENERATIONS", GENERATIONS)
FIXED, LAYER, START = 128, 64, 44  # of header version 2


def restamped(dump, start):
    """The dump of a window of one generation, begun at this time."""
    (nlayers,) = struct.unpack_from("<I", dump, 20)
    end = FIXED + nlayers * LAYER
    header = bytearray(dump[:end])
    for layer in range(nlayers):
        struct.pack_into("<Q", header, FIXED + layer * LAYER + START, start)
    return bytes(header) + struct.pack("<Q", xxh64(bytes(header), 0)) + dump[end + 8:]


@pytest.fixture
def pull(server, r, tmp_path):  # noqa: F811
    """pull(key, options...) -> the file."""
    def do(key, *options):
        path = tmp_path / ("pulled-%d" % len(os.listdir(tmp_path)))
        run("pull", "--key", key, "-s", server.socket, "-o", path, *options)
        return path

    return do


@pytest.fixture
def push(server, r):  # noqa: F811
    def do(path, key):
        run("push", path, "--key", key, "-s", server.socket)

    return do


@pytest.fixture
def generation(r, pull):
    """generation(items, age, ...) -> the dump of a window whose only generation is `age` steps old."""
    def make(items, age, *options, size=1000):
        r.execute_command("BF.RESERVE", "part", 0.001, size, *WINDOW, *options)
        r.execute_command("BF.MADD", "part", *items)
        path = pull("part")
        r.delete("part")
        path.write_bytes(restamped(path.read_bytes(), NOW - age * STEP))
        return path

    return make


@pytest.fixture
def counting(r, pull):
    """counting(items) -> the dump of a counting filter with these adds."""
    def make(items, size=1000):
        r.execute_command("BF.RESERVE", "part", 0.001, size, "LAYOUT", "COUNTING")
        r.execute_command("BF.MADD", "part", *items)
        path = pull("part")
        r.delete("part")
        return path

    return make


def merged(tmp_path, *paths):
    out = tmp_path / ("merged-%d" % len(os.listdir(tmp_path)))
    run("merge", *paths, "-o", out)
    return out



# push, pull and check


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED"])
def test_a_window_is_pulled_as_a_dump_and_pushed_as_the_same_window(r, pull, push, layout):
    r.execute_command("BF.RESERVE", "w", 0.01, 500, *WINDOW, "LAYOUT", layout)
    r.execute_command("BF.MADD", "w", *WORDS[:2000])  # a generation of several layers
    path = pull("w")
    assert info(path)["format"] == "dump" and len(info(path)["layers"]) > 1
    push(path, "again")
    assert r.execute_command("BF.SCANDUMP", "again", 0) == r.execute_command("BF.SCANDUMP", "w", 0)
    assert r.execute_command("BF.MEXISTS", "again", *WORDS[:2000]) == [1] * 2000
    assert r.execute_command("DEBUG", "DIGEST-VALUE", "w") == r.execute_command("DEBUG", "DIGEST-VALUE", "again")


def test_a_window_of_several_pieces_travels(r, pull, push):
    r.execute_command("BF.RESERVE", "w", 0.01, 60_000_000, *WINDOW)  # 25 MB a generation, 2 pieces
    r.execute_command("BF.MADD", "w", *WORDS)
    path = pull("w")
    assert path.stat().st_size > 20_000_000
    push(path, "again")
    assert pull("again").read_bytes() == path.read_bytes()
    assert r.execute_command("BF.MEXISTS", "again", *WORDS) == [1] * len(WORDS)


def test_a_counting_filter_is_pulled_and_pushed_with_its_counts_and_deletes_from_them(r, push, counting):
    path = counting(PARTS[0] + PARTS[0] + PARTS[1])
    assert info(path)["format"] == "dump"
    assert run("check", path, stdin=lines(PARTS[0] + PARTS[1])) == lines(PARTS[0] + PARTS[1])
    push(path, "c")
    assert [r.execute_command("BF.COUNT", "c", item) for item in (PARTS[0][0], PARTS[1][0])] == [2, 1]
    assert r.execute_command("BF.DEL", "c", *PARTS[1]) == [1] * 100
    assert sum(r.execute_command("BF.MEXISTS", "c", *PARTS[1])) < 5
    assert r.execute_command("BF.MEXISTS", "c", *PARTS[0]) == [1] * 100


def test_check_finds_the_generations_that_live_now_and_the_server_agrees(r, tmp_path, push, generation):
    """Five steps after its start a generation is over, though the file holds it. The oldest one is merged with
    those that began before that."""
    ages = [5, 4, 3, 2, 1]
    path = merged(tmp_path, *(generation(PARTS[age], age) for age in ages))
    assert len(info(path)["layers"]) == 5
    for age in ages:
        present = run("check", "-c", path, stdin=lines(PARTS[age]), status=1 if age == 5 else 0)
        assert int(present) == (100 if age < 5 else 0), age
    push(path, "w")
    assert r.execute_command("BF.MEXISTS", "w", *PARTS[4]) == [1] * 100
    assert r.execute_command("BF.MEXISTS", "w", *PARTS[5]) == [0] * 100


def test_check_of_a_window_that_is_over_finds_nothing_and_absent_everything(generation):
    path = generation(PARTS[0], 5)
    assert run("check", path, stdin=lines(PARTS[0]), status=1) == b""
    assert run("check", "--absent", path, stdin=lines(PARTS[0])) == lines(PARTS[0])


# info


def utc(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def test_info_names_the_window_and_each_generation(tmp_path, generation):
    path = merged(tmp_path, generation(PARTS[3], 3), generation(WORDS[:600], 1))  # the second: of several layers
    facts = info(path)
    assert facts["window"] == {"seconds": SECONDS, "generations": GENERATIONS, "capacity": 1000}
    starts = [layer["start"] for layer in facts["layers"]]
    assert starts[:2] == [NOW - 3 * STEP, NOW - STEP] and len(starts) > 2 and set(starts[2:]) == {NOW - STEP}
    text = run("info", path).decode()
    assert "window              40000000 s in 4 generations\n" in text
    assert re.search(r"^capacity +1000$", text, re.M)
    table = [line.split() for line in text.split("\n\n")[1].splitlines()[1:]]
    items = [facts["layers"][0]["items"], sum(layer["items"] for layer in facts["layers"][1:])]
    assert table == [[utc(NOW - age * STEP), str(NOW - age * STEP), utc(NOW + (5 - age) * STEP), str(layers), str(n)]
                     for age, layers, n in zip((3, 1), (1, len(starts) - 1), items)]


def test_info_of_a_window_that_has_not_begun(r, pull):
    r.execute_command("BF.RESERVE", "w", 0.01, 100, *WINDOW)
    path = pull("w")
    assert [layer["start"] for layer in info(path)["layers"]] == [0]
    assert re.search(r"^not begun +0 - +1 +0$", run("info", path).decode(), re.M)


def test_info_prints_the_latest_time_that_a_file_may_hold(generation):
    path, latest = generation(PARTS[0], 0), (2**63 - 1) // STEP * STEP
    path.write_bytes(restamped(path.read_bytes(), latest))
    row = re.search(r"^\d+-\d\d-\d\dT.*$", run("info", path).decode(), re.M).group().split()
    assert row[0].startswith("292278994-") and row[1] == str(latest) and row[2] > row[0]


def test_info_counts_counters(counting):
    path = counting(PARTS[0] + PARTS[0])
    facts = info(path)
    assert facts["layout"] == "counting" and facts["window"] is None and "bits" not in facts
    assert facts["bytes"] == (facts["counters"] + 1) // 2 == path.stat().st_size - FIXED - LAYER - 8
    assert facts["layers"][0]["counters"] == facts["counters"] and facts["items"] == 200
    nibbles = [half for byte in path.read_bytes()[FIXED + LAYER + 8:] for half in (byte & 15, byte >> 4)]
    assert facts["ones"] == sum(count > 0 for count in nibbles)
    text = run("info", path).decode()
    assert "counters (m)        %d\n" % facts["counters"] in text and "bits" not in text


def test_info_of_a_plain_filter_has_no_window(built):  # noqa: F811
    facts = info(built)
    assert facts["window"] is None and facts["layers"][0]["start"] == 0
    assert b"window" not in run("info", built) and facts["bits"] == facts["layers"][0]["bits"]


# convert, and pull in another format


@pytest.mark.parametrize("layout, form", [("CLASSIC", "portable"), ("CLASSIC", "sstable"), ("BLOCKED", "parquet")])
def test_convert_gives_the_union_of_the_live_generations_as_bf_export_does(r, tmp_path, push, pull, generation, layout, form):
    path = merged(tmp_path, *(generation(PARTS[age], age, "LAYOUT", layout) for age in (5, 4, 2)))
    flat = tmp_path / "flat"
    run("convert", "--to", form, path, "-o", flat)
    assert run("check", "-c", "--from", form, flat, stdin=lines(PARTS[4] + PARTS[2])) == b"200\n"
    assert int(run("check", "-c", "--from", form, flat, stdin=lines(PARTS[5]), status=1)) == 0
    push(path, "w")
    assert r.execute_command("BF.EXPORT", "w", "FORMAT", form) == flat.read_bytes()
    assert pull("w", "--format", form).read_bytes() == flat.read_bytes()
    same = tmp_path / "same"
    run("convert", "--to", "dump", path, "-o", same)
    assert same.read_bytes() == path.read_bytes()


def test_convert_of_a_window_that_is_over_is_an_empty_filter(tmp_path, generation):
    path, flat = generation(PARTS[0], 5), tmp_path / "flat"
    run("convert", "--to", "portable", path, "-o", flat)
    assert info(flat)["ones"] == 0 and info(flat)["bits"] == info(path)["bits"]


def test_generations_of_different_sizes_are_not_converted_and_leave_no_file(r, tmp_path, generation):
    path, flat = generation(WORDS[:600], 1), tmp_path / "flat"
    assert len(info(path)["layers"]) > 1
    error = run("convert", "--to", "portable", path, "-o", flat, status=2)
    assert "cannot write portable: the window's generations have different sizes" in error and "dump" in error
    assert not flat.exists()


def test_a_counting_filter_converts_to_the_bits_of_the_classic_one(r, tmp_path, push, pull, counting):
    path, flat = counting(PARTS[0] * 3 + PARTS[1]), tmp_path / "flat"
    run("convert", "--to", "portable", path, "-o", flat)
    assert flat.read_bytes() == run("build", "--format", "portable", "--capacity", 1000, "--error", 0.001,
                                    stdin=lines(PARTS[0] + PARTS[1]))
    push(path, "c")
    assert r.execute_command("BF.EXPORT", "c", "FORMAT", "portable") == flat.read_bytes()
    assert pull("c", "--format", "portable").read_bytes() == flat.read_bytes()
    assert "cannot write parquet" in run("convert", "--to", "parquet", path, status=2)


# merge


def test_merged_windows_hold_what_bf_merge_gives(r, tmp_path, push, pull, generation):
    paths = [generation(PARTS[0], 3), generation(PARTS[1], 1), generation(PARTS[2], 3)]
    path = merged(tmp_path, *paths)
    assert [layer["start"] for layer in info(path)["layers"]] == [NOW - 3 * STEP, NOW - STEP]
    for i, part in enumerate(paths):
        push(part, "w%d" % i)
    r.execute_command("BF.MERGE", "w0", "w1", "w2")
    push(path, "w")
    assert r.execute_command("DEBUG", "DIGEST-VALUE", "w") == r.execute_command("DEBUG", "DIGEST-VALUE", "w0")
    assert pull("w0").read_bytes() == path.read_bytes()


def test_a_merge_drops_what_is_over_when_the_newest_begins(tmp_path, generation):
    path = merged(tmp_path, generation(PARTS[0], 7), generation(PARTS[1], 6), generation(PARTS[2], 2))
    assert [layer["start"] for layer in info(path)["layers"]] == [NOW - 6 * STEP, NOW - 2 * STEP]


def test_merged_counters_add_up_as_bf_merge_adds_them(r, tmp_path, push, pull, counting):
    paths = [counting(PARTS[0]), counting(PARTS[0] + PARTS[1])]
    path = merged(tmp_path, *paths)
    push(path, "c")
    assert [r.execute_command("BF.COUNT", "c", item) for item in (PARTS[0][0], PARTS[1][0])] == [2, 1]
    for i, part in enumerate(paths):
        push(part, "c%d" % i)
    r.execute_command("BF.MERGE", "c0", "c1")
    assert pull("c0").read_bytes() == path.read_bytes()


def test_a_file_named_twice_counts_once(tmp_path, counting):
    path, other = counting(PARTS[0]), counting(PARTS[1])
    link = tmp_path / "link"
    link.symlink_to(path)
    assert merged(tmp_path, path, path, link).read_bytes() == path.read_bytes()
    once = merged(tmp_path, path, other)
    assert merged(tmp_path, path, other, path, other).read_bytes() == once.read_bytes()
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())  # another file
    assert merged(tmp_path, path, copy).read_bytes() != path.read_bytes()


def test_merge_names_the_window_that_differs(r, tmp_path, pull, generation, counting):
    r.execute_command("BF.RESERVE", "other", 0.001, 1000, "WINDOW", 30)
    r.execute_command("BF.RESERVE", "plain", 0.001, 1000)
    path = generation(PARTS[0], 1)
    assert "its window is 30 s in 4 generations and not 40000000 s in 4" in run("merge", path, pull("other"), status=2)
    assert "its window is none and not 40000000 s in 4" in run("merge", path, pull("plain"), status=2)
    assert "layer 1 has" in run("merge", path, generation(PARTS[0], 1, size=2000), status=2)
    assert "layout is counting and not classic" in run("merge", path, counting(PARTS[0]), status=2)


# build and size


def test_build_refuses_to_make_a_counting_filter():
    assert "build cannot make a counting filter" in run("build", "--layout", "counting", stdin=b"a\n", status=2)


def sized(*words):
    """The fields that `size` prints, and the words of its BF.RESERVE line after the key: of several the non-scaling
    filter's."""
    out = run("size", *words).decode()
    fields = dict(re.findall(r"^(\w[\w ]*\w) {2,}([\w.-]+)", out, re.M))
    found = re.findall(r"^BF\.RESERVE key (.*)$", out, re.M)
    (line,) = found if len(found) == 1 else [line for line in found if "NONSCALING" in line]
    return fields, line.split(), out


@pytest.mark.parametrize("words, seconds, generations", [
    (["--error", "0.01", "--window", "1d"], 86400, 4),
    (["--error", "1e-5", "--window", "90", "--generations", "7"], 90, 7),
    (["--error", "0.3", "--window", "1.5h", "--generations", "1", "--layout", "blocked"], 5400, 1),
    (["--bits-per-key", "12.5", "--window", "15m", "--generations", "64"], 900, 64),
    (["--error", "0.007", "--window", "30s", "--hash", "fnv1a"], 30, 4),
    (["--bits-per-key", "20", "--window", "1000000000", "--layout", "blocked"], 10**9, 4)])
def test_a_windows_reserve_line_makes_a_generation_of_the_size_that_is_printed(r, pull, words, seconds, generations):
    fields, line, out = sized("--items", 12345, *words)
    r.execute_command("BF.RESERVE", "w", *line)
    path = pull("w")
    made = info(path)
    assert made["window"] == {"seconds": seconds, "generations": generations, "capacity": 12345}
    assert (int(fields["bits"]), int(fields["hashes"])) == (made["bits"], made["hashes"])
    assert int(fields["generation"]) == made["bytes"]
    assert int(fields["memory"]) == (generations + 1) * made["bytes"]
    assert "bits per item %.4f of a window" % (8 * (generations + 1) * made["bytes"] / 12345) in out
    stats = r.execute_command("BF.STATS", "w")
    assert float(fields["error rate"]) == pytest.approx(float(stats[stats.index(b"promised error rate") + 1]), rel=1e-5)
    assert int(fields["surely found"]) == seconds
    step = math.ceil(1000 * seconds / generations)
    assert float(fields["surely gone"]) == (generations + 1) * step / 1000


def test_so_few_bits_that_a_window_promises_nothing_are_called_that():
    assert sized("--items", 1000, "--bits-per-key", 2, "--window", "1h")[0]["error rate"] == "none"


def test_a_counting_size_is_classic_in_four_times_the_bytes_and_its_line_makes_it(r, pull):
    quality = ("--items", 10000, "--error", 0.001)
    fields, line, _ = sized(*quality, "--layout", "counting")
    classic, _, _ = sized(*quality)
    assert (fields["counters"], fields["hashes"]) == (classic["bits"], classic["hashes"])
    assert int(fields["memory"]) == math.ceil(int(classic["bits"]) / 2)
    r.execute_command("BF.RESERVE", "c", *line)
    made = info(pull("c"))
    assert (made["layout"], made["counters"], made["bytes"]) == ("counting", int(fields["counters"]), int(fields["memory"]))
    fits = sized("--memory", fields["memory"], "--error", 0.001, "--layout", "counting")[0]
    assert int(fits["items"]) == 10000


@pytest.mark.parametrize("words", [["--error", "0.0123456789"], ["--bits-per-key", "9.7"], ["--error", "0.02", "--layout", "blocked"],
                                   ["--error", "0.02", "--hash", "fnv1a"]])
def test_a_plain_filters_reserve_line_makes_the_bits_that_are_printed(r, pull, words):
    fields, line, _ = sized("--items", 5000, *words)
    assert words[1] in line
    r.execute_command("BF.RESERVE", "f", *line)
    made = info(pull("f", "--format", "dump"))
    assert (made["bits"], made["hashes"]) == (int(fields["bits"]), int(fields["hashes"]))


QUALITY = ("--items", 5, "--error", 0.01)


@pytest.mark.parametrize("words, text", [
    ([*QUALITY, "--generations", 4], "--generations goes with --window only"),
    ([*QUALITY, "--window", 60, "--layout", "counting"], "layout counting cannot have a window"),
    (["--items", 5, "--window", 60], "size --window takes --items, and --error or --bits-per-key"),
    (["--items", 5, "--memory", "1M", "--window", 60], "size --window takes --items"),
    (["--error", 0.01, "--memory", "1M", "--window", 60], "size --window takes --items"),
    ([*QUALITY, "--window", 60, "--generations", 0], "--generations: '0' is not a number from 1 to 64"),
    ([*QUALITY, "--window", 60, "--generations", 65], "--generations: '65' is not a number from 1 to 64"),
    ([*QUALITY, "--layout", "round"], "none of classic, blocked and counting"),
    (["--items", "1e18", "--error", 0.01, "--window", 60], "more bits than"),
    (["--items", "1e18", "--bits-per-key", 10, "--window", 60], "more bits than"),
])
def test_sizes_that_cannot_be_are_refused(words, text):
    assert text in run("size", *words, status=2)


@pytest.mark.parametrize("value", ["0", "-1", "0.5", "1.5", "1w", "1D", "1 d", "1d ", "d", "", "1000000001", "11575d", "0x10",
                                   "1e400", "nan", "1dd"])
def test_a_window_that_is_no_time_is_refused(value):
    error = run("size", *QUALITY, "--window", value, status=2)
    assert error.startswith("bloomport: --window: '%s' is not a time from 1 to 1000000000 seconds" % value)
