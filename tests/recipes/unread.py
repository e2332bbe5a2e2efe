"""Recommends what a user has not read, with a small filter per user.

A user's filter starts at 100 articles and grows with the reader. A false positive withholds one of 100
articles the user has not read, which nobody notices; a read one is never recommended again.
Run it to see what that takes per user.
"""
import os
import random

import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))


def mark_read(user, articles):
    r.bf().insert(f"read:{user}", articles, capacity=100, error=0.01)


def recommend(user, candidates):
    """The candidates, best first, without those the user has read."""
    read = r.bf().mexists(f"read:{user}", *candidates)
    return [article for article, seen in zip(candidates, read) if not seen]


def demo(users=500, reads=100):
    rng = random.Random(1)
    catalogue = [f"article:{i}" for i in range(100_000)]
    shown = again = withheld = filters = sets = 0
    for user in range(users):
        history = rng.sample(catalogue, reads)
        mark_read(user, history)
        unread = [article for article in rng.sample(catalogue, 60) if article not in history][:50]
        candidates = unread + history[:50]
        rng.shuffle(candidates)
        recommended = recommend(user, candidates)
        shown += len(recommended)
        again += len(set(recommended) & set(history))
        withheld += len(set(unread) - set(recommended))
        filters += r.memory_usage(f"read:{user}")
        if user < 20:  # the same as a set, for comparison
            r.sadd("set", *history)
            sets += r.memory_usage("set", samples=0)
            r.delete("set")
    print(f"{shown} recommended, {again} of them read before, {withheld} unread ones withheld")
    print(f"{filters / users:.0f} bytes per user who has read {reads} articles")
    print(f"{sets / 20:.0f} bytes as a set")


if __name__ == "__main__":
    demo()
