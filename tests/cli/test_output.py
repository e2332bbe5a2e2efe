"""What the command-line tool does to files: the file that it writes, in place of any other and through any
fault, and files that change while they are read. shim.c causes the faults.
"""

import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from test_tool import REPO, TOOL, WORDS, built, lines, run, words_file  # noqa: F401  (fixtures)

IO_ERROR = re.compile(b"Input/output error|I/O error")  # glibc's words for EIO, musl's


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    path = tmp_path_factory.mktemp("shim") / "shim.so"
    source = REPO / "tests" / "cli" / "shim.c"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


@pytest.fixture
def shimmed(shim, tmp_path_factory):
    """shimmed("build", ..., SHIM_FAIL="file") -> status, standard error, the calls recorded."""
    log = tmp_path_factory.mktemp("log") / "calls"

    def call(*words, **settings):
        log.write_text("")
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        done = subprocess.run([TOOL, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              check=False, env={**os.environ, "LD_PRELOAD": str(shim), "SHIM_LOG": str(log),
                                                "ASAN_OPTIONS": options, **{k: str(v) for k, v in settings.items()}})
        return done.returncode, done.stderr, log.read_text().splitlines()

    return call


# who may read it


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, words_file, mode):  # noqa: F811
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(mode)
    run("build", "--format", "portable", "-o", path, words_file)
    assert mode_of(path) == mode and path.stat().st_size > 3


def test_a_new_file_has_the_mode_that_umask_leaves(tmp_path, words_file):  # noqa: F811
    old = os.umask(0o027)
    try:
        run("build", "--format", "portable", "-o", tmp_path / "f", words_file)
    finally:
        os.umask(old)
    assert mode_of(tmp_path / "f") == 0o640


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")


@needs_root
def test_a_file_that_is_replaced_keeps_its_owner_and_group(built, words_file):  # noqa: F811
    os.chown(built, 12345, 54321)
    built.chmod(0o640)
    run("build", "--format", "portable", "-o", built, words_file)
    of = built.stat()
    assert (of.st_uid, of.st_gid, mode_of(built)) == (12345, 54321, 0o640)


@needs_root
def test_a_group_that_cannot_be_kept_leaves_no_rights_to_another():
    with tempfile.TemporaryDirectory(prefix="bloomport-") as name:
        place = Path(name)
        shutil.copy(TOOL, place / "tool")
        os.chown(place, 12345, 12345)
        (place / "f").write_bytes(b"old")
        (place / "f").chmod(0o664)
        # The files that a sanitizer's options name may be in a directory that this user cannot enter, as /root is.
        environment = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
        subprocess.run([place / "tool", "build", "--format", "portable", "-o", place / "f"], input=lines(WORDS), check=True, user=12345,
                       group=12345, extra_groups=[], env=environment)
        of = (place / "f").stat()
        assert (of.st_uid, of.st_gid, mode_of(place / "f")) == (12345, 12345, 0o644)


# links


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_and_the_file_at_its_end_is_written(tmp_path, built, words_file, exists):  # noqa: F811
    """Three links in three directories, relative and absolute."""
    for name in "abc":
        (tmp_path / name).mkdir()
    link, target = tmp_path / "a" / "link", tmp_path / "c" / "target"
    link.symlink_to("../b/link")
    (tmp_path / "b" / "link").symlink_to(tmp_path / "c" / "link")
    (tmp_path / "c" / "link").symlink_to("target")
    if exists:
        target.write_bytes(b"old")
        target.chmod(0o600)
    run("build", "--format", "portable", "-o", link, words_file)
    assert target.read_bytes() == built.read_bytes() and not target.is_symlink()
    assert os.readlink(link) == "../b/link" and (tmp_path / "b" / "link").is_symlink()
    assert [os.listdir(tmp_path / name) for name in "ab"] == [["link"], ["link"]]
    assert sorted(os.listdir(tmp_path / "c")) == ["link", "target"]
    assert not exists or mode_of(target) == 0o600


def test_a_link_by_a_relative_name_is_followed(tmp_path, built):  # noqa: F811
    (tmp_path / "link").symlink_to("target")
    run("convert", "--to", "portable", "-o", "link", "f.bloom", cwd=tmp_path)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == built.read_bytes()


def test_links_that_go_round_in_circles_are_refused_and_stay(tmp_path, words_file):  # noqa: F811
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    error = run("build", "--format", "portable", "-o", tmp_path / "a", words_file, status=2)
    assert re.search("levels of symbolic links|Symbolic link loop", error)  # glibc's words, musl's words
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "words"] and (tmp_path / "a").is_symlink()


def test_a_link_to_standard_output_is_standard_output(tmp_path, built, words_file):  # noqa: F811
    """/dev/stdout is such a link, to a pipe or to a file that other programs write to as well."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    assert run("build", "--format", "portable", "-o", link, words_file) == built.read_bytes()
    with open(tmp_path / "out", "wb", buffering=0) as out:
        out.write(b"before")
        subprocess.run([TOOL, "build", "--format", "portable", "-o", link, words_file], stdout=out, check=True)
        out.write(b"after")
    assert (tmp_path / "out").read_bytes() == b"before" + built.read_bytes() + b"after"
    assert os.readlink(link) == "/proc/self/fd/1"


def test_a_file_without_a_name_is_written_as_it_stands(tmp_path, built, words_file):  # noqa: F811
    other = tmp_path / "out (deleted)"  # what the link below /proc says when the name has gone
    other.write_bytes(b"other")
    with open(tmp_path / "out", "w+b") as out:
        out.write(b"x" * 10_000)
        out.flush()
        os.unlink(tmp_path / "out")
        subprocess.run([TOOL, "build", "--format", "portable", "-o", "/proc/self/fd/%d" % out.fileno(), words_file],
                       pass_fds=[out.fileno()], check=True)
        out.seek(0)
        assert out.read() == built.read_bytes()
    assert other.read_bytes() == b"other"
    assert sorted(os.listdir(tmp_path)) == ["f.bloom", "out (deleted)", "words"]


def test_a_pipe_with_a_name_is_written_as_it_stands(tmp_path, built, words_file):  # noqa: F811
    """Devices are written so too; a pipe does no harm to the machine if the test fails."""
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    run("build", "--format", "portable", "-o", tmp_path / "fifo", words_file)
    assert os.read(reader, 1 << 20) == built.read_bytes()  # less than a pipe holds
    os.close(reader)
    assert stat.S_ISFIFO(os.stat(tmp_path / "fifo").st_mode)


# on disk


def test_a_file_is_on_disk_before_it_has_its_name_and_then_its_directory(tmp_path, words_file, shimmed):  # noqa: F811
    status, _, calls = shimmed("build", "--format", "portable", "-o", tmp_path / "f", words_file)
    assert status == 0 and calls == ["fsync file", "rename", "fsync directory"]


def test_a_file_that_does_not_reach_the_disk_is_an_error_and_the_old_one_stays(tmp_path, built, words_file, shimmed):  # noqa: F811
    before, names = built.read_bytes(), sorted(os.listdir(tmp_path))
    status, error, calls = shimmed("build", "--error", "0.5", "-o", built, words_file, SHIM_FAIL="file")
    assert status == 2 and IO_ERROR.search(error) and error.count(b"\n") == 1
    assert "rename" not in calls
    assert built.read_bytes() == before and sorted(os.listdir(tmp_path)) == names


def test_a_directory_that_does_not_reach_the_disk_is_an_error(tmp_path, words_file, shimmed):  # noqa: F811
    status, error, _ = shimmed("build", "--format", "portable", "-o", tmp_path / "f", words_file, SHIM_FAIL="directory")
    assert status == 2 and IO_ERROR.search(error) and error.count(b"\n") == 1
    assert (tmp_path / "f").exists()


# signals


def test_a_signal_after_the_temporary_file_is_made_removes_it(tmp_path, words_file, shimmed):  # noqa: F811
    status, error, _ = shimmed("build", "--format", "portable", "-o", tmp_path / "f", words_file, SHIM_SIGNAL="mkstemp")
    assert status == -signal.SIGTERM and error == b"" and os.listdir(tmp_path) == ["words"]


def test_a_signal_after_the_file_has_its_name_removes_nothing(tmp_path, built, words_file, shimmed):  # noqa: F811
    expected = built.read_bytes()
    built.unlink()
    status, error, calls = shimmed("build", "--format", "portable", "-o", built, words_file, SHIM_SIGNAL="rename")
    assert status == -signal.SIGTERM and error == b""
    assert "unlink" not in calls[calls.index("rename"):]
    assert built.read_bytes() == expected and sorted(os.listdir(tmp_path)) == ["f.bloom", "words"]


# inputs that change


@pytest.mark.parametrize("command", ["info", "check", "convert", "merge"])
@pytest.mark.parametrize("at", ["fstat", "read"])
@pytest.mark.parametrize("stays", [0, 100_000, -1])
def test_a_filter_that_becomes_shorter_while_it_is_read_is_an_error(tmp_path, words_file, shimmed, command, at, stays):  # noqa: F811
    path, full = tmp_path / "f", tmp_path / "full"
    run("build", "--capacity", 200_000, "-o", path, words_file)
    shutil.copy(path, full)
    words = {"check": ["check", path, words_file], "merge": ["merge", full, path, "-o", tmp_path / "out"],
             "convert": ["convert", "--to", "dump", "-o", tmp_path / "out", path]}.get(command, [command, path])
    status, error, _ = shimmed(*words, SHIM_CUT=path, SHIM_CUT_AT=at, SHIM_CUT_TO=stays % path.stat().st_size)
    assert status == 2 and b"became shorter" in error and error.count(b"\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["f", "full", "words"]


@pytest.mark.parametrize("command, at", [("build", "pread"), ("build", "read"), ("check", "read")])
def test_items_that_become_fewer_while_they_are_read_are_an_error(tmp_path, built, shimmed, command, at):  # noqa: F811
    items = tmp_path / "items"
    items.write_bytes(lines(WORDS * 10))
    words = ["build", "--format", "portable", "-o", tmp_path / "out"] if command == "build" else ["check", "--count", built]
    status, error, _ = shimmed(*words, items, SHIM_CUT=items, SHIM_CUT_AT=at, SHIM_CUT_TO=200_000)
    assert status == 2 and b"items: became shorter" in error and error.count(b"\n") == 1
    assert not (tmp_path / "out").exists()
