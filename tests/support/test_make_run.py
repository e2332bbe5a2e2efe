"""`make run`: the port it has, and what it prints and does when that port is taken. What installs, what
builds and the server are fakes that print their name; the ports are real."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests/server"))
from redis_server import free_port  # noqa: E402 (the path has to be set first)

FAKES = ("RUN_DEPS=echo installing", "MAKE=echo building", "REDIS_SERVER=echo serving")


def make_run(*words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", "--no-print-directory", "run", *FAKES, *words], cwd=REPO, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")],
                ids=lambda param: param[1])
def taken(request):
    """A port that a program listens on, with one address or all."""
    family, address = request.param
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        try:
            listener.bind((address, 0))
        except OSError as error:
            pytest.skip(f"this machine has no {address}: {error}")
        listener.listen()
        yield listener.getsockname()[1]


def test_a_taken_port_is_reported_before_anything_is_installed_or_built(taken):
    done = make_run(f"PORT={taken}")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith(f"Port {taken} is taken")


def test_the_port_that_is_proposed_is_free(taken):
    proposed = int(re.search(r"make run PORT=(\d+)$", make_run(f"PORT={taken}").stderr, re.M)[1])
    assert proposed != taken
    with socket.socket() as one:
        one.bind(("0.0.0.0", proposed))
    assert make_run(f"PORT={proposed}").returncode == 0


def test_a_taken_port_in_the_servers_arguments_is_reported_too(taken):
    done = make_run(f"ARGS=--port {taken}")
    assert done.returncode != 0 and done.stdout == ""


@pytest.mark.parametrize("words", [["PORT={}"], ["ARGS=--maxmemory 1gb --port {}"], ["PORT=1", "ARGS=--port {}"]])
def test_what_to_type_has_the_port_of_the_server(words):
    port = free_port()
    done = make_run(*(word.format(port) for word in words))
    assert done.returncode == 0, done.stderr
    steps = [line.split()[0] for line in done.stdout.splitlines()]
    assert steps[:2] == ["installing", "building"] and steps[-1] == "serving"
    assert re.findall(r"redis-cli -p (\S+) BF\.", done.stdout) == [str(port)] * 3
    assert f"serving --port {port} " in done.stdout


def test_the_tool_is_built_too():
    done = make_run(f"PORT={free_port()}")
    (building,) = [line.split() for line in done.stdout.splitlines() if line.startswith("building")]
    assert {"bloomport.so", "bloomport"} <= {word.rpartition("/")[2] for word in building}
