"""Files of format versions 1, 2 and 3 keep loading in every later version, and each defect of a file is refused
with its own reason.

tests/golden/README.md says who made them; manifest.json in each directory what they must give.
"""

import hashlib
import json
import random
import shutil
import sys
from pathlib import Path

import pytest

from checks import BAD_DATA, assert_refused
from filters import look, same_filter, short_record
from redis_server import ServerDied
from resp import OK, ZERO, error, simple

SERVER_HAS_CLOCK = True
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

import make_golden  # noqa: E402  (the line above must come first)
import make_golden_short  # noqa: E402

FORMAT = GOLDEN.parents[1] / "rdb" / "FORMAT.md"
BAD_FORMAT = "ERR Bad data format"
LOG_LINE = "bloomport: cannot load a filter: "


def manifest(name):
    path = GOLDEN / name / "manifest.json"
    return json.loads(path.read_text()) if path.exists() else {}


ACCEPTED, REJECTED = manifest("accepted"), manifest("rejected")
DUMPS = sorted(name for name in ACCEPTED if name.endswith(".dump"))
FILES = sorted(name for name in ACCEPTED if name.endswith(".rdb"))


def assert_expected(call, key, expected):
    """The filter is the one that was written then."""
    seen = look(call, key)
    if expected.get("is loading"):
        assert seen.is_loading
        for iterator, data in expected["rest"]:
            assert call("BF.LOADCHUNK", key, iterator, bytes.fromhex(data)) == OK
        seen, expected = look(call, key), expected["whole"]
    digest = hashlib.sha256()
    for iterator, data in seen.dump:
        digest.update(b"%d:" % iterator + data)
    assert digest.hexdigest() == expected["scandump sha256"]
    assert seen.card == expected["card"]
    if "window" in expected:
        assert call("BF.INFO", key, "WINDOW").plain == expected["window"]
    info = {name.decode() if isinstance(name, bytes) else name: value for name, value in seen.info.items()}
    info.pop("Size"), expected["info"].pop("Size", None)  # structures may change, bytes may not
    assert info == expected["info"]
    assert "".join(map(str, seen.answers)) == expected["answers"]


def test_there_are_golden_files():
    assert len(DUMPS) >= 9 and len(FILES) >= 2 and len(REJECTED) >= 70


@pytest.mark.parametrize("which", ["accepted", "rejected"])
def test_every_golden_file_is_in_the_manifest(which):
    names = {path.name for path in (GOLDEN / which).iterdir()} - {"manifest.json"}
    assert names == set(manifest(which))


@pytest.mark.parametrize("name", DUMPS)
def test_dump_payload_of_every_version_is_still_restored(call, clock, name):
    expected = ACCEPTED[name]
    clock.stop(expected.get("clock"))  # windows answer by it
    assert call("RESTORE", "k", 0, (GOLDEN / "accepted" / name).read_bytes()) == OK
    assert_expected(call, "k", expected)


SHORT_SINCE = {name + "-CLASSIC.dump": "short-" + name + ".dump" for name in make_golden_short.SHORT_OF}


@pytest.mark.parametrize("name", DUMPS)
def test_what_is_restored_is_dumped_as_the_same_bytes(call, name):
    """But for the server's own version and checksum at the end, pieces that were cut by hand, and small
    filters in version 1, which become short records."""
    assert call("RESTORE", "k", 0, (GOLDEN / "accepted" / name).read_bytes()) == OK
    expected = (GOLDEN / "accepted" / SHORT_SINCE.get(name, name)).read_bytes()
    if name != "small-pieces.dump":
        assert call("DUMP", "k").plain[:-10] == expected[:-10]


@pytest.mark.parametrize("name", SHORT_SINCE)
def test_a_short_record_is_the_same_filter_as_in_version_1(call, name):
    for key, file in (("old", name), ("short", SHORT_SINCE[name])):
        assert call("RESTORE", key, 0, (GOLDEN / "accepted" / file).read_bytes()) == OK
    same_filter(look(call, "old"), look(call, "short"))


def test_a_short_record_is_saved_as_the_format_has_it(call):
    """The example of FORMAT.md, and the bytes that Python makes of the documented fields."""
    assert call("BF.RESERVE", "k", "0.01", 4) == OK
    call("BF.MADD", "k", "a", "b")
    bits = bytes.fromhex("6400892840110800")
    record = short_record(bits, k=7, m=57, capacity=4, items=2)
    assert record.hex() == "030702003900040002007b14ae47e17a843f6400892840110800ce3fa044"
    call("CONFIG", "SET", "rdbcompression", "no")
    assert call("DUMP", "k").plain[:-10] == make_golden.payload([record])[:-10]
    assert record.hex() in FORMAT.read_text(encoding="utf-8").replace(" ", "")


def test_a_short_record_is_refused_as_a_chunk(call):
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", 1, make_golden_short.short())


def test_a_filter_that_forgets_is_still_made_of_the_same_bytes(new_server):
    """The commands that made the golden files make them again."""
    server = new_server(has_clock=True)
    call = server.connection().call
    for key in make_golden.forgetting(server, call):
        assert call("DUMP", key).plain[:-10] == (GOLDEN / "accepted" / (key + ".dump")).read_bytes()[:-10], key


@pytest.mark.parametrize("name", FILES)
def test_rdb_file_of_every_version_is_still_loaded(new_server, name):
    server = new_server(has_clock=True)
    server.clock.stop(ACCEPTED[name].get("clock"))
    server.kill9()
    shutil.copy(GOLDEN / "accepted" / name, Path(server.directory, "dump.rdb"))
    server.start()
    call = server.connection().call
    keys = ACCEPTED[name]["keys"]
    assert call("DBSIZE").plain == len(keys)
    for key, expected in keys.items():
        assert_expected(call, key, expected)


def test_filter_that_the_rejected_files_spoil_is_valid_itself(call):
    """Otherwise the files would be refused for another reason than their own."""
    assert call("RESTORE", "k", 0, make_golden.payload(make_golden.strings())) == OK
    assert call("BF.CARD", "k").plain == sum(layer.items for layer in make_golden.LAYERS)
    fnv1a = make_golden.payload(make_golden.strings(scheme=1))
    assert call("RESTORE", "fnv1a", 0, fnv1a) == OK
    first, second = make_golden.BITS
    arrived = [first[:5] + bytes(len(first) - 5), bytes(len(second))]
    loading = make_golden.payload(make_golden.strings(bits=arrived, flags=1, loaded=5))
    assert call("RESTORE", "loading", 0, loading) == OK
    for key, strings in (("window", make_golden.window_strings()), ("counting", make_golden.counting_strings()),
                         ("short", short_strings())):  # fmt: skip
        assert call("RESTORE", key, 0, make_golden.payload(strings)) == OK


def log_lines(server, start):
    return [line for line in server.log[start:].splitlines() if LOG_LINE in line]


@pytest.mark.parametrize("name", sorted(REJECTED))
def test_defect_is_refused_with_one_log_line_that_names_it(server, call, name):
    start = len(server.log)
    payload = (GOLDEN / "rejected" / name).read_bytes()
    assert call("RESTORE", "k", 0, payload) == error(BAD_FORMAT)
    assert call("EXISTS", "k") == ZERO
    assert call("PING") == simple("PONG")
    expected = REJECTED[name]["log names"]
    if expected is None:
        return  # found by the server, which has its own words
    (line,) = log_lines(server, start)
    assert expected in line.split(LOG_LINE)[1]


@pytest.mark.parametrize("name", [name for name, case in make_golden.rejected_2().items() if case[1] == make_golden.HEADER_FAULT])
def test_defect_of_a_header_of_version_2_is_refused_as_a_chunk_too(call, name):
    _, _, (header, *_) = make_golden.rejected_2()[name]
    assert_refused(call, BAD_DATA, "BF.LOADCHUNK", "k", 1, header)


def test_refused_payload_leaves_the_old_value_in_place(call):
    call("BF.ADD", "k", "a")
    before = call("DEBUG", "DIGEST")
    for name in sorted(REJECTED):
        payload = (GOLDEN / "rejected" / name).read_bytes()
        assert call("RESTORE", "k", 0, payload, "REPLACE") == error(BAD_FORMAT), name
    assert call("DEBUG", "DIGEST") == before


def test_rejected_payloads_take_no_memory(server, call):
    """Everything that was allocated for them is freed. One small filter, about 300 bytes, leaked in
    each of 600 rounds would be 180 kB; the server's own buffers vary by some 40."""
    payloads = [(GOLDEN / "rejected" / name).read_bytes() for name in sorted(REJECTED)]
    connection = server.connection()

    def used_after(rounds):
        for _ in range(rounds):
            replies = connection.pipeline(("RESTORE", "k", 0, payload) for payload in payloads)
            assert all(reply.is_error for reply in replies)
        text = call("INFO", "memory").plain.decode()
        return int(text.split("used_memory:")[1].split()[0])

    before = used_after(rounds=10)
    assert used_after(rounds=600) < before + 100_000
    connection.close()


def body_of(payload):
    return payload[:-10]


def short_strings():
    return [make_golden_short.short()]


ID_BYTES = 10  # the type and the module's id: without them it is another type's payload


# Not of COUNTING: where its last counters are cut off, the server takes its own footer for them.
@pytest.mark.parametrize("strings", [make_golden.strings, make_golden.window_strings, short_strings])
def test_every_truncation_of_a_payload_is_refused(call, strings):
    body = body_of(make_golden.payload(strings()))
    for size in range(ID_BYTES, len(body)):
        payload = make_golden.with_footer(body[:size])
        assert call("RESTORE", "k", 0, payload) == error(BAD_FORMAT), size
    assert call("EXISTS", "k") == ZERO


@pytest.mark.parametrize("strings", [make_golden.strings, make_golden.window_strings, short_strings])
@pytest.mark.parametrize("mask", [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80])
def test_every_bit_flip_of_a_payload_is_refused(call, mask, strings):
    """Every bit after the module's id is flipped; one in the bits changes their number, which the header has."""
    body = body_of(make_golden.payload(strings()))
    for at in range(ID_BYTES, len(body)):
        payload = make_golden.with_footer(make_golden.flipped(body, at, mask))
        assert call("RESTORE", "k", 0, payload) == error(BAD_FORMAT), at
    assert call("EXISTS", "k") == ZERO


def test_random_bytes_after_the_module_id_are_refused(call):
    source = random.Random(11)
    head = body_of(make_golden.payload([]))[:ID_BYTES]
    for _ in range(500):
        payload = make_golden.with_footer(head + source.randbytes(source.randrange(200)))
        assert call("RESTORE", "k", 0, payload) == error(BAD_FORMAT), payload
    assert call("EXISTS", "k") == ZERO


def test_damaged_rdb_file_stops_the_start_with_a_log_line(new_server):
    """By its own rule the server does not start on a part of its data. The line gives the reason."""
    server = new_server()
    call = server.connection().call
    assert call("RESTORE", "k", 0, make_golden.payload(make_golden.strings())) == OK
    call("CONFIG", "SET", "rdbchecksum", "no")
    assert call("SAVE") == OK
    server.kill9()
    path = Path(server.directory, "dump.rdb")
    data = path.read_bytes()
    at = data.index(make_golden.BITS[1])
    path.write_bytes(make_golden.flipped(data[:-8], at, 1) + bytes(8))
    with pytest.raises(ServerDied):
        server.start()
    assert LOG_LINE in server.log
