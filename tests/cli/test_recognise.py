"""What a file is: `info` names its format, or says what else it looks like. The other files are real ones: RDB files
of Redis and Valkey, what a server answers to DUMP, what gzip, zstd and xz write."""

import gzip
import lzma
import shutil
import struct
import subprocess

import pytest

from test_tool import FIXTURES as REDISBLOOM
from test_tool import REPO, WORDS, built, info, lines, r, run, server, words_file  # noqa: F401  (fixtures)
from test_tool_valkeybloom import FIXTURES as VALKEYBLOOM
from test_tool_valkeybloom import load_string

GOLDEN = REPO / "tests" / "golden"
RDB_FILES = [GOLDEN / "valkeybloom" / "dump.rdb", GOLDEN / "valkeybloom" / "dump-valkey9.rdb",
             GOLDEN / "redisbloom" / "dump.rdb"]


@pytest.fixture
def looks(tmp_path):
    """looks(bytes) -> what info says that a file which is no filter looks like. Every command says the same."""
    path = tmp_path / "some file"

    def ask(data):
        path.write_bytes(data)
        start, end = "bloomport: %s: not a filter file (looks like " % path, ")\n"
        error = run("info", path, status=2)
        assert error.startswith(start) and error.endswith(end), error
        assert run("check", path, stdin=b"a\n", status=2) == error
        assert run("convert", "--to", "dump", path, status=2) == error
        return error[len(start):-len(end)]

    return ask


# filters


@pytest.mark.parametrize("layout, name", [("classic", "portable"), ("classic", "sstable"), ("classic", "dump"),
                                          ("blocked", "parquet"), ("blocked", "dump")])
@pytest.mark.parametrize("count", [0, 1, 7, 5000])
def test_the_format_of_a_built_file_is_recognised(tmp_path, layout, name, count):
    path = tmp_path / "f"
    run("build", "--layout", layout, "--format", name, "-o", path, stdin=lines(WORDS[:count]))
    assert info(path)["format"] == name
    assert run("info", path).startswith(b"format              %s\n" % name.encode())


@pytest.mark.parametrize("bits_per_key", [1, 2, 10, 30, 256])  # k = 1 begins as valkey-bloom's version does
@pytest.mark.parametrize("name", ["portable", "sstable"])
def test_files_of_any_k_are_recognised(tmp_path, bits_per_key, name):
    path = tmp_path / "f"
    for count in list(range(1, 40)) + [1000]:
        run("build", "--bits-per-key", bits_per_key, "--format", name, "-o", path, stdin=lines(WORDS[:count]))
        assert info(path)["format"] == name


def test_the_formats_of_other_programs_are_recognised(tmp_path):
    path = tmp_path / "f"
    for name, fixtures in ("redisbloom", REDISBLOOM), ("valkeybloom", VALKEYBLOOM):
        for fixture in fixtures.values():
            path.write_bytes(fixture.data)
            assert info(path)["format"] == name


def test_a_file_cut_off_is_named_by_the_format_that_it_began_as(tmp_path, built):  # noqa: F811
    path = tmp_path / "f"
    whole = [(built.read_bytes(), "portable"), (run("convert", "--to", "dump", built), "dump"),
             (run("build", "--format", "parquet", stdin=b"a\n"), "parquet"),
             (load_string([(bytes(120), 7, 0, 100)]), "valkeybloom")]
    for data, name in whole:
        for bad in data[:-1], data + b"\0":
            path.write_bytes(bad)
            assert "bad %s data: " % name in run("info", path, status=2)


def test_a_portable_file_cut_off_is_named_portable_whatever_its_bits_are(tmp_path):
    path = tmp_path / "f"
    for bits in b"\xff" * 100, b"\xff" * 9 + b"\0" + b"\xff" * 90, b"\xff" * 98 + b"\7\7", bytes(100):
        for k in 1, 7:
            path.write_bytes(struct.pack("<IQ", k, 800) + bits)
            assert info(path)["format"] == "portable"
            path.write_bytes(struct.pack("<IQ", k, 800) + bits[:-1])
            assert "bad portable data: length" in run("info", path, status=2)


# other files


@pytest.mark.parametrize("path", RDB_FILES, ids=lambda path: path.parent.name + "-" + path.stem)
def test_rdb_files_are_named(looks, path):
    assert path.read_bytes()[:6] in (b"REDIS0", b"VALKEY")
    assert looks(path.read_bytes()) == "an RDB file"


def test_what_a_server_answers_to_dump_is_named(looks, r):  # noqa: F811
    for key, *command in (("bf", "BF.ADD", "bf", "a"), ("vb", "BF.LOAD", "vb", VALKEYBLOOM["scaling"].data),
                          ("s", "SET", "s", "text"), ("l", "RPUSH", "l", "a", "b")):
        r.execute_command(*command)
        payload = r.dump(key)
        assert looks(payload) == "a DUMP payload, which RESTORE loads"
        assert looks(payload + b"\n").startswith("a DUMP payload, which RESTORE loads without redis-cli's newline")


def test_a_damaged_payload_is_not_named_one(tmp_path, r):  # noqa: F811
    r.execute_command("BF.ADD", "k", "a")
    payload = r.dump("k")
    (tmp_path / "f").write_bytes(payload[:20] + b"\xff" + payload[21:])
    assert "DUMP" not in run("info", tmp_path / "f", status=2)


def test_pieces_of_scandump_in_one_file_are_named(looks, r):  # noqa: F811
    r.execute_command("BF.LOAD", "k", VALKEYBLOOM["small"].data)
    header = r.execute_command("BF.SCANDUMP", "k", 0)[1]
    assert looks(header + r.execute_command("BF.SCANDUMP", "k", 1)[1]).startswith("pieces of BF.SCANDUMP")


def test_compressed_files_are_named(looks, built):  # noqa: F811
    data = built.read_bytes()
    assert looks(gzip.compress(data)) == "gzip data"
    assert looks(lzma.compress(data)) == "xz data"


@pytest.mark.skipif(not shutil.which("zstd"), reason="zstd is not installed")
def test_zstd_files_are_named(looks, built):  # noqa: F811
    packed = subprocess.run(["zstd", "-c", built], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    assert looks(packed) == "zstd data"


@pytest.mark.parametrize("text", [b"a\nb\n", b"a", b"\n", b"item,1\r\nitem,2\r\n", "für\n".encode(), "für\n".encode("latin1"),
                                  b'{"k": 7}\n', lines(WORDS), b"REDIS is a server\n", b"7\t0\n"])
def test_text_is_named(looks, text):
    assert looks(text) == "text"


def test_an_empty_file_is_named(looks):
    assert looks(b"") == "an empty file"
    assert "-: not a filter file (looks like an empty file)" in run("info", "-", status=2)


def test_an_append_only_file_and_a_parquet_file_are_named(looks):
    assert looks(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$7\r\nBF.LOAD\r\n\0") == "an append-only file"
    assert looks(b"PAR1\x15\x04\0\0PAR1").startswith("a whole Parquet file")


def test_leveldbs_filter_is_not_guessed_but_the_option_is_named(tmp_path):
    for bits in 10, 20:
        data = run("build", "--format", "leveldb", "--bits-per-key", bits, stdin=lines(WORDS[:100]))
        (tmp_path / "f").write_bytes(data)
        error = run("info", tmp_path / "f", status=2)
        assert "not a filter file (unknown binary data; a LevelDB filter has no marks: --format leveldb reads one" in error
        assert info(tmp_path / "f", "--from", "leveldb")["format"] == "leveldb"


def test_bytes_of_no_meaning_are_refused_in_one_line(tmp_path):
    for data in b"\xff\0\1\2" * 10 + b"\xff", bytes(40), b"\x7fELF\2\1\1" + bytes(100):
        (tmp_path / "f").write_bytes(data)
        assert run("info", tmp_path / "f", status=2).endswith("/f: not a filter file (unknown binary data)\n")


def test_a_named_format_is_believed(tmp_path):
    (tmp_path / "f").write_bytes(b"text\n")
    for name in "portable", "sstable", "parquet", "redisbloom", "valkeybloom", "dump":
        assert "bad %s data: " % name in run("info", "--from", name, tmp_path / "f", status=2)
