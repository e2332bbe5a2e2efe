"""The calculator tells what BF.RESERVE makes: each line that it prints is run on a server."""

import json

import pytest

from test_growing import facts_of
from test_tool import r, run, server  # noqa: F401  (fixtures)


def made_by(r, line):  # noqa: F811
    """Bits and hashes of the first layer that a printed line makes."""
    r.flushall()
    r.execute_command(*line.split())
    layer = facts_of(r, "key")["layers"][0]
    fields = {bytes(name).decode(): value for name, value in zip(layer[::2], layer[1::2])}
    return fields["bits"], fields["hashes"]


@pytest.mark.parametrize("options", [
    ["--items", "1M", "--error", 0.001], ["--items", 50, "--error", 0.3], ["--items", 12345, "--bits-per-key", 12.5],
    ["--memory", "1MB", "--error", 0.01], ["--items", 5000, "--error", 0.01, "--layout", "blocked"],
    ["--items", 5000, "--error", 0.01, "--hash", "fnv1a"], ["--items", 5000, "--error", 0.01, "--layout", "counting"],
])
def test_every_line_makes_the_filter_that_stands_beside_it(r, options):  # noqa: F811
    answer = json.loads(run("size", "--json", *options))
    kinds = [answer[name] for name in ("scaling", "nonscaling", "window") if name in answer]
    assert len(kinds) == (1 if "counting" in options else 3)
    text = run("size", *options).decode()
    for kind in kinds:
        assert made_by(r, kind["reserve"]) == (kind["bits"], kind["hashes"])
        assert "\n%s\n" % kind["reserve"] in text and " %d " % kind["bytes"] in text


def test_scaling_is_said_to_take_what_it_takes(r):  # noqa: F811
    """BF.INFO SIZE adds the structures to the bits."""
    for name in "scaling", "nonscaling":
        kind = json.loads(run("size", "--json", "--items", "1M", "--error", 0.01))[name]
        r.flushall()
        r.execute_command(*kind["reserve"].split())
        assert 0 <= r.execute_command("BF.INFO", "key", "SIZE")[0] - kind["bytes"] < 1000


@pytest.mark.parametrize("quality", [["--error", 0.01], ["--bits-per-key", 14]])
def test_a_window_in_json_is_what_the_server_makes(r, quality):  # noqa: F811
    answer = json.loads(run("size", "--json", "--window", "15m", "--generations", 3, "--items", "10K", *quality))
    window = answer["window"]
    assert (answer["items"], window["seconds"], window["generations"], window["surely_gone_seconds"]) == (10000, 900, 3, 1200)
    assert made_by(r, window["reserve"]) == (window["bits"], window["hashes"])
    assert window["bytes"] == 4 * window["generation_bytes"]


def test_items_and_memory_give_the_rate_and_no_line():
    answer = json.loads(run("size", "--json", "--items", "1G", "--memory", "1GB"))
    assert answer["bytes"] == 2**30 and 0.01 < answer["error_rate"] < 0.02
    assert "scaling" not in answer and b"BF.RESERVE" not in run("size", "--items", "1G", "--memory", "1GB")
