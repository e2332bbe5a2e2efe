"""build/bloomport, the command-line tool, as a user runs it. The oracle is a plain set, and for the
bytes a portable filter written here, from rdb/FORMAT.md alone (scheme fnv1a needs no package).

Environment: BLOOMPORT_TOOL, the program, default <repo>/build/bloomport; and that of redis_server.py.
"""

import json
import math
import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "server"))

import rate_model  # noqa: E402  (found by the line above)
from formats_model import RedisBloom  # noqa: E402
from redis_server import served  # noqa: E402
from redisbloom import FIXTURES, PROBES  # noqa: E402

TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))
WORDS = [b"item:%d" % i for i in range(5000)]
OTHERS = [b"other:%d" % i for i in range(5000)]
FORMATS = ["portable", "sstable", "leveldb", "parquet", "redisbloom", "valkeybloom", "dump"]


# What is said on standard error when all went well: the summary, and notes.
SAID = re.compile(rb"(pushed: |pulled: |merged: )?[\d,]+ items(, (about )?[\d,]+ of them new)?, \d+\.\d\d s, [\d.]+ (bytes|[kMGT]B), error rate [\d.e-]+$"
                  rb"|[\d,]+ items, [\d,]+ of them new, \d+\.\d\d s, [\d,]+ a second$"
                  rb"|'.*' exists, and keeps its parameters$"
                  rb"|'.*' is a new filter: capacity [\d,]+, error rate [\d.e-]+$"
                  rb"|this is one node of a cluster: --cluster lists the filters of all nodes$"
                  rb"|\d+ more, which the user may not read$"
                  rb"|it grows as items come: --capacity, with their number, makes it smaller and faster$"
                  rb"|.*: the (merged )?filter is overfilled: its error rate is now [\d.]+, promised [\d.]+ \(.*\)$"
                  rb"|(copied|merged): [\d.]+ (bytes|[kMGT]B), \d+\.\d\d s$"
                  rb"|'.*' (has no room for more items|was sized without growth)"
                  rb"|the input is empty: (a filter without items was written|there is nothing to check|nothing was added)$")


def run(*words, stdin=b"", status=0, cwd=None):
    """Run the tool, check its exit status, return what it printed. Errors are one line."""
    done = subprocess.run([TOOL, *map(str, words)], input=stdin, cwd=cwd, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, done.stderr
    if status == 2:
        assert done.stderr.startswith(b"bloomport: ") and done.stderr.count(b"\n") == 1
        return done.stderr.decode()
    assert all(SAID.match(line) for line in done.stderr.splitlines()), done.stderr
    return done.stdout


def lines(items, end=b"\n"):
    return b"".join(item + end for item in items)


def info(path, *options):
    return json.loads(run("info", "--json", path, *options))


@pytest.fixture
def words_file(tmp_path):
    path = tmp_path / "words"
    path.write_bytes(lines(WORDS))
    return path


@pytest.fixture
def built(tmp_path, words_file):
    path = tmp_path / "f.bloom"
    run("build", "--format", "portable", "-o", path, words_file)
    return path


@pytest.fixture(scope="module")
def server():
    yield from served(tcp=True)


def emptied(server):
    """What a fixture yields from: a client of a server without keys, which lives on to the end."""
    client = server.client()
    client.flushall()
    yield client
    server.check_alive()


@pytest.fixture
def r(server):
    yield from emptied(server)


# build and check


def test_every_item_built_is_found_and_others_at_the_promised_rate(built):
    assert run("check", built, stdin=lines(WORDS)) == lines(WORDS)
    false_yes = run("check", built, stdin=lines(OTHERS)).count(b"\n")
    # 5000 at 0.01: 50 expected, sigma 7; six sigmas.
    assert false_yes < 92
    absent = run("check", "--absent", "-c", built, stdin=lines(OTHERS))
    assert int(absent) == len(OTHERS) - false_yes


def test_file_pipe_redirection_and_given_capacity_build_the_same_bytes(tmp_path, built, words_file):
    expected = run("build", words_file)
    assert run("convert", "--to", "portable", "-", stdin=expected) == built.read_bytes()
    assert run("build", stdin=lines(WORDS)) == expected
    assert run("build", "--capacity", len(WORDS), stdin=lines(WORDS)) == expected
    assert run("build", "-", stdin=lines(WORDS)[:-1]) == expected  # no newline at the end
    halves = tmp_path / "a", tmp_path / "b"
    halves[0].write_bytes(lines(WORDS[:10])[:-1])
    halves[1].write_bytes(lines(WORDS[10:]))
    assert run("build", *halves) == expected
    with open(words_file, "rb") as stdin:
        assert subprocess.check_output([TOOL, "build"], stdin=stdin) == expected


def test_redirected_input_counts_from_where_it_stands(words_file, built):
    with open(words_file, "rb", buffering=0) as stdin:
        stdin.seek(len(lines(WORDS[:100])))
        rest = subprocess.check_output([TOOL, "build"], stdin=stdin)
    assert rest == run("build", stdin=lines(WORDS[100:]))


def test_more_items_than_the_spool_keeps_in_memory_build_the_same_bytes(tmp_path):
    numbers = tmp_path / "numbers"
    numbers.write_bytes(lines(b"%d" % i for i in range(1_500_000)))
    expected = run("build", "--layout", "blocked", numbers)
    assert run("build", "--layout", "blocked", stdin=numbers.read_bytes()) == expected


def test_large_filters_built_by_sorting_have_the_bits_of_those_built_one_by_one(tmp_path):
    numbers = lines(b"%d" % i for i in range(1_000_000))
    built, counted = tmp_path / "built", tmp_path / "counted"
    built.write_bytes(run("build", "--format", "portable", stdin=numbers))  # over 1 MiB: sorted by region
    counted.write_bytes(run("build", "--format", "dump", stdin=numbers))  # counts: one by one
    assert run("convert", "--to", "portable", counted) == built.read_bytes()
    assert run("check", "-c", built, stdin=numbers) == b"1000000\n"


def test_items_longer_than_the_buffer_are_complete(tmp_path):
    items = [b"x" * 700_000, b"y" * 300_001, b"", b"z"]
    path = tmp_path / "long"
    path.write_bytes(run("build", stdin=lines(items)))
    assert run("check", path, stdin=lines(items)) == lines(items)
    assert run("check", path, stdin=b"x" * 699_999 + b"\n", status=1) == b""


def test_null_separated_items_may_hold_newlines(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(run("build", "-0", stdin=b"a\nb\0c\0"))
    assert run("check", "-0", path, stdin=b"a\nb\0c\0") == b"a\nb\0c\0"
    assert run("check", path, stdin=b"a\nb\n", status=1) == b""


def test_hex_items_are_the_bytes_they_mean(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(run("build", "--hex", stdin=b"616263\n00fF0a\n"))
    assert run("check", path, stdin=b"abc\n") == b"abc\n"
    assert run("check", "--hex", path, stdin=b"00FF0A\n") == b"00FF0A\n"
    assert "line 2 is" in run("build", "--hex", stdin=b"00\n0g\n", status=2)
    assert "line 1 is" in run("build", "--hex", stdin=b"000\n", status=2)


def test_check_exits_as_grep_does(built, tmp_path):
    run("check", built, stdin=b"item:1\n", status=0)
    run("check", built, stdin=b"", status=1)
    assert run("check", "-c", built, stdin=b"", status=1) == b"0\n"
    run("check", "-c", "--absent", built, stdin=b"item:1\n", status=1)
    assert "No such file" in run("check", tmp_path / "none", status=2)
    assert "No such file" in run("check", built, tmp_path / "none", status=2)


def test_check_answers_a_line_before_the_next_one_comes(built):
    with subprocess.Popen([TOOL, "check", built], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0) as process:
        for word in WORDS[:3]:
            process.stdin.write(word + b"\n")
            assert process.stdout.read(100) == word + b"\n"
        process.stdin.close()
    assert process.returncode == 0


def test_no_items_make_an_empty_filter(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(run("build"))
    assert info(path)["ones"] == 0
    run("check", path, stdin=lines(OTHERS), status=1)


def test_more_items_than_the_capacity_are_refused_and_leave_no_file(tmp_path, words_file):
    path = tmp_path / "f"
    assert "capacity" in run("build", "--capacity", 100, "-o", path, words_file, status=2)
    assert os.listdir(tmp_path) == ["words"]


def test_a_failed_build_keeps_the_old_file(built, words_file, tmp_path):
    before = built.read_bytes()
    run("build", "--hex", "-o", built, words_file, status=2)
    run("build", "--format", "redisbloom", "-o", built, words_file, status=2)
    assert built.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["f.bloom", "words"]


# bytes


def fnv1a_positions(item, k, m):
    x = 0xCBF29CE484222325
    for byte in item:
        x = (x ^ byte) * 0x100000001B3 % 2**64
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    x ^= x >> 31
    return [((x & 0xFFFFFFFF) + i * (x >> 32)) % m for i in range(k)]


def test_portable_bytes_are_those_of_format_md():
    made = run("build", "--format", "portable", "--hash", "fnv1a", "--bits-per-key", 10, stdin=lines(WORDS))
    k, m = struct.unpack_from("<IQ", made)
    assert (k, m) == (7, 50000)
    bits = bytearray(m // 8)
    for word in WORDS:
        for position in fnv1a_positions(word, k, m):
            bits[position >> 3] |= 1 << (position & 7)
    assert made[12:] == bits


def test_sstable_is_portable_with_another_header(built):
    k, m = struct.unpack_from("<IQ", built.read_bytes())
    made = run("convert", "--to", "sstable", built)
    assert struct.unpack_from("<QI", made) == (m, k) and made[16:] == built.read_bytes()[12:]


@pytest.mark.parametrize("layout,names", [("classic", ["portable", "sstable", "dump"]),
                                          ("blocked", ["parquet", "dump"])])
def test_formats_that_hold_a_filter_lead_to_each_other(tmp_path, words_file, layout, names):
    for first in names:
        a = tmp_path / "a"
        run("build", "--layout", layout, "--format", first, "-o", a, words_file)
        assert run("check", "-c", "--from", first, a, stdin=lines(WORDS)) == b"5000\n"
        for second in names:
            b = tmp_path / "b"
            run("convert", "--from", first, "--to", second, "-o", b, a)
            assert run("check", "-c", "--from", second, b, stdin=lines(WORDS)) == b"5000\n"
    for other in set(FORMATS) - set(names):
        assert "cannot write " + other in run("convert", "--to", other, "--from", names[-1],
                                              tmp_path / "b", status=2)


def test_dump_and_parquet_are_recognised_by_content(tmp_path, words_file):
    for name, layout in ("dump", "classic"), ("dump", "blocked"), ("parquet", "blocked"):
        path = tmp_path / "f"
        run("build", "--layout", layout, "--format", name, "-o", path, words_file)
        facts = info(path)
        assert (facts["format"], facts["layout"]) == (name, layout)
        assert run("check", "-c", path, stdin=lines(WORDS)) == b"5000\n"


@pytest.mark.parametrize("name", ["portable", "sstable", "parquet", "dump"])
def test_damaged_files_are_refused(tmp_path, name):
    layout = "blocked" if name == "parquet" else "classic"
    good = run("build", "--layout", layout, "--format", name, stdin=lines(WORDS[:20]))
    path = tmp_path / "f"
    for bad in [good[:n] for n in range(len(good))] + [good + b"\0"]:
        path.write_bytes(bad)
        assert "bad " in run("info", "--from", name, path, status=2)


def test_every_flipped_byte_of_a_dump_is_refused(tmp_path):
    good = run("build", "--format", "dump", stdin=lines(WORDS[:5]))
    path = tmp_path / "f"
    for i in range(len(good)):
        path.write_bytes(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1:])
        run("info", "--from", "dump", path, status=2)


def test_a_header_that_announces_terabytes_takes_no_memory(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(struct.pack("<IQ", 7, 1 << 50) + bytes(100))
    assert "length" in run("info", path, status=2)


# info, merge, size


def test_info_counts_what_is_there(built):
    facts = info(built)
    raw = built.read_bytes()
    k, m = struct.unpack_from("<IQ", raw)
    ones = sum(bin(byte).count("1") for byte in raw[12:])
    assert (facts["hashes"], facts["bits"], facts["ones"]) == (k, m, ones)
    assert facts["bytes"] == len(raw) - 12
    assert facts["fill"] == ones / m
    assert math.isclose(facts["current_error_rate"], rate_model.classic(ones, m, k), rel_tol=1e-9)
    assert abs(facts["estimated_items"] + m / k * math.log(1 - ones / m)) <= 1
    assert b"estimated items" in run("info", built)


def test_a_dump_knows_its_items_and_promise(tmp_path, words_file):
    path = tmp_path / "f"
    run("build", "--format", "dump", "-o", path, words_file)
    facts = info(path)
    assert facts["capacity"] == 5000 and not facts["items_are_estimated"]
    assert 4950 < facts["items"] <= 5000


def test_merge_is_the_union(tmp_path):
    a, b, both = tmp_path / "a", tmp_path / "b", tmp_path / "both"
    for path, items in (a, WORDS), (b, OTHERS):
        run("build", "--format", "portable", "--capacity", 10000, "-o", path, stdin=lines(items))
    run("merge", a, b, "-o", both)
    assert both.read_bytes() == run("build", "--format", "portable", stdin=lines(WORDS + OTHERS))


def test_merge_names_the_first_difference(tmp_path, built):
    def other(*options):
        path = tmp_path / "other"
        run("build", "--format", "dump", "-o", path, *options, stdin=lines(WORDS))
        return run("merge", built, path, status=2)

    assert "hash is fnv1a" in other("--hash", "fnv1a")
    assert "layout is blocked" in other("--layout", "blocked")
    assert "bits and not" in other("--capacity", 6000)
    path = tmp_path / "k"
    path.write_bytes(struct.pack("<I", 5) + built.read_bytes()[4:])
    assert "5 hashes and not 7" in run("merge", built, path, status=2)


def test_size_any_two_give_the_rest():
    def size(*options):
        rows = dict(line.split(None, 1) for line in
                    run("size", *options).decode().replace("error rate ", "error ")
                    .replace("bits per key", "bits_per_key").splitlines()[:8])
        return (int(rows["items"]), int(rows["bits"]), float(rows["error"].split()[0]))

    items, bits, error = size("--items", "1e6", "--error", "0.01")
    assert items == 10**6 and 9.5e6 < bits < 9.7e6 and error == 0.01
    assert size("--bits", bits, "--error", "0.01")[0] == 10**6
    assert math.isclose(size("--bits", bits, "--items", "1000000")[2], 0.01, rel_tol=1e-3)
    assert size("--items", 1000, "--bits-per-key", 10)[1] == 10000
    assert size("--bits", 10000, "--bits-per-key", 10)[0] == 1000
    assert size("--memory", "1M", "--items", 1000)[1] == 8 * 2**20
    run("size", "--items", 5, status=2)
    run("size", "--error", 0.01, "--bits-per-key", 10, status=2)
    run("size", "--items", 5, "--error", 0.01, "--bits", 10, status=2)


def test_size_is_what_build_makes(built):
    printed = run("size", "--items", len(WORDS), "--error", 0.01).decode()
    assert "bits          %d\n" % info(built)["bits"] in printed


# the command line


@pytest.mark.parametrize("command", ["build", "check", "info", "merge", "convert", "push", "pull",
                                     "size"])
def test_help_of(command):
    assert run(command, "--help").startswith(b"usage: bloomport " + command.encode())
    run(command, "--nonsense", status=2)


@pytest.mark.parametrize("words", [
    ["build", "--error", "0"], ["build", "--error", "1"], ["build", "--error", "nan"],
    ["build", "--error", "x"], ["build", "--error"], ["build", "--bits-per-key", "0.5"],
    ["build", "--capacity", "0"], ["build", "--capacity", "-1"], ["build", "--capacity", "1.5"],
    ["build", "--capacity", "99999999999999999999"], ["build", "--hash", "md5"],
    ["build", "--layout", "round"], ["build", "--layout", "blocked", "--hash", "fnv1a"],
    ["build", "--format", "tar"], ["build", "--capacity", "1e18"], ["info"], ["merge", "x"],
    ["convert", "x"], ["push", "x"], ["pull"], ["size", "x"], ["frobnicate"], ["check", "-"],
    ["build", "--hash", "fnv1a", "--capacity", "1000000000"], ["pull", "--key", "k", "-p", "0"],
    ["pull", "--key", "k", "-p", "7x"], ["size", "--items", "1000000000", "--error", "0.01", "--hash", "fnv1a"],
])
def test_bad_command_lines_are_refused(words):
    run(*words, status=2)


@pytest.mark.parametrize("command, option, values", [
    ("size --items 5", "--memory", ["1 ", " 1", "1B", "1Ki", "1KBs", "1K ", "1 K", "1P", "1.5", "0x10", "+1", "1e", "K", "",
                                    "1e400", "0", "nan", "1\n"]),
    ("size --memory 1K", "--items", ["5 ", " 5", "5KB", "5Ki", "0.0005K", "0x10", "0x1p3", "+5", "5.5", "1e", "inf", ""]),
    ("size --items 5", "--bits", ["8 ", "8KB", "0x8", "1e19", "9223372036854775808"]),
    ("size --items 5", "--error", ["0.01 ", " 0.01", "0x1p-4", "+0.01", "1e-400x", "infinity", "", "."]),
    ("size --items 5", "--bits-per-key", ["10 ", " 10", "0xa", "+10", "10K", ""]),
    ("build", "--capacity", ["10 ", "0x10", "10B", "1.5", "1.0005K"]),
    ("pull --key k -s none", "--port", ["7 ", " 7", "+7", "7.0", "7e0", "99999999999999999999", "", "-1"]),
    ("pull --key k -s none", "--db", ["3 ", " 3", "+3", "0x3", "1e1", ""]),
])
def test_a_number_is_digits_to_its_last_character(command, option, values):
    for value in values:
        assert run(*command.split(), option, value, status=2).startswith("bloomport: %s: " % option), value


def test_sizes_and_numbers_as_people_write_them():
    def bits(*words):
        return int(re.search(rb"^bits +(\d+)$", run("size", *words), re.M).group(1))

    for text, expected in ("1", 1), ("100", 100), ("1k", 1024), ("1.5K", 1536), ("2M", 2**21), ("1g", 2**30), ("1T", 2**40), (
            "1GB", 2**30), ("1gb", 2**30), ("1GiB", 2**30), ("1e6", 10**6):
        assert bits("--items", 5, "--memory", text) == 8 * expected
    for text in "1000", "1e3", "1E3", "1e+3", "1000.0", "1K", "1k", "0.001M":
        assert bits("--items", 5, "--bits", text) == 1000
    assert bits("--items", "2.3M", "--bits", 10**8) == 10**8
    assert b"\nitems         2300000\n" in b"\n" + run("size", "--items", "2.3M", "--bits", 10**8)
    assert bits("--items", 100, "--error", ".01") == bits("--items", 100, "--error", "1e-2")


def test_names_are_printed_without_what_a_terminal_obeys():
    name = b"\x1b[31m\n\r\x9b\x7f caf\xc3\xa9"
    done = subprocess.run([TOOL, "info", name], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("bloomport: ?[31m???? café: ")
    assert done.stderr.count(b"\n") == 1


def test_without_a_word_it_says_what_there_is():
    done = subprocess.run([TOOL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.startswith(b"usage: bloomport") and b"merge" in done.stderr


# push and pull


def test_a_file_pushed_and_pulled_is_identical(tmp_path, built, server, r):
    run("push", built, "--key", "k", "-s", server.socket)
    assert r.execute_command("BF.EXISTS", "k", "item:77") == 1
    back = tmp_path / "back"
    run("pull", "--key", "k", "-h", "127.0.0.1", "-p", server.port, "--format", "portable", "-o", back)
    assert back.read_bytes() == built.read_bytes()


def test_a_filter_of_several_pieces_travels(tmp_path, server, r):
    path, back = tmp_path / "f", tmp_path / "back"
    run("build", "--capacity", 30_000_000, "-o", path, stdin=lines(WORDS))  # 36 MB, 3 pieces
    run("push", path, "--key", "k", "-s", server.socket)
    run("pull", "--key", "k", "-s", server.socket, "-o", back)
    assert back.read_bytes() == path.read_bytes()


def test_a_grown_filter_is_pulled_as_a_dump_and_answers_alike(tmp_path, server, r):
    r.execute_command("BF.RESERVE", "k", 0.01, 100)
    for i in range(0, 5000, 500):
        r.execute_command("BF.MADD", "k", *WORDS[i:i + 500])
    path = tmp_path / "f"
    run("pull", "--key", "k", "-s", server.socket, "-o", path)
    facts = info(path)
    assert facts["format"] == "dump" and len(facts["layers"]) > 3
    table = run("info", path).decode().split("\n\n")[1].splitlines()
    assert [row.split()[1] for row in table[1:]] == [str(layer["bits"]) for layer in facts["layers"]]
    queried = WORDS + OTHERS
    answers = r.execute_command("BF.MEXISTS", "k", *queried)
    yes = [item for item, answer in zip(queried, answers) if answer]
    assert run("check", path, stdin=lines(queried)) == lines(yes)
    run("push", path, "--key", "again", "-s", server.socket)
    assert r.execute_command("BF.MEXISTS", "again", *queried) == answers
    assert "portable" in run("pull", "--key", "k", "-s", server.socket, "--format", "portable",
                             status=2)


def test_push_replaces_only_with_the_option_replace(tmp_path, built, server, r):
    r.execute_command("BF.ADD", "k", "old")
    assert "--replace" in run("push", built, "--key", "k", "-s", server.socket, status=2)
    assert r.execute_command("BF.EXISTS", "k", "old") == 1
    run("push", built, "--key", "k", "-s", server.socket, "--replace")
    assert r.execute_command("BF.MEXISTS", "k", *WORDS) == [1] * len(WORDS)
    assert r.keys() == [b"k"]
    r.set("s", "a string")
    run("push", built, "--key", "s", "-s", server.socket, "--replace")
    assert r.execute_command("BF.EXISTS", "s", "item:1") == 1


def test_push_replaces_keys_that_no_braces_can_be_put_round(built, server, r):
    for key in ("a}b", "{tag}:k"):
        r.execute_command("BF.ADD", key, "old")
        run("push", built, "--key", key, "-s", server.socket, "--replace")
        assert r.execute_command("BF.MEXISTS", key, "item:1", "item:2") == [1, 1]
    assert sorted(r.keys()) == [b"a}b", b"{tag}:k"]


def test_password_and_database_are_those_given(tmp_path, built, server, r, monkeypatch):
    r.config_set("requirepass", "secret")
    try:
        where = ("--key", "k", "-s", server.socket, "--db", 3)
        assert "server %s wants a password: -a, " % server.socket in run("push", built, *where, status=2)
        monkeypatch.setenv("REDISCLI_AUTH", "wrong")
        assert "WRONGPASS" in run("push", built, *where, status=2)
        monkeypatch.setenv("REDISCLI_AUTH", "secret")
        run("push", built, *where)
        run("pull", *where, "--format", "portable", "-o", tmp_path / "back")
        assert "DB index" in run("pull", *where[:-1], 999, status=2)
    finally:
        r.config_set("requirepass", "")
    assert (tmp_path / "back").read_bytes() == built.read_bytes()
    assert r.keys() == []
    r.execute_command("SELECT", 3)
    assert r.keys() == [b"k"]
    r.execute_command("SELECT", 0)


def test_a_push_that_the_server_breaks_off_leaves_no_key(tmp_path, server, r):
    """The header takes all the memory there is."""
    path = tmp_path / "f"
    run("build", "--capacity", 10_000_000, "-o", path, stdin=lines(WORDS))  # 12 MB
    r.set("other", b"x" * 30_000_000)
    r.config_set("maxmemory", r.info("memory")["used_memory"] + 3_000_000)
    try:
        assert "OOM" in run("push", path, "--key", "k", "-s", server.socket, status=2)
    finally:
        r.config_set("maxmemory", 0)
    assert r.keys() == [b"other"]


def test_push_of_a_bad_file_touches_nothing(tmp_path, built, server, r):
    bad = tmp_path / "bad"
    bad.write_bytes(built.read_bytes()[:-1])
    r.execute_command("BF.ADD", "k", "old")
    run("push", bad, "--key", "k", "-s", server.socket, "--replace", status=2)
    run("push", bad, "--key", "new", "-s", server.socket, status=2)
    assert r.keys() == [b"k"] and r.execute_command("BF.EXISTS", "k", "old") == 1


def test_what_the_server_refuses_is_one_line_and_status_two(tmp_path, server, r):
    path = tmp_path / "f"
    assert "there is no such key" in run("pull", "--key", "none", "-s", server.socket, "-o", path, status=2)
    r.set("s", "a string")
    assert "WRONGTYPE" in run("pull", "--key", "s", "-s", server.socket, "-o", path, status=2)
    run("pull", "--key", "k", "-s", tmp_path / "nosocket", status=2)
    run("pull", "--key", "k", "-p", 1, status=2)
    assert os.listdir(tmp_path) == []


def test_random_filters_agree_with_a_set(tmp_path):
    seed = 20261116
    print("seed", seed)
    rng = random.Random(seed)
    path = tmp_path / "f"
    for layout in ("classic", "blocked") * 5:
        items = [rng.randbytes(rng.randrange(40)).replace(b"\0", b"") for _ in range(rng.randrange(900))]
        path.write_bytes(run("build", "-0", "--layout", layout, "--error",
                             10 ** -rng.uniform(0.5, 5), stdin=lines(items, b"\0")))
        found = run("check", "-0", path, stdin=lines(items, b"\0"), status=0 if items else 1)
        assert found == lines(items, b"\0")


# RedisBloom's filters


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_file_is_recognised_and_answers_as_redisbloom_did(tmp_path, key):
    fixture, path = FIXTURES[key], tmp_path / "f"
    path.write_bytes(fixture.data)
    seen = info(path)
    assert (seen["format"], seen["hash"]) == ("redisbloom", "murmur")
    assert (seen["items"], seen["capacity"]) == (fixture.card, fixture.info["Capacity"])
    found = run("check", path, stdin=lines(PROBES), status=0 if "1" in fixture.answers else 1)
    assert found == lines(probe for probe, answer in zip(PROBES, fixture.answers) if answer == "1")
    again = tmp_path / "again"
    run("convert", path, "--to", "redisbloom", "-o", again)
    assert again.read_bytes() == fixture.data


@pytest.mark.parametrize("key", FIXTURES)
def test_redisblooms_filters_are_pulled_and_pushed_byte_for_byte(tmp_path, server, r, key):
    fixture, path = FIXTURES[key], tmp_path / "f"
    r.restore(key, 0, fixture.payload)
    before = r.dump(key)
    run("pull", "--key", key, "-s", server.socket, "-o", path)
    assert path.read_bytes() == fixture.data
    run("push", path, "--key", "copy", "-s", server.socket)
    assert r.type("copy") == b"MBbloom--" and r.dump("copy") == before
    run("push", path, "--key", "copy", "-s", server.socket, "--replace")
    assert r.dump("copy") == before


def test_redisblooms_filter_becomes_a_native_one_through_a_dump(tmp_path, server, r):
    fixture = FIXTURES["grown"]
    path, native = tmp_path / "f", tmp_path / "native"
    path.write_bytes(fixture.data)
    run("convert", path, "--to", "dump", "-o", native)
    run("push", native, "--key", "k", "-s", server.socket)
    assert r.type("k") == b"bloomport"
    answers = r.execute_command("BF.MEXISTS", "k", *PROBES)
    assert "".join(map(str, answers)) == fixture.answers


def test_an_expansion_that_only_redisbloom_makes_is_converted_and_comes_back(tmp_path):
    path, dump = tmp_path / "f", tmp_path / "d"
    path.write_bytes(RedisBloom(0.01, 10, 40000).data)
    run("convert", path, "--to", "dump", "-o", dump)
    assert run("convert", dump, "--to", "redisbloom") == path.read_bytes()


def test_filters_of_redisbloom_are_merged(tmp_path):
    parts = []
    for part in range(2):
        model = RedisBloom(0.01, 1000)
        for item in WORDS[part * 100 : part * 100 + 200]:
            model.add(item)
        parts.append(tmp_path / str(part))
        parts[-1].write_bytes(model.data)
    run("merge", *parts, "-o", tmp_path / "sum")
    assert info(tmp_path / "sum")["format"] == "redisbloom"
    assert run("check", tmp_path / "sum", stdin=lines(WORDS[:300])) == lines(WORDS[:300])
