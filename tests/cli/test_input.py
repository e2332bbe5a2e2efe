"""Where items come from: compressed files, columns, terminals, sets and keys of a server."""

import bz2
import gzip
import lzma
import os
import pty
import select
import subprocess

import pytest

from secured import PASSWORD, Cluster, Secured
from test_manners import said
from test_tool import OTHERS, TOOL, WORDS, built, info, lines, r, run, server, words_file  # noqa: F401  (fixtures)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


ENCODERS = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": zstd}


@pytest.fixture(params=ENCODERS)
def encode(request):
    if request.param == "zstd" and subprocess.run(["which", "zstd"], stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("zstd is not installed")
    return ENCODERS[request.param]


# compressed


def test_compressed_files_and_pipes_are_read_as_what_they_hold(tmp_path, encode, words_file):  # noqa: F811
    expected = run("build", words_file)
    path = tmp_path / "packed"  # no ending: the first bytes tell
    path.write_bytes(encode(lines(WORDS)))
    assert run("build", path) == expected
    assert run("build", stdin=path.read_bytes()) == expected
    assert run("build", "--capacity", 5000, path) == expected
    with open(path, "rb") as stdin:
        assert subprocess.run([TOOL, "build", "-q"], stdin=stdin, stdout=subprocess.PIPE, check=True).stdout == expected
    filter_ = tmp_path / "f"
    filter_.write_bytes(expected)
    assert run("check", filter_, path) == lines(WORDS)


def test_members_one_after_the_other_and_plain_files_between_are_all_read(tmp_path, encode):
    one, two = encode(lines(WORDS[:2000])), encode(lines(WORDS[2000:4000]))
    both, plain = tmp_path / "both", tmp_path / "plain"
    both.write_bytes(one + two)
    plain.write_bytes(lines(WORDS[4000:]))
    assert run("build", both, plain) == run("build", stdin=lines(WORDS)) == run("build", "--capacity", 5000, both, plain)


def test_much_more_than_the_buffers_hold_comes_out_whole(tmp_path, encode):
    numbers = lines(b"%d" % i for i in range(1_000_000)) + b"x" * 700_000 + b"\n"
    path = tmp_path / "packed"
    path.write_bytes(encode(numbers))
    filter_ = tmp_path / "f"
    run("build", "-o", filter_, path)
    assert run("check", "-c", filter_, path) == b"1000001\n"
    assert run("check", "-c", filter_, stdin=numbers) == b"1000001\n"


def test_every_cut_and_damage_is_an_error_that_names_the_file(tmp_path, encode):
    good = encode(lines(WORDS[:50]))
    path = tmp_path / "packed"
    for n in range(8, len(good)):
        path.write_bytes(good[:n])
        error = run("build", path, status=2)
        assert "packed: bad " in error and " data: " in error, n
    path.write_bytes(good[:30] + bytes([good[30] ^ 255, good[31] ^ 255]) + good[32:])
    run("build", path, status=2)


def test_other_compressions_are_items_as_any_other_bytes(tmp_path):
    path = tmp_path / "packed"
    path.write_bytes(bz2.compress(b"x\n"))
    run("build", path)


def test_the_first_bytes_of_a_magic_number_alone_are_items(tmp_path):
    for data in b"\x1f", b"\x28\xb5", b"\x28", b"\xfd7zXZ", b"(\n(x\n":
        path = tmp_path / "f"
        path.write_bytes(run("build", stdin=data))
        assert run("check", "-c", path, stdin=data) == b"%d\n" % len(data.splitlines())


def test_a_short_line_is_answered_before_the_next_one_comes(built):  # noqa: F811
    """Nothing is waited for to tell whether it is compressed."""
    with subprocess.Popen([TOOL, "check", "-v", built], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        process.stdin.write(b"(\n")
        assert process.stdout.read(10) == b"(\n"
        process.stdin.close()


# columns


ROWS = b'id,name,note\n1,alice,x\n2,"bob, jr",y\n3,"say ""hi""",z\n4,,\n'
NAMES = [b"alice", b"bob, jr", b'say "hi"', b""]


def test_an_item_is_a_column_of_its_line(tmp_path):
    csv, path = tmp_path / "rows.csv", tmp_path / "f"
    csv.write_bytes(ROWS)
    options = ("--column", 2, "--delimiter", ",", "--from-line", 2)
    run("build", *options, "-o", path, csv)
    assert path.read_bytes() == run("build", stdin=lines(NAMES)) == run("build", *options, stdin=ROWS)
    assert run("check", *options, path, csv) == ROWS.split(b"\n", 1)[1]  # whole lines, as grep prints them
    assert run("build", "--column", 1, stdin=b"a\tb\n") == run("build", "--column", 2, "--delimiter", "\\t", stdin=b"b\ta\n")
    assert run("build", "--column", 2, "--delimiter", ";", "--hex", stdin=b"1;6162\n2;\"63\"\n") == run("build", stdin=b"ab\nc\n")


def test_a_missing_column_is_named_with_its_file_and_line(tmp_path):
    csv = tmp_path / "rows.csv"
    csv.write_bytes(ROWS * 3000 + b"1,2\n")
    error = run("build", "--column", 3, "--delimiter", ",", csv, status=2)
    assert "rows.csv: line 15001 has 2 columns and not 3" in error
    assert "--delimiter goes with --column" in run("build", "--delimiter", ",", status=2)
    assert "not one character" in run("build", "--column", 1, "--delimiter", "::", status=2)
    csv.write_bytes(b"a,b\nc")
    assert "line 2 has 1 column and not 2" in run("build", "--column", 2, "--delimiter", ",", csv, status=2)
    other = tmp_path / "other.csv"
    other.write_bytes(b"a,b\n")  # one line that is wrong: of several, any thread may find its own first
    assert "line 1 (3 of all inputs) has 2 columns" in run("build", "--column", 3, "--delimiter", ",", "--from-line", 3, csv, other,
                                                           status=2)
    first = tmp_path / "first.csv"
    first.write_bytes(b"1,2\n3,4")  # its last line has no newline
    assert "line 2 (4 of all inputs) has 1 column and not 2" in run("build", "--column", 2, "--delimiter", ",", first, csv, status=2)


def test_a_first_line_in_one_piece_names_the_delimiter():
    assert "-: line 1 has no tab: --delimiter , names another" in run("build", "--column", 2, stdin=b"a,b\n", status=2)
    assert "line 2 has no tab: --delimiter ';' names" in run("build", "--column", 2, "--from-line", 2, stdin=b"\na;b\n", status=2)
    assert "line 1 has no ',': --delimiter names" in run("build", "--column", 2, "--delimiter", ",", stdin=b"a\n", status=2)


@pytest.mark.parametrize("line", [1, 2, 4999, 5000, 5001, 9999])
def test_lines_before_the_first_are_left_out_over_all_inputs(tmp_path, line):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(lines(WORDS))
    b.write_bytes(lines(OTHERS)[:-1])
    expected = run("build", stdin=lines((WORDS + OTHERS)[line - 1:]))
    assert run("build", "--from-line", line, a, b) == expected
    assert run("build", "--from-line", line, stdin=lines(WORDS + OTHERS)) == expected
    direct = run("build", "--capacity", 10000, stdin=lines((WORDS + OTHERS)[line - 1:]))
    assert run("build", "--capacity", 10000, "--from-line", line, stdin=lines(WORDS + OTHERS)) == direct


# terminals and nothing


def test_a_terminal_is_told_what_is_waited_for(built):  # noqa: F811
    for words in ["build", "-o", "/dev/null"], ["check", built]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen([TOOL, *words], stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            select.select([process.stderr], [], [], 60)
            assert process.stderr.readline() == b"reading items from the terminal, one a line; Ctrl-D ends them\n"
            os.write(ours, b"item:1\n\x04")
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.communicate()
            os.close(ours)
            os.close(theirs)


def test_check_says_that_there_was_nothing(built):  # noqa: F811
    done = subprocess.run([TOOL, "check", built], input=b"", stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"the input is empty: there is nothing to check\n")


# sets and keys


def fill(r, kind, n):  # noqa: F811
    pipe = r.pipeline()
    for i, word in enumerate(WORDS[:n]):
        if kind == "set":
            pipe.sadd("k", word)
        elif kind == "zset":
            pipe.zadd("k", {word: i})
        elif kind == "hash":
            pipe.hset("k", word, b"value%d" % i)
        else:
            pipe.rpush("k", word)
    pipe.execute()


@pytest.mark.parametrize("n", [1, 300, 5000])
@pytest.mark.parametrize("kind", ["set", "zset", "hash", "list"])
def test_a_filter_is_built_from_a_key_of_the_server(tmp_path, server, r, kind, n):  # noqa: F811
    fill(r, kind, n)
    path = tmp_path / "f"
    run("build", "--from-set", "k", "-s", server.socket, "--error", 1e-6, "-o", path)
    assert info(path)["capacity"] == n
    assert run("check", "-c", path, stdin=lines(WORDS[:n])) == b"%d\n" % n
    assert run("check", "-c", path, stdin=lines(b"value%d" % i for i in range(n)), status=1) == b"0\n"


def test_members_are_any_bytes(tmp_path, server, r):  # noqa: F811
    members = [b"a\nb", b"", b"\0\xff", b"x" * 100_000]
    r.sadd("k", *members)
    path = tmp_path / "f"
    run("build", "--from-set", "k", "-s", server.socket, "-o", path)
    assert run("check", "-c", "--hex", path, stdin=lines(m.hex().encode() for m in members)) == b"4\n"


def test_a_filter_is_built_from_the_names_of_keys(tmp_path, server, r):  # noqa: F811
    r.mset({b"user:" + word: 1 for word in WORDS})
    r.mset({b"other:" + word: 1 for word in WORDS})
    path = tmp_path / "f"
    run("build", "--from-keys", "user:*", "-s", server.socket, "-o", path, "--error", 1e-6)
    assert run("check", "-c", path, stdin=lines(b"user:" + word for word in WORDS)) == b"5000\n"
    assert run("check", "-c", path, stdin=lines(b"other:" + word for word in WORDS), status=1) == b"0\n"
    assert 5000 <= info(path)["capacity"] < 5100  # a scan may return a key twice


def test_from_set_goes_with_capacity_growth_and_like(tmp_path, server, r):  # noqa: F811
    fill(r, "set", 5000)
    r.execute_command("BF.RESERVE", "f", 0.01, 1000)
    path = tmp_path / "f"
    for options in ["--capacity", 9000], ["--capacity", 500, "--expansion", 2], ["--like-key", "f"]:
        run("build", "--from-set", "k", "-s", server.socket, *options, "-o", path)
        assert run("check", "-c", path, stdin=lines(WORDS)) == b"5000\n"
    assert "more items than the capacity" in run("build", "--from-set", "k", "-s", server.socket, "--capacity", 500, status=2)


def test_what_is_no_set_is_named(server, r):  # noqa: F811
    r.set("s", "x")
    assert "key 's': a string, not a set" in run("build", "--from-set", "s", "-s", server.socket, status=2)
    assert "key 'none': there is no such key" in run("build", "--from-set", "none", "-s", server.socket, status=2)
    assert "exclude each other" in run("build", "--from-set", "s", "--from-keys", "x", "-s", server.socket, status=2)
    assert "unexpected 'file'" in run("build", "--from-set", "s", "-s", server.socket, "file", status=2)
    assert "the input is empty" in said("build", "--from-keys", "nothing*", "-s", server.socket, "-o", "/dev/null")


def test_a_set_behind_tls_and_acl(tmp_path, monkeypatch):
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    secured = Secured()
    try:
        secured.client.sadd("k", *WORDS)
        run("build", "--from-set", "k", *secured.address, "-o", tmp_path / "f")
        assert run("check", "-c", tmp_path / "f", stdin=lines(WORDS)) == b"5000\n"
    finally:
        secured.close()


def test_names_of_keys_come_from_every_node_of_a_cluster(tmp_path):
    cluster = Cluster()
    try:
        names = [b"user%d" % i for i in range(300)]
        for name in names:
            cluster.nodes[cluster.owner(name)].call("SET", name, "x")
        run("build", "--from-keys", "user*", "--cluster", "-p", cluster.nodes[1].port, "-o", tmp_path / "f", "--error", 1e-6)
        assert run("check", "-c", tmp_path / "f", stdin=lines(names)) == b"300\n"
    finally:
        cluster.close()
