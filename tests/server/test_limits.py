"""Filters that do not fit into memory are refused; huge ones that fit work."""

import os
import re
from pathlib import Path

import pytest

from bloom_model import hash_xxh64, positions
from checks import GROWTH_FAILED, NO_MEMORY, add_all, assert_refused, info, layers_of
from filters import follow, until, until_in_sync
from redis_server import PRELOAD
from resp import OK, ONE, ZERO, array, error, integer
from valkeybloom import ValkeyBloom

OOM = "OOM command not allowed when used memory > 'maxmemory'."
GIB = 1024**3
EIGHT_GIB_OF_KEYS = 8 * GIB * 8 // 10 + 1  # at 10 bits per key: 8 GiB of bits and a little


@pytest.fixture
def limit(call):
    """limit(bytes) sets maxmemory; taken back afterwards."""

    def set_limit(nbytes):
        assert call("CONFIG", "SET", "maxmemory", nbytes) == OK

    yield set_limit
    set_limit(0)


def used_memory(r):
    return r.info("memory")["used_memory"]


def machine_may_promise(nbytes):
    """False where the kernel would refuse the address space itself."""
    with open("/proc/sys/vm/overcommit_memory", encoding="ascii") as mode:
        if mode.read().strip() == "1":
            return True
    return nbytes * 1.2 < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


needs_8_gib = pytest.mark.skipif(
    bool(PRELOAD) or not machine_may_promise(8 * GIB),
    reason="needs 8 GiB of address space, lazily backed; sanitizers write to shadow memory",
)


def test_capacity_of_ten_to_the_18_is_an_error_and_the_server_lives_on(call, server):
    for _ in range(100):
        assert call("BF.RESERVE", "x", "0.01", "1000000000000000000") == error(NO_MEMORY)
    assert call("EXISTS", "x") == ZERO
    assert call("BF.ADD", "x", "a") == ONE


# ---- Without maxmemory: what the machine has, or the control group -----------------------------------

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
TOO_LARGE = re.compile(NO_MEMORY + r": it needs (\d+) bytes, and (the memory of the machine|the memory limit of the control group) is (\d+)")


@pytest.mark.parametrize(
    "words",
    [
        ("BF.RESERVE", "huge", "0.01", "10000000000000"),
        ("BF.RESERVE", "huge", "BITSPERKEY", "10", "10000000000000", "NONSCALING"),
        ("BF.RESERVE", "huge", "0.01", "10000000000000", "LAYOUT", "COUNTING"),
        ("BF.RESERVE", "huge", "0.01", "10000000000000", "WINDOW", "60"),
        ("BF.INSERT", "huge", "CAPACITY", "10000000000000", "ITEMS", "a"),
    ],
    ids=" ".join,
)
def test_a_filter_larger_than_the_machines_memory_is_refused_without_maxmemory(call, words):
    assert call("CONFIG", "GET", "maxmemory").plain[1] == b"0"
    needed, _, limit = TOO_LARGE.fullmatch(call(*words).value).groups()
    assert 10**13 < int(needed) and 0 < int(limit) <= MACHINE
    assert call("EXISTS", "huge") == ZERO


def test_growth_over_the_machines_memory_is_refused_without_maxmemory(call):
    """The second layer would have 2^32-1 times 1,000 items: over 5 TB."""
    assert call("BF.LOAD", "k", ValkeyBloom(capacity=1000, expansion=2**32 - 1).data) == OK
    answers = call("BF.MADD", "k", *range(1100)).value
    assert answers[0] == ONE and re.fullmatch(GROWTH_FAILED + ": it needs .* and the memory .* is .*", answers[-1].value)
    assert call("BF.INFO", "k", "FILTERS").plain == [1]


def test_a_filter_larger_than_the_machines_memory_scaled_is_refused(call):
    words = ("BF.INSERT", "k", "CAPACITY", "100", "VALIDATESCALETO", "10000000000000", "ITEMS", "a")
    assert_refused(call, "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit", *words)


class Group:
    """A control group of version 1 or 2 with a limit of memory."""

    def __init__(self, nbytes):
        v2 = Path("/sys/fs/cgroup/memory.max").exists() or Path("/sys/fs/cgroup/cgroup.controllers").exists()
        self.tree = Path("/sys/fs/cgroup" if v2 else "/sys/fs/cgroup/memory")
        self.folder = self.tree / ("bloomport-test-%d" % os.getpid())
        try:
            self.folder.mkdir()
            (self.folder / ("memory.max" if v2 else "memory.limit_in_bytes")).write_text(str(nbytes), encoding="ascii")
        except OSError as error:
            self.remove()
            pytest.skip("no control group of memory can be made here: %s" % error)

    def take(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def remove(self):
        if not self.folder.is_dir():
            return
        for pid in (self.folder / "cgroup.procs").read_text(encoding="ascii").split():
            (self.tree / "cgroup.procs").write_text(pid, encoding="ascii")
        self.folder.rmdir()


@pytest.fixture
def group():
    group = Group(GIB)
    yield group
    group.remove()


def test_the_memory_limit_of_the_control_group_holds_and_not_for_what_a_master_sends(new_server, group):
    master, server = new_server(tcp=True), new_server(tcp=True)
    group.take(server.pid)
    assert server.call("CONFIG", "SET", "maxmemory", "100gb") == OK  # which reads the limit again
    assert server.call("CONFIG", "SET", "maxmemory", "0") == OK
    text = server.call("BF.RESERVE", "k", "BITSPERKEY", "10", "1000000000").value
    assert "and the memory limit of the control group is %d" % GIB in text
    assert server.call("BF.RESERVE", "k", "BITSPERKEY", "10", "800000000") == OK
    assert server.call("DEL", "k") == ONE
    follow(server, master)
    assert master.call("BF.RESERVE", "k", "BITSPERKEY", "10", "1000000000") == OK  # no page of it is touched
    until_in_sync(server, master)
    assert server.call("BF.INFO", "k", "CAPACITY").plain == [10**9]
    assert server.call("REPLICAOF", "NO", "ONE") == OK


def test_maxmemory_stands_in_the_place_of_the_machines_memory(call, limit):
    limit(100 << 30 << 10)
    assert TOO_LARGE.fullmatch(call("BF.RESERVE", "huge", "0.01", "10000000000000").value) is None


@pytest.mark.parametrize(
    "words",
    [
        ("BF.RESERVE", "k", "0.01", "100000000"),
        ("BF.RESERVE", "k", "BITSPERKEY", "10", "100000000"),
        ("BF.RESERVE", "k", "0.01", "100000000", "NONSCALING"),
        ("BF.INSERT", "k", "CAPACITY", "100000000", "ITEMS", "a"),
    ],
    ids=" ".join,
)
def test_filter_larger_than_maxmemory_is_refused(call, limit, words):
    limit(50_000_000)
    assert_refused(call, NO_MEMORY, *words)
    limit(0)
    assert not call(*words).is_error


def test_filter_that_fits_maxmemory_is_created(call, limit):
    limit(50_000_000)
    assert call("BF.RESERVE", "k", "0.01", "10000000") == OK


def test_growth_over_maxmemory_is_refused_and_changes_nothing(call, limit):
    """The second layer would hold 1000 * 32768 items, about 40 MB."""
    call("BF.RESERVE", "k", "1e-9", "1000", "EXPANSION", "32768")
    assert add_all(call, "k", list(range(1000))) == [1] * 1000
    limit(20_000_000)
    assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", "new")
    failed = error(GROWTH_FAILED)
    assert call("BF.MADD", "k", "new", "7", "newer") == array(failed, ZERO, failed)
    limit(0)
    assert call("BF.ADD", "k", "new") == ONE


def test_growth_of_fnv1a_over_two_to_the_32_bits_is_refused_and_changes_nothing(call):
    """The second layer would hold 20000 * 32768 items, at 8 bits each 5.2e9 bits."""
    call("BF.RESERVE", "k", "BITSPERKEY", "30", "20000", "EXPANSION", "32768", "HASH", "FNV1A")
    items = ["item%d" % i for i in range(20_100)]
    answers = call("BF.MADD", "k", *items).value
    assert answers.count(ONE) == 20_000
    assert answers.count(error(GROWTH_FAILED)) > 50
    new = items[answers.index(error(GROWTH_FAILED))]
    assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", new)


@pytest.mark.parametrize(
    "words",
    [
        ("BF.RESERVE", "new", "0.01", "10"),
        ("BF.ADD", "k", "b"),
        ("BF.MADD", "k", "b"),
        ("BF.INSERT", "k", "ITEMS", "b"),
        ("BF.LOADCHUNK", "new", "1", "x"),
    ],
    ids=" ".join,
)
def test_writes_get_the_servers_own_error_when_memory_is_used_up(call, limit, words):
    call("BF.ADD", "k", "a")
    limit(1)
    assert_refused(call, OOM, *words)


@pytest.mark.parametrize(
    "words",
    [("BF.EXISTS", "k", "a"), ("BF.MEXISTS", "k", "a"), ("BF.CARD", "k"), ("BF.INFO", "k"), ("BF.DEBUG", "k")]
    + [("BF.SCANDUMP", "k", "0")],
    ids=" ".join,
)
def test_reads_are_answered_when_memory_is_used_up(call, limit, words):
    call("BF.ADD", "k", "a")
    limit(1)
    assert not call(*words).is_error


@needs_8_gib
def test_fresh_filter_of_8_gib_takes_no_resident_memory(call, r, server):
    call("BF.ADD", "warm", "up")
    before_rss, before_used = server.rss(), used_memory(r)
    assert call("BF.RESERVE", "k", "BITSPERKEY", "10", EIGHT_GIB_OF_KEYS) == OK
    assert used_memory(r) - before_used >= 8 * GIB
    assert server.rss() - before_rss < 1_000_000
    assert info(call, "k")["Size"] >= 8 * GIB
    assert call("DEL", "k") == ONE  # in the background on some servers
    until(lambda: used_memory(r) - before_used < 1_000_000, "memory is given back")


@needs_8_gib
def test_bits_beyond_two_to_the_32_are_addressed(call):
    """8 GiB are 2^36 bits. Each bit of some items is read back at its own byte of the dump."""
    call("BF.RESERVE", "k", "BITSPERKEY", "10", EIGHT_GIB_OF_KEYS)
    (layer,) = layers_of(call, "k")
    assert layer.bits == EIGHT_GIB_OF_KEYS * 10 and layer.bits > 2**36
    assert call("BF.ADD", "k", "item") == ONE
    places = positions(hash_xxh64(b"item"), layer.bits, layer.hashes)
    assert max(places) > 2**33
    for place in places:
        following, data = call("BF.SCANDUMP", "k", 1 + (place >> 3)).plain
        assert data[0] & 1 << (place & 7)
        assert following == 1 + (place >> 3) + len(data)
    assert call("BF.MEXISTS", "k", "item", "other", "another").plain == [1, 0, 0]
    assert call("BF.SCANDUMP", "k", 1 + layer.bytes).plain == [0, b""]


@needs_8_gib
def test_huge_filters_that_are_created_and_deleted_leak_no_memory(call, r, server):
    before = server.rss()
    for i in range(20):
        assert call("BF.RESERVE", "k", "BITSPERKEY", "10", EIGHT_GIB_OF_KEYS) == OK
        assert call("BF.ADD", "k", "item%d" % i) == ONE
        assert call("DEL" if i % 2 else "UNLINK", "k") == ONE
    assert call("DBSIZE") == integer(0)
    assert server.rss() - before < 10_000_000
