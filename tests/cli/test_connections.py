"""Connections as redis-cli has them: users, passwords, URLs, TLS, sockets, databases, clusters."""

import socket
import ssl
import subprocess
import threading

import pytest

from secured import HOST, PASSWORD, URL_PASSWORD, USER, Cluster, Secured
from test_output import shim, shimmed  # noqa: F401  (fixtures)
from test_tool import TOOL, WORDS, built, r, run, server, words_file  # noqa: F401  (fixtures)

from filters import until
from foreign_fixtures import FIXTURES
from redis_server import Server
from resp import OK

SECRETS = (PASSWORD, URL_PASSWORD)


@pytest.fixture(scope="module")
def secured():
    it = Secured()
    yield it
    it.close()


@pytest.fixture(autouse=True)
def no_password_around(monkeypatch):
    monkeypatch.delenv("REDISCLI_AUTH", raising=False)


def refused(*words):
    """The error of a run that must fail, which has no password in it."""
    error = run(*words, status=2)
    assert not any(secret in error for secret in SECRETS)
    return error


def round_trip(tmp_path, built, *options):  # noqa: F811
    """Push and pull by these options give the same filter."""
    back = tmp_path / "back"
    run("push", built, "--key", "k", "--replace", *options)
    run("pull", "--key", "k", "--format", "portable", "-o", back, *options)
    assert back.read_bytes() == built.read_bytes()


# TLS, users and passwords


def test_a_user_a_password_and_tls_as_options(tmp_path, built, secured, monkeypatch):  # noqa: F811
    round_trip(tmp_path, built, *secured.address, "-a", PASSWORD)
    round_trip(tmp_path, built, *secured.address, "--pass", PASSWORD)
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    round_trip(tmp_path, built, *secured.address)


def test_a_url_says_it_all(tmp_path, built, secured):  # noqa: F811
    round_trip(tmp_path, built, "-u", secured.url, *secured.tls)
    round_trip(tmp_path, built, "--url", "unix://%s:%s@%s" % (USER, URL_PASSWORD, secured.server.socket))


def test_certificate_and_key_may_be_one_file(tmp_path, built, secured):  # noqa: F811
    files = secured.files
    round_trip(tmp_path, built, "-u", secured.url, "--cacert", files / "ca.crt", "--cert", files / "both.pem")


def test_a_certificate_of_a_stranger_is_refused_unless_all_are_accepted(tmp_path, built, secured):  # noqa: F811
    files = secured.files
    cert = ("--cert", files / "both.pem")
    for authority in ["--cacert", files / "other.crt"], []:
        error = refused("pull", "--key", "k", "-u", secured.url, *cert, *authority)
        assert "certificate is not accepted" in error and "%s:%d: " % (HOST, secured.port) in error
    round_trip(tmp_path, built, "-u", secured.url, *cert, "--insecure")


# The certificate's name


@pytest.fixture
def shown(secured):
    """shown(name): the server has this certificate until the test ends."""
    yield secured.show
    secured.show("server")


AUTHORITIES = ["system", "--cacert", "--cacertdir"]


@pytest.fixture(params=AUTHORITIES)
def trusted(request, secured, monkeypatch):
    """The options of one who trusts the authority, in each way. SSL_CERT_FILE stands for the system's store."""
    files = secured.files
    cert = ["--cert", files / "both.pem"]
    if request.param == "system":
        monkeypatch.setenv("SSL_CERT_FILE", str(files / "ca.crt"))
        return cert
    if request.param == "--cacertdir":
        subprocess.run(["openssl", "rehash", files], check=True, stderr=subprocess.DEVNULL)
    return [*cert, request.param, files / "ca.crt" if request.param == "--cacert" else files]


def mismatch(name):
    return ("no TLS connection, the server's certificate is not accepted: it is for another host than %s (--sni names the one "
            "that it is for, --insecure-name accepts any)\n" % name)


def test_the_certificate_must_be_for_the_host_whoever_signed_it(tmp_path, built, secured, shown, trusted):  # noqa: F811
    by_name, by_address = secured.url, secured.url.replace(HOST, "127.0.0.1")
    round_trip(tmp_path, built, "-u", by_name, *trusted)
    assert refused("pull", "--key", "k", "-u", by_address, *trusted).endswith(mismatch("127.0.0.1"))
    shown("address")
    round_trip(tmp_path, built, "-u", by_address, *trusted)
    assert refused("pull", "--key", "k", "-u", by_name, *trusted).endswith(mismatch(HOST))
    shown("elsewhere")
    for url, host in (by_name, HOST), (by_address, "127.0.0.1"):
        assert refused("pull", "--key", "k", "-u", url, *trusted).endswith(mismatch(host))


def test_sni_names_the_host_that_the_certificate_is_for(tmp_path, built, secured, shown, trusted):  # noqa: F811
    shown("elsewhere")
    by_address = secured.url.replace(HOST, "127.0.0.1")
    for name in "other.example", "a.other.example":
        round_trip(tmp_path, built, "-u", by_address, *trusted, "--sni", name)
    for name in HOST, "another.example", "a.b.other.example", "127.0.0.1":
        assert refused("pull", "--key", "k", "-u", by_address, *trusted, "--sni", name).endswith(mismatch(name))
    for name in "", ".example", "x" * 256:  # to OpenSSL the first two would be no name, and any below it
        assert "'%s' is no host name" % name in refused("pull", "--key", "k", "-u", by_address, *trusted, "--sni", name)
    shown("address")
    round_trip(tmp_path, built, "-u", secured.url, *trusted, "--sni", "127.0.0.1")


def test_insecure_name_leaves_out_the_name_alone(tmp_path, built, secured, shown, trusted):  # noqa: F811
    shown("elsewhere")
    round_trip(tmp_path, built, "-u", secured.url, *trusted, "--insecure-name")
    run("copy", "--key", "k", "--key-to", "l", "--from", secured.url, "--to", secured.url, *trusted, "--insecure-name",
        "--replace")
    strange = ["--cert", secured.files / "both.pem", "--cacert", secured.files / "other.crt"]
    error = refused("pull", "--key", "k", "-u", secured.url, *strange, "--insecure-name")
    assert "certificate is not accepted: certificate verify failed" in error
    assert "go with --tls" in refused("pull", "--key", "k", "--insecure-name")


@pytest.mark.parametrize("host", [HOST, "127.0.0.1"])
def test_a_server_of_another_name_gets_no_byte_of_a_password(secured, host):
    """It is one that records what it is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secured.files / "elsewhere.crt", secured.files / "elsewhere.key")
    got = []

    def serve(listener):
        for _ in range(2):
            connection = listener.accept()[0]
            try:
                with context.wrap_socket(connection, server_side=True) as tls:
                    got.append(tls.recv(1000))
            except ssl.SSLError as error:
                got.append(error.reason)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2)
        thread = threading.Thread(target=serve, args=[listener])
        thread.start()
        words = ["list", "-u", secured.url.replace("%s:%d" % (HOST, secured.port), "%s:%d" % (host, listener.getsockname()[1])),
                 "--cacert", secured.files / "ca.crt"]
        assert refused(*words).endswith(mismatch(host))
        refused(*words, "--insecure-name")
        thread.join()
    assert got[0] == "SSLV3_ALERT_BAD_CERTIFICATE" and got[1].startswith(b"*3\r\n$4\r\nAUTH\r\n")


def test_a_socket_has_no_name_to_check(secured):
    words = ["list", "-s", secured.server.socket, "--tls", *secured.tls]
    assert "a socket has no host name that the certificate could have" in refused(*words)


# A server that is silent


@pytest.fixture
def silent():
    """The port of a socket on which nobody ever answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(20)
        yield listener.getsockname()[1]


def test_a_silent_server_is_given_up(silent, secured):
    where = "127.0.0.1:%d" % silent
    for words in ["pull", "--key", "k"], ["list"], ["check", "--server", "--key", "k"]:
        error = refused(*words, "-p", silent, "--timeout", 1)
        assert error.endswith("no answer from %s for 1 s (--timeout 0 waits without end)\n" % where), words
    error = refused("list", "-p", silent, "-a", PASSWORD, "--timeout", 1)
    assert error == "bloomport: %s: no answer from %s for 1 s (--timeout 0 waits without end)\n" % (where, where)
    url = "redis://" + where
    assert "no answer from %s for 1 s" % where in refused("copy", "--from", url, "--to", url, "--key", "k", "--timeout", 1)
    error = refused("list", "-p", silent, "--tls", *secured.tls, "--timeout", 1)
    assert error == "bloomport: %s: no TLS connection after 1 s (--timeout 0 waits without end)\n" % where


def paused(connection, what):
    """The server takes commands and answers none of this kind."""
    connection.execute_command("CLIENT", "PAUSE", 3600 * 1000, what)


@pytest.mark.parametrize("way", ["plain", "tls"])
def test_a_server_that_falls_silent_is_given_up(built, server, r, secured, way):  # noqa: F811
    connection = secured.client if way == "tls" else r
    words = ["-u", secured.url, *secured.tls] if way == "tls" else ["-s", server.socket]
    name = "%s:%d" % (HOST, secured.port) if way == "tls" else server.socket
    run("push", built, "--key", "k", "--replace", *words)
    paused(connection, "WRITE")
    try:
        assert run("check", "--server", "--key", "k", *words, "--timeout", 1, stdin=WORDS[0] + b"\n") == WORDS[0] + b"\n"
        error = refused("push", built, "--key", "k", "--replace", *words, "--timeout", 1)
        assert error == "bloomport: key 'k': no answer from %s for 1 s (--timeout 0 waits without end)\n" % name
    finally:
        connection.execute_command("CLIENT", "UNPAUSE")


def test_a_server_that_takes_no_more_bytes_is_given_up(tmp_path):
    path, word = str(tmp_path / "s"), "p" * 120_000  # twice that is more than a socket holds
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        error = refused("list", "-s", path, "--user", word, "-a", word, "--timeout", 1)
        assert error == "bloomport: %s: no answer from %s for 1 s (--timeout 0 waits without end)\n" % (path, path)
        connection, got = listener.accept()[0], 0
        while some := connection.recv(1 << 16):
            got += len(some)
        assert 0 < got < 2 * len(word)
        connection.close()


@pytest.mark.parametrize("words", [["--timeout", 0], []], ids=["without end", "by default"])
def test_a_longer_silence_is_waited_for(built, server, r, words):  # noqa: F811
    paused(r, "WRITE")
    words = [TOOL, "push", built, "--key", "k", "--replace", "-s", server.socket, *words]
    waiting = subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE)
    try:
        until(lambda: b"cmd=bf.loadchunk" in r.execute_command("CLIENT", "LIST") or waiting.poll() is not None, "it asks")
    finally:
        r.execute_command("CLIENT", "UNPAUSE")
    said = waiting.communicate(timeout=60)[1]
    assert waiting.returncode == 0 and said.startswith(b"pushed: ")


def test_a_silence_of_ten_seconds_is_said_and_five_minutes_are_the_end(silent, tmp_path, shimmed):  # noqa: F811
    """The shim's poll is over at once."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        status, said, _ = shimmed("list", "-s", path, SHIM_POLL="silent")
        assert status == 2 and said.decode() == (
            "no answer from %s for 10 s, waiting on (--timeout: 300 s at most)\nbloomport: list: no answer from %s for 300 s "
            "(--timeout 0 waits without end)\n" % (path, path))
    status, said, _ = shimmed("list", "-p", silent, SHIM_POLL="silent")
    assert status == 2 and said.decode() == "bloomport: 127.0.0.1:%d: no connection after 10 s (--timeout 0 waits without end)\n" % silent


def test_timeout_is_a_number_of_seconds():
    for text in "-1", "1.5", "86401", "long", "":
        assert "--timeout: " in refused("list", "--timeout=" + text)


def test_no_certificate_a_bad_one_and_no_tls_are_named(secured, tmp_path):
    files = secured.files
    refused("pull", "--key", "k", "-u", secured.url, "--cacert", files / "ca.crt")
    assert "--cert: cannot use " in refused("pull", "--key", "k", "-u", secured.url, "--cacert", files / "ca.crt", "--cert",
                                            tmp_path / "none")
    assert "--tls-key: cannot use " in refused("pull", "--key", "k", "-u", secured.url, "--cacert", files / "ca.crt",
                                               "--cert", files / "client.crt", "--tls-key", files / "other.key")
    assert "--cacert: cannot read " in refused("pull", "--key", "k", "-u", secured.url, "--cacert", tmp_path / "none")
    refused("pull", "--key", "k", "-u", secured.url.replace("rediss", "redis"))


def test_tls_to_a_server_without_it_is_an_error_and_no_wait(server, secured):  # noqa: F811
    assert "no TLS connection" in refused("pull", "--key", "k", "-p", server.port, "--tls", *secured.tls)


def test_a_wrong_password_is_not_in_the_message(secured):
    wrong = secured.url.replace(URL_PASSWORD, "wr0ng-one")
    error = refused("pull", "--key", "k", "-u", wrong, *secured.tls)
    assert "WRONGPASS" in error and "wr0ng-one" not in error
    assert "--user 'alice' has no password" in refused("pull", "--key", "k", *secured.address)
    assert "NOPERM" in refused("pull", "--key", "k", "-s", secured.server.socket)


def test_a_server_that_wants_a_password_is_named(server, r):  # noqa: F811
    locked, open_one = server, Server().start()
    r.config_set("requirepass", PASSWORD)  # of connections to come
    wanted = "the server %s wants a password: -a, --user, a URL or REDISCLI_AUTH\n" % locked.socket
    try:
        for words in ["pull", "--key", "k"], ["list"], ["check", "--server", "--key", "k"], ["pull", "--key", "k", "-n", 1]:
            assert refused(*words, "-s", locked.socket).endswith(wanted), words
        for one, other in (locked, open_one), (open_one, locked):
            open_one.call("BF.ADD", "k", "a")
            words = "copy", "--key", "k", "--key-to", "l", "--from", one.socket, "--to", "unix://" + other.socket
            assert refused(*words).endswith(wanted)
    finally:
        r.config_set("requirepass", "")
        open_one.close()


def test_a_path_is_the_url_of_a_socket(tmp_path, built, server, r):  # noqa: F811
    round_trip(tmp_path, built, "-u", server.socket)
    run("copy", "--from", server.socket, "--to", "unix://" + server.socket, "--key", "k", "--key-to", "l")
    assert r.exists("l")
    for words in ["pull"], ["list"], ["copy"]:
        assert b"unix://" in run(*words, "--help")


def test_a_url_and_an_address_exclude_each_other(server):  # noqa: F811
    for words in ["-s", server.socket], ["-h", "localhost"], ["-p", 6379]:
        assert "-u names the server" in refused("list", "-u", "unix://" + server.socket, *words)


def test_a_server_of_a_filter_in_a_file_gets_a_hint(built, server):  # noqa: F811
    for words in ["-s", server.socket], ["-p", server.port], ["-n", 1]:
        assert "--server --key names a filter there" in refused("check", built, *words)


def test_a_server_without_auth_repeats_no_password():
    server = Server(config={"rename-command": ("AUTH", "")}).start()  # noqa: F811
    try:
        error = refused("pull", "--key", "k", "-s", server.socket, "-a", "oh-no-no")
        assert "oh-no-no" not in error and "AUTH" in error
    finally:
        server.close()


def test_a_password_of_the_command_line_is_overwritten(secured):
    """The list of processes shows stars as soon as the options are read. A socket that nobody accepts on holds the
    tool."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        url = "redis://%s:%s@127.0.0.1:%d" % (USER, URL_PASSWORD, listener.getsockname()[1])
        for words in ["-u", url], ["-p", str(listener.getsockname()[1]), "-a", PASSWORD]:
            process = subprocess.Popen([TOOL, "pull", "--key", "k", *words], stderr=subprocess.DEVNULL)
            try:
                connection = listener.accept()[0]  # the options are read
                with open("/proc/%d/cmdline" % process.pid, "rb") as shown:
                    line = shown.read().decode()
                assert "***" in line and not any(secret in line for secret in SECRETS)
                connection.close()
            finally:
                process.kill()
                process.wait()


@pytest.mark.parametrize("url, expected", [
    ("http://host", "none of redis://"), ("redis://host:0", "a port is"), ("redis://host:65536", "a port is"),
    ("redis://host:x", "a port is"), ("redis://host/x", "a database is"), ("redis://[::1", "a [ without"),
    ("redis://:%zz@host", "a % without"), ("redis://:%4@host", "a % without"), ("redis://[::1]x:1", "something between"),
    ("unix://path", "begins with a slash"), ("unix:///path?x=1", "?db="), ("redis://host?db=1", "after the host"),
    ("redis://:%00@host", "a % without"), ("redis://:a/b@host", "write / as %2F, @ as %40"),
    ("redis://:a@b/c@host", "write / as %2F, @ as %40"), ("redis://:a?b@host", "? as %3F"),
    ("unix://:a/b@/path", "write / as %2F"), ("unix://:a@b/c@/path", "write / as %2F"),
])
def test_a_bad_url_is_refused_and_not_repeated(url, expected):
    error = run("pull", "--key", "k", "-u", url, status=2)
    assert expected in error and "--url: " in error and url not in error


def test_words_that_do_not_go_together_are_refused(secured):
    assert "go with --tls" in refused("pull", "--key", "k", "--cacert", secured.files / "ca.crt")
    assert "--tls-key goes with --cert" in refused("pull", "--key", "k", "--tls", "--tls-key", "x")
    assert "a cluster has database 0 only" in refused("pull", "--key", "k", "--cluster", "-n", 1)


# databases


def test_a_database_by_letter_word_and_url(tmp_path, built, server, r):  # noqa: F811
    round_trip(tmp_path, built, "-s", server.socket, "-n", 2)
    round_trip(tmp_path, built, "-u", "redis://127.0.0.1:%d/3" % server.port)
    round_trip(tmp_path, built, "-u", "unix://%s?db=4" % server.socket)
    for number in range(16):
        r.execute_command("SELECT", number)
        assert r.keys() == ([b"k"] if number in (2, 3, 4) else [])
    r.execute_command("SELECT", 0)


# what is there instead


def test_a_server_without_the_module_is_named(built):  # noqa: F811
    server = Server(module=None).start()  # noqa: F811
    try:
        assert "key 'k': no module: the server has no BF.LOADCHUNK" in refused("push", built, "--key", "k", "-s", server.socket)
        assert "no module: the server has no BF.SCANDUMP" in refused("pull", "--key", "k", "-s", server.socket)
        assert server.call("DBSIZE").plain == 0
    finally:
        server.close()


def test_a_key_of_another_type_is_named_with_its_type(server, r):  # noqa: F811
    r.lpush("list", "x")
    assert "key 'list': a list, not a filter (WRONGTYPE" in refused("pull", "--key", "list", "-s", server.socket)


# clusters


@pytest.fixture(scope="module")
def cluster():
    it = Cluster()
    yield it
    it.close()


def test_in_a_cluster_the_node_of_the_key_is_found(tmp_path, built, cluster):  # noqa: F811
    for i in range(3):
        key = cluster.keys_of(i)
        for node in cluster.nodes:
            back = tmp_path / "back"
            run("push", built, "--key", key, "--replace", "--cluster", "-p", node.port)
            run("pull", "--key", key, "--cluster", "-p", node.port, "--format", "portable", "-o", back)
            assert back.read_bytes() == built.read_bytes()
        assert cluster.nodes[i].call("BF.EXISTS", key, WORDS[0]).plain == 1
    for node in cluster.nodes:
        assert node.call("DBSIZE").plain == 1


def test_a_slot_on_its_way_is_asked_for_where_it_goes(tmp_path, built, cluster):  # noqa: F811
    """The key is on the importing node already; the slot is still the other's: ASK."""
    key = next("moving%d" % n for n in range(100) if cluster.owner("moving%d" % n) == 0)
    slot = cluster.nodes[0].call("CLUSTER", "KEYSLOT", key).plain
    old, new = cluster.nodes[:2]
    run("push", built, "--key", key, "-p", old.port)
    assert new.call("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ids[0]) == OK
    assert old.call("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ids[1]) == OK
    try:
        assert old.call("MIGRATE", "127.0.0.1", new.port, key, 0, 5000) == OK
        back = tmp_path / "back"
        run("pull", "--key", key, "--cluster", "-p", old.port, "--format", "portable", "-o", back)
        assert back.read_bytes() == built.read_bytes()
    finally:
        for node in cluster.nodes:
            assert node.call("CLUSTER", "SETSLOT", slot, "NODE", cluster.ids[1]) == OK


def test_without_the_word_a_redirection_is_explained(built, cluster):  # noqa: F811
    error = refused("push", built, "--key", cluster.keys_of(1), "-p", cluster.nodes[0].port)
    assert "--cluster" in error and "MOVED" in error


def test_a_redisson_filter_goes_from_the_node_that_has_it_to_the_node_of_the_key(cluster):
    fixture = FIXTURES["redisson/bytes.bitmap"]
    source, to = cluster.keys_of(0), cluster.keys_of(2)
    fields = [word for pair in fixture.params["config_hash"].items() if pair[0] != "__key" for word in pair]
    assert cluster.nodes[0].call("SET", source, fixture.data) == OK
    assert cluster.nodes[0].call("HSET", "{%s}:config" % source, *fields).plain == 4
    run("pull", "--redisson", source, "--key", to, "--replace", "--cluster", "-p", cluster.nodes[1].port)
    assert cluster.nodes[2].call("BF.MEXISTS", to, *fixture.probes).plain == fixture.answers
    assert run("pull", "--redisson", source, "--cluster", "-p", cluster.nodes[1].port, "--format", "redisson") == fixture.data
