"""push, and what can interrupt it: another push, another client, a signal, a lost connection.
A proxy between the tool and a real server stops at an exact byte, so that nothing depends on time.
"""

import signal
import socket
import subprocess
import threading

import pytest

from test_tool import SAID, TOOL, WORDS, built, lines, r, run, server, words_file  # noqa: F401  (fixtures)

from test_tool_valkeybloom import load_string

from filters import until
from formats_model import RedisBloom
from redis_server import Server

HOUR_MS = 3_600_000
HALFWAY = 1_000_000  # bytes; far more follow than sockets hold


def heed_signals():
    """Under nohup SIGHUP is ignored, in the background of a script SIGINT. Children inherit that, and the tool
    rightly leaves it so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def end_by_signal(process, reached, go):
    """SIGTERM, sent when the program has got somewhere; it may go on from there, and must end by the signal."""
    try:
        assert reached.wait(60)
        process.send_signal(signal.SIGTERM)
        go.set()
        assert process.wait(60) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def large(tmp_path):
    """A filter of 3.6 MB, one piece."""
    path = tmp_path / "large"
    run("build", "--capacity", 3_000_000, "-o", path, stdin=lines(WORDS))
    return path


@pytest.fixture(params=["redisbloom", "valkeybloom"])
def foreign(tmp_path, request):
    """A filter of another program's, 2 MB."""
    path = tmp_path / "foreign"
    if request.param == "redisbloom":
        model = RedisBloom(0.01, 1_500_000)
        for item in WORDS[:100]:
            model.add(item)
        path.write_bytes(model.data)
    else:
        path.write_bytes(load_string([(bytes(2_000_000), 7, 0, 1_500_000)]))
    return path


class Proxy:
    """Between one run of the tool and a server. It stops when the tool has sent HALFWAY bytes; then
    resume() or cut()."""

    def __init__(self, path, target):
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.target = target
        self.is_halfway, self.may_go_on = threading.Event(), threading.Event()
        self.ends = []
        self.threads = [threading.Thread(target=self.forward, daemon=True)]
        self.threads[0].start()

    def forward(self):
        tool = self.listener.accept()[0]
        server_end = socket.socket(socket.AF_UNIX)
        server_end.connect(self.target)
        self.ends = [tool, server_end]
        back = threading.Thread(target=self.copy, args=(server_end, tool), daemon=True)
        back.start()
        self.threads.append(back)
        self.copy(tool, server_end, HALFWAY)

    def copy(self, source, sink, stop_at=None):
        count = 0
        try:
            while data := source.recv(65536):
                count += len(data)
                if stop_at and count >= stop_at and not self.is_halfway.is_set():
                    self.is_halfway.set()
                    self.may_go_on.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # cut

    def resume(self):
        self.may_go_on.set()

    def cut(self):
        for end in self.ends:
            end.shutdown(socket.SHUT_RDWR)
        self.resume()

    def close(self):
        self.resume()
        for end in self.ends:
            end.close()
        self.listener.close()


@pytest.fixture
def halfway(tmp_path, server):  # noqa: F811
    """halfway(filter, key, options...) -> the tool, waiting in the middle of its push, and the proxy."""
    started = []

    def start(path, key, *options):
        proxy = Proxy(tmp_path / ("proxy%d" % len(started)), server.socket)
        process = subprocess.Popen([TOOL, "push", path, "--key", key, "-s", proxy.path, *options], preexec_fn=heed_signals,
                                   stderr=subprocess.PIPE)
        started.append((process, proxy))
        assert proxy.is_halfway.wait(60)
        return process, proxy

    yield start
    for process, proxy in started:
        process.kill()
        process.communicate()
        proxy.close()


def end_of(process):
    """Its status and the error."""
    error = process.communicate(timeout=60)[1]
    if process.returncode == 0:
        assert SAID.match(error.rstrip()), error
        error = b""
    return process.returncode, error.decode()


def dump(client, key):
    """All that BF.SCANDUMP hands out."""
    pieces, iterator = [], 0
    while True:
        iterator, data = client.execute_command("BF.SCANDUMP", key, iterator)
        if iterator == 0:
            return b"".join(pieces)
        pieces.append(data)


# half way


@pytest.mark.parametrize("replace", [[], ["--replace"]])
def test_a_foreign_filter_is_not_there_before_it_is_complete(foreign, r, server, halfway, replace):  # noqa: F811
    process, proxy = halfway(foreign, "k", *replace)
    assert not r.exists("k")
    proxy.resume()
    assert end_of(process) == (0, "")
    assert r.keys() == [b"k"] and r.ttl("k") == -1
    assert run("pull", "--key", "k", "-s", server.socket) == foreign.read_bytes()


@pytest.mark.parametrize("key", ["k", "{tag}:k", "a{b", "a}b", "{}x{y}", ""])
def test_the_old_filter_answers_until_the_new_one_takes_its_place(large, r, halfway, key):  # noqa: F811
    r.execute_command("BF.ADD", key, "old")
    process, proxy = halfway(large, key, "--replace")
    assert r.execute_command("BF.EXISTS", key, "old") == 1
    proxy.resume()
    assert end_of(process) == (0, "")
    assert r.execute_command("BF.MEXISTS", key, *WORDS) == [1] * len(WORDS)
    assert r.keys() == [key.encode()]


def test_a_key_that_appears_while_another_is_pushed_is_not_lost(large, r, halfway):  # noqa: F811
    process, proxy = halfway(large, "k")
    r.execute_command("BF.ADD", "k", "new")
    proxy.resume()
    status, error = end_of(process)
    assert status == 2 and "exists" in error and "--replace" in error
    assert r.execute_command("BF.MEXISTS", "k", "new", "item:1") == [1, 0]
    assert r.keys() == [b"k"]


def test_a_filter_that_somebody_changed_on_the_way_is_not_given_the_name(foreign, r, halfway):  # noqa: F811
    r.execute_command("BF.ADD", "k", "old")
    process, proxy = halfway(foreign, "k", "--replace")
    [beside] = set(r.keys()) - {b"k"}
    assert r.execute_command("BF.ADD", beside, "of another client") == 1
    proxy.resume()
    status, error = end_of(process)
    assert status == 2 and "another filter" in error and error.count("\n") == 1
    assert r.keys() == [b"k"] and r.execute_command("BF.EXISTS", "k", "old") == 1


def test_the_temporary_key_can_be_recognised_and_expires(large, r, halfway):  # noqa: F811
    process, _ = halfway(large, "k")
    process.kill()
    process.wait()
    [beside] = r.keys()
    assert beside.startswith(b"{k}:bloomport-push:")
    assert 0 < r.pttl(beside) <= HOUR_MS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_push_and_leaves_no_key(large, r, halfway, number):  # noqa: F811
    process, proxy = halfway(large, "k")
    process.send_signal(number)
    proxy.resume()
    assert end_of(process) == (-number, "")
    assert r.keys() == []


def test_a_second_signal_ends_a_push_at_once(large, r, halfway):  # noqa: F811
    process, _ = halfway(large, "k")
    process.send_signal(signal.SIGINT)
    caught = 1 << signal.SIGINT - 1
    until(lambda: not int(field(process, "SigCgt"), 16) & caught, "the first one")
    process.send_signal(signal.SIGINT)
    assert end_of(process) == (-signal.SIGINT, "")


def field(process, name):
    with open("/proc/%d/status" % process.pid, encoding="ascii") as status:
        return next(line.split()[1] for line in status if line.startswith(name))


@pytest.mark.parametrize("replace", [False, True])
def test_a_lost_connection_is_reported_and_leaves_the_key_as_it_was(large, r, halfway, replace):  # noqa: F811
    if replace:
        r.execute_command("BF.ADD", "k", "old")
    process, proxy = halfway(large, "k", *(["--replace"] if replace else []))
    proxy.cut()
    status, error = end_of(process)
    assert status == 2 and "connection lost" in error and error.count("\n") == 1
    assert r.execute_command("BF.MEXISTS", "k", "old", "item:1") == [int(replace), 0]
    assert all(r.pttl(key) > 0 for key in set(r.keys()) - {b"k"})


def test_a_server_that_ends_in_the_middle_of_a_push_is_reported(tmp_path, large):
    lone = Server()
    try:
        lone.start()
        proxy = Proxy(tmp_path / "proxy", lone.socket)
        with subprocess.Popen([TOOL, "push", large, "--key", "k", "-s", proxy.path], stderr=subprocess.PIPE,
                              preexec_fn=heed_signals) as process:
            assert proxy.is_halfway.wait(60)
            lone.kill9()
            proxy.cut()
            status, error = end_of(process)
        proxy.close()
    finally:
        lone.close()
    assert status == 2 and "connection lost" in error and error.count("\n") == 1


def test_a_reader_that_has_gone_ends_pull_as_it_ends_cat(large, r, server):  # noqa: F811
    run("push", large, "--key", "k", "-s", server.socket)
    with subprocess.Popen([TOOL, "pull", "--key", "k", "-s", server.socket], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE and process.stderr.read() == b""


class Between:
    """Passes one command after another to a server, and calls `act` before the third: pull's first piece."""

    def __init__(self, path, target, act):
        self.path, self.target, self.act = path, target, act
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.thread = threading.Thread(target=self.forward, daemon=True)
        self.thread.start()

    def forward(self):
        tool = self.listener.accept()[0]
        server_end = socket.socket(socket.AF_UNIX)
        server_end.connect(self.target)
        back = threading.Thread(target=self.answer, args=(server_end, tool), daemon=True)
        back.start()
        count = 0
        while command := tool.recv(65536):
            count += 1
            if count == 3:
                self.act()
            server_end.sendall(command)
        server_end.shutdown(socket.SHUT_RDWR)
        back.join()
        tool.close()
        server_end.close()

    @staticmethod
    def answer(server_end, tool):
        try:
            while data := server_end.recv(65536):
                tool.sendall(data)
        except OSError:
            pass  # the tool has gone


@pytest.mark.parametrize("act", ["add", "nothing"])
@pytest.mark.parametrize("kind", ["bloomport", "redisbloom", "valkeybloom"])
def test_a_filter_that_is_added_to_while_it_is_pulled_is_read_again(tmp_path, r, server, kind, act):  # noqa: F811
    path = tmp_path / "f"
    if kind == "redisbloom":
        path.write_bytes(RedisBloom(0.01, 1000).data)
    elif kind == "valkeybloom":
        path.write_bytes(load_string([(bytes(1200), 7, 0, 1000)]))
    else:
        run("build", "--capacity", 1000, "--format", "dump", "-o", path, stdin=lines(WORDS[:10]))
    run("push", path, "--key", "k", "-s", server.socket)
    adds = {"add": lambda: r.execute_command("BF.ADD", "k", "new"), "nothing": lambda: None}
    between = Between(tmp_path / "between", server.socket, adds[act])
    out = tmp_path / "out"
    words = ("pull", "--key", "k", "--format", "dump" if kind == "bloomport" else kind)
    run(*words, "-s", between.path, "-o", out)
    assert (out.read_bytes() == path.read_bytes()) == (act == "nothing")
    assert out.read_bytes() == run(*words, "-s", server.socket)
    between.thread.join(60)
    between.listener.close()


# side by side


@pytest.mark.parametrize("kind", ["bloomport", "redisbloom", "valkeybloom"])
def test_two_pushes_at_the_same_time_leave_one_complete_filter(tmp_path, r, server, kind):  # noqa: F811
    """The sizes are unequal, so that the pieces of one cannot be those of the other."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for number, path in enumerate(paths):
        if kind == "redisbloom":
            path.write_bytes(RedisBloom(0.01, 300_000 * (1 + number)).data)
        elif kind == "valkeybloom":
            path.write_bytes(load_string([(bytes(400_000 * (1 + number)), 7, 0, 300_000 * (1 + number))]))
        else:
            run("build", "--capacity", 300_000 * (1 + number), "-o", path, stdin=lines(WORDS[number::2]))
    whole = set()
    for path in paths:
        run("push", path, "--key", "k", "-s", server.socket, "--replace")
        whole.add(dump(r, "k"))
    assert len(whole) == 2
    for _ in range(60):
        both = [subprocess.Popen([TOOL, "push", path, "--key", "k", "-s", server.socket, "--replace"]) for path in paths]
        assert [process.wait(60) for process in both] == [0, 0]
        assert dump(r, "k") in whole and r.keys() == [b"k"] and r.ttl("k") == -1


def test_push_works_for_every_key_in_a_cluster(tmp_path, built):  # noqa: F811
    """RENAME works within one slot only, which a cluster of one server checks too."""
    node = Server(config={"cluster-enabled": "yes"}, tcp=True)
    try:
        client = node.start().client()
        node.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: b"cluster_state:ok" in node.call("CLUSTER", "INFO").plain, "a cluster")
        for key in ("k", "{tag}:k", "k{tag}", "a{b", "a}b", "{}x{y}", "}", ""):
            run("push", built, "--key", key, "-s", node.socket)
            run("push", built, "--key", key, "-s", node.socket, "--replace")
            assert client.execute_command("BF.MEXISTS", key, "item:1", "item:2") == [1, 1]
            assert client.execute_command("DBSIZE") == 1
            client.flushall()
    finally:
        node.close()


# a hostile server


def test_the_words_of_a_server_do_not_reach_the_terminal_as_commands(tmp_path):
    """No real server sends such texts."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen(1)

    def answer():
        connection = listener.accept()[0]
        connection.recv(4096)
        connection.sendall(b"-ERR \x1b]0;title\x07\x9b31m\xc2\x9b32m\xe0\x82\x9b \x7f caf\xc3\xa9 \xe2\x80\x93 ok\r\n")
        connection.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    done = subprocess.run([TOOL, "pull", "--key", "k", "-s", tmp_path / "s"], stderr=subprocess.PIPE, check=False,
                          timeout=60)
    thread.join()
    listener.close()
    assert done.returncode == 2
    assert done.stderr.decode() == "bloomport: key 'k': ERR ?]0;title??31m??32m??? ? café – ok\n"


def test_the_servers_log_names_the_users_key_and_not_the_one_on_its_way(server, r, tmp_path):  # noqa: F811
    """A line of the kind is written once a minute, so the servers are two."""
    r.execute_command("BF.RESERVE", "from", "0.001", "20", "NONSCALING")
    r.execute_command("BF.MADD", "from", *WORDS[:30])
    (tmp_path / "full").write_bytes(run("pull", "--key", "from", "-s", server.socket))
    other = Server()
    try:
        other.start()
        run("push", tmp_path / "full", "--key", "visitors", "-s", other.socket)
        said = [line for line in other.log.splitlines() if " is full: " in line]
    finally:
        other.close()
    assert len(said) == 1 and "filter visitors is full: it holds 20 items" in said[0]
