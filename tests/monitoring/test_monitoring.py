"""Monitoring for real: the dashboard's queries and the alert rules on a Prometheus that scrapes a server."""

import json
import math
import re
import subprocess
from pathlib import Path

import pytest

from conftest import EXPORTER_ACL, MONITORING, get, program
from filters import server_info, until
from redis_server import REPO

DASHBOARD = json.loads((MONITORING / "grafana.json").read_text(encoding="utf-8"))
QUERIES = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
VARIABLES = {"$instance": ".*", "$__rate_interval": "15s"}
STATES = {"ok": 0, "clock behind": 1, "many layers": 2, "nearly full": 3, "full": 4, "overfilled": 5}


@pytest.fixture(scope="module")
def call(stack):
    """The server with a filter in every state that can be had, and a load."""
    call = stack.server.connection().call
    call("BF.RESERVE", "visitors", "0.01", "1000", "NONSCALING")
    call("BF.MADD", "visitors", *range(950))
    call("BF.RESERVE", "seen:today", "0.01", "2", "EXPANSION", "1")
    call("BF.MADD", "seen:today", *range(40))
    for key in ("full", "too"):
        call("BF.RESERVE", key, "0.01", "100", "NONSCALING")
        call("BF.MADD", key, *("%s%d" % (key, i) for i in range(150)))
    call("BF.MERGE", "overfilled", "full", "too")
    call("SET", "text", "no filter")
    return call


def work(call):
    """Every counter since start moves."""
    call("BF.ADD", "other", "a")
    call("BF.MEXISTS", "visitors", "1", "absent")
    call("BF.MERGE", "other", "other")
    call("BF.IMPORT", "imported", "FORMAT", "portable", "CAPACITY", "2000", "REPLACE", "DATA",
         call("BF.EXPORT", "visitors").plain)


def expanded(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression.replace('"$1"', "")
    return expression


@pytest.mark.parametrize("title, expression", QUERIES, ids=["%s %d" % (title, i) for i, (title, _) in enumerate(QUERIES)])
def test_every_query_of_the_dashboard_gives_numbers(stack, call, title, expression):
    def numbers():
        work(call)
        found = list(stack.query(expanded(expression)).values())
        return found if found and all(map(math.isfinite, found)) else None

    values = until(numbers, "Prometheus has data for %s" % title)
    if "rate(" in expression:
        assert until(lambda: max(numbers() or [0]) > 0, "%s moves" % title)
    assert min(values) >= 0


def test_prometheus_has_what_info_shows(stack, call):
    fields = {name: int(value) for name, value in server_info(call, "bf").items()}
    assert (fields["bf_full"], fields["bf_overfilled"]) == (2, 1)
    expected = {(("key", name),): value for name, value in fields.items()}
    until(lambda: stack.query('redis_script_values{key!~"bf_key:.*"}') == expected, "%s" % expected)


def test_the_variable_of_the_dashboard_lists_the_server(stack, call):
    variable = DASHBOARD["templating"]["list"][1]["query"]["query"]
    assert variable == 'label_values(redis_script_values{key="bf_filters"}, instance)'
    until(lambda: stack.query('redis_script_values{key="bf_filters"}'), "the series is there")
    assert stack.api("label/instance/values") == [stack.exporter.removeprefix("http://")]


@pytest.mark.parametrize("key, state", [("visitors", "nearly full"), ("seen:today", "many layers")])
def test_a_watched_key_has_what_its_stats_show(stack, call, key, state):
    flat = call("BF.STATS", key).plain
    stats = dict(zip(flat[::2], flat[1::2]))
    assert stats["state"].decode() == state
    names = ("items", "capacity", "utilisation", "bytes", "promised error rate", "current error rate")
    expected = {"bf_key:%s:%s" % (name.replace(" ", "_"), key): float(stats[name]) for name in names}
    expected["bf_key:layers:" + key] = len(stats["layers"])
    expected["bf_key:state:" + key] = STATES[state]
    expected = {(("key", name),): value for name, value in expected.items()}
    until(lambda: stack.query('redis_script_values{key=~"bf_key:.*:%s"}' % key) == expected, "%s" % expected)


def test_keys_without_a_filter_are_left_out_and_spoil_nothing(stack, call):
    text = get(stack.exporter + "/metrics")
    assert "redis_exporter_last_scrape_error{err=\"\"} 0" in text
    assert ":visitors" in text and ":missing" not in text and ":text" not in text


def test_the_alert_rules_load_and_see_the_filters_that_need_somebody(stack, call):
    (group,) = stack.api("rules")["groups"]
    until(lambda: all(rule["health"] == "ok" for rule in stack.api("rules")["groups"][0]["rules"]), "rules are evaluated")
    names = [rule["name"] for rule in group["rules"]]
    assert names == ["BloomFilterFull", "BloomFilterOverfilled", "BloomFilterManyLayers", "BloomFilterNearlyFull"]

    def pending():
        return {(alert["labels"]["alertname"], alert["labels"].get("filter"), float(alert["value"]))
                for alert in stack.api("alerts")["alerts"]}

    expected = {(names[0], None, 2), (names[1], None, 1), (names[2], "seen:today", 2), (names[3], "visitors", 3)}
    until(lambda: pending() == expected, "%s" % expected)


def test_promtools_tests_of_the_alert_rules(tmp_path):
    tests = Path(__file__).resolve().parent / "alerts_test.yml"
    for words in (["check", "rules", str(MONITORING / "alerts.yml")], ["test", "rules", str(tests)]):
        done = subprocess.run([program("promtool"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout


def test_the_document_has_these_alerts_states_and_this_user():
    text = (REPO / "module" / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    rules = re.findall(r"- alert: (\w+)", (MONITORING / "alerts.yml").read_text(encoding="utf-8"))
    assert re.findall(r"^\| `(BloomFilter\w+)` \|", text, re.M) == rules
    assert ", ".join("%d `%s`" % (number, state) for state, number in STATES.items()) in text
    assert "`ACL SETUSER exporter %s`" % EXPORTER_ACL in text
