"""Publishes a list of dangerous addresses as a Bloom filter that browsers check locally.

    publish.py addresses.txt list.bloom      one address a line: host/path, or host/ for all of it

The list itself stays on the server; what goes out is BF.EXPORT's bytes, about 1.8 per address at
this error rate. index.html beside this file loads them and sends no address to anybody.
"""
import os
import sys

import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))


def publish(addresses, path):
    r.delete("dangerous")  # items cannot be removed: a new list is a new filter
    # NONSCALING: one layer, which every format can carry, and a bit less per address
    r.bf().create("dangerous", 0.001, len(addresses), noScale=True)
    for i in range(0, len(addresses), 1000):
        r.bf().madd("dangerous", *addresses[i:i + 1000])
    data = r.execute_command("BF.EXPORT", "dangerous")
    with open(path, "wb") as out:
        out.write(data)
    return len(data)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as lines:
        listed = sorted({line.strip() for line in lines} - {""})
    print(f"{len(listed)} addresses, {publish(listed, sys.argv[2])} bytes")
