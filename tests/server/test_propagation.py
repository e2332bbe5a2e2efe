"""What a command sends to replicas and the AOF: all that is needed, and only what changed the data.

The stream is read from the AOF (filters.py: Stream); replicas are sent the same.
"""

import pytest

from checks import FULL, GROWTH_FAILED, NO_MEMORY, changes, dump, info, settings
from filters import QUIET, Filters, Stream, follow, look, same_filter, server_info, until_in_sync
from resp import OK, ONE, ZERO, array, error, integer

SERVER_CONFIG = Stream.CONFIG

# Other than the defaults everywhere, so that a parameter left out would show.
SETTINGS = {
    "bf.error-rate": "0.003",
    "bf.bits-per-key": "0",
    "bf.initial-size": "70",
    "bf.expansion-factor": "3",
    "bf.max-bytes": "0",
}


@pytest.fixture
def stream(call, stream):
    for name, value in SETTINGS.items():
        assert call("CONFIG", "SET", name, value) == OK
    return stream


def words_of(command):
    return [word.decode("latin-1") for word in command]


def options_of(words):
    """{OPTION: value} of the words after the positional ones."""
    return dict(zip(words[::2], words[1::2]))


# What creates a filter carries every parameter it used


def test_reserve_propagates_what_the_settings_gave_it(call, stream):
    assert call("BF.RESERVE", "k", "0.01", "100") == OK
    (command,) = stream.take()
    name, key, rate, capacity, *options = words_of(command)
    assert (name, key, float(rate), capacity) == ("BF.RESERVE", "k", 0.01, "100")
    assert options_of(options) == {"EXPANSION": "3", "LAYOUT": "CLASSIC", "HASH": "XXH64"}


def test_reserve_by_bits_per_key_propagates_the_bits_in_full(call, stream):
    assert call("BF.RESERVE", "k", "BITSPERKEY", "9.600000000000001", "100", "HASH", "FNV1A", "NONSCALING") == OK
    (command,) = stream.take()
    name, key, word, bits, capacity, *options = words_of(command)
    assert (name, key, word, float(bits), capacity) == ("BF.RESERVE", "k", "BITSPERKEY", 9.600000000000001, "100")
    assert options_of(options) == {"EXPANSION": "0", "LAYOUT": "CLASSIC", "HASH": "FNV1A"}


@pytest.mark.parametrize("rate", ["0.1", "0.3333333333333333", "1e-9", "0.9999999999999999", "1.0000000000000002e-12"])
def test_error_rate_is_propagated_to_the_last_bit(call, stream, rate):
    assert call("BF.INSERT", "k", "ERROR", rate, "CAPACITY", "2", "ITEMS", "a").plain == [1]
    (command,) = stream.take()
    assert float(options_of(words_of(command)[2:])["ERROR"]) == float(rate)


CREATORS = [("BF.ADD", "k", "a"), ("BF.MADD", "k", "a", "b"), ("BF.INSERT", "k", "ITEMS", "a", "b")]


@pytest.mark.parametrize("words", CREATORS, ids=lambda words: words[0])
def test_creation_by_an_add_propagates_every_parameter_and_the_items(call, stream, words):
    call(*words).plain
    (command,) = stream.take()
    name, key, *options = words_of(command)
    at = options.index("ITEMS")
    assert (name, key, options[at + 1 :]) == ("BF.INSERT", "k", ["a", "b"][: len(options) - at - 1])
    given = options_of(options[:at])
    assert float(given.pop("ERROR")) == 0.003
    assert given == {"CAPACITY": "70", "EXPANSION": "3", "LAYOUT": "CLASSIC", "HASH": "XXH64"}


@pytest.mark.parametrize("words", CREATORS, ids=lambda words: words[0])
def test_creation_by_an_add_under_bits_per_key_propagates_the_bits(call, stream, words):
    assert call("CONFIG", "SET", "bf.bits-per-key", "11.7") == OK
    call(*words).plain
    (command,) = stream.take()
    given = words_of(command)
    options = options_of(given[2 : given.index("ITEMS")])
    assert float(options.pop("BITSPERKEY")) == 11.7
    assert options == {"CAPACITY": "70", "EXPANSION": "3", "LAYOUT": "CLASSIC", "HASH": "XXH64"}


def test_insert_propagates_its_own_parameters_over_those_of_the_settings(call, stream):
    words = "CAPACITY 33 ERROR 0.02 NONSCALING HASH FNV1A ITEMS".split()
    call("BF.INSERT", "k", *words, "a")
    (command,) = stream.take()
    given = words_of(command)
    options = options_of(given[2 : given.index("ITEMS")])
    assert float(options.pop("ERROR")) == 0.02
    assert options == {"CAPACITY": "33", "EXPANSION": "0", "LAYOUT": "CLASSIC", "HASH": "FNV1A"}


@pytest.mark.parametrize(
    "words",
    [
        ("BF.RESERVE", "k", "0.01", "100"),
        ("BF.RESERVE", "k", "BITSPERKEY", "7.3", "100", "NONSCALING"),
        ("BF.RESERVE", "k", "0.2", "10", "4"),
        *CREATORS,
        ("BF.INSERT", "k", "CAPACITY", "5", "ITEMS", *map(str, range(40))),
        ("BF.INSERT", "k", "BITSPERKEY", "3.3", "HASH", "fnv1a", "EXPANSION", "0", "ITEMS", "a"),
    ],
    ids=lambda words: " ".join(words[:4]),
)
def test_stream_replayed_under_other_settings_gives_the_same_filter(call, stream, words):
    call(*words).plain
    for batch in (["a", "b"], ["b", "c"], [str(i) for i in range(300)]):
        call("BF.MADD", "k", *batch)
    before = look(call, "k")
    replay = stream.take()
    assert call("DEL", "k") == ONE
    others = {"error-rate": "0.4", "bits-per-key": "30", "initial-size": "3", "expansion-factor": "0"}
    for name, value in others.items():
        assert call("CONFIG", "SET", "bf." + name, value) == OK
    for command in replay:
        call(*command)
    same_filter(before, look(call, "k"))


def test_creation_over_an_expired_key_propagates_the_deletion_first(call, stream):
    call("BF.ADD", "k", "a")
    call("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    call("PEXPIRE", "k", 100)  # a slow server deletes the key at once if its time is already over
    call("DEBUG", "SLEEP", "0.2")
    stream.take()
    call("BF.ADD", "k", "b")
    call("DEBUG", "SET-ACTIVE-EXPIRE", 1)
    names = [command[0].upper() for command in stream.take()]
    names = [name for name in names if name not in (b"MULTI", b"EXEC")]  # some servers wrap the two
    assert names in ([b"DEL", b"BF.INSERT"], [b"UNLINK", b"BF.INSERT"])  # lazyfree-lazy-expire: UNLINK


# What changed nothing propagates nothing


@pytest.fixture
def full(call, stream):
    """`k` grew, `full` is non-scaling and full, `half` is being loaded; the stream is taken."""
    call("BF.INSERT", "k", "CAPACITY", "5", "ITEMS", *map(str, range(40)))
    call("BF.INSERT", "full", "CAPACITY", "1", "NONSCALING", "ITEMS", "a")
    pieces = dump(call, "k")
    for iterator, data in pieces[:2]:
        assert call("BF.LOADCHUNK", "half", iterator, data) == OK
    call("SET", "string", "v")
    stream.take()
    return pieces


NOTHING = {
    "add of a present item": ("BF.ADD", "k", "1"),
    "madd of present items": ("BF.MADD", "k", "1", "2", "1"),
    "insert of present items": ("BF.INSERT", "k", "ITEMS", "1", "2"),
    "insert of present items with parameters": ("BF.INSERT", "k", "CAPACITY", "9", "ERROR", "0.5", "ITEMS", "1"),
    "insert nocreate of present items": ("BF.INSERT", "k", "NOCREATE", "ITEMS", "1"),
    "insert nocreate on a missing key": ("BF.INSERT", "missing", "NOCREATE", "ITEMS", "1"),
    "add refused because the filter is full": ("BF.ADD", "full", "b"),
    "madd refused because the filter is full": ("BF.MADD", "full", "b", "c"),
    "reserve of a filter that exists": ("BF.RESERVE", "k", "0.01", "100"),
    "reserve over a string": ("BF.RESERVE", "string", "0.01", "100"),
    "add to a string": ("BF.ADD", "string", "a"),
    "add to a filter being loaded": ("BF.ADD", "half", "a"),
    "reserve of a filter being loaded": ("BF.RESERVE", "half", "0.01", "100"),
    "reserve of the impossible": ("BF.RESERVE", "new", "0.01", "1000000000000000000"),
    "insert of the impossible": ("BF.INSERT", "new", "CAPACITY", "1000000000000000000", "ITEMS", "a"),
    "bad words": ("BF.INSERT", "new", "CAPACITY", "0", "ITEMS", "a"),
    "header over an existing filter": ("BF.LOADCHUNK", "k", "1", b"x"),
    "bad header": ("BF.LOADCHUNK", "new", "1", b"x"),
    "exists": ("BF.EXISTS", "k", "a"),
    "mexists": ("BF.MEXISTS", "k", "a", "1"),
    "card": ("BF.CARD", "k"),
    "info": ("BF.INFO", "k"),
    "debug": ("BF.DEBUG", "k"),
    "scandump": ("BF.SCANDUMP", "k", "0"),
}
UNCHANGED = pytest.mark.parametrize("words", NOTHING.values(), ids=NOTHING)


@UNCHANGED
def test_command_that_changes_nothing_propagates_nothing(call, stream, full, words):
    before = changes(call)
    call(*words)
    assert stream.take() == []
    assert changes(call) == before


@UNCHANGED
def test_transaction_and_script_that_change_nothing_propagate_nothing(call, stream, full, words):
    call("MULTI")
    call(*words)
    call("EXEC")
    call("EVAL", "return redis.pcall(unpack(ARGV))", 1, words[1], *words)
    assert stream.take() == []


def test_piece_that_came_before_is_not_propagated_again(call, stream, full):
    iterator, data = full[1]
    assert call("BF.LOADCHUNK", "half", iterator, data) == OK
    assert stream.take() == []
    iterator, data = full[2]
    assert call("BF.LOADCHUNK", "half", iterator, data) == OK
    assert stream.take() == [[b"BF.LOADCHUNK", b"half", b"%d" % iterator, data]]


@UNCHANGED
def test_command_that_changes_nothing_does_not_break_watch(server, call, stream, full, words):
    other = server.connection()
    assert other.call("WATCH", words[1]) == OK
    call(*words)
    other.call("MULTI")
    other.call("PING")
    assert other.call("EXEC").plain == ["PONG"]
    other.close()


@pytest.mark.parametrize(
    "words",
    [
        ("BF.ADD", "k", "new"),
        ("BF.MADD", "k", "1", "new"),
        ("BF.INSERT", "k", "ITEMS", "new"),
        ("BF.RESERVE", "missing", "0.01", "100"),
        ("BF.ADD", "missing", "a"),
    ],
    ids=" ".join,
)
def test_command_that_changes_something_breaks_watch(server, call, stream, full, words):
    other = server.connection()
    assert other.call("WATCH", words[1]) == OK
    call(*words).plain
    other.call("MULTI")
    other.call("PING")
    assert other.call("EXEC").value is None
    other.close()


# Only what changed


def test_add_to_an_existing_filter_propagates_itself(call, stream, full):
    assert call("BF.ADD", "k", "new") == ONE
    ((name, key, item),) = stream.take()
    assert (name.upper() in (b"BF.ADD", b"BF.MADD"), key, item) == (True, b"k", b"new")


@pytest.mark.parametrize("start", [("BF.MADD", "k"), ("BF.INSERT", "k", "CAPACITY", "9", "ITEMS")], ids=lambda s: s[0])
def test_batch_propagates_only_the_items_that_were_new(call, stream, full, start):
    assert call(*start, "1", "new1", "2", "new1", "new2", "3").plain == [0, 1, 0, 0, 1, 0]
    (command,) = stream.take()
    assert command[-2:] == [b"new1", b"new2"]
    assert not {b"1", b"2", b"3"} & set(command)


def test_batch_into_a_filter_that_becomes_full_propagates_what_went_in(call, stream):
    call("BF.RESERVE", "k", "0.01", "2", "NONSCALING")
    stream.take()
    reply = call("BF.MADD", "k", "a", "a", "b", "a", "c", "d")
    assert reply == array(ONE, ZERO, ONE, ZERO, error(FULL))
    (command,) = stream.take()
    assert command == [b"BF.MADD", b"k", b"a", b"b"]


def test_creation_whose_batch_fills_the_filter_propagates_what_went_in(call, stream):
    reply = call("BF.INSERT", "k", "CAPACITY", "2", "NONSCALING", "ITEMS", "a", "b", "c")
    assert reply == array(ONE, ONE, error(FULL))
    (command,) = stream.take()
    assert command[0] == b"BF.INSERT" and command[command.index(b"ITEMS") + 1 :] == [b"a", b"b"]


def test_items_are_propagated_as_any_bytes(call, stream):
    items = [b"", b"\x00", b"a\r\nb", bytes(range(256)), b"x" * 100_000]
    call("BF.MADD", "k", *items)
    (command,) = stream.take()
    assert command[command.index(b"ITEMS") + 1 :] == items


# Inside transactions, scripts and functions

FUNCTION = """#!lua name=adders
redis.register_function('add', function(keys, args)
    return redis.call('BF.MADD', keys[1], unpack(args))
end)
"""


def in_multi(call, *words):
    assert call("MULTI") == OK
    call(*words)
    return call("EXEC").plain[0]


def in_eval(call, name, key, *items):
    return call("EVAL", "return redis.call('%s', KEYS[1], unpack(ARGV))" % name, 1, key, *items).plain


def in_function(call, name, key, *items):
    call("FUNCTION", "LOAD", "REPLACE", FUNCTION)
    return call("FCALL", "add", 1, key, *items).plain


INSIDE = pytest.mark.parametrize("inside", [in_multi, in_eval, in_function], ids=lambda f: f.__name__)


def bf_commands(stream):
    return [command for command in stream.take() if command[0].upper().startswith(b"BF.")]


@INSIDE
def test_inside_others_creation_carries_every_parameter(call, stream, inside):
    assert inside(call, "BF.MADD", "k", "a", "b") == [1, 1]
    (command,) = bf_commands(stream)
    given = words_of(command)
    assert given[0] == "BF.INSERT" and given[-3:] == ["ITEMS", "a", "b"]
    assert set(options_of(given[2:-3])) == {"CAPACITY", "ERROR", "EXPANSION", "LAYOUT", "HASH"}


@INSIDE
def test_inside_others_only_new_items_are_propagated(call, stream, inside):
    call("BF.MADD", "k", "a", "b")
    inside(call, "BF.MADD", "k", "a")  # loads the function, if it is one
    stream.take()
    assert inside(call, "BF.MADD", "k", "a", "c", "b") == [0, 1, 0]
    assert bf_commands(stream) == [[b"BF.MADD", b"k", b"c"]]


def test_transaction_propagates_only_the_commands_that_changed_something(call, stream):
    call("BF.MADD", "k", "a")
    stream.take()
    call("MULTI")
    for words in (("BF.ADD", "k", "a"), ("BF.ADD", "k", "b"), ("BF.EXISTS", "k", "a"), ("BF.MADD", "k", "b", "c")):
        call(*words)
    assert call("EXEC").plain == [0, 1, 1, [0, 1]]
    names = [[word.upper() for word in command[:1]] + command[1:] for command in stream.take()]
    assert names[0] == [b"MULTI"] and names[-1] == [b"EXEC"]
    assert [command[1:] for command in names[1:-1]] == [[b"k", b"b"], [b"k", b"c"]]


def test_script_that_creates_and_fills_two_filters_replays_the_same(call, stream):
    script = """
        redis.call('BF.ADD', KEYS[1], 'a')
        redis.call('BF.RESERVE', KEYS[2], '0.05', '4')
        for i = 1, 30 do redis.call('BF.MADD', KEYS[2], i, i + 1, i + 2) end
        return redis.call('BF.CARD', KEYS[2])
    """
    call("EVAL", script, 2, "x", "y").plain
    before = {key: look(call, key) for key in "xy"}
    replay = bf_commands(stream)
    call("DEL", "x", "y")
    call("CONFIG", "SET", "bf.initial-size", "9")
    for command in replay:
        call(*command)
    for key in "xy":
        same_filter(before[key], look(call, key), key)


# Keyspace events


@pytest.mark.parametrize(
    "words, expected",
    [
        (("BF.RESERVE", "new", "0.01", "100"), "bf.reserve"),
        (("BF.ADD", "new", "a"), "bf.add"),
        (("BF.MADD", "new", "a", "b"), "bf.add"),
        (("BF.INSERT", "new", "ITEMS", "a", "b"), "bf.add"),
        (("BF.ADD", "k", "new"), "bf.add"),
        (("BF.MADD", "k", "new1", "1", "new2", "new1"), "bf.add"),
        (("BF.MADD", "k", *("new%d" % i for i in range(500))), "bf.grow bf.add"),  # of several layers one event
        (("BF.INSERT", "new", "CAPACITY", "2", "ITEMS", *"abcdefgh"), "bf.grow bf.add"),
        (("BF.INSERT", "k", "ITEMS", "new1", "new2"), "bf.add"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else value,
)
def test_each_command_gives_its_event_once(call, stream, full, events, words, expected):
    events()
    call(*words).plain
    assert events() == [(words[1], event) for event in expected.split()]


def test_each_piece_gives_its_event_once(call, stream, full, events):
    events()
    for iterator, data in full:
        assert call("BF.LOADCHUNK", "new", iterator, data) == OK
        assert events() == [("new", "bf.loadchunk")]
    for iterator, data in full[1:]:
        assert call("BF.LOADCHUNK", "new", iterator, data) == OK
        assert events() == []


@UNCHANGED
def test_command_that_changes_nothing_gives_no_event(call, stream, full, events, words):
    events()
    call(*words)
    assert events() == []


def test_events_are_of_the_module_class(call, stream, events):
    """Class d alone announces the events; all classes but d do not."""
    call("CONFIG", "SET", "notify-keyspace-events", "Ed")
    call("BF.ADD", "k", "a")
    assert events() == [("k", "bf.add")]
    call("CONFIG", "SET", "notify-keyspace-events", "Eg$lshzxetn")
    call("BF.ADD", "k", "b")
    assert events() == []


def test_events_come_from_inside_transactions_and_scripts(call, stream, events):
    events()
    in_multi(call, "BF.MADD", "k", "a", "b")
    in_eval(call, "BF.ADD", "k", "c")
    in_eval(call, "BF.ADD", "k", "c")
    assert events() == [("k", "bf.add"), ("k", "bf.add")]


# Limits of master and replica


@pytest.fixture
def pair(new_server):
    """A master and a replica of it, in sync; no pings in the stream."""
    master, replica = new_server(tcp=True, config=QUIET), new_server(config=QUIET)
    follow(replica, master)
    return master, replica


def assert_in_step(master, replica):
    until_in_sync(replica, master)
    assert master.call("DEBUG", "DIGEST") == replica.call("DEBUG", "DIGEST")


def test_batch_cut_by_max_bytes_leaves_master_and_replica_equal(pair):
    """Some items of the batch are refused for lack of room; a replica without a limit would take them if
    they were propagated."""
    master, replica = pair
    call = master.connection().call
    call("BF.RESERVE", "k", "0.01", "100")
    call("CONFIG", "SET", "bf.max-bytes", info(call, "k")["Size"] + 100)
    reply = call("BF.MADD", "k", *range(300))
    refused = [answer for answer in reply.value if answer == error(GROWTH_FAILED)]
    assert len(refused) > 100
    assert call("BF.INSERT", "new", "CAPACITY", "10", "ITEMS", *range(1000)).value[-1].is_error
    assert call("BF.RESERVE", "large", "0.01", "100000") == error(NO_MEMORY)
    assert_in_step(master, replica)
    same_filter(look(call, "k"), look(replica.connection().call, "k"))
    call("CONFIG", "SET", "bf.max-bytes", "0")
    call("BF.MADD", "k", *range(300))
    assert_in_step(master, replica)


@pytest.mark.parametrize("name", ["bf.max-bytes", "maxmemory"])
def test_replica_with_a_smaller_limit_follows_its_master(pair, name):
    master, replica = pair
    limit = "300" if name == "bf.max-bytes" else "3000000"
    size = "100" if name == "bf.max-bytes" else "4000000"
    assert replica.call("CONFIG", "SET", name, limit) == OK
    call = master.connection().call
    call("BF.RESERVE", "reserved", "0.01", size)
    call("BF.INSERT", "inserted", "CAPACITY", size, "ITEMS", *range(300))
    call("BF.MADD", "grown", *range(3000))
    for iterator, data in dump(call, "inserted"):
        assert call("BF.LOADCHUNK", "loaded", iterator, data) == OK
    call("MULTI")
    call("BF.INSERT", "in multi", "CAPACITY", size, "ITEMS", *range(300))
    call("EXEC")
    assert_in_step(master, replica)
    assert replica.call("DBSIZE") == integer(5)


def test_server_with_a_smaller_limit_loads_its_aof_all_the_same(new_server):
    server = new_server(config={"appendonly": "yes", "appendfsync": "always"})
    call = server.connection().call
    filters = Filters(call)
    call("CONFIG", "SET", "bf.max-bytes", "10")
    call("CONFIG", "REWRITE")
    server.kill9()
    server.start()
    assert settings(server.call)["bf.max-bytes"] == "10"
    filters.assert_same(server.connection().call)


def test_replication_offset_stands_still_when_nothing_changes(pair):
    master, replica = pair
    call = master.connection().call
    call("BF.MADD", "k", "a", "b")
    until_in_sync(replica, master)

    def offset():
        return server_info(call, "replication")["master_repl_offset"]

    before = offset()
    call("BF.MADD", "k", "a", "b")
    call("BF.ADD", "k", "a")
    call("BF.RESERVE", "k", "0.01", "100")
    call("BF.EXISTS", "k", "a")
    in_multi(call, "BF.ADD", "k", "a")
    assert offset() == before
    call("BF.ADD", "k", "c")
    assert offset() != before


def test_replica_refuses_writes_of_clients(pair):
    master, replica = pair
    master.call("BF.ADD", "k", "a")
    until_in_sync(replica, master)
    for words in ("BF.ADD k b", "BF.MADD k b", "BF.INSERT k ITEMS b", "BF.RESERVE x 0.1 9", "BF.LOADCHUNK x 1 b"):
        assert replica.call(*words.split()).value.startswith("READONLY")
    assert replica.call("BF.EXISTS", "k", "a") == ONE
