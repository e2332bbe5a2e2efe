"""bloomport copy: from server to server, in bounded memory, also while clients add."""

import re
import socket
import subprocess
import threading

import pytest

from secured import PASSWORD, URL_PASSWORD, Cluster, Secured
from test_growing import facts_of
from test_manners import said
from test_push import dump, end_by_signal, heed_signals
from test_tool import OTHERS, TOOL, WORDS, emptied, lines, r, run, server  # noqa: F401  (fixtures)

from filters import until
from redis_server import INSTRUMENTED, served
from redisbloom import FIXTURES
from formats_model import RedisBloom


@pytest.fixture(scope="module")
def other_server():
    yield from served(tcp=True)


@pytest.fixture
def other(other_server):
    yield from emptied(other_server)


@pytest.fixture
def urls(server, other_server):  # noqa: F811
    return "--from", "unix://" + server.socket, "--to", "redis://127.0.0.1:%d" % other_server.port


def test_every_kind_of_filter_is_copied_to_the_last_bit(r, other, urls):  # noqa: F811
    r.execute_command("BF.RESERVE", "plain", 0.01, 5000)
    r.execute_command("BF.RESERVE", "grown", 0.01, 100)
    r.execute_command("BF.RESERVE", "blocked", 0.01, 5000, "LAYOUT", "BLOCKED")
    r.execute_command("BF.RESERVE", "counting", 0.01, 5000, "LAYOUT", "COUNTING")
    r.execute_command("BF.RESERVE", "keyed", 0.01, 5000, "HASH", "SIP13")
    r.execute_command("BF.RESERVE", "window", 0.01, 5000, "WINDOW", 3600)
    keys = ["plain", "grown", "blocked", "counting", "keyed", "window"]
    for key in keys:
        r.execute_command("BF.MADD", key, *WORDS[:2000])
    r.restore("theirs", 0, FIXTURES["grown"].payload)
    for key in [*keys, "theirs"]:
        run("copy", *urls, "--key", key)
        assert other.type(key) == r.type(key) and other.dump(key) == r.dump(key)
    assert len(other.keys()) == 7 and len(r.keys()) == 7


@pytest.mark.skipif(INSTRUMENTED, reason="a sanitizer has memory of its own")
def test_a_filter_of_several_pieces_takes_no_more_memory_than_one(r, other, urls):  # noqa: F811
    """300 MB and 40 MB: 19 pieces and 3."""
    peaks = []
    for megabytes in 40, 300:
        r.execute_command("BF.RESERVE", "large", "BITSPERKEY", 8, megabytes * 1_000_000, "NONSCALING")
        r.execute_command("BF.MADD", "large", *WORDS)
        done = subprocess.run(["/usr/bin/python3", "-c", "import os, resource, subprocess, sys; subprocess.run(sys.argv[1:], "
                               "check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", TOOL, "copy", "-q",
                               *urls, "--key", "large"], check=True, stdout=subprocess.PIPE)
        peaks.append(int(done.stdout))
        assert other.execute_command("BF.MEXISTS", "large", *WORDS) == [1] * len(WORDS)
        other.flushall()
        r.flushall()
    assert peaks[1] < peaks[0] + 20_000 and peaks[1] < 150_000, peaks  # kB


def test_another_name_and_an_old_filter(r, other, urls):  # noqa: F811
    r.execute_command("BF.MADD", "k", *WORDS[:100])
    other.execute_command("BF.ADD", "there", "old")
    assert "exists: --replace replaces it, --merge unites them" in run("copy", *urls, "--key", "k", "--key-to", "there", status=2)
    assert other.execute_command("BF.EXISTS", "there", "old") == 1
    run("copy", *urls, "--key", "k", "--key-to", "there", "--replace")
    assert other.dump("there") == r.dump("k") and other.keys() == [b"there"]


def test_merge_unites_what_both_servers_have(r, other, urls):  # noqa: F811
    for client, words in (r, WORDS), (other, OTHERS):
        client.execute_command("BF.RESERVE", "k", 0.01, 20000)
        client.execute_command("BF.MADD", "k", *words)
    run("copy", *urls, "--key", "k", "--merge")
    assert other.execute_command("BF.MEXISTS", "k", *WORDS, *OTHERS) == [1] * 10000
    assert r.execute_command("BF.CARD", "k") < 5100 and other.keys() == [b"k"]
    run("copy", *urls, "--key", "k", "--key-to", "new", "--merge")
    assert other.dump("new") == r.dump("k")


def test_a_merge_that_overfills_says_the_rate_that_the_server_has_now(r, other, urls):  # noqa: F811
    for client, words in (r, WORDS), (other, OTHERS):
        client.execute_command("BF.RESERVE", "k", 0.01, 100)
        client.execute_command("BF.MADD", "k", *words[:300])
    note = said("copy", *urls, "--key", "k", "--merge").splitlines()[0]
    facts = facts_of(other, "k")
    assert facts["state"] == b"overfilled"
    assert note.startswith("k: the merged filter is overfilled: its error rate is now %.2g, promised 0.01 (" %
                           float(facts["current error rate"])), note
    assert "overfilled" not in said("copy", *urls, "--key", "k", "--key-to", "new", "--merge")


def test_filters_that_cannot_be_merged_are_left_as_they_were(r, other, urls):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.01, 1000)
    other.execute_command("BF.RESERVE", "k", 0.01, 2000)
    before = other.dump("k")
    assert "key 'k': ERR" in run("copy", *urls, "--key", "k", "--merge", status=2)
    assert other.dump("k") == before and other.keys() == [b"k"]


def test_the_time_to_live_goes_along(r, other, urls):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.01, 1000, "EX", 1000)
    run("copy", *urls, "--key", "k")
    assert 0 < other.pttl("k") <= 1_000_000
    r.persist("k")
    run("copy", *urls, "--key", "k", "--replace")
    assert other.pttl("k") == -1


class Between:
    """A proxy to the source. It calls `meanwhile` once, when the first large answer passes; and `later`, when `after` bytes
    have."""

    def __init__(self, target, meanwhile, later=None, after=0):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(1)
        self.port = self.listener.getsockname()[1]
        self.target, self.meanwhile, self.later, self.after = target, meanwhile, later, after
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        tool = self.listener.accept()[0]
        end = socket.socket(socket.AF_UNIX)
        end.connect(self.target)
        threading.Thread(target=self.forward, args=(tool, end), daemon=True).start()
        count = 0
        while data := end.recv(65536):
            count += len(data)
            if count > 1_000_000 and self.meanwhile:
                self.meanwhile()
                self.meanwhile = None
            if self.later and count > self.after:
                self.later()
                self.later = None
            tool.sendall(data)

    @staticmethod
    def forward(tool, end):
        while data := tool.recv(65536):
            end.sendall(data)
        end.close()


@pytest.mark.parametrize("kind", ["own", "redisbloom"])
def test_a_filter_that_is_added_to_meanwhile_is_copied_from_a_copy(tmp_path, r, other, server, other_server, kind):  # noqa: F811
    if kind == "own":
        r.execute_command("BF.RESERVE", "k", 0.01, 20_000_000)  # two pieces
    else:
        path = tmp_path / "theirs"
        path.write_bytes(RedisBloom(0.01, 15_000_000).data)
        run("push", path, "--key", "k", "-s", server.socket)
    r.execute_command("BF.MADD", "k", *WORDS)
    between = Between(server.socket, lambda: server.client().execute_command("BF.MADD", "k", *OTHERS))
    run("copy", "--from", "redis://127.0.0.1:%d" % between.port, "--to", "unix://" + other_server.socket, "--key", "k")
    assert between.meanwhile is None
    assert other.execute_command("BF.MEXISTS", "k", *WORDS, *OTHERS) == [1] * 10000
    assert dump(other, "k") == dump(r, "k")
    assert r.keys() == [b"k"] and other.keys() == [b"k"]


def test_a_copy_that_is_interrupted_leaves_nothing(r, other, server, other_server):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.01, 50_000_000)
    r.execute_command("BF.MADD", "k", *WORDS)
    reached, go = threading.Event(), threading.Event()
    between = Between(server.socket, lambda: (reached.set(), go.wait()))
    process = subprocess.Popen([TOOL, "copy", "--from", "redis://127.0.0.1:%d" % between.port, "--to",
                                "unix://" + other_server.socket, "--key", "k"], preexec_fn=heed_signals, stderr=subprocess.DEVNULL)
    end_by_signal(process, reached, go)
    until(lambda: other.keys() == [], "the key beside is gone")


def test_words_that_are_missing_or_wrong_are_named(r, other, urls):  # noqa: F811
    assert "--from and --to" in run("copy", "--key", "k", status=2)
    assert "--from and --to" in run("copy", *urls[:2], "--key", "k", status=2)
    assert "--key is missing" in run("copy", *urls, status=2)
    assert "exclude each other" in run("copy", *urls, "--key", "k", "--merge", "--replace", status=2)
    assert "--from: it begins with none" in run("copy", "--from", "old:6379", *urls[2:], "--key", "k", status=2)
    assert "key 'none': there is no such key" in run("copy", *urls, "--key", "none", status=2)
    assert other.keys() == []


def test_tls_and_acl_at_both_ends(tmp_path, r, server):  # noqa: F811
    secured = Secured()
    try:
        r.execute_command("BF.MADD", "k", *WORDS)
        run("copy", "--from", "unix://" + server.socket, "--to", secured.url, *secured.tls, "--key", "k")
        assert secured.client.execute_command("BF.MEXISTS", "k", *WORDS) == [1] * len(WORDS)
        run("copy", "--from", secured.url, "--to", secured.url, *secured.tls, "--key", "k", "--key-to", "again")
        assert secured.client.dump("again") == r.dump("k")
        error = run("copy", "--from", secured.url.replace(URL_PASSWORD, "wr0ng"), "--to", secured.url, *secured.tls, "--key", "k",
                    status=2)
        assert "WRONGPASS" in error and "wr0ng" not in error and PASSWORD not in error
    finally:
        secured.close()


def test_from_a_cluster_to_a_cluster(r, server):  # noqa: F811
    cluster = Cluster()
    try:
        key = cluster.keys_of(2)
        r.execute_command("BF.MADD", key, *WORDS)
        node = "redis://127.0.0.1:%d" % cluster.nodes[0].port
        run("copy", "--from", "unix://" + server.socket, "--to", node, "--cluster", "--key", key)
        run("copy", "--from", node, "--to", node, "--cluster", "--key", key, "--key-to", cluster.keys_of(1))
        assert re.match(rb"\d+", str(cluster.nodes[1].call("BF.CARD", cluster.keys_of(1)).plain).encode())
        assert cluster.nodes[1].call("BF.EXISTS", cluster.keys_of(1), WORDS[0]).plain == 1
    finally:
        cluster.close()
