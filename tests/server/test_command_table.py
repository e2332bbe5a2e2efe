"""What COMMAND INFO and COMMAND DOCS tell clients about the BF.* commands."""

import pytest

from checks import COMBINING, COMMANDS, WRITES, has_module_categories
from resp import OK, array, bulk

READS = sorted(set(COMMANDS) - set(WRITES))
OF_ONE_KEY = [name for name in COMMANDS if name not in COMBINING]  # the others: test_merge.py


def command_info(call, name):
    fields = ("name", "arity", "flags", "first", "last", "step", "acl", "tips", "keys", "subcommands")
    (row,) = call("COMMAND", "INFO", name).plain
    return dict(zip(fields, row))


def docs(call3, name):
    """COMMAND DOCS, names as str."""

    def text(value):
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, list):
            return [text(item) for item in value]
        if isinstance(value, dict):
            return {text(key): text(item) for key, item in value.items()}
        return value

    (seen,) = text(call3("COMMAND", "DOCS", name).plain).values()
    return seen


def flatten(arguments):
    """All arguments of the documented syntax, nested ones included."""
    for argument in arguments:
        yield argument
        yield from flatten(argument.get("arguments", []))


def tokens(arguments):
    """All literal words of the documented syntax, nested ones included."""
    return (argument["token"] for argument in flatten(arguments) if "token" in argument)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_names_are_registered_in_lower_case(call, name):
    assert command_info(call, name)["name"] == name.lower().encode()


@pytest.mark.parametrize("name", COMMANDS)
def test_arity_is_that_of_redisbloom(call, name):
    assert command_info(call, name)["arity"] == COMMANDS[name][0]


@pytest.mark.parametrize("name", WRITES)
def test_writing_commands_are_write_and_denyoom(call, name):
    frees = name in ("BF.CLEAR", "BF.ROTATE", "BF.DEL")  # so it is not refused when there is no memory
    more = {"fast"} if name == "BF.RESERVE" else set()
    assert set(command_info(call, name)["flags"]) == {"write", "module"} | more | (set() if frees else {"denyoom"})


@pytest.mark.parametrize("name", READS)
def test_reading_commands_are_readonly_and_fast_unless_their_work_grows_with_what_is_asked_for(call, name):
    is_slow = name in ("BF.MEXISTS", "BF.BULKEXISTS", "BF.DEBUG", "BF.SCANDUMP", "BF.EXPORT")
    assert set(command_info(call, name)["flags"]) == {"readonly", "module"} | (set() if is_slow else {"fast"})


@pytest.mark.parametrize("name", OF_ONE_KEY)
def test_the_key_is_the_first_word(call, name):
    seen = command_info(call, name)
    assert (seen["first"], seen["last"], seen["step"]) == (1, 1, 1)
    (spec,) = seen["keys"]
    spec = dict(zip(spec[::2], spec[1::2]))
    assert ("RW" if name in WRITES else "RO") in spec[b"flags"]
    assert call("COMMAND", "GETKEYS", name, *COMMANDS[name][1]) == array(bulk("k"))


@pytest.mark.parametrize("name", ["BF.INFO", "BF.DEBUG", "BF.SCANDUMP", "BF.EXPORT", "BF.STATS"])
def test_answers_about_the_present_state_have_the_tip_dont_cache(call, name):
    assert b"dont_cache" in command_info(call, name)["tips"]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_documented(call3, name):
    seen = docs(call3, name)
    assert seen["group"] == "module"
    assert len(seen["summary"]) > 10
    assert seen["since"].count(".") == 2
    assert "O(" in seen["complexity"]
    first = seen["arguments"][0]
    assert (first["name"], first["type"], first["key_spec_index"]) == (
        "dest" if name in COMBINING else "key", "key", 0,
    )


# Servers since Redis 7.2 document a text to show for each argument, which is its name unless said otherwise.
@pytest.mark.parametrize("name", COMMANDS)
def test_an_argument_is_shown_by_its_own_name_and_by_no_other(call3, name):
    arguments = list(flatten(docs(call3, name)["arguments"]))
    shown = [argument.get("display_text", argument["name"]) for argument in arguments]
    assert shown == [argument["name"] for argument in arguments]


SYNTAX_WORDS = {
    "BF.RESERVE": {"EXPANSION", "NONSCALING", "LAYOUT", "COUNTING", "HASH", "WINDOW", "GENERATIONS", "EX", "PX", "PXAT"},
    "BF.INSERT": {
        "CAPACITY", "ERROR", "BITSPERKEY", "EXPANSION", "NONSCALING", "LAYOUT", "HASH", "NOCREATE", "ITEMS",
        "COUNTING", "WINDOW", "GENERATIONS", "EX", "PX", "PXAT",
    },
    "BF.INFO": {"CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION", "ERROR", "LAYOUT", "HASH", "WINDOW"},
    "BF.ADD": set(),
    "BF.MADD": set(),
    "BF.EXISTS": set(),
    "BF.MEXISTS": set(),
    "BF.BULKEXISTS": {"WIDTH", "LINES"},
    "BF.BULKADD": {"WIDTH", "LINES"},
    "BF.CARD": set(),
    "BF.DEBUG": set(),
    "BF.SCANDUMP": set(),
    "BF.LOADCHUNK": {"REPLACE"},
    "BF.EXPORT": {"FORMAT"},
    "BF.MERGE": set(),
    "BF.INTERSTORE": set(),
    "BF.CLEAR": set(),
    "BF.LOAD": set(),
    "BF.ROTATE": set(),
    "BF.DEL": set(),
    "BF.COUNT": set(),
    "BF.STATS": set(),
    "BF.IMPORT": {"FORMAT", "CAPACITY", "EXPANSION", "HASH", "REPLACE", "DATA"},
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_documented_syntax_has_every_option_word(call3, name):
    assert SYNTAX_WORDS[name] <= set(tokens(docs(call3, name)["arguments"]))


@pytest.mark.parametrize("name", ["BF.MADD", "BF.MEXISTS", "BF.INSERT", "BF.DEL"])
def test_documented_syntax_says_that_items_repeat(call3, name):
    last = docs(call3, name)["arguments"][-1]
    while "arguments" in last:
        last = last["arguments"][-1]
    assert "multiple" in last["flags"]


def test_all_commands_are_listed_for_the_module(call):
    listed = {name.decode().upper() for name in call("COMMAND", "LIST", "FILTERBY", "MODULE", "bf").plain}
    assert set(COMMANDS) <= listed


@pytest.mark.parametrize("name", COMMANDS)
def test_read_only_key_permission_admits_reads_and_refuses_writes(call, name):
    assert call("ACL", "SETUSER", "reader", "on", "nopass", "resetkeys", "%R~*", "+@all") == OK
    reply = call("ACL", "DRYRUN", "reader", name, *COMMANDS[name][1])
    if name in WRITES:
        assert reply != OK and b"no permissions" in reply.plain
    else:
        assert reply == OK


@pytest.mark.parametrize("name", OF_ONE_KEY)
def test_key_permissions_apply_to_the_filter_key(call, name):
    call("ACL", "SETUSER", "limited", "on", "nopass", "resetkeys", "~mine:*", "+@all")
    words = COMMANDS[name][1][1:]
    assert call("ACL", "DRYRUN", "limited", name, "mine:k", *words) == OK
    assert call("ACL", "DRYRUN", "limited", name, "k", *words) != OK


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_in_the_bloom_category_where_the_server_has_module_categories(call, r, name):
    if not has_module_categories(r):
        pytest.skip("modules can have ACL categories since Redis 7.4 and Valkey 8.0")
    seen = set(command_info(call, name)["acl"])
    assert {"@bloom", "@write" if name in WRITES else "@read"} <= seen


@pytest.mark.parametrize("name", COMMANDS)
def test_the_category_fast_goes_with_the_flag(call, r, name):
    if not has_module_categories(r):
        pytest.skip("modules can have ACL categories since Redis 7.4 and Valkey 8.0")
    seen = command_info(call, name)
    assert ("@fast" in seen["acl"]) == ("fast" in seen["flags"])


# What the answers tell: whether the filter has an item, or what bits it has. Of dest, BF.INTERSTORE and BF.CLEAR
# tell no more than whether the key exists, as SINTERSTORE and DEL do; BF.ROTATE tells nothing.
TELL_NOTHING = {"BF.INTERSTORE", "BF.CLEAR", "BF.ROTATE"}


@pytest.mark.parametrize("name", COMMANDS)
def test_write_permission_alone_admits_no_command_whose_answer_tells_what_a_filter_holds(call, name):
    assert call("ACL", "SETUSER", "blind", "on", "nopass", "resetkeys", "%W~*", "+@all") == OK
    words = COMMANDS[name][1]
    if name in COMBINING:  # its sources are read in any case
        call("ACL", "SETUSER", "blind", "%R~" + words[1])
    is_admitted = call("ACL", "DRYRUN", "blind", name, *words) == OK
    assert is_admitted is (name in TELL_NOTHING)


@pytest.mark.parametrize("name", COMBINING)
def test_the_sources_are_only_read(call, name):
    assert call("ACL", "SETUSER", "merger", "on", "nopass", "resetkeys", "~dest", "%R~source", "+@all") == OK
    assert call("ACL", "DRYRUN", "merger", name, "dest", "source") == OK
    assert call("ACL", "SETUSER", "merger", "resetkeys", "~dest", "%W~source") == OK
    assert call("ACL", "DRYRUN", "merger", name, "dest", "source") != OK
