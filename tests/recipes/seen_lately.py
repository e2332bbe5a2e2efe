"""Seen in the last 7 days? A filter per day, which the server forgets by itself.

Items cannot be removed from a Bloom filter, but a day's filter can expire. A lookup queries all days in
one pipeline; each day has a seventh of the error rate, since the false positives of all days add up.
The {tag} keeps the days of one name in one slot of a cluster.
"""
import datetime
import os

import redis

DAYS = 7
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))


def key_of(name, day):
    return f"seen:{{{name}}}:{day:%Y-%m-%d}"


def mark(name, items, day):
    """Notes that the items were seen on this day (a date, UTC)."""
    end = datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc) + datetime.timedelta(DAYS)
    with r.pipeline(transaction=False) as pipe:
        pipe.bf().insert(key_of(name, day), items, capacity=100_000, error=0.01 / DAYS)
        pipe.expireat(key_of(name, day), int(end.timestamp()))
        pipe.execute()


def seen(name, items, today):
    """For each item: was it seen today or on the 6 days before?"""
    with r.pipeline(transaction=False) as pipe:
        for back in range(DAYS):
            pipe.bf().mexists(key_of(name, today - datetime.timedelta(back)), *items)
        days = pipe.execute()  # a missing day answers no to everything
    return [any(answers) for answers in zip(*days)]


if __name__ == "__main__":
    now = datetime.datetime.now(datetime.timezone.utc).date()
    for back in range(9, -1, -1):
        mark("demo", [f"visitor:{back}:{i}" for i in range(1000)], now - datetime.timedelta(back))
    for back in range(10):
        answers = seen("demo", [f"visitor:{back}:{i}" for i in range(1000)], now)
        print(f"{back} days ago: {sum(answers)} of 1000 seen lately")
    print("keys:", len(r.keys("seen:{demo}:*")))
