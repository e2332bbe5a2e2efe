"""A real cluster: three masters, three replicas, on loopback. Slots move and a master dies while a
client adds; every item that WAIT confirmed on a replica is there afterwards."""

import itertools
import random
import threading
import time

import pytest

from filters import Filters, batches, server_info, until
from resp import OK, Connection

CONFIG = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": "1000",
    "cluster-replica-validity-factor": "0",
    "cluster-require-full-coverage": "no",
    "shutdown-timeout": "0",
}
SLOTS = 16384
STATIC = "{static}"  # all filters that nobody adds to: one slot
GROWING = ["growing%d" % i for i in range(12)]


class Cluster:
    def __init__(self, new_server):
        # settings of their own: what a filter was made with must travel with it
        self.nodes = [
            new_server(tcp=True, config=CONFIG, module_args=["initial-size", 20 + i, "error-rate", 0.01 * (i + 1)])
            for i in range(6)
        ]
        self.ids = {node: node.call("CLUSTER", "MYID").plain.decode() for node in self.nodes}
        self.masters, replicas = self.nodes[:3], self.nodes[3:]
        self.replica_of = dict(zip(self.masters, replicas))
        for i, master in enumerate(self.masters):
            first, last = SLOTS * i // 3, SLOTS * (i + 1) // 3 - 1
            assert master.call("CLUSTER", "ADDSLOTSRANGE", first, last) == OK
        for i, node in enumerate(self.nodes):
            assert node.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1) == OK
            assert self.nodes[0].call("CLUSTER", "MEET", "127.0.0.1", node.port) == OK
        self._until_all("cluster_known_nodes", "6")
        for master, replica in self.replica_of.items():
            until(lambda: replica.call("CLUSTER", "REPLICATE", self.ids[master]) == OK, "a replica")
        self._until_all("cluster_state", "ok")
        for master, replica in self.replica_of.items():
            until(lambda: self._is_in_step(master, replica), "replicas in step")

    def _until_all(self, field, value):
        def is_so():
            texts = [node.call("CLUSTER", "INFO").plain.decode() for node in self.nodes]
            return all("%s:%s\r\n" % (field, value) in text for text in texts)

        until(is_so, "%s:%s" % (field, value))

    @staticmethod
    def _is_in_step(master, replica):
        here, there = (server_info(node.call, "replication") for node in (master, replica))
        return there.get("master_link_status") == "up" and here["master_repl_offset"] == there["slave_repl_offset"]

    def until_in_step(self, master):
        until(lambda: self._is_in_step(master, self.replica_of[master]), "the replica has it all")

    def owner(self, key):
        slot = self.slot(key)
        return self.masters[next(i for i in range(3) if slot < SLOTS * (i + 1) // 3)]

    def slot(self, key):
        return self.nodes[0].call("CLUSTER", "KEYSLOT", key).plain

    def move_slot(self, slot, source, target):
        """As `redis-cli --cluster reshard` does it."""
        assert target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[source]) == OK
        assert source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[target]) == OK
        moved = 0
        while True:
            keys = source.call("CLUSTER", "GETKEYSINSLOT", slot, 3).plain
            if not keys:
                break
            words = ("MIGRATE", "127.0.0.1", target.port, "", 0, 60000, "KEYS", *keys)
            assert source.call(*words) == OK
            moved += len(keys)
            time.sleep(0.02)  # the client is to meet slots that are half moved
        for node in (target, source):
            assert node.call("CLUSTER", "SETSLOT", slot, "NODE", self.ids[target]) == OK
        return moved


class Client:
    """Follows MOVED and ASK, and tries elsewhere when a node is gone."""

    def __init__(self, cluster):
        self.addresses = [("127.0.0.1", node.port) for node in cluster.nodes]
        self.connections, self.where = {}, {}
        self.random = random.Random(1)
        self.asked = 0

    def connection(self, address):
        if address not in self.connections:
            self.connections[address] = Connection(address, timeout=5)
        return self.connections[address]

    def drop(self, address):
        connection = self.connections.pop(address, None)
        if connection:
            connection.close()

    def call(self, *words, wait=False):
        """The reply, or with `wait` whether a replica has it too. Gives up after 30 s."""
        key, deadline = words[1], time.monotonic() + 30
        address, asking = self.where.get(key), False
        while time.monotonic() < deadline:
            address = address or self.random.choice(self.addresses)
            try:
                connection = self.connection(address)
                if asking:
                    connection.call("ASKING")
                reply = connection.call(*words)
                if not reply.is_error:
                    return connection.call("WAIT", 1, 100).plain >= 1 if wait else reply
            except OSError:
                self.drop(address)
                self.where.pop(key, None)
                address, asking = None, False
                time.sleep(0.02)
                continue
            word, *rest = reply.value.split()
            asking = word == "ASK"
            if word in ("MOVED", "ASK"):
                host, port = rest[1].split(":")
                address = (host, int(port))
                self.asked += asking
                if not asking:
                    self.where[key] = address
            elif word in ("CLUSTERDOWN", "TRYAGAIN", "LOADING", "READONLY", "MASTERDOWN"):
                address = None
                time.sleep(0.02)
            else:
                return reply
        raise AssertionError("no answer in 30 s: %s" % (words[:2],))

    def close(self):
        for address in list(self.connections):
            self.drop(address)


class Adder(threading.Thread):
    """Adds to the growing filters until stopped; `acknowledged` is what a replica has too."""

    def __init__(self, cluster, seed):
        super().__init__(daemon=True)
        self.client, self.seed = Client(cluster), seed
        self.acknowledged, self.answered, self.problem, self.is_stopping = [], 0, None, False
        self.start()

    def run(self):
        try:
            for name, key, *items in batches(GROWING, self.seed, most=10):
                if self.is_stopping:
                    break
                items = ["%d-%s" % (self.seed, item) for item in items]
                if self.client.call(name, key, *items, wait=True):
                    self.acknowledged.append((name, key, *items))
                self.answered += 1
        except Exception as problem:  # finish() reports it
            self.problem = problem
        finally:
            self.client.close()

    def until_more(self, count):
        goal = self.answered + count
        until(lambda: self.problem or self.answered >= goal, "%d answered" % goal)

    def finish(self):
        self.is_stopping = True
        self.join()
        if self.problem:
            raise self.problem


@pytest.fixture
def cluster(new_server):
    return Cluster(new_server)


def test_slots_move_and_a_master_dies_and_no_waited_item_is_missing(cluster):
    source = cluster.owner(STATIC)
    target = next(master for master in cluster.masters if master != source)
    filters = Filters(source.connection().call, prefix=STATIC)
    adders = [Adder(cluster, seed) for seed in (1, 2)]
    for adder in adders:
        adder.until_more(40)

    # the slots of the still filters and of every growing one that lives there
    slots = {cluster.slot(key) for key in [STATIC, *GROWING] if cluster.owner(key) == source}
    moved = sum(cluster.move_slot(slot, source, target) for slot in sorted(slots))
    assert moved >= len(filters.looks) + 1
    filters.assert_same(target.connection().call)
    for adder in adders:
        adder.until_more(20)
    print("moved %d filters in %d slots" % (moved, len(slots)))

    # what MIGRATE brought reaches the replica too, but nobody waits for it: it must be there first
    heir = cluster.replica_of[target]
    for slot in slots:
        count = target.call("CLUSTER", "COUNTKEYSINSLOT", slot)
        until(lambda: heir.call("CLUSTER", "COUNTKEYSINSLOT", slot) == count, "replicated")
    target.kill9()
    until(lambda: server_info(heir.call, "replication")["role"] == "master", "the replica is promoted")
    for adder in adders:
        adder.until_more(20)
        adder.finish()

    client = Client(cluster)
    acknowledged = list(itertools.chain(*(adder.acknowledged for adder in adders)))
    missing = []
    for _, key, *items in acknowledged:
        answers = client.call("BF.MEXISTS", key, *items).plain
        missing += [(key, item) for item, answer in zip(items, answers) if not answer]
    assert missing == []
    client.close()
    filters.assert_arrived(heir.connection().call)
    asked = sum(adder.client.asked for adder in adders)
    print("%d commands acknowledged, %d times redirected by ASK" % (len(acknowledged), asked))


def test_filters_of_a_moved_slot_are_the_same_on_the_new_master_and_its_replica(cluster):
    source = cluster.owner(STATIC)
    target = next(master for master in cluster.masters if master != source)
    filters = Filters(source.connection().call, prefix=STATIC)
    assert cluster.move_slot(cluster.slot(STATIC), source, target) == len(filters.looks)
    filters.assert_same(target.connection().call)
    cluster.until_in_step(target)
    replica = cluster.replica_of[target].connection().call
    assert replica("READONLY") == OK
    filters.assert_same(replica)
    assert source.call("DBSIZE").plain == 0
    filters.assert_arrived(target.connection().call)
