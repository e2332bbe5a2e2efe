"""The README's snippets, run as they stand there but for the port: the Python one with Debian's
redis-py; those for Node and Go with the packages that `make test-clients` has downloaded, which then
runs this file again. Without these packages they are skipped."""

import os
import shutil
import subprocess
import sys

import pytest

import documents
from redis_server import Server

CLIENTS = documents.REPO / "build" / "clients"
PRINTED = "ann@example.com may be taken\nbob@example.com is free\n"
GO = """package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

func main() {
%s
}
"""


@pytest.fixture
def port():
    server = Server(tcp=True)
    try:
        yield server.start().port
    finally:
        server.close()


def snippet(language, port):
    (block,) = documents.fenced(documents.README.read_text(encoding="utf-8"), language)
    text = "\n".join(block[1])
    assert text.count("6379") == 1
    return text.replace("6379", str(port))


def printed_by(command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, timeout=120, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_snippet_prints_who_may_be_taken(port, tmp_path):
    assert printed_by([sys.executable, "-c", snippet("python", port)], tmp_path) == PRINTED


def test_the_node_snippet_prints_who_may_be_taken(port):
    folder = CLIENTS / "node-redis"
    if not shutil.which("node") or not (folder / "node_modules" / "redis").is_dir():
        pytest.skip("node-redis is not downloaded: make test-clients T=node-redis")
    (folder / "snippet.mjs").write_text(snippet("js", port), encoding="utf-8")
    assert printed_by(["node", "snippet.mjs"], folder) == PRINTED


def test_the_go_snippet_prints_who_may_be_taken(port):
    folder = CLIENTS / "go-redis"
    if not shutil.which("go") or not (folder / "program").exists():
        pytest.skip("go-redis is not downloaded: make test-clients T=go-redis")
    (folder / "snippet").mkdir(exist_ok=True)
    (folder / "snippet" / "main.go").write_text(GO % snippet("go", port), encoding="utf-8")
    assert printed_by(["go", "run", "./snippet"], folder) == PRINTED
