"""CONFIG GET/SET/REWRITE of bf.*, and what each setting does (module/docs/OPERATIONS.md)."""

import pytest

from checks import DEFAULTS, GROWTH_FAILED, NO_MEMORY, add_all, assert_one_error, assert_refused, dump
from checks import filter_state, info, layers_of, settings
from resp import NULL_BULK, OK, ONE, ZERO, array, error, integer

CREATORS = [("BF.ADD", "k", "a"), ("BF.MADD", "k", "a"), ("BF.INSERT", "k", "ITEMS", "a")]


def set_to(call, **values):
    for name, value in values.items():
        assert call("CONFIG", "SET", "bf." + name.replace("_", "-"), value) == OK


@pytest.fixture(autouse=True)
def defaults(call):
    yield
    for name, value in DEFAULTS.items():
        assert call("CONFIG", "SET", name, value) == OK


def test_defaults_are_those_that_are_documented(call):
    assert settings(call) == DEFAULTS


GOOD = (
    [("error-rate", value) for value in ["0.5", "0.001", "1e-6", "0.999"]]
    + [("bits-per-key", value) for value in ["0", "1", "9.6", "10", "256"]]
    + [("initial-size", value) for value in ["1", "50", "1000000000"]]
    + [("expansion-factor", value) for value in ["0", "1", "2", "32768"]]
    + [("max-bytes", value) for value in ["0", "1000000", "1000000000000"]]
    + [("window", value) for value in ["0", "1", "86400", "1000000000"]]
)


@pytest.mark.parametrize("name, value", GOOD)
def test_setting_is_taken_and_shown(call, name, value):
    assert call("CONFIG", "SET", "bf." + name, value) == OK
    assert float(settings(call)["bf." + name]) == float(value)
    others = {key: value for key, value in settings(call).items() if key != "bf." + name}
    assert others == {key: value for key, value in DEFAULTS.items() if key != "bf." + name}


BAD = (
    [("error-rate", value) for value in ["0", "1", "-0.1", "1.5", "nan", "inf", "abc", "", "0.1x", " 0.1"]]
    + [("bits-per-key", value) for value in ["0.5", "-1", "256.5", "257", "nan", "inf", "abc", "", "10x"]]
    + [("initial-size", value) for value in ["0", "-1", "1.5", "abc", "", "9223372036854775808"]]
    + [("expansion-factor", value) for value in ["-1", "32769", "1.5", "abc", ""]]
    + [("window", value) for value in ["-1", "1000000001", "1.5", "abc", ""]]
    + [("max-bytes", value) for value in ["-1", "abc"]]  # "" is 0 to the server, as for maxmemory
)


@pytest.mark.parametrize("name, value", BAD)
def test_bad_setting_is_refused_and_the_old_one_stays(call, name, value):
    reply = call("CONFIG", "SET", "bf." + name, value)
    assert reply.is_error
    assert reply.value.startswith("ERR CONFIG SET failed (possibly related to argument 'bf.%s')" % name)
    assert settings(call) == DEFAULTS


def test_setting_names_are_taken_in_any_case(call):
    assert call("CONFIG", "SET", "BF.Error-Rate", "0.1") == OK
    assert settings(call)["bf.error-rate"] == "0.1"


def test_several_settings_are_set_at_once_or_not_at_all(call):
    assert call("CONFIG", "SET", "bf.error-rate", "0.1", "bf.initial-size", "0").is_error
    assert settings(call) == DEFAULTS
    assert call("CONFIG", "SET", "bf.error-rate", "0.1", "bf.initial-size", "7") == OK
    assert (settings(call)["bf.error-rate"], settings(call)["bf.initial-size"]) == ("0.1", "7")


def test_plain_names_work_where_the_server_has_them(call, r):
    seen = r.info()
    if int(seen["redis_version"].split(".")[0]) < 8 or "valkey_version" in seen:
        pytest.skip("this server knows no configuration names without the module's prefix")
    assert settings(call, "bf-error-rate") == {"bf-error-rate": "0.01"}


# Filters that create themselves


@pytest.mark.parametrize("words", CREATORS, ids=lambda words: words[0])
def test_created_filters_take_rate_size_and_expansion_from_the_settings(call, words):
    set_to(call, error_rate="0.001", initial_size="70", expansion_factor="4")
    call(*words)
    call("BF.RESERVE", "same", "0.001", "70", "EXPANSION", "4")
    call("BF.ADD", "same", "a")
    assert filter_state(call, "k") == filter_state(call, "same")
    assert info(call, "k")["Expansion rate"] == 4


@pytest.mark.parametrize("words", CREATORS, ids=lambda words: words[0])
def test_bits_per_key_are_used_instead_of_the_error_rate_if_not_zero(call, words):
    set_to(call, error_rate="0.001", bits_per_key="12.5")
    call(*words)
    (layer,) = layers_of(call, "k")
    assert (layer.bits, layer.hashes, layer.capacity) == (1250, 9, 100)


def test_bits_per_key_set_back_to_zero_give_the_error_rate_its_place_back(call):
    set_to(call, bits_per_key="12")
    set_to(call, bits_per_key="0")
    call("BF.ADD", "k", "a")
    call("BF.INSERT", "same", "ERROR", "0.01", "ITEMS", "a")
    assert filter_state(call, "k") == filter_state(call, "same")


def test_words_of_the_command_win_over_the_settings(call):
    set_to(call, bits_per_key="12", initial_size="70", expansion_factor="4")
    call("BF.INSERT", "rate", "ERROR", "0.001", "ITEMS", "a")
    call("BF.RESERVE", "same", "0.001", "70")
    call("BF.ADD", "same", "a")
    assert filter_state(call, "rate") == filter_state(call, "same")
    call("BF.INSERT", "bits", "BITSPERKEY", "8", "CAPACITY", "10", "EXPANSION", "3", "ITEMS", "a")
    assert layers_of(call, "bits")[0].bits == 80
    assert info(call, "bits")["Expansion rate"] == 3


def test_reserve_takes_only_the_expansion_from_the_settings(call):
    set_to(call, error_rate="0.3", bits_per_key="4", initial_size="7", expansion_factor="5")
    call("BF.RESERVE", "k", "0.01", "100")
    set_to(call, error_rate="0.01", bits_per_key="0", initial_size="100", expansion_factor="2")
    call("BF.RESERVE", "same", "0.01", "100", "EXPANSION", "5")
    assert filter_state(call, "k") == filter_state(call, "same")


@pytest.mark.parametrize("words", CREATORS + [("BF.RESERVE", "k", "0.01", "100")], ids=lambda words: words[0])
def test_expansion_factor_zero_makes_nonscaling_filters(call, words):
    set_to(call, expansion_factor="0")
    call(*words)
    assert call("BF.INFO", "k", "EXPANSION") == array(NULL_BULK)


def test_expansion_factor_zero_yields_to_an_expansion_in_the_command(call):
    set_to(call, expansion_factor="0")
    call("BF.RESERVE", "reserved", "0.01", "100", "EXPANSION", "3")
    call("BF.INSERT", "inserted", "EXPANSION", "3", "ITEMS", "a")
    assert call("BF.INFO", "reserved", "EXPANSION") == array(integer(3))
    assert call("BF.INFO", "inserted", "EXPANSION") == array(integer(3))


def test_nonscaling_does_not_quarrel_with_the_expansion_of_the_settings(call):
    set_to(call, expansion_factor="5")
    assert call("BF.RESERVE", "k", "0.01", "100", "NONSCALING") == OK
    assert call("BF.INFO", "k", "EXPANSION") == array(NULL_BULK)


def test_existing_filters_keep_their_parameters_when_settings_change(call):
    call("BF.ADD", "k", "a")
    call("BF.ADD", "same", "a")
    items = ["item%d" % i for i in range(500)]
    add_all(call, "same", items)
    set_to(call, error_rate="0.3", bits_per_key="4", initial_size="7", expansion_factor="5")
    add_all(call, "k", items)
    assert filter_state(call, "k") == filter_state(call, "same")


# max-bytes

TOO_LARGE = [
    ("BF.RESERVE", "k", "0.01", "100000"),
    ("BF.RESERVE", "k", "BITSPERKEY", "10", "100000"),
    ("BF.RESERVE", "k", "0.01", "100000", "NONSCALING"),
    ("BF.INSERT", "k", "CAPACITY", "100000", "ITEMS", "a"),
    ("BF.INSERT", "k", "CAPACITY", "100000", "BITSPERKEY", "10", "ITEMS", "a"),
]


@pytest.mark.parametrize("words", TOO_LARGE, ids=" ".join)
def test_filter_over_max_bytes_is_not_created(call, words):
    set_to(call, max_bytes="50000")
    assert_refused(call, NO_MEMORY, *words)
    set_to(call, max_bytes="0")
    assert not call(*words).is_error


@pytest.mark.parametrize("words", CREATORS, ids=lambda words: words[0])
def test_filter_over_max_bytes_does_not_create_itself(call, words):
    set_to(call, max_bytes="50000", initial_size="100000")
    assert_refused(call, NO_MEMORY, *words)


def test_max_bytes_is_compared_with_the_size_that_info_shows(call):
    call("BF.RESERVE", "k", "0.01", "10000")
    size = info(call, "k")["Size"]
    set_to(call, max_bytes=size - 1)
    assert_refused(call, NO_MEMORY, "BF.RESERVE", "other", "0.01", "10000")
    set_to(call, max_bytes=size)
    assert call("BF.RESERVE", "other", "0.01", "10000") == OK


def test_filter_over_max_bytes_cannot_be_loaded_either(call):
    call("BF.RESERVE", "k", "0.01", "100000")
    header = dump(call, "k")[0][1]
    set_to(call, max_bytes="50000")
    assert_one_error(call, "BF.LOADCHUNK", "copy", 1, header)


def grown_to_the_brim(call):
    """A filter `k` whose first layer is full and whose second would break max-bytes."""
    call("BF.RESERVE", "k", "1e-9", "1000")
    assert add_all(call, "k", list(range(1000))) == [1] * 1000
    set_to(call, max_bytes=info(call, "k")["Size"] + 100)


def test_growth_over_max_bytes_is_refused_and_changes_nothing(call):
    grown_to_the_brim(call)
    assert_refused(call, GROWTH_FAILED, "BF.ADD", "k", "new")
    assert call("BF.ADD", "k", "7") == ZERO
    assert call("BF.EXISTS", "k", "7") == ONE


@pytest.mark.parametrize("command", [("BF.MADD", "k"), ("BF.INSERT", "k", "ITEMS")], ids=lambda words: words[0])
def test_batch_whose_growth_fails_has_an_error_for_each_new_item_and_goes_on(call, command):
    grown_to_the_brim(call)
    failed = error(GROWTH_FAILED)
    assert call(*command, "7", "new1", "8", "new2", "9") == array(ZERO, failed, ZERO, failed, ZERO)
    assert call("BF.CARD", "k") == integer(1000)
    assert call("BF.MEXISTS", "k", "new1", "new2").plain == [0, 0]


def test_filter_that_could_not_grow_does_when_max_bytes_allows(call):
    grown_to_the_brim(call)
    assert call("BF.ADD", "k", "new") == error(GROWTH_FAILED)
    set_to(call, max_bytes="0")
    assert call("BF.ADD", "k", "new") == ONE
    assert info(call, "k")["Number of filters"] == 2


def test_filter_already_over_a_lowered_max_bytes_keeps_working_until_it_must_grow(call):
    call("BF.RESERVE", "k", "0.01", "10000")
    set_to(call, max_bytes="10")
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.EXISTS", "k", "a") == ONE


# CONFIG REWRITE

OTHERS = {
    "bf.error-rate": "0.002",
    "bf.bits-per-key": "9.5",
    "bf.initial-size": "77",
    "bf.expansion-factor": "3",
    "bf.max-bytes": "123456",
    "bf.window": "3600",
}


def test_rewritten_settings_are_there_after_a_restart(new_server):
    server = new_server()
    for name, value in OTHERS.items():
        assert server.call("CONFIG", "SET", name, value) == OK
    assert server.call("CONFIG", "REWRITE") == OK
    server.restart()
    assert settings(server.call) == OTHERS


def test_settings_that_were_not_rewritten_are_gone_after_a_restart(new_server):
    server = new_server()
    server.call("CONFIG", "SET", "bf.initial-size", "77")
    server.restart()
    assert settings(server.call) == DEFAULTS


@pytest.mark.parametrize("value", ["0.2", "0.01"], ids=["another value", "the default"])
def test_rewritten_setting_wins_over_the_load_argument_after_a_restart(new_server, value):
    server = new_server(module_args=["error-rate", "0.001"])
    assert settings(server.call)["bf.error-rate"] == "0.001"
    server.call("CONFIG", "SET", "bf.error-rate", value)
    assert server.call("CONFIG", "REWRITE") == OK
    server.restart()
    assert settings(server.call)["bf.error-rate"] == value


def test_settings_are_taken_from_the_configuration_file(new_server):
    server = new_server(config=dict(OTHERS))
    assert settings(server.call) == OTHERS
