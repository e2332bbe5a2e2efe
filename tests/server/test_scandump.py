"""BF.SCANDUMP, and loading its pieces with BF.LOADCHUNK without errors."""

import pytest

from checks import CHUNK_LIMIT, add_all, look_up_all, assert_refused, bits_of, changes, dump, filter_state
from checks import info, layers_of, load
from resp import OK, array, bulk, integer

END = array(integer(0), bulk(b""))

SHAPES = {
    "empty": (("0.01", "100"), 0),
    "one item": (("0.01", "100"), 1),
    "one bit": (("BITSPERKEY", "1", "1", "NONSCALING"), 1),
    "five layers": (("0.01", "10"), 200),
    "many layers": (("0.01", "3", "EXPANSION", "1"), 200),
    "nonscaling and full": (("0.01", "50", "NONSCALING"), 60),
    "bits per key, grown": (("BITSPERKEY", "9.6", "13", "EXPANSION", "4"), 300),
    "fnv1a, grown": (("0.001", "20", "HASH", "FNV1A"), 300),
    "expansion 32768": (("0.01", "7", "EXPANSION", "32768"), 6),
}


def make(call, key, shape):
    words, count = SHAPES[shape]
    assert call("BF.RESERVE", key, *words) == OK
    if count:
        call("BF.MADD", key, *("item%d" % i for i in range(count)))


def test_dump_starts_with_the_header_at_iterator_one(call):
    make(call, "k", "one item")
    reply = call("BF.SCANDUMP", "k", 0)
    assert reply.kind == "*" and [part.kind for part in reply.value] == [":", "$"]
    assert reply.value[0] == integer(1)
    assert len(reply.value[1].value) > 0


def test_dump_of_one_layer_is_header_bits_and_end(call):
    make(call, "k", "one item")
    nbytes = layers_of(call, "k")[0].bytes
    following, bits = call("BF.SCANDUMP", "k", 1).plain
    assert following == 1 + nbytes and len(bits) == nbytes
    assert call("BF.SCANDUMP", "k", following) == END


@pytest.mark.parametrize("shape", SHAPES)
def test_pieces_are_the_layers_one_after_another(call, shape):
    make(call, "k", shape)
    chunks = dump(call, "k")
    assert chunks[0][0] == 1
    ends, at = [], 1
    for layer in layers_of(call, "k"):
        at += layer.bytes
        ends.append(at)
    assert [iterator for iterator, _ in chunks[1:]] == ends
    assert [len(data) for _, data in chunks[1:]] == [layer.bytes for layer in layers_of(call, "k")]


@pytest.mark.parametrize("iterator", ["-1", "-2", "-9223372036854775808", "1000000", "9223372036854775807"])
def test_dump_past_the_end_or_at_a_negative_iterator_is_the_end(call, iterator):
    make(call, "k", "five layers")
    assert call("BF.SCANDUMP", "k", iterator) == END


def test_dump_from_any_byte_gives_the_rest_of_its_layer(call):
    make(call, "k", "five layers")
    arrays = bits_of(call, "k")
    iterator = 1
    for bits in arrays:
        for skipped in range(len(bits)):
            expected = array(integer(iterator + len(bits)), bulk(bits[skipped:]))
            assert call("BF.SCANDUMP", "k", iterator + skipped) == expected
        iterator += len(bits)
    assert call("BF.SCANDUMP", "k", iterator) == END


@pytest.mark.parametrize("iterator", ["", "abc", "1.5", "+1", "01", "1e3", "9223372036854775808"])
def test_dump_iterator_that_is_no_integer_is_refused(call, iterator):
    make(call, "k", "one item")
    assert_refused(call, "ERR Second argument must be numeric", "BF.SCANDUMP", "k", iterator)


@pytest.mark.parametrize("iterator", ["0", "1", "5"])
def test_dump_of_a_missing_key_answers_not_found(call, iterator):
    assert_refused(call, "ERR not found", "BF.SCANDUMP", "k", iterator)


def test_dumping_changes_nothing(call):
    make(call, "k", "five layers")
    before = call("DEBUG", "DIGEST"), changes(call)
    dump(call, "k")
    assert (call("DEBUG", "DIGEST"), changes(call)) == before


def test_equal_filters_have_equal_dumps(call):
    for key in ("k", "other"):
        make(call, key, "five layers")
    assert dump(call, "k") == dump(call, "other")


# Round trips


@pytest.mark.parametrize("shape", SHAPES)
def test_loaded_dump_is_the_same_filter(call, shape):
    make(call, "k", shape)
    load(call, "copy", dump(call, "k"))
    assert filter_state(call, "copy") == filter_state(call, "k")
    probes = ["item%d" % i for i in range(500)] + ["absent%d" % i for i in range(500)]
    assert look_up_all(call, "copy", probes) == look_up_all(call, "k", probes)


@pytest.mark.parametrize("shape", SHAPES)
def test_loaded_filter_goes_on_like_the_original(call, shape):
    """RedisBloom once crashed when a loaded filter grew."""
    if shape == "expansion 32768":
        pytest.skip("its next layer is large and shows nothing more")
    make(call, "k", shape)
    load(call, "copy", dump(call, "k"))
    later = ["later%d" % i for i in range(300)]
    assert call("BF.MADD", "copy", *later) == call("BF.MADD", "k", *later)
    assert filter_state(call, "copy") == filter_state(call, "k")


def test_dump_moves_to_another_server_with_other_settings(call, new_server):
    make(call, "k", "five layers")
    settings = ["error-rate", "0.3", "initial-size", "7", "expansion-factor", "5"]
    other = new_server(module_args=settings).connection().call
    load(other, "k", dump(call, "k"))
    assert filter_state(other, "k") == filter_state(call, "k")
    later = ["later%d" % i for i in range(300)]
    assert other("BF.MADD", "k", *later) == call("BF.MADD", "k", *later)
    assert filter_state(other, "k") == filter_state(call, "k")


def test_filter_of_40_mib_travels_in_pieces_of_at_most_16_mib(call):
    """8 bits for each of 41943040 keys are 40 MiB; a second, small layer does not share a piece."""
    assert call("BF.RESERVE", "k", "BITSPERKEY", "8", 40 * 1024 * 1024, "NONSCALING") == OK
    add_all(call, "k", ["item%d" % i for i in range(50_000)])
    chunks = dump(call, "k")
    sizes = [len(data) for _, data in chunks[1:]]
    assert sizes == [CHUNK_LIMIT, CHUNK_LIMIT, 8 * 1024 * 1024]
    assert [it for it, _ in chunks] == [1, 1 + CHUNK_LIMIT, 1 + 2 * CHUNK_LIMIT, 1 + 40 * 1024 * 1024]
    load(call, "copy", chunks)
    assert info(call, "copy") == info(call, "k")
    assert call("DEBUG", "DIGEST-VALUE", "copy") == call("DEBUG", "DIGEST-VALUE", "k")
    assert dump(call, "copy") == chunks
    assert look_up_all(call, "copy", ["item%d" % i for i in range(50_000)]) == [1] * 50_000


def test_piece_of_16_mib_and_one_byte_is_two_pieces(call):
    call("BF.RESERVE", "k", "BITSPERKEY", "8", CHUNK_LIMIT + 1, "NONSCALING")
    call("BF.ADD", "k", "a")
    assert [len(data) for _, data in dump(call, "k")[1:]] == [CHUNK_LIMIT, 1]


def test_pieces_never_cross_a_layer(call):
    call("BF.RESERVE", "k", "0.01", "3")
    call("BF.MADD", "k", *range(100))
    layers = layers_of(call, "k")
    assert len(layers) > 3
    assert [len(data) for _, data in dump(call, "k")[1:]] == [layer.bytes for layer in layers]
