"""The server tests' fixtures, and what build/venv has of PyPI's libraries."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("server", "docs", "recipes")]

from redis_server import served  # noqa: E402  (found by the line above)

LIBRARIES = TESTS.parent / "build" / "venv" / "bin" / "python"


@pytest.fixture
def server():
    yield from served()


@pytest.fixture
def call(server):
    connection = server.connection()
    yield connection.call
    connection.close()


def need(python, *libraries):
    """Skips the test where this interpreter lacks one of them."""
    command = [str(python), "-c", "import " + ", ".join(libraries)]
    if not Path(python).exists() or subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f"{python} has no {', '.join(libraries)}: make test-libraries gets them")
