"""What commands cost beyond their answer: which may call themselves fast, and whose memory becomes
resident."""

import pytest

from redis_server import INSTRUMENTED
from resp import OK

FAST = ["BF.EXISTS", "BF.CARD", "BF.INFO", "BF.COUNT"]
NOT_FAST = [
    "BF.MADD", "BF.INSERT", "BF.MEXISTS", "BF.BULKADD", "BF.BULKEXISTS", "BF.SCANDUMP", "BF.LOADCHUNK", "BF.EXPORT",
    "BF.IMPORT", "BF.MERGE", "BF.INTERSTORE", "BF.CLEAR", "BF.ROTATE", "BF.DEL",
]  # fmt: skip


def flags(call, name):
    (row,) = call("COMMAND", "INFO", name).plain
    return set(row[2])


@pytest.mark.parametrize("name", NOT_FAST)
def test_a_command_whose_work_grows_with_its_arguments_or_its_filter_is_not_fast(call, name):
    assert "fast" not in flags(call, name)


@pytest.mark.parametrize("name", FAST)
def test_a_lookup_of_one_item_or_field_is_fast(call, name):
    assert "fast" in flags(call, name)


GIB = 1 << 30
HUGE = ("BITSPERKEY", "8", GIB, "NONSCALING")  # 1 GiB of bits, none of them set


@pytest.mark.skipif(INSTRUMENTED, reason="sanitizers and valgrind write to all memory")
@pytest.mark.parametrize(
    "words",
    [
        ("COPY", "huge", "k"),
        ("BF.MERGE", "k", "huge"),
        ("BF.MERGE", "huge", "other"),
        ("BF.INTERSTORE", "k", "huge", "other"),
        ("BF.CLEAR", "huge"),
    ],
    ids=lambda words: " ".join(words),
)
def test_combining_fresh_huge_filters_does_not_make_them_resident(call, server, words):
    for key in ("huge", "other"):
        assert call("BF.RESERVE", key, *HUGE) == OK
        assert call("BF.ADD", key, "a").plain == 1
    before = server.rss()
    assert call(*words).plain in ("OK", 1)
    grown = server.rss() - before
    print("%d MiB more are resident" % (grown >> 20))
    assert grown < GIB // 8
