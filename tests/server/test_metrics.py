"""INFO bf equals a model after everything that can happen to a filter."""

import json
import random
import re

import pytest

import rate_model
from checks import COMMANDS, bits_of, card_and_layers, dump, info
from filters import QUIET, Stream, follow, server_info, until, until_in_sync
from formats_model import ones
from mutations import with_footer
from redis_server import REPO
from resp import OK, Reply, error
from valkeybloom import FIXTURES

HELD = ["bf_filters", "bf_layers", "bf_items", "bf_bytes", "bf_full", "bf_overfilled"]
DONE = ["bf_adds", "bf_checks", "bf_checks_absent", "bf_merges", "bf_imports"]
KEYS = ["k%d" % i for i in range(8)]
BAD_PAYLOAD = error("ERR Bad data format")
SERVER_CONFIG = dict(Stream.CONFIG, save="")


def info_bf(call):
    return {name: int(value) for name, value in server_info(call, "bf").items()}


def state_of(call, key, layers):
    """The filter's state. BF.STATS shows that of a window's generations that live, and INFO bf counts all
    that are held: those are judged here by their bits."""
    flat = call("BF.STATS", key).plain
    seen = dict(zip(flat[::2], flat[1::2]))
    if "window" not in seen:
        return seen["state"]
    arrays = [ones(bits) for bits in bits_of(call, key)]
    promised = float(seen["promised error rate"])
    is_over = rate_model.is_overfilled(seen["layout"], seen["hash"], layers, arrays, promised)
    return b"overfilled" if is_over else b"ok"


def there(call):
    """The sums over the filters of all databases; partly loaded ones are not used here."""
    sums = dict.fromkeys(HELD, 0)
    for db in range(3):
        call("SELECT", db)
        for key in call("KEYS", "*").plain:
            if call("TYPE", key).value == "bloomport":
                items, layers = card_and_layers(call, key)  # all; BF.INFO shows those of a window that live
                state = state_of(call, key, layers)
                one = (1, len(layers), items, info(call, key)["Size"], state == b"full", state == b"overfilled")
                for name, value in zip(HELD, one):
                    sums[name] += value
    call("SELECT", 0)
    return sums


def assert_holds(call):
    """Large filters are freed in the background, so it may take a moment."""
    expected = there(call)
    until(lambda: {name: info_bf(call)[name] for name in HELD} == expected, "INFO bf says %s" % expected, 20)


def test_the_section_has_exactly_its_fields(call):
    assert call("INFO", "bf").plain.decode().splitlines()[0] == "# bf"
    assert list(info_bf(call)) == HELD + DONE
    assert b"bf_filters:" in call("INFO", "everything").plain and b"bf_filters:" in call("INFO", "modules").plain


def test_the_exporters_script_gives_every_field(call):
    call("BF.MADD", "k", "a", "b")
    flat = call("EVAL", (REPO / "module" / "extras" / "monitoring" / "exporter.lua").read_text(encoding="utf-8"), 0).plain
    assert dict(zip((name.decode() for name in flat[::2]), map(int, flat[1::2]))) == info_bf(call)


def test_the_dashboard_asks_for_fields_there_are_and_for_all_of_them(call):
    text = (REPO / "module" / "extras" / "monitoring" / "grafana.json").read_text(encoding="utf-8")
    queried = {key for panel in json.loads(text)["panels"] for target in panel["targets"]
             for key in re.findall(r'key="(\w+)"', target["expr"])}
    assert queried == set(info_bf(call))


class Model:
    """The counters since start, from the replies alone."""

    def __init__(self, call):
        self.call, self.done = call, {name: info_bf(call)[name] for name in DONE}
        self.succeeded = set()

    def run(self, *words):
        reply = self.call(*words)
        self.note(words, reply)
        return reply

    def together(self, *commands):
        """In one transaction."""
        for words in (("MULTI",), *commands):
            assert not self.call(*words).is_error
        for words, reply in zip(commands, self.call("EXEC").value):
            self.note(words, reply)

    def note(self, words, reply):
        name = words[0]
        if not reply.is_error:
            self.succeeded.add(name)
        answers = reply.value if reply.kind == "*" else [reply]
        good = [answer.value for answer in answers if isinstance(answer, Reply) and not answer.is_error]
        if name in ("BF.ADD", "BF.MADD", "BF.INSERT"):
            self.done["bf_adds"] += len(good)
        elif name in ("BF.EXISTS", "BF.MEXISTS"):
            self.done["bf_checks"] += len(good)
            self.done["bf_checks_absent"] += good.count(0)
        elif name in ("BF.BULKADD", "BF.BULKEXISTS"):
            self.note_bulk(name, words[3].count("\n"), reply)
        elif name in ("BF.MERGE", "BF.IMPORT") and good:
            self.done["bf_%ss" % name[3:].lower()] += 1

    def note_bulk(self, name, n, reply):
        """n lines; of an error, the items before it."""
        taken = re.search(r": (\d+) of %d items taken$" % n, reply.value) if reply.is_error else None
        if name == "BF.BULKADD":
            self.done["bf_adds"] += int(taken[1]) if taken else 0 if reply.is_error else n
        elif not reply.is_error:
            self.done["bf_checks"] += n
            self.done["bf_checks_absent"] += n - int.from_bytes(reply.value, "big").bit_count()

    def check(self):
        seen = info_bf(self.call)
        assert {name: seen[name] for name in DONE} == self.done


RARE = [[("FLUSHALL", "ASYNC")], [("FLUSHALL", "SYNC")], [("FLUSHDB", "SYNC")], [("DEBUG", "RELOAD")]]
LOAD_AOF = [("BGREWRITEAOF",), ("DEBUG", "LOADAOF")]  # counts what is in the log a second time


def lines(items):
    return "".join("%s\n" % item for item in items)


def step(source, model, rare):
    """One random command; seldom, one of `rare`."""
    key, other = source.choice(KEYS), source.choice(KEYS)
    items = ["%d" % source.randrange(2000) for _ in range(source.choice([1, 3, 80]))]
    run, call = model.run, model.call
    words = source.choice([("0.01", "10"), ("0.01", "10"), ("0.01", "5", "NONSCALING"), ("0.01", "100000"),
                           ("BITSPERKEY", "8", "50", "LAYOUT", "BLOCKED"), ("0.001", "30", "HASH", "FNV1A"),
                           ("0.01", "60", "LAYOUT", "COUNTING"), ("0.01", "60", "LAYOUT", "COUNTING", "EX", "1000"),
                           ("0.01", "20", "WINDOW", "1", "GENERATIONS", "64"), ("0.01", "20", "WINDOW", "1000000")])
    choices = [
        lambda: run("BF.RESERVE", key, *words),
        lambda: run("BF.RESERVE", other, "0.01", "10"),
        lambda: [run("BF.ADD", key, items[0]) for _ in range(2)],  # new, then present
        lambda: run("BF.MADD", key, *items),
        lambda: run("BF.INSERT", key, "CAPACITY", "7", "ITEMS", *items),
        lambda: run("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
        lambda: run("BF.BULKADD", key, "LINES", lines(items)),
        lambda: run("BF.BULKEXISTS", key, "LINES", lines(items)),
        lambda: run("BF.EXISTS", key, items[0]),
        lambda: run("BF.MEXISTS", key, *items),
        lambda: run("BF.MERGE", key, other, source.choice(KEYS)),
        lambda: run("BF.INTERSTORE", key, other, other),
        lambda: run("BF.INTERSTORE", key, other, "missing"),
        lambda: run("BF.CLEAR", key),
        lambda: run("BF.ROTATE", key),
        lambda: [run("BF.DEL", each, *items) for each in KEYS],
        lambda: run("BF.COUNT", key, items[0]),
        lambda: reload(run, key, other),
        lambda: spoil(source, run, key, other),
        lambda: carry(run, key, other),
        lambda: pass_in_pieces(run, key, "pieces"),
        lambda: run(source.choice(["DEL", "UNLINK"]), key, other),
        lambda: run("SET", key, "v") and run("DEL", key),
        lambda: run("RENAME", key, other),
        lambda: run("COPY", key, other, "REPLACE"),
        lambda: run("COPY", key, key, "DB", 1, "REPLACE"),
        lambda: run("MOVE", key, 2),
        lambda: run("EXPIRE", key, 1000),
        lambda: run("PEXPIRE", key, 1) and until(lambda: call("EXISTS", key).value == 0, "it expires"),
        lambda: [run(name, key) for name in ("BF.CARD", "BF.INFO", "BF.DEBUG", "BF.STATS")],
        lambda: model.together(("BF.MADD", key, *items), ("BF.MERGE", other, key), ("BF.MEXISTS", other, *items), ("DEL", key)),
        lambda: run("SWAPDB", 0, source.randrange(3)),
        lambda: run("RESTORE", key, 0, b"nonsense"),
        lambda: run("CONFIG", "SET", "bf.max-bytes", source.choice([0, 0, 280])),
    ]
    if source.random() < 0.02:
        choices = [lambda: [run(*words) for words in source.choice(rare)]]
    source.choice(choices)()


def reload(run, key, other):
    data = run("DUMP", key)
    if data.value:
        run("RESTORE", other, 0, data.value, "REPLACE")


def spoil(source, run, key, other):
    """A good filter that ends too early is not loaded, whatever follows it."""
    data = run("DUMP", key).value
    if data and len(data) < 3000:
        cut = with_footer(data[: source.randrange(1, len(data) - 10)])
        assert run("RESTORE", other, 0, cut, "REPLACE") == BAD_PAYLOAD


def pass_in_pieces(run, key, other):
    if run("TYPE", key).value == "bloomport":
        run("DEL", other)
        header, *rest = dump(run, key)
        if run("BF.LOADCHUNK", other, *header) == OK:  # else it is over max-bytes
            assert [run("BF.LOADCHUNK", other, *piece) for piece in rest] == [OK] * len(rest)


def carry(run, key, other):
    data = run("BF.EXPORT", key)
    if not data.is_error:
        run("BF.IMPORT", other, "FORMAT", "portable", "REPLACE", "DATA", data.value)
        run("BF.IMPORT", other, "FORMAT", "portable", "DATA", data.value)
    if run("BF.LOAD", other, FIXTURES["empty"].load) == OK:
        run("DEL", other)  # its Size is valkey-bloom's, and not that of its memory


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_counters_equal_a_model_after_a_random_run(call, seed):
    print("seed", seed)
    source, model = random.Random(seed), Model(call)
    try:
        for _ in range(10):
            for _ in range(80):
                step(source, model, [*RARE, LOAD_AOF])
            assert_holds(call)
    finally:
        call("CONFIG", "SET", "bf.max-bytes", 0)
    assert info_bf(call)["bf_filters"] > 0
    assert call("FLUSHALL", "ASYNC") == OK
    until(lambda: not any(info_bf(call)[name] for name in HELD), "all is freed")


def saturated(source):
    """A portable filter of 320 bits, some of them set: some adds later, or already, it is overfilled."""
    bits = bytes(source.choice([0, 0x55, 0x77, 0xFF]) for _ in range(40))
    return (3).to_bytes(4, "little") + (320).to_bytes(8, "little") + bits


def change_state(source, call, keys):
    """One random command on small filters, which are full or overfilled before long."""
    key, other = source.choice(keys), source.choice(keys)
    items = [source.randrange(100_000) for _ in range(source.choice([1, 1, 4, 20]))]
    words = source.choice([("0.01", 12, "NONSCALING"), ("0.01", 12), ("0.001", 2, "EXPANSION", 1),
                           ("0.01", 300, "LAYOUT", "BLOCKED"), ("0.01", 12, "LAYOUT", "COUNTING"),
                           ("BITSPERKEY", 4, 30), ("0.01", 12, "WINDOW", 100_000)])
    import_ = ("BF.IMPORT", key, "FORMAT", "portable", "CAPACITY", 60, "EXPANSION", source.choice([0, 2]), "REPLACE")
    choices = [
        lambda: call("DEL", key) and call("BF.RESERVE", key, *words),
        lambda: call("BF.ADD", key, items[0]),
        lambda: call("BF.MADD", key, *items),
        lambda: call("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
        lambda: call(*import_, "DATA", saturated(source)),
        lambda: call("BF.MERGE", key, other),
        lambda: call("BF.INTERSTORE", key, other, other),
        lambda: call("BF.DEL", key, *items),
        lambda: source.random() < 0.2 and call("BF.CLEAR", key),
        lambda: call("COPY", key, other, "REPLACE"),
        lambda: reload(call, key, other),
        lambda: key != other and pass_in_pieces(call, key, other),
        lambda: source.random() < 0.1 and call("DEBUG", "RELOAD"),
        lambda: source.random() < 0.02 and call("FLUSHALL", source.choice(["SYNC", "ASYNC"])),
    ]
    source.choice(choices)()


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_full_and_overfilled_filters_are_those_whose_state_says_so_after_every_command(call, seed):
    print("seed", seed)
    source, states = random.Random(seed), {"bf_full": set(), "bf_overfilled": set()}
    for _ in range(700):
        change_state(source, call, KEYS[:5])
        assert_holds(call)
        for name, seen in states.items():
            seen.add(info_bf(call)[name])
    assert all(seen >= {0, 1, 2} for seen in states.values()), states


def test_counters_since_start_equal_the_replies(call):
    source, model = random.Random(7), Model(call)
    for _ in range(300):
        key = source.choice(KEYS)
        items = [source.randrange(100) for _ in range(source.choice([1, 2, 40]))]
        for words in (("BF.ADD", key, items[0]), ("BF.MADD", key, *items), ("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
                      ("BF.EXISTS", key, items[0]), ("BF.MEXISTS", "missing", *items), ("BF.MEXISTS", key, "absent", *items),
                      ("BF.EXISTS", key, "absent"), ("BF.MEXISTS", key, *range(200, 230)),
                      ("BF.RESERVE", "full", "0.01", "3", "NONSCALING"), ("BF.MADD", "full", *items), ("BF.ADD", "full", "x"),
                      ("BF.BULKADD", key, "LINES", lines(items)), ("BF.BULKADD", "full", "LINES", lines(items)),
                      ("BF.BULKEXISTS", key, "LINES", lines(["absent", *items])), ("BF.BULKEXISTS", "missing", "LINES", lines(items)),
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
        assert {name: info_bf(call)[name] for name in HELD} == {name: 2 * value for name, value in one.items()}


def test_expiry_and_a_large_filter_freed_in_the_background(call):
    call("BF.RESERVE", "large", "0.01", "5000000")
    call("BF.MADD", "small", *range(90))
    assert_holds(call)
    for key in ("large", "small"):
        call("PEXPIRE", key, 1)
    until(lambda: info_bf(call)["bf_filters"] == 0, "expired ones are not counted")
    assert not any(info_bf(call)[name] for name in HELD)


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
    assert {name: info_bf(here)[name] for name in HELD} == {name: info_bf(there_)[name] for name in HELD}


# ---- All fields, on a master, its replica, the replica promoted, and both restarted ---------------


def together(held, done):
    return {**{name: held[name] for name in HELD}, **done}


def assert_all(call, done):
    expected = together(there(call), done)
    until(lambda: info_bf(call) == expected, "INFO bf says %s, not %s" % (expected, info_bf(call)), 20)
    return expected


def count_stream(done, commands):
    """What the commands of a stream add to the counters of a replica, or of a server that loads the AOF."""
    for name, *words in ([word.decode(errors="replace") for word in command] for command in commands):
        if name in ("BF.ADD", "BF.MADD"):
            done["bf_adds"] += len(words) - 1
        elif name == "BF.INSERT":
            done["bf_adds"] += len(words) - words.index("ITEMS") - 1
        elif name == "BF.BULKADD":
            done["bf_adds"] += words[2].count("\n")
        elif name in ("BF.MERGE", "BF.IMPORT"):
            done["bf_%ss" % name[3:].lower()] += 1


def finish_rewrite(call):
    assert not call("BGREWRITEAOF").is_error
    until(lambda: server_info(call, "persistence")["aof_rewrite_in_progress"] == "0", "the AOF is rewritten")


def test_all_fields_equal_a_model_on_master_and_replica_and_after_promotion_and_restarts(new_server):
    source, nothing = random.Random(11), dict.fromkeys(DONE, 0)
    master = new_server(tcp=True, config={**QUIET, **Stream.CONFIG, "save": ""})
    replica = new_server(tcp=True, config=QUIET)
    follow(replica, master)
    here, there_ = master.connection().call, replica.connection().call
    model, stream, passed_on = Model(here), Stream(master), dict(nothing)
    for _ in range(20):
        for _ in range(60):
            step(source, model, RARE)
        expected = assert_all(here, model.done)
        count_stream(passed_on, stream.take())
        until_in_sync(replica, master)
        assert assert_all(there_, passed_on) == together(expected, passed_on)
    stream.close()
    assert not set(COMMANDS) - model.succeeded
    assert {"EXPIRE", "MOVE", "SWAPDB", "COPY", "RENAME"} <= model.succeeded
    assert {words[0][0] for words in RARE} <= model.succeeded
    assert server_info(here, "stats")["sync_full"] == "1" and expected["bf_filters"] > 0
    assert 0 < passed_on["bf_adds"] < model.done["bf_adds"]

    assert there_("REPLICAOF", "NO", "ONE") == OK
    assert info_bf(there_) == together(expected, passed_on)
    promoted = Model(there_)
    for _ in range(60):
        step(source, promoted, RARE)
    held = assert_all(there_, promoted.done)
    assert there_("SAVE") == OK  # and from an RDB file
    assert assert_all(replica.restart().connection().call, nothing) == together(held, nothing)

    here = master.restart().connection().call  # from the whole log
    assert assert_all(here, passed_on) == together(expected, passed_on)
    finish_rewrite(here)
    here = master.restart().connection().call  # from what a rewrite made of it
    assert assert_all(here, nothing) == together(expected, nothing)


def test_no_cut_of_a_payload_leaves_a_trace(call):
    call("BF.RESERVE", "k", "0.01", "10")
    call("BF.MADD", "k", *range(40))
    before, body = info_bf(call), call("DUMP", "k").plain[:-10]
    assert info(call, "k")["Number of filters"] > 2
    for size in range(1, len(body)):
        assert call("RESTORE", "new", 0, with_footer(body[:size])) == BAD_PAYLOAD
        assert call("RESTORE", "k", 0, with_footer(body[:size]), "REPLACE") == BAD_PAYLOAD
    assert info_bf(call) == before
