"""With appendfsync always, every acknowledged item is there after any kill -9."""

import random
import time

from filters import Writer, batches, missing_items
from resp import OK

KILLS = 20
SEED = 20240603
CONFIG = {"appendonly": "yes", "appendfsync": "always", "auto-aof-rewrite-percentage": "0"}

# Two are created by their first item; three grow: often, by doubling, by a large factor.
RESERVED = {
    "by-300": ("0.01", "300", "EXPANSION", "1"),
    "by-doubling": ("0.001", "10", "EXPANSION", "2"),
    "by-a-leap": ("BITSPERKEY", "12", "100", "EXPANSION", "1000"),
}
KEYS = ["created-1", "created-2", *RESERVED]


def batches_of_round(kill, thread):
    """Endless adds of items that no other round or thread uses."""
    for name, key, *items in batches(KEYS, seed=SEED + 2 * kill + thread):
        yield (name, key, *("%d-%d-%s" % (kill, thread, item) for item in items))


def test_no_acknowledged_item_is_missing_after_20_kills_at_random_moments(new_server):
    print("seed", SEED)
    source = random.Random(SEED)
    server = new_server(config=CONFIG)
    for key, words in RESERVED.items():
        assert server.call("BF.RESERVE", key, *words) == OK
    acknowledged = []
    for kill in range(KILLS):
        writers = [Writer(server.socket, batches_of_round(kill, thread)) for thread in (0, 1)]
        for writer in writers:
            writer.until_acknowledged(1)
        if kill % 4 == 3:
            assert not server.call("BGREWRITEAOF").is_error
        time.sleep(source.uniform(0.0, 0.5))
        server.kill9()
        for writer in writers:
            writer.finish()
            acknowledged += writer.acknowledged
        server.start()
        call = server.connection().call
        assert missing_items(call, acknowledged) == [], "after kill %d" % kill
    print("%d commands acknowledged" % len(acknowledged))
    assert all(call("BF.CARD", key).plain > 1000 for key in KEYS)
