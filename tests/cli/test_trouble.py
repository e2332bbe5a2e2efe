"""The command-line tool with odd input and errors: strange items, a full disk, no right to write, a reader
that has gone, much input. No half-written file is left.
"""

import os
import pty
import re
import resource
import select
import signal
import subprocess
import time

import pytest

from test_tool import REPO, TOOL, built, info, lines, run, words_file  # noqa: F401  (fixtures)

ODD = [b"a\rb", b"c\r", b"\r", b"", b"with\0nul", b"\xff\xfe", b" spaces ", b"\t", b"x" * 100_000]


def test_items_are_any_bytes_but_the_separator(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(run("build", "--error", "1e-6", stdin=lines(ODD)))
    assert run("check", path, stdin=lines(ODD)) == lines(ODD)
    near = [b"c", b"with", b"spaces", b"x" * 99_999, b"a"]  # a carriage return is part of its item
    assert run("check", path, stdin=lines(near), status=1) == b""


def test_one_item_with_and_without_a_newline(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(run("build", stdin=b"only"))
    assert path.read_bytes() == run("build", stdin=b"only\n")
    assert run("check", path, stdin=b"only") == b"only\n"


def test_an_empty_file_and_a_file_of_one_empty_item_differ(tmp_path):
    (tmp_path / "nothing").write_bytes(b"")
    (tmp_path / "empty").write_bytes(b"\n")
    for name, has_bits in ("nothing", False), ("empty", True):
        run("build", "-o", tmp_path / "f", tmp_path / name)
        assert bool(info(tmp_path / "f")["ones"]) == has_bits


@pytest.mark.parametrize("blocks", [1, 3])
def test_items_across_the_borders_of_blocks_are_complete(tmp_path, blocks):
    """Several threads take blocks of 64 KiB; these end in the middle of items."""
    items = [b"%07d" % i * (1 + i % 5) for i in range(6000 * blocks)]
    path = tmp_path / "items"
    path.write_bytes(lines(items)[:-1])
    run("build", "--error", "1e-6", "-o", tmp_path / "f", path)
    assert run("check", "-c", tmp_path / "f", path) == b"%d\n" % len(items)
    assert info(tmp_path / "f")["estimated_items"] > 0.98 * len(items)
    pairs = tmp_path / "hex"
    pairs.write_bytes(lines(item.hex().encode() for item in items))
    assert run("build", "--error", "1e-6", "--hex", pairs) == (tmp_path / "f").read_bytes()


def test_a_bad_item_far_into_a_file_is_named(tmp_path):
    path = tmp_path / "hex"
    path.write_bytes(b"00ff\n" * 100_000 + b"nonsense\n" + b"00ff\n" * 100_000)
    assert "line 100001 " in run("build", "--hex", path, status=2)


# k = 7, which the sorter has a loop of its own for, and k = 10
@pytest.mark.parametrize("layout, error", [("classic", 0.01), ("classic", 0.001), ("blocked", 0.01)])
def test_blocked_and_classic_built_by_sorting_are_those_built_one_by_one(tmp_path, layout, error):
    numbers = tmp_path / "numbers"
    numbers.write_bytes(lines(b"%d" % i for i in range(1_000_000)))
    sorted_, counted = tmp_path / "sorted", tmp_path / "counted"
    options = ("--layout", layout, "--error", error, numbers)
    name = {"classic": "portable", "blocked": "parquet"}[layout]
    run("build", "-o", sorted_, "--format", name, *options)  # over 1 MiB: sorted by region
    run("build", "-o", counted, "--format", "dump", *options)  # counts: one by one
    same = run("convert", "--to", name, counted) == sorted_.read_bytes()
    assert same
    same = run("build", "--format", name, "--capacity", 1_000_000, *options) == sorted_.read_bytes()
    assert same


# formats that mean a layout or a hash


def test_leveldb_is_built_as_leveldb_would():
    """The bytes that LevelDB writes at ten bits per key."""
    options = ("build", "--format", "leveldb", "--bits-per-key", 10)
    two = run(*options, stdin=b"hello\nworld\n")
    assert two.hex() == "114000414410401006"
    assert b"hash                leveldb\n" in run("info", "-", "--from", "leveldb", stdin=two)
    keys = lines(b"key%d" % i for i in range(20))
    assert run(*options, stdin=keys).hex() == "3a16785c0477c434680a18e40040393be12025c813234247e406"


def test_parquet_means_blocked(tmp_path, words_file):  # noqa: F811
    blocked = run("build", "--layout", "blocked", words_file)
    assert run("convert", "--to", "dump", "-", stdin=blocked) == blocked
    assert run("build", "--format", "parquet", words_file) == run("convert", "--to", "parquet", "-", stdin=blocked)
    assert "layout" in run("build", "--format", "parquet", "--layout", "classic", words_file, status=2)
    assert "hash" in run("build", "--format", "leveldb", "--hash", "xxh64", words_file, status=2)


# no room


def limited(nbytes):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))


@pytest.mark.parametrize("keeps_signal", [False, True])
def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(tmp_path, built, words_file, keeps_signal):  # noqa: F811
    """A limit on the size of files stands for the disk: it gives an error, or ends the program."""
    before, names = built.read_bytes(), sorted(os.listdir(tmp_path))
    done = subprocess.run([TOOL, "build", "--capacity", "1000000", "-o", built, words_file],
                          stderr=subprocess.PIPE, preexec_fn=limited(100_000), check=False,
                          restore_signals=keeps_signal)  # Python itself ignores SIGXFSZ
    if keeps_signal:
        assert done.returncode == -signal.SIGXFSZ
    else:
        assert done.returncode == 2 and b"File too large" in done.stderr
    assert built.read_bytes() == before and sorted(os.listdir(tmp_path)) == names


def test_a_full_directory_for_temporary_files_is_reported(tmp_path):
    numbers = lines(b"%d" % i for i in range(1_200_000))  # more than the spool keeps in memory
    done = subprocess.run([TOOL, "build", "-o", tmp_path / "f"], input=numbers, stderr=subprocess.PIPE,
                          preexec_fn=limited(1_000_000), check=False, restore_signals=False,
                          env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 2 and b"TMPDIR" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["build", "check"])
def test_a_full_standard_output_is_an_error(built, words_file, command):  # noqa: F811
    words = [TOOL, command, *([built] if command == "check" else []), words_file]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_an_unwritable_place_is_an_error(tmp_path, words_file):  # noqa: F811
    assert "No such file" in run("build", "-o", tmp_path / "none" / "f", words_file, status=2)
    assert "directory" in run("build", "-o", tmp_path, words_file, status=2)
    assert os.listdir(tmp_path) == ["words"]


def test_a_filter_from_a_pipe_is_as_one_from_a_file(tmp_path, words_file):  # noqa: F811
    run("build", "--capacity", 200_000, "-o", tmp_path / "f", words_file)  # more than the first read
    data = (tmp_path / "f").read_bytes()
    assert run("info", "-", stdin=data).split(b"\n", 1)[1] == run("info", tmp_path / "f").split(b"\n", 1)[1]
    assert run("check", "-", words_file, stdin=data) == words_file.read_bytes()


def test_a_directory_is_no_filter(tmp_path):
    assert "Is a directory" in run("info", tmp_path, status=2)


def on_terminal(words, feed):
    """What the tool writes to a terminal that is its stderr; `feed` gets the process and a function
    that tells what was written so far."""
    ours, theirs = pty.openpty()
    seen = bytearray()

    def look():
        while select.select([ours], [], [], 0)[0]:
            seen.extend(os.read(ours, 4096))
        return bytes(seen)

    with subprocess.Popen([TOOL, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs) as process:
        feed(process, look)
        process.communicate(timeout=60)
        assert process.returncode == 0
    text = look()
    os.close(theirs)
    os.close(ours)
    return text


def keep_on(process, look):
    """Items, until the tool has something to show."""
    while not look():
        process.stdin.write(lines(b"item:%d" % i for i in range(1000)))
        process.stdin.flush()


@pytest.mark.parametrize("command", ["build", "check"])
def test_a_terminal_sees_how_far_it_is_and_nothing_of_it_in_the_end(built, tmp_path, command):  # noqa: F811
    words = ["build", "-o", tmp_path / "new"] if command == "build" else ["check", "--count", built]
    shown = on_terminal(words, keep_on)
    assert re.match(rb"\r(hashing|checking) +\d+", shown), shown
    assert re.search(rb"\r\x1b\[K([\d,]+ items, .*\r\n)?$", shown), shown


def test_a_terminal_sees_a_bar_where_the_end_is_known(built, tmp_path):  # noqa: F811
    """The tool waits until the test reads its output, which takes more than a second."""
    many = tmp_path / "many"
    many.write_bytes(lines(b"item:%d" % (i % 5000) for i in range(300_000)))

    def wait(process, look):
        select.select([process.stdout], [], [])
        time.sleep(1.1)

    shown = on_terminal(["check", built, many], wait)
    assert re.match(rb"\rchecking +\[#*\.*\] +\d+ % \d+:\d\d left", shown), shown


def test_a_reader_that_has_gone_ends_check_as_it_ends_grep(built):  # noqa: F811
    with subprocess.Popen([TOOL, "check", "-v", built], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        with pytest.raises(BrokenPipeError):
            for _ in range(100):
                process.stdin.write(b"absent\n" * 100_000)
                process.stdin.flush()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait() == -signal.SIGPIPE and process.stderr.read() == b""


# much


def peak_of_check(path, copies, chunk):
    """kB of resident memory when `check` has taken that many chunks and waits for more."""
    with subprocess.Popen([TOOL, "check", "-c", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(copies):
            process.stdin.write(chunk)
        process.stdin.flush()
        with open("/proc/%d/status" % process.pid, encoding="ascii") as status:
            peak = int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))
        process.stdin.close()
        assert int(process.stdout.read()) == copies * chunk.count(b"\n")
    return peak


def test_check_takes_no_more_memory_for_a_hundred_times_the_input(built):  # noqa: F811
    chunk = lines(b"item:%d" % (i % 5000) for i in range(100_000))  # 1 MB
    assert peak_of_check(built, 100, chunk) <= peak_of_check(built, 1, chunk) + 512


# help


def test_the_manual_has_every_command_and_option():
    page = (REPO / "rdb" / "tool" / "bloomport.1").read_text(encoding="utf-8").replace("\\-", "-")
    commands = re.findall(r"^  (\w+) ", run("--help").decode(), re.M)
    assert len(commands) >= 9
    for command in commands:
        assert "bloomport " + command in page
        for option in re.findall(r"(--[a-z-]+)", run(command, "--help").decode()):
            assert option in page or option == "--help", (command, option)
