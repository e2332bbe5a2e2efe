"""The page's arithmetic (module/extras/page/*.js, under node) is the module's: sizes, growth and rates to
the last bit a server or the tool shows, hashes against the published vectors and the model's, answers
against those of the libraries whose filters the viewer opens.

Environment: that of ../server/redis_server.py; BLOOMPORT_TOOL, the command-line tool.
"""

import json
import math
import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO / "tests" / "server"))

import bloom_model  # noqa: E402  (found by the line above)
from checks import layers_of  # noqa: E402
from foreign_fixtures import FIXTURES, IMPORTABLE  # noqa: E402
from foreign_formats import SAMPLES, Go, Guava, Spark  # noqa: E402
from foreign_hashes import murmur3_128, murmur3_32, spark_hash  # noqa: E402
from formats_model import parquet_header  # noqa: E402
from redis_server import served  # noqa: E402
from redisbloom import FIXTURES as REDISBLOOM  # noqa: E402
from valkeybloom import FIXTURES as VALKEYBLOOM  # noqa: E402

TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))


@pytest.fixture(scope="module")
def server():
    yield from served()


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
               [(x.capacity, x.bits, x.hashes) for x in theirs], job
    assert max(map(len, chains)) > 18 and min(map(len, chains)) > 1  # from 17 on they grow faster


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


# ---- Windows of time, and COUNTING

def window_points(count, seed):
    rng = random.Random(seed)
    for params in points(count, 7, seed):
        params.update(expansion=0, generations=rng.choice((1, 2, 3, 4, 4, 8, 16, 64)), seconds=rng.randint(1, 10**6))
        yield params


def generation(p):
    """Items and rate of one generation's first layer, as the documents have them."""
    return -(-p["capacity"] // p["generations"]), 0.8 * (p["rate"] / (p["generations"] + 1)) if "rate" in p else None


def tools_size(*words):
    """The fields that `bloomport size` prints, by name."""
    out = subprocess.run([TOOL, "size", *map(str, words)], stdout=subprocess.PIPE, check=True, text=True).stdout
    return dict(re.findall(r"^(\w[\w ]*\w) {2,}([\w.-]+)", out, re.M))


def layer_of_a_generation(p):
    """(m, k, rate): by error rate the tool's size of a plain layer for a generation's items and share
    of the rate; by bits per key the rule itself."""
    items, rate = generation(p)
    layout = ("--layout", "blocked" if p["blocked"] else "classic")
    if rate is not None:
        field = tools_size("--items", items, "--error", repr(rate), *layout)
        return int(field["bits"]), int(field["hashes"]), rate
    m, k = math.ceil(p["bits"] * p["capacity"] / p["generations"]), min(max(round(p["bits"] * math.log(2)), 1), 30)
    if p["blocked"]:
        m, k = -(-m // 256) * 256, 8
    (rate,) = page([["errorRate", items, {"m": m, "k": k}, p["blocked"]]])  # test_rates_are_the_tools
    return m, k, rate


def test_a_windows_generations_are_sized_by_the_rule():
    chosen = list(window_points(300, seed=6))
    for p, ours in zip(chosen, page([["sized", p] for p in chosen])):
        m, k, rate = layer_of_a_generation(p)
        g = p["generations"]
        assert (ours["m"], ours["k"], ours["capacity"]) == (m, k, -(-p["capacity"] // g)), p
        assert ours["bytes"] == (g + 1) * -(-m // 8), p
        assert ours["promise"] == pytest.approx(p.get("rate", 2 * (g + 1) * rate), rel=1e-12), p


def test_a_windows_sizes_are_the_servers(server):
    connection = server.connection()
    chosen = list(window_points(300, seed=7))
    for p, ours in zip(chosen, page([["sized", p] for p in chosen])):
        quality = ("BITSPERKEY", p["bits"]) if "bits" in p else (p["rate"],)
        reply = connection.call("BF.RESERVE", "w", *quality, p["capacity"], "WINDOW", p["seconds"], "GENERATIONS",
                                p["generations"], "LAYOUT", "BLOCKED" if p["blocked"] else "CLASSIC")
        assert reply.plain == "OK", p
        (mine,) = layers_of(connection.call, "w")
        connection.call("DEL", "w").plain
        assert (ours["m"], ours["k"], ours["capacity"]) == (mine.bits, mine.hashes, mine.capacity), p


def test_a_windows_sizes_are_the_tools():
    chosen = list(window_points(100, seed=8))
    for p, ours in zip(chosen, page([["sized", p] for p in chosen])):
        quality = ("--bits-per-key", p["bits"]) if "bits" in p else ("--error", repr(p["rate"]))
        field = tools_size("--items", p["capacity"], *quality, "--window", p["seconds"], "--generations", p["generations"],
                           "--layout", "blocked" if p["blocked"] else "classic")
        assert (int(field["bits"]), int(field["hashes"])) == (ours["m"], ours["k"]), p
        assert int(field["memory"]) == ours["bytes"], p
        promise = ours["promise"]
        assert field["error rate"] == ("%.6g" % promise if promise < 1 else "none"), p


def test_a_window_of_four_generations_at_one_percent_takes_at_most_16_8_bits_an_item():
    (ours,) = page([["sized", {"capacity": 10**6, "rate": 0.01, "generations": 4, "blocked": False}]])
    assert 16.7 < 8 * ours["bytes"] / 10**6 <= 16.8


def test_counting_has_the_layer_of_classic_in_four_times_the_bytes():
    chosen = [{**p, "expansion": 0, "blocked": False, "counting": True} for p in points(100, 7, seed=9)]
    for p, ours in zip(chosen, page([["sized", p] for p in chosen])):
        quality = ("--bits-per-key", p["bits"]) if "bits" in p else ("--error", repr(p["rate"]))
        field = tools_size("--items", p["capacity"], *quality)
        assert (ours["m"], ours["k"]) == (int(field["bits"]), int(field["hashes"])), p
        assert ours["bytes"] == -(-ours["m"] // 2), p
        field = tools_size("--items", p["capacity"], *quality, "--layout", "counting")
        assert (ours["m"], ours["bytes"]) == (int(field["counters"]), int(field["memory"])), p


def rate_of_slices(k, g):
    """By following the length of the run of matches from slice to slice."""
    runs, found = [1.0] + [0.0] * (k - 1), 0.0  # runs[j]: the last j slices match, and not k in a row yet
    for i in range(k + g):
        fill = 1 - 2 ** (-min(i + 1, k) / k)
        found += runs[-1] * fill
        runs = [sum(runs) * (1 - fill)] + [run * fill for run in runs[:-1]]
    return found


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.01, 0.001, 1e-7])
def test_the_textbook_beside_the_table_is_the_papers(rate):
    for g in (1, 2, 4, 8, 16):
        k = next(k for k in range(1, 60) if rate_of_slices(k, g) <= rate)
        chain, slices = page([["bitsOfChain", rate, g], ["bitsOfSlices", rate, g]])
        assert slices == pytest.approx(k * (k + g) / g / math.log(2), rel=1e-12), g
        assert chain == pytest.approx(math.log2((g + 1) / rate) * (1 + 1 / g) / math.log(2), rel=1e-12), g


def test_the_textbooks_known_figures_are_there():
    figures = page([[name, rate, 4] for rate in (0.01, 0.001) for name in ("bitsOfChain", "bitsOfSlices")])
    assert ["%.1f" % bits for bits in figures] == ["16.2", "27.8", "22.2", "42.2"]


DURATIONS = [(1, "floor", "1 second"), (90, "floor", "90 seconds"), (86400, "floor", "24 hours"), (108000, "ceil", "30 hours"),
             (172800, "floor", "2 days"), (100 * 4 / 3, "ceil", "2.23 minutes"), (100 * 4 / 3, "floor", "2.22 minutes"),
             (106.25, "ceil", "107 seconds"), (2**32 - 1, "floor", "49,710 days"), (1 + 1 / 64, "ceil", "1.02 seconds")]


@pytest.mark.parametrize("seconds, rounded, text", DURATIONS)
def test_a_time_is_written_in_the_largest_unit_of_which_there_are_two(seconds, rounded, text):
    assert page([["duration", seconds, rounded]]) == [text]


# ---- The viewer

def random_files(count, folder, seed):
    """Filters in files, of every format that the viewer opens, from hardly filled to every bit set."""
    rng = random.Random(seed)
    for i in range(count):
        form = ("portable", "sstable", "parquet")[i % 3]
        k = 8 if form == "parquet" else rng.randint(1, 255) if rng.random() < 0.3 else rng.randint(1, 16)
        m = int(2 ** rng.uniform(0, 16)) if form != "parquet" else 256 * int(2 ** rng.uniform(0, 10))
        fill = rng.choice((0, 1, rng.random(), rng.random() ** 3))
        bits = sum((rng.random() < fill) << p for p in range(m)).to_bytes((m + 7) // 8, "little")
        header = {"portable": struct.pack("<IQ", k, m), "sstable": struct.pack("<QII", m, k, 10),
                  "parquet": parquet_header(m // 8)}[form]
        path = folder / ("%d.%s" % (i, form))
        path.write_bytes(header + bits)
        yield form, path


def random_foreign_files(count, folder, seed):
    """The same of other libraries. The tool does not open Cassandra's, whose variant it is not given."""
    rng = random.Random(seed)
    samples = [one for one in SAMPLES.values() if one.name != "cassandra"]
    for i in range(count):
        sample = samples[i % len(samples)]
        most = {"bip37": 50, "rocksdb": 30}.get(sample.name, 255)
        k = rng.randint(1, min(most, rng.choice((16, 255))))
        unit = {"bip37": 8, "go": 1, "rocksdb": 512}.get(sample.name, 64)
        model = type(sample)(unit * int(2 ** rng.uniform(0, 7)), k, **sample.parameters)
        fill = rng.choice((0, 1, rng.random(), rng.random() ** 3))
        for p in range(model.m):
            model.bits[p >> 3] |= (rng.random() < fill) << (p & 7)
        path = folder / ("%d.%s" % (i, sample.name))
        path.write_bytes(model.data)
        yield sample.name, path


def test_the_viewers_numbers_are_the_tools_in_every_format(tmp_path):
    chosen = [*random_files(150, tmp_path, seed=5), *random_foreign_files(200, tmp_path, seed=19)]
    for (form, path), ours in zip(chosen, page([["viewed", str(path)] for _, path in chosen])):
        out = subprocess.run([TOOL, "info", "--json", "--from", form, str(path)], stdout=subprocess.PIPE, check=True)
        theirs = json.loads(out.stdout)
        assert (ours["format"], ours["m"], ours["k"]) == (form, theirs["bits"], theirs["hashes"])
        assert (ours["ones"], ours["estimatedItems"]) == (theirs["ones"], theirs["items"]), path
        assert ours["currentErrorRate"] == theirs["current_error_rate"], path
        assert (ours["scheme"].lower() if not ours["blocked"] else "xxh64") == theirs["hash"], path


def test_a_blocked_exports_error_rate_is_the_servers(server, tmp_path):
    connection = server.connection()
    for i, (rate, capacity) in enumerate(((0.01, 20000), (0.02, 3000), (1e-4, 500), (0.5, 1))):
        connection.call("BF.RESERVE", "f", rate, capacity, "NONSCALING", "LAYOUT", "BLOCKED").plain
        connection.call("BF.MADD", "f", *("%d:%d" % (i, j) for j in range(capacity))).plain
        path = tmp_path / str(i)
        path.write_bytes(connection.call("BF.EXPORT", "f", "FORMAT", "parquet").plain)
        stats = connection.call("BF.STATS", "f").plain
        theirs = float(stats[stats.index("current error rate") + 1])
        connection.call("DEL", "f").plain
        (ours,) = page([["viewed", str(path)]])
        assert ours["currentErrorRate"] == pytest.approx(theirs, rel=1e-12), (rate, capacity)


def test_the_page_in_one_file_is_one_script_that_parses(tmp_path):
    """Its modules share one scope there: a top-level name in two of them is a syntax error."""
    html = tmp_path / "index.html"
    subprocess.run([sys.executable, str(REPO / "tests/support/make_page.py"), str(REPO / "module/extras/page/index.html"),
                    str(html)], stdout=subprocess.DEVNULL, check=True)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', html.read_text(encoding="utf-8"), re.S)
    module = tmp_path / "page.mjs"
    module.write_text(script, encoding="utf-8")
    subprocess.run(["node", "--check", str(module)], check=True)


# ---- The viewer's formats of other libraries

def without_lookups(model):
    return model.scheme == "ROCKSDB"


def test_every_fixture_has_the_librarys_m_and_k_and_its_2000_answers():
    jobs = [["lookedUp", one.data.hex(), one.variant, [item.hex() for item in one.probes]] for one in IMPORTABLE.values()]
    for (name, one), ours in zip(IMPORTABLE.items(), page(jobs)):
        model = one.model
        assert (ours["format"], ours["m"], ours["k"]) == (name.split("/")[0], model.m, model.k), name
        assert len(one.answers) == 2000 and 0 < sum(one.answers) < 2000, name
        assert ours["answers"] == (None if without_lookups(model) else "".join(map(str, one.answers))), name


def test_positions_are_the_oracles_for_items_of_every_length_and_byte():
    rng = random.Random(20)
    items = [rng.randbytes(length) for length in [*range(70), 127, 128, 129, 300, 5000]]
    samples = [type(one)(one.m * 64, 17, **one.parameters) for one in SAMPLES.values() if not without_lookups(one)]
    jobs = [["positions", one.data.hex(), getattr(one, "variant", None), [item.hex() for item in items]] for one in samples]
    for one, ours in zip(samples, page(jobs)):
        assert ours == [one.positions(item) for item in items], one.scheme


def test_murmur3_is_the_models_at_every_length():
    rng = random.Random(21)
    items = [rng.randbytes(length) for length in range(100)]
    for name, hash_of in (("murmur32", murmur3_32), ("murmurSpark", spark_hash)):
        for seed in (0, 1, 0xdeadbeef):
            assert page([[name, item.hex(), seed] for item in items]) == [hash_of(item, seed) & 0xffffffff for item in items]
    for signs in (False, True):
        expected = [list(map(str, murmur3_128(item, signed_tail=signs))) for item in items]
        assert page([["murmur128", item.hex(), signs] for item in items]) == expected


def filled(sample):
    return sample.empty().add_all(b"item:%d" % i for i in range(40))


def test_every_cut_of_a_file_is_refused_and_most_are_called_that():
    for name, sample in SAMPLES.items():
        model = filled(sample)
        data, variant = model.data, getattr(model, "variant", None)
        ours = page([["complaintOf", data[:length].hex(), variant] for length in range(len(data) + 1)])
        assert ours.pop() is None, name
        if model.name == "spark":  # version, k and as many words are also Cassandra's k, its number of words and they
            ours[8 + 8 * model.k] = ours[-1]
        assert None not in ours, (name, ours.index(None))
        if model.name not in ("bip37", "rocksdb"):  # nothing before their bits tells what they are
            assert all("was cut short" in text and model.name in text for text in ours[32:]), (name, ours[32:])


def test_a_newline_at_the_end_is_named_in_every_format():
    jobs = [["complaintOf", (filled(one).data + b"\n").hex(), getattr(one, "variant", None)] for one in SAMPLES.values()]
    for one, text in zip(SAMPLES.values(), page(jobs)):
        assert text.startswith(f"It is a {one.name} filter with a newline at its end"), text


DATASKETCHES = filled(SAMPLES["datasketches-counted"]).data
DAMAGED = {
    "guava, k": (bytes([1, 0]) + Guava(640, 5).data[2:], "its k is 0"),
    "spark, k": (Spark(640, 5).data.replace(bytes([0, 0, 0, 5]), bytes([0, 0, 1, 0]), 1), "its k is 256"),
    "go, bits": (Go(601, 6).data[:-8] + bytes([2, 0, 0, 0, 0, 0, 0, 0]), "bits beyond its end"),
    "go, last byte": (Go(601, 6).data[:-8] + bytes([0, 0, 0, 0, 2, 0, 0, 0]), "bits beyond its end"),
    "datasketches, count": (DATASKETCHES[:24] + bytes([1]) + DATASKETCHES[25:], "its number of set bits"),
    "datasketches, header": (DATASKETCHES[:7] + bytes([1]) + DATASKETCHES[8:], "should be 0 are not"),
    "datasketches, empty": (SAMPLES["datasketches"].data[:16] + bytes([255] * 4 + [0] * 4), "empty and too large"),
    "a table of RocksDB": (FIXTURES["rocksdb/fv5_bpk6.sst"].path.read_bytes(), "a whole table of RocksDB"),
    "JSON of Go": (FIXTURES["go/m1000k3.json"].path.read_bytes(), "the JSON of a Go filter"),
    "Redisson": (FIXTURES["redisson/bytes.bitmap"].path.read_bytes(), "LevelDB's and Redisson's have no header"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_of_another_library_is_refused_by_what_is_wrong(name):
    data, words = DAMAGED[name]
    (text,) = page([["complaintOf", data.hex(), None]])
    assert words in text


# ---- Files of layers: what `build` and `pull` write unless they are told otherwise

ITEMS = [b"user:%d" % i for i in range(2000)] + [bytes([i]) * n for i in (0, 127, 128, 255) for n in range(40)]


def tool(*words, stdin=b""):
    return subprocess.run([TOOL, *map(str, words)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def hexed(items):
    return b"".join(item.hex().encode() + b"\n" for item in items)


def built(folder):
    """Dumps of every kind that the tool makes."""
    words = {"plain": [], "strict": ["--error", "1e-5"], "fnv1a": ["--hash", "fnv1a"], "blocked": ["--layout", "blocked"],
             "per key": ["--bits-per-key", 7], "room": ["--capacity", 5000], "grown": ["--capacity", 50, "--expansion", 2],
             "long": ["--capacity", 100, "--expansion", 1], "grown blocked": ["--capacity", 20, "--expansion", 3, "--layout", "blocked"]}
    for name, options in words.items():
        path = folder / name
        tool("build", "--hex", *options, "-o", path, stdin=hexed(ITEMS[::2]))
        yield path


def pulled(folder, server):
    """What `pull` writes of filters that a server has, our own and those of RedisBloom and valkey-bloom."""
    connection = server.connection()
    made = {"counting": ["0.01", 1200, "LAYOUT", "COUNTING"], "odd counting": ["BITSPERKEY", 9.001, 1111, "LAYOUT", "COUNTING"],
            "sip13": ["0.01", 100, "HASH", "SIP13"], "sip13 alone": ["0.01", 2000, "NONSCALING", "HASH", "SIP13"]}
    for key, words in made.items():
        connection.call("BF.RESERVE", key, *words).plain
        connection.call("BF.MADD", key, *ITEMS[::2]).plain
    connection.call("RESTORE", "redisbloom", 0, REDISBLOOM["grown"].payload).plain
    connection.call("BF.LOAD", "valkeybloom", VALKEYBLOOM["scaling"].load).plain
    for key in *made, "redisbloom", "valkeybloom":
        path = folder / key
        tool("pull", "--key", key, "-s", server.socket, "-o", path)
        yield path


def converted(folder):
    """Dumps of one layer with the hash of each other library, and the tool's own of the two servers'."""
    for name, sample in SAMPLES.items():
        model = filled(sample)
        variant = ["--variant", model.variant] if model.name == "cassandra" else []
        (folder / "block").write_bytes(model.data)
        path = folder / ("of " + name)
        tool("convert", "--from", model.name, *variant, "--to", "dump", folder / "block", "-o", path)
        yield path
    (folder / "leveldb").write_bytes(bytes(range(256)) + b"\7")
    (folder / "theirs").write_bytes(REDISBLOOM["grown"].data)
    (folder / "valkey's").write_bytes(VALKEYBLOOM["scaling"].load)
    for name, words in (("leveldb", ["--from", "leveldb"]), ("theirs", []), ("valkey's", ["--from", "valkeybloom"])):
        path = folder / ("dump of " + name)
        tool("convert", *words, "--to", "dump", folder / name, "-o", path)
        yield path


def test_what_build_and_pull_write_is_opened_with_the_tools_numbers_and_answers(server, tmp_path):
    paths = [*built(tmp_path), *pulled(tmp_path, server), *converted(tmp_path)]
    items = [item.hex() for item in ITEMS[:300] + ITEMS[-160:]] + [item.hex() for item in REDISBLOOM["grown"].items[:50]]
    seen = set()
    for path, ours in zip(paths, page([["layered", str(path), items] for path in paths])):
        theirs = json.loads(tool("info", "--json", path))
        seen.add((ours["format"], ours["layout"], ours["hash"], ours["layers"] > 1))
        assert (ours["format"], ours["layout"].lower(), ours["hash"].lower()) == (theirs["format"], theirs["layout"], theirs["hash"]), path
        m = theirs.get("bits", theirs.get("counters"))
        assert (ours["m"], ours["ones"], ours["arrayBytes"]) == (m, theirs["ones"], theirs["bytes"]), path
        assert ours["k"] == [layer["hashes"] for layer in theirs["layers"]], path
        assert (ours["counted"], ours["capacity"]) == (theirs["items"], theirs["capacity"]), path
        assert (ours["estimatedItems"], ours["currentErrorRate"]) == (theirs["estimated_items"], theirs["current_error_rate"]), path
        assert ours["question"] == "" and 0 < ours["parts"] <= 64, path
        found = set(subprocess.run([TOOL, "check", "--hex", path], input="".join(item + "\n" for item in items).encode(),
                                   stdout=subprocess.PIPE, check=False).stdout.decode().splitlines())
        if ours["hash"] in ("ROCKSDB", "REDISSON"):
            assert ours["answers"] is None, path
            continue
        assert ours["answers"] == "".join(str(int(item in found)) for item in items), path
        if ours["layers"] == 1:  # every position of the picture is that of a set bit exactly where the item is found
            assert "".join(str(int(one)) for one in ours["set"]) == ours["answers"], path
    assert len(seen) >= 22 and {layout for _, layout, _, _ in seen} == {"CLASSIC", "BLOCKED", "COUNTING"}, seen


def dump_of(folder, *words):
    path = folder / "dump"
    tool("build", "--hex", *words, "-o", path, stdin=hexed(ITEMS[:100]))
    return path.read_bytes()


def complaints(datas):
    return page([["complaintOf", data.hex(), None] for data in datas])


def with_checksum(data, size):
    return data[:size] + struct.pack("<Q", bloom_model.xxh64(data[:size], 0)) + data[size + 8:]


def test_every_cut_and_every_flip_of_a_dump_is_refused_and_called_that(tmp_path):
    data = dump_of(tmp_path, "--capacity", 30, "--expansion", 2, "--error", "0.3")
    size = 48 + 44 * 2
    assert struct.unpack_from("<II", data, 8)[0] == 1 and struct.unpack_from("<I", data, 20) == (2,) and len(data) < 400
    cuts = complaints([data[:length] for length in range(8, len(data))])
    assert all("cut short" in text for text in cuts), cuts
    (more,) = complaints([data + b"x"])
    assert "something was added" in more
    flips = complaints([data[:i] + bytes([data[i] ^ 1]) + data[i + 1:] for i in range(8, len(data))])
    assert None not in flips
    assert all("number of set bits" in text or "beyond its end" in text for text in flips[size + 8 - 8:]), flips[-3:]


def test_a_dump_that_the_page_cannot_show_says_in_one_sentence_why(server, tmp_path):
    connection = server.connection()
    connection.call("BF.RESERVE", "w", 0.01, 100, "WINDOW", 3600).plain
    connection.call("BF.ADD", "w", "a").plain
    tool("pull", "--key", "w", "-s", server.socket, "-o", tmp_path / "w")
    data = dump_of(tmp_path)
    changed = lambda at, byte: with_checksum(data[:at] + bytes([byte]) + data[at + 1:], 92)  # noqa: E731
    window, later, loading, layout, scheme, none, zero = complaints([
        (tmp_path / "w").read_bytes(), changed(8, 3), changed(14, 1), changed(13, 3), changed(12, 17),
        with_checksum(data[:20] + bytes(4) + data[24:], 92), with_checksum(data[:80] + bytes(4) + data[84:], 92)])
    assert window == "It is a window: what it holds depends on the time. Look items up with the tool: bloomport check."
    assert later == "It looks like a dump, but its version is 3, which this page does not know."
    assert loading == "It looks like a dump, but it was loaded in part only."
    assert layout == scheme == "It looks like a dump, but its hash or layout is one that this page does not know."
    assert none == "It looks like a dump, but its header is damaged."
    assert zero == "It looks like a dump filter, but its k is 0: it is damaged."


def test_a_cut_file_of_redisbloom_or_valkeybloom_is_not_opened():
    for data in REDISBLOOM["grown"].data, VALKEYBLOOM["scaling"].load:
        lengths = [*range(0, 200), *range(200, len(data), 997), len(data) - 1]
        assert None not in complaints([data[:length] for length in lengths])
        assert complaints([data]) == [None] and complaints([data + b"x"]) != [None]


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
