"""BF.INSERT: every option and error, as RedisBloom has them or as module/docs/COMMANDS.md says otherwise."""

import pytest

from checks import NO_MEMORY, WRONGTYPE, arity_error, assert_one_error, assert_refused, info, layers_of
from resp import NULL_BULK, ONE, ZERO, array, error

ARITY = arity_error("BF.INSERT")
UNKNOWN = "ERR Unknown argument received"
REPEATED = "ERR repeated option"
BOTH_SIZES = "ERR ERROR and BITSPERKEY exclude each other"

NOT_INTEGERS = ["", "abc", "+5", "05", "1.5", "1e3", " 5", "5x", "9223372036854775808"]


def insert(call, *words):
    return call("BF.INSERT", "k", *words)


def test_insert_answers_as_madd_does(call):
    assert insert(call, "ITEMS", "a") == array(ONE)
    assert insert(call, "ITEMS", "b", "a", "b", "c") == array(ONE, ZERO, ZERO, ONE)


def test_insert_without_options_creates_the_filter_with_the_defaults(call):
    insert(call, "ITEMS", "a")
    call("BF.ADD", "same", "a")
    assert call("BF.INFO", "k") == call("BF.INFO", "same")
    assert call("BF.DEBUG", "k") == call("BF.DEBUG", "same")


@pytest.mark.parametrize(
    "options",
    [
        ("CAPACITY", "1000", "ERROR", "0.001", "EXPANSION", "4"),
        ("EXPANSION", "4", "ERROR", "1e-3", "CAPACITY", "1000"),
        ("error", "0.001", "capacity", "1000", "expansion", "4"),
        ("LAYOUT", "classic", "CAPACITY", "1000", "HASH", "xxh64", "ERROR", "0.001", "EXPANSION", "4"),
    ],
)
def test_insert_creates_what_reserve_would_with_options_in_any_order(call, options):
    assert insert(call, *options, "ITEMS", "a") == array(ONE)
    call("BF.RESERVE", "same", "0.001", "1000", "EXPANSION", "4")
    call("BF.ADD", "same", "a")
    assert call("BF.INFO", "k") == call("BF.INFO", "same")
    assert call("DEBUG", "DIGEST-VALUE", "k") == call("DEBUG", "DIGEST-VALUE", "same")


def test_insert_takes_bits_per_key_layout_and_hash(call):
    options = ("CAPACITY", "100", "BITSPERKEY", "9.6", "LAYOUT", "CLASSIC", "HASH", "FNV1A", "NONSCALING")
    assert insert(call, *options, "ITEMS", "a") == array(ONE)
    assert layers_of(call, "k")[0].bits == 960
    call("BF.RESERVE", "same", "BITSPERKEY", "9.6", "100", "NONSCALING", "HASH", "FNV1A")
    call("BF.ADD", "same", "a")
    assert call("DEBUG", "DIGEST-VALUE", "k") == call("DEBUG", "DIGEST-VALUE", "same")


def test_everything_after_items_is_an_item_also_option_words(call):
    words = ("ITEMS", "CAPACITY", "NOCREATE", "", "FOO")
    assert insert(call, "ITEMS", *words) == array(ONE, ONE, ONE, ONE, ONE)
    assert call("BF.MEXISTS", "k", *words).plain == [1] * 5
    assert info(call, "k")["Capacity"] == 100


# Words


@pytest.mark.parametrize(
    "words",
    [
        ("ITEMS",),
        ("CAPACITY", "10"),
        ("NOCREATE", "NONSCALING"),
        ("CAPACITY", "10", "ITEMS"),
        ("CAPACITY", "10", "ERROR", "0.1", "NOCREATE"),
        ("NOCREATE", "CAPACITY"),
        ("NOCREATE", "ERROR"),
        ("NOCREATE", "EXPANSION"),
        ("NONSCALING", "BITSPERKEY"),
        ("NONSCALING", "LAYOUT"),
        ("NONSCALING", "HASH"),
    ],
)
def test_no_items_or_an_option_without_value_at_the_end_is_an_arity_error(call, words):
    assert_refused(call, ARITY, "BF.INSERT", "k", *words)
    call("BF.ADD", "k", "a")
    assert_refused(call, ARITY, "BF.INSERT", "k", *words)


@pytest.mark.parametrize(
    "word", ["", "FOO", "I", "ITEM", "ITEMSX", "C", "CAP", "ER", "ERR", "E", "EXP", "NOC", "NON", "N", "B", "a"]
)
def test_option_words_are_matched_whole_not_by_first_letters(call, word):
    assert_refused(call, UNKNOWN, "BF.INSERT", "k", word, "10", "ITEMS", "a")


@pytest.mark.parametrize(
    "options",
    [
        ("CAPACITY", "10", "CAPACITY", "10"),
        ("CAPACITY", "10", "ERROR", "0.1", "capacity", "20"),
        ("ERROR", "0.1", "ERROR", "0.2"),
        ("BITSPERKEY", "10", "BITSPERKEY", "10"),
        ("EXPANSION", "2", "EXPANSION", "2"),
        ("NONSCALING", "NONSCALING"),
        ("NOCREATE", "NOCREATE"),
        ("LAYOUT", "CLASSIC", "LAYOUT", "CLASSIC"),
        ("HASH", "XXH64", "HASH", "XXH64"),
    ],
)
def test_repeated_option_is_refused(call, options):
    assert_refused(call, REPEATED, "BF.INSERT", "k", *options, "ITEMS", "a")


@pytest.mark.parametrize(
    "options", [("ERROR", "0.1", "BITSPERKEY", "10"), ("BITSPERKEY", "10", "CAPACITY", "5", "ERROR", "0.1")]
)
def test_error_and_bits_per_key_exclude_each_other(call, options):
    assert_refused(call, BOTH_SIZES, "BF.INSERT", "k", *options, "ITEMS", "a")


# Values

BAD_VALUES = (
    [("CAPACITY", value, "ERR Bad capacity") for value in NOT_INTEGERS + ["0", "-1", "ITEMS"]]
    + [
        ("ERROR", value, "ERR Bad error rate")
        for value in ["", "abc", "nan", "0", "1", "-0.1", "1.5", "inf", "1e-400", "0.1x"]
    ]
    + [("EXPANSION", value, "ERR Bad expansion") for value in NOT_INTEGERS + ["-1", "32769"]]
    + [
        ("BITSPERKEY", value, "ERR Bad bits per key")
        for value in ["", "abc", "nan", "0", "0.5", "-1", "256.5", "inf", "10x"]
    ]
)


@pytest.mark.parametrize("option, value, text", BAD_VALUES)
def test_bad_value_is_refused_whether_the_filter_exists_or_not(call, option, value, text):
    assert_refused(call, text, "BF.INSERT", "k", option, value, "ITEMS", "a")
    call("BF.ADD", "k", "b")
    assert_refused(call, text, "BF.INSERT", "k", option, value, "ITEMS", "a")


@pytest.mark.parametrize("option, text", [("LAYOUT", "err bad layout: classic, blocked or counting"), ("HASH", "err bad hash: xxh64, fnv1a or sip13")])
def test_unknown_layout_or_hash_is_refused(call, option, text):
    assert assert_one_error(call, "BF.INSERT", "k", option, "FOO", "ITEMS", "a").lower() == text


def test_layout_blocked_creates_a_blocked_filter(call):
    assert call("BF.INSERT", "k", "LAYOUT", "BLOCKED", "ITEMS", "a").plain == [1]
    assert layers_of(call, "k")[0].bits % 256 == 0
    assert_refused(call, "ERR layout BLOCKED goes with hash XXH64 only", "BF.INSERT", "new", "LAYOUT", "BLOCKED",
                   "HASH", "FNV1A", "ITEMS", "a")


def test_hash_fnv1a_over_two_to_the_32_bits_is_refused(call):
    text = "ERR hash FNV1A cannot address more than 2^32 bits"
    words = ("CAPACITY", 2**29 + 1, "BITSPERKEY", "8", "HASH", "FNV1A", "ITEMS", "a")
    assert_refused(call, text, "BF.INSERT", "k", *words)


@pytest.mark.parametrize("capacity", ["1000000000000000000", "9223372036854775807"])
def test_capacity_that_no_memory_holds_is_refused(call, capacity):
    assert_refused(call, NO_MEMORY, "BF.INSERT", "k", "CAPACITY", capacity, "ITEMS", "a")


# Expansion and NONSCALING


@pytest.mark.parametrize(
    "options",
    [
        ("EXPANSION", "0"),
        ("NONSCALING",),
        ("NONSCALING", "EXPANSION", "0"),
        ("NONSCALING", "EXPANSION", "2"),
        ("EXPANSION", "2", "NONSCALING"),
    ],
)
def test_nonscaling_wins_over_an_expansion_and_zero_means_nonscaling(call, options):
    assert insert(call, *options, "ITEMS", "a") == array(ONE)
    assert call("BF.INFO", "k", "EXPANSION") == array(NULL_BULK)


# NOCREATE and existing keys


@pytest.mark.parametrize(
    "options",
    [("NOCREATE",), ("nocreate",), ("NOCREATE", "CAPACITY", "10"), ("ERROR", "0.1", "NOCREATE"), ("NONSCALING", "NOCREATE")],
)
def test_nocreate_on_a_missing_key_answers_not_found_and_creates_nothing(call, options):
    assert_refused(call, "ERR not found", "BF.INSERT", "k", *options, "ITEMS", "a")
    assert call("EXISTS", "k") == ZERO


def test_nocreate_on_an_existing_filter_inserts(call):
    call("BF.RESERVE", "k", "0.01", "10")
    assert insert(call, "NOCREATE", "ITEMS", "a", "a") == array(ONE, ZERO)
    assert insert(call, "NOCREATE", "CAPACITY", "5", "ERROR", "0.5", "ITEMS", "a", "b") == array(ZERO, ONE)


@pytest.mark.parametrize(
    "options",
    [
        ("CAPACITY", "5"),
        ("CAPACITY", "9223372036854775807"),
        ("ERROR", "0.5"),
        ("BITSPERKEY", "3"),
        ("EXPANSION", "7"),
        ("EXPANSION", "0"),
        ("NONSCALING",),
        ("HASH", "FNV1A"),
        ("CAPACITY", "5", "ERROR", "0.5", "EXPANSION", "7"),
    ],
)
def test_options_are_ignored_when_the_filter_exists(call, options):
    for key in ("k", "same"):
        call("BF.RESERVE", key, "0.01", "200", "EXPANSION", "3")
        call("BF.ADD", key, "a")
    assert insert(call, *options, "ITEMS", "a", "b") == array(ZERO, ONE)
    call("BF.ADD", "same", "b")
    assert call("BF.INFO", "k") == call("BF.INFO", "same")
    assert call("DEBUG", "DIGEST-VALUE", "k") == call("DEBUG", "DIGEST-VALUE", "same")


def test_other_type_is_wrongtype_but_only_after_the_options_were_checked(call):
    call("SET", "k", "v")
    assert_refused(call, WRONGTYPE, "BF.INSERT", "k", "ITEMS", "a")
    assert_refused(call, WRONGTYPE, "BF.INSERT", "k", "NOCREATE", "CAPACITY", "10", "ITEMS", "a")
    assert_refused(call, "ERR Bad capacity", "BF.INSERT", "k", "CAPACITY", "0", "ITEMS", "a")
    assert_refused(call, UNKNOWN, "BF.INSERT", "k", "FOO", "ITEMS", "a")


def test_insert_that_creates_a_full_filter_stops_after_one_error_element(call):
    reply = insert(call, "CAPACITY", "2", "ERROR", "1e-9", "NONSCALING", "ITEMS", "a", "b", "c", "d")
    assert reply == array(ONE, ONE, error("ERR non scaling filter is full"))
    assert call("BF.MEXISTS", "k", "a", "b", "c", "d").plain == [1, 1, 0, 0]
