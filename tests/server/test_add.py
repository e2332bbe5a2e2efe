"""BF.ADD, BF.MADD, BF.EXISTS, BF.MEXISTS and BF.CARD: answers, errors and counts, as RedisBloom has them."""

import pytest

from checks import FULL, add_all, look_up_all, assert_refused, card_and_layers, changes, info
from resp import OK, ONE, ZERO, array, error, integer


def fill(call, key, capacity, *tail):
    """A non-scaling filter that is exactly full; returns the items that answered 1."""
    assert call("BF.RESERVE", key, "0.0001", capacity, *(tail or ("NONSCALING",))) == OK
    counted, i = [], 0
    while len(counted) < capacity:
        if call("BF.ADD", key, "item%d" % i) == ONE:
            counted.append("item%d" % i)
        i += 1
    return counted


def absent_from(call, key, count):
    """Items for which the filter answers 0."""
    names = ["absent%d" % i for i in range(count * 3)]
    return [name for name, seen in zip(names, look_up_all(call, key, names)) if not seen][:count]


# BF.ADD and BF.MADD


def test_add_answers_one_for_a_new_item_and_zero_for_a_present_one(call):
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.ADD", "k", "a") == ZERO
    assert call("BF.ADD", "k", "b") == ONE


def test_add_creates_a_missing_key_with_the_defaults(call):
    call("BF.ADD", "k", "a")
    seen = info(call, "k")
    assert (seen["Capacity"], seen["Expansion rate"], seen["Number of filters"]) == (100, 2, 1)
    call("BF.RESERVE", "same", "0.01", "100")
    assert info(call, "same")["Size"] == seen["Size"]


def test_madd_creates_a_missing_key_with_the_defaults(call):
    assert call("BF.MADD", "k", "a", "b") == array(ONE, ONE)
    seen = info(call, "k")
    assert (seen["Capacity"], seen["Expansion rate"], seen["Number of items inserted"]) == (100, 2, 2)


def test_madd_answers_in_order_one_by_one(call):
    assert call("BF.MADD", "k", "a") == array(ONE)
    assert call("BF.MADD", "k", "b", "a", "c") == array(ONE, ZERO, ONE)


def test_madd_of_the_same_item_twice_answers_one_then_zero(call):
    assert call("BF.MADD", "k", "a", "a", "b", "a", "b") == array(ONE, ZERO, ONE, ZERO, ZERO)
    assert call("BF.CARD", "k") == integer(2)


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 63, 64, 65, 100, 1000, 5000])
def test_madd_and_mexists_answer_each_of_any_number_of_items(call, count):
    call("BF.RESERVE", "k", "1e-9", "10000")
    items = ["item%d" % i for i in range(count)]
    assert call("BF.MADD", "k", *items).plain == [1] * count
    assert call("BF.MEXISTS", "k", *items).plain == [1] * count
    assert call("BF.CARD", "k") == integer(count)


def test_batches_leave_the_same_filter_as_single_adds(call):
    items = ["item%d" % (i % 900) for i in range(1000)]  # some twice; grows on the way
    one_by_one = [call("BF.ADD", "single", item).plain for item in items]
    assert add_all(call, "batch", items, batch=77) == one_by_one
    assert call("DEBUG", "DIGEST-VALUE", "batch") == call("DEBUG", "DIGEST-VALUE", "single")
    assert card_and_layers(call, "batch") == card_and_layers(call, "single")


def test_adding_a_present_item_changes_nothing(call):
    call("BF.MADD", "k", "a", "b")
    before = call("DEBUG", "DIGEST"), changes(call)
    assert call("BF.ADD", "k", "a") == ZERO
    assert call("BF.MADD", "k", "b", "a") == array(ZERO, ZERO)
    assert (call("DEBUG", "DIGEST"), changes(call)) == before


# A full non-scaling filter


@pytest.mark.parametrize("tail", [("NONSCALING",), ("EXPANSION", "0")])
def test_add_of_a_new_item_to_a_full_nonscaling_filter_is_refused(call, tail):
    counted = fill(call, "k", 20, *tail)
    for item in absent_from(call, "k", 3):
        assert_refused(call, FULL, "BF.ADD", "k", item)
    assert call("BF.MEXISTS", "k", *counted).plain == [1] * 20


def test_add_of_a_present_item_to_a_full_nonscaling_filter_answers_zero(call):
    counted = fill(call, "k", 20)
    assert [call("BF.ADD", "k", item) for item in counted] == [ZERO] * 20


@pytest.mark.parametrize("command", [("BF.MADD", "k"), ("BF.INSERT", "k", "ITEMS")])
def test_batch_into_a_full_nonscaling_filter_stops_after_one_error_element(call, command):
    counted = fill(call, "k", 20)
    new = absent_from(call, "k", 2)
    assert call(*command, new[0], counted[0]) == array(error(FULL))
    assert call(*command, counted[0], counted[1], *new, counted[2]) == array(ZERO, ZERO, error(FULL))
    assert call("BF.CARD", "k") == integer(20)
    assert call("PING").value == "PONG"  # the connection is still in step


@pytest.mark.parametrize("command", [("BF.MADD", "k"), ("BF.INSERT", "k", "ITEMS")])
def test_items_before_the_one_that_did_not_fit_stay_inserted(call, command):
    call("BF.RESERVE", "k", "1e-9", "3", "NONSCALING")
    assert call(*command, "a", "b", "a", "c", "d", "e") == array(ONE, ONE, ZERO, ONE, error(FULL))
    assert call("BF.MEXISTS", "k", "a", "b", "c", "d", "e").plain == [1, 1, 1, 0, 0]
    assert call("BF.CARD", "k") == integer(3)


def test_nonscaling_filter_never_gets_a_second_layer(call):
    fill(call, "k", 20)
    call("BF.MADD", "k", *absent_from(call, "k", 10))
    seen = info(call, "k")
    assert (seen["Number of filters"], seen["Capacity"]) == (1, 20)
    assert seen["Number of items inserted"] == 20


def test_full_is_counted_in_items_that_answered_one_not_in_calls(call):
    call("BF.RESERVE", "k", "1e-9", "5", "NONSCALING")
    for _ in range(50):
        call("BF.ADD", "k", "a")
    assert call("BF.MADD", "k", "b", "c", "d", "e") == array(ONE, ONE, ONE, ONE)
    assert call("BF.ADD", "k", "f") == error(FULL)


def test_nonscaling_filter_takes_as_many_ones_as_its_capacity_at_a_high_rate(call):
    call("BF.RESERVE", "k", "0.5", "1000", "NONSCALING")
    answers = [call("BF.ADD", "k", "item%d" % i) for i in range(10_000)]
    ones = answers.count(ONE)
    assert ones == 1000
    assert answers[: answers.index(error(FULL))].count(ONE) == 1000
    assert answers.count(ZERO) > 100  # half of the later items are false positives
    assert call("BF.CARD", "k") == integer(1000)


# BF.EXISTS, BF.MEXISTS, BF.CARD


def test_exists_answers_one_for_added_and_zero_for_absent_items(call):
    call("BF.RESERVE", "k", "1e-9", "100")
    call("BF.ADD", "k", "a")
    assert call("BF.EXISTS", "k", "a") == ONE
    assert call("BF.EXISTS", "k", "b") == ZERO
    assert call("BF.MEXISTS", "k", "b", "a", "b") == array(ZERO, ONE, ZERO)


def test_exists_on_missing_key_answers_zero(call):
    assert call("BF.EXISTS", "k", "a") == ZERO
    assert call("EXISTS", "k") == ZERO


def test_mexists_on_missing_key_answers_a_zero_for_each_item(call):
    assert call("BF.MEXISTS", "k", "a") == array(ZERO)
    assert call("BF.MEXISTS", "k", "a", "b", "a") == array(ZERO, ZERO, ZERO)
    assert call("EXISTS", "k") == ZERO


def test_mexists_of_the_same_item_twice_answers_it_twice(call):
    call("BF.ADD", "k", "a")
    assert call("BF.MEXISTS", "k", "a", "a", "a") == array(ONE, ONE, ONE)


def test_empty_filter_holds_nothing(call):
    call("BF.RESERVE", "k", "0.5", "1")
    assert call("BF.MEXISTS", "k", "", "a", "b").plain == [0, 0, 0]
    assert call("BF.CARD", "k") == ZERO


def test_lookups_change_nothing(call):
    call("BF.ADD", "k", "a")
    before = call("DEBUG", "DIGEST"), changes(call)
    call("BF.EXISTS", "k", "a")
    call("BF.EXISTS", "k", "b")
    call("BF.MEXISTS", "k", "a", "b")
    call("BF.EXISTS", "missing", "b")
    assert (call("DEBUG", "DIGEST"), changes(call)) == before


def test_card_is_the_number_of_adds_that_answered_one(call):
    call("BF.RESERVE", "k", "0.5", "100")
    answers = [call("BF.ADD", "k", "item%d" % i).plain for i in range(500)]
    assert 0 < sum(answers) < 500
    assert call("BF.CARD", "k") == integer(sum(answers))


def test_card_on_missing_key_answers_zero(call):
    assert call("BF.CARD", "k") == ZERO
    assert call("EXISTS", "k") == ZERO
