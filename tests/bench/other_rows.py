"""The other rows: creating, saving and loading large filters, and the memory of small ones."""

import statistics
import time

from harness import MODULE, PEER, BenchServer, run_load, say
from speed import BITS_PER_KEY, PEER_ERROR_RATE

GB = 1 << 30
REPEATS = 5
SMALL_KEYS = 200000
SMALL_ITEMS = 100


def contenders():
    return [("CLASSIC", MODULE)] + ([("peer", PEER)] if PEER else [])


def reserve_words(name):
    return ("BITSPERKEY", BITS_PER_KEY) if name == "CLASSIC" else (PEER_ERROR_RATE,)


# Create


def measure_create(name, module):
    """Microseconds of one BF.RESERVE of 1 GB by the server's command statistics, and the resident
    bytes it took."""
    items = GB * 8 // BITS_PER_KEY
    micros, resident = [], []
    server = BenchServer(module).start()
    try:
        for _ in range(REPEATS):
            server.do("CONFIG", "RESETSTAT")
            before = server.rss()
            server.do("BF.RESERVE", "g", *reserve_words(name), items, "NONSCALING")
            resident.append(server.rss() - before)
            micros.append(server.micros_per_call("BF.RESERVE"))
            server.do("DEL", "g")
    finally:
        server.close()
    return {"micros": micros, "resident": statistics.median(resident)}


# Save and load


def timed(server, *words):
    """(CPU seconds, wall seconds) of one command."""
    cpu, wall = server.cpu_seconds(), time.monotonic()
    server.do(*words)
    wall = time.monotonic() - wall
    return server.cpu_seconds() - cpu, wall


def timed_child(server):
    """(CPU seconds, wall seconds) of a BGSAVE: those of the child, until the server has heard of its end."""
    cpu, wall = server.children_cpu_seconds(), time.monotonic()
    server.do("BGSAVE")
    while server.info("persistence")["rdb_bgsave_in_progress"] == "1":
        time.sleep(0.01)
    wall = time.monotonic() - wall
    return server.children_cpu_seconds() - cpu, wall


def measure_save(server):
    """Seconds per GB of filter that SAVE, BGSAVE and a load take, for everything the server holds. Full
    filters do not compress. A child saves them without trying; in the server itself, SAVE tries if
    rdbcompression says so. The file stays in the page cache; the wall times have the disk's fsync in them."""
    size = sum(filter_bytes(server, key) for key in server.do("KEYS", "*"))
    server.control.socket.settimeout(3600)
    out = {"bytes": size, "runs": []}
    for _ in range(REPEATS):
        for compression in ("no", "yes"):
            server.do("CONFIG", "SET", "rdbcompression", compression)
            took = {"child": timed_child(server), "save": timed(server, "SAVE"),
                    "load": timed(server, "DEBUG", "RELOAD", "NOSAVE")}  # empties the server, reads the file
            run = {"compression": compression}
            for what, (cpu, wall) in took.items():
                run[what + "_cpu"], run[what + "_wall"] = cpu * GB / size, wall * GB / size
            out["runs"].append(run)
    return out


def filter_bytes(server, key):
    return server.do("BF.INFO", key, "SIZE")[-1]  # an array of the value alone


# Memory of small filters


def measure_small(name, module):
    """Bytes per key in all: 200,000 keys created by BF.MADD of 100 items with the default settings
    (p = 0.01, capacity 100). used_memory includes the key, its entry and the table."""
    server = BenchServer(module).start()
    try:
        before = int(server.info("memory")["used_memory"])
        run = run_load(
            server, "BF.MADD", "f:", SMALL_ITEMS, SMALL_KEYS * SMALL_ITEMS,
            keys=SMALL_KEYS, range=SMALL_KEYS * SMALL_ITEMS,
        )
        after = settled_memory(server)
        if server.do("DBSIZE") != SMALL_KEYS:
            raise RuntimeError("%s: DBSIZE is not %d" % (name, SMALL_KEYS))
    finally:
        server.close()
    say("%s: %d small filters" % (name, SMALL_KEYS))
    return {"bytes_per_key": (after - before) / SMALL_KEYS, "ns": run.ns}


def settled_memory(server):
    """used_memory when the load's buffers are gone and the table of keys is in its final size."""
    last = 0
    while True:
        time.sleep(1)
        now = int(server.info("memory")["used_memory"])
        if abs(now - last) < 4096:
            return now
        last = now
