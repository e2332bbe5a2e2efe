"""add and check --server: the items of files into and against a filter on a server."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

from secured import PASSWORD, Cluster, Secured
from test_growing import facts_of, same_bits
from test_input import ENCODERS
from test_manners import said
from test_push import heed_signals
from test_tool import OTHERS, TOOL, WORDS, lines, r, run, server  # noqa: F401  (fixtures)

from filters import until
from redis_server import INSTRUMENTED
from resp import OK

NUMBERS = [b"%d" % i for i in range(50_000)]  # five pieces


@pytest.fixture(params=["bulk", "many"])
def way(request, r, server):  # noqa: F811
    """The options of a connection, by BF.BULKADD or, where the server does not tell its commands, by BF.MADD."""
    if request.param == "bulk":
        return ["-s", server.socket]
    r.execute_command("ACL", "SETUSER", "old", "on", ">pw", "~*", "+@all", "-command", "-bf.bulkadd", "-bf.bulkexists")
    return ["-s", server.socket, "--user", "old", "-a", "pw"]


def calls(r, name):  # noqa: F811
    return r.info("commandstats").get("cmdstat_" + name, {}).get("calls", 0)


def test_every_item_is_added_as_the_server_adds_it(tmp_path, r, way):  # noqa: F811
    path = tmp_path / "items"
    path.write_bytes(lines(NUMBERS))
    for key in "own", "k":
        r.execute_command("BF.RESERVE", key, 0.01, 1000)
    for i in range(0, len(NUMBERS), 10_000):
        r.execute_command("BF.MADD", "own", *NUMBERS[i:i + 10_000])
    r.config_resetstat()
    run("add", "--key", "k", *way, path)
    assert facts_of(r, "k") == facts_of(r, "own") and r.execute_command("BF.DEBUG", "k") == r.execute_command("BF.DEBUG", "own")
    assert same_bits(r, "k", "own")
    used, other = ("bf.bulkadd", "bf.madd") if len(way) == 2 else ("bf.madd", "bf.bulkadd")
    assert (calls(r, used), calls(r, other)) == (5, 0)


def test_the_summary_counts_items_and_new_ones(r, way):  # noqa: F811
    text = said("add", "--key", "k", "--error", 1e-6, "--capacity", "10K", *way, stdin=lines(WORDS[:3000] + WORDS[:1000]))
    new = "'k' is a new filter: capacity 10,000, error rate 1e-06\n"
    assert re.fullmatch(new + r"4,000 items, 3,000 of them new, \d+\.\d\d s, [\d,]+ a second\n", text)
    assert said("add", "-q", "--key", "k", *way, stdin=b"a\n") == ""
    assert "the input is empty: nothing was added\n" in said("add", "--key", "k", *way)


def test_check_prints_what_the_servers_filter_may_contain(tmp_path, r, way):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.01, 100_000)
    run("add", "--key", "k", *way, stdin=lines(NUMBERS))
    mixed = [item for pair in zip(NUMBERS, [b"x" + n for n in NUMBERS]) for item in pair]
    answers = []
    for i in range(0, len(mixed), 10_000):
        answers += r.execute_command("BF.MEXISTS", "k", *mixed[i:i + 10_000])
    there = [item for item, answer in zip(mixed, answers) if answer]
    absent = [item for item, answer in zip(mixed, answers) if not answer]
    path = tmp_path / "items"
    path.write_bytes(lines(mixed))
    assert run("check", "--server", "--key", "k", *way, path) == lines(there)
    assert run("check", "--server", "--key", "k", *way, "--absent", stdin=lines(mixed)) == lines(absent)
    assert run("check", "--server", "--key", "k", *way, "-c", path) == b"%d\n" % len(there)
    assert run("check", "--server", "--key", "k", *way, "-c", stdin=b"nowhere at all\n", status=1) == b"0\n"


def test_items_are_any_bytes_in_all_spellings(tmp_path, r, way):  # noqa: F811
    odd = [b"", b"a\nb", b"\n", b"\0", b"\xff" * 3, b"x" * 3_000_000, b"last"]
    run("add", "--key", "k", *way, "--hex", stdin=lines(item.hex().encode() for item in odd))
    assert r.execute_command("BF.MEXISTS", "k", *odd, "other") == [1] * len(odd) + [0]
    hexed = lines(item.hex().encode() for item in odd)
    assert run("check", "--server", "--key", "k", *way, "--hex", stdin=hexed) == hexed
    r.delete("k")
    run("add", "--key", "k", *way, "-0", stdin=lines([b"a\nb", b"", b"c"], b"\0"))
    assert run("check", "--server", "--key", "k", *way, "-0", stdin=b"a\nb\0\0c\0d\0") == b"a\nb\0\0c\0"
    csv = b"1,alice\n2,bob\n"
    run("add", "--key", "k", *way, "--column", 2, "--delimiter", ",", stdin=csv)
    assert run("check", "--server", "--key", "k", *way, "--column", 2, "--delimiter", ",", stdin=csv + b"3,carol\n") == csv


@pytest.mark.parametrize("name", ENCODERS)
def test_compressed_files_go_in_as_they_are(tmp_path, r, server, name):  # noqa: F811
    path = tmp_path / "packed"
    path.write_bytes(ENCODERS[name](lines(NUMBERS)))
    run("add", "--key", "k", "-s", server.socket, path)
    assert run("check", "--server", "--key", "k", "-s", server.socket, "-c", path) == b"50000\n"


def test_a_new_filter_gets_the_parameters_and_an_old_one_keeps_its_own(r, server):  # noqa: F811
    where = ("--key", "k", "-s", server.socket)
    run("add", *where, "--error", 0.001, "--capacity", "2K", "--expansion", 4, "--layout", "blocked", stdin=b"a\n")
    facts = facts_of(r, "k")
    assert (facts["capacity"], facts["expansion"], facts["layout"]) == (2000, 4, b"BLOCKED")
    assert float(facts["promised error rate"]) == 0.001
    assert "'k' exists, and keeps its parameters" in said("add", *where, "--error", 0.5, stdin=b"b\n")
    assert float(facts_of(r, "k")["promised error rate"]) == 0.001
    run("add", "--key", "bits", "-s", server.socket, "--bits-per-key", 12, stdin=b"a\n")
    assert float(facts_of(r, "bits")["bits per key"]) == 12


def test_a_new_filter_is_told_and_nocreate_makes_none(r, way):  # noqa: F811
    """It tells what the server made, however far the filter has grown since."""
    assert "key 'typo': there is no such key" in run("add", "--key", "typo", *way, "--nocreate", stdin=b"a\n", status=2)
    assert r.exists("typo") == 0
    text = said("add", "--key", "typo", *way, stdin=lines(NUMBERS))
    assert text.splitlines()[0] == "'typo' is a new filter: capacity 100, error rate 0.01" and text.count("\n") == 3
    assert "new filter" not in said("add", "--key", "typo", *way, "--nocreate", stdin=b"a\n")
    assert all(r.execute_command("BF.MEXISTS", "typo", *NUMBERS))
    assert said("add", "--key", "none", *way).splitlines()[0] == "the input is empty: nothing was added"
    assert r.exists("none") == 0


# the capacity of a new filter


HINT = "it grows as items come: --capacity, with their number, makes it smaller and faster\n"


def test_a_new_filter_is_as_large_as_the_files_have_items(tmp_path, r, server):  # noqa: F811
    """All else is as the server makes it."""
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(lines(NUMBERS))
    b.write_bytes(lines(WORDS[:2345])[:-1])
    where = ("--key", "k", "-s", server.socket)
    r.config_set("bf.error-rate", "0.003")
    try:
        text = said("add", *where, a, b)
        assert text.splitlines()[0] == "'k' is a new filter: capacity 52,345, error rate 0.003" and text.count("\n") == 2
        assert len(facts_of(r, "k")["layers"]) == 1 and r.execute_command("BF.MEXISTS", "k", *NUMBERS, *WORDS[:2345]) == [1] * 52_345
    finally:
        r.config_set("bf.error-rate", "0.01")
    for options, capacity in [(["--from-line", 50_001], 2345), (["--error", 0.2], 52_345), (["--capacity", 1000], 1000)]:
        r.delete("k")
        said("add", *where, *options, a, b)
        assert facts_of(r, "k")["layers"][0][1] == capacity


def test_who_does_not_say_how_many_items_come_is_told_to(r, way):  # noqa: F811
    assert HINT in said("add", "--key", "k", *way, stdin=lines(WORDS))
    assert HINT in said("add", "--key", "l", *way, "--error", 0.2, stdin=lines(WORDS))
    assert HINT not in said("add", "--key", "k", *way, stdin=lines(OTHERS))
    assert HINT not in said("add", "--key", "m", *way, stdin=lines(WORDS[:100]))
    assert HINT not in said("add", "--key", "n", *way, "--capacity", 5000, stdin=lines(WORDS))


def test_who_may_only_add_gets_the_filter_that_the_server_makes(tmp_path, r, server):  # noqa: F811
    path = tmp_path / "items"
    path.write_bytes(lines(WORDS))
    r.execute_command("ACL", "SETUSER", "adder", "on", ">pw", "~*", "-@all", "+exists", "+bf.madd", "+bf.stats")
    text = said("add", "--key", "k", "-s", server.socket, "--user", "adder", "-a", "pw", path)
    assert text.startswith("'k' is a new filter: capacity 100, error rate 0.01\n" + HINT)
    assert all(r.execute_command("BF.MEXISTS", "k", *WORDS))


# ending early


def test_a_full_filter_says_what_to_do(tmp_path, r, way):  # noqa: F811
    path = tmp_path / "items"
    path.write_bytes(lines(NUMBERS))
    r.execute_command("BF.RESERVE", "k", 1e-6, 23_456, "NONSCALING")
    error = run("add", "--key", "k", *way, path, status=2)
    assert "key 'k': " in error and "full" in error
    assert "; 23456 items are done. It takes no new items: make a larger one, or one with an expansion\n" in error
    assert r.execute_command("BF.CARD", "k") == 23_456


@pytest.mark.parametrize("first", [10_000, 30_000, 30_017])
def test_a_bad_line_names_itself_and_all_before_it_is_done(tmp_path, r, way, first):  # noqa: F811
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [b"x," + n for n in NUMBERS]
    a.write_bytes(lines(rows[:first])[:-1])  # its last line has no newline
    b.write_bytes(lines([*rows[first:35_000], b"bad", *rows[35_000:]]))
    r.execute_command("BF.RESERVE", "k", 1e-6, 60_000)
    options = ("--key", "k", *way, "--column", 2, "--delimiter", ",", a, b)
    error = run("add", *options, status=2)
    assert error.endswith("b.csv: line %d (35001 of all inputs) has 1 column and not 2; 35000 items are done: --from-line 35001 "
                          "continues\n" % (35_001 - first))
    assert r.execute_command("BF.CARD", "k") == 35_000
    b.write_bytes(lines(rows[first:]))
    run("add", *options, "--from-line", 35_001)
    assert r.execute_command("BF.CARD", "k") == 50_000


class Cut:
    """A proxy that cuts the connection when so many bytes of the tool have passed."""

    def __init__(self, path, target, after):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.target, self.after = target, after
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        tool = self.listener.accept()[0]
        end = socket.socket(socket.AF_UNIX)
        end.connect(self.target)
        threading.Thread(target=self.back, args=(end, tool), daemon=True).start()
        count = 0
        while data := tool.recv(4096):
            count += len(data)
            if count > self.after:
                tool.shutdown(socket.SHUT_RDWR)
                end.shutdown(socket.SHUT_RDWR)
                return
            end.sendall(data)

    @staticmethod
    def back(end, tool):
        try:
            while data := end.recv(65536):
                tool.sendall(data)
        except OSError:
            pass


def test_a_lost_connection_names_the_line_and_nothing_is_lost(tmp_path, r, server):  # noqa: F811
    items = [b"%d" % i for i in range(300_000)]
    path = tmp_path / "items"
    path.write_bytes(lines(items))
    r.execute_command("BF.RESERVE", "k", 0.001, 300_000)
    Cut(tmp_path / "proxy", server.socket, 1_000_000)
    error = run("add", "--key", "k", "-s", tmp_path / "proxy", path, status=2)
    assert "connection lost" in error
    line = int(re.search(r"--from-line (\d+) continues", error).group(1))
    assert 1 <= line < 150_000
    run("add", "--key", "k", "-s", server.socket, "--from-line", line, path)
    assert run("check", "--server", "--key", "k", "-s", server.socket, "-c", path) == b"300000\n"


class LostAnswer(Cut):
    """It passes everything on, and cuts the connection instead of an answer, when so many bytes of the server have passed."""

    def serve(self):
        tool = self.listener.accept()[0]
        end = socket.socket(socket.AF_UNIX)
        end.connect(self.target)
        threading.Thread(target=self.back, args=(tool, end), daemon=True).start()
        count = 0
        while data := end.recv(65536):
            count += len(data)
            if count > self.after:
                tool.shutdown(socket.SHUT_RDWR)
                return
            tool.sendall(data)


@pytest.mark.parametrize("cut, after, is_done", [(Cut, 200_000, False), (LostAnswer, 4000, True)])
def test_no_item_is_counted_twice_after_a_lost_connection(tmp_path, r, server, way, cut, after, is_done):  # noqa: F811
    """The message names the lines that are in doubt, and BF.COUNT decides: here the server has them, or has not."""
    path = tmp_path / "items"
    path.write_bytes(lines(NUMBERS))
    r.execute_command("BF.RESERVE", "k", 1e-6, 50_000, "LAYOUT", "COUNTING")
    after = after if len(way) == 2 else {Cut: 400_000, LostAnswer: 90_000}[cut]
    cut(tmp_path / "proxy", server.socket, after)
    error = run("add", "--key", "k", "-s", tmp_path / "proxy", *way[2:], path, status=2)
    match = re.search(r"connection lost: .*; (\d+) items are done. Lines (\d+) to (\d+) may be counted already, all or none: "
                      r"BF.COUNT of one of them may tell. If they are not, --from-line (\d+) continues, else --from-line (\d+)\n",
                      error)
    done, first, last, again, beyond = map(int, match.groups())
    assert (first, last, again, beyond) == (done + 1, done + 10_000, done + 1, done + 10_001) and 0 < done < 40_000
    for line in first, last:
        assert r.execute_command("BF.COUNT", "k", NUMBERS[line - 1]) == is_done
    run("add", "--key", "k", *way, "--from-line", beyond if is_done else again, path)
    assert r.execute_command("BF.CARD", "k") == 50_000
    assert r.execute_command("BF.DEL", "k", *NUMBERS) == [1] * 50_000 and r.execute_command("BF.CARD", "k") == 0


def test_a_signal_ends_it_between_two_pieces_and_names_the_line(r, server):  # noqa: F811
    process = subprocess.Popen([TOOL, "add", "--key", "k", "-s", server.socket], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=heed_signals)
    try:
        process.stdin.write(lines(NUMBERS[:25_000]))
        process.stdin.flush()
        while r.execute_command("BF.EXISTS", "k", NUMBERS[24_999]) == 0:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.stdin.write(lines(NUMBERS[25_000:26_000]))
        error = process.communicate(timeout=60)[1].decode()
        assert process.returncode == -signal.SIGTERM
        assert "'k' is a new filter" in error
        match = re.fullmatch(r"(?s).*\ninterrupted; (\d+) items are done: --from-line (\d+) continues\n", error)
        done = int(match.group(1))
        assert int(match.group(2)) == done + 1 and done >= 25_000
        assert all(r.execute_command("BF.MEXISTS", "k", *NUMBERS[:done]))
    finally:
        process.kill()
        process.wait()


# terminals and pipes


def test_a_line_is_answered_before_the_next_one_comes(r, way):  # noqa: F811
    r.execute_command("BF.MADD", "k", *WORDS[:3])
    with subprocess.Popen([TOOL, "check", "--server", "--key", "k", *way], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0) as process:
        for word in WORDS[:3]:
            process.stdin.write(word + b"\n")
            assert process.stdout.read(100) == word + b"\n"
        process.stdin.close()
    assert process.returncode == 0


def test_a_terminal_sees_how_far_it_is(r, server):  # noqa: F811
    ours, theirs = pty.openpty()
    process = subprocess.Popen([TOOL, "add", "--key", "k", "-s", server.socket], stdin=subprocess.PIPE, stderr=theirs)
    try:
        seen = b""
        while b"\radding" not in seen:
            process.stdin.write(lines(NUMBERS))
            process.stdin.flush()
            if select.select([ours], [], [], 0)[0]:
                seen += os.read(ours, 4096)
        process.stdin.close()
        while b"a second" not in seen:
            seen += os.read(ours, 4096)
        assert process.wait(60) == 0
        assert re.search(rb"\radding +\d+.*\r\x1b\[K[\d,]+ items, ", seen, re.S), seen
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.skipif(INSTRUMENTED, reason="a sanitizer has memory of its own")
def test_it_takes_no_more_memory_for_twenty_times_the_items(tmp_path, r, server):  # noqa: F811
    peaks = []
    for n in 100_000, 2_000_000:
        path = tmp_path / "items"
        path.write_bytes(lines(b"%d" % i for i in range(n)))
        done = subprocess.run(["/usr/bin/python3", "-c", "import os, resource, subprocess, sys; subprocess.run(sys.argv[1:], "
                               "check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", TOOL, "add", "-q",
                               "--key", "k", "-s", server.socket, path], check=True, stdout=subprocess.PIPE)
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 4000 and peaks[1] < 60_000, peaks  # kB


# what is wrong


def test_missing_keys_and_other_types_are_named(r, server):  # noqa: F811
    where = ("-s", server.socket)
    assert "key 'none': there is no such key" in run("check", "--server", "--key", "none", *where, status=2)
    assert "--key is missing" in run("check", "--server", *where, status=2)
    assert "--key is missing" in run("add", *where, status=2)
    r.set("s", "x")
    for words in ["add"], ["check", "--server"]:
        error = run(*words, "--key", "s", *where, stdin=lines(NUMBERS), status=2)
        assert "key 's': a string, not a filter" in error and "continues" not in error
    assert "No such file" in run("add", "--key", "k", *where, "nofile", status=2)


# TLS, clusters


def test_tls_and_acl(tmp_path, monkeypatch):
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    secured = Secured()
    try:
        run("add", "--key", "k", *secured.address, stdin=lines(NUMBERS))
        assert run("check", "--server", "--key", "k", *secured.address, "-c", stdin=lines(NUMBERS)) == b"50000\n"
        assert secured.client.execute_command("BF.MEXISTS", "k", *NUMBERS[:1000]) == [1] * 1000
    finally:
        secured.close()


@pytest.mark.parametrize("kind", ["CLASSIC", "COUNTING"])
def test_a_slot_that_moves_while_items_are_added_loses_and_repeats_none(kind):
    """MOVED for a part of them, after ASK for another."""
    cluster = Cluster()
    try:
        key = cluster.keys_of(0)
        slot = cluster.nodes[0].call("CLUSTER", "KEYSLOT", key).plain
        old, new = cluster.nodes[:2]
        assert old.call("BF.RESERVE", key, "0.000001", 50_000, "LAYOUT", kind) == OK
        process = subprocess.Popen([TOOL, "add", "--key", key, "--cluster", "-p", str(old.port)], stdin=subprocess.PIPE)

        def pass_on(first, last, node):
            process.stdin.write(lines(NUMBERS[first:last]))
            process.stdin.flush()
            until(lambda: asked(node, "BF.CARD", key) == last, "%d are added" % last)

        pass_on(0, 15_000, old)
        assert new.call("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ids[0]) == OK
        assert old.call("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ids[1]) == OK
        assert old.call("MIGRATE", "127.0.0.1", new.port, key, 0, 60_000) == OK
        pass_on(15_000, 30_000, new)
        for node in cluster.nodes:
            assert node.call("CLUSTER", "SETSLOT", slot, "NODE", cluster.ids[1]) == OK
        pass_on(30_000, 50_000, new)
        process.stdin.close()
        assert process.wait(60) == 0
        assert asked(new, "BF.MEXISTS", key, *NUMBERS) == [1] * 50_000
    finally:
        cluster.close()


def asked(node, *words):
    """The reply of a node that may still be importing the slot."""
    replies = node.connection().pipeline([("ASKING",), words])
    return replies[1].plain


def test_in_a_cluster_the_items_go_where_the_key_is():
    cluster = Cluster()
    try:
        for i in range(3):
            where = ("--key", cluster.keys_of(i), "--cluster", "-p", cluster.nodes[0].port)
            run("add", *where, stdin=lines(OTHERS))
            assert run("check", "--server", *where, "-c", stdin=lines(OTHERS)) == b"5000\n"
            assert cluster.nodes[i].call("DBSIZE").plain == 1
        rows = json.loads(run("list", "--json", "--cluster", "-p", cluster.nodes[1].port))
        assert len(rows) == 3
    finally:
        cluster.close()
