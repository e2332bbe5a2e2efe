"""The stream is canonical: whatever spelling a client chose, replicas and the AOF get one command with
every parameter where a filter is created, and the items that changed it where items are added.

Streams that 0.1.0 wrote have clients' own spellings of BF.INSERT on existing filters. They are
replayed without loss, from an AOF and from a master: OLD_STREAM.
"""

import itertools
import os
import random

import pytest

from filters import QUIET, Stream, follow, look, same_filter, server_info, until, until_in_sync
from redisbloom import DUMP_FILE, Master
from resp import OK, ONE, encode, simple
from test_redisbloom_master import errors_to_master, until_applied

SERVER_CONFIG = Stream.CONFIG

# ---- What the stream has -------------------------------------------------------------------------


def in_any_case(word, source):
    return "".join(source.choice((c.lower(), c.upper())) for c in word)


VALUES = {
    "CAPACITY": ["1", "77", "1000"],
    "ERROR": ["0.01", "1e-3", "0.5", ".25"],
    "BITSPERKEY": ["10", "1", "9.6", "256"],
    "EXPANSION": ["0", "1", "2", "7", "32768"],
    "LAYOUT": ["CLASSIC", "BLOCKED"],
    "HASH": ["XXH64", "FNV1A"],
}


def spelling(source):
    """A legal set of options of BF.INSERT, in any order and case, as a list of words."""
    chosen = [name for name in VALUES if source.random() < 0.4]
    if "ERROR" in chosen and "BITSPERKEY" in chosen:
        chosen.remove(source.choice(["ERROR", "BITSPERKEY"]))
    options = [(name, source.choice(VALUES[name])) for name in chosen]
    if ("LAYOUT", "BLOCKED") in options and ("HASH", "FNV1A") in options:
        options.remove(("HASH", "FNV1A"))
    if source.random() < 0.3:
        options.append(("NONSCALING",))
    source.shuffle(options)
    return [in_any_case(word, source) for word in itertools.chain(*options)]


def words_of(command):
    return [word.decode("latin-1") for word in command]


def assert_adds(commands, key, items):
    """Exactly one BF.MADD, or BF.ADD of a single item; nothing if there is none."""
    if not items:
        assert commands == []
        return
    (command,) = commands
    name, *rest = words_of(command)
    assert name == "BF.MADD" or (name == "BF.ADD" and len(items) == 1), name
    assert rest == [key, *items]


PARAMETERS = {"CAPACITY", "EXPANSION", "LAYOUT", "HASH"}


def assert_creates(commands, key, items):
    """One BF.INSERT of the items with every parameter."""
    (command,) = commands
    name, seen, *rest = words_of(command)
    at = rest.index("ITEMS")
    options = dict(zip(rest[:at:2], rest[1:at:2]))
    assert (name, seen, rest[at + 1 :]) == ("BF.INSERT", key, items)
    assert set(options) in (PARAMETERS | {"ERROR"}, PARAMETERS | {"BITSPERKEY"})


ON_EXISTING = [
    ("BF.INSERT", "ITEMS"),
    ("bf.insert", "items"),
    ("BF.INSERT", "NOCREATE", "ITEMS"),
    ("BF.INSERT", "BITSPERKEY", "10", "ITEMS"),
    ("BF.INSERT", "HASH", "XXH64", "ITEMS"),
    ("BF.INSERT", "HASH", "FNV1A", "ITEMS"),
    ("bf.insert", "layout", "classic", "items"),
    ("BF.INSERT", "LAYOUT", "BLOCKED", "ITEMS"),
    ("BF.INSERT", "CAPACITY", "5", "ERROR", "0.5", "EXPANSION", "4", "ITEMS"),
    ("Bf.Insert", "NonScaling", "Capacity", "100", "nocreate", "Items"),
    ("BF.MADD",),
    ("bf.madd",),
    ("BF.ADD",),
    ("bf.add",),
]


@pytest.mark.parametrize("words", ON_EXISTING, ids=" ".join)
def test_adds_to_an_existing_filter_are_the_items_that_changed_it(call, stream, words):
    assert call("BF.RESERVE", "k", "0.001", "1000") == OK
    call("BF.MADD", "k", "known1", "known2")
    stream.take()
    name, *options = words
    single = name.upper() == "BF.ADD"
    for items, changed in (
        (["a"], ["a"]),
        (["a"], []),
        (["known1", "b", "c", "b"], ["b", "c"]),
        (["new%d" % i for i in range(30)] + ["known2"], ["new%d" % i for i in range(30)]),
        (["ITEMS"], ["ITEMS"]),
        ([""], [""]),
    ):
        for item in items if single else [None]:
            call(name, "k", *options, *([item] if single else items)).plain
        commands = stream.take()
        if single:
            assert len(commands) == len(changed)
            for command, item in zip(commands, changed):
                assert_adds([command], "k", [item])
        else:
            assert_adds(commands, "k", changed)


def test_random_spellings_never_reach_the_stream(call, stream):
    seed = 15
    source = random.Random(seed)
    print("seed", seed)
    existing = set()
    for _ in range(400):
        key = "k%d" % source.randrange(60)
        options = spelling(source)
        if key in existing and source.random() < 0.3:
            options.insert(0, in_any_case("NOCREATE", source))
        items = ["i%d" % source.randrange(2000) for _ in range(source.randint(1, 5))]
        name, word = in_any_case("BF.INSERT", source), in_any_case("ITEMS", source)
        reply = call(name, key, *options, word, *items)
        assert not reply.is_error, (reply, options)
        answers = reply.value
        added = [item for item, answer in zip(items, answers) if answer == ONE]
        commands = stream.take()
        if key in existing:
            assert_adds(commands, key, added)
        else:
            assert_creates(commands, key, added)
        existing.add(key)


def test_a_script_and_a_transaction_reach_the_stream_in_the_same_words(call, stream):
    assert call("BF.RESERVE", "k", "0.001", "1000") == OK
    stream.take()
    script = "return redis.call('bf.insert', KEYS[1], 'hash', 'xxh64', 'items', 'a', 'b')"
    assert call("EVAL", script, "1", "k").plain == [1, 1]
    call("MULTI")
    call("bf.insert", "k", "bitsperkey", "10", "items", "b", "c")
    call("bf.insert", "fresh", "bitsperkey", "10", "items", "d")
    assert call("EXEC").plain == [[0, 1], [1]]
    commands = [command for command in stream.take() if command[0].upper() not in (b"MULTI", b"EXEC")]
    assert_adds(commands[:1], "k", ["a", "b"])
    assert_adds(commands[1:2], "k", ["c"])
    assert_creates(commands[2:], "fresh", ["d"])


# A creation's parameters, and others that differ in one of them each.
BASE = {"CAPACITY": "100", "ERROR": "0.01", "EXPANSION": "2", "LAYOUT": "CLASSIC", "HASH": "XXH64"}
SEED = "5a" * 32
OTHERS = [
    {**BASE, "CAPACITY": "101"},
    {**BASE, "ERROR": "0.02"},
    {name: value for name, value in {**BASE, "BITSPERKEY": "10"}.items() if name != "ERROR"},
    {name: value for name, value in {**BASE, "BITSPERKEY": "12"}.items() if name != "ERROR"},
    {**BASE, "EXPANSION": "3"},
    {**BASE, "EXPANSION": "0"},
    {**BASE, "LAYOUT": "BLOCKED"},
    {**BASE, "LAYOUT": "COUNTING", "EXPANSION": "0"},
    {**BASE, "HASH": "FNV1A"},
    {**BASE, "HASH": "SIP13", "SEED": SEED},
    {**BASE, "HASH": "SIP13", "SEED": "a5" * 32},
    {**BASE, "PXAT": "9000000000000"},
    {**BASE, "PXAT": "9000000000001"},
]
WINDOWS = [
    {**BASE, "WINDOW": "60", "GENERATIONS": "4"},
    {**BASE, "WINDOW": "61", "GENERATIONS": "4"},
    {**BASE, "WINDOW": "60", "GENERATIONS": "5"},
]


def options_of(parameters):
    """The options of BF.RESERVE and BF.INSERT, in the stream's order."""
    order = ["EXPANSION", "LAYOUT", "HASH", "SEED", "WINDOW", "GENERATIONS", "PXAT"]
    return [word for name in order if name in parameters for word in (name, parameters[name])]


def promise_of(parameters):
    """The promise as it was sent, and as the stream has it: the double's 17 digits."""
    name = "ERROR" if "ERROR" in parameters else "BITSPERKEY"
    return name, parameters[name], "%.17g" % float(parameters[name])


def reserve(call, key, parameters):
    """Creates a filter. Returns what the stream must have."""
    name, sent, stated = promise_of(parameters)
    word = [name] if name == "BITSPERKEY" else []
    rest = [parameters["CAPACITY"], *options_of(parameters)]
    assert call("BF.RESERVE", key, *word, sent, *rest) == OK
    return ["BF.RESERVE", key, *word, stated, *rest]


def insert(call, key, parameters, items):
    name, sent, stated = promise_of(parameters)
    capacity, options = ["CAPACITY", parameters["CAPACITY"], name], options_of(parameters)
    assert call("BF.INSERT", key, *capacity, sent, *options, "ITEMS", *items).plain == [1] * len(items)
    return ["BF.INSERT", key, *capacity, stated, *options, "ITEMS", *items]


@pytest.mark.parametrize("between", (["a"], ["a", "b", "c"]), ids=("one item", "three items"))
def test_a_creation_that_follows_another_has_its_own_words(call, stream, between):
    expected = []
    for i, other in enumerate(OTHERS):
        for j, parameters in enumerate((BASE, other, BASE, BASE, other, other)):
            expected.append(reserve(call, "r%d.%d" % (i, j), parameters))
            expected.append(insert(call, "i%d.%d" % (i, j), parameters, between))
        for j, parameters in enumerate((BASE, other, BASE, BASE, other, other)):
            expected.append(insert(call, "j%d.%d" % (i, j), parameters, between))
    assert [words_of(command) for command in stream.take()] == expected


def test_a_window_that_follows_another_has_its_own_words(call, stream):
    expected = []
    for i, other in enumerate(WINDOWS):
        for j, parameters in enumerate((other, BASE, other, *WINDOWS)):
            expected.append(reserve(call, "r%d.%d" % (i, j), parameters))
    assert [words_of(command) for command in stream.take()] == expected


def test_a_creation_by_a_changed_setting_has_the_settings_words(call, stream):
    for i, size in enumerate(("100", "100", "200", "100")):
        assert call("CONFIG", "SET", "bf.initial-size", size) == OK
        assert call("BF.ADD", "k%d" % i, "a") == ONE
        ((name, _, capacity, value, *_),) = map(words_of, stream.take())
        assert (name, capacity, value) == ("BF.INSERT", "CAPACITY", size)
        assert call("BF.INFO", "k%d" % i, "CAPACITY").plain == [int(size)]


def test_no_item_is_lost_whatever_their_number(call, stream):
    for n in range(1, 20):
        items = ["i%d" % i for i in range(n)]
        created = insert(call, "c%d" % n, BASE, items)
        assert call("BF.RESERVE", "k%d" % n, "0.001", "100") == OK
        assert call("BF.INSERT", "k%d" % n, "NOCREATE", "ITEMS", *items).plain == [1] * n
        first, _, last = map(words_of, stream.take())
        assert (first, last) == (created, ["BF.MADD", "k%d" % n, *items])


# ---- Nothing acknowledged is lost ----------------------------------------------------------------


def test_items_inserted_with_our_options_survive_the_aof_and_reach_the_replica(new_server):
    config = {**Stream.CONFIG, **QUIET, "aof-use-rdb-preamble": "no"}
    master, replica = new_server(config=config, tcp=True), new_server(config=QUIET, tcp=True)
    follow(replica, master)
    call = master.connection().call
    assert call("BF.RESERVE", "k", "0.01", "1000") == OK
    assert call("BF.INSERT", "k", "BITSPERKEY", "10", "ITEMS", "a", "b", "c").plain == [1, 1, 1]
    assert call("BF.INSERT", "k", "HASH", "XXH64", "ITEMS", "d", "e", "f").plain == [1, 1, 1]
    before = look(call, "k")
    until_in_sync(replica, master)
    assert replica.call("BF.MEXISTS", "k", *"abcdef").plain == [1] * 6
    same_filter(before, look(replica.connection().call, "k"), "on the replica")
    assert "CRITICAL" not in replica.log
    master.restart()
    call = master.connection().call
    assert call("BF.MEXISTS", "k", *"abcdef").plain == [1] * 6
    same_filter(before, look(call, "k"), "from the AOF")


# ---- Streams of 0.1.0 ----------------------------------------------------------------------------

# Two filters as 0.1.0 propagated their creation, and a client's own spellings on them.
CREATED = [
    ("BF.RESERVE", "k", "0.01", "1000", "EXPANSION", "2", "LAYOUT", "CLASSIC", "HASH", "XXH64"),
    ("BF.INSERT", "l", "CAPACITY", "20", "BITSPERKEY", "10", "EXPANSION", "2", "LAYOUT", "BLOCKED", "HASH", "XXH64",
     "ITEMS", "first"),
]  # fmt: skip
# The words between the key and the items
SPELLINGS = [
    ["BITSPERKEY", "10", "ITEMS"],
    ["HASH", "XXH64", "ITEMS"],
    ["layout", "classic", "items"],
    ["LAYOUT", "BLOCKED", "ITEMS"],
    ["NOCREATE", "ITEMS"],
    ["nonscaling", "hash", "fnv1a", "items"],
    ["NONSCALING", "NOCREATE", "BITSPERKEY", "256", "ITEMS"],
    ["EXPANSION", "7", "BITSPERKEY", "1", "CAPACITY", "100", "ITEMS"],
    ["ERROR", "0.999", "CAPACITY", "99999999999999", "ITEMS"],
    ["HASH", "XXH64", "ERROR", "1e-300", "EXPANSION", "0", "ITEMS"],
    ["EXPANSION", "32768", "LAYOUT", "CLASSIC", "HASH", "XXH64", "CAPACITY", "1", "ERROR", "0.5", "ITEMS"],
]
# Other dialects: RedisBloom's first letters and values it would refuse, valkey-bloom's words
OTHERS_SPELLINGS = [
    ["c", "1", "er", "0.1", "e", "2", "n", "i"],
    ["CAPACITY", "ITEMS", "ITEMS"],
    ["noc", "it"],
    ["ERROR", "0.9", "EXPANSION", "40000", "ITEMS"],
    ["TIGHTENING", "0.5", "SEED", "x" * 32, "ITEMS"],
    ["FP", "0.1", "VALIDATESCALETO", "100", "NOCREATE", "ITEMS"],
]


def old_stream(spellings):
    """(commands, {key: items}): CREATED, then every spelling with items of its own on both filters."""
    commands, items = list(CREATED), {"k": [], "l": ["first"]}
    for number, words in enumerate(spellings):
        for key in items:
            mine = ["%s-%d-%d" % (key, number, i) for i in range(3)] + ["ITEMS"]
            commands.append((("BF.INSERT", "bf.insert")[number % 2], key, *words, *mine))
            items[key] += mine
    return commands, items


def reference(call, items):
    """The same filters, by plain adds, as {key: look}."""
    for words in CREATED:
        call(*words).plain
    for key, added in items.items():
        call("BF.MADD", key, *added).plain
    return {key: look(call, key) for key in items}


def assert_has_it_all(call, items, expected):
    for key, added in items.items():
        assert call("TYPE", key) == simple("bloomport")
        answers = call("BF.MEXISTS", key, *added).plain
        assert [item for item, answer in zip(added, answers) if not answer] == [], "items of %s are lost" % key
        same_filter(expected[key], look(call, key), key)


@pytest.mark.parametrize("spellings", [SPELLINGS, SPELLINGS + OTHERS_SPELLINGS], ids=["ours", "others"])
def test_an_aof_of_0_1_0_is_replayed_without_loss(new_server, call, spellings):
    commands, items = old_stream(spellings)
    expected = reference(call, items)
    server = new_server(config={"appendonly": "yes", "aof-use-rdb-preamble": "no", "appendfsync": "always"})
    append_to_aof(server, commands)
    assert_has_it_all(server.connection().call, items, expected)


def append_to_aof(server, commands):
    """Stops the server, adds the commands to its AOF and starts it again."""
    server.stop()
    folder = os.path.join(server.directory, "appendonlydir")
    (name,) = [name for name in os.listdir(folder) if name.endswith(".incr.aof")]
    with open(os.path.join(folder, name), "ab") as out:
        out.write(b"".join(map(encode, [("SELECT", "0"), *commands])))
    server.start()


@pytest.mark.parametrize("spellings", [SPELLINGS, SPELLINGS + OTHERS_SPELLINGS], ids=["ours", "others"])
def test_a_master_of_0_1_0_is_followed_without_loss(new_server, call, spellings):
    commands, items = old_stream(spellings)
    expected = reference(call, items)
    master = Master(DUMP_FILE.read_bytes())
    replica = new_server(config={**QUIET, **Stream.CONFIG, "rdbcompression": "yes"}, tcp=True)
    try:
        assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
        assert master.is_synced.wait(60)
        until_applied(replica, master)
        until(lambda: server_info(replica.call, "persistence")["aof_rewrite_in_progress"] == "0", "its new AOF")
        master.send(*commands)
        until_applied(replica, master)
        assert errors_to_master(replica) == []
        assert_has_it_all(replica.connection().call, items, expected)
        assert replica.call("REPLICAOF", "NO", "ONE") == OK
        assert replica.call("DEBUG", "LOADAOF") == OK  # what it wrote down itself
        assert_has_it_all(replica.connection().call, items, expected)
    finally:
        replica.call("REPLICAOF", "NO", "ONE")  # or the master listens to it still
        master.close()


def test_a_redisbloom_filter_is_added_to_by_any_spelling_in_a_stream(new_server):
    """Options of any dialect are skipped on a filter that exists, whatever its type."""
    server = new_server(config={"appendonly": "yes", "aof-use-rdb-preamble": "no", "appendfsync": "always"})
    items, commands = [], [("BF.RESERVE", "k", "0.01", "100")]
    for number, words in enumerate(SPELLINGS + OTHERS_SPELLINGS):
        items.append("item%d" % number)
        commands.append(("BF.INSERT", "k", *words, items[-1]))
    append_to_aof(server, commands)
    call = server.connection().call
    assert call("TYPE", "k") == simple("MBbloom--")
    assert call("BF.MEXISTS", "k", *items).plain == [1] * len(items)
