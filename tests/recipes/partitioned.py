"""One large filter over a whole Redis Cluster: more items than one node holds.

A filter is one key, and a key lives on one node. So the items are spread over partitions, one key
each, by a separate hash. An item is looked up in its partition only, so the error rate stays that of
one filter. The tags matter: a key's slot is a hash of its {tag}, and {0}, {1}, {2}... may all fall on
one node. Here partition i gets the first tag whose slot lies in the i-th part of all slots: every node
has its share, also after the next resharding.
"""
import math
import os
import zlib

import redis
from redis.crc import key_slot

SLOTS = 16384


class PartitionedFilter:
    def __init__(self, cluster, name, error_rate, capacity, partitions):
        self.cluster, self.partitions = cluster, partitions
        self.keys = [f"{name}:{{{self.tag(i)}}}" for i in range(partitions)]
        mean = capacity / partitions  # chance gives some a little more: five sigmas of room
        each = math.ceil(mean + 5 * math.sqrt(mean))
        for key in self.keys:
            if not cluster.exists(key):
                cluster.execute_command("BF.RESERVE", key, error_rate, each)

    def tag(self, partition):
        tag = 0
        while key_slot(b"%d" % tag) * self.partitions // SLOTS != partition:
            tag += 1
        return tag

    def _each_partition(self, command, items):
        """One command per partition, all in one pipeline; the answers in the items' order."""
        groups = {}
        for at, item in enumerate(items):  # CRC-32: a hash that the filter itself does not use
            groups.setdefault(zlib.crc32(item.encode()) % self.partitions, []).append(at)
        pipe = self.cluster.pipeline()
        for partition, places in groups.items():
            pipe.execute_command(command, self.keys[partition], *(items[at] for at in places))
        answers = [None] * len(items)
        for places, replies in zip(groups.values(), pipe.execute()):
            for at, reply in zip(places, replies):
                answers[at] = reply
        return answers

    def add(self, items):
        return self._each_partition("BF.MADD", items)

    def exists(self, items):
        return self._each_partition("BF.MEXISTS", items)


if __name__ == "__main__":
    nodes = redis.RedisCluster.from_url(os.environ.get("REDIS_URL", "redis://localhost:7000"))
    seen = PartitionedFilter(nodes, "seen", 0.01, 10_000_000, partitions=12)
    print("added", sum(seen.add([f"item:{i}" for i in range(20_000)])))
    print("found", sum(seen.exists([f"item:{i}" for i in range(20_000)])))
    print("others", sum(seen.exists([f"other:{i}" for i in range(20_000)])))
