"""The page's arithmetic (module/page/*.js, under node) is the module's: sizes, growth and rates to
the last bit a server or the tool shows, hashes against the published vectors and the model's.

Environment: that of ../server/redis_server.py; BLOOMPORT_TOOL, the command-line tool.
"""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO / "tests" / "server"))

import bloom_model  # noqa: E402  (found by the line above)
from checks import layers_of  # noqa: E402
from redis_server import Server  # noqa: E402

TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))


@pytest.fixture(scope="module")
def server():
    server = Server()
    try:
        yield server.start()
    finally:
        server.close()


def page(jobs):
    done = subprocess.run(["node", str(HERE / "numbers.mjs")], input=json.dumps(jobs).encode(),
                          stdout=subprocess.PIPE, check=True, timeout=120)
    return json.loads(done.stdout)


def points(count, most_items, seed):
    """Parameters as the page has them: half by error rate, half of them small and thus intricate."""
    rng = random.Random(seed)
    for i in range(count):
        top = 3 if i % 2 else most_items
        params = {"capacity": int(10 ** rng.uniform(0, top)), "blocked": rng.random() < 0.4,
                  "expansion": rng.choice((0, 1, 2, 2, 4))}
        if rng.random() < 0.8:
            params["rate"] = float("%.3g" % 10 ** rng.uniform(-7, -0.05))
        else:
            params["bits"] = round(rng.uniform(1, 60), 2)
        yield params


def reserve(connection, key, p):
    quality = ("BITSPERKEY", p["bits"]) if "bits" in p else (p["rate"],)
    growth = ("EXPANSION", p["expansion"]) if p["expansion"] else ("NONSCALING",)
    layout = "BLOCKED" if p["blocked"] else "CLASSIC"
    connection.call("BF.RESERVE", key, *quality, p["capacity"], *growth, "LAYOUT", layout).plain


def test_sizes_are_the_servers_at_3000_random_points(server):
    connection = server.connection()
    chosen = list(points(3000, 8, seed=1))
    for params, layer in zip(chosen, page([["firstLayer", p] for p in chosen])):
        reserve(connection, "f", params)
        (mine,) = layers_of(connection.call, "f")
        connection.call("DEL", "f").plain
        assert (layer["m"], layer["k"]) == (mine.bits, mine.hashes), params
        assert layer["rate"] == pytest.approx(mine.ratio, rel=1e-5), params


def test_growth_is_the_servers_layer_by_layer(server):
    connection = server.connection()
    jobs, chains = [], []
    for i, params in enumerate(p for p in points(60, 1, seed=2) if p["expansion"]):
        params["capacity"] = params["capacity"] % 40 + 10
        reserve(connection, "f", params)
        connection.call("BF.MADD", "f", *("%d:%d" % (i, j) for j in range(1000))).plain
        chains.append(layers_of(connection.call, "f"))
        jobs.append(["layersFor", params, sum(layer.capacity for layer in chains[-1])])
        connection.call("DEL", "f").plain
    for job, theirs, ours in zip(jobs, chains, page(jobs)):
        assert [(x["capacity"], x["m"], x["k"]) for x in ours] == \
               [(x.capacity, x.bits, x.hashes) for x in theirs[:64]], job  # the page stops at 64
    assert max(map(len, chains)) > 64 and min(map(len, chains)) > 1


def test_rates_are_the_tools():
    rng = random.Random(3)
    jobs = []
    for _ in range(400):
        blocked = rng.random() < 0.4
        items = int(10 ** rng.uniform(0, 6))
        bits = int(items * rng.uniform(1, 40)) + 1
        words = ["--items", items, "--bits", bits, "--layout", "blocked" if blocked else "classic"]
        out = subprocess.run([TOOL, "size", *map(str, words)], stdout=subprocess.PIPE, check=True,
                             text=True).stdout
        field = dict(re.findall(r"^(error rate|bits|hashes) +([\d.e-]+)", out, re.M))
        size = {"m": int(field["bits"]), "k": int(field["hashes"])}
        jobs.append((["errorRate", items, size, blocked], field["error rate"]))
    for (job, theirs), ours in zip(jobs, page([job for job, _ in jobs])):
        assert "%.6g" % ours == theirs, job


VECTORS = {"": 0xef46db3751d8e999, "a": 0xd24ec4f1a98c6e5b, "as": 0x1c330fb2d66be179,
           "asd": 0x631c37ce72a97393, "asdf": 0x415872f599cea71e, "abc": 0x44bc2cf5ad770999,
           "Call me Ishmael. Some years ago--never mind how long precisely-": 0x02a2e85470d6fd96}


def test_xxh64_gives_the_published_hashes_and_the_models_at_every_length():
    assert page([["xxh64", text.encode().hex(), 0] for text in VECTORS]) == list(map(str, VECTORS.values()))
    rng = random.Random(4)
    items = [rng.randbytes(length) for length in range(200)]
    for seed in (0, 1):
        expected = [str(bloom_model.xxh64(item, seed)) for item in items]
        assert page([["xxh64", item.hex(), seed] for item in items]) == expected
