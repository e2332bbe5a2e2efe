"""Seen in the last 7 days? One filter, which forgets by itself.

WINDOW makes the filter forget what is older than a week: surely found for 7 days, surely gone after
8 days (7 * (1 + 1/7), since it forgets a seventh of the week at a time). Nothing needs a key per day, a
TTL or a cron job. BF.ADD answers 1 if the item was not seen in that time, and starts its week anew either
way. So an item that comes every day is never forgotten, and takes room in each generation.

    seen_lately.py alice bob        says of each whether it was seen lately, and notes it
"""
import os
import sys

import redis

WEEK = 7 * 86400
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))


def reserve(name):
    """Makes the filter, once: 100,000 visits a week, one false positive in 100."""
    try:
        r.execute_command("BF.RESERVE", name, 0.01, 100_000, "WINDOW", WEEK, "GENERATIONS", 7)
    except redis.ResponseError as problem:
        if "exists" not in str(problem):
            raise


def note(name, items):
    """For each item: was it seen in the last 7 days? From now on it was."""
    return [not is_new for is_new in r.bf().madd(name, *items)]


if __name__ == "__main__":
    reserve("seen")
    visitors = sys.argv[1:]
    for visitor, was_seen in zip(visitors, note("seen", visitors)):
        print(visitor, "was here lately" if was_seen else "is new")
