"""INFO bf equals a model after everything that can happen to a filter."""

import json
import random
import re

import pytest

from checks import dump, info
from filters import QUIET, Stream, follow, server_info, until, until_in_sync
from redis_server import REPO
from resp import OK, Reply

HELD = ["bf_filters", "bf_layers", "bf_items", "bf_bytes"]
DONE = ["bf_adds", "bf_checks", "bf_checks_absent", "bf_merges", "bf_imports"]
KEYS = ["k%d" % i for i in range(8)]
SERVER_CONFIG = dict(Stream.CONFIG, save="")


def told(call):
    return {name: int(value) for name, value in server_info(call, "bf").items()}


def there(call):
    """What the filters themselves say, over all databases; half-loaded ones are not used here."""
    sums = dict.fromkeys(HELD, 0)
    for db in range(3):
        call("SELECT", db)
        for key in call("KEYS", "*").plain:
            if call("TYPE", key).value == "bloomport":
                seen = info(call, key)
                one = (1, seen["Number of filters"], seen["Number of items inserted"], seen["Size"])
                for name, value in zip(HELD, one):
                    sums[name] += value
    call("SELECT", 0)
    return sums


def assert_holds(call):
    """Large filters are freed in the background, so it may take a moment."""
    expected = there(call)
    until(lambda: {name: told(call)[name] for name in HELD} == expected, "INFO bf says %s" % expected, 20)


def test_the_section_has_exactly_its_fields(call):
    assert call("INFO", "bf").plain.decode().splitlines()[0] == "# bf"
    assert list(told(call)) == HELD + DONE
    assert b"bf_filters:" in call("INFO", "everything").plain and b"bf_filters:" in call("INFO", "modules").plain


def test_the_exporters_script_gives_every_field(call):
    call("BF.MADD", "k", "a", "b")
    flat = call("EVAL", (REPO / "module" / "exporter.lua").read_text(encoding="utf-8"), 0).plain
    assert dict(zip((name.decode() for name in flat[::2]), map(int, flat[1::2]))) == told(call)


def test_the_dashboard_asks_for_fields_there_are_and_for_all_of_them(call):
    text = (REPO / "module" / "grafana.json").read_text(encoding="utf-8")
    asked = {key for panel in json.loads(text)["panels"] for target in panel["targets"]
             for key in re.findall(r'key="(\w+)"', target["expr"])}
    assert asked == set(told(call))


class Model:
    """The counters since start, from the replies alone."""

    def __init__(self, call):
        self.call, self.done = call, {name: told(call)[name] for name in DONE}

    def run(self, *words):
        reply, name = self.call(*words), words[0]
        answers = reply.value if reply.kind == "*" else [reply]
        good = [answer.value for answer in answers if isinstance(answer, Reply) and not answer.is_error]
        if name in ("BF.ADD", "BF.MADD", "BF.INSERT"):
            self.done["bf_adds"] += len(good)
        elif name in ("BF.EXISTS", "BF.MEXISTS"):
            self.done["bf_checks"] += len(good)
            self.done["bf_checks_absent"] += good.count(0)
        elif name in ("BF.MERGE", "BF.IMPORT") and good:
            self.done["bf_%ss" % name[3:].lower()] += 1
        return reply

    def check(self):
        seen = told(self.call)
        assert {name: seen[name] for name in DONE} == self.done


def step(source, model):
    """One random command."""
    key, other = source.choice(KEYS), source.choice(KEYS)
    items = ["%d" % source.randrange(2000) for _ in range(source.choice([1, 3, 80]))]
    run = model.run
    words = source.choice([("0.01", "10"), ("0.01", "10"), ("0.01", "5", "NONSCALING"), ("0.01", "100000"),
                           ("BITSPERKEY", "8", "50", "LAYOUT", "BLOCKED"), ("0.001", "30", "HASH", "FNV1A")])
    choices = [
        lambda: run("BF.RESERVE", key, *words),
        lambda: run("BF.RESERVE", other, "0.01", "10"),
        lambda: run("BF.ADD", key, items[0]),
        lambda: run("BF.MADD", key, *items),
        lambda: run("BF.INSERT", key, "CAPACITY", "7", "ITEMS", *items),
        lambda: run("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
        lambda: run("BF.EXISTS", key, items[0]),
        lambda: run("BF.MEXISTS", key, *items),
        lambda: run("BF.MERGE", key, other, source.choice(KEYS)),
        lambda: run("BF.INTERSTORE", key, other, other),
        lambda: run("BF.INTERSTORE", key, other, "missing"),
        lambda: run("BF.CLEAR", key),
        lambda: reload(run, key, other),
        lambda: carry(run, key, other),
        lambda: run(source.choice(["DEL", "UNLINK"]), key, other),
        lambda: run("SET", key, "v") and run("DEL", key),
        lambda: run("RENAME", key, other),
        lambda: run("COPY", key, other, "REPLACE"),
        lambda: run("COPY", key, key, "DB", 1, "REPLACE"),
        lambda: run("MOVE", key, 2),
        lambda: run("PEXPIRE", key, 1),
        lambda: run("SWAPDB", 0, source.randrange(3)),
        lambda: run("RESTORE", key, 0, b"nonsense"),
        lambda: run("CONFIG", "SET", "bf.max-bytes", source.choice([0, 0, 200])),
    ]
    if source.random() < 0.02:
        choices = [lambda: run("FLUSHALL", "ASYNC"), lambda: run("FLUSHDB", "SYNC"), lambda: run("DEBUG", "RELOAD"),
                   lambda: run("BGREWRITEAOF") and run("DEBUG", "LOADAOF")]
    source.choice(choices)()


def reload(run, key, other):
    data = run("DUMP", key)
    if data.value:
        run("RESTORE", other, 0, data.value, "REPLACE")


def carry(run, key, other):
    data = run("BF.EXPORT", key)
    if not data.is_error:
        run("BF.IMPORT", other, "FORMAT", "portable", "REPLACE", "DATA", data.value)
        run("BF.IMPORT", other, "FORMAT", "portable", "DATA", data.value)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_counters_equal_a_model_after_a_random_run(call, seed):
    print("seed", seed)
    source, model = random.Random(seed), Model(call)
    try:
        for _ in range(10):
            for _ in range(80):
                step(source, model)
            assert_holds(call)
    finally:
        call("CONFIG", "SET", "bf.max-bytes", 0)
    assert told(call)["bf_filters"] > 0
    assert call("FLUSHALL", "ASYNC") == OK
    until(lambda: [told(call)[name] for name in HELD] == [0] * 4, "all is freed")


def test_counters_since_start_equal_the_replies(call):
    source, model = random.Random(7), Model(call)
    for _ in range(300):
        key = source.choice(KEYS)
        items = [source.randrange(100) for _ in range(source.choice([1, 2, 40]))]
        for words in (("BF.ADD", key, items[0]), ("BF.MADD", key, *items), ("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
                      ("BF.EXISTS", key, items[0]), ("BF.MEXISTS", "missing", *items), ("BF.MEXISTS", key, "absent", *items),
                      ("BF.EXISTS", key, "absent"), ("BF.MEXISTS", key, *range(200, 230)),
                      ("BF.RESERVE", "full", "0.01", "3", "NONSCALING"), ("BF.MADD", "full", *items), ("BF.ADD", "full", "x"),
                      ("BF.MERGE", "new", key), ("BF.MERGE", "new", "missing"), ("BF.MERGE", "none", "missing")):
            model.run(*words)
        carry(model.run, key, "imported")
    model.run("SET", "other", "v")
    model.run("BF.ADD", "other", "a")
    model.run("BF.EXISTS", "other", "a")
    model.check()


def test_a_half_loaded_filter_counts_from_its_header_on(call):
    call("BF.MADD", "a", *range(500))
    pieces = dump(call, "a")
    one = there(call)
    for iterator, data in pieces:
        assert call("BF.LOADCHUNK", "b", iterator, data) == OK
        assert {name: told(call)[name] for name in HELD} == {name: 2 * value for name, value in one.items()}


def test_expiry_and_a_large_filter_freed_in_the_background(call):
    call("BF.RESERVE", "large", "0.01", "5000000")
    call("BF.MADD", "small", *range(90))
    assert_holds(call)
    for key in ("large", "small"):
        call("PEXPIRE", key, 1)
    until(lambda: told(call)["bf_filters"] == 0, "expired ones are not counted")
    assert [told(call)[name] for name in HELD] == [0] * 4


@pytest.mark.parametrize("load_way", ["disabled", "swapdb"])
def test_a_replica_counts_what_its_master_holds(new_server, load_way):
    config = dict(QUIET, **{"repl-diskless-load": load_way, "repl-diskless-sync": "yes"})
    master, replica = new_server(tcp=True, config=config), new_server(tcp=True, config=config)
    for server in (master, replica):
        call = server.connection().call
        for i, key in enumerate(KEYS):
            call("BF.RESERVE", key, "0.01", 10 ** (i % 5 + 1))
            call("BF.MADD", key, *range(20 * i + 5))
    follow(replica, master)
    master.call("BF.MERGE", "new", "k0")
    master.call("UNLINK", "k4")
    until_in_sync(replica, master)
    here, there_ = master.connection().call, replica.connection().call
    assert_holds(here)
    assert_holds(there_)
    assert {name: told(here)[name] for name in HELD} == {name: told(there_)[name] for name in HELD}
