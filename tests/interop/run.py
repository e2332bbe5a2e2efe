"""Do programs in other languages read and write the server's filters, bit for bit?

    run.py [language ...]       default: all; `make test-interop` runs this

Each folder beside this file is one language: a short program with its ecosystem's own XXH64 package
and no code of bloomport. For each:

    query   a filter exported by the server: 20,000 answers equal to BF.MEXISTS, false positives too
    build   filters of 5,000 items, m odd and m a power of two: bytes equal to the server's own
    load    BF.IMPORT takes those files, and all 20,000 answers are those of the server's own filter

A language whose toolchain or package is not to be had is skipped, with the reason. The last line is
"N passed, N failed, N skipped", in languages; exit status 1 on any failure, or if nothing ran.
Copies, downloads and programs live in build/interop/. Environment: see ../server/redis_server.py.
"""
import functools
import http.server
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE.parents[1] / "build" / "interop"
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "server"), str(HERE.parent / "support")]

import chromium  # noqa: E402
import languages  # noqa: E402
import libraries  # noqa: E402
import snippets  # noqa: E402
from answers import compare, madd, mexists  # noqa: E402
from languages import RUN_SECONDS, Failed, Skip, need, run  # noqa: E402
from redis_server import Server  # noqa: E402

K = 7
SIZES = (50021, 65536)  # m: odd and no whole number of bytes; a power of two


def lines(items):
    return "".join(item + "\n" for item in items).encode()


# The languages: each prepares its copy of the folder and says how its program is called.

class Program:
    """A language whose program is a command; prepare() sets self.command."""

    package = ""  # what gives it XXH64

    def __init__(self):
        self.name = type(self).__name__.lower()
        self.folder = WORK / self.name
        self.command = []

    def prepare(self):
        raise NotImplementedError

    def query(self, path, items):
        out = run([*self.command, "query", path], self.folder, stdin=lines(items))
        return [int(word) for word in out.split()]

    def build(self, k, m, items, path):
        run([*self.command, "build", k, m, path], self.folder, stdin=lines(items))


class Python(Program):
    package = "xxhash"

    def prepare(self):
        script = self.folder / "bloom.py"
        if subprocess.run([sys.executable, "-c", "import xxhash"], stderr=subprocess.DEVNULL).returncode:
            self.command = languages.python_program(self.folder, script)
        else:
            self.command = [sys.executable, script]


class Node(Program):
    package = "xxhash-wasm"

    def prepare(self):
        languages.copy_sources(HERE, WORK, "browser")  # the module that Node and the page share
        self.command = languages.node_program(self.folder, "bloom.mjs")


class Browser(Program):
    """The page in headless Chromium: it fetches its work from a server of this script and posts the result."""

    package = "xxhash-wasm"

    def prepare(self):
        self.command = [chromium.find()]
        if self.command == [None]:
            raise Skip("no chromium (portable.js itself runs under node, too)")
        languages.npm_install(self.folder)

    def query(self, path, items):
        out = self.job({"mode": "query", "items": items}, Path(path).read_bytes())
        return [int(word) for word in out.split()]

    def build(self, k, m, items, path):
        # m as text: JSON's numbers are doubles to JavaScript
        Path(path).write_bytes(self.job({"mode": "build", "k": k, "m": str(m), "items": items}))

    def job(self, job, data=b""):
        results = queue.Queue()

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                known = {"/job": json.dumps(job).encode(), "/filter": data}.get(self.path)
                if known is None:
                    super().do_GET()
                else:
                    self.answer(known)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(b"")
                results.put((self.path, body))

            def answer(self, body):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        handler = functools.partial(Handler, directory=str(self.folder))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            command = [*self.command, *chromium.flags(self.folder / "profile"),
                       "--remote-debugging-port=0",  # keeps it open until the page has answered
                       f"http://127.0.0.1:{server.server_port}/index.html#test"]
            with open(self.folder / "chromium.log", "wb") as log:
                browser = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                path, body = results.get(timeout=RUN_SECONDS)
            except queue.Empty:
                raise Failed(f"no answer from the page, see {log.name}") from None
            finally:
                browser.terminate()
                browser.wait(30)
                server.shutdown()
        if path != "/result":
            raise Failed(body.decode(errors="replace"))
        return body


class Go(Program):
    package = "cespare/xxhash/v2"

    def prepare(self):
        self.command = languages.go_program(self.folder)


class Rust(Program):
    package = "xxhash-rust"

    def prepare(self):
        self.command = languages.cargo_program(self.folder, "bloom")


class Cpp(Program):
    package = "libxxhash"

    def prepare(self):
        compiler = os.environ.get("CXX", "g++")
        need(compiler)
        try:
            languages.fetch(self.folder, compiler, "-E", "-xc++", "-", stdin=b"#include <xxhash.h>\n")
        except Skip:
            raise Skip("no xxhash.h (Debian: libxxhash-dev)") from None
        languages.build(self.folder, compiler, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror",
                       "-o", "bloom", "bloom.cpp", "-lxxhash")
        self.command = [self.folder / "bloom"]


class Java(Program):
    package = "zero-allocation-hashing"

    def prepare(self):
        self.command = languages.java_program(self.folder, "Bloom.java")


LANGUAGES = (Python, Node, Browser, Go, Rust, Cpp, Java)


# The server's side

def make_items(count, kind):
    """Items of many lengths (XXH64 has a path each for under 4, 8 and 32 bytes), a third not ASCII."""
    shapes = ("%d", "key:%012d", "größe-%d", "日本語のキー%d", "\U0001f338%d", "tail %d\r",
              "a longer item, more than the 32 bytes that XXH64 takes at a time: %d")
    return [kind + shapes[i % len(shapes)] % i for i in range(count)]


class Reference:
    """What the server says and what its files are: the expectation for every language."""

    def __init__(self, connection):
        self.connection = connection
        members = make_items(9999, "") + [""]
        self.probes = members[-5000:] + make_items(15000, "no ")
        connection.call("BF.RESERVE", "exported", 0.01, 10000, "NONSCALING").plain
        madd(connection, "exported", members)
        self.exported = WORK / "exported.bloom"
        self.exported.write_bytes(connection.call("BF.EXPORT", "exported").plain)
        self.answers = mexists(connection, "exported", self.probes)
        self.false_positives = sum(self.answers[5000:])
        assert all(self.answers[:5000]), "the server forgot an item"
        assert 50 < self.false_positives < 300, self.false_positives

        self.built_items = members[-5000:]
        self.built = {}  # m -> bytes, answers to the probes
        for m in SIZES:
            empty = struct.pack("<IQ", K, m) + bytes((m + 7) // 8)
            connection.call("BF.IMPORT", f"own:{m}", "FORMAT", "portable", "CAPACITY", 5000,
                            "DATA", empty).plain
            madd(connection, f"own:{m}", self.built_items)
            self.built[m] = (connection.call("BF.EXPORT", f"own:{m}").plain,
                             mexists(connection, f"own:{m}", self.probes))
            assert self.built[m][0][:12] == empty[:12] and any(self.built[m][0][12:])

    def check_query(self, language):
        compare("query", language.query(self.exported, self.probes), self.answers)

    def check_build(self, language, m):
        path = language.folder / f"built-{m}.bloom"
        path.unlink(missing_ok=True)
        language.build(K, m, self.built_items, path)
        compare(f"build m={m}", path.read_bytes(), self.built[m][0])

    def check_load(self, language, m):
        data = (language.folder / f"built-{m}.bloom").read_bytes()
        key = f"{language.name}:{m}"
        reply = self.connection.call("BF.IMPORT", key, "FORMAT", "portable", "DATA", data)
        if reply.is_error:
            raise Failed(f"BF.IMPORT m={m}: {reply.value}")
        compare(f"load m={m}", mexists(self.connection, key, self.probes), self.built[m][1])


COLUMNS = ["query", *(f"build {m}" for m in SIZES), *(f"load {m}" for m in SIZES)]
FORM = "%-9s %-24s" + " %-12s" * len(COLUMNS)


def check(language, reference):
    """One row of the table: the word for each column, and what went wrong."""
    row, notes = [], []
    try:
        languages.copy_sources(HERE, WORK, language.name)
        language.prepare()
    except Skip as reason:
        return ["skipped"] * len(COLUMNS), [str(reason)]
    except Failed as problem:
        return ["failed"] * len(COLUMNS), [str(problem)]
    steps = [functools.partial(reference.check_query, language)]
    steps += [functools.partial(step, language, m)
              for step in (reference.check_build, reference.check_load) for m in SIZES]
    for step in steps:
        try:
            step()
            row.append("ok")
        except (Skip, Failed, OSError) as problem:
            row.append("failed")
            notes.append(str(problem))
    return row, notes


def say(*words):
    print(*words, flush=True)


def language_rows(names, reference):
    """(line, result, notes) for each language of these names."""
    for make in LANGUAGES:
        language = make()
        if language.name in names:
            row, notes = check(language, reference)
            result = next((word for word in ("failed", "skipped") if word in row), "ok")
            yield (FORM % (language.name, language.package, *row)).rstrip(), result, notes


def report(rows, count):
    for line, result, notes in rows:
        count[result] += 1
        say(line)
        for note in notes:
            say("    %s: %s" % (result, note.replace("\n", "\n        ")))


def check_all(server, names, count):
    ours = [make.__name__.lower() for make in LANGUAGES]
    if any(name in ours for name in names):
        reference = Reference(server.connection())
        say(f"{len(reference.probes)} probes, {reference.false_positives} of them false positives")
        say(FORM % ("language", "XXH64 from", *COLUMNS))
        report(language_rows(names, reference), count)
    if any(name in libraries.LIBRARIES for name in names):
        say(libraries.FORM % ("library", "version", "filter", *libraries.COLUMNS))
        report(libraries.rows(names, server), count)
        say(snippets.FORM % ("snippet of EXPORT.md", "result"))
        report(snippets.rows(names, server), count)


def main(names):
    known = [*(make.__name__.lower() for make in LANGUAGES), *libraries.LIBRARIES]
    if not set(names) <= set(known):
        sys.exit("languages and libraries: " + " ".join(known))
    libraries.WORK.mkdir(parents=True, exist_ok=True)
    count = {"ok": 0, "failed": 0, "skipped": 0}
    server = Server(tcp=True)  # Redisson talks to it by TCP
    try:
        server.start()
        check_all(server, names or known, count)
    finally:
        server.close()
    say("%d passed, %d failed, %d skipped" % tuple(count.values()))
    return 1 if count["failed"] or not count["ok"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
