"""A server with TLS and ACL on, and a small cluster, as the tool's tests need them."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import redis

from test_tool import TOOL  # noqa: F401  (puts tests/server on the path)

from filters import until
from redis_server import Server, free_port
from resp import OK

USER, PASSWORD = "alice", "s3cr@t/pw:%"
URL_PASSWORD = "s3cr%40t%2Fpw%3A%25"
HOST = "localhost"


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def sign(directory, name, subject, authority, extension):
    """name.crt and name.key, signed by an authority."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", *key, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + subject, cwd=directory)
    (directory / "ext").write_text(extension)
    openssl("x509", "-req", "-in", name + ".csr", "-CA", authority + ".crt", "-CAkey", authority + ".key",
            "-CAcreateserial", "-days", "10", "-out", name + ".crt", "-extfile", "ext", cwd=directory)


def certificates():
    """ca, another ca, and what ca signed: server.crt for localhost, address.crt for 127.0.0.1 and ::1, elsewhere.crt for
    other.example and what is below it, client.crt."""
    directory = Path(tempfile.mkdtemp(prefix="bloomport-tls-"))
    key = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "10")
    for name in "ca", "other":
        openssl("req", *key, "-keyout", name + ".key", "-out", name + ".crt", "-subj", "/CN=" + name, cwd=directory)
    sign(directory, "server", HOST, "ca", "subjectAltName=DNS:localhost\n")
    sign(directory, "address", "address", "ca", "subjectAltName=IP:127.0.0.1,IP:::1\n")
    sign(directory, "elsewhere", "other.example", "ca", "subjectAltName=DNS:other.example,DNS:*.other.example\n")
    sign(directory, "client", "client", "ca", "basicConstraints=CA:FALSE\n")
    (directory / "both.pem").write_bytes((directory / "client.crt").read_bytes() + (directory / "client.key").read_bytes())
    return directory


class Secured:
    """A server that wants TLS with a client's certificate, a user and a password. On its Unix socket anybody may
    PING and SHUTDOWN, for the tests' own sake."""

    def __init__(self):
        self.files = certificates()
        self.port = free_port()
        anybody = ("default", "on", "nopass", "-@all", "+ping", "+shutdown")
        alice = (USER, "on", ">" + PASSWORD, "~*", "&*", "+@all")
        self.server = Server(config={
            "tls-port": self.port, "tls-cert-file": self.files / "server.crt", "tls-key-file": self.files / "server.key",
            "tls-ca-cert-file": self.files / "ca.crt", "tls-auth-clients": "yes", "user": [anybody, alice]}).start()
        self.client = redis.Redis(unix_socket_path=self.server.socket, username=USER, password=PASSWORD)

    @property
    def tls(self):
        return ["--cacert", self.files / "ca.crt", "--cert", self.files / "client.crt", "--tls-key",
                self.files / "client.key"]

    def show(self, name):
        """From now on the server has this certificate."""
        self.client.execute_command("CONFIG", "SET", "tls-cert-file", str(self.files / (name + ".crt")), "tls-key-file",
                                    str(self.files / (name + ".key")))

    @property
    def address(self):
        return ["-h", HOST, "-p", self.port, "--tls", *self.tls, "--user", USER]

    @property
    def url(self):
        return "rediss://%s:%s@%s:%d/0" % (USER, URL_PASSWORD, HOST, self.port)

    def close(self):
        self.client.close()
        self.server.close()
        shutil.rmtree(self.files)


class Cluster:
    """Three masters on loopback. With `password` every node wants it."""

    def __init__(self):
        config = {"cluster-enabled": "yes", "cluster-require-full-coverage": "no"}
        self.nodes = [Server(tcp=True, config=config).start() for _ in range(3)]
        self.ids = [node.call("CLUSTER", "MYID").plain.decode() for node in self.nodes]
        for i, node in enumerate(self.nodes):
            assert node.call("CLUSTER", "ADDSLOTSRANGE", 16384 * i // 3, 16384 * (i + 1) // 3 - 1) == OK
            assert node.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1) == OK
            assert self.nodes[0].call("CLUSTER", "MEET", "127.0.0.1", node.port) == OK
        until(lambda: all(self.is_whole(node.call("CLUSTER", "INFO").plain) for node in self.nodes), "the cluster is one")

    @staticmethod
    def is_whole(text):
        return all(part in text for part in (b"cluster_state:ok", b"cluster_known_nodes:3", b"cluster_slots_ok:16384"))

    def owner(self, key):
        slot = self.nodes[0].call("CLUSTER", "KEYSLOT", key).plain
        return next(i for i in range(3) if slot < 16384 * (i + 1) // 3)

    def keys_of(self, i):
        """A name whose slot node i has."""
        return next("key%d" % n for n in range(100) if self.owner("key%d" % n) == i)

    def close(self):
        for node in self.nodes:
            node.close()
