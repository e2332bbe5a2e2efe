"""Small programs in other languages, for tests/interop and tests/clients: prepared with their
ecosystem's own tools in a copy of their folder under build/, and run.

A *_program() function takes such a copy, fetches the packages its package file names, compiles what
is to be compiled, and returns the command. It raises Skip if a toolchain or a package is not available,
and Failed if something else is wrong.
"""
import os
import re
import shutil
import subprocess
import sys

PREPARE_SECONDS = 500  # a download or a build
RUN_SECONDS = 120


class Skip(Exception):
    """The toolchain or the package is missing: this program cannot be tested."""


class Failed(Exception):
    """The toolchain is there and something is wrong."""


def run(command, cwd, problem=Failed, stdin=b"", seconds=RUN_SECONDS, environment=None):
    """Standard output of a command; raises `problem` with the end of its output if it fails."""
    command = list(map(str, command))
    try:
        done = subprocess.run(command, cwd=cwd, input=stdin, stdout=subprocess.PIPE, timeout=seconds,
                              stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})
    except FileNotFoundError as missing:
        raise Skip(f"no {command[0]}") from missing
    except subprocess.TimeoutExpired as late:
        raise problem(f"{command[0]}: no end after {seconds} s") from late
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace")
        said = re.sub(r"\x1b\[[0-9;]*m", "", said).strip()
        raise problem(f"{' '.join(command[:3])}: status {done.returncode}\n{said[-1000:]}")
    return done.stdout


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"no {tool}")


def fetch(folder, *command, **more):
    """A step that fails if a package is not available: then the program is skipped."""
    return run(command, folder, problem=Skip, seconds=PREPARE_SECONDS, **more)


def build(folder, *command, **more):
    return run(command, folder, seconds=PREPARE_SECONDS, **more)


def copy_sources(home, work, name):
    """The copy of home/name in work, where everything it downloads and builds stays."""
    shutil.copytree(home / name, work / name, dirs_exist_ok=True)
    return work / name


def c_program(folder, compiler, language, header, package, *words):
    """A program in C or C++ that a library is linked to. Skipped without the library's header, which a Debian
    package has."""
    need(compiler)
    try:
        fetch(folder, compiler, "-E", "-x" + language, "-", stdin=b"#include <%s>\n" % header.encode())
    except Skip:
        raise Skip("no %s (Debian: %s)" % (header, package)) from None
    build(folder, compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", "program", *words)
    return [folder / "program"]


def python_program(folder, script):
    """requirements.txt in a virtual environment of its own."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        fetch(folder, sys.executable, "-m", "venv", "venv")
    fetch(folder, python, "-m", "pip", "install", "-q", "-r", "requirements.txt")
    return [python, folder / script]


def npm_install(folder):
    need("node", "npm")
    fetch(folder, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock",
          "--loglevel=error")


def node_program(folder, script):
    npm_install(folder)
    return ["node", folder / script]


def go_program(folder):
    local = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}  # go.mod and go.sum are completed in the copy
    fetch(folder, "go", "mod", "download", environment=local)
    build(folder, "go", "build", "-buildvcs=false", "-o", "program", ".", environment=local)
    return [folder / "program"]


def cargo_program(folder, name):
    fetch(folder, "cargo", "fetch", "-q")
    build(folder, "cargo", "build", "-q", "--release", "--offline", "--target-dir", "target")
    return [folder / "target" / "release" / name]


def java_program(folder, *sources):
    """The first source is the one with main()."""
    need("java", "javac", "mvn")
    fetch(folder, "mvn", "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime",
          "-DoutputDirectory=lib")
    build(folder, "javac", "-cp", "lib/*", "-d", "classes", *sources)
    return ["java", "-cp", "lib/*:classes", sources[0].removesuffix(".java")]
