"""Every example of the documents prints what the document shows; documents.py has the notation. Each
document has a server and a directory of its own, and its examples run in their order,
with redis-cli and bloomport as a user has them, but for the server's address."""

import os
import re
import subprocess

import pytest

import documents

TOOL = os.environ.get("BLOOMPORT_TOOL", str(documents.REPO / "build" / "bloomport"))

# The address goes in front of redis-cli's options; --no-raw makes it print as on a terminal, unless
# the example says otherwise. The tool has its options after the subcommand's name.
REDIS_CLI = """#!/bin/sh
exec "{cli}" -s "{socket}" --no-raw "$@"
"""
BLOOMPORT = """#!/bin/sh
case $1 in
build | push | pull | add | list) command=$1; shift; exec "{tool}" "$command" -s "{socket}" "$@" ;;
check)
    case " $* " in *" --server "* | *" --key "*) shift; exec "{tool}" check -s "{socket}" "$@" ;; *) exec "{tool}" "$@" ;; esac ;;
*) exec "{tool}" "$@" ;;
esac
"""


def put_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def shell(tmp_path, start):
    """shell(command) -> what it prints, standard error included."""
    socket = start().socket
    bloomport = BLOOMPORT.format(tool=TOOL, socket=socket)
    cli = subprocess.run(["sh", "-c", "command -v " + os.environ.get("REDIS_CLI", "redis-cli")],
                         stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    put_program(tmp_path / "bin" / "redis-cli", REDIS_CLI.format(cli=cli, socket=socket))
    put_program(tmp_path / "bin" / "bloomport", bloomport)
    work = tmp_path / "work"
    put_program(work / "build" / "bloomport", bloomport)
    environment = dict(os.environ, PATH=f"{tmp_path}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8")

    def run(command):
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.stdout.decode("utf-8", "backslashreplace")

    return run


WITH_EXAMPLES = [documents.MANUAL, *(path for path in documents.MARKDOWN
                                     if "\n```console\n" in path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=documents.named)
def test_examples_print_what_the_document_says(path, shell):
    steps = list(documents.steps(path))
    assert steps, "no example found"
    wrong = []
    for step in steps:
        if "MEMORY USAGE" in step.command and os.environ.get("BLOOMPORT_PRELOAD"):
            continue  # a sanitizer's allocator rounds up to other sizes
        printed = "".join(line.rstrip() + "\n" for line in shell(step.command).splitlines())
        if not re.fullmatch(documents.pattern(step.expected), printed):
            wrong.append(f"{path.name}:{step.line}: $ {step.command}\n--- expected\n"
                         + "\n".join(step.expected) + f"\n--- printed\n{printed}")
    assert not wrong, "\n" + "\n".join(wrong)
