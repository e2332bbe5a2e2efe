"""A filter `k` in use, and what a copy of it must be: the filter as it was at one moment.

The writers' commands come from `replacing`, for LAYOUT COUNTING, or `adding`. `assert_is_one_moment` needs nothing but
how many of them were sent.
"""

BATCH = 500  # items, which one command adds or deletes


def batch(n):
    return ["%d:%d" % (n, i) for i in range(BATCH)]


REPLACE = """local function batch(n) local t = {}; for i = 1, %d do t[i] = n .. ':' .. i - 1 end return unpack(t) end
redis.call('BF.MADD', KEYS[1], batch(ARGV[1])); redis.call('BF.DEL', KEYS[1], batch(ARGV[1] - 1)) return 1""" % BATCH


def replacing():
    """Adds a batch and deletes the one before it: one batch is there at a time, and the header hardly ever changes."""
    yield "BF.MADD", "k", *batch(0)
    for n in range(1, 1_000_000):
        yield "EVAL", REPLACE, 1, "k", n


def adding():
    for n in range(1_000_000):
        yield "BF.MADD", "k", *batch(n)


def pieces(ask, key):
    """The bits of a filter; ask(word, ...) gives a command's reply."""
    found, iterator = [], 1
    while iterator:
        iterator, data = ask("BF.SCANDUMP", key, iterator)
        found.append(data)
    return found


def assert_is_one_moment(ask, key, reserve, sent, begun):
    """What the copy holds is what some number of the commands leave, to the last bit. It was read after the first `begun`
    of those `sent`, and one more may be under way. A key "again" is made and deleted."""
    there = range(begun - 2, len(sent) + 1)
    if sent[-1][0] == "EVAL":
        there = [n for n in there if ask("BF.EXISTS", key, "%d:0" % n)]
        assert len(there) == 1, there
    else:
        there = range(ask("BF.CARD", key) // BATCH)
        assert begun - 1 <= len(there) <= len(sent)
    ask("BF.RESERVE", "again", *reserve)
    ask("BF.BULKADD", "again", "LINES", "\n".join(item for n in there for item in batch(n)))
    assert pieces(ask, key) == pieces(ask, "again")
    assert ask("BF.CARD", key) == ask("BF.CARD", "again") == len(there) * BATCH
    ask("DEL", "again")
