"""BF.RESERVE: every option and error, as RedisBloom has them or as module/docs/COMMANDS.md says otherwise."""

import pytest

from checks import (
    NO_MEMORY,
    WRONGTYPE,
    arity_error,
    assert_one_error,
    assert_refused,
    info,
    layers_of,
)
from resp import NULL_BULK, OK, ONE, array, integer

ERROR_RANGE = "ERR error rate must be in the range (0.000000, 1.000000)"
CAPACITY_RANGE = "ERR capacity must be in the range [1, 9223372036854775807]"
EXPANSION_RANGE = "ERR expansion must be in the range [0, 32768]"
BITS_RANGE = "ERR bits per key must be in the range [1, 256]"
UNKNOWN = "ERR Unknown argument received"
REPEATED = "ERR repeated option"
CANNOT_EXPAND = "ERR Nonscaling filters cannot expand"

NOT_INTEGERS = ["", "abc", "+5", "05", "1.5", "1e3", " 5", "5 ", "5x", "0x10", "9223372036854775808"]


def reserve(call, *tail):
    return call("BF.RESERVE", "k", *tail)


def expansion(call):
    return info(call, "k")["Expansion rate"]


def test_reserve_makes_an_empty_filter_of_the_given_capacity(call):
    assert reserve(call, "0.01", "1234") == OK
    seen = info(call, "k")
    assert seen.pop("Size") > 0
    assert seen == {
        "Capacity": 1234,
        "Number of filters": 1,
        "Number of items inserted": 0,
        "Expansion rate": 2,
    }


# Error rate


@pytest.mark.parametrize("rate", ["", "abc", "nan", "NaN", "-nan", " 0.01", "0.01 ", "0.01x", "1e-400", "0,1"])
def test_error_rate_that_is_no_number_is_refused(call, rate):
    assert_refused(call, "ERR bad error rate", "BF.RESERVE", "k", rate, "100")


@pytest.mark.parametrize("rate", ["0", "-0.0", "0.0", "1", "1.0", "1.5", "-0.1", "-1", "inf", "-inf", "1e300"])
def test_error_rate_outside_zero_to_one_is_refused(call, rate):
    assert_refused(call, ERROR_RANGE, "BF.RESERVE", "k", rate, "100")


@pytest.mark.parametrize("rate", ["1e-2", "1E-2", "1.0E-7", "1e-07", ".5", "0.25", "0.26", "0.5", "0.999999"])
def test_error_rate_between_zero_and_one_is_taken_exponents_too(call, rate):
    assert reserve(call, rate, "100") == OK


@pytest.mark.parametrize("rate", ["0.3", "0.5", "0.9"])
def test_error_rate_over_a_quarter_is_taken_as_given_not_capped(call, rate):
    reserve(call, rate, "100000", "NONSCALING")
    call("BF.RESERVE", "quarter", "0.25", "100000", "NONSCALING")
    assert layers_of(call, "k")[0].bits < layers_of(call, "quarter")[0].bits


def test_smallest_positive_double_as_error_rate_is_an_error(call):
    text = assert_one_error(call, "BF.RESERVE", "k", "5e-324", "1000000")
    assert text in ("ERR could not create filter", NO_MEMORY)


# Capacity


@pytest.mark.parametrize("capacity", NOT_INTEGERS)
def test_capacity_that_is_no_integer_is_refused(call, capacity):
    assert_refused(call, "ERR bad capacity", "BF.RESERVE", "k", "0.01", capacity)


@pytest.mark.parametrize("capacity", ["0", "-1", "-9223372036854775808"])
def test_capacity_below_one_is_refused(call, capacity):
    assert_refused(call, CAPACITY_RANGE, "BF.RESERVE", "k", "0.01", capacity)


@pytest.mark.parametrize("capacity", ["1", "2", "1000000"])
def test_capacity_from_one_up_is_taken(call, capacity):
    assert reserve(call, "0.01", capacity) == OK
    assert info(call, "k")["Capacity"] == int(capacity)


def test_capacity_over_the_two_to_the_thirty_of_redisbloom_is_taken(call):
    assert reserve(call, "BITSPERKEY", "1", 2**30 + 1) == OK
    assert info(call, "k")["Capacity"] == 2**30 + 1


@pytest.mark.parametrize("capacity", ["1000000000000000000", "9223372036854775807"])
@pytest.mark.parametrize("sizing", [("0.01",), ("0.000001",), ("BITSPERKEY", "10"), ("BITSPERKEY", "256")])
def test_capacity_that_no_memory_holds_is_refused(call, sizing, capacity):
    assert_refused(call, NO_MEMORY, "BF.RESERVE", "k", *sizing, capacity)


# Bits per key


@pytest.mark.parametrize("bits", ["1", "10", "9.6", "1e1", "256", "255.5"])
@pytest.mark.parametrize("word", ["BITSPERKEY", "bitsperkey", "BitsPerKey"])
def test_bits_per_key_may_stand_in_place_of_the_error_rate(call, word, bits):
    assert reserve(call, word, bits, "100") == OK
    assert info(call, "k")["Capacity"] == 100


@pytest.mark.parametrize("bits", ["", "abc", "nan", "10x", " 10"])
def test_bits_per_key_that_is_no_number_is_refused(call, bits):
    assert_refused(call, "ERR bad bits per key", "BF.RESERVE", "k", "BITSPERKEY", bits, "100")


@pytest.mark.parametrize("bits", ["0", "0.5", "0.999", "-1", "256.5", "257", "inf", "-inf"])
def test_bits_per_key_outside_1_to_256_are_refused(call, bits):
    assert_refused(call, BITS_RANGE, "BF.RESERVE", "k", "BITSPERKEY", bits, "100")


def test_bits_per_key_without_a_capacity_is_an_arity_error(call):
    assert_refused(call, arity_error("BF.RESERVE"), "BF.RESERVE", "k", "BITSPERKEY", "10")


@pytest.mark.parametrize("capacity, text", [("abc", "ERR bad capacity"), ("0", CAPACITY_RANGE)])
def test_capacity_is_checked_after_bits_per_key_too(call, capacity, text):
    assert_refused(call, text, "BF.RESERVE", "k", "BITSPERKEY", "10", capacity)


# Expansion and NONSCALING


@pytest.mark.parametrize("number", ["1", "2", "4", "32768"])
def test_expansion_is_kept(call, number):
    assert reserve(call, "0.01", "100", "EXPANSION", number) == OK
    assert expansion(call) == int(number)


def test_expansion_without_a_number_is_refused(call):
    assert_refused(call, "ERR no expansion", "BF.RESERVE", "k", "0.01", "100", "EXPANSION")
    assert_refused(call, "ERR no expansion", "BF.RESERVE", "k", "0.01", "100", "LAYOUT", "CLASSIC", "EXPANSION")


@pytest.mark.parametrize("number", NOT_INTEGERS + ["NONSCALING"])
def test_expansion_that_is_no_integer_is_refused(call, number):
    assert_refused(call, "ERR bad expansion", "BF.RESERVE", "k", "0.01", "100", "EXPANSION", number)


@pytest.mark.parametrize("number", ["-1", "32769", "9223372036854775807", "-9223372036854775808"])
def test_expansion_outside_0_to_32768_is_refused(call, number):
    assert_refused(call, EXPANSION_RANGE, "BF.RESERVE", "k", "0.01", "100", "EXPANSION", number)


@pytest.mark.parametrize(
    "tail",
    [
        ("EXPANSION", "0"),
        ("NONSCALING",),
        ("nonscaling",),
        ("NONSCALING", "EXPANSION", "0"),
        ("EXPANSION", "0", "NONSCALING"),
        ("0",),
        ("0", "NONSCALING"),
    ],
)
def test_nonscaling_and_expansion_zero_make_a_nonscaling_filter(call, tail):
    assert reserve(call, "0.01", "100", *tail) == OK
    assert call("BF.INFO", "k", "EXPANSION") == array(NULL_BULK)


@pytest.mark.parametrize(
    "tail",
    [
        ("NONSCALING", "EXPANSION", "2"),
        ("EXPANSION", "2", "NONSCALING"),
        ("EXPANSION", "1", "HASH", "XXH64", "NONSCALING"),
        ("4", "NONSCALING"),
    ],
)
def test_nonscaling_with_an_expansion_is_refused(call, tail):
    assert_refused(call, CANNOT_EXPAND, "BF.RESERVE", "k", "0.01", "100", *tail)


@pytest.mark.parametrize("number", ["1", "4", "32768"])
def test_bare_integer_after_the_capacity_is_the_expansion(call, number):
    assert reserve(call, "0.01", "100", number) == OK
    assert expansion(call) == int(number)


def test_bare_integer_may_be_followed_by_other_options(call):
    assert reserve(call, "BITSPERKEY", "10", "100", "4", "LAYOUT", "CLASSIC", "HASH", "FNV1A") == OK
    assert expansion(call) == 4


@pytest.mark.parametrize("number", ["-1", "32769"])
def test_bare_integer_outside_0_to_32768_is_refused(call, number):
    assert_refused(call, EXPANSION_RANGE, "BF.RESERVE", "k", "0.01", "100", number)


# The tail as a whole


@pytest.mark.parametrize(
    "tail",
    [
        ("EXPANSION", "4", "LAYOUT", "CLASSIC", "HASH", "XXH64"),
        ("HASH", "XXH64", "LAYOUT", "CLASSIC", "EXPANSION", "4"),
        ("LAYOUT", "classic", "EXPANSION", "4", "HASH", "xxh64"),
        ("layout", "Classic", "hash", "Xxh64", "expansion", "4"),
    ],
)
def test_options_are_taken_in_any_order_and_case(call, tail):
    assert reserve(call, "0.01", "100", *tail) == OK
    assert expansion(call) == 4


@pytest.mark.parametrize("scheme", ["XXH64", "FNV1A", "fnv1a"])
@pytest.mark.parametrize("layout", [(), ("LAYOUT", "CLASSIC")])
def test_classic_layout_goes_with_every_hash(call, layout, scheme):
    assert reserve(call, "0.01", "100", "NONSCALING", *layout, "HASH", scheme) == OK
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.EXISTS", "k", "a") == ONE


@pytest.mark.parametrize(
    "tail",
    [
        ("FOO",),
        ("",),
        ("EXP", "4"),
        ("EXPANSIONS", "4"),
        ("NONS",),
        ("NONSCALINGX",),
        ("E", "4"),
        ("FOO", "BAR"),
        ("1.5",),
        ("+4",),
        ("04",),
        ("4", "4"),
        ("EXPANSION", "4", "4"),
        ("NONSCALING", "4"),
        ("BITSPERKEY", "10"),
        ("ERROR", "0.01"),
        ("NOCREATE",),
        ("ITEMS", "a"),
        ("CAPACITY", "10"),
    ],
)
def test_unknown_word_is_refused_not_ignored(call, tail):
    assert_refused(call, UNKNOWN, "BF.RESERVE", "k", "0.01", "100", *tail)


@pytest.mark.parametrize(
    "tail",
    [
        ("EXPANSION", "4", "EXPANSION", "4"),
        ("EXPANSION", "4", "expansion", "5"),
        ("4", "EXPANSION", "4"),
        ("NONSCALING", "NONSCALING"),
        ("LAYOUT", "CLASSIC", "LAYOUT", "CLASSIC"),
        ("HASH", "XXH64", "HASH", "FNV1A"),
        ("EXPANSION", "4", "LAYOUT", "CLASSIC", "HASH", "XXH64", "EXPANSION", "4"),
    ],
)
def test_repeated_option_is_refused(call, tail):
    assert_refused(call, REPEATED, "BF.RESERVE", "k", "0.01", "100", *tail)


def test_more_words_than_any_valid_command_still_get_a_specific_error(call):
    everything = ("EXPANSION", "4", "LAYOUT", "CLASSIC", "HASH", "XXH64")
    assert_refused(call, UNKNOWN, "BF.RESERVE", "k", "0.01", "100", *everything, "FOO", "BAR", "BAZ")
    assert_refused(call, REPEATED, "BF.RESERVE", "k", "0.01", "100", *everything * 2)
    assert_refused(call, UNKNOWN, "BF.RESERVE", "k", "0.01", "100", *["FOO"] * 100)


@pytest.mark.parametrize("option, text", [("LAYOUT", "ERR bad layout: CLASSIC, BLOCKED or COUNTING"), ("HASH", "ERR bad hash: XXH64, FNV1A or SIP13")])
@pytest.mark.parametrize("value", ["FOO", "", "CLASSICAL", "XXH", "XXH3", "EXPANSION"])
def test_unknown_layout_or_hash_is_refused(call, option, text, value):
    assert_refused(call, text, "BF.RESERVE", "k", "0.01", "100", option, value)


@pytest.mark.parametrize("option, text", [("LAYOUT", "ERR no layout"), ("HASH", "ERR no hash")])
def test_layout_or_hash_without_a_value_is_refused(call, option, text):
    assert_refused(call, text, "BF.RESERVE", "k", "0.01", "100", option)
    assert_refused(call, text, "BF.RESERVE", "k", "0.01", "100", "NONSCALING", option)


def test_layout_blocked_takes_eight_bits_in_blocks_of_256(call):
    assert call("BF.RESERVE", "k", "0.01", "1000", "LAYOUT", "blocked") == OK
    layer = layers_of(call, "k")[0]
    assert layer.hashes == 8 and layer.bits % 256 == 0


@pytest.mark.parametrize("order", [("LAYOUT", "BLOCKED", "HASH", "FNV1A"), ("HASH", "FNV1A", "LAYOUT", "BLOCKED")])
def test_layout_blocked_goes_with_hash_xxh64_only(call, order):
    text = "ERR layout BLOCKED goes with hash XXH64 only"
    assert_refused(call, text, "BF.RESERVE", "k", "0.01", "100", *order)


def test_layout_blocked_over_two_to_the_40_bits_is_refused(call):
    text = "ERR layout BLOCKED cannot address more than 2^40 bits"
    assert_refused(call, text, "BF.RESERVE", "k", "BITSPERKEY", "8", 2**37 + 1, "LAYOUT", "BLOCKED")


def test_hash_fnv1a_over_two_to_the_32_bits_is_refused(call):
    text = "ERR hash FNV1A cannot address more than 2^32 bits"
    words = ("BF.RESERVE", "k", "BITSPERKEY", "8")
    assert_refused(call, text, *words, 2**29 + 1, "HASH", "FNV1A")
    assert_refused(call, text, *words, 2**29 + 1, "NONSCALING", "HASH", "fnv1a")
    assert_refused(call, text, "BF.RESERVE", "k", "0.000001", 2**29, "HASH", "FNV1A")
    assert call(*words, 2**29, "HASH", "FNV1A") == OK
    assert layers_of(call, "k")[0].bits == 2**32


# The key, and the order of the checks


def test_reserve_on_a_filter_answers_item_exists_and_keeps_it(call):
    reserve(call, "0.01", "100")
    call("BF.ADD", "k", "a")
    assert_refused(call, "ERR item exists", "BF.RESERVE", "k", "0.01", "100")
    assert_refused(call, "ERR item exists", "BF.RESERVE", "k", "0.5", "7", "NONSCALING")
    assert call("BF.EXISTS", "k", "a") == ONE


BAD_IN_ORDER = [
    (("abc", "abc", "EXPANSION", "abc"), "ERR bad error rate"),
    (("2", "abc", "EXPANSION", "abc"), ERROR_RANGE),
    (("BITSPERKEY", "abc", "abc", "FOO"), "ERR bad bits per key"),
    (("0.01", "abc", "EXPANSION", "abc"), "ERR bad capacity"),
    (("0.01", "0", "FOO"), CAPACITY_RANGE),
    (("0.01", "100", "EXPANSION", "abc"), "ERR bad expansion"),
    (("0.01", "100", "EXPANSION", "2", "NONSCALING"), CANNOT_EXPAND),
    (("0.01", "100", "FOO"), UNKNOWN),
]


@pytest.mark.parametrize("tail, text", BAD_IN_ORDER)
def test_bad_words_win_over_wrongtype_and_over_item_exists_in_this_order(call, tail, text):
    assert_refused(call, text, "BF.RESERVE", "k", *tail)
    call("SET", "k", "v")
    assert_refused(call, text, "BF.RESERVE", "k", *tail)
    call("DEL", "k")
    call("BF.ADD", "k", "a")
    assert_refused(call, text, "BF.RESERVE", "k", *tail)


def test_reserve_on_a_key_of_another_type_is_wrongtype(call):
    call("SET", "k", "v")
    assert_refused(call, WRONGTYPE, "BF.RESERVE", "k", "0.01", "100")


def test_deleted_filter_can_be_reserved_again(call):
    reserve(call, "0.01", "100")
    call("BF.ADD", "k", "a")
    call("DEL", "k")
    assert reserve(call, "0.01", "50") == OK
    assert call("BF.EXISTS", "k", "a") == integer(0)
    assert info(call, "k")["Capacity"] == 50
