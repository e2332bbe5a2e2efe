"""bloomport pull --redisson: a Redisson filter on a server, the string and its {name}:config, becomes a filter of ours,
in a file or in a key. The fixture was written by Redisson; the bits of others are those of foreign_formats.py."""

import random
import threading

import pytest

from test_tool import WORDS, info, lines, r, run, server  # noqa: F401  (fixtures)

from foreign_fixtures import FIXTURES
from foreign_formats import Redisson

FIXTURE = FIXTURES["redisson/bytes.bitmap"]
CONFIG = {field: value for field, value in FIXTURE.params["config_hash"].items() if field != "__key"}


@pytest.fixture
def where(server):  # noqa: F811
    return "-s", server.socket


@pytest.fixture
def redisson(r):  # noqa: F811
    """redisson(name) -> makes the filter of the fixture; **changes: fields of its configuration, None for a missing one."""
    def make(name="users", data=FIXTURE.data, key="{%s}:config", **changes):
        if data:
            r.set(name, data)
        fields = {field: value for field, value in {**CONFIG, **changes}.items() if value is not None}
        if fields:
            r.hset(key % name, mapping=fields)
        return r

    return make


def test_the_fixture_is_what_redisson_wrote():
    assert CONFIG == {"size": "3349", "hashIterations": "5", "expectedInsertions": "500", "falseProbability": "0.04"}
    assert len(FIXTURE.data) == 419 == (3349 + 7) // 8


def test_pulled_to_a_file_it_answers_as_redisson_did(tmp_path, where, redisson):
    before = redisson("users")
    state = before.dump("users"), before.dump("{users}:config")
    path = tmp_path / "f"
    run("pull", "--redisson", "users", *where, "-o", path)
    told = info(path)
    assert (told["format"], told["hash"], told["bits"], told["hashes"]) == ("dump", "redisson", 3349, 5)
    assert (told["capacity"], told["expansion"]) == (500, 0)
    found = run("check", "--hex", path, stdin=lines(item.hex().encode() for item in FIXTURE.probes))
    assert found == lines(item.hex().encode() for item, answer in zip(FIXTURE.probes, FIXTURE.answers) if answer)
    assert run("pull", "--redisson", "users", *where, "--format", "redisson") == FIXTURE.data
    assert run("convert", "--to", "redisson", path) == FIXTURE.data
    assert (before.dump("users"), before.dump("{users}:config")) == state  # both keys are as they were


def test_pushed_to_a_key_it_answers_as_redisson_did_and_goes_back_with_set(where, redisson):
    r = redisson("users")  # noqa: F811
    run("pull", "--redisson", "users", "--key", "bf", *where)
    assert r.execute_command("BF.MEXISTS", "bf", *FIXTURE.probes) == FIXTURE.answers
    stats = dict(zip(*[iter(r.execute_command("BF.STATS", "bf"))] * 2))
    assert (stats[b"capacity"], stats[b"hash"], float(stats[b"promised error rate"])) == (500, b"REDISSON", 0.04)
    r.set("copy", r.execute_command("BF.EXPORT", "bf", "FORMAT", "redisson"))
    r.copy("{users}:config", "{copy}:config")
    assert r.get("copy") == FIXTURE.data
    assert run("pull", "--redisson", "copy", *where) == run("pull", "--redisson", "users", *where)


def test_items_added_after_the_move_are_where_redisson_puts_them(where, redisson):
    r = redisson("users", expectedInsertions=5000)  # noqa: F811
    run("pull", "--redisson", "users", "--key", "bf", "--expansion", 2, *where)
    model = FIXTURE.decode(FIXTURE.data)
    assert r.execute_command("BF.MADD", "bf", *WORDS[:300]) == [int(model.add(item)) for item in WORDS[:300]]
    assert r.execute_command("BF.EXPORT", "bf", "FORMAT", "redisson") == model.data
    assert r.execute_command("BF.INFO", "bf", "EXPANSION") == [2]


def test_with_an_expansion_it_grows_beyond_redissons_capacity(where, redisson):
    r = redisson("users")  # noqa: F811
    run("pull", "--redisson", "users", "--key", "bf", "--expansion", 2, *where)
    r.execute_command("BF.MADD", "bf", *WORDS[:2000])
    assert r.execute_command("BF.INFO", "bf", "FILTERS")[0] > 1
    assert r.execute_command("BF.MEXISTS", "bf", *WORDS[:2000], *FIXTURE.added) == [1] * 2500


def test_a_filter_without_items_has_no_string_and_is_an_empty_filter(tmp_path, where, redisson):
    redisson("empty", data=None)
    path = tmp_path / "f"
    run("pull", "--redisson", "empty", *where, "-o", path)
    told = info(path)
    assert (told["ones"], told["items"], told["bits"], told["capacity"]) == (0, 0, 3349, 500)
    r = redisson("empty", data=None)  # noqa: F811
    run("pull", "--redisson", "empty", "--key", "bf", *where)
    assert r.execute_command("BF.CARD", "bf") == 0
    assert r.execute_command("BF.ADD", "bf", "a") == 1


def test_a_name_with_braces_keeps_them_in_the_name_of_its_configuration(where, redisson):
    redisson("app:{7}:users", key="%s:config")
    assert run("pull", "--redisson", "app:{7}:users", *where, "--format", "redisson") == FIXTURE.data


def test_a_key_that_exists_is_replaced_only_with_replace(where, redisson):
    r = redisson("users")  # noqa: F811
    r.execute_command("BF.ADD", "bf", "old")
    assert "the key 'bf' exists: --replace replaces it" in run("pull", "--redisson", "users", "--key", "bf", *where, status=2)
    assert r.execute_command("BF.CARD", "bf") == 1
    run("pull", "--redisson", "users", "--key", "bf", "--replace", *where)
    assert r.execute_command("BF.MEXISTS", "bf", *FIXTURE.added) == [1] * 500


def test_redissons_own_key_can_be_the_one_that_is_replaced(where, redisson):
    r = redisson("users")  # noqa: F811
    run("pull", "--redisson", "users", "--key", "users", "--replace", *where)
    assert r.execute_command("BF.MEXISTS", "users", *FIXTURE.probes) == FIXTURE.answers


def test_large_bitmaps_come_in_pieces(tmp_path, where, r, redisson):  # noqa: F811
    source = random.Random(1907)
    model = Redisson(300_000_007, 3)
    model.add_all(source.randbytes(9) for _ in range(20000))
    r.config_resetstat()
    redisson("large", data=bytes(model.data), size=300_000_007, hashIterations=3, expectedInsertions=60_000_000)
    path = tmp_path / "f"
    run("pull", "--redisson", "large", *where, "-o", path)
    assert r.info("commandstats")["cmdstat_getrange"]["calls"] == 3  # 37.5 MB in pieces of 16 MiB
    assert run("convert", "--to", "redisson", path) == model.data


# what is wrong


@pytest.mark.parametrize("field, value, expected", [
    ("size", None, "its field size is missing"),
    ("hashIterations", None, "its field hashIterations is missing"),
    ("expectedInsertions", None, "its field expectedInsertions is missing"),
    ("falseProbability", None, "its field falseProbability is missing"),
    ("size", "0", "its field size is '0' and not a number from 1 to 4294967294"),
    ("size", "4294967295", "its field size is '4294967295' and not a number from 1 to 4294967294"),
    ("size", "-5", "its field size is '-5' and not"), ("size", "", "its field size is '' and not"),
    ("size", "3349 ", "its field size is '3349 ' and not"), ("size", b"3349\0", "its field size is '3349' and not"),
    ("size", "99999999999999999999999", "its field size is '99999999999999999999999' and not"),
    ("size", "3343", "key 'users': longer than the size in its configuration"),
    ("hashIterations", "0", "its field hashIterations is '0' and not a number from 1 to 255"),
    ("hashIterations", "256", "its field hashIterations is '256' and not a number from 1 to 255"),
    ("expectedInsertions", "0", "its field expectedInsertions is '0' and not a number from 1 to 9223372036854775807"),
    ("falseProbability", "0", "its field falseProbability is '0' and not between 0 and 1"),
    ("falseProbability", "1.0", "its field falseProbability is '1.0' and not between 0 and 1"),
    ("falseProbability", "nan", "its field falseProbability is 'nan' and not between 0 and 1"),
    ("falseProbability", "0x.8", "its field falseProbability is '0x.8' and not"),
    ("falseProbability", "0.04.", "its field falseProbability is '0.04.' and not"),
    ("falseProbability", "", "its field falseProbability is '' and not"),
])
def test_a_wrong_field_is_named(where, redisson, field, value, expected):
    redisson("users", **{field: value})
    assert expected in run("pull", "--redisson", "users", *where, status=2)


def test_small_rates_as_java_writes_them_are_read(where, redisson, tmp_path):
    redisson("users", falseProbability="1.0E-4")
    run("pull", "--redisson", "users", "--key", "bf", *where)


def test_bits_beyond_the_size_are_refused(where, redisson):
    redisson("users", data=FIXTURE.data[:418] + b"\xff")  # 3349 bits leave 5 in the last byte
    assert "key 'users': bad redisson data: " in run("pull", "--redisson", "users", *where, status=2)


def test_a_missing_configuration_and_keys_of_other_types_are_named(where, r, redisson):  # noqa: F811
    r.set("users", FIXTURE.data)
    assert "key '{users}:config': there is no Redisson filter's configuration" in run("pull", "--redisson", "users", *where, status=2)
    r.set("{users}:config", "x")
    assert "key '{users}:config': a string, not a filter (WRONGTYPE" in run("pull", "--redisson", "users", *where, status=2)
    r.delete("{users}:config", "users")
    redisson("users", data=None)
    r.rpush("users", "a")
    assert "key 'users': a list, not a filter (WRONGTYPE" in run("pull", "--redisson", "users", *where, status=2)


@pytest.mark.parametrize("words, expected", [
    (["--redisson", "u", "--replace"], "--replace goes with --redisson and --key"),
    (["--key", "u", "--replace"], "--replace goes with --redisson and --key"),
    (["--key", "u", "--expansion", 2], "--expansion goes with --redisson"),
    (["--redisson", "u", "--key", "k", "-o", "f"], "writes no file: --output and --format do not go with it"),
    (["--redisson", "u", "--key", "k", "--format", "dump"], "writes no file: --output and --format do not go with it"),
    (["--redisson", "u", "--variant", "old"], "--variant goes with --format, which it is of"),
    ([], "--key is missing"),
])
def test_options_that_do_not_go_together_are_refused(where, words, expected):
    assert expected in run("pull", *words, *where, status=2)


def test_adds_while_it_is_pulled_lose_nothing_that_was_there_before(tmp_path, server, where, r, redisson):  # noqa: F811
    model = Redisson(100_000_007, 3).add_all(WORDS)
    redisson("busy", data=bytes(model.data), size=100_000_007, hashIterations=3, expectedInsertions=10_000_000)
    is_over = threading.Event()

    def write():
        client, source = server.client(), random.Random(1908)
        while not is_over.is_set():
            client.setbit("busy", source.randrange(100_000_007), 1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        run("pull", "--redisson", "busy", *where, "-o", tmp_path / "f")
    finally:
        is_over.set()
        writer.join()
    assert run("check", "-c", tmp_path / "f", stdin=lines(WORDS)) == b"%d\n" % len(WORDS)
