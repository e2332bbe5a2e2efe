"""Master and replica hold the same filters, whatever their own settings are."""

import itertools

import pytest

from checks import dump, load
from filters import QUIET, Filters, Writer, batches, follow, load_random, look, missing_items, same_filter
from filters import server_info, until, until_in_sync
from resp import OK, ONE, Connection

SYNC_WAYS = pytest.mark.parametrize(
    "sync, load_way",
    [("yes", "swapdb"), ("yes", "disabled"), ("no", "swapdb"), ("no", "disabled")],
    ids=lambda value: value,
)

MASTER_SETTINGS = ["error-rate", "0.003", "initial-size", "70", "expansion-factor", "3"]
REPLICA_SETTINGS = [
    *("error-rate", "0.4", "bits-per-key", "30", "initial-size", "5", "expansion-factor", "0", "max-bytes", "200"),
]


@pytest.fixture
def servers(new_server):
    """servers(**config) -> a master and a server to follow it, every bf.* setting different."""

    def start(**config):
        config = dict(QUIET, **{name.replace("_", "-"): value for name, value in config.items()})
        master = new_server(tcp=True, config=config, module_args=MASTER_SETTINGS)
        replica = new_server(tcp=True, config=config, module_args=REPLICA_SETTINGS)
        return master, replica

    return start


def assert_in_step(master, replica):
    """Equal by DEBUG DIGEST, and filter by filter."""
    until_in_sync(replica, master)
    assert master.call("DEBUG", "DIGEST") == replica.call("DEBUG", "DIGEST")
    here, there = master.connection(), replica.connection()
    for key in here.call("KEYS", "*").plain:
        same_filter(look(here.call, key), look(there.call, key), key)
    here.close()
    there.close()


def create_by_every_command(call, prefix=""):
    """Filters made by every command that can make one, with and without parameters."""
    many = range(400)
    call("BF.RESERVE", prefix + "reserve", "0.01", "10").plain
    call("BF.RESERVE", prefix + "reserve-bits", "BITSPERKEY", "9.6", "10").plain
    call("BF.RESERVE", prefix + "reserve-bare", "0.01", "10", "4").plain
    call("BF.RESERVE", prefix + "reserve-full", "0.01", "10", "NONSCALING").plain
    call("BF.RESERVE", prefix + "reserve-fnv1a", "0.01", "10", "HASH", "FNV1A").plain
    call("BF.ADD", prefix + "add", "a").plain
    call("BF.MADD", prefix + "madd", *many).plain
    call("BF.INSERT", prefix + "insert", "ITEMS", *many).plain
    call("BF.INSERT", prefix + "insert-all", "CAPACITY", "7", "ERROR", "0.2", "EXPANSION", "1", "ITEMS", "a").plain
    call("BF.INSERT", prefix + "insert-bits", "BITSPERKEY", "5.5", "HASH", "FNV1A", "ITEMS", "a").plain
    call("BF.INSERT", prefix + "insert-full", "NONSCALING", "CAPACITY", "9", "ITEMS", *range(9))
    call("EVAL", "return redis.call('BF.ADD', KEYS[1], 'a')", 1, prefix + "eval").plain
    call("MULTI")
    call("BF.ADD", prefix + "multi", "a")
    call("BF.MADD", prefix + "multi", "a", "b")
    call("EXEC").plain
    load(call, prefix + "loadchunk", dump(call, prefix + "madd"))
    load(call, prefix + "half", dump(call, prefix + "madd")[:2])


def add_to_everything(call, count):
    for key in call("KEYS", "*").plain:
        call("BF.MADD", key, *("later%d" % i for i in range(count)))


def test_replica_with_other_settings_stays_identical_through_creation_adds_and_growth(servers):
    master, replica = servers()
    follow(replica, master)
    call = master.connection().call
    create_by_every_command(call)
    assert_in_step(master, replica)
    for count in (10, 100, 3000):
        add_to_everything(call, count)
        assert_in_step(master, replica)


def test_replica_of_a_replica_stays_identical(servers, new_server):
    master, replica = servers()
    last = new_server(config=QUIET, module_args=["initial-size", "1000000", "error-rate", "0.9"])
    follow(replica, master)
    follow(last, replica)
    call = master.connection().call
    create_by_every_command(call)
    add_to_everything(call, 1000)
    assert_in_step(master, replica)
    assert_in_step(replica, last)


def test_renames_copies_moves_and_expiry_reach_the_replica(servers):
    master, replica = servers()
    follow(replica, master)
    call = master.connection().call
    Filters(call)
    for key in call("KEYS", "*").plain:
        assert call("COPY", key, b"copy:" + key) == ONE
        assert call("RENAME", key, b"renamed:" + key) == OK
        assert call("RESTORE", b"restored:" + key, 0, call("DUMP", b"copy:" + key).plain) == OK
    call("EXPIRE", "copy:full:CLASSIC", 1000)
    call("UNLINK", "copy:pieces:CLASSIC")
    assert_in_step(master, replica)
    assert replica.call("TTL", "copy:full:CLASSIC").plain > 900


@SYNC_WAYS
def test_full_resync_gives_the_replica_every_filter(servers, sync, load_way):
    master, replica = servers(repl_diskless_sync=sync, repl_diskless_load=load_way)
    call = master.connection().call
    filters = Filters(call)
    create_by_every_command(call, "also:")
    replica.call("BF.ADD", "of the replica alone", "a")
    follow(replica, master)
    assert_in_step(master, replica)
    filters.assert_same(replica.connection().call)
    filters.assert_loads_can_be_finished(call)
    assert_in_step(master, replica)


RESERVED = {
    "a": ("0.01", "300", "EXPANSION", "1"),  # not less: a busy machine adds for long, and layers cost
    "b": ("0.001", "10", "EXPANSION", "2"),
    "c": ("BITSPERKEY", "12", "50"),
    "d": ("0.01", "30", "HASH", "FNV1A"),
}
KEYS = [*RESERVED, "created1", "created2"]


@SYNC_WAYS
def test_full_resync_while_items_are_added_leaves_them_identical(servers, sync, load_way):
    master, replica = servers(repl_diskless_sync=sync, repl_diskless_load=load_way)
    call = master.connection().call
    for key, words in RESERVED.items():
        assert call("BF.RESERVE", key, *words) == OK
    load_random(call, "large", 8_000_000)
    call("CONFIG", "SET", "rdb-key-save-delay", 20000)  # so the transfer takes a while
    writer = Writer(master.socket, batches(KEYS, seed=5))
    writer.until_acknowledged(20)
    follow_begins = len(writer.acknowledged)
    assert replica.call("REPLICAOF", "127.0.0.1", master.port) == OK
    until(lambda: server_info(replica.call, "replication")["master_link_status"] == "up", "synchronised")
    writer.until_acknowledged(len(writer.acknowledged) + 20)
    writer.finish()
    assert len(writer.acknowledged) > follow_begins + 20
    assert int(server_info(call, "stats")["sync_full"]) >= 1
    assert_in_step(master, replica)
    assert missing_items(replica.connection().call, writer.acknowledged) == []


def test_replica_catches_up_after_a_broken_link(servers):
    master, replica = servers()
    follow(replica, master)
    call = master.connection().call
    create_by_every_command(call)
    assert_in_step(master, replica)
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    replica.call("BF.MADD", "madd", "of the replica alone")
    add_to_everything(call, 500)
    follow(replica, master)
    assert_in_step(master, replica)


def test_promoted_replica_goes_on_as_the_master_would(servers):
    """Growth too follows the parameters of the filter, not the new master's settings."""
    master, replica = servers()
    follow(replica, master)
    create_by_every_command(master.connection().call)
    until_in_sync(replica, master)
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    assert replica.call("CONFIG", "SET", "bf.max-bytes", "0") == OK
    for server in (master, replica):
        add_to_everything(server.connection().call, 1000)
    here, there = master.connection().call, replica.connection().call
    for key in here("KEYS", "*").plain:
        same_filter(look(here, key), look(there, key), key)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_promotion_after_kill_9_of_the_master_keeps_every_item_acknowledged_by_wait(servers, seed):
    master, replica = servers()
    follow(replica, master)
    for key, words in RESERVED.items():
        assert master.call("BF.RESERVE", key, *words) == OK
    writers = [Writer(master.socket, batches(KEYS, seed=seed * 10 + i), wait=1) for i in range(3)]
    for writer in writers:
        writer.until_acknowledged(40 * seed)
    master.kill9()
    for writer in writers:
        writer.finish()
    assert replica.call("REPLICAOF", "NO", "ONE") == OK
    acknowledged = list(itertools.chain(*(writer.acknowledged for writer in writers)))
    assert len(acknowledged) >= 120 * seed
    call = replica.connection().call
    assert missing_items(call, acknowledged) == []
    assert call("CONFIG", "SET", "bf.max-bytes", "0") == OK
    assert call("BF.ADD", "a", "one more").plain in (0, 1)


def test_client_of_the_replica_reads_filters(servers):
    master, replica = servers()
    follow(replica, master)
    create_by_every_command(master.connection().call)
    until_in_sync(replica, master)
    connection = Connection(("127.0.0.1", replica.port))
    assert connection.call("BF.MEXISTS", "madd", "1", "nothing").plain == [1, 0]
    assert connection.call("BF.CARD", "add").plain == 1
    connection.close()
