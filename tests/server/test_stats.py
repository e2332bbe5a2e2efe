"""BF.STATS, and what BF.MERGE logs. unit/test_statistics.c measures that the estimates and rates are
true."""

import math

import pytest

import rate_model
from checks import add_all, assert_refused, bits_of, card_and_layers, dump, info
from filters import QUIET, Stream, follow, server_info, until_in_sync
from formats_model import ones
from resp import FALSE, NULL, OK, Reply, error

FIELDS = [
    "layout", "hash", "items", "estimated items", "capacity", "utilisation", "promised error rate",
    "current error rate", "bits per key", "bits per item", "fill ratio", "bytes", "expansion", "layers",
    "items are estimated", "state", "advice",
]  # fmt: skip
LAYER_FIELDS = ["capacity", "items", "bits", "hashes", "fill ratio"]
REALS = {"utilisation", "promised error rate", "current error rate", "bits per key", "bits per item", "fill ratio"}
ITEMS = ["item%d" % i for i in range(1000)]


def stats(call3, key):
    reply = call3("BF.STATS", key)
    assert reply.kind == "%" and [name.value for name, _ in reply.value] == FIELDS
    return reply.plain


@pytest.mark.parametrize("words, layout, hash_", [
    (("0.01", "100"), b"CLASSIC", b"XXH64"),
    (("0.01", "100", "LAYOUT", "BLOCKED"), b"BLOCKED", b"XXH64"),
    (("BITSPERKEY", "9.6", "105", "HASH", "FNV1A", "EXPANSION", "4"), b"CLASSIC", b"FNV1A"),
    (("0.02", "2000", "NONSCALING"), b"CLASSIC", b"XXH64"),
])  # fmt: skip
def test_every_field_is_what_the_filter_is(call, call3, words, layout, hash_):
    assert call("BF.RESERVE", "k", *words) == OK
    add_all(call, "k", ITEMS)
    seen, (card, layers), about = stats(call3, "k"), card_and_layers(call, "k"), info(call, "k")
    arrays = [ones(bits) for bits in bits_of(call, "k")]
    m = sum(layer.bits for layer in layers)
    fills = [n / layer.bits for n, layer in zip(arrays, layers)]
    assert (seen["layout"], seen["hash"], seen["items"], seen["bytes"]) == (layout, hash_, card, about["Size"])
    assert (seen["capacity"], seen["expansion"]) == (about["Capacity"], about["Expansion rate"])
    assert seen["utilisation"] == card / about["Capacity"]
    assert seen["fill ratio"] == sum(arrays) / m and seen["bits per item"] == m / card
    estimate = sum(-layer.bits / layer.hashes * math.log(1 - fill) for layer, fill in zip(layers, fills))
    assert abs(seen["estimated items"] - estimate) <= 0.5 + 1e-6
    assert math.isclose(seen["current error rate"], rate_model.stated(layout, hash_, layers, arrays), rel_tol=1e-9)
    by_bits = words[0] == "BITSPERKEY"
    promised = 2 * layers[0].ratio if by_bits else float(words[0])
    assert math.isclose(seen["promised error rate"], promised, rel_tol=1e-5)  # BF.DEBUG has six digits
    assert seen["bits per key"] == (9.6 if by_bits else m / about["Capacity"])
    assert seen["items are estimated"] is False
    for layer, row, fill in zip(layers, seen["layers"], fills):
        assert list(row) == LAYER_FIELDS
        assert list(row.values()) == [layer.capacity, layer.size, layer.bits, layer.hashes, fill]
    assert len(seen["layers"]) == len(layers)


def test_shapes_in_both_protocols(call, call3):
    call("BF.RESERVE", "k", "0.01", "100", "NONSCALING")
    call("BF.ADD", "k", "a")
    new, old = call3("BF.STATS", "k"), call("BF.STATS", "k")
    assert old.kind == "*" and [reply.value for reply in old.value[::2]] == FIELDS
    for (name, value), flat in zip(new.value, old.value[1::2]):
        if name.value in REALS:
            assert value.kind == "," and flat.kind == "$" and float(flat.value) == value.value
        elif name.value == "layers":
            assert (value.kind, value.value[0].kind, flat.kind, flat.value[0].kind) == ("*", "%", "*", "*")
            assert [reply.value for reply in flat.value[0].value[::2]] == LAYER_FIELDS
        elif name.value == "items are estimated":
            assert (value, flat) == (FALSE, Reply(":", 0))
        elif name.value == "expansion":
            assert (value, flat) == (NULL, Reply("$", None))
        else:
            assert value == flat


def test_an_empty_filter_has_no_items_and_is_never_wrong(call, call3):
    call("BF.RESERVE", "k", "0.01", "100")
    seen = stats(call3, "k")
    assert seen["items"] == seen["estimated items"] == seen["fill ratio"] == seen["current error rate"] == 0
    assert seen["bits per item"] == 0 and seen["utilisation"] == 0


def test_missing_key_and_half_loaded_filter(call):
    assert_refused(call, "ERR not found", "BF.STATS", "missing")
    call("BF.ADD", "a", "a")
    header = call("BF.SCANDUMP", "a", 0).plain
    call("BF.LOADCHUNK", "k", *header)
    assert call("BF.STATS", "k") == error("ERR filter is being loaded")


def test_it_says_when_items_are_estimated_also_after_a_reload(call, call3):
    for key in "ab":
        call("BF.RESERVE", key, "0.01", "100")
        call("BF.ADD", key, key)
    call("BF.MERGE", "a", "b")
    call("BF.IMPORT", "c", "FORMAT", "portable", "DATA", call("BF.EXPORT", "b").plain)
    assert call("DEBUG", "RELOAD") == OK
    assert [stats(call3, key)["items are estimated"] for key in "abc"] == [True, False, True]
    call("BF.CLEAR", "a")
    assert stats(call3, "a")["items are estimated"] is False


def test_state_is_ok_full_or_overfilled_with_advice(call, call3):
    call("BF.RESERVE", "k", "0.01", "500", "NONSCALING")
    add_all(call, "k", ITEMS[:400])
    assert (stats(call3, "k")["state"], stats(call3, "k")["advice"]) == (b"ok", b"")
    call("BF.MADD", "k", *ITEMS)
    seen = stats(call3, "k")
    assert seen["state"] == b"full" and b"no new items" in seen["advice"]
    call("BF.RESERVE", "scaling", "0.01", "500")
    add_all(call, "scaling", ITEMS)
    assert stats(call3, "scaling")["state"] == b"ok"
    call("BF.RESERVE", "brim", "0.01", "500")
    for item in ITEMS:
        if call("BF.CARD", "brim").value < 500:
            call("BF.ADD", "brim", item)
    seen = stats(call3, "brim")
    assert (seen["utilisation"], seen["state"]) == (1, b"ok")  # it takes more: it will grow
    m = 8000
    full = (7).to_bytes(4, "little") + m.to_bytes(8, "little") + b"\xff" * (m // 8)
    call("BF.IMPORT", "saturated", "FORMAT", "portable", "DATA", full)
    seen = stats(call3, "saturated")
    assert seen["state"] == b"overfilled" and b"larger" in seen["advice"]
    assert seen["current error rate"] == 1 and seen["fill ratio"] == 1


@pytest.mark.parametrize("words, advice", [
    (("NONSCALING",), b"it will soon take no new items: make a larger one, or one with an expansion"),
    (("LAYOUT", "COUNTING"), b"it will soon take no new items: make a larger one, or delete some"),
])
def test_over_nine_tenths_of_a_capacity_that_cannot_grow_is_nearly_full(call, call3, words, advice):
    call("BF.RESERVE", "k", "0.001", "50", *words)
    call("BF.RESERVE", "growing", "0.001", "50")
    seen = []
    for item in ITEMS[:50]:
        assert call("BF.ADD", "k", item).plain == call("BF.ADD", "growing", item).plain == 1
        seen.append(stats(call3, "k")["state"])
        assert stats(call3, "growing")["state"] == b"ok"
        if len(seen) == 46:
            assert stats(call3, "k")["advice"] == advice
    assert seen == [b"ok"] * 45 + [b"nearly full"] * 4 + [b"full"]


def test_a_counting_filter_that_is_full_is_so_no_more_after_a_deletion(call, call3):
    call("BF.RESERVE", "k", "0.001", "50", "LAYOUT", "COUNTING")
    add_all(call, "k", ITEMS[:50])
    assert (stats(call3, "k")["state"], counted(call)) == (b"full", (1, 0))
    call("BF.DEL", "k", ITEMS[0])
    assert (stats(call3, "k")["state"], counted(call)) == (b"nearly full", (0, 0))
    call("BF.DEL", "k", *ITEMS[:40])
    assert (stats(call3, "k")["state"], counted(call)) == (b"ok", (0, 0))


def counted(call):
    info_bf = server_info(call, "bf")
    return int(info_bf["bf_full"]), int(info_bf["bf_overfilled"])


def test_info_counts_a_filter_in_one_state_at_a_time(call, call3):
    for key in "ab":
        call("BF.RESERVE", key, "0.01", "300", "NONSCALING")
        add_all(call, key, [key + item for item in ITEMS[:300]])
    assert counted(call) == (2, 0)
    call("BF.MERGE", "a", "b")
    assert (stats(call3, "a")["state"], stats(call3, "b")["state"], counted(call)) == (b"overfilled", b"full", (1, 1))
    call("BF.CLEAR", "a")
    assert (stats(call3, "a")["state"], counted(call)) == (b"ok", (1, 0))
    call("DEL", "b")
    assert counted(call) == (0, 0)


def test_a_merge_over_the_promise_is_overfilled_although_the_textbook_sees_no_more_than_chance(call, call3):
    """Strict filters of 1,000 items: double hashing gives more than half of the rate, and the fill to the
    power k is 1.5 times the promise, where the truth is twice."""
    for key, n in (("a", 1000), ("b", 130)):
        call("BF.RESERVE", key, "0.00001", "1000", "NONSCALING")
        while call("BF.CARD", key).value < n:
            call("BF.MADD", key, *(key + str(i) for i in range(n)))
    assert (stats(call3, "a")["state"], counted(call)) == (b"full", (1, 0))
    assert call("BF.MERGE", "a", "b") == OK
    seen = stats(call3, "a")
    assert 1.8 < seen["current error rate"] / seen["promised error rate"] < 2.6
    assert seen["fill ratio"] ** 17 < 2 * 0.00001
    assert (seen["state"], counted(call)) == (b"overfilled", (0, 1))


def test_a_half_loaded_filter_has_no_state(call):
    call("BF.RESERVE", "k", "0.01", "30", "NONSCALING")
    call("BF.MADD", "k", *ITEMS[:40])
    header, *rest = dump(call, "k")
    call("BF.LOADCHUNK", "new", *header)
    assert counted(call) == (1, 0)
    for piece in rest:
        call("BF.LOADCHUNK", "new", *piece)
    assert counted(call) == (2, 0)


def lines(server):
    return [line for line in server.log.splitlines() if "BF.MERGE overfilled" in line]


def make_parts(call):
    for i in range(4):
        call("BF.RESERVE", "part%d\n" % i, "0.01", "300", "NONSCALING")
        add_all(call, "part%d\n" % i, ["%d-%d" % (i, j) for j in range(300)])


def merge_parts(call):
    for i in (1, 2, 3):
        assert call("BF.MERGE", "part0\n", "part%d\n" % i) == OK


def test_a_merge_that_overfills_is_logged_once(server, call, call3):
    make_parts(call)
    before = len(lines(server))
    merge_parts(call)
    assert stats(call3, "part0\n")["state"] == b"overfilled"
    (line,) = lines(server)[before:]
    assert "overfilled part0?: about " in line and "in a capacity of 300" in line and "promised 0.01" in line
    assert call("BF.MERGE", "new", "part0\n") == OK  # another key, another line
    assert len(lines(server)) == before + 2
    assert call("BF.CLEAR", "part0\n") == OK  # and one more after it was emptied
    merge_parts(call)
    assert len(lines(server)) == before + 3


def test_a_replica_and_the_loading_of_a_log_do_not_log_it_again(new_server):
    master = new_server(tcp=True, config={**QUIET, **Stream.CONFIG})
    replica = new_server(config=QUIET)
    follow(replica, master)
    make_parts(master.call)
    merge_parts(master.call)
    until_in_sync(replica, master)
    assert (len(lines(master)), len(lines(replica))) == (1, 0)
    assert replica.call("DEBUG", "DIGEST") == master.call("DEBUG", "DIGEST")
    assert len(lines(master.restart())) == 1
