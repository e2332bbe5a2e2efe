"""The memory of a filter, and how it is freed: UNLINK, FLUSHALL ASYNC, MEMORY USAGE, huge pages,
defrag."""

import os
from pathlib import Path

import pytest

from checks import info, load
from filters import HUNDRED_MB, Filters, Layer, header, load_random, server_info, until
from redis_server import PRELOAD
from resp import OK, ONE, integer


def lazyfreed(call):
    seen = server_info(call, "memory")
    return int(seen["lazyfreed_objects"]), int(seen["lazyfree_pending_objects"])


def used(call):
    return int(server_info(call, "memory")["used_memory"])


def until_freed(call, below):
    until(lambda: lazyfreed(call)[1] == 0 and used(call) < below, "memory is given back")


@pytest.fixture
def fresh(new_server):
    return new_server().connection().call


def test_unlink_frees_a_large_filter_in_the_background(fresh):
    before = used(fresh)
    load_random(fresh, "k", HUNDRED_MB)
    assert used(fresh) > before + HUNDRED_MB
    done = sum(lazyfreed(fresh))
    assert fresh("UNLINK", "k") == ONE
    assert sum(lazyfreed(fresh)) == done + 1
    until_freed(fresh, before + 1_000_000)


def test_unlink_frees_a_small_filter_at_once(fresh):
    fresh("BF.ADD", "k", "a")
    done = sum(lazyfreed(fresh))
    assert fresh("UNLINK", "k") == ONE
    assert sum(lazyfreed(fresh)) == done


def test_unlink_frees_a_filter_of_many_layers_in_the_background(fresh):
    layers = [Layer(capacity=10, items=0, ones=0, error_rate=0.0001, k=7, m=64)] * 200
    load(fresh, "k", [(1, header(layers))] + [(8 * i + 9, bytes(8)) for i in range(200)])
    assert info(fresh, "k")["Number of filters"] == 200
    done = sum(lazyfreed(fresh))
    assert fresh("UNLINK", "k") == ONE
    assert sum(lazyfreed(fresh)) == done + 1


def test_filter_that_is_overwritten_or_expires_is_freed_in_the_background(fresh):
    for name in ("lazyfree-lazy-server-del", "lazyfree-lazy-expire"):
        assert fresh("CONFIG", "SET", name, "yes") == OK
    before = used(fresh)
    for words in (("RENAME", "small", "k"), ("PEXPIRE", "k", "1")):
        load_random(fresh, "k", 20_000_000)
        fresh("BF.ADD", "small", "a")
        done = sum(lazyfreed(fresh))
        fresh(*words).plain
        until(lambda: sum(lazyfreed(fresh)) > done, "freed in the background")
        fresh("DEL", "k", "small")
    until_freed(fresh, before + 1_000_000)


@pytest.mark.parametrize("how", ["SYNC", "ASYNC"])
def test_flushall_gives_all_memory_back(fresh, how):
    before = used(fresh)
    for _ in range(3):
        Filters(fresh)
        load_random(fresh, "large", 20_000_000)
        assert fresh("FLUSHALL", how) == OK
        assert fresh("DBSIZE") == integer(0)
        until_freed(fresh, before + 1_000_000)


def test_memory_usage_is_the_size_and_a_little_more(fresh):
    """The allocator rounds up, by at most a quarter for small blocks, and the key counts too."""
    filters = Filters(fresh)
    load_random(fresh, "large", 20_000_000)
    for key in [*(key for key in filters.looks if key not in filters.half), "large"]:
        size, usage = info(fresh, key)["Size"], fresh("MEMORY", "USAGE", key).plain
        assert size <= usage <= size * 1.25 + 300, key
    for key in filters.half:
        assert fresh("MEMORY", "USAGE", key).plain >= info(fresh, "five-layers:CLASSIC")["Size"]


@pytest.mark.parametrize("words", [("BF.ADD", "{}", "a"), ("BF.RESERVE", "{}", "BITSPERKEY", "10", "100")], ids=" ".join)
def test_memory_usage_leaves_out_as_much_as_the_documents_say(new_server, words):
    """The server's own value and its table of keys: 29 to 61 bytes by the server, +- 3 for other allocators' classes."""
    if PRELOAD:
        pytest.skip("a sanitizer's allocator has no classes")
    server = new_server()
    connection, n = server.connection(), 100_000

    def make(numbers):
        return [[word.format("key:%08d" % i) for word in words] for i in numbers]

    connection.pipeline(make(range(1000)))  # the client's buffers
    assert connection.call("FLUSHALL", "SYNC") == OK
    before = used(connection.call)
    for start in range(0, n, 1000):
        connection.pipeline(make(range(start, start + 1000)))
    usage = connection.call("MEMORY", "USAGE", "key:00000005").plain
    until(lambda: 26 <= (used(connection.call) - before) / n - usage <= 64, "the table of keys has grown", 20)


def test_used_memory_grows_by_what_memory_usage_says(new_server):
    server = new_server()
    load_random(server.call, "warm", 20_000_000)  # by connections of its own, which take their buffers along
    fresh = server.connection().call
    until(lambda: server_info(fresh, "clients")["connected_clients"] == "1", "the others are gone")
    before = used(fresh)
    fresh("BF.RESERVE", "k", "BITSPERKEY", "8", "50000000", "NONSCALING")
    grown, usage = used(fresh) - before, fresh("MEMORY", "USAGE", "k").plain
    assert abs(grown - usage) < 1_000_000
    assert usage >= 50_000_000


# Huge pages


@pytest.fixture
def advised():
    """Sets huge pages to `madvise`: only memory that requests them gets them."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    reason = None
    if os.environ.get("BLOOMPORT_WRAP"):
        reason = "valgrind writes to fresh pages (LAZY_ZERO_BYTES), and an emulator takes no advice on pages"
    elif not setting.exists() or "[madvise]" not in setting.read_text():
        reason = "transparent_hugepage/enabled is not madvise on this machine"
    elif os.sysconf("SC_PAGESIZE") != 4096:
        reason = "with pages of 16 or 64 KiB a huge page has 32 or 512 MiB: the bounds below are of 2 MiB"
    if reason:
        print(reason)
        pytest.skip(reason)


def memory_of(pid, field):
    """Bytes, from the kernel's sum over the process."""
    lines = Path("/proc/%d/smaps_rollup" % pid).read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def test_large_filter_with_bits_everywhere_is_in_huge_pages(new_server, advised):
    server = new_server()
    load_random(server.call, "k", 64 << 20)
    assert memory_of(server.pid, "AnonHugePages") >= 48 << 20


def test_huge_pages_of_a_deleted_filter_are_given_back(new_server, advised):
    if os.environ.get("BLOOMPORT_PRELOAD"):
        pytest.skip("the sanitizer's allocator keeps what is freed for a while")
    server = new_server()
    load_random(server.call, "k", 64 << 20)
    assert server.call("DEL", "k") == ONE  # on Valkey in the background
    until(lambda: memory_of(server.pid, "AnonHugePages") <= 16 << 20, "the huge pages are gone")


@pytest.mark.parametrize("how", ["new", "cleared"])
def test_large_filter_with_few_items_takes_small_pages_for_what_they_touch(new_server, advised, how):
    server = new_server()
    if how == "cleared":
        load_random(server.call, "k", 64 << 20)
        assert server.call("BF.CLEAR", "k") == OK
    else:
        server.call("BF.RESERVE", "k", "BITSPERKEY", "8", str(64 << 20), "NONSCALING").plain
    before = server.rss()
    server.call("BF.MADD", "k", *range(100)).plain
    assert memory_of(server.pid, "AnonHugePages") == 0
    assert server.rss() - before < 8 << 20  # 600 pages of 4 KiB are 2.4 MiB, of 2 MiB all 64


def test_adding_while_a_child_saves_copies_small_pages(new_server, advised):
    server = new_server(config={"rdb-key-save-delay": "200000"})
    load_random(server.call, "k", 64 << 20)
    for i in range(50):  # the child takes 10 seconds over these, unless it is ended
        server.call("SET", "other%d" % i, "x").plain
    server.call("BGSAVE").plain
    before = memory_of(server.pid, "Private_Dirty")
    server.call("BF.MADD", "k", *range(100)).plain
    copied = memory_of(server.pid, "Private_Dirty") - before
    assert 400_000 < copied < 16 << 20  # 700 pages of 4 KiB are 2.8 MB, of 2 MiB all 64
    assert server_info(server.call, "persistence")["rdb_bgsave_in_progress"] == "1"
    server.call("CONFIG", "SET", "rdb-key-save-delay", "0").plain


def test_active_defrag_moves_filters_without_harm(new_server):
    server = new_server()
    call = server.connection().call
    settings = {
        "active-defrag-ignore-bytes": "1",
        "active-defrag-threshold-lower": "0",
        "active-defrag-threshold-upper": "1",
        "active-defrag-cycle-min": "90",
        "active-defrag-cycle-max": "95",
        "hz": "100",
    }
    reply = call("CONFIG", "SET", "activedefrag", "yes")
    if reply.is_error:
        reason = "this server cannot defragment: %s" % reply.value
        print(reason)
        pytest.skip(reason)
    assert call("CONFIG", "SET", "activedefrag", "no") == OK
    many = 20_000
    for start in range(0, many, 1000):  # holes: every second of many small filters goes
        connection = server.connection()
        connection.pipeline(("BF.ADD", "small%d" % i, "a") for i in range(start, start + 1000))
        connection.pipeline(("DEL", "small%d" % i) for i in range(start, start + 1000, 2))
    filters = Filters(call)
    for words in settings.items():
        assert call("CONFIG", "SET", *words) == OK
    assert call("CONFIG", "SET", "activedefrag", "yes") == OK
    until(lambda: int(server_info(call, "stats")["active_defrag_key_hits"]) > 100, "keys were moved")
    filters.assert_arrived(call)
    connection = server.connection()
    answers = connection.pipeline(("BF.EXISTS", "small%d" % i, "a") for i in range(1, many, 2))
    assert answers == [ONE] * (many // 2)
