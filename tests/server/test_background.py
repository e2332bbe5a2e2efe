"""Filters are freed in the background while others are created, filled and queried; the thread sanitizer
checks it (`make tsan`)."""

import pytest

from resp import OK
from filters import server_info, until

LARGE = ("0.01", "200000")  # some 60 pages: over the server's bound for freeing at once


def pending(call):
    return int(server_info(call, "memory")["lazyfree_pending_objects"])


@pytest.mark.parametrize("layout", ["CLASSIC", "BLOCKED"])
@pytest.mark.parametrize("way", [("UNLINK", "old"), ("FLUSHALL", "ASYNC"), ("RENAME", "new", "old"), ("SET", "old", "v")])
def test_filters_freed_in_the_background_leave_the_others_alone(call, layout, way):
    call("CONFIG", "SET", "lazyfree-lazy-server-del", "yes")
    freed_before = int(server_info(call, "memory")["lazyfreed_objects"])
    for turn in range(20):
        call("DEL", "new")
        assert call("BF.RESERVE", "old", *LARGE, "LAYOUT", layout) == OK
        call("BF.MADD", "old", *range(50))
        call("BF.RESERVE", "new", "0.01", "2", "LAYOUT", layout)
        call(*way)
        # At the same time, in the main thread: growth, lookups, the sums of INFO, a copy.
        assert call("BF.INSERT", "more", "CAPACITY", "10", "ITEMS", *range(turn * 50, turn * 50 + 50)).plain
        assert call("BF.MEXISTS", "more", *range(turn * 50, turn * 50 + 50)).plain == [1] * 50
        call("COPY", "more", "copy", "REPLACE")
        call("INFO", "everything")
        call("DEL", "old")
    until(lambda: pending(call) == 0, "all is freed")
    assert int(server_info(call, "memory")["lazyfreed_objects"]) > freed_before
