"""Loading the module: its name and version, its arguments, and refusals."""

import re
import shutil
import subprocess

import pytest

from checks import DEFAULTS, settings
from redis_server import INSTRUMENTED, MODULE, Server, ServerDied
from resp import ONE, integer


@pytest.fixture(scope="module")
def plain():
    """A server without the module, on which every load is expected to fail."""
    server = Server(module=None)
    server.start()
    yield server
    server.close()


def modules(server):
    """{name: fields} of the modules loaded from a file; newer servers list what is built in, too."""
    listed = [dict(zip(row[::2], row[1::2])) for row in server.call("MODULE", "LIST").plain]
    return {row[b"name"]: row for row in listed if row[b"path"].startswith(b"/")}


def module_lines(text):
    """The log lines the module itself wrote."""
    return [line for line in text.splitlines() if re.search(r" <(bf|module)> ", line)]


def refused_load(server, *words):
    """MODULE LOAD fails, adds exactly one line of the module to the log, which is returned."""
    before = len(server.log)
    reply = server.call("MODULE", "LOAD", *words)
    assert reply.is_error and "Error loading the extension" in reply.value, reply
    (line,) = module_lines(server.log[before:])
    return line


def test_module_is_called_bf_and_has_a_version(server):
    assert list(modules(server)) == [b"bf"]
    assert modules(server)[b"bf"][b"ver"] >= 1


GOOD = [
    (("error-rate", "0.001", "initial-size", "50"), {"bf.error-rate": "0.001", "bf.initial-size": "50"}),
    (("ERROR_RATE", "0.001", "INITIAL_SIZE", "50"), {"bf.error-rate": "0.001", "bf.initial-size": "50"}),
    (("error_rate", "0.25"), {"bf.error-rate": "0.25"}),
    (("INITIAL-SIZE", "7"), {"bf.initial-size": "7"}),
    (
        ("bits-per-key", "9.6", "expansion-factor", "0", "max-bytes", "1000000"),
        {"bf.bits-per-key": "9.6", "bf.expansion-factor": "0", "bf.max-bytes": "1000000"},
    ),
    (("ERROR_RATE", "0.3"), {"bf.error-rate": "0.3"}),
    (("window", "86400"), {"bf.window": "86400"}),
    ((), {}),
    (("",), {}),
]


@pytest.mark.parametrize("arguments, expected", GOOD, ids=[" ".join(a) or "none%d" % len(a) for a, _ in GOOD])
def test_load_arguments_become_settings(new_server, arguments, expected):
    assert settings(new_server(module_args=arguments).call) == {**DEFAULTS, **expected}


def test_load_arguments_shape_the_filters(new_server):
    call = new_server(module_args=["initial-size", "50", "expansion-factor", "4"]).call
    assert call("BF.ADD", "k", "a") == ONE
    assert call("BF.INFO", "k", "CAPACITY").plain == [50]
    assert call("BF.INFO", "k", "EXPANSION").plain == [4]


BAD = [
    ("error-rate",),
    ("error-rate", "0.01", "initial-size"),
    ("error-rate", "0"),
    ("error-rate", "1"),
    ("error-rate", "abc"),
    ("error-rate", ""),
    ("error-rate", "nan"),
    ("ERROR_RATE", "2"),
    ("ERROR_RATE", "abc"),
    ("initial-size", "0"),
    ("initial-size", "-1"),
    ("initial-size", "1.5"),
    ("initial-size", "abc"),
    ("INITIAL_SIZE", "0"),
    ("bits-per-key", "0.5"),
    ("bits-per-key", "257"),
    ("expansion-factor", "-1"),
    ("expansion-factor", "32769"),
    ("window", "-1"),
    ("window", "1000000001"),
    ("window", "abc"),
    ("max-bytes", "-1"),
    ("max-bytes", "abc"),
    ("foo", "1"),
    ("error", "0.01"),
    ("", "1"),
    ("error-rate", "0.01", "foo", "1"),
]


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_load_argument_refuses_the_load_with_one_log_line(plain, arguments):
    refused_load(plain, MODULE, *arguments)
    assert modules(plain) == {}
    assert plain.call("BF.ADD", "k", "a").value.startswith("ERR unknown command")
    assert plain.call("CONFIG", "GET", "bf.*").plain == []
    assert plain.call("DBSIZE") == integer(0)


@pytest.mark.parametrize(
    "arguments, word",
    [(("error-rate", "7.5"), "error-rate"), (("initial-size", "-3"), "initial-size"), (("foo", "1"), "foo")],
)
def test_log_line_of_a_refused_load_names_the_argument(plain, arguments, word):
    assert word in refused_load(plain, MODULE, *arguments)


def test_server_with_a_bad_load_argument_does_not_start():
    server = Server(module_args=["error-rate", "7"])
    try:
        with pytest.raises(ServerDied):
            server.start()
        (line,) = module_lines(server.log)
        assert "error-rate" in line
    finally:
        server.close()


def test_server_with_a_bad_setting_in_its_configuration_does_not_start():
    server = Server(config={"bf.error-rate": "7"})
    try:
        with pytest.raises(ServerDied, match=r"Value for `bf.error-rate` must be in the range \(0, 1\)"):
            server.start()
        (line,) = module_lines(server.log)
        assert line.endswith("a setting in the configuration is not legal")
    finally:
        server.close()


def test_loadex_takes_settings_and_arguments(new_server):
    server = new_server(module=None)
    words = ("CONFIG", "bf.error-rate", "0.005", "ARGS", "initial-size", "50")
    assert not server.call("MODULE", "LOADEX", MODULE, *words).is_error
    seen = settings(server.call)
    assert (seen["bf.error-rate"], seen["bf.initial-size"]) == ("0.005", "50")


@pytest.mark.parametrize("path", ["the same file", "a copy"])
def test_loading_twice_fails_with_one_log_line_and_the_first_goes_on(new_server, path):
    server = new_server(module_args=["initial-size", "50"])
    server.call("BF.ADD", "k", "a")
    file = MODULE
    if path == "a copy":
        file = shutil.copy(MODULE, server.directory)
    line = refused_load(server, file, "initial-size", "70")
    assert re.search(r"already|taken|in use|exists", line), line
    assert list(modules(server)) == [b"bf"]
    assert settings(server.call)["bf.initial-size"] == "50"
    assert server.call("BF.EXISTS", "k", "a") == ONE
    assert server.call("BF.ADD", "new", "a") == ONE
    assert server.call("BF.INFO", "new", "CAPACITY").plain == [50]
    assert server.call("CONFIG", "SET", "bf.initial-size", "60").plain == "OK"
    assert settings(server.call)["bf.initial-size"] == "60"


def test_a_server_that_has_one_of_the_commands_refuses_the_module_and_says_which():
    server = Server(config={"rename-command": ("GET", "bf.add")})
    with pytest.raises(ServerDied, match="bf.add exists already: another module or this server itself has BF"):
        server.start()
    server.close()


@pytest.mark.skipif(INSTRUMENTED, reason="sanitizers add symbols of their own")
def test_library_exports_only_its_entry_point():
    out = subprocess.run(["nm", "-D", "--defined-only", MODULE], stdout=subprocess.PIPE, check=True)
    names = {line.split()[-1].decode() for line in out.stdout.splitlines()}
    assert names == {"RedisModule_OnLoad"}
