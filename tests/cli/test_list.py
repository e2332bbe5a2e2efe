"""bloomport list: every filter of a server, of all databases and nodes, and an exit status for alerts."""

import json
import os
import re
import signal
import subprocess

import pytest

from secured import PASSWORD, Cluster, Secured
from test_growing import facts_of
from test_manners import said
from test_tool import REPO, TOOL, WORDS, lines, r, run, server  # noqa: F401  (fixtures)

from redis_server import Server
from redisbloom import FIXTURES


def listed(*options, status=0):
    return json.loads(run("list", "--json", *options, status=status))


@pytest.fixture
def some(r):  # noqa: F811
    """Filters of several kinds, and other keys between them."""
    r.execute_command("BF.RESERVE", "half", 0.01, 1000)
    r.execute_command("BF.MADD", "half", *WORDS[:500])
    r.execute_command("BF.RESERVE", "grown", 0.01, 100)
    r.execute_command("BF.MADD", "grown", *WORDS[:600])
    r.execute_command("BF.RESERVE", "empty", 0.01, 10, "LAYOUT", "BLOCKED")
    r.execute_command("BF.RESERVE", "window", 0.01, 100000, "WINDOW", 3600)
    r.restore("theirs", 0, FIXTURES["grown"].payload)
    r.mset({"other%d" % i: "x" for i in range(3000)})
    return r


def test_every_filter_is_listed_with_what_bf_stats_says(some, server):  # noqa: F811
    rows = {row["key"]: row for row in listed("-s", server.socket)}
    assert set(rows) == {"half", "grown", "empty", "window", "theirs"}
    for key, row in rows.items():
        facts = facts_of(some, key)
        assert row["layout"] == facts["layout"].decode().lower() and row["state"] == facts["state"].decode()
        assert (row["items"], row["capacity"], row["bytes"]) == (facts["items"], facts["capacity"], facts["bytes"])
        assert row["layers"] == len(facts["layers"]) and row["db"] == 0
        assert row["error_rate"] == float(facts["current error rate"])
        assert row["promised_error_rate"] == float(facts["promised error rate"])
        assert row["utilisation"] == pytest.approx(float(facts["utilisation"]))
        assert row["grows"] == (facts["expansion"] is not None)


@pytest.mark.parametrize("word, field", [("utilisation", "utilisation"), ("items", "items"), ("capacity", "capacity"),
                                         ("error", "error_rate"), ("bytes", "bytes")])
def test_numbers_are_sorted_the_largest_first(some, server, word, field):  # noqa: F811
    values = [row[field] for row in listed("-s", server.socket, "--sort", word)]
    assert values == sorted(values, reverse=True)


def test_keys_are_sorted_by_their_bytes_and_a_bad_order_is_refused(some, server):  # noqa: F811
    keys = [row["key"] for row in listed("-s", server.socket, "--sort", "key")]
    assert keys == sorted(keys)
    assert "none of state, utilisation" in run("list", "-s", server.socket, "--sort", "size", status=2)


def test_the_table_has_a_row_for_each(some, server):  # noqa: F811
    head, *rows = run("list", "-s", server.socket, "--sort", "key").decode().splitlines()
    assert head.split() == ["key", "layout", "items", "capacity", "used", "error", "rate", "size", "grows", "state"]
    assert len(rows) == 5
    assert re.match(r"half +classic +\d{3} +1,000 +50 % +\d\S* +[\d.]+ kB +yes  ok$", rows[2]), rows[2]


def test_the_status_is_one_if_a_filter_is_full_or_overfilled(r, server):  # noqa: F811
    assert listed("-s", server.socket) == []
    r.execute_command("BF.RESERVE", "full", 0.01, 100, "NONSCALING")
    run("list", "-s", server.socket)
    r.execute_command("BF.MADD", "full", *WORDS[:150])
    rows = listed("-s", server.socket, status=1)
    assert [row["state"] for row in rows] == ["full"]
    assert b"  full\n" in run("list", "-s", server.socket, status=1)
    r.delete("full")
    overfilled = bytes.fromhex("07000000" "e803000000000000") + b"\xff" * 125  # k, m, all bits set
    r.execute_command("BF.IMPORT", "over", "FORMAT", "portable", "EXPANSION", 2, "DATA", overfilled)
    assert listed("-s", server.socket, status=1)[0]["state"] == "overfilled"


@pytest.fixture
def states(r):  # noqa: F811
    """Filters that are full, nearly full, and ok at 100 %, which one that grows can be."""
    r.execute_command("BF.RESERVE", "a:grows", 0.0001, 100)
    r.execute_command("BF.MADD", "a:grows", *WORDS[:100])
    r.execute_command("BF.RESERVE", "b:room", 0.01, 1000, "NONSCALING")
    r.execute_command("BF.RESERVE", "b:nearly", 0.0001, 100, "NONSCALING")
    r.execute_command("BF.MADD", "b:nearly", *WORDS[:95])
    r.execute_command("BF.RESERVE", "c:full", 0.0001, 100, "NONSCALING")
    r.execute_command("BF.MADD", "c:full", *WORDS[:150])
    return r


def test_what_needs_action_comes_first_and_then_what_cannot_grow(states, server):  # noqa: F811
    keys = ["c:full", "b:nearly", "b:room", "a:grows"]
    for sort in [], ["--sort", "state"]:
        assert [row["key"] for row in listed("-s", server.socket, *sort, status=1)] == keys
    rows = run("list", "-s", server.socket, status=1).decode().splitlines()[1:]
    assert [re.search(r" (yes|no)  (\D+)$", row).groups() for row in rows] == [
        ("no", "full"), ("no", "nearly full"), ("no", "ok"), ("yes", "ok")]


def test_a_filter_that_is_almost_full_does_not_show_100_percent(r, server):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.000001, 1000, "NONSCALING")
    r.execute_command("BF.MADD", "k", *WORDS[:999])
    assert listed("-s", server.socket)[0]["items"] == 999
    assert b" 99 % " in run("list", "-s", server.socket)
    r.execute_command("BF.MADD", "k", *WORDS[999:1000])
    assert b" 100 % " in run("list", "-s", server.socket, status=1)


def test_states_can_be_chosen_and_the_status_is_about_these(states, server):  # noqa: F811
    def keys(words, status):
        return [row["key"] for row in listed("-s", server.socket, "--state", words, status=status)]

    assert keys("full,overfilled", 1) == ["c:full"]
    assert keys("nearly full", 1) == keys("nearly-full", 1) == ["b:nearly"]
    assert keys("ok", 0) == ["b:room", "a:grows"]
    assert keys("overfilled", 0) == []
    assert "names no state" in run("list", "--state", "", status=2)
    assert "there is no state 'ful', but overfilled, full, nearly full" in run("list", "--state", "full,ful", status=2)


def test_quiet_prints_nothing_and_the_status_tells(states, server):  # noqa: F811
    assert run("list", "-q", "-s", server.socket, status=1) == b""
    assert run("list", "--quiet", "--json", "-s", server.socket, "--state", "nearly-full", status=1) == b""
    states.delete("c:full")
    assert run("list", "--quiet", "-s", server.socket) == b""


def test_a_pattern_selects_keys(states, server):  # noqa: F811
    assert [row["key"] for row in listed("-s", server.socket, "b:*")] == ["b:nearly", "b:room"]
    assert listed("-s", server.socket, "b") == []
    assert "unexpected 'c:*'" in run("list", "-s", server.socket, "b:*", "c:*", status=2)


def test_a_reader_that_leaves_ends_the_program_as_sigpipe_does(states, server):  # noqa: F811
    """Both outputs are larger than their buffers, so that they are written while the server is connected."""
    for i in range(500):
        states.execute_command("BF.RESERVE", "many%d" % i, 0.01, 10)
    for words, given in (["list", "-s", server.socket], b""), (
            ["check", "--server", "--key", "c:full", "-s", server.socket], lines(WORDS[:100]) * 1000):
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([TOOL, *words], input=given, stdout=theirs, stderr=subprocess.PIPE, timeout=60)
        os.close(theirs)
        assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b""), words
    with open("/dev/full", "wb") as full:
        done = subprocess.run([TOOL, "list", "-s", server.socket], stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert (done.returncode, done.stderr) == (2, b"bloomport: cannot write to standard output\n")


def test_all_databases_or_one(r, server):  # noqa: F811
    for number in 0, 3, 15:
        r.execute_command("SELECT", number)
        r.execute_command("BF.ADD", "k%d" % number, "x")
    r.execute_command("SELECT", 0)
    assert [(row["key"], row["db"]) for row in listed("-s", server.socket, "--sort", "key")] == [("k0", 0), ("k15", 15), ("k3", 3)]
    assert [row["key"] for row in listed("-s", server.socket, "-n", 3)] == ["k3"]
    assert listed("-s", server.socket, "-n", 4) == []
    table = run("list", "-s", server.socket).decode()
    assert "db15 k15" in table and "db0 k0" in table


def test_names_are_any_bytes_and_do_not_reach_a_terminal(r, server):  # noqa: F811
    keys = [b"\x1b[31m\n", b"nul\0nul", b'quote"\\', b"", "café".encode()]
    for key in keys:
        r.execute_command("BF.ADD", key, "x")
    rows = listed("-s", server.socket)
    assert {bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode() for row in rows} == set(keys)
    table = run("list", "-s", server.socket)
    assert b"\x1b" not in table and b"\0" not in table and "café".encode() in table and len(table.splitlines()) == 6


def test_many_filters_are_all_there(r, server):  # noqa: F811
    pipe = r.pipeline()
    for i in range(2500):
        pipe.execute_command("BF.ADD", "k%d" % i, "x")
    pipe.execute()
    assert len({row["key"] for row in listed("-s", server.socket)}) == 2500


def test_a_server_without_a_module_is_named():
    bare = Server(module=None).start()
    try:
        assert "no module" in run("list", "-s", bare.socket, status=2)
    finally:
        bare.close()


def test_a_server_with_tls_and_acl_is_listed(monkeypatch):
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    secured = Secured()
    try:
        secured.client.execute_command("BF.ADD", "k", "x")
        assert [row["key"] for row in listed(*secured.address)] == ["k"]
    finally:
        secured.close()


REPORTER = re.search(r"^ACL SETUSER reporter on >secret %R~seen:\* .*$", (REPO / "module" / "docs" / "SECURITY.md").read_text(),
                     re.M).group().split()


def test_the_documents_reporter_may_list_its_filters_and_is_told_that_there_are_others(r, server):  # noqa: F811
    r.execute_command(*REPORTER)
    where = ("-s", server.socket, "--user", "reporter", "-a", "secret")
    with server.client() as second:
        second.execute_command("SELECT", 3)
        for client, key in (r, "seen:a"), (r, "other"), (r, "another"), (second, "seen:b"):
            client.execute_command("BF.ADD", key, "x")
        try:
            assert {(row["key"], row["db"]) for row in listed(*where)} == {("seen:a", 0), ("seen:b", 3)}
            assert said("list", *where) == "2 more, which the user may not read\n"
            assert said("list", *where, "seen:*") == ""
        finally:
            second.flushdb()


def test_the_documents_reporter_may_list_a_cluster():
    cluster = Cluster()
    try:
        for i, node in enumerate(cluster.nodes):
            node.call(*REPORTER)
            node.call("BF.ADD", next("seen:%d" % n for n in range(100) if cluster.owner("seen:%d" % n) == i), "x")
        assert len(listed("--cluster", "-p", cluster.nodes[0].port, "--user", "reporter", "-a", "secret")) == 3
    finally:
        cluster.close()


def test_every_node_of_a_cluster_is_listed():
    cluster = Cluster()
    try:
        keys = [cluster.keys_of(i) for i in range(3)]
        for node, key in zip(cluster.nodes, keys):
            node.call("BF.ADD", key, "x")
        rows = listed("--cluster", "-p", cluster.nodes[2].port)
        assert {(row["key"], row["node"]) for row in rows} == {
            (key, "127.0.0.1:%d" % node.port) for node, key in zip(cluster.nodes, keys)}
    finally:
        cluster.close()


def test_one_node_of_a_cluster_says_that_there_are_others(server):  # noqa: F811
    hint = "this is one node of a cluster: --cluster lists the filters of all nodes\n"
    cluster = Cluster()
    try:
        key = cluster.keys_of(2)
        cluster.nodes[2].call("BF.ADD", key, "x")
        assert [row["key"] for row in listed("-p", cluster.nodes[2].port)] == [key]
        assert said("list", "-p", cluster.nodes[2].port) == hint
        assert said("list", "-q", "-p", cluster.nodes[2].port) == said("list", "--cluster", "-p", cluster.nodes[2].port) == ""
        assert said("list", "-s", server.socket) == ""
    finally:
        cluster.close()
