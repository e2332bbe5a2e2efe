"""A rolling upgrade as OPERATIONS.md has it: the replica first, FAILOVER, then the old master; under writes,
and without a lost item. From this version to itself, and from 0.1.0 if BLOOMPORT_OLD_SO names a build of it."""

import os
import re
import shutil

import pytest

from checks import look_up_all
from filters import QUIET, follow, server_info, until, until_in_sync
from redis_server import MODULE, REPO
from resp import OK

OLD = os.environ.get("BLOOMPORT_OLD_SO")
DOCUMENT = REPO / "module" / "docs" / "OPERATIONS.md"
SHAPES = {"plain": ("0.01", 100), "fixed": ("BITSPERKEY", 10, 5000, "NONSCALING"), "blocked": ("0.01", 100, "LAYOUT", "BLOCKED")}
NEWER = {"window": ("0.01", 100, "WINDOW", 1000), "counting": ("0.01", 5000, "LAYOUT", "COUNTING"),
         "keyed": ("0.01", 100, "HASH", "SIP13")}


class Writer:
    """Adds to every filter, and knows what it has added."""

    def __init__(self, shapes):
        self.shapes, self.count = list(shapes), 0

    def write(self, server, n=200):
        for key in self.shapes:
            answers = server.call("BF.MADD", key, *range(self.count, self.count + n)).plain
            assert set(answers) <= {0, 1}
        self.count += n

    def check(self, server):
        for key in self.shapes:
            assert set(look_up_all(server.call, key, range(self.count))) == {1}


def replace_file(server, module):
    """As `make install` and the package do: a new file under the old name, so that the running one stays."""
    shutil.copyfile(module, server.module + ".new")
    shutil.copymode(module, server.module + ".new")
    os.rename(server.module + ".new", server.module)


@pytest.fixture
def start(new_server, tmp_path):
    """start(module) -> a server with a module file of its own, which can be replaced."""
    count = iter(range(9))

    def make(module):
        own = str(tmp_path / ("%d.so" % next(count)))
        shutil.copyfile(module, own)
        shutil.copymode(module, own)
        server = new_server(tcp=True, module=own, config={**QUIET, "save": "3600 1"})
        server.module = own
        return server

    return make


@pytest.mark.parametrize("old", [pytest.param(MODULE, id="same"), pytest.param(OLD, id="0.1.0", marks=pytest.mark.skipif(
    not OLD, reason="BLOOMPORT_OLD_SO names no build of version 0.1.0"))])
def test_a_rolling_upgrade_loses_nothing(start, old):
    master, replica = start(old), start(old)
    shapes = SHAPES if old == OLD else {**SHAPES, **NEWER}
    for key, words in shapes.items():
        assert master.call("BF.RESERVE", key, *words) == OK
    follow(replica, master)
    writer = Writer(shapes)
    writer.write(master)

    replace_file(replica, MODULE)
    assert replica.call("CONFIG", "REWRITE") == OK  # it is a replica after the restart too
    assert replica.call("SAVE") == OK
    writer.write(master)
    replica.restart()
    until_in_sync(replica, master)

    writer.write(master)
    assert master.call("FAILOVER") == OK
    until(lambda: server_info(master.call, "replication")["role"] == "slave", "the roles are exchanged")
    until(lambda: server_info(replica.call, "replication")["role"] == "master", "the replica is master")
    writer.write(replica)

    replace_file(master, MODULE)
    assert master.call("CONFIG", "REWRITE") == OK
    master.restart()
    until_in_sync(master, replica)
    writer.write(replica)
    until_in_sync(master, replica)
    for server in (master, replica):
        writer.check(server)
    assert master.call("DEBUG", "DIGEST") == replica.call("DEBUG", "DIGEST")


def test_the_document_has_these_steps():
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## Upgrading\n")[1].split("\n## ")[0]
    steps = re.findall(r"^\d\. (.*)$", section, re.M)
    words = ["CONFIG REWRITE", "master_link_status:up", "FAILOVER", "old master"]
    assert [any(word in step for step in steps) for word in words] == [True] * 4
