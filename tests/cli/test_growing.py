"""Built filters that grow, and filters like others: what was asked for is what the server shows."""

import re

import pytest

from test_manners import said
from test_tool import OTHERS, WORDS, built, info, lines, r, run, server, words_file  # noqa: F401  (fixtures)

from redisbloom import FIXTURES


def facts_of(r, key):  # noqa: F811
    fields = r.execute_command("BF.STATS", key)
    return {bytes(name).decode(): value for name, value in zip(fields[::2], fields[1::2])}


def same_bits(r, a, b):  # noqa: F811
    return r.execute_command("BF.SCANDUMP", a, 1)[1] == r.execute_command("BF.SCANDUMP", b, 1)[1]


@pytest.mark.parametrize("items, rate, options", [(1000, 0.01, []), (1000, 0.001, []), (7, 0.3, []),
                                                  (1000, 0.01, ["--layout", "blocked"])])
def test_capacity_and_rate_are_those_asked_for(tmp_path, server, r, items, rate, options):  # noqa: F811
    path = tmp_path / "f"
    run("build", "--error", rate, *options, "-o", path, stdin=lines(WORDS[:items]))
    run("push", path, "--key", "k", "-s", server.socket, "-q")
    facts = facts_of(r, "k")
    assert facts["capacity"] == items and float(facts["promised error rate"]) == rate
    assert r.execute_command("BF.INFO", "k", "CAPACITY") == [items]


@pytest.mark.parametrize("expansion", [1, 2, 4])
def test_a_filter_built_to_grow_is_the_servers_own(tmp_path, server, r, expansion):  # noqa: F811
    """The same parameters, the same bits, and it grows as the server's does."""
    path = tmp_path / "f"
    run("build", "--error", 0.01, "--expansion", expansion, "-o", path, stdin=lines(WORDS[:1000]))
    run("push", path, "--key", "built", "-s", server.socket)
    r.execute_command("BF.RESERVE", "own", 0.01, 1000, "EXPANSION", expansion)
    r.execute_command("BF.MADD", "own", *WORDS[:1000])
    for _ in range(2):
        built_, own = facts_of(r, "built"), facts_of(r, "own")
        assert built_ == own and same_bits(r, "built", "own")
        for key in "built", "own":
            r.execute_command("BF.MADD", key, *OTHERS)
    assert len(own["layers"]) > 1


def test_a_filter_that_grows_while_it_is_built_is_the_servers_own(tmp_path, server, r):  # noqa: F811
    path = tmp_path / "f"
    run("build", "--capacity", 300, "--expansion", 2, "-o", path, stdin=lines(WORDS))
    assert len(info(path)["layers"]) > 3
    run("push", path, "--key", "built", "-s", server.socket)
    r.execute_command("BF.RESERVE", "own", 0.01, 300, "EXPANSION", 2)
    r.execute_command("BF.MADD", "own", *WORDS)
    assert facts_of(r, "built") == facts_of(r, "own") and same_bits(r, "built", "own")


def test_a_large_one_grows_too(tmp_path):
    """Over 1 MiB: bits are set region by region, which knows one layer only."""
    path, numbers = tmp_path / "f", tmp_path / "numbers"
    numbers.write_bytes(lines(b"%d" % i for i in range(1_500_000)))
    run("build", "--capacity", "1M", "--expansion", 2, "-o", path, numbers)
    assert [layer["capacity"] for layer in info(path)["layers"]] == [1_000_000, 2_000_000]
    assert run("check", "-c", path, numbers) == b"1500000\n"
    run("build", "--expansion", 2, "-o", path, numbers)
    assert info(path)["expansion"] == 2 and len(info(path)["layers"]) == 1
    assert run("check", "-c", path, numbers) == b"1500000\n"


# push


def test_push_states_as_many_items_as_build_counted_as_new(tmp_path, server, r):  # noqa: F811
    """Exact counts, estimates, and items that are all new."""
    path = tmp_path / "f"
    million = [b"%d" % i for i in range(1_200_000)]  # over 1 MiB of bits: the count is an estimate
    for options, items in ([[], million], [["--capacity", 6000, "--expansion", 2, "--format", "dump"], WORDS + WORDS[:10]], [[], WORDS + WORDS],
                           [["--error", 1e-9, "--format", "dump"], WORDS[:100]]):
        told = said("build", *options, "-o", path, stdin=lines(items))
        pushed = said("push", path, "--key", "k", "-s", server.socket, "--replace").splitlines()[0]
        number = pushed.removeprefix("pushed: ").split(" items, ")[0]
        assert told.startswith(format(len(items), ",") + " items, ")
        new = re.search(r" items, (about )?([\d,]+) of them new, ", told)
        assert (new.group(2) if new else format(len(items), ",")) == number, (told, pushed)
        assert number == format(r.execute_command("BF.CARD", "k"), ",")


def test_push_says_that_there_is_no_room_and_expansion_makes_some(tmp_path, server, r):  # noqa: F811
    path = tmp_path / "f"
    run("build", "-o", path, stdin=lines(WORDS))
    said_ = said("push", path, "--key", "k", "-s", server.socket)
    assert said_.splitlines()[1].startswith("'k' has no room for more items (it holds ") and said_.count("\n") == 2
    assert "full" in str(r.execute_command("BF.INSERT", "k", "ITEMS", *OTHERS)[-1])
    said_ = said("push", path, "--key", "k", "-s", server.socket, "--replace", "--expansion", 3)
    assert "no room" not in said_ and "build --expansion keeps it at 0.01" in said_
    r.execute_command("BF.MADD", "k", *OTHERS)
    assert r.execute_command("BF.INFO", "k", "EXPANSION") == [3]
    assert r.execute_command("BF.MEXISTS", "k", *WORDS) == [1] * len(WORDS)
    assert float(facts_of(r, "k")["promised error rate"]) == 0.01


def test_a_portable_file_may_grow_too(built, server, r):  # noqa: F811
    assert "no room" in said("push", built, "--key", "k", "-s", server.socket)
    run("push", built, "--key", "k", "-s", server.socket, "--replace", "--expansion", 2, "-q")
    r.execute_command("BF.MADD", "k", *OTHERS)


def test_a_filter_with_room_says_nothing_of_it(tmp_path, server, r):  # noqa: F811
    path = tmp_path / "f"
    run("build", "--capacity", 6000, "-o", path, stdin=lines(WORDS))
    assert "room" not in said("push", path, "--key", "k", "-s", server.socket)


def test_what_cannot_grow_is_refused(tmp_path, server, r):  # noqa: F811
    path = tmp_path / "f"
    path.write_bytes(FIXTURES["grown"].data)
    push = ("push", path, "--key", "new", "-s", server.socket, "--expansion")
    assert "another program's filter" in run(*push, 7, status=2)
    r.execute_command("BF.RESERVE", "c", 0.01, 100, "LAYOUT", "COUNTING")
    r.execute_command("BF.RESERVE", "w", 0.01, 100, "WINDOW", 60)
    for key, value, expected in ("c", 2, "never grows"), ("w", 0, "must grow"):
        run("pull", "--key", key, "-s", server.socket, "-o", path)
        assert expected in run(*push, value, status=2)
    assert r.exists("new") == 0


def test_push_merge_unites_the_file_and_the_key(tmp_path, server, r):  # noqa: F811
    path, where = tmp_path / "f", ("--key", "k", "-s", server.socket)
    run("build", "--capacity", 20000, "--expansion", 2, "-o", path, stdin=lines(WORDS))
    r.execute_command("BF.RESERVE", "k", 0.01, 20000)
    r.execute_command("BF.MADD", "k", *OTHERS)
    r.expire("k", 1000)
    assert "the key 'k' exists: --replace replaces it, --merge unites them" in run("push", path, *where, status=2)
    assert "exclude each other" in run("push", path, *where, "--merge", "--replace", status=2)
    assert said("push", path, *where, "--merge").startswith("merged: ")
    assert r.execute_command("BF.MEXISTS", "k", *WORDS, *OTHERS) == [1] * 10000
    assert r.keys() == [b"k"] and r.ttl("k") > 0
    run("push", path, "--key", "new", "-s", server.socket, "--merge")
    assert r.execute_command("BF.MEXISTS", "new", *WORDS) == [1] * 5000 and r.ttl("new") == -1


def test_push_merge_of_another_size_leaves_the_key_as_it_was(tmp_path, server, r):  # noqa: F811
    path = tmp_path / "f"
    run("build", "-o", path, stdin=lines(WORDS))
    r.execute_command("BF.RESERVE", "k", 0.01, 2000)
    before = r.dump("k")
    assert "key 'k': ERR" in run("push", path, "--key", "k", "-s", server.socket, "--merge", status=2)
    assert r.dump("k") == before and r.keys() == [b"k"]


def test_a_merge_of_grown_filters_says_the_rate_that_they_have_now(tmp_path, server, r):  # noqa: F811
    a, b, both = tmp_path / "a", tmp_path / "b", tmp_path / "both"
    for path, words in (a, WORDS), (b, OTHERS):
        run("build", "--capacity", 100, "--expansion", 2, "-o", path, stdin=lines(words[:300]))
    now = "%.2g" % merged_rate(a, b, both)
    assert float(now) > 0.05
    summary, note = said("merge", a, b, "-o", both).splitlines()
    assert summary.endswith("error rate %.3g" % info(both)["current_error_rate"])
    assert note.startswith("%s: the merged filter is overfilled: its error rate is now %s, promised 0.01 (" % (both, now))
    note = said("push", both, "--key", "k", "-s", server.socket).splitlines()[1]
    assert note.startswith("k: the filter is overfilled: its error rate is now %s, promised 0.01 (" % now)
    run("push", a, "--key", "a", "-s", server.socket)
    note = said("push", b, "--key", "a", "-s", server.socket, "--merge").splitlines()[0]
    assert note.startswith("a: the merged filter is overfilled: its error rate is now %s, promised 0.01 (" % now)
    assert facts_of(r, "a")["state"] == b"overfilled"


def merged_rate(a, b, both):
    run("merge", a, b, "-o", both)
    return info(both)["current_error_rate"]


# like


def test_one_like_a_file_can_be_merged_with_it(tmp_path, words_file):  # noqa: F811
    a, b, both = tmp_path / "a", tmp_path / "b", tmp_path / "both"
    for options in [], ["--layout", "blocked"], ["--hash", "fnv1a"], ["--bits-per-key", 12], ["--capacity", 400, "--expansion", 2]:
        run("build", "-o", a, *options, stdin=lines(WORDS))
        run("build", "--like", a, "-o", b, stdin=lines(OTHERS[:3000]))
        run("merge", a, b, "-o", both)
        assert run("check", "-c", both, stdin=lines(WORDS + OTHERS[:3000])) == b"8000\n"
        assert (info(a)["capacity"] > 0) and info(a)["expansion"] == info(b)["expansion"]


@pytest.mark.parametrize("words", [
    ["0.02", 9000], ["0.02", 500, "EXPANSION", 3], ["BITSPERKEY", 12, 9000, "NONSCALING"], ["0.001", 9000, "LAYOUT", "BLOCKED"],
    ["0.001", 9000, "HASH", "SIP13"], ["0.001", 9000, "HASH", "FNV1A"],
])
def test_one_like_a_key_can_be_merged_on_the_server(tmp_path, server, r, words):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", *words)
    r.execute_command("BF.MADD", "k", *WORDS)
    path = tmp_path / "f"
    run("build", "--like-key", "k", "-s", server.socket, "-o", path, stdin=lines(OTHERS[:3000]))
    run("push", path, "--key", "other", "-s", server.socket, "-q")
    own, other = facts_of(r, "k"), facts_of(r, "other")
    for name in "layout", "hash", "promised error rate", "bits per key", "expansion":
        assert own[name] == other[name], name
    r.execute_command("BF.MERGE", "k", "other")
    assert r.execute_command("BF.MEXISTS", "k", *WORDS, *OTHERS[:3000]) == [1] * 8000


def test_more_items_than_one_like_it_can_take_are_refused(tmp_path, server, r):  # noqa: F811
    r.execute_command("BF.RESERVE", "k", 0.01, 1000, "NONSCALING")
    path, words = tmp_path / "f", tmp_path / "words"
    words.write_bytes(lines(WORDS))
    key = ("build", "--like-key", "k", "-s", server.socket, "-o", path)
    for error in run(*key, words, status=2), run(*key, stdin=lines(WORDS), status=2):
        assert "'k' does not grow and holds 1000: a filter like it cannot take more" in error
    run("build", "-o", path, stdin=lines(WORDS[:1000]))
    assert "%s' does not grow and holds 1000: " % path in run("build", "--like", path, words, status=2)


def test_one_like_redisblooms_is_redisblooms(tmp_path, server, r):  # noqa: F811
    fixture, path = FIXTURES["grown"], tmp_path / "f"
    r.restore("k", 0, fixture.payload)
    run("build", "--like-key", "k", "-s", server.socket, "-o", path, stdin=lines(WORDS[:50]))
    assert info(path)["format"] == "redisbloom"
    run("push", path, "--key", "other", "-s", server.socket, "-q")
    assert r.type("other") == b"MBbloom--"
    r.execute_command("BF.MERGE", "k", "other")
    assert r.execute_command("BF.MEXISTS", "k", *WORDS[:50]) == [1] * 50


def test_what_does_not_go_with_like_is_refused(tmp_path, built, server, r):  # noqa: F811
    for option, value in ("error", 0.1), ("bits-per-key", 8), ("capacity", 1000), ("layout", "blocked"), ("expansion", 2):
        for like in "--like", "--like-key":
            error = run("build", like, built, "--" + option, value, status=2)
            assert "%s takes all parameters from the other filter: --%s does not" % (like, option) in error
    assert "exclude each other" in run("build", "--like", built, "--like-key", "k", status=2)
    r.execute_command("BF.RESERVE", "c", 0.01, 100, "LAYOUT", "COUNTING")
    r.execute_command("BF.RESERVE", "w", 0.01, 100, "WINDOW", 60)
    assert "c: a counting filter is made" in run("build", "--like-key", "c", "-s", server.socket, status=2)
    assert "w: a window is made" in run("build", "--like-key", "w", "-s", server.socket, status=2)
    assert "there is no such key" in run("build", "--like-key", "none", "-s", server.socket, status=2)
