"""redis-py: client.py PORT PROTOCOL. ../README.md lists the calls and the reasons."""
import sys

import redis

port, protocol = int(sys.argv[1]), int(sys.argv[2])
modern = int(redis.__version__.split(".")[0]) >= 5  # before, there was no RESP3 and no such option
options = {"protocol": protocol} if modern else {}
r = redis.Redis(port=port, **options)
# As most people use it: text, and since redis-py 8 RESP3 by default.
text = redis.Redis(port=port, decode_responses=True, **(options if protocol == 2 else {}))
bf = r.bf()
call = r.execute_command
BINARY = b"\x00\xff\r\n\x80"
# One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one).
ONE = bytes.fromhex("01020000007b14ae47e17a843f000000000000e03f0101000000000000002f000000000000000102000000000000000b00000"
                    "04564a07b0cc930b9e2e1fe54c4b2e464096547f4af40208ae0f36175b9fa97c6abd601000000000000000100000000000000")
yes, no = (True, False) if protocol == 3 else (1, 0)
checks = wrong = 0


def check(what, got, wanted):
    """Equal, and of the same type: 1 is not True."""
    global checks, wrong
    checks += 1
    if repr(got) != repr(wanted):
        wrong += 1
        print("wrong: %s, got %.300r, wanted %.300r" % (what, got, wanted))


def refused(what, words, function, *arguments, **named):
    try:
        answer = function(*arguments, **named)
    except redis.ResponseError as error:
        check(what, str(error)[: len(words)], words)
    else:
        check(what, answer, words)


def reserve():
    check("protocol", call("CLIENT INFO")["resp"].strip(), str(protocol))
    check("reserve", bf.create("plain", 0.01, 1000), True)
    check("reserve expansion", bf.create("grown", 0.001, 100, expansion=4), True)
    check("reserve nonscaling", bf.create("fixed", 1e-07, 2, noScale=True), True)
    refused("reserve again", "item exists", bf.create, "plain", 0.01, 1000)


def add():
    check("add", bf.add("plain", "a"), yes)
    check("add again", bf.add("plain", "a"), no)
    check("add binary", bf.add("plain", BINARY), yes)
    check("madd", bf.madd("plain", "a", "b", "c"), [no, yes, yes])
    every = {"capacity": 500, "error": 0.001, "expansion": 3}
    check("insert", bf.insert("inserted", ["x", "y", "x"], **every), [yes, yes, no])
    check("insert nocreate", bf.insert("inserted", ["z"], noCreate=True), [yes])
    check("insert nonscaling", bf.insert("small", ["x"], capacity=2, noScale=True), [yes])
    check("insert plain", bf.insert("default", ["x"]), [yes])
    refused("insert nocreate missing", "not found", bf.insert, "missing", ["x"], noCreate=True)


def lookups():
    check("exists", bf.exists("plain", "a"), yes)
    check("exists absent", bf.exists("plain", "absent"), no)
    check("exists binary", bf.exists("plain", BINARY), yes)
    check("exists binary cut", bf.exists("plain", BINARY[:-1]), no)
    check("exists missing", bf.exists("missing", "a"), no)
    check("mexists", bf.mexists("plain", "a", "absent", "c"), [yes, no, yes])
    check("mexists decoded", text.bf().mexists("plain", "a", "absent"), [yes, no])
    check("card", call("BF.CARD", "plain"), 4)
    check("card missing", call("BF.CARD", "missing"), 0)
    if hasattr(bf, "card"):  # since 4.4
        check("card", bf.card("plain"), 4)


FIELDS = (b"Capacity", b"Number of filters", b"Number of items inserted", b"Expansion rate")


def four(info):
    """redis-py 8 gives an object, but a dict if RESP3 was set explicitly."""
    if isinstance(info, dict):
        return tuple(info[name] for name in FIELDS)
    return info.capacity, info.filterNum, info.insertedNum, info.expansionRate


def info():
    seen = bf.info("plain")
    check("info", four(seen), (1000, 1, 4, 2))
    check("info size", (seen[b"Size"] if isinstance(seen, dict) else seen.size) > 1000, True)
    check("info decoded", four(text.bf().info("plain")), (1000, 1, 4, 2))
    check("info inserted", four(bf.info("inserted")), (500, 1, 3, 3))
    check("info nonscaling", four(bf.info("fixed")), (2, 1, 0, None))
    refused("info missing", "not found", bf.info, "missing")


def info_words():
    """r.bf() makes a client read every answer as all five fields, unless RESP3 was asked for by name.
    A second object on the same connections, whose bf() nobody calls, reads what is there."""
    def items(client):
        try:
            return client.execute_command("BF.INFO", "plain", "ITEMS")
        except KeyError as missing:
            return str(missing)

    alone = {b"Number of items inserted": 4} if protocol == 3 else [4]
    check("info of a word after bf()", items(r), alone if protocol == 3 else "'Capacity'")
    check("info of a word, text, after bf()", items(text), "'Capacity'")
    check("info of a word, second object", items(redis.Redis(connection_pool=r.connection_pool)), alone)
    default = items(redis.Redis(connection_pool=text.connection_pool))
    check("info of a word, second object, text", default, {"Number of items inserted": 4} if protocol == 3 else [4])


def errors():
    *answers, last = bf.madd("fixed", "p", "q", "r", "s")
    check("madd full", answers, [yes, yes])
    check("madd full ends in an error", (type(last), str(last)),
          (redis.ResponseError, "non scaling filter is full"))
    refused("add full", "non scaling filter is full", bf.add, "fixed", "r")
    check("add full, present", bf.add("fixed", "p"), no)
    r.set("text", "x")
    refused("add wrong type", "WRONGTYPE", bf.add, "text", "a")
    refused("exists wrong type", "WRONGTYPE", bf.exists, "text", "a")


def chunks(client, key):
    found, iterator = [], 0
    while True:
        iterator, data = client.bf().scandump(key, iterator)
        if iterator == 0:
            return found
        found.append((iterator, data))


def dump():
    answers = bf.madd("grown", *("item-%d" % i for i in range(1000)))
    check("grow", sum(answers) > 990, True)
    check("info grown", four(bf.info("grown"))[:2], (2100, 3))
    dumped = chunks(r, "grown")
    check("scandump", len(dumped), 4)
    check("scandump has bytes over 127", any(byte > 127 for byte in dumped[1][1]), True)
    for iterator, data in dumped:
        check("loadchunk", bf.loadchunk("loaded", iterator, data), b"OK")
    check("dump of the copy", chunks(r, "loaded"), dumped)
    if modern:
        check("dump, decode_responses", chunks(text, "grown"), dumped)
    check("mexists in the copy", bf.mexists("loaded", "item-0", "item-999", "absent"), [yes, yes, no])


def raw():
    debug = call("BF.DEBUG", "plain")
    check("debug", (len(debug), debug[0], debug[1][:6]), (2, b"size:4", b"bytes:"))
    data = call("BF.EXPORT", "plain")
    check("import", call("BF.IMPORT", "imported", "FORMAT", "portable", "DATA", data), b"OK")
    check("export of the copy", call("BF.EXPORT", "imported"), data)
    check("exists in the copy", bf.exists("imported", BINARY), yes)
    refused("import cut", "bad data", call, "BF.IMPORT", "bad", "FORMAT", "portable", "DATA", data[:-1])


def table(reply):
    """A map is a dict over RESP3, names and values in a row over RESP2."""
    return reply if protocol == 3 else dict(zip(reply[::2], reply[1::2]))


def stats():
    seen = table(call("BF.STATS", "plain"))
    check("stats has 17 fields", len(seen), 17)
    check("stats", [seen[b"layout"], seen[b"items"], seen[b"capacity"]], [b"CLASSIC", 4, 1000])
    ratio = seen[b"utilisation"]
    check("stats, a real", (type(ratio), float(ratio)), (float if protocol == 3 else bytes, 0.004))
    check("stats, a flag", seen[b"items are estimated"], no)
    layers = [table(layer) for layer in seen[b"layers"]]
    check("stats layers", [[layer[b"bits"], layer[b"hashes"]] for layer in layers], [[10595, 7]])
    refused("stats missing", "not found", call, "BF.STATS", "missing")


def combine():
    bf.create("other", 0.01, 1000)
    bf.madd("other", "a", "only")
    check("merge", call("BF.MERGE", "merged", "plain", "other"), b"OK")
    check("mexists merged", bf.mexists("merged", "b", "only", "absent"), [yes, yes, no])
    check("interstore", call("BF.INTERSTORE", "common", "plain", "other"), b"OK")
    check("mexists common", bf.mexists("common", "a", "b", "only"), [yes, no, no])
    check("clear", call("BF.CLEAR", "merged"), b"OK")
    check("exists cleared", bf.exists("merged", "a"), no)


def forget():
    check("reserve counting", call("BF.RESERVE", "counting", 0.01, 100, "LAYOUT", "COUNTING"), True)
    check("madd counting", bf.madd("counting", "a", "b", "a"), [yes, yes, no])
    check("count", call("BF.COUNT", "counting", "a"), 2)
    check("del", call("BF.DEL", "counting", "a", "absent"), [yes, no])
    check("count after del", call("BF.COUNT", "counting", "a"), 1)
    check("del missing", call("BF.DEL", "missing", "a"), [no])
    check("reserve window", call("BF.RESERVE", "seen", 0.01, 100, "WINDOW", 3600), True)
    check("rotate", call("BF.ROTATE", "seen"), b"OK")
    refused("rotate missing", "not found", call, "BF.ROTATE", "missing")


def load():
    check("load", call("BF.LOAD", "moved", ONE), b"OK")
    check("card of the loaded", call("BF.CARD", "moved"), 1)
    refused("load cut", "bloom object decoding failed", call, "BF.LOAD", "bad", ONE[:-1])


def bulk():
    check("bulkadd", call("BF.BULKADD", "bulky", "LINES", b"a\nb\na"), b"\xc0")
    check("bulkexists", call("BF.BULKEXISTS", "bulky", "WIDTH", 1, "axb"), b"\xa0")
    refused("bulkadd cut", "the data is no whole number of items of 2 bytes", call, "BF.BULKADD", "bulky", "WIDTH", 2, "abc")


for part in (reserve, add, lookups, info, info_words, errors, dump, raw, stats, combine, forget, load, bulk):
    part()
print("version", redis.__version__)
print("checks", checks)
sys.exit(1 if wrong else 0)
