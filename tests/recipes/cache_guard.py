"""A filter that keeps lookups of missing ids from the cache and the database.

Ids that do not exist are never in the cache, so each request for one goes through to the database:
a typing error, a stale link, or an attack. The filter of all ids that do exist stops 99 of 100 of
them before both.
"""
import os
import random
import sqlite3

import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"), decode_responses=True)
queries = 0  # that reached the database


def open_shop(products):
    """The database, and the filter of what it has: filled once, with a batch of ids per command."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE product (id TEXT PRIMARY KEY, name TEXT)")
    db.executemany("INSERT INTO product VALUES (?, ?)", products)
    r.bf().create("products", 0.01, len(products) + 1000)  # room for those to come
    ids = [row[0] for row in db.execute("SELECT id FROM product")]
    for i in range(0, len(ids), 1000):
        r.bf().madd("products", *ids[i:i + 1000])
    return db


def insert(db, product, name):
    r.bf().add("products", product)  # first: an id in the filter only costs a query, never an answer
    db.execute("INSERT INTO product VALUES (?, ?)", (product, name))


def find(db, product):
    """The product's name, or None."""
    global queries
    if not r.bf().exists("products", product):
        return None  # certain
    name = r.get(f"product:{product}")
    if name is None:
        queries += 1
        row = db.execute("SELECT name FROM product WHERE id = ?", (product,)).fetchone()
        name = row and row[0]
        if name is not None:
            r.set(f"product:{product}", name, ex=3600)
    return name


if __name__ == "__main__":
    rng = random.Random(1)
    shop = open_shop([(f"p{i}", f"Product {i}") for i in range(10_000)])
    insert(shop, "new", "Just arrived")
    wanted = ["new"] + [f"p{rng.randrange(10_000)}" for _ in range(2000)]
    found = [find(shop, product) for product in wanted]
    for_real = queries
    missing = [find(shop, f"p{rng.randrange(10**6, 10**9)}") for _ in range(10_000)]
    print(f"{found.count(None)} of {len(found)} products not found, {for_real} queries")
    print(f"{len(missing)} requests for nothing, {queries - for_real} queries, "
          f"{len(missing) - queries + for_real} avoided")
