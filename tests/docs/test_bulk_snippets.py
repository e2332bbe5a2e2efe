"""The snippets of RECIPES.md for BF.BULKADD and BF.BULKEXISTS, run as they stand there but for the port.

Each gets 25,000 ids, or addresses, of which every third is in the filter already: added one by one here, so
that a wrong byte order, bit order or piece shows. Go, Java and Node run with the packages that `make
test-clients` has downloaded, which then runs this file again; what is not downloaded is skipped. Python:
tests/libraries.
"""

import shutil
import struct

import pytest

import documents
from redis_server import Server
from test_snippets import CLIENTS, printed_by

COUNT = 25_000
PIECE = 10_000
RECIPES = documents.PAGES / "RECIPES.md"
IDS = [struct.pack("<q", i) for i in range(COUNT)]
URLS = [f"https://example.com/{i}".encode() for i in range(COUNT)]
NEW = [i for i in range(COUNT) if i % 3]
PRINTED = f"{len(NEW)} new, the first 1 2 4 5 7\n"


def served_thirds():
    """Every third id and address is there. At this error rate no other seems to be."""
    server = Server(tcp=True)
    try:
        server.start()
        for key, items in (("ids", IDS), ("urls", URLS)):
            server.call("BF.RESERVE", key, "0.0000001", 100_000)
            assert sum(server.call("BF.MADD", key, *items[::3]).plain) == len(items[::3])
        server.call("CONFIG", "RESETSTAT")
        yield server
    finally:
        server.close()


@pytest.fixture
def server():
    yield from served_thirds()


def blocks(language):
    text = RECIPES.read_text(encoding="utf-8")
    return ["\n".join(lines) for _, lines in documents.fenced(text, language)]


def assert_added_in_pieces(server, key, items):
    """All are in the filter now, nothing else is, and no command had more than 10,000."""
    assert all(server.call("BF.MEXISTS", key, *items).plain)
    assert server.call("BF.CARD", key).plain == COUNT
    stats = server.call("INFO", "commandstats").plain.decode().lower()
    assert "cmdstat_bf.bulkadd:calls=%d," % -(-COUNT // PIECE) in stats


GO = """package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

%s

func main() {
	ids := make([]int64, %d)
	for i := range ids {
		ids[i] = int64(i)
	}
	client := redis.NewClient(&redis.Options{Addr: "localhost:%d"})
	added, err := addNew(context.Background(), client, "ids", ids)
	if err != nil {
		panic(err)
	}
	fmt.Print(len(added), " new, the first")
	for _, id := range added[:5] {
		fmt.Print(" ", id)
	}
	fmt.Println()
}
"""


def test_the_go_snippet_returns_the_new_ids(server):
    folder = CLIENTS / "go-redis"
    if not shutil.which("go") or not (folder / "program").exists():
        pytest.skip("go-redis is not downloaded: make test-clients T=go-redis")
    (folder / "bulk").mkdir(exist_ok=True)
    (snippet,) = blocks("go")
    (folder / "bulk" / "main.go").write_text(GO % (snippet, COUNT, server.port), encoding="utf-8")
    assert printed_by(["go", "run", "./bulk"], folder) == PRINTED
    assert_added_in_pieces(server, "ids", IDS)


JAVA = """
import java.nio.*;
import java.util.*;
import java.util.stream.*;
import redis.clients.jedis.*;

public class Bulk {
%s
    public static void main(String[] arguments) {
        try (RedisClient client = RedisClient.builder().hostAndPort("localhost", %d).build()) {
            List<Long> added = addNew(client, "ids", LongStream.range(0, %d).toArray());
            System.out.println(added.size() + " new, the first " + added.stream().limit(5).map(String::valueOf)
                    .collect(Collectors.joining(" ")));
        }
    }
}
"""


def test_the_java_snippet_returns_the_new_ids(server):
    folder = CLIENTS / "jedis"
    if not shutil.which("java") or not (folder / "lib").is_dir():
        pytest.skip("Jedis is not downloaded: make test-clients T=jedis")
    (snippet,) = blocks("java")
    (folder / "Bulk.java").write_text(JAVA % (snippet, server.port, COUNT), encoding="utf-8")
    printed_by(["javac", "-cp", "lib/*", "-d", "classes", "Bulk.java"], folder)
    assert printed_by(["java", "-cp", "lib/*:classes", "Bulk"], folder) == PRINTED
    assert_added_in_pieces(server, "ids", IDS)


NODE = """
const added = await addNew("urls", Array.from({ length: %d }, (_, i) => `https://example.com/${i}`));
console.log(added.length, "new, the first", ...added.slice(0, 5).map((one) => Number(one.split("/").pop())));
await client.close();
"""


def test_the_node_snippet_returns_the_new_strings(server):
    folder = CLIENTS / "node-redis"
    if not shutil.which("node") or not (folder / "node_modules" / "redis").is_dir():
        pytest.skip("node-redis is not downloaded: make test-clients T=node-redis")
    (snippet,) = blocks("js")
    assert snippet.count("6379") == 1
    script = snippet.replace("6379", str(server.port)) + NODE % COUNT
    (folder / "bulk.mjs").write_text(script, encoding="utf-8")
    assert printed_by(["node", "bulk.mjs"], folder) == PRINTED
    assert_added_in_pieces(server, "urls", URLS)
