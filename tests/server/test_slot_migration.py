"""Atomic slot migration of Valkey 9 (CLUSTER MIGRATESLOTS): the target gets the slot's keys as commands,
those of our AOF rewrite, and then the live stream, and takes the slot over in one step. Filters of
every kind arrive to the last bit, and items added meanwhile with them."""

import itertools
import threading

import pytest

from checks import add_all
from filters import Filters, batches, look, missing_items, same_filter, until
from redisbloom import FIXTURES
from resp import OK, Connection
from test_valkeybloom import assert_recorded
from valkeybloom import FIXTURES as VALKEYBLOOMS

CONFIG = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": "2000",
    "cluster-require-full-coverage": "no",
    "shutdown-timeout": "0",
    "hz": "100",
}
SLOTS = 16384
STATIC, LIVE = "{static}", "{live}"
TYPES = {"redisbloom": "MBbloom--", "valkeybloom": "bloomfltr", "valkeybloom-grown": "bloomfltr"}
NATIVE = ("new", "small", "grown", "blocked", "fnv1a", "keyed", "keyed-small", "window", "window-keyed", "counting")
KEYS = [LIVE + name for name in (*NATIVE, *TYPES)]
SEED = bytes(range(32)).hex()


class Pair:
    """Two masters; the first has all slots but one."""

    def __init__(self, new_server):
        # other settings at the target: what a filter was made with must travel with it
        others = ["initial-size", 7, "error-rate", 0.2, "expansion-factor", 5]
        self.source, self.target = new_server(tcp=True, config=CONFIG), new_server(
            tcp=True, config=CONFIG, module_args=others
        )
        self.ids = {node: node.call("CLUSTER", "MYID").plain.decode() for node in (self.source, self.target)}
        last = SLOTS - 1
        assert self.slot(STATIC) != last and self.slot(LIVE) != last
        assert self.source.call("CLUSTER", "ADDSLOTSRANGE", 0, last - 1) == OK
        assert self.target.call("CLUSTER", "ADDSLOTSRANGE", last, last) == OK
        for epoch, node in enumerate((self.source, self.target)):
            assert node.call("CLUSTER", "SET-CONFIG-EPOCH", epoch + 1) == OK
        assert self.source.call("CLUSTER", "MEET", "127.0.0.1", self.target.port) == OK
        until(self._is_ok, "the cluster is up")

    def _is_ok(self):
        texts = [node.call("CLUSTER", "INFO").plain.decode() for node in (self.source, self.target)]
        return all("cluster_state:ok" in text and "cluster_known_nodes:2" in text for text in texts)

    def slot(self, key):
        return self.source.call("CLUSTER", "KEYSLOT", key).plain

    def migrate(self, *keys):
        """Starts the migration of the keys' slots."""
        ranges = itertools.chain(*((slot, slot) for slot in sorted({self.slot(key) for key in keys})))
        words = ("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *ranges, "NODE", self.ids[self.target])
        assert self.source.call(*words) == OK

    def until_migrated(self):
        def state():
            (job,) = self.source.call("CLUSTER", "GETSLOTMIGRATIONS").plain
            fields = dict(zip(job[::2], job[1::2]))
            assert fields[b"state"] not in (b"failed", b"cancelled"), fields
            return fields[b"state"] == b"success"

        until(state, "the slots are migrated")


@pytest.fixture
def pair(new_server):
    pair = Pair(new_server)
    reply = pair.source.call("CLUSTER", "MIGRATESLOTS")
    if reply.is_error and "unknown subcommand" in reply.value.lower():
        pytest.skip("this server has no CLUSTER MIGRATESLOTS: that is Valkey 9")
    return pair


class Adder(threading.Thread):
    """Adds to KEYS until stopped, first at the source, and where MOVED says."""

    def __init__(self, pair):
        super().__init__(daemon=True)
        self.addresses = [("127.0.0.1", pair.source.port), ("127.0.0.1", pair.target.port)]
        self.acknowledged, self.problem, self.is_stopping, self.moved = [], None, False, 0
        self.start()

    def run(self):
        connections = [Connection(address) for address in self.addresses]
        here = 0
        try:
            for words in batches(KEYS, seed=8, most=20):
                while not self.is_stopping:
                    reply = connections[here].call(*words)
                    if not reply.is_error:
                        self.acknowledged.append(words)
                        break
                    assert reply.value.split()[0] in ("MOVED", "TRYAGAIN", "CLUSTERDOWN"), reply
                    here, self.moved = 1 - here, self.moved + 1
                if self.is_stopping:
                    break
        except Exception as problem:  # told by finish()
            self.problem = problem
        finally:
            for connection in connections:
                connection.close()

    def until_more(self, count):
        goal = len(self.acknowledged) + count
        until(lambda: self.problem or len(self.acknowledged) >= goal, "%d acknowledged" % goal)

    def finish(self):
        self.is_stopping = True
        self.join()
        if self.problem:
            raise self.problem


def make_live(call):
    """One filter of each kind to add to; the first of KEYS is made by the adds themselves."""
    assert call("BF.RESERVE", LIVE + "small", "0.01", "50") == OK  # packed
    assert call("BF.RESERVE", LIVE + "grown", "0.001", "10", "EXPANSION", "2") == OK
    add_all(call, LIVE + "grown", ["before%d" % i for i in range(500)])
    assert call("BF.RESERVE", LIVE + "blocked", "0.01", "100", "LAYOUT", "BLOCKED") == OK
    assert call("BF.RESERVE", LIVE + "fnv1a", "BITSPERKEY", "10", "100", "HASH", "FNV1A") == OK
    assert call("BF.RESERVE", LIVE + "keyed", "0.001", "10", "HASH", "SIP13", "SEED", SEED) == OK
    assert call("BF.RESERVE", LIVE + "keyed-small", "0.01", "50", "SEED", SEED[::-1]) == OK
    # the only step of the windows is 31 years long, so that no run crosses its end
    window = ("WINDOW", "1000000000", "GENERATIONS", "1")
    assert call("BF.RESERVE", LIVE + "window", "0.01", "20", *window) == OK
    assert call("BF.RESERVE", LIVE + "window-keyed", "0.01", "20", *window, "SEED", SEED) == OK
    assert call("BF.RESERVE", LIVE + "counting", "0.001", "50000", "LAYOUT", "COUNTING") == OK
    assert call("RESTORE", LIVE + "redisbloom", "0", FIXTURES["grown"].payload) == OK
    assert call("RESTORE", LIVE + "valkeybloom", "0", VALKEYBLOOMS["low-error"].payload) == OK
    assert call("BF.LOAD", LIVE + "valkeybloom-grown", VALKEYBLOOMS["scaling"].load) == OK


def test_filters_of_every_kind_migrate_to_the_last_bit(pair):
    source, target = pair.source.connection().call, pair.target.connection().call
    filters = Filters(source, prefix=STATIC)
    for name, fixture in VALKEYBLOOMS.items():
        if fixture.load:
            assert source("BF.LOAD", STATIC + name, fixture.load) == OK
            filters.looks[STATIC + name] = look(source, STATIC + name)
    for name in ("keyed", "keyed-window", "keyed-empty"):
        words = ("WINDOW", "1000000000", "GENERATIONS", "1") if name == "keyed-window" else ()
        assert source("BF.RESERVE", STATIC + name, "0.01", "20", "HASH", "SIP13", *words) == OK  # a random seed
        add_all(source, STATIC + name, ["item%d" % i for i in range(200 if name != "keyed-empty" else 0)])
        filters.looks[STATIC + name] = look(source, STATIC + name)
    assert source("BF.INSERT", STATIC + "expiring", "ITEMS", "a").plain == [1]
    assert source("PEXPIREAT", STATIC + "expiring", "99999999999999").plain == 1
    pair.migrate(STATIC)
    pair.until_migrated()
    filters.assert_arrived(target)
    for name, fixture in VALKEYBLOOMS.items():
        if fixture.load:
            assert_recorded(target, STATIC + name, fixture)
    assert target("PEXPIRETIME", STATIC + "expiring").plain == 99999999999999
    assert source("DBSIZE").plain == 0
    assert "CRITICAL" not in pair.target.log


def test_items_added_during_a_migration_are_all_there(pair):
    make_live(pair.source.connection().call)
    adder = Adder(pair)
    adder.until_more(100)
    pair.migrate(LIVE)
    pair.until_migrated()
    adder.until_more(100)
    adder.finish()
    call = pair.target.connection().call
    assert adder.moved >= 1
    assert missing_items(call, adder.acknowledged) == []
    before = ["before%d" % i for i in range(500)]
    assert call("BF.MEXISTS", LIVE + "grown", *before).plain == [1] * 500
    kinds = {key: call("TYPE", key).plain for key in KEYS}
    assert kinds == {key: TYPES.get(key.removeprefix(LIVE), "bloomport") for key in KEYS}
    print("%d commands acknowledged, %d redirections" % (len(adder.acknowledged), adder.moved))
    # and to the last bit what the same commands make on one server
    for key in KEYS:
        assert call("RENAME", key, key + ":migrated") == OK
    assert call("CONFIG", "SET", "bf.initial-size", 100, "bf.error-rate", "0.01", "bf.expansion-factor", 2) == OK
    make_live(call)
    for words in adder.acknowledged:
        call(*words).plain
    for key in KEYS:
        same_filter(look(call, key), look(call, key + ":migrated"), key)
    assert "CRITICAL" not in pair.target.log


def test_half_of_a_load_migrates_and_is_finished_at_the_target(pair):
    source, target = pair.source.connection().call, pair.target.connection().call
    chunks = FIXTURES["grown"].chunks
    for iterator, data in chunks[:2]:
        assert source("BF.LOADCHUNK", LIVE + "k", iterator, data) == OK
    pair.migrate(LIVE)
    pair.until_migrated()
    for iterator, data in chunks[2:]:
        assert target("BF.LOADCHUNK", LIVE + "k", iterator, data) == OK
    assert target("BF.CARD", LIVE + "k").plain == FIXTURES["grown"].card
    assert all(target("BF.MEXISTS", LIVE + "k", *FIXTURES["grown"].items).plain)
