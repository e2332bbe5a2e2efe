"""Rules that hold for every BF.* command: arity, types, case, binary keys."""

import pytest

from checks import COMMANDS, WRONGTYPE, arity_error, assert_refused, dump, load
from resp import OK, ONE, error, integer


def too_few():
    for name, (arity, _) in COMMANDS.items():
        for words in range(1, abs(arity)):
            yield name, words


def too_many():
    for name, (arity, words) in COMMANDS.items():
        if arity > 0:
            yield name, words


@pytest.mark.parametrize("name, words", too_few())
def test_too_few_words_are_an_arity_error(call, name, words):
    given = COMMANDS[name][1][: words - 1]
    assert call(name, *given) == error(arity_error(name))
    assert call("DBSIZE") == integer(0)


@pytest.mark.parametrize("name, words", too_many())
def test_too_many_words_are_an_arity_error(call, name, words):
    assert_refused(call, arity_error(name), name, *words, "more")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("make", [("SET", "k", "v"), ("LPUSH", "k", "v"), ("HSET", "k", "f", "v")])
def test_a_key_of_another_type_is_a_wrongtype_error(call, name, make):
    call(*make)
    words = COMMANDS[name][1]
    if name == "BF.LOADCHUNK":  # valid data, so that the type alone is wrong
        call("BF.ADD", "other", "a")
        words = ("k", *dump(call, "other")[0])
    assert_refused(call, WRONGTYPE, name, *words)


@pytest.mark.parametrize("name", ["BF.EXISTS", "BF.MEXISTS"])
def test_lookups_differ_from_redisbloom_which_answers_zero_on_another_type(call, name):
    call("SADD", "k", "a")
    assert call(name, "k", "a") == error(WRONGTYPE)


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.swapcase])
def test_command_names_and_option_words_are_taken_in_any_case(call, change):
    def words(*given):
        return [change(word) for word in given]

    assert call(*words("Bf.Reserve"), "k", "0.01", "50", *words("Expansion"), "4") == OK
    assert call(*words("bf.Add"), "k", "a") == ONE
    assert call(*words("Bf.insert"), "k2", *words("Capacity"), "7", *words("Items"), "a").plain == [1]
    assert call("BF.INFO", "k2", *words("Capacity")).plain == [7]
    assert call("BF.INFO", "k", *words("Expansion")).plain == [4]


AWKWARD = [b"", b"\x00", b"a\x00b", b"\r\n", bytes(range(256)), b"\xff" * 100, b"x" * 100_000]


@pytest.mark.parametrize("key", AWKWARD, ids=lambda key: "%d-bytes" % len(key))
def test_keys_are_binary_safe(call, key):
    assert call("BF.RESERVE", key, "0.01", "10") == OK
    assert call("BF.ADD", key, "a") == ONE
    assert call("BF.CARD", key) == ONE
    assert call("BF.EXISTS", key + b"x", "a") == integer(0)
    load(call, b"copy of " + key, dump(call, key))
    assert call("BF.EXISTS", b"copy of " + key, "a") == ONE


@pytest.mark.parametrize("item", AWKWARD, ids=lambda item: "%d-bytes" % len(item))
def test_items_are_binary_safe_and_the_empty_one_is_valid(call, item):
    call("BF.RESERVE", "k", "1e-9", "10")
    assert call("BF.EXISTS", "k", item) == integer(0)
    assert call("BF.ADD", "k", item) == ONE
    assert call("BF.ADD", "k", item) == integer(0)
    assert call("BF.MEXISTS", "k", item, item + b"\x00", b"z" + item).plain == [1, 0, 0]


def test_awkward_items_are_all_told_apart(call):
    call("BF.RESERVE", "k", "1e-9", "10")
    assert call("BF.MADD", "k", *AWKWARD).plain == [1] * len(AWKWARD)
    assert call("BF.MADD", "k", *AWKWARD).plain == [0] * len(AWKWARD)
