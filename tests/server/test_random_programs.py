"""Random programs of every writing command, in every legal spelling, plainly, in transactions and in
scripts (programs.py), against a master; then a replica with other settings, and servers that start from
the master's RDB file, its AOF, and rewritten AOFs with and without a preamble (program_run.py).

BLOOMPORT_PROGRAM_SEEDS (such as 5 or 100-199) and BLOOMPORT_PROGRAM_COMMANDS say which and how long.
"""

import os

import pytest

from program_run import report, run

COMMANDS = int(os.environ.get("BLOOMPORT_PROGRAM_COMMANDS") or 1000)


def seeds():
    first, _, last = (os.environ.get("BLOOMPORT_PROGRAM_SEEDS") or "1-12").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("seed", seeds())
def test_a_replica_and_every_file_hold_what_the_master_holds_after_a_random_program(seed):
    problems = run(seed, COMMANDS)
    if problems:
        pytest.fail(report(seed, COMMANDS, problems), pytrace=False)
