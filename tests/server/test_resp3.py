"""Reply shapes over RESP3, and that a RESP2 connection beside it keeps its own."""

import pytest

from checks import INFO_FIELDS
from resp import FALSE, NULL, OK, ONE, TRUE, ZERO, array, bulk, error, integer, mapping, simple


def test_reserve_answers_ok(call3):
    assert call3("BF.RESERVE", "k", "0.01", "100") == OK


def test_add_and_exists_answer_booleans(call3):
    assert call3("BF.ADD", "k", "a") == TRUE
    assert call3("BF.ADD", "k", "a") == FALSE
    assert call3("BF.EXISTS", "k", "a") == TRUE
    assert call3("BF.EXISTS", "k", "absent") == FALSE
    assert call3("BF.EXISTS", "missing", "a") == FALSE


def test_batches_answer_arrays_of_booleans(call3):
    assert call3("BF.MADD", "k", "a", "b", "a") == array(TRUE, TRUE, FALSE)
    assert call3("BF.INSERT", "k", "ITEMS", "a", "c") == array(FALSE, TRUE)
    assert call3("BF.MEXISTS", "k", "a", "absent") == array(TRUE, FALSE)
    assert call3("BF.MEXISTS", "missing", "a", "b") == array(FALSE, FALSE)


@pytest.mark.parametrize("command", [("BF.MADD", "k"), ("BF.INSERT", "k", "ITEMS")], ids=lambda words: words[0])
def test_batch_into_a_full_filter_ends_with_one_error_element(call3, command):
    call3("BF.RESERVE", "k", "1e-9", "2", "NONSCALING")
    reply = call3(*command, "a", "a", "b", "c", "d")
    assert reply == array(TRUE, FALSE, TRUE, error("ERR non scaling filter is full"))
    assert call3("PING") == simple("PONG")


def test_card_answers_an_integer(call3):
    call3("BF.ADD", "k", "a")
    assert call3("BF.CARD", "k") == ONE
    assert call3("BF.CARD", "missing") == ZERO


def test_info_is_a_map_of_five_with_simple_string_names_in_order(call3):
    call3("BF.RESERVE", "k", "0.01", "100", "EXPANSION", "3")
    call3("BF.ADD", "k", "a")
    reply = call3("BF.INFO", "k")
    size = reply.value[1][1]
    assert size.kind == ":" and size.value > 0
    assert reply == mapping(
        (simple("Capacity"), integer(100)),
        (simple("Size"), size),
        (simple("Number of filters"), integer(1)),
        (simple("Number of items inserted"), integer(1)),
        (simple("Expansion rate"), integer(3)),
    )


@pytest.mark.parametrize("word, name", INFO_FIELDS.items())
def test_info_of_one_field_is_a_map_of_one_pair_with_the_long_name(call3, word, name):
    call3("BF.RESERVE", "k", "0.01", "100")
    call3("BF.ADD", "k", "a")
    (expected,) = [pair for pair in call3("BF.INFO", "k").value if pair[0] == simple(name)]
    assert call3("BF.INFO", "k", word) == mapping(expected)


def test_expansion_rate_of_a_nonscaling_filter_is_null(call3):
    call3("BF.RESERVE", "k", "0.01", "100", "NONSCALING")
    assert call3("BF.INFO", "k", "EXPANSION") == mapping((simple("Expansion rate"), NULL))
    assert call3("BF.INFO", "k").value[4] == (simple("Expansion rate"), NULL)


def test_debug_and_scandump_are_the_same_in_both_protocols(call, call3):
    call("BF.RESERVE", "k", "0.01", "10")
    call("BF.MADD", "k", *range(50))
    assert call3("BF.DEBUG", "k") == call("BF.DEBUG", "k")
    for iterator in (0, 1, 2, 1_000_000):
        assert call3("BF.SCANDUMP", "k", iterator) == call("BF.SCANDUMP", "k", iterator)
    assert call3("BF.SCANDUMP", "k", -1) == array(integer(0), bulk(b""))


def test_loadchunk_answers_ok(call3):
    call3("BF.ADD", "k", "a")
    for iterator in (0, 1):
        following, data = call3("BF.SCANDUMP", "k", iterator).plain
        assert call3("BF.LOADCHUNK", "copy", following, data) == OK
    assert call3("BF.EXISTS", "copy", "a") == TRUE


@pytest.mark.parametrize(
    "words, text",
    [
        (("BF.RESERVE", "k", "2", "100"), "ERR error rate must be in the range (0.000000, 1.000000)"),
        (("BF.INFO", "k"), "ERR not found"),
        (("BF.ADD", "k"), "ERR wrong number of arguments for 'bf.add' command"),
    ],
    ids=["range", "not found", "arity"],
)
def test_errors_are_the_same_in_both_protocols(call, call3, words, text):
    assert call3(*words) == call(*words) == error(text)


def test_each_connection_has_its_own_protocol(call, call3):
    assert call3("BF.ADD", "k", "a") == TRUE
    assert call("BF.EXISTS", "k", "a") == ONE
    assert call3("BF.EXISTS", "k", "a") == TRUE


def test_multi_answers_booleans_too(call3):
    call3("MULTI")
    call3("BF.ADD", "k", "a")
    call3("BF.INFO", "k", "ITEMS")
    expected = mapping((simple("Number of items inserted"), ONE))
    assert call3("EXEC") == array(TRUE, expected)


def test_lua_sees_integers_unless_it_sets_resp3(call3):
    assert call3("EVAL", "return redis.call('BF.ADD', KEYS[1], 'a')", 1, "k") == ONE
    script = "redis.setresp(3); return redis.call('BF.EXISTS', KEYS[1], 'a')"
    assert call3("EVAL", script, 1, "k") == TRUE
