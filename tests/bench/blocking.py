"""The part `blocking`: how long one command holds the server, which executes nothing else meanwhile.

The time is the server's own (INFO commandstats), so it has no client and no network in it. Reading a
large argument and sending a large reply come on top. The filters are half full of random bits, as a full
filter is: they are imported. Each row is run `rounds` times at each size, and the fastest
counts: the others have waited for other programs of the machine.

Also: the memory that is copied when items are added while a child saves (rdb_last_cow_size).
"""

import os
import time

from harness import MODULE, BenchServer, say

MIB = 1 << 20
SIZES = [1 * MIB, 16 * MIB, 256 * MIB]
BATCHES = [1, 100, 1_000, 10_000, 100_000]
ADDED_WHILE_SAVING = [0, 1_000, 10_000, 100_000]
SAVING_US = 8_000_000  # a child that waits this long before it saves a key
NHASHES = 7


def portable(size):
    return NHASHES.to_bytes(4, "little") + (8 * size).to_bytes(8, "little") + os.urandom(size)


def capacity(size):
    return 8 * size // 10


def timed(server, *words):
    """(milliseconds that the server took for a command, its reply)"""
    server.do("CONFIG", "RESETSTAT")
    reply = server.do(*words)
    name = "cmdstat_" + words[0].lower()
    stats = next(value for key, value in server.info("commandstats").items() if key.lower() == name)
    return float(stats.partition("usec=")[2].partition(",")[0]) / 1000, reply


def one_round(server, size, data):
    """{what: milliseconds} of every row, on filters of `size` bytes."""
    took, n = {}, capacity(size)

    def run(what, *words):
        took[what], reply = timed(server, *words)
        return reply

    run("BF.RESERVE", "BF.RESERVE", "new", "BITSPERKEY", 10, n)
    import_ = ("FORMAT", "portable", "CAPACITY", n)
    run("BF.IMPORT", "BF.IMPORT", "a", *import_, "DATA", data)
    server.do("BF.IMPORT", "b", *import_, "DATA", portable(size))
    run("BF.STATS", "BF.STATS", "a")
    run("BF.EXPORT", "BF.EXPORT", "a")
    iterator, header = server.do("BF.SCANDUMP", "a", 0)
    server.do("BF.LOADCHUNK", "piece", iterator, header)
    next_, piece = run("BF.SCANDUMP, a piece of 16 MiB or less", "BF.SCANDUMP", "a", iterator)
    run("BF.LOADCHUNK, the same piece", "BF.LOADCHUNK", "piece", next_, piece)
    run("COPY", "COPY", "a", "copy")
    for compression in ("yes", "no"):  # the default, and without: then it is RESTOREd
        server.do("CONFIG", "SET", "rdbcompression", compression)
        dumped = run("DUMP, rdbcompression %s" % compression, "DUMP", "a")
    run("RESTORE", "RESTORE", "restored", 0, dumped)
    run("BF.INTERSTORE of two", "BF.INTERSTORE", "common", "a", "b")
    run("BF.MERGE of two", "BF.MERGE", "copy", "b")
    run("BF.CLEAR", "BF.CLEAR", "copy")
    run("DEL", "DEL", "common")
    run("UNLINK", "UNLINK", "restored")
    server.do("BF.IMPORT", "grows", *import_[:2], "CAPACITY", n // 2, "EXPANSION", 2, "DATA", data)
    items = iter(range(1 << 30))
    while server.do("BF.INFO", "grows", "FILTERS")[-1] == 1:
        took["BF.ADD that appends a layer"], _ = timed(server, "BF.ADD", "grows", "n%d" % next(items))
    server.do("BGSAVE")
    took["fork, for BGSAVE or a rewrite of the AOF"] = wait_for_fork(server)
    server.do("FLUSHALL", "SYNC")
    return took


def wait_for_fork(server):
    while server.info("persistence")["rdb_bgsave_in_progress"] == "1":
        time.sleep(0.02)
    return int(server.info("stats")["latest_fork_usec"]) / 1000


def measure_batches(server, rounds):
    """{(command, items): [milliseconds]} on a full filter of the largest size."""
    size, out = SIZES[-1], {}
    server.do("BF.IMPORT", "a", "FORMAT", "portable", "CAPACITY", 2 * capacity(size), "DATA", portable(size))
    for number in range(rounds):
        for batch in BATCHES:
            items = ["%d-%d-%d" % (number, batch, i) for i in range(batch)]
            for command in ("BF.MEXISTS", "BF.MADD"):
                out.setdefault((command, batch), []).append(timed(server, command, "a", *items)[0])
    return out


def measure_copied(server):
    """{items added while a child saved the largest filter: MiB that were copied}"""
    server.do("CONFIG", "SET", "rdb-key-save-delay", SAVING_US)
    out = {}
    for count in ADDED_WHILE_SAVING:
        server.do("BGSAVE")
        for start in range(0, count, 10_000):
            batch = min(count, 10_000)
            server.do("BF.MADD", "a", *("%d+%d" % (count, start + i) for i in range(batch)))
        if server.info("persistence")["rdb_bgsave_in_progress"] != "1":
            raise RuntimeError("the child was done before the adds: raise SAVING_US")
        wait_for_fork(server)
        out[count] = int(server.info("persistence")["rdb_last_cow_size"]) / MIB
    return out


def measure(rounds):
    """{rows: {what: {size: median ms}}, batches: {(command, items): median ms}}"""
    rows = {}
    server = BenchServer(MODULE).start()
    server.control.socket.settimeout(600)
    try:
        for size in SIZES:
            say("blocking: %d MiB" % (size // MIB))
            data = portable(size)
            runs = [one_round(server, size, data) for _ in range(rounds)]
            for what in runs[0]:
                rows.setdefault(what, {})[size] = min(run[what] for run in runs)
        batches = {key: min(times) for key, times in measure_batches(server, rounds).items()}
        copied = measure_copied(server)
    finally:
        server.close()
    return {"rows": rows, "batches": {"%s %d" % key: ms for key, ms in batches.items()}, "copied": copied,
            "table": table(rows, batches, copied)}


def shown(ms):
    """Two significant digits, from a hundredth of a millisecond up."""
    if ms < 0.01:
        return "under 0.01"
    return "%.2g" % ms if ms < 100 else "%.0f" % float("%.2g" % ms)


def table(rows, batches, copied):
    lines = ["| one command, ms | " + " | ".join("%d MiB" % (size // MIB) for size in SIZES) + " |",
             "|---" * (len(SIZES) + 1) + "|"]
    lines += ["| %s | %s |" % (what, " | ".join(shown(by_size[size]) for size in SIZES)) for what, by_size in rows.items()]
    lines += ["", "| items in one command, %d MiB, ms | %s |" % (SIZES[-1] // MIB, " | ".join(format(n, ",") for n in BATCHES)),
              "|---" * (len(BATCHES) + 1) + "|"]
    for command in ("BF.MEXISTS", "BF.MADD"):
        lines.append("| %s | %s |" % (command, " | ".join(shown(batches[command, n]) for n in BATCHES)))
    head = " | ".join(format(n, ",") for n in copied)
    lines += ["", "| items added while a child saves, %d MiB | %s |" % (SIZES[-1] // MIB, head), "|---" * (len(copied) + 1) + "|",
              "| MiB copied | %s |" % " | ".join("%.0f" % mib for mib in copied.values())]
    return "\n".join(lines)
