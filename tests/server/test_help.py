"""What the server tells of the commands: BF.HELP, COMMAND DOCS, and the hints that redis-cli makes of them."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import termios

import pytest

from checks import COMMANDS, GROWTH_FAILED, NO_MEMORY, arity_error
from resp import error
from test_command_table import docs

CLI = shutil.which(os.environ.get("REDIS_CLI", "redis-cli"))


def test_help_has_a_line_for_each_command_that_begins_with_its_syntax(call):
    lines = call("BF.HELP").plain
    listed = call("COMMAND", "LIST", "FILTERBY", "MODULE", "bf").plain
    assert sorted(re.match(r"BF\.\w+", line)[0] for line in lines) == sorted(name.decode().upper() for name in listed)
    assert "BF.ADD key item: Adds an item, and creates the filter if it is missing" in lines
    (merge,) = [line for line in lines if line.startswith("BF.MERGE ")]
    assert merge.startswith("BF.MERGE dest source ...: ")
    (insert,) = [line for line in lines if line.startswith("BF.INSERT ")]
    assert "[ERROR error_rate|BITSPERKEY bits]" in insert and insert.count("ITEMS item ...: ") == 1


def test_help_takes_no_words(call):
    assert call("BF.HELP", "x") == error(arity_error("BF.HELP"))


@pytest.mark.parametrize("name", COMMANDS)
def test_since_is_a_version_of_ours(call3, name):
    assert docs(call3, name)["since"] in ("0.1.0", "0.2.0")


def hint(server, typed):
    """What redis-cli shows to somebody who has typed this much."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 300, 0, 0))
        os.environ.update(TERM="xterm", HOME="/nonexistent")
        os.execv(CLI, [CLI, "-s", server.socket])
    try:
        read_until(terminal, "> ")
        os.write(terminal, typed.encode())
        seen = read_until(terminal, None)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    last = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", seen).rsplit("> ", 1)[-1]
    return last[len(typed):].strip()


def read_until(terminal, mark):
    """Everything that the terminal shows until `mark`, or until it has nothing more to show."""
    seen = ""
    while mark is None or mark not in seen:
        ready, _, _ = select.select([terminal], [], [], 1 if seen else 10)
        if not ready:
            break
        seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


@pytest.mark.skipif(CLI is None, reason="there is no redis-cli")
@pytest.mark.parametrize("typed, first", [
    ("BF.RESERVE ", "key"), ("BF.RESERVE k ", "error_rate"), ("BF.RESERVE k 0.01 ", "capacity"),
    ("BF.RESERVE k 0.01 1000 ", "["), ("BF.ADD k ", "item"), ("BF.MERGE d ", "source"), ("BF.SCANDUMP k ", "iterator"),
])
def test_redis_cli_shows_what_comes_next(server, typed, first):
    assert hint(server, typed).startswith(first)


@pytest.mark.parametrize("words, text", [
    (("BF.RESERVE", "k", "0.01", "10", "LAYOUT", "x"), "ERR bad layout: CLASSIC, BLOCKED or COUNTING"),
    (("BF.INSERT", "k", "HASH", "x", "ITEMS", "a"), "ERR bad hash: XXH64, FNV1A or SIP13"),
    (("BF.EXPORT", "k", "FORMAT", "x"), "ERR bad format: it is one of portable, sstable, leveldb, parquet, redisbloom, valkeybloom, guava, spark, go, cassandra, bip37, rocksdb, datasketches, redisson"),
])
def test_a_bad_word_gets_the_legal_ones(call, words, text):
    assert call(*words) == error(text)


def test_a_refusal_names_the_limit_and_the_bytes_needed(call):
    call("BF.RESERVE", "grows", "0.01", "1000")
    call("BF.MADD", "grows", *range(990))
    call("CONFIG", "SET", "bf.max-bytes", "2000")
    try:
        refused = call("BF.RESERVE", "k", "0.01", "100000").value
        assert re.fullmatch(NO_MEMORY + ": it needs 132[0-9]{3} bytes, and bf.max-bytes is 2000", refused)
        (failed,) = {reply.value for reply in call("BF.MADD", "grows", *range(2000, 2100)).value if reply.is_error}
        assert re.fullmatch(GROWTH_FAILED + ": it needs [0-9]{4} bytes, and bf.max-bytes is 2000", failed)
        call("CONFIG", "SET", "bf.max-bytes", "0", "maxmemory", "100mb")
        refused = call("BF.RESERVE", "k", "0.01", "1000000000").value
        assert re.fullmatch(NO_MEMORY + ": it needs 132[0-9]{7} bytes, and maxmemory is 104857600", refused)
    finally:
        call("CONFIG", "SET", "bf.max-bytes", "0", "maxmemory", "0")


@pytest.mark.parametrize("name, value, text", [
    ("bf.error-rate", "x", "Invalid value for `bf.error-rate`"),
    ("bf.error-rate", "1", "Value for `bf.error-rate` must be in the range (0, 1)"),
    ("bf.initial-size", "0", "Value for `bf.initial-size` must be in the range [1, 9223372036854775807]"),
    ("bf.expansion-factor", "32769", "Value for `bf.expansion-factor` must be in the range [0, 32768]"),
])
def test_config_set_refuses_in_redisblooms_words(call, name, value, text):
    assert call("CONFIG", "SET", name, value).value.endswith(text)


def test_arguments_for_cuckoo_filters_are_ignored_with_one_line(new_server):
    server = new_server(module_args=["CF_MAX_EXPANSIONS", "32", "ERROR_RATE", "0.02"])
    assert server.call("CONFIG", "GET", "bf.error-rate").plain[1] == b"0.02"
    (line,) = [line for line in server.log.splitlines() if "cuckoo" in line]
    assert line.endswith("bloomport has no cuckoo filters: CF_* and cf-* mean nothing")
