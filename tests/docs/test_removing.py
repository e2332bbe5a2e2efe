"""Removing the module: the lines of OPERATIONS delete every filter and nothing else, so that a server without
the module starts from the files; and the package says so before it goes. Going back: the lines of MIGRATING
list the filters that cannot, and the loop deletes those alone."""

import os
import subprocess

import pytest

import documents
import redisbloom
import valkeybloom
from filters import until_rewritten
from redis_server import Server

PRERM = documents.REPO / "module" / "extras" / "debian" / "prerm"
NAMES = [b"plain", b"a b", b"two\nlines", b"quote'\"", b"\xff\x00", b"-n", b""]
OTHERS = 5_000  # keys that are no filters: more than one step of the loop looks at


def first_lines(page, section):
    _, lines = next(documents.fenced(documents.sections(documents.PAGES / page)[section], "sh"))
    return "\n".join(lines) + "\n"


def deleting():
    """The lines that delete the filters and write the files anew."""
    return first_lines("OPERATIONS.md", "Removing")


def fill(server):
    """Filters of all three types, of every kind of name, in two databases, among other keys."""
    r = server.client()
    for database in (0, 3):
        r.execute_command("SELECT", database)
        for name in NAMES:
            r.execute_command("BF.ADD", name, "item")
        r.restore("theirs", 0, redisbloom.FIXTURES["auto"].payload)
        r.restore("valkeys", 0, next(iter(valkeybloom.SMALL.values())).payload)
        r.mset({f"text:{i}": i for i in range(OTHERS)})
        r.rpush("list", "bloomport")
    return r


@pytest.fixture(params=["no", "yes"], ids=["rdb", "aof"])
def server(request):
    server = Server(config={"appendonly": request.param, "databases": "4"})
    try:
        yield server.start()
    finally:
        server.close()


def run_lines(text, server, folder):
    """What the lines print, as a user types them; redis-cli finds the server by itself."""
    program = folder / "redis-cli"
    program.write_text(f'#!/bin/sh\nPATH=$FORMER exec {os.environ.get("REDIS_CLI", "redis-cli")} -s "{server.socket}" "$@"\n',
                       encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "FORMER": os.environ["PATH"], "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", text], env=environment, timeout=120, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    return done.stdout + done.stderr


def start_without_module(server):
    """The same files and settings, and no loadmodule line."""
    server.stop()
    with open(server.config_file, encoding="utf-8") as config:
        lines = [line for line in config if not line.startswith("loadmodule")]
    with open(server.config_file, "w", encoding="utf-8") as config:
        config.writelines(lines)
    return server.start()


def test_the_lines_delete_every_filter_of_every_database_and_a_server_without_the_module_starts(server, tmp_path):
    r = fill(server)
    printed = run_lines(deleting(), server, tmp_path)
    until_rewritten(server.call)
    assert "ERR" not in printed and "OK" in printed
    assert b"bf_filters:0" in server.call("INFO", "bf").plain
    for database in (0, 3):
        r.execute_command("SELECT", database)
        assert r.dbsize() == OTHERS + 1 and r.type("list") == b"list"
    assert start_without_module(server).call("DBSIZE").plain == OTHERS + 1


def test_no_step_of_the_loop_looks_at_more_than_some_thousand_keys(server, tmp_path):
    """A step is one turn of the server. SCAN may look at ten times its COUNT where the table is sparse."""
    fill(server)
    server.call("CONFIG", "RESETSTAT")
    run_lines(deleting(), server, tmp_path)
    stats = server.call("INFO", "commandstats").plain.decode()
    calls = int(stats.partition("cmdstat_scan:calls=")[2].partition(",")[0])
    assert calls >= 2 * OTHERS // 1_000


def test_the_loop_says_why_it_could_not_delete(server, tmp_path):
    fill(server)
    server.call("ACL", "SETUSER", "default", "-eval")
    assert "NOPERM" in run_lines(deleting(), server, tmp_path)


# ---- Going back ----------------------------------------------------------------------------------


def test_the_filters_that_cannot_go_back_are_listed(server, tmp_path):
    """By names that a shell can print: the empty one and NUL are lost in it."""
    fill(server)
    assert server.call("DEL", b"", b"\xff\x00").plain == 2
    printed = run_lines(first_lines("MIGRATING.md", "Going back"), server, tmp_path)
    assert sorted(printed.splitlines()) == ["-n", "a b", "lines", "plain", "quote'\"", "two"]


@pytest.mark.parametrize("types,left", [("bloomport bloomfltr", b"theirs"), ("bloomport MBbloom--", b"valkeys")])
def test_the_loop_with_two_types_leaves_the_filters_that_can_go_back(server, tmp_path, types, left):
    """The types that MIGRATING names for RedisBloom and for valkey-bloom."""
    r = fill(server)
    assert f"'{types}'" in (documents.PAGES / "MIGRATING.md").read_text(encoding="utf-8")
    changed = deleting().replace("'bloomport MBbloom-- bloomfltr'", f"'{types}'")
    assert changed != deleting()
    run_lines(changed, server, tmp_path)
    r.execute_command("SELECT", 3)
    assert {key for key in r.scan_iter(count=1000) if not key.startswith(b"text:")} == {b"list", left}
    assert b"bf_filters:2" in server.call("INFO", "bf").plain


# ---- The package ---------------------------------------------------------------------------------


def configure(root, kind):
    """A root directory in which a server's configuration loads the module."""
    (root / "etc" / kind).mkdir(parents=True)
    file = root / "etc" / kind / f"{kind}.conf"
    file.write_text(f"loadmodule /usr/lib/{kind}/modules/bloomport.so\nbf.error-rate 0.001\n", encoding="utf-8")
    return file


def prerm(root, action="remove"):
    done = subprocess.run(["sh", PRERM, action], env={**os.environ, "DPKG_ROOT": str(root)}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("kind", ["redis", "valkey"])
def test_the_package_says_to_delete_the_filters_and_how_before_it_names_the_line_to_remove(tmp_path, kind):
    file = configure(tmp_path, kind)
    said = prerm(tmp_path)
    first, lines, last = said.partition(deleting().replace("redis-cli", f"{kind}-cli"))
    assert f"{file} still loads the module" in first and "delete the filters" in first
    assert lines and f"loadmodule line and all bf.* lines from {file}" in last


def test_the_package_goes_in_silence_where_nothing_loads_the_module_and_when_it_is_upgraded(tmp_path):
    assert prerm(tmp_path) == ""
    configure(tmp_path, "redis")
    assert prerm(tmp_path, "upgrade") == ""
    assert prerm(tmp_path) != ""
