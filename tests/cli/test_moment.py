"""copy and pull of a filter that is in use: what arrives is the filter as it was at one moment, whatever clients add,
delete and rename meanwhile, or the command says that it could not be had."""

import contextlib
import subprocess
import threading

import pytest

from test_copy import Between, other, other_server, urls  # noqa: F401  (fixtures)
from test_push import dump, end_by_signal, heed_signals
from test_tool import TOOL, WORDS, r, run, server  # noqa: F401  (fixtures)

from churn import adding, assert_is_one_moment, batch, pieces, replacing
from filters import Writer, follow, until
from redis_server import Server

COUNTING = ("BITSPERKEY", 8, 6_000_000, "LAYOUT", "COUNTING")  # 24 MB: a header and two pieces
PLAIN = ("BITSPERKEY", 32, 6_000_000)  # as many bytes


@pytest.fixture(params=["copy", "pull"])
def move(request, tmp_path, r, other, urls):  # noqa: F811
    """Moves the key k to the other server, from where the words say, by copy or by pull and push."""
    source, target = urls[1].removeprefix("unix://"), other.connection_pool.connection_kwargs["path"]

    def copy(source=source, status=0, user=()):
        url = ("unix://%s:%s@%s" % (*user, source)) if user else "unix://" + source
        return run("copy", "--from", url, *urls[2:], "--key", "k", status=status)

    def pull(source=source, status=0, user=()):
        words = ("--user", user[0], "-a", user[1]) if user else ()
        said = run("pull", "--key", "k", "-s", source, *words, "-o", tmp_path / "f", status=status)
        if status == 0:
            run("push", tmp_path / "f", "--key", "k", "-s", target)
        return said

    return {"copy": copy, "pull": pull}[request.param]


def churned(r, address, reserve, commands):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", *reserve)
    writer = Writer(address, commands())
    writer.until_acknowledged(20)
    return writer


def moved_under_churn(writer, move, other, reserve, times, lag=False, **words):  # noqa: F811
    """lag: what is read may be older than what the writer has been told."""
    try:
        for _ in range(times):
            begun = 2 if lag else len(writer.acknowledged)
            move(**words)
            assert_is_one_moment(other.execute_command, "k", reserve, list(writer.sent), begun)
            other.flushall()
    finally:
        writer.finish()


@pytest.mark.parametrize("reserve, commands", [(COUNTING, replacing), (PLAIN, adding)], ids=["deletions", "adds"])
def test_a_filter_in_use_arrives_as_it_was_at_one_moment(r, server, other, move, reserve, commands):  # noqa: F811
    writer = churned(r, server.socket, reserve, commands)
    moved_under_churn(writer, move, other, reserve, times=3)
    assert r.keys() == [b"k"]


def test_a_large_filter_in_use_is_kept_still_as_a_copy_that_is_deleted(r, server, other, move):  # noqa: F811
    """80 MB, more than the server is asked for at once. Nobody may see more of the copy than that it expires."""
    reserve = ("BITSPERKEY", 8, 20_000_000, "LAYOUT", "COUNTING")
    writer = churned(r, server.socket, reserve, replacing)
    r.config_resetstat()
    moved_under_churn(writer, move, other, reserve, times=1)
    assert r.info("commandstats")["cmdstat_copy"]["calls"] == 1 and r.keys() == [b"k"]


def test_replicas_are_read_as_well(r, server, other, move):  # noqa: F811
    """All in one answer, or, where it would be too large, an error: a replica makes no copies."""
    with contextlib.closing(Server().start()) as replica:
        follow(replica, server)
        client = replica.client()
        writer = churned(r, server.socket, COUNTING, replacing)
        until(lambda: client.exists("k"), "it has the filter")
        moved_under_churn(writer, move, other, COUNTING, times=2, lag=True, source=replica.socket)
        r.delete("k")
        until(lambda: not client.exists("k"), "the filter is gone")
        writer = churned(r, server.socket, ("BITSPERKEY", 8, 20_000_000, "LAYOUT", "COUNTING"), replacing)
        until(lambda: client.exists("k"), "it has the new filter")
        try:
            error = move(source=replica.socket, status=2)
        finally:
            writer.finish()
        assert "key 'k': it changes while it is read, and cannot be kept still: READONLY" in error
        assert other.keys() == [] and r.keys() == [b"k"]


def test_a_user_who_may_only_read_reads_it(r, server, other, move):  # noqa: F811
    """What the manual says that such a user needs."""
    needs = "+bf.scandump", "+pttl", "+watch", "+multi", "+exec"
    r.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "%R~*", "-@all", *needs)
    writer = churned(r, server.socket, COUNTING, replacing)
    moved_under_churn(writer, move, other, COUNTING, times=2, user=("reader", "pw"))


@pytest.mark.parametrize("missing", ["watch", "multi", "exec"])
def test_a_user_who_may_not_even_that_is_told_what_for(r, other, move, missing):  # noqa: F811
    r.execute_command("ACL", "SETUSER", "less", "on", ">pw", "%R~*", "-@all", "+bf.scandump", "+pttl",
                      *("+" + word for word in ("watch", "multi", "exec") if word != missing))
    r.execute_command("BF.MADD", "k", *WORDS)
    error = move(user=("less", "pw"), status=2)
    assert "NOPERM" in error and missing in error
    assert "(WATCH, MULTI and EXEC make sure that what is read is one moment of the filter)\n" in error
    assert other.keys() == []


def copied_while(meanwhile, server, other_server, *words, status=0):  # noqa: F811
    """copy, and `meanwhile` once the first large answer passes: the first of two pieces."""
    between = Between(server.socket, lambda: meanwhile(server.client()))
    said = run("copy", "--from", "redis://127.0.0.1:%d" % between.port, "--to", "unix://" + other_server.socket, "--key", "k",
               *words, status=status)
    assert between.meanwhile is None
    return said


@pytest.fixture
def two_pieces(r):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", *COUNTING)
    r.execute_command("BF.MADD", "k", *batch(0))
    return r


def test_the_time_to_live_is_of_the_same_moment_as_the_bits(two_pieces, other, server, other_server):  # noqa: F811
    two_pieces.pexpire("k", 900_000_000)
    copied_while(lambda client: client.pexpire("k", 1_000_000), server, other_server)
    assert 0 < other.pttl("k") <= 1_000_000
    copied_while(lambda client: client.persist("k"), server, other_server, "--replace")
    assert other.pttl("k") == -1


def test_a_filter_that_is_deleted_or_replaced_meanwhile_is_not_half_copied(two_pieces, other, server, other_server):  # noqa: F811
    two_pieces.copy("k", "kept")
    error = copied_while(lambda client: client.delete("k"), server, other_server, status=2)
    assert "key 'k': there is no such key" in error and other.keys() == []
    two_pieces.rename("kept", "k")
    two_pieces.execute_command("BF.RESERVE", "new", 0.01, 1000)
    two_pieces.execute_command("BF.MADD", "new", *WORDS[:100])
    copied_while(lambda client: client.rename("new", "k"), server, other_server)
    assert dump(other, "k") == dump(two_pieces, "k")


def test_a_window_that_forgets_a_generation_meanwhile_is_one_moment(other, other_server):  # noqa: F811
    """Two generations of 18 MB each; the clock moves on, and the next add drops both."""
    with contextlib.closing(Server(has_clock=True, tcp=True).start()) as source:
        client = source.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 20_000_000, "WINDOW", 3600, "GENERATIONS", 2)
        client.execute_command("BF.MADD", "k", *WORDS)
        source.clock.advance(1_800_000)
        client.execute_command("BF.MADD", "k", *WORDS[:100])
        assert len(pieces(client.execute_command, "k")) == 5

        def forget(other_client):
            source.clock.advance(36_000_000)
            other_client.execute_command("BF.MADD", "k", *WORDS[100:200])

        copied_while(forget, source, other_server)
        assert dump(other, "k") == dump(client, "k") and len(pieces(client.execute_command, "k")) == 3


def large_and_touched(r):  # noqa: F811
    """A filter that goes by way of a copy if it is touched; and what touches it."""
    r.execute_command("BF.RESERVE", "k", "BITSPERKEY", 8, 20_000_000, "LAYOUT", "COUNTING")
    r.execute_command("BF.MADD", "k", *batch(0))
    return lambda client: client.execute_command("BF.MADD", "k", *batch(1))


def test_an_error_of_the_target_deletes_the_copy_at_the_source(r, other, server, other_server):  # noqa: F811
    touch = large_and_touched(r)
    other.execute_command("ACL", "SETUSER", "most", "on", ">pw", "~*", "+@all", "-renamenx")
    between = Between(server.socket, lambda: touch(server.client()))
    error = run("copy", "--from", "redis://127.0.0.1:%d" % between.port, "--to", "unix://most:pw@" + other_server.socket, "--key",
                "k", status=2)
    assert "NOPERM" in error
    assert r.keys() == [b"k"] and other.keys() == []


@pytest.mark.parametrize("command", ["copy", "pull"])
def test_a_signal_deletes_the_copy_at_the_source(tmp_path, r, other, server, other_server, command):  # noqa: F811
    """It comes while the copy is read: 80 MB were read in vain, and of the copy a megabyte."""
    touch = large_and_touched(r)
    reached, go = threading.Event(), threading.Event()

    def second():
        until(lambda: len(r.keys()) == 2, "the copy is there")
        reached.set()
        go.wait()

    between = Between(server.socket, lambda: touch(server.client()), second, after=82_000_000)
    source, port = "redis://127.0.0.1:%d" % between.port, between.port
    words = ["--from", source, "--to", "unix://" + other_server.socket] if command == "copy" else ["-p", port, "-o", tmp_path / "f"]
    process = subprocess.Popen([TOOL, command, *map(str, words), "--key", "k"], preexec_fn=heed_signals, stderr=subprocess.DEVNULL)
    end_by_signal(process, reached, go)
    until(lambda: r.keys() == [b"k"] and other.keys() == [], "both temporary keys are gone")
