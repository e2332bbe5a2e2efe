"""The same commands through two real clients of every Debian: redis-cli and redis-py."""

import pytest
import redis

from checks import filter_state

try:
    from redis.utils import HIREDIS_AVAILABLE
except ImportError:
    HIREDIS_AVAILABLE = False


@pytest.fixture
def cli(empty_server):
    """cli("BF.ADD", "k", "a") -> what redis-cli prints, as text without the last line end."""

    def run(*words, protocol="-2", stdin=None):
        return empty_server.cli(protocol, "--no-raw", *words, stdin=stdin).decode().rstrip("\n")

    return run


# redis-cli


def test_cli_prints_integers_over_resp2_and_booleans_over_resp3(cli):
    assert cli("bf.add", "k", "a") == "(integer) 1"
    assert cli("bf.exists", "k", "a", protocol="-3") == "(true)"
    assert cli("bf.add", "k", "a", protocol="-3") == "(false)"
    assert cli("BF.MADD", "k", "a", "b") == "1) (integer) 0\n2) (integer) 1"


def test_cli_prints_info_names_without_quotes(cli):
    cli("BF.RESERVE", "k", "0.01", "100", "NONSCALING")
    lines = cli("BF.INFO", "k").splitlines()
    assert lines[0].split() == ["1)", "Capacity"]
    assert lines[1].split() == ["2)", "(integer)", "100"]
    assert lines[8].split() == ["9)", "Expansion", "rate"]
    assert lines[9].split() == ["10)", "(nil)"]
    assert len(lines) == 10


def test_cli_prints_info_as_a_map_over_resp3(cli):
    cli("BF.RESERVE", "k", "0.01", "100")
    lines = cli("BF.INFO", "k", protocol="-3").splitlines()
    assert lines[0] == "1# Capacity => (integer) 100"
    assert lines[4] == "5# Expansion rate => (integer) 2"


def test_cli_prints_errors(cli):
    assert cli("BF.RESERVE", "k", "7", "100") == (
        "(error) ERR error rate must be in the range (0.000000, 1.000000)"
    )
    assert cli("BF.INFO", "k") == "(error) ERR not found"


def test_cli_sends_binary_items_from_standard_input(cli):
    item = b"\x00\r\n\xff"
    assert cli("-x", "BF.ADD", "k", stdin=item) == "(integer) 1"
    assert cli("-x", "BF.EXISTS", "k", stdin=item) == "(integer) 1"
    assert cli("-x", "BF.EXISTS", "k", stdin=item[:-1]) == "(integer) 0"


def test_cli_pipe_mode_loads_many_items(empty_server):
    commands = b"".join(b"BF.ADD k item%d\r\n" % i for i in range(5000))
    assert b"errors: 0, replies: 5000" in empty_server.cli("--pipe", stdin=commands)
    assert empty_server.call("BF.MEXISTS", "k", "item0", "item4999").plain == [1, 1]


# redis-py


def test_redis_py_creates_adds_and_asks(r):
    bf = r.bf()
    assert bf.create("k", 0.01, 1000, expansion=4)
    assert bf.add("k", "a") == 1
    assert bf.madd("k", "a", "b") == [0, 1]
    assert bf.exists("k", "a") == 1
    assert bf.mexists("k", "b", "absent") == [1, 0]


def test_redis_py_inserts_with_every_option(r):
    bf = r.bf()
    assert bf.insert("k", ["a", "b", "a"], capacity=1000, error=0.001, expansion=4) == [1, 1, 0]
    assert bf.insert("k", ["c"], noCreate=True) == [1]
    assert bf.insert("n", ["a"], capacity=10, error=1e-07, noScale=True) == [1]
    assert bf.info("n").expansionRate is None
    with pytest.raises(redis.ResponseError, match="not found"):
        bf.insert("missing", ["a"], noCreate=True)


def test_redis_py_reads_info(r):
    bf = r.bf()
    bf.create("k", 0.01, 1000, expansion=4)
    bf.add("k", "a")
    seen = bf.info("k")
    assert (seen.capacity, seen.filterNum, seen.insertedNum, seen.expansionRate) == (1000, 1, 1, 4)
    assert seen.size > 1000


def test_redis_py_gets_the_error_of_a_full_filter_as_the_last_element(r):
    bf = r.bf()
    bf.create("k", 1e-9, 2, noScale=True)
    *answers, last = bf.madd("k", "a", "b", "c", "d")
    assert answers == [1, 1]
    assert isinstance(last, redis.ResponseError) and "non scaling filter is full" in str(last)


@pytest.mark.skipif(HIREDIS_AVAILABLE, reason="this redis-py refuses BF.SCANDUMP with hiredis")
def test_redis_py_dumps_and_loads(r, call):
    bf = r.bf()
    bf.create("k", 0.01, 10)
    bf.madd("k", *range(100))
    iterator = 0
    while True:
        iterator, data = bf.scandump("k", iterator)
        if iterator == 0:
            break
        assert bf.loadchunk("copy", iterator, data)
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_redis_py_pipelines(r):
    with r.pipeline(transaction=True) as pipe:
        for i in range(100):
            pipe.execute_command("BF.ADD", "k", i)
        assert sum(pipe.execute()) >= 98
