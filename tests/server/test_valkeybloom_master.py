"""A bloomport server that replicates a valkey-bloom master. Its stream has a creation as one BF.INSERT
with every parameter, ITEMS or not, and every other command as its client sent it. Replaying such a
stream must give the same bytes as on the master. Master (redisbloom.py) plays the master; the recorded
filters and the model say what it holds."""

import pytest

from checks import add_all, assert_refused, dump, filter_state, look_up_all
from filters import QUIET, Stream, until
from redisbloom import Master
from resp import OK, ONE, integer, simple
from test_redisbloom_master import errors_to_master, until_applied
from test_valkeybloom import assert_is_model, assert_recorded
from valkeybloom import FIXED_SEED, FIXTURES, TYPE_NAME, ValkeyBloom, readable_file

CONFIG = {"rdbcompression": "yes", "appendonly": "no", "replica-read-only": "no", **QUIET}
# Other settings, so that the result cannot depend on those of the server that replays.
OTHERS = ["initial-size", 7, "error-rate", 0.2, "expansion-factor", 5, "max-bytes", 5000]
SMALL = {name: fixture for name, fixture in FIXTURES.items() if fixture.load}


def rust(number):
    """Its floats: the shortest digits, and no exponent."""
    text = repr(number)
    if "e-" not in text:
        return text
    digits, exponent = text.split("e-")
    places = len(digits.partition(".")[2]) + int(exponent)
    return "%.*f" % (places, number)


def creation(key, model, items=()):
    """What it sends for a key that was created; `model` is the filter before the items."""
    words = ["BF.INSERT", key, "CAPACITY", model.layers[0].capacity, "ERROR", rust(model.rate)]
    words += ["TIGHTENING", rust(model.ratio), "SEED", model.seed]
    words += ["EXPANSION", model.expansion] if model.expansion else ["NONSCALING"]
    for item in items:
        model.add(item)
    return (*words, "ITEMS", *items) if items else tuple(words)


def fresh(model):
    return ValkeyBloom(model.rate, model.layers[0].capacity, model.expansion, model.ratio, model.seed)


class Link:
    """A replica, and the master that it follows."""

    def __init__(self, new_server, rdb=None, module_args=(), **config):
        self.replica = new_server(config={**CONFIG, **config}, module_args=module_args, tcp=True)
        empty = b"REDIS0010\xff" + bytes(8)
        self.master = Master(readable_file(rdb, self.replica.call) if rdb else empty)
        self.call = self.replica.connection().call
        assert self.call("REPLICAOF", "127.0.0.1", self.master.port) == OK
        assert self.master.is_synced.wait(60)
        self.settle()

    def send(self, *commands):
        self.master.send(*commands)

    def settle(self):
        until_applied(self.replica, self.master)
        assert errors_to_master(self.replica) == []


@pytest.fixture
def link(new_server):
    links = []

    def make(*args, **kwargs):
        links.append(Link(new_server, *args, **kwargs))
        return links[-1]

    yield make
    for one in links:
        one.master.close()


def test_full_sync_then_the_stream_then_promotion(link):
    """A complete live migration."""
    one = link("dump.rdb")
    call = one.call
    for fixture in FIXTURES.values():
        assert_recorded(call, fixture.key, fixture)
    models = {fixture.key: fixture.model() for fixture in SMALL.values()}
    for key, model in models.items():
        if not model.expansion:
            continue
        new = [item for item in (b"stream:%d" % i for i in range(400)) if model.add(item)]
        if new:
            one.send(("BF.MADD", key, *new[:100], *new[:3]), *(("bf.add", key, item) for item in new[100:150]))
        if new[150:]:
            one.send(("BF.INSERT", key, "ITEMS", *new[150:]))
    one.settle()
    for key, model in models.items():
        assert_is_model(call, key, model)
    assert len(models[b"scaling-1"].layers) > 8  # it grew on the way

    assert call("REPLICAOF", "NO", "ONE") == OK
    for key, model in models.items():
        if model.expansion:
            items = [b"promoted:%d" % i for i in range(min(model.capacity, 500))]
            assert add_all(call, key, items) == [model.add(item) for item in items]
    assert call("BF.ADD", "created", "x") == ONE
    assert call("TYPE", "created") == simple("bloomport")
    assert call("DEBUG", "RELOAD") == OK
    for key, model in models.items():
        assert_is_model(call, key, model)


@pytest.mark.parametrize("name", SMALL)
def test_the_recorded_filters_own_commands_end_in_the_recorded_bytes(link, name):
    """Its creation, and its items in batches; then DUMP is what valkey-bloom recorded."""
    fixture, one = FIXTURES[name], link(module_args=OTHERS)
    model = fresh(fixture.model())
    items = [item for item in fixture.items if model.add(item)]
    model = fresh(model)
    one.send(creation(fixture.key, model, items[:1]))
    for start in range(1, len(items), 200):
        one.send(("BF.MADD", fixture.key, *items[start : start + 200]))
    one.settle()
    assert one.call("DUMP", fixture.key).plain[:-10] == fixture.dump[:-10]
    assert_is_model(one.call, fixture.key, fixture.model())


CREATIONS = {
    "default": lambda: ValkeyBloom(),
    "fixed-seed": lambda: ValkeyBloom(seed=FIXED_SEED),
    "tiny-rate": lambda: ValkeyBloom(0.0000000001, 20),
    "tinier-rate": lambda: ValkeyBloom(1.5e-300, 3, 0),
    "digits": lambda: ValkeyBloom(0.1 + 0.2, 33, 3, 1 / 3),
    "near-one": lambda: ValkeyBloom(0.9999999999999999, 40, 2, 0.9999999999999999),
    "one": lambda: ValkeyBloom(0.01, 1, 1),
    "non-scaling": lambda: ValkeyBloom(0.05, 500, 0, 0.8),
    "widest": lambda: ValkeyBloom(0.01, 200, 2**32 - 1),
    "large": lambda: ValkeyBloom(0.001, 10_000),
    # seeds that look like something else
    "seed-nul": lambda: ValkeyBloom(seed=bytes(31) + b"\1"),
    "seed-items": lambda: ValkeyBloom(seed=b"ITEMS" + bytes(range(27))),
    "seed-nonscaling": lambda: ValkeyBloom(seed=b"NONSCALING" + bytes(range(22))),
    "seed-hex": lambda: ValkeyBloom(seed=b"0123456789abcdef0123456789ABCDEF"),
    "seed-layout": lambda: ValkeyBloom(seed=b"layout" + b"\r\n" * 13),
}


def test_the_floats_are_written_as_it_writes_them():
    assert [rust(x) for x in (0.01, 1e-10, 1.5e-7, 0.1 + 0.2)] == [
        "0.01", "0.0000000001", "0.00000015", "0.30000000000000004"
    ]  # fmt: skip


def test_what_the_master_creates_is_created_as_there(link):
    """With an item, with several, and without ITEMS; then it grows."""
    one, models = link(module_args=OTHERS), {}
    for name, make in CREATIONS.items():
        for kind, items in (("a", [b"a"]), ("many", [b"%d" % i for i in range(20)]), ("none", [])):
            key = "%s:%s" % (name, kind)
            models[key] = model = make()
            one.send(creation(key, model, items if model.layers[0].capacity > 3 or model.expansion else items[:1]))
            more = [b"more:%d" % i for i in range(150)]
            new = [item for item in more if model.add(item)] if name != "widest" else []
            if new:
                one.send(("BF.MADD", key, *new))
    one.settle()
    assert one.call("DBSIZE") == integer(len(models))
    for key, model in models.items():
        assert_is_model(one.call, key, model)


def test_options_on_an_existing_key_mean_nothing(link):
    one, model = link(), ValkeyBloom(0.01, 10)
    one.send(creation("k", model))
    options = [
        ("CAPACITY", "7", "ERROR", "0.5"), ("TIGHTENING", "0.9"), ("SEED", b"i" * 32), ("NONSCALING",),
        ("EXPANSION", "9", "NOCREATE"), ("VALIDATESCALETO", "100000"), ("SEED", b"n" * 32, "TIGHTENING", "0.9"),
        ("validatescaleto", "5", "error", "1e-3"), creation("k", ValkeyBloom(0.5, 3, 0, 0.1, bytes(32)))[2:],
    ]  # fmt: skip
    for number, words in enumerate(options):
        items = [item for item in (b"%d:%d" % (number, i) for i in range(5)) if model.add(item)]
        one.send(("BF.INSERT", "k", *words, "ITEMS", *items))
        if len(words) > 1:
            one.send(("BF.INSERT", "k", *words))  # without items it changes nothing
    one.settle()
    assert_is_model(one.call, "k", model)
    assert len(model.layers) > 1


def test_a_full_one_takes_what_the_master_took(link):
    """It goes verbatim if an item of it was new, also when a later one was refused."""
    one, model = link(), ValkeyBloom(0.01, 5, 0)
    one.send(creation("k", model))
    items = [b"%d" % i for i in range(8)]
    for item in items:
        model.add(item)
    one.master.send(("BF.MADD", "k", *items))
    until_applied(one.replica, one.master)
    assert_is_model(one.call, "k", model)


LOST = [
    ("BF.ADD", "k", "a"),
    ("BF.MADD", "k", "a", "b"),
    ("BF.INSERT", "k", "ITEMS", "a"),
    ("BF.INSERT", "k", "CAPACITY", "7", "ERROR", "0.5", "ITEMS", "a"),
    ("BF.INSERT", "k", "TIGHTENING", "0.9", "ITEMS", "a"),
    ("BF.INSERT", "k", "CAPACITY", "7", "ERROR", "0.5", "TIGHTENING", "0.9", "ITEMS", "a"),
    ("BF.INSERT", "k", "CAPACITY", "7", "TIGHTENING", "0.9", "SEED", b"n" * 32, "EXPANSION", "2", "ITEMS", "a"),
    ("BF.INSERT", "k", "ERROR", "0.1", "TIGHTENING", "0.9", "SEED", b"n" * 32, "EXPANSION", "2", "ITEMS", "a"),
    ("BF.INSERT", "k", "SEED", b"n" * 32, "ITEMS", "a"),
    ("BF.INSERT", "k", "SEED", b"i" * 32, "TIGHTENING", "0.5", "ITEMS", "a"),
    ("BF.INSERT", "k", "VALIDATESCALETO", "1000", "ITEMS", "a"),
    ("BF.INSERT", "k", "VALIDATESCALETO", "1000", "TIGHTENING", "0.5", "ITEMS", "a"),
    ("BF.INSERT", "k", "NOCREATE", "ITEMS", "a"),
    ("BF.INSERT", "k", "TIGHTENING", "0.5", "NOCREATE", "ITEMS", "a"),
]


@pytest.mark.parametrize("words", LOST, ids=lambda words: " ".join(map(str, words[2:])))
@pytest.mark.parametrize("is_synced", [True, False], ids=["in the file", "in the stream"])
def test_an_add_for_a_key_that_the_replica_lost_creates_nothing(link, words, is_synced):
    """Lost: deleted or evicted here. The stream is known by a creation, or by the file of the full sync."""
    one = link("dump.rdb" if is_synced else None)
    if not is_synced:
        one.send(creation("other", ValkeyBloom()))
    one.send(words)
    one.settle()
    assert one.call("EXISTS", "k") == integer(0)
    one.send(creation("k", ValkeyBloom()))  # and a creation makes it again
    one.settle()
    assert one.call("TYPE", "k") == simple(TYPE_NAME)


def test_its_limits_are_not_those_of_this_server(link):
    one, model = link(module_args=OTHERS), ValkeyBloom(0.01, 50_000)
    one.send(creation("k", model, [b"a"]))
    one.settle()
    assert_is_model(one.call, "k", model)


def test_the_replicas_own_aof_and_its_replica_have_it_as_the_master_does(link, new_server):
    one = link("dump.rdb", **Stream.CONFIG, **{"aof-use-rdb-preamble": "no"})
    below = new_server(config=CONFIG, tcp=True)
    assert below.call("REPLICAOF", "127.0.0.1", one.replica.port) == OK
    until(lambda: b"master_link_status:up" in below.call("INFO", "replication").plain, "the link is up")
    models = {fixture.key: fixture.model() for fixture in SMALL.values()}
    for name, make in CREATIONS.items():
        models[b"made:" + name.encode()] = model = make()
        one.send(creation("made:" + name, model, [b"a"] if len(models) % 2 else []))
    for key, model in models.items():
        items = [b"item:%d" % i for i in range(120)] if model.expansion and key != b"made:widest" else []
        items = [item for item in items if model.add(item)]
        if items:
            one.send(("BF.INSERT", key, "ERROR", "0.3", "ITEMS", *items))
    one.settle()
    until_applied(below, one.master)
    assert errors_to_master(below) == []
    states = {key: filter_state(one.call, key) for key in models}
    for key, model in models.items():
        assert_is_model(one.call, key, model)
        assert filter_state(below.connection().call, key) == states[key]
    assert one.call("REPLICAOF", "NO", "ONE") == OK
    assert one.call("CONFIG", "SET", "bf.error-rate", "0.3", "bf.initial-size", "7") == OK
    assert one.call("DEBUG", "LOADAOF") == OK
    for key, model in models.items():
        assert_is_model(one.call, key, model)
    for fixture in FIXTURES.values():
        if fixture.name in ("dense", "large"):
            assert_recorded(one.call, fixture.key, fixture)


def test_clients_of_the_replica_are_held_to_our_words_meanwhile_and_after(link):
    one = link()
    one.send(creation("k", ValkeyBloom()))
    one.settle()
    assert one.call("BF.INSERT", "new", *creation("k", ValkeyBloom())[2:], "ITEMS", "a").plain == [1]
    assert one.call("TYPE", "new") == simple("bloomport")
    assert one.call("REPLICAOF", "NO", "ONE") == OK
    assert_refused(one.call, "ERR wrong number of arguments for 'bf.insert' command", "BF.INSERT", "x", "CAPACITY", "9")
    assert_is_model(one.call, "k", ValkeyBloom())


def test_other_keys_and_databases_of_the_stream_are_there(link):
    one, model = link(), ValkeyBloom()
    one.send(("SELECT", "3"), ("SET", "text", "x"), creation("k", model, [b"a"]), ("PEXPIREAT", "k", "4102444800000"))
    one.send(("MULTI",), ("BF.ADD", "k", "b"), ("SET", "text", "y"), ("EXEC",), ("COPY", "k", "copy"))
    model.add(b"b")
    one.settle()
    assert one.call("SELECT", 3) == OK
    assert_is_model(one.call, "k", model)
    assert dump(one.call, "copy") == dump(one.call, "k")
    assert one.call("PEXPIRETIME", "k") == integer(4102444800000)
    assert one.call("GET", "text").plain == b"y"
    assert look_up_all(one.call, "k", [b"a", b"b"]) == [1, 1]
