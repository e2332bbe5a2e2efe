"""Tokens that were revoked before they expire, in a filter from which they can be deleted again.

Nearly every request carries a good token, and the filter tells so without a query: a 0 is certain. Only
a 1 is looked up in the database, which has the list. A token that has expired by itself need not be on
the list any longer: BF.DEL takes it off, and so the filter never fills up.

LAYOUT COUNTING makes that possible, for four times the memory. Delete only what was added, and only
once: deleting a token that merely seems to be there can take others away. So the database decides what
is added and deleted. A crash in between leaves a token too many in the filter, never one too few: a
token is added before the database commits, and deleted after.
"""
import os
import sqlite3

import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))
queries = 0  # that reached the database


def open_list(capacity=10_000):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE revoked (token TEXT PRIMARY KEY, expires INTEGER)")
    r.execute_command("BF.RESERVE", "revoked", 0.001, capacity, "LAYOUT", "COUNTING")
    return db


def revoke(db, token, expires):
    """A token that is revoked twice is added once: the second add would need a second deletion."""
    if db.execute("INSERT OR IGNORE INTO revoked VALUES (?, ?)", (token, expires)).rowcount:
        r.bf().add("revoked", token)
    db.commit()


def is_revoked(db, token):
    global queries
    if not r.bf().exists("revoked", token):
        return False  # certain
    queries += 1
    return db.execute("SELECT 1 FROM revoked WHERE token = ?", (token,)).fetchone() is not None


def forget_expired(db, now):
    """Run it now and then. Returns how many tokens left the list."""
    rows = db.execute("DELETE FROM revoked WHERE expires <= ? RETURNING token", (now,)).fetchall()
    tokens = [token for token, in rows]
    db.commit()
    for i in range(0, len(tokens), 1000):
        r.execute_command("BF.DEL", "revoked", *tokens[i:i + 1000])
    return len(tokens)


if __name__ == "__main__":
    store = open_list()
    for day in range(10):  # 10 days of 2,000 tokens, each good for three days
        for number in range(2000):
            revoke(store, f"token:{day}:{number}", expires=day + 3)
        revoke(store, f"token:{day}:0", expires=day + 3)  # once more: changes nothing
        forget_expired(store, now=day)
    listed = [f"token:{day}:{number}" for day in (7, 8, 9) for number in range(2000)]
    print(f"{sum(is_revoked(store, token) for token in listed)} of {len(listed)} revoked tokens refused")
    queries = 0
    good = [f"good:{number}" for number in range(20_000)]
    refused = sum(is_revoked(store, token) for token in good)
    print(f"{refused} of {len(good)} good tokens refused, {queries} queries")
    print(f"{r.execute_command('BF.CARD', 'revoked')} items in the filter")
