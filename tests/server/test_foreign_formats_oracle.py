"""foreign_formats.py, the oracle of other libraries' filters, against what those libraries made: every answer
and every byte. There is no server in this file."""

import pytest

from foreign_fixtures import FIXTURES
from foreign_formats import Bip37, Cassandra, Guava, Spark
from foreign_hashes import highway128, murmur3_128, spark_hash, xxph3, MASK32

ALL = pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)


@ALL
def test_the_oracle_gives_the_librarys_answers_false_positives_included(fixture):
    model = fixture.model
    answers = [model.contains(item) for item in fixture.probes]
    assert answers == fixture.answers
    assert sum(answers) - fixture.entry["added"] == fixture.entry["false_positives"]


@ALL
def test_the_oracle_builds_the_librarys_bytes_from_the_items(fixture):
    model = fixture.model.empty()
    assert model.set_positions() == []
    assert model.add_all(fixture.added).data == fixture.data


@ALL
def test_the_oracle_writes_what_it_has_read(fixture):
    assert fixture.model.data == fixture.data


@ALL
def test_the_oracle_has_the_vectors_bits_and_bytes(fixture):
    for vector in fixture.vectors:
        read = fixture.decode(vector.data, "vector_config_hash")
        assert (read.m, read.k, read.set_positions()) == (vector.m, vector.k, vector.positions)
        assert sorted(set(read.positions(vector.item))) == vector.positions
        assert read.empty().add_all([vector.item]).data == vector.data


def test_there_are_as_many_fixtures_and_vectors_as_there_were():
    assert len(FIXTURES) == 42
    assert sum(len(one.vectors) for one in FIXTURES.values()) == 330
    assert sum(one.entry["false_positives"] for one in FIXTURES.values()) == 2148


def test_the_hash_functions_have_their_published_values():
    assert "%016x" % xxph3(b"") == "5342c3010fe1dd04"
    assert ["%016x" % h for h in highway128(b"hello")] == ["7fd1d0bcd0c085e1", "70f5d2de26f6a7d9"]
    assert ["%016x" % h for h in murmur3_128(b"\xff")] == ["47da3778a4e290ec", "fa2f17143880ce2e"]
    assert ["%016x" % h for h in murmur3_128(b"\xff", signed_tail=True)] == ["c25a08894c506b7f", "ac0bbee7ce7542c7"]
    assert "%08x" % (spark_hash(b"\x01\x02\xf3", 0) & MASK32) == "ccd57cc7"


def test_the_variant_of_cassandra_3_has_the_positions_of_4_in_the_words_of_2():
    """No recorded file has it."""
    items = [b"%d" % i for i in range(20)]
    new, middle = (Cassandra(192, 4, variant=variant).add_all(items) for variant in ("4.x", "3.x"))
    assert new.bits == middle.bits and new.data != middle.data
    assert Cassandra.decode(middle.data, "3.x").data == middle.data
    assert middle.empty().add_all([b"a"]).set_positions() == [38, 84, 117, 163]


@pytest.mark.parametrize("tweak, expected", [(0, "03614e9b050000000000000001"), (2147483649, "03ce4299050000000100008001")])
def test_bitcoins_own_vectors(tweak, expected):
    items = ["99108ad8ed9bb6274d3980bab5a85c048f0950c8", "b5a2c786d9ef4658287ced5914b37a1b4aa32eee", "b9300670b4c5366e95b2699e8b18bc75e5f729c5"]  # fmt: skip
    model = Bip37(24, 5, tweak=tweak, flags=1).add_all(map(bytes.fromhex, items))
    assert model.data.hex() == expected


def test_a_filter_of_more_than_two_to_the_31_bits_has_its_high_half_used_by_the_64_bit_rules_only():
    """No bits are set here: positions alone."""
    m = 64 * 40436966
    for make in (Guava, Spark):
        for wide in (True, False):
            one = make.__new__(make)
            one.m, one.k, one.seed = m, 7, 0
            one.strategy, one.version = int(wide), 2 if wide else 1
            highest = max(p for i in range(300) for p in one.positions(b"%d" % i))
            assert (highest >= 1 << 31) == wide, (make, wide, highest)
