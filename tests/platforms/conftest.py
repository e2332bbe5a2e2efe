"""Finds the server tests' fixtures and helpers, with which these tests are written too."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "server"), str(TESTS / "golden")]
