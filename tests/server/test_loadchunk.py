"""BF.LOADCHUNK of data that it must refuse, and partly loaded filters.

The order of checks for data of `length` bytes at `iterator` on an existing filter: length over
iterator - 1: received bad data; start = iterator - 1 - length past the end: no link found; over the
end of start's layer: too big; start after the end of the last piece: out of sequence. A repeat of
bytes that came before is accepted and changes nothing, as in RedisBloom; other bytes in their place
are bad data (rdb/FORMAT.md 4).
"""

import random

import pytest

from checks import BAD_DATA, LOADING, arity_error, assert_one_error, assert_refused, changes, dump, filter_state
from checks import layers_of, load
from filters import Layer, header
from resp import OK, ONE, ZERO, error, integer, simple

NO_LINK = "ERR invalid offset - no link found"
TOO_BIG = "ERR invalid chunk - Too big for current filter"
OUT_OF_SEQUENCE = "ERR invalid chunk - out of sequence"


@pytest.fixture
def chunks(call):
    """The dump of `k`, a filter of several layers, as [(iterator, data)]."""
    call("BF.RESERVE", "k", "0.01", "10")
    call("BF.MADD", "k", *("item%d" % i for i in range(120)))
    chunks = dump(call, "k")
    assert len(chunks) == 5
    return chunks


@pytest.fixture
def half(call, chunks):
    """`copy`: header and the first layer are there, the rest is still to come."""
    load(call, "copy", chunks[:2])
    return chunks


# The header


def test_header_of_a_filter_half_way_is_refused(call):
    """Only complete filters are dumped; an RDB file may hold such a header."""
    loading = header([Layer(10, 0, 0, 0.01, 7, 100)], flags=1, loaded=5)
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, loading)


def test_header_is_taken_on_a_missing_key_only_at_iterator_one(call, chunks):
    for iterator in ("2", "0", "-1", str(1 + len(chunks[0][1])), "9223372036854775807"):
        assert_refused(call, "ERR not found", "BF.LOADCHUNK", "copy", iterator, chunks[0][1])
    assert call("BF.LOADCHUNK", "copy", "1", chunks[0][1]) == OK
    assert call("TYPE", "copy") == simple("bloomport")


def test_piece_on_a_missing_key_answers_not_found(call, chunks):
    for iterator, data in chunks[1:]:
        assert_refused(call, "ERR not found", "BF.LOADCHUNK", "copy", iterator, data)


@pytest.mark.parametrize("iterator", ["", "abc", "1.5", "+1", "01", "1e3", "9223372036854775808"])
@pytest.mark.parametrize("key", ["k", "copy"])
def test_iterator_that_is_no_integer_is_refused(call, chunks, key, iterator):
    assert_refused(call, "ERR Second argument must be numeric", "BF.LOADCHUNK", key, iterator, chunks[0][1])


def test_every_single_bit_flip_of_the_header_is_refused(call, chunks):
    header = chunks[0][1]
    for at in range(len(header)):
        for bit in range(8):
            bad = bytearray(header)
            bad[at] ^= 1 << bit
            assert call("BF.LOADCHUNK", "copy", 1, bad) == error(BAD_DATA), (at, bit)
    assert call("EXISTS", "copy") == ZERO


def test_every_byte_of_the_header_replaced_is_refused(call, chunks):
    header = chunks[0][1]
    for at in range(len(header)):
        for value in {0, 0xFF, header[at] ^ 0xFF, (header[at] + 1) & 0xFF, 0x7F, 0x80} - {header[at]}:
            bad = bytearray(header)
            bad[at] = value
            assert call("BF.LOADCHUNK", "copy", 1, bad) == error(BAD_DATA), (at, value)
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, bytes(bad))


def test_every_truncation_of_the_header_is_refused(call, chunks):
    header = chunks[0][1]
    for length in range(len(header)):
        assert call("BF.LOADCHUNK", "copy", 1, header[:length]) == error(BAD_DATA), length
    assert call("EXISTS", "copy") == ZERO


@pytest.mark.parametrize("more", [b"\x00", b"\xff", b"\x00" * 53, b"x" * 1000])
def test_header_with_bytes_after_it_is_refused(call, chunks, more):
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, chunks[0][1] + more)
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, more + chunks[0][1])
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, chunks[0][1] * 2)


def test_random_bytes_as_header_are_refused(call):
    source = random.Random(7)
    for _ in range(300):
        bad = bytes(source.randrange(256) for _ in range(source.randrange(200)))
        assert call("BF.LOADCHUNK", "copy", 1, bad) == error(BAD_DATA), bad
    assert call("EXISTS", "copy") == ZERO


def test_bits_sent_as_a_header_are_refused(call, chunks):
    for _, data in chunks[1:]:
        assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, data)


def test_header_on_an_existing_filter_is_refused(call, chunks):
    call("BF.ADD", "copy", "a")
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, chunks[0][1])
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", 1, chunks[0][1])


def test_header_on_a_filter_being_loaded_is_refused(call, half):
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, half[0][1])
    load(call, "copy", half[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")


# Half way

WHILE_LOADING = [
    ("BF.ADD", "copy", "a"),
    ("BF.MADD", "copy", "a", "b"),
    ("BF.INSERT", "copy", "ITEMS", "a"),
    ("BF.INSERT", "copy", "NOCREATE", "ITEMS", "a"),
    ("BF.EXISTS", "copy", "a"),
    ("BF.MEXISTS", "copy", "a", "b"),
    ("BF.CARD", "copy"),
    ("BF.INFO", "copy"),
    ("BF.INFO", "copy", "SIZE"),
    ("BF.DEBUG", "copy"),
    ("BF.SCANDUMP", "copy", "0"),
    ("BF.SCANDUMP", "copy", "1"),
]


@pytest.mark.parametrize("words", WHILE_LOADING, ids=" ".join)
@pytest.mark.parametrize("given", [1, 2, 3, 4])
def test_filter_answers_that_it_is_being_loaded_until_its_last_piece(call, chunks, words, given):
    load(call, "copy", chunks[:given])
    assert_refused(call, LOADING, *words)
    load(call, "copy", chunks[given:])
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_filter_is_being_loaded_until_its_very_last_byte(call, chunks):
    load(call, "copy", chunks[:-1])
    iterator, data = chunks[-1]
    assert call("BF.LOADCHUNK", "copy", iterator - 1, data[:-1]) == OK
    assert_refused(call, LOADING, "BF.EXISTS", "copy", "item1")
    assert call("BF.LOADCHUNK", "copy", iterator, data[-1:]) == OK
    assert call("BF.EXISTS", "copy", "item1") == ONE


def test_filter_with_no_bit_set_still_needs_its_pieces(call):
    call("BF.RESERVE", "k", "0.01", "100")
    chunks = dump(call, "k")
    assert not any(chunks[1][1])
    load(call, "copy", chunks[:1])
    assert_refused(call, LOADING, "BF.EXISTS", "copy", "a")
    load(call, "copy", chunks[1:])
    assert call("BF.EXISTS", "copy", "a") == ZERO


def test_reserve_on_a_filter_being_loaded_answers_item_exists(call, half):
    assert_refused(call, "ERR item exists", "BF.RESERVE", "copy", "0.01", "100")


def test_filter_being_loaded_can_be_deleted_and_started_again(call, half):
    assert call("DEL", "copy") == ONE
    load(call, "copy", half)
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_filter_being_loaded_survives_a_reload_of_the_server_and_can_be_finished(call, half):
    assert call("DEBUG", "RELOAD") == OK
    assert call("BF.EXISTS", "copy", "item1") == error(LOADING)
    load(call, "copy", half[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_pieces_may_be_smaller_than_dumped_if_they_follow_one_another(call, chunks):
    load(call, "copy", chunks[:1])
    at = 1
    for _, data in chunks[1:]:
        for start in range(0, len(data), 7):
            piece = data[start : start + 7]
            at += len(piece)
            assert call("BF.LOADCHUNK", "copy", at, piece) == OK
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_empty_piece_where_the_next_would_start_is_taken_and_changes_nothing(call, half):
    assert call("BF.LOADCHUNK", "copy", half[1][0], b"") == OK
    load(call, "copy", half[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")


# Wrong places


def refuse_then_finish(call, half, text, iterator, data):
    """The bad piece gets its error and the good ones still complete the filter."""
    assert_refused(call, text, "BF.LOADCHUNK", "copy", iterator, data)
    load(call, "copy", half[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")


@pytest.mark.parametrize("iterator", ["0", "-1", "-9223372036854775808", "2", "5"])
def test_piece_longer_than_its_iterator_is_bad_data(call, half, iterator):
    refuse_then_finish(call, half, BAD_DATA, iterator, b"x" * 40)


@pytest.mark.parametrize("beyond", [1, 2, 1000, 2**40, 2**62])
def test_piece_that_starts_past_the_end_finds_no_link(call, half, beyond):
    refuse_then_finish(call, half, NO_LINK, half[-1][0] + beyond, b"x")


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 100])
def test_piece_at_the_largest_iterator_finds_no_link(call, half, data):
    refuse_then_finish(call, half, NO_LINK, 2**63 - 1, data)


def test_piece_over_the_end_of_its_layer_is_too_big(call, half):
    start, layer = half[1][0], half[2][1]
    longer = layer + b"\x00"
    refuse_then_finish(call, half, TOO_BIG, start + len(longer), longer)


def test_whole_rest_in_one_piece_is_too_big(call, half):
    rest = b"".join(data for _, data in half[2:])
    refuse_then_finish(call, half, TOO_BIG, half[-1][0], rest)


def test_piece_over_the_end_of_the_last_layer_is_refused(call, chunks):
    load(call, "copy", chunks[:-1])
    iterator, data = chunks[-1]
    text = assert_one_error(call, "BF.LOADCHUNK", "copy", iterator + 1, data + b"\x00")
    assert text in (TOO_BIG, NO_LINK)  # both are true: it crosses the end, and iterator is beyond it
    load(call, "copy", chunks[-1:])
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_piece_after_a_gap_is_out_of_sequence(call, half):
    refuse_then_finish(call, half, OUT_OF_SEQUENCE, *half[3])


def test_last_piece_first_is_out_of_sequence(call, half):
    refuse_then_finish(call, half, OUT_OF_SEQUENCE, *half[4])


def test_gap_of_one_byte_within_a_layer_is_out_of_sequence(call, half):
    iterator, data = half[2]
    refuse_then_finish(call, half, OUT_OF_SEQUENCE, iterator, data[1:])


def test_piece_that_came_before_is_taken_again_and_changes_nothing(call, half):
    iterator, data = half[1]
    before = call("DEBUG", "DIGEST"), changes(call)
    assert call("BF.LOADCHUNK", "copy", iterator, data) == OK
    assert call("BF.LOADCHUNK", "copy", iterator, data[5:]) == OK
    assert call("BF.LOADCHUNK", "copy", iterator - 3, data[:-3]) == OK
    assert (call("DEBUG", "DIGEST"), changes(call)) == before
    load(call, "copy", half[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_other_bytes_in_place_of_a_piece_that_came_before_are_refused(call, half):
    iterator, data = half[1]
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 1
        assert call("BF.LOADCHUNK", "copy", iterator, bad) == error(BAD_DATA)
    refuse_then_finish(call, half, BAD_DATA, iterator, bad)


def test_piece_that_overlaps_what_came_before_with_other_bytes_is_refused(call, chunks):
    load(call, "copy", chunks[:1])
    iterator, data = chunks[1]
    half_way = len(data) // 2
    assert call("BF.LOADCHUNK", "copy", 1 + half_way, data[:half_way]) == OK
    bad = bytearray(data)
    bad[0] ^= 1
    assert_one_error(call, "BF.LOADCHUNK", "copy", iterator, bad)
    load(call, "copy", [(iterator, data[half_way:])] + chunks[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_whole_filter_takes_its_own_pieces_again_and_no_others(call, chunks):
    before = call("DEBUG", "DIGEST"), changes(call)
    load(call, "k", chunks[1:])
    assert (call("DEBUG", "DIGEST"), changes(call)) == before
    for iterator, data in chunks[1:]:
        assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", iterator, b"\xff" * len(data))


def test_made_filter_cannot_be_overwritten_by_pieces(call):
    call("BF.RESERVE", "other", "0.01", "10")
    nbytes = layers_of(call, "other")[0].bytes
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "other", 1 + nbytes, b"\xff" * nbytes)


def test_pieces_that_do_not_add_up_to_the_header_are_refused_and_can_be_sent_again(call, half):
    """The header says how many bits are set; a bit more or less shows with the last piece."""
    load(call, "copy", half[2:-1])
    iterator, data = half[-1]
    set_bit = next(at for at, byte in enumerate(data) if byte & 1)
    clear_bit = next(at for at, byte in enumerate(data) if not byte & 1)
    for at in (set_bit, clear_bit):
        bad = bytearray(data)
        bad[at] ^= 1
        assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", iterator, bad)
        assert call("BF.EXISTS", "copy", "item1") == error(LOADING)
    load(call, "copy", half[-1:])
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_bits_beyond_the_last_one_are_refused(call):
    """12 bits are in two bytes; a set bit above them would never be cleared and count as filled."""
    call("BF.RESERVE", "k", "BITSPERKEY", "12", "1", "NONSCALING")
    call("BF.ADD", "k", "a")
    (_, header), (iterator, data) = dump(call, "k")
    assert layers_of(call, "k")[0].bits == 12 and len(data) == 2
    one_less = data[0] & (data[0] - 1)  # so that a bit moved beyond the end leaves their number
    assert data[0] != one_less
    for first, bit in ((data[0], 0x10), (data[0], 0xF0), (one_less, 0x10), (one_less, 0x80)):
        call("DEL", "copy")
        assert call("BF.LOADCHUNK", "copy", 1, header) == OK
        bad = bytes([first, data[1] | bit])
        assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", iterator, bad)
        assert call("BF.LOADCHUNK", "copy", iterator, data) == OK
        assert filter_state(call, "copy") == filter_state(call, "k")


def test_wrong_number_of_words_is_an_arity_error(call, chunks):
    assert_refused(call, arity_error("BF.LOADCHUNK"), "BF.LOADCHUNK", "copy", 1)
    assert_refused(call, arity_error("BF.LOADCHUNK"), "BF.LOADCHUNK", "copy", 1, chunks[0][1], "REPLACE", "x")
    assert_refused(call, "ERR Unknown argument received", "BF.LOADCHUNK", "copy", 1, chunks[0][1], "x")


def test_replace_with_the_header_drops_the_filter_that_is_there_with_its_ttl(call, chunks):
    call("BF.ADD", "copy", "old")
    assert_refused(call, "ERR REPLACE goes with the header only, iterator 1", "BF.LOADCHUNK", "copy", 2, b"x", "REPLACE")
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "copy", 1, b"no header", "REPLACE")
    call("EXPIRE", "copy", 1000)
    for (iterator, data), more in zip(chunks, [["replace"]] + [[]] * len(chunks)):
        assert call("BF.LOADCHUNK", "copy", iterator, data, *more) == OK
    assert filter_state(call, "copy") == filter_state(call, "k")
    assert call("TTL", "copy").plain == -1


def test_random_iterators_and_lengths_never_hurt(call, half):
    """Each piece gets one reply, and the filter can still be finished with the right bytes."""
    source = random.Random(20240602)
    total = half[-1][0]
    for _ in range(500):
        iterator = source.choice([source.randrange(-5, total + 50), source.randrange(-(2**63), 2**63)])
        data = bytes([0xA5]) * source.randrange(1, total + 20)
        if iterator - 1 - len(data) == half[1][0] - 1:
            continue  # by chance the right place
        assert call("BF.LOADCHUNK", "copy", iterator, data).is_error
    load(call, "copy", half[2:])
    assert filter_state(call, "copy") == filter_state(call, "k")
    assert call("DBSIZE") == integer(2)
