"""The fixtures of the server tests serve the documents too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from redis_server import Server  # noqa: E402  (found by the line above)

import pytest  # noqa: E402


@pytest.fixture
def start():
    """start() gives a private server, stopped after the test."""
    started = []

    def one():
        started.append(Server())
        return started[-1].start()

    yield one
    for server in started:
        server.close()
