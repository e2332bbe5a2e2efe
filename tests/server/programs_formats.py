"""More parts of random programs, as programs.py has them: filters of other libraries, which BF.IMPORT brings.
foreign_formats.py makes them. Importing this file adds them to the tables.
"""

from foreign_formats import SAMPLES, Bip37, Cassandra, Datasketches, Go, Guava, Rocksdb, RocksdbLegacy, Spark, import_words
from programs import FORMATS, generator

FORMATS += ["guava", "spark", "go", "cassandra", "bip37", "rocksdb", "datasketches", "redisson"]


def of_any_parameters(p):
    words, k = 64 * p.one(1, 1, 2, 3, 10), p.one(1, 2, 3, 5, 7, 8, 9, 17)
    seed = p.one(0, 1, 7, 2**31 - 1)
    return p.one(
        lambda: Guava(words, k, strategy=p.one(0, 1)),
        lambda: Spark(words, k, version=1),
        lambda: Spark(words, k, version=2, seed=p.one(seed, -seed)),
        lambda: Go(p.one(1, 7, 63, 64, 65, 100, 601), k),
        lambda: Cassandra(words, k, variant=p.one("old", "3.x", "4.x")),
        lambda: Bip37(8 * p.one(1, 3, 75, 252, 253, 300), k, tweak=seed, flags=p.one(0, 1, 2)),
        lambda: Rocksdb(512 * p.one(1, 2, 3, 4), k),
        lambda: RocksdbLegacy(512 * p.one(1, 3, 5), k),
        lambda: Datasketches(words, k, seed=seed, is_counted=p.chance(0.5)),
    )()


def a_filter(p, items=None, sample=None):
    """Mostly of one of the samples' parameters, so that there is something to merge. Its items are noted."""
    if sample is None:
        sample = p.random.choice(list(SAMPLES.values())) if p.chance(0.7) else of_any_parameters(p)
    items = p.one([], p.items(), p.items()) if items is None else items
    model = sample.empty().add_all(items)
    variant = model.variant if model.name == "cassandra" else ""  # where others have their hash
    p.model.contents.met_export(model.name.encode(), variant.encode(), model.data, items)
    p.remember(p.exports, (model.name, variant, model.data))
    return model


def with_options(p, key, model):
    words = import_words(key, model, *p.options("BF.IMPORT"))
    return [p.spelled(words[0]), *words[1:]]


@generator(5)
def import_foreign(p):
    return [with_options(p, p.free_key(), a_filter(p))]


@generator(3)
def import_foreign_and_add(p):
    """With a capacity that is soon full: it grows, or the adds are refused."""
    key, words = p.free_key(), p.one([], ["CAPACITY", "3"], ["CAPACITY", "3", "EXPANSION", p.one("1", "2")], ["CAPACITY", "500"])
    return [import_words(key, a_filter(p), *words), *(["BF.MADD", key, *p.items()] for _ in range(3))]


@generator(2)
def merge_foreign(p):
    """Two of one shape: these can be merged and intersected."""
    one, other, sample = p.free_key(), p.free_key(), p.random.choice(list(SAMPLES.values()))
    made = [import_words(key, a_filter(p, p.items()[:8], sample), "CAPACITY", "500", "REPLACE") for key in (one, other)]
    return [*made, ["BF.MADD", one, *p.items()], [p.one("BF.MERGE", "BF.MERGE", "BF.INTERSTORE"), p.key(), one, other]]


@generator(1)
def mistake_foreign(p):
    key, model = p.free_key(), a_filter(p)
    at = p.random.randrange(len(model.data))
    name, data = model.name, model.data
    return [
        p.one(
            ["BF.IMPORT", key, "FORMAT", name, *model.words, "DATA", data[:at]],
            ["BF.IMPORT", key, "FORMAT", name, *model.words, "DATA", data + b"\0"],
            ["BF.IMPORT", key, "FORMAT", name, "HASH", p.one("XXH64", "GUAVA64", "SIP13"), "DATA", data],
            ["BF.IMPORT", key, "FORMAT", name, "VARIANT", p.one("old", "5.x"), "VARIANT", "old", "DATA", data],
            ["BF.IMPORT", key, "FORMAT", "cassandra", "DATA", data],
            ["BF.IMPORT", key, "FORMAT", "redisson", "DATA", data],
            ["BF.EXPORT", p.filter(), "FORMAT", "portable", "VARIANT", "old"],
            ["BF.RESERVE", key, "0.01", "10", "HASH", p.one("GUAVA64", "GO", "BIP37")],
        )
    ]
