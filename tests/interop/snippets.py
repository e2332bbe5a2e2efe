"""The snippets of module/docs/EXPORT.md, "Filters of other libraries", run as they stand there.

run.py calls rows() of this file. Each snippet stands under a heading of PROGRAMS. It writes a filter
that holds alice, and one comment in it says what happens then on the server: either the commands,

    // BF.IMPORT users FORMAT guava, BF.ADD users bob, BF.EXPORT users FORMAT guava

with the file that the snippet has written as the DATA of BF.IMPORT, and as the output of BF.EXPORT;
or lines that begin with "$ ", for a shell. There the program waits until that is done. Then it goes on,
reads the filter back and prints whether bob is in it, last. PROGRAMS has what a program needs around it.
"""
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import languages
import libraries
from languages import Failed, Skip, run
from libraries import WORK

DOCUMENT = Path(__file__).resolve().parents[2] / "module" / "docs" / "EXPORT.md"
SECTION = "Filters of other libraries"
WRITTEN = "the filter is written"

JAVA = """import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import static java.nio.charset.StandardCharsets.UTF_8;
%s
class Snippet {
    public static void main(String[] arguments) throws Exception {
%%s
    }
}
"""
JAVA_PAUSE = f'System.out.println("{WRITTEN}"); System.in.read();'

SCALA = """import java.io.{FileInputStream, FileOutputStream}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.sketch.BloomFilter
object Snippet extends App {
val spark = SparkSession.builder().master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
import spark.implicits._
%s
}
"""

GO = """package main
import ("fmt"; "os"; "github.com/bits-and-blooms/bloom/v3")
func main() {
%s
}
"""

CPP = """#include <iostream>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
int main() {
%s
}
"""

REDISSON = """import org.redisson.*;
import org.redisson.api.*;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;"""
CLIENT = """Config config = new Config();
config.useSingleServer().setAddress("redis://127.0.0.1:PORT").setConnectionMinimumIdleSize(1);
RedissonClient client = Redisson.create(config);
%s
client.shutdown();"""


def java(imports, around="%s"):
    """How a Java snippet becomes a program, in the folder of its library."""
    def make(library, folder, text, port):
        source = JAVA % imports % around.replace("PORT", str(port)) % text(JAVA_PAUSE)
        (folder / "Snippet.java").write_text(source, encoding="utf-8")
        lib = f"{library}/lib/*"
        languages.build(folder, "javac", "-cp", lib, "-d", ".", "Snippet.java")
        return ["java", "-cp", f"{lib}:{folder}", "Snippet"]
    return make


def scala(library, folder, text, _):
    """Compiled and submitted with what PySpark's package has of Spark."""
    (jars,) = library.glob("venv/lib/*/site-packages/pyspark/jars")
    (folder / "snippet.scala").write_text(SCALA % text(f'println("{WRITTEN}"); System.in.read()'), encoding="utf-8")
    languages.build(folder, "java", "-cp", f"{jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-d", "snippet.jar",
                    "snippet.scala")
    return [jars.parent / "bin" / "spark-submit", "--class", "Snippet", "snippet.jar"]


def go(library, folder, text, _):
    source = library / "snippet" / "main.go"
    source.parent.mkdir(exist_ok=True)
    source.write_text(GO % text(f'fmt.Println("{WRITTEN}"); fmt.Scanln()'), encoding="utf-8")
    local = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    languages.build(library, "go", "build", "-buildvcs=false", "-o", folder / "program", "./snippet", environment=local)
    return [folder / "program"]


def cpp(_, folder, text, __):
    pause = f'std::cout << "{WRITTEN}" << std::endl; std::cin.get();'
    (folder / "snippet.cpp").write_text(CPP % text(pause), encoding="utf-8")
    languages.build(folder, os.environ.get("CXX", "g++"), "-std=c++17", "-o", "program", "snippet.cpp", "-lrocksdb")
    return [folder / "program"]


def python(library, folder, text, _):
    (folder / "snippet.py").write_text(text(f'print("{WRITTEN}", flush=True); input()'), encoding="utf-8")
    return [library / "venv" / "bin" / "python", folder / "snippet.py"]


CASSANDRA = """import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.util.*;
import org.apache.cassandra.utils.*;"""
DATASKETCHES = """import org.apache.datasketches.filters.bloomfilter.*;
import org.apache.datasketches.memory.Memory;"""

# heading: library, the file it writes, how it becomes a program
PROGRAMS = {
    "Guava, in Java": ("guava", "users.guava", java("import com.google.common.hash.*;")),
    "Spark, in Scala": ("pyspark", "users.spark", scala),
    "Spark, in Python": ("pyspark", "users.spark", python),
    "bits-and-blooms, in Go": ("bits-and-blooms", "users.bloom", go),
    "bitcoinj, in Java": ("bitcoinj", "users.bip37", java("import org.bitcoinj.core.BloomFilter;")),
    "python-bitcoinlib, in Python": ("python-bitcoinlib", "users.bip37", python),
    "Cassandra, in Java": ("cassandra4", "Filter.db", java(CASSANDRA)),
    "DataSketches, in Java": ("datasketches", "users.sketch", java(DATASKETCHES)),
    "RocksDB, in C++": ("rocksdb", "users.sst", cpp),
    "Redisson, in Java": ("redisson", "", java(REDISSON, CLIENT)),
}

SHELL = """#!/bin/sh
case $1 in
push | pull) command=$1; shift; exec "{tool}" "$command" -s "{socket}" "$@" ;;
*) exec "{tool}" "$@" ;;
esac
"""


def snippets():
    """{heading: code} of the section."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {SECTION}\n")[2].partition("\n## ")[0]
    return {heading: re.search(r"^```\w+\n(.*?)^```$", body, re.M | re.S)[1]
            for heading, _, body in (part.partition("\n") for part in text.split("\n### ")[1:])}


def parts(code):
    """The code before and after the comment, and the comment's lines."""
    lines = code.splitlines()
    marked = [i for i, line in enumerate(lines) if re.match(r"(?://|#) (?:\$|BF\.)", line)]
    if not marked or marked != list(range(marked[0], marked[-1] + 1)):
        raise Failed("a snippet has one comment that says what happens on the server")
    comment = [re.sub(r"^(?://|#) ", "", lines[i]) for i in marked]
    return "\n".join(lines[:marked[0]]), comment, "\n".join(lines[marked[-1] + 1:])


class Exchange:
    """What the comment says, done."""

    def __init__(self, server, folder, file):
        self.connection, self.folder, self.file = server.connection(), folder, folder / file
        shim = folder / "bin" / "bloomport"
        shim.parent.mkdir()
        shim.write_text(SHELL.format(tool=libraries.TOOL, socket=server.socket), encoding="utf-8")
        shim.chmod(0o755)
        cli = shim.with_name("redis-cli")
        cli.write_text(f'#!/bin/sh\nexec {shutil.which("redis-cli")} -s "{server.socket}" "$@"\n', encoding="utf-8")
        cli.chmod(0o755)
        self.environment = {"PATH": f"{shim.parent}:{os.environ['PATH']}"}

    def do(self, comment):
        for line in comment:
            if line.startswith("$ "):
                said = run(["bash", "-e", "-c", line[2:]], self.folder, environment=self.environment)
                if b"ERR" in said:
                    raise Failed(f"{line}: {said.decode(errors='replace')}")
            else:
                for command in line.split(", "):
                    self.command(command.split(" "))

    def command(self, words):
        if words[0] == "BF.IMPORT":
            words += ["DATA", self.file.read_bytes()]
        reply = self.connection.call(*words)
        if reply.is_error:
            raise Failed(f"{' '.join(map(str, words[:4]))}: {reply.value}")
        if words[0] == "BF.EXPORT":
            self.file.write_bytes(reply.plain)


def check(heading, code, server):
    library, file, make = PROGRAMS[heading]
    command = libraries.prepared(library)
    if isinstance(command, Exception):
        raise command
    folder = WORK / library / ("snippet " + heading)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    server.connection().call("FLUSHALL")
    before, comment, after = parts(code)
    program = make(WORK / library, folder, lambda pause: f"{before}\n{pause}\n{after}\n", server.port)
    exchange = Exchange(server, folder, file)
    with open(folder / "stderr", "wb") as stderr:
        process = subprocess.Popen(list(map(str, program)), cwd=folder, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=stderr)
    late = threading.Timer(languages.RUN_SECONDS, process.kill)
    late.start()
    try:
        if any(WRITTEN in line for line in process.stdout):
            exchange.do(comment)
        printed = process.communicate("\n")[0].split()
    finally:
        late.cancel()
        process.kill()
        process.wait()
    judge(server, process, folder, after, printed)


def judge(server, process, folder, after, printed):
    if process.returncode != 0:
        raise Failed(f"status {process.returncode}\n{(folder / 'stderr').read_text(encoding='utf-8')[-1000:]}")
    if after.strip() and printed[-1:] not in (["true"], ["True"]):
        raise Failed(f"printed {printed[-1:]}, not that bob is in the filter")
    key = next(iter(name for name in ("users:bf", "users") if server.connection().call("EXISTS", name).plain))
    if server.connection().call("BF.EXISTS", key, "alice").plain != 1:
        raise Failed("the server does not find alice")


FORM = "%-40s %s"


def rows(names, server):
    """(line, result, notes) for each snippet of the libraries of these names."""
    found = snippets()
    if set(found) != set(PROGRAMS):
        yield FORM % ("EXPORT.md", "failed"), "failed", [f"headings: {sorted(set(found) ^ set(PROGRAMS))}"]
    for heading in PROGRAMS:
        if PROGRAMS[heading][0] not in names or heading not in found:
            continue
        notes, result = [], "ok"
        try:
            check(heading, found[heading], server)
        except (Skip, Failed, OSError, subprocess.SubprocessError) as problem:
            result, notes = ("skipped" if isinstance(problem, Skip) else "failed"), [str(problem)]
        yield FORM % (heading, result), result, notes
