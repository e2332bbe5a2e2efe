"""The page in a real browser: build/page/index.html, opened from disk in headless Chromium, driven by
ChromeDriver. Numbers and answers are compared with a real server and the tool.

    make test-page          installs Chromium, builds the page, runs this

Environment: BLOOMPORT_PAGE, the page, default <repo>/build/page/index.html; that of test_numbers.py.
"""

import base64
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path[:0] = [str(REPO / "tests" / "server"), str(REPO / "tests" / "support")]

import chromium  # noqa: E402  (found by the line above)
from checks import add_all, look_up_all, layers_of  # noqa: E402
from foreign_fixtures import FIXTURES, IMPORTABLE  # noqa: E402
from redis_server import served  # noqa: E402

PAGE = Path(os.environ.get("BLOOMPORT_PAGE", REPO / "build" / "page" / "index.html")).resolve()
TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))


class Browser:
    """One Chromium; every page() is a fresh load."""

    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = chromium.find()
        for flag in chromium.flags(profile):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def page(self, width=1280, dark=False, url=None):
        cdp = self.driver.execute_cdp_cmd
        cdp("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1,
                                                   "mobile": width < 800})
        features = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        cdp("Emulation.setEmulatedMedia", {"features": [{"name": n, "value": v} for n, v in features.items()]})
        self.driver.get("about:blank")
        self.driver.get(url or PAGE.as_uri())
        return self

    def find(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.find(name).get_attribute("textContent")

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def set(self, name, value):
        field = self.find(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(str(value), Keys.TAB)

    def choose(self, name, value):
        self.js("document.querySelector(`input[name=${arguments[0]}][value=${arguments[1]}]`).click()", name, value)

    def drop(self, name, data):
        """Drops a file on the page, with the events of the browser itself."""
        self.js("""
            const bytes = Uint8Array.from(atob(arguments[1]), (c) => c.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], arguments[0]));
            for (const type of ["dragover", "drop"])
              document.getElementById("drop").dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
            """, name, base64.b64encode(data).decode())
        self.wait(lambda: self.find("name").text == name or self.find("problem").text.startswith(name))

    def wait(self, condition):
        WebDriverWait(self.driver, 20).until(lambda _: condition())


@pytest.fixture(scope="module")
def browser():
    assert PAGE.exists(), "run make page first"
    with tempfile.TemporaryDirectory(prefix="bloomport-", ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        yield browser
        browser.driver.quit()


@pytest.fixture(autouse=True)
def quiet(browser):
    """No test may leave an error on the console or send a request."""
    browser.driver.get_log("performance")
    browser.driver.get_log("browser")
    yield
    assert [entry for entry in browser.driver.get_log("browser") if entry["level"] != "INFO"] == []
    for entry in browser.driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            assert re.match(r"file:|data:|about:|blob:|chrome:|http://127\.0\.0\.1:", url), url


@pytest.fixture(scope="module")
def server():
    yield from served()


# ---- The calculator

POINTS = [  # items, by, value, growth, layout, expansion
    ("1,000,000", "rate", "1 %", "grow", "CLASSIC", 2), ("1e6", "rate", "0.001", "fixed", "CLASSIC", 2),
    ("250k", "rate", "1 in 10000", "grow", "BLOCKED", 4), ("5", "rate", "0.0001", "fixed", "CLASSIC", 2),
    ("100", "rate", "1e-7", "grow", "CLASSIC", 1), ("12,345", "bits", "10", "fixed", "CLASSIC", 2),
    ("777", "bits", "12.5", "grow", "BLOCKED", 2), ("20M", "rate", "0.9", "fixed", "CLASSIC", 2),
]


@pytest.mark.parametrize("items, by, value, growth, layout, expansion", POINTS)
def test_the_command_makes_the_filter_that_the_page_describes(browser, server, items, by, value, growth, layout, expansion):
    page = browser.page()
    page.choose("by", by)
    page.choose("growth", growth)
    page.choose("layout", layout)
    page.set("items", items)
    page.set("quality", value)
    page.set("key", "my filter")
    if growth == "grow":
        page.set("expansion", expansion)
    line = page.text("command")
    server.call("FLUSHALL")
    assert server.cli(stdin=line.encode() + b"\n").strip() == b"OK", line
    (layer,) = layers_of(server.call, "my filter")
    number = lambda name: int(re.match(r"[\d,]+", page.text(name)).group().replace(",", ""))  # noqa: E731
    assert (number("per-item-sub"), number("hashes"), number("memory-sub")) == \
           (layer.bits, layer.hashes, -(-layer.bits // 8))
    assert page.text("per-item") == "%.2f" % (layer.bits / layer.capacity)


def test_what_stands_in_the_form_at_first_is_the_readmes_example(browser):
    page = browser.page()
    assert page.text("command") == "BF.RESERVE visitors 0.01 1000000 EXPANSION 2"
    assert (page.text("memory"), page.text("hashes"), page.text("rate")) == ("1.26 MiB", "7", "0.625 %")


def test_the_line_is_copied(browser):
    page = browser.page()
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.find("copy").click()
    page.wait(lambda: page.text("copy") == "Copied")
    page.find("key").send_keys(Keys.CONTROL, "a")
    page.find("key").send_keys(Keys.CONTROL, "v")
    assert page.find("key").get_attribute("value") == "BF.RESERVE visitors 0.01 1000000 EXPANSION 2"


WINDOWS = [  # window, unit, generations, by, value, layout; the line after the key; found for, gone after
    ("24", "hours", 4, "rate", "1 %", "CLASSIC", "0.01 1000000 WINDOW 86400", "24 hours", "30 hours"),
    ("90", "seconds", 3, "rate", "0.001", "BLOCKED", "0.001 1000000 WINDOW 90 GENERATIONS 3 LAYOUT BLOCKED", "90 seconds", "2 minutes"),
    ("1.5", "minutes", 1, "bits", "16", "CLASSIC", "BITSPERKEY 16 1000000 WINDOW 90 GENERATIONS 1", "90 seconds", "3 minutes"),
    ("30", "days", 64, "rate", "0.02", "CLASSIC", "0.02 1000000 WINDOW 2592000 GENERATIONS 64", "30 days", "30.47 days"),
]


@pytest.mark.parametrize("window, unit, generations, by, value, layout, line, found, gone", WINDOWS)
def test_seen_in_the_last_shows_the_line_the_times_and_the_bytes_of_all_generations(
        browser, server, window, unit, generations, by, value, layout, line, found, gone):
    page = browser.page()
    page.choose("kind", "window")
    page.choose("by", by)
    page.choose("layout", layout)
    for field, text in (("window", window), ("generations", generations), ("quality", value)):
        page.set(field, text)
    page.find("unit").send_keys(unit)
    assert page.text("command") == "BF.RESERVE visitors " + line
    assert (page.text("found"), page.text("found-sub")) == (found, f"surely gone {gone} after its last add")
    number, count, one = map(int, re.match(r"(\d+) bytes in (\d+) generations of (\d+)",
                                           page.text("memory-sub").replace(",", "")).groups())
    assert (count, number) == (generations + 1, (generations + 1) * one)
    assert page.text("per-item") == "%.2f" % (8 * number / 10**6)
    assert not page.find("growth-field").is_displayed() and not page.find("hashes").is_displayed()
    made_by_the_server(server, line, one)


def made_by_the_server(server, line, array_bytes):
    """The line makes one array of this size."""
    server.call("FLUSHALL")
    assert server.call("BF.RESERVE", "visitors", *line.split()).plain == "OK"
    (layer,) = layers_of(server.call, "visitors")
    assert layer.bytes == array_bytes


def test_the_table_of_generations_stands_beside_the_textbook(browser):
    page = browser.page()
    page.choose("kind", "window")
    rows = page.js("return [...document.querySelectorAll('#generations-rows tr')].map((row) => [...row.cells].map((c) => c.textContent))")
    assert [row[:2] for row in rows] == [["1", "2 d"], ["2", "36 h"], ["4", "30 h"], ["8", "27 h"], ["16", "25.5 h"]]
    assert rows[2][2:] == ["16.8", "16.2", "27.8"]
    assert page.js("return document.querySelector('#generations-rows .chosen').cells[0].textContent") == "4"
    assert "16.2 bits by the textbook, age-partitioned slices 27.8" in page.text("generations-reading")
    page.set("quality", "0.001")
    assert page.js("return [...document.querySelector('#generations-rows .chosen').cells].slice(3).map((c) => c.textContent)") == ["22.2", "42.2"]


def test_so_few_bits_that_a_window_promises_nothing_are_called_that(browser):
    page = browser.page()
    page.choose("kind", "window")
    page.choose("by", "bits")
    page.set("quality", "2")
    assert (page.text("rate"), page.text("rate-sub")) == ("none", "so few bits promise no rate")
    page.set("quality", "16")  # 4.6e-4 a layer, ten times that for five generations
    assert 0.3 < float(page.text("rate").split()[0]) < 0.6


def test_switching_the_measure_of_a_window_keeps_its_size(browser):
    page = browser.page()
    page.choose("kind", "window")
    before = page.text("memory")
    page.choose("by", "bits")
    assert page.find("quality").get_attribute("value") == "13.4" and page.text("memory") == before
    page.choose("by", "rate")
    assert page.find("quality").get_attribute("value") == "1 %" and page.text("memory") == before


def test_deletable_is_layout_counting_in_four_times_the_bytes(browser, server):
    page = browser.page()
    page.choose("growth", "fixed")
    plain = int(page.text("per-item-sub").split()[0].replace(",", ""))
    page.choose("kind", "counting")
    assert page.text("command") == "BF.RESERVE visitors 0.01 1000000 LAYOUT COUNTING"
    assert page.text("per-item-sub") == f"{plain:,} counters of 4 bits"
    assert page.text("memory-sub") == f"{-(-plain // 2):,} bytes, and the key"
    assert not page.find("layout-field").is_displayed() and not page.find("expansion").is_enabled()
    made_by_the_server(server, "0.01 1000000 LAYOUT COUNTING", -(-plain // 2))
    page.choose("kind", "plain")
    assert page.text("command") == "BF.RESERVE visitors 0.01 1000000 NONSCALING"


BAD_INPUT = [("items", "many"), ("items", "0"), ("items", "1.5"), ("quality", "0"), ("quality", "100 %"),
             ("quality", "often"), ("expansion", "0"), ("expansion", "40000")]


BAD_WINDOWS = [("window", "0"), ("window", "-1"), ("window", "a day"), ("window", "1.00001"), ("window", "277778"),
               ("generations", "0"), ("generations", "65"), ("generations", "1.5"), ("generations", "")]


@pytest.mark.parametrize("kind, field, value", [("plain", *bad) for bad in BAD_INPUT] + [("window", *bad) for bad in BAD_WINDOWS])
def test_bad_input_is_named_nothing_moves_and_nothing_can_be_copied(browser, kind, field, value):
    page = browser.page()
    page.choose("kind", kind)
    places = "return ['form', 'results', 'plot-rate', 'plot-memory', 'generations-figure', 'viewer'].map((id) => " \
             "JSON.stringify(document.getElementById(id).getBoundingClientRect().toJSON()))"
    page.js("scrollTo(0, 0)")
    before = page.js(places)
    page.set(field, value or Keys.DELETE)
    page.js("scrollTo(0, 0)")
    assert page.find(field).get_attribute("aria-invalid") == "true"
    note = page.find(page.find(field).get_attribute("aria-describedby"))
    assert "bad" in note.get_attribute("class") and len(note.text) > 10
    assert not page.find("copy").is_enabled() and "BF.RESERVE" not in page.text("command")
    assert page.text("memory") == "–" and page.js("return document.querySelectorAll('.plot path').length") == 0
    assert page.js(places) == before


def test_the_plots_are_drawn_and_their_cursor_follows_the_keyboard(browser):
    page = browser.page()
    for name, lines in (("plot-rate", 1), ("plot-memory", 2)):
        paths = page.js("return [...document.querySelectorAll(`#${arguments[0]} path`)].map((p) => p.getAttribute('d'))", name)
        assert len(paths) == lines and all(path.count("L") > 20 and "NaN" not in path for path in paths)
        assert page.js("return document.querySelectorAll(`#${arguments[0]} .dot`).length", name) == 1
        before = page.text(f"{name}-reading")
        page.find(name).send_keys(Keys.END)
        last = page.text(f"{name}-reading")
        page.find(name).send_keys(Keys.LEFT)
        assert len({before, last, page.text(f"{name}-reading")}) == 3
        page.find(name).send_keys(Keys.ESCAPE)
        assert page.text(f"{name}-reading") == before


def test_no_corner_of_the_form_breaks_the_plots(browser):
    page = browser.page()
    broken = page.js("""
        const at = (id) => document.getElementById(id), broken = [];
        const press = (name, value) => document.querySelector(`input[name=${name}][value=${value}]`).click();
        for (const by of ["rate", "bits"]) for (const growth of ["grow", "fixed"]) for (const layout of ["CLASSIC", "BLOCKED"]) {
          press("by", by), press("growth", growth), press("layout", layout);
          for (const items of ["1", "2", "63", "1e5", "1e10", "4e12", "9e15"])
            for (const quality of by === "rate" ? ["0.999", "0.3", "1e-7", "1e-30", "1e-300"] : ["1", "256"])
              for (const expansion of growth === "grow" ? ["1", "32768"] : ["2"]) {
                Object.assign(at("items"), { value: items }), Object.assign(at("quality"), { value: quality });
                at("expansion").value = expansion;
                at("form").dispatchEvent(new Event("input"));
                const drawn = [...document.querySelectorAll(".plot *")].map((n) => n.outerHTML + n.textContent).join();
                if (at("copy").disabled ? drawn !== "" : /NaN|undefined|Infinity/.test(drawn + at("results").textContent) || !drawn)
                  broken.push([by, growth, layout, items, quality, expansion].join(" "));
              }
        }
        return broken;
        """)
    assert broken == []


def test_no_corner_of_the_other_kinds_breaks_their_results(browser):
    page = browser.page()
    broken = page.js("""
        const at = (id) => document.getElementById(id), broken = [];
        const press = (name, value) => document.querySelector(`input[name=${name}][value=${value}]`).click();
        for (const kind of ["window", "counting"]) for (const by of ["rate", "bits"]) for (const layout of ["CLASSIC", "BLOCKED"]) {
          press("kind", kind), press("by", by), press("layout", layout);
          for (const items of ["1", "63", "1e5", "1e10", "9e15"]) for (const g of kind === "window" ? ["1", "5", "64"] : ["4"])
            for (const quality of by === "rate" ? ["0.999", "0.01", "1e-30", "1e-300"] : ["1", "10", "256"])
              for (const seconds of kind === "window" ? ["1", "1000000000"] : ["1"]) {
                at("items").value = items, at("quality").value = quality, at("generations").value = g;
                at("window").value = seconds, at("unit").value = "seconds";
                at("form").dispatchEvent(new Event("input"));
                const drawn = [...document.querySelectorAll(".plot *")].map((n) => n.outerHTML + n.textContent).join();
                if (at("copy").disabled ? drawn !== "" : /NaN|undefined|Infinity|null/.test(drawn + at("results").textContent))
                  broken.push([kind, by, layout, items, g, quality, seconds].join(" "));
              }
        }
        return broken;
        """)
    assert broken == []


def test_the_growth_plot_shows_the_chain_that_the_server_makes(browser, server):
    page = browser.page()
    page.set("items", "100")
    page.find("plot-rate").send_keys(Keys.END)
    items, layers, size = re.match(r"([\d,]+) items: .*, (\d+) layers, (.*) KiB", page.text("plot-rate-reading")).groups()
    server.call("FLUSHALL")
    server.call("BF.RESERVE", "f", 0.01, 100).plain
    added, batch = 0, 0
    while added < int(items.replace(",", "")):  # present items do not count
        count = min(500, int(items.replace(",", "")) - added)
        added += sum(server.call("BF.MADD", "f", *("%d:%d" % (batch, i) for i in range(count))).plain)
        batch += 1
    chain = layers_of(server.call, "f")
    assert len(chain) == int(layers)
    assert "%.3g" % (sum(-(-layer.bits // 8) for layer in chain) / 1024) == "%.3g" % float(size)


# ---- The viewer

MEMBERS = [f"member:{i}" for i in range(3000)]
PROBES = MEMBERS[:100] + [f"größe {i} 日本" for i in range(3000)]
EXPORTS = [("portable", "XXH64", "CLASSIC"), ("sstable", "XXH64", "CLASSIC"), ("parquet", "XXH64", "BLOCKED"),
           ("portable", "FNV1A", "CLASSIC")]


@pytest.mark.parametrize("form, hash_name, layout", EXPORTS)
def test_a_dropped_export_shows_the_tools_numbers_and_the_servers_answers(browser, server, tmp_path, form, hash_name, layout):
    server.call("FLUSHALL")
    server.call("BF.RESERVE", "f", 0.02, 3000, "NONSCALING", "LAYOUT", layout, "HASH", hash_name).plain
    add_all(server.call, "f", MEMBERS)
    data = server.call("BF.EXPORT", "f", "FORMAT", form).plain
    path = tmp_path / "f.bloom"
    path.write_bytes(data)
    page = browser.page()
    page.drop("f.bloom", data)
    info = json.loads(subprocess.run([TOOL, "info", "--json", "--from", form, str(path)], check=True,
                                     stdout=subprocess.PIPE).stdout)
    assert page.text("fill-sub") == f"{info['ones']:,} of {info['bits']:,} bits"
    assert page.text("fill") == "%s %%" % float("%.3g" % (100 * info["fill"]))
    assert page.text("estimate") == f"{info['estimated_items']:,}"
    assert page.text("now-sub") == f"1 in {1 / info['current_error_rate']:,.0f}"
    assert f"format {form}, layout {layout}, {info['hashes']} hashes" in page.text("kind")
    assert page.find("hash-choice").is_displayed() == (layout == "CLASSIC")
    if hash_name == "FNV1A":
        page.choose("hash", "FNV1A")
    expected = look_up_all(server.call, "f", PROBES)
    assert all(expected[:100]) and 20 < sum(expected[100:]) < 200  # 3000 at 0.02: 60 expected
    assert asked(page, PROBES) == [[answer, item] for answer, item in zip(expected, PROBES)]


def asked(page, lines):
    """What stands beside each of the lines: [1 or 0, the line]."""
    answers = []
    for start in range(0, len(lines), 1000):  # what the page shows at a time
        page.js("const ask = document.getElementById('ask'); ask.value = arguments[0];"
                "ask.dispatchEvent(new Event('input'))", "\n".join(lines[start:start + 1000]))
        answers += page.js("return [...document.querySelectorAll('#answers li:not(.hint)')].map((li) => "
                           "[li.className === 'yes' ? 1 : 0, li.querySelector('code').textContent])")
    return answers


def answers_of(page, lines):
    return [answer for answer, _ in asked(page, lines)]


@pytest.mark.parametrize("name", IMPORTABLE)
def test_a_filter_of_another_library_shows_its_m_and_k_and_hash(browser, name):
    fixture = IMPORTABLE[name]
    model = fixture.model
    page = browser.page()
    page.drop(f"{fixture.variant and CASSANDRA_NAMES[fixture.variant] or name}", fixture.data)
    hashes = "The file does not say which Cassandra:" if fixture.variant else model.scheme
    assert re.fullmatch(rf"format {model.name}, layout CLASSIC, {model.k} hashes[,.] {hashes}", page.text("kind"))
    assert page.text("fill-sub").endswith(f" of {model.m:,} bits")
    assert page.find("variant-choice").is_displayed() == (model.name == "cassandra")
    assert not page.find("hash-choice").is_displayed()
    has_lookups = model.scheme != "ROCKSDB"
    assert page.find("ask").is_enabled() == has_lookups
    if not has_lookups:
        assert asked(page, ["a", "b"]) == [] and "bloomport check" in page.text("answers")


def test_what_build_and_pull_write_is_shown_with_its_layers_and_counts(browser, server, tmp_path):
    words, path = [f"user:{i}" for i in range(900)], tmp_path / "f"
    build = [TOOL, "build", "--error", "0.05", "--capacity", "100", "--expansion", "2", "-q", "-o", path]
    subprocess.run(build, input="\n".join(words[:700]).encode(), check=True)
    page = browser.page()
    page.drop("users.bloom", path.read_bytes())
    assert page.text("kind") == "format dump, layout CLASSIC, 3 layers, 5 hashes, XXH64"
    items = json.loads(subprocess.run([TOOL, "info", "--json", path], stdout=subprocess.PIPE, check=True).stdout)["items"]
    assert page.text("estimate-sub") == "%d counted, capacity 700: %.1f %% used" % (items, items / 7)
    assert not page.find("hash-choice").is_displayed()
    expected = subprocess.run([TOOL, "check", path], input="\n".join(words).encode(), stdout=subprocess.PIPE, check=True).stdout
    assert [word for answer, word in asked(page, words) if answer] == expected.decode().split()
    server.call("FLUSHALL")
    server.call("BF.RESERVE", "c", 0.01, 1000, "LAYOUT", "COUNTING").plain
    add_all(server.call, "c", words[:500])
    subprocess.run([TOOL, "pull", "--key", "c", "-s", server.socket, "-q", "-o", path], check=True)
    page.drop("c.bloom", path.read_bytes())
    assert page.text("kind") == "format dump, layout COUNTING, 7 hashes, XXH64"
    assert page.text("size-sub") == f"{(layers_of(server.call, 'c')[0].bits + 1) // 2:,} bytes of counters"
    assert all(answers_of(page, words[:500]))
    assert sum(answers_of(page, words[500:])) < 5  # 400 lookups at 2.5e-4, half full: 0.1 expected, 5 is 15 sigmas


CASSANDRA_NAMES = {"old": "ks-table-jb-1-Filter.db", "3.x": "mc-7-big-Filter.db", "4.x": "nb-1-big-Filter.db"}


@pytest.mark.parametrize("name", ["guava/mitz64_utf8.bin", "guava/mitz32_utf8.bin", "spark/s42_default_utf8.bin"])
def test_lines_are_looked_up_as_the_library_hashes_strings(browser, name):
    fixture = FIXTURES[name]
    page = browser.page()
    page.drop(name, fixture.data)
    assert answers_of(page, [item.decode() for item in fixture.probes]) == fixture.answers


@pytest.mark.parametrize("name", ["bip37/tweak7_all.bin", "datasketches/i64.bin", "go/m4096k5.bin"])
def test_lines_in_hex_are_looked_up_as_their_bytes(browser, name):
    fixture = FIXTURES[name]
    page = browser.page()
    page.drop(name, fixture.data)
    page.choose("as", "hex")
    lines = [item.hex() for item in fixture.probes]
    assert answers_of(page, lines) == fixture.answers
    assert answers_of(page, [line.upper() + " " for line in lines[:5]]) == fixture.answers[:5]
    assert asked(page, ["0", "abc", "zz"]) == [[0, "0"], [0, "abc"], [0, "zz"]]
    assert page.text("answers").count("not in hex") == 3


def test_the_name_of_a_cassandra_file_says_its_variant_and_the_choice_overrides_it(browser):
    fixture = FIXTURES["cassandra/c2_2_19.db"]
    lines, page = [item.hex() for item in fixture.probes[:1000]], browser.page()
    chosen = "return document.querySelector('input[name=variant]:checked').value"
    for variant, name in [*CASSANDRA_NAMES.items(), ("4.x", "da-3gab_0tiv_1xkao2f8ys-bti-Filter.db"), ("4.x", "unnamed")]:
        page.drop(name, fixture.data)
        assert page.js(chosen) == variant, name
    page.choose("as", "hex")
    assert answers_of(page, lines) != fixture.answers[:1000]
    page.js("document.querySelector('input[name=variant][value=old]').click()")
    assert page.text("name") == "unnamed" and page.js(chosen) == "old"
    assert answers_of(page, lines) == fixture.answers[:1000]


def test_a_file_can_be_chosen_too_and_the_picture_shows_where_the_bits_are(browser, tmp_path):
    # the first half of the array is full, the second empty
    (tmp_path / "half.bloom").write_bytes(bytes([7, 0, 0, 0]) + (65536).to_bytes(8, "little") + b"\xff" * 4096 + bytes(4096))
    page = browser.page()
    page.find("file").send_keys(str(tmp_path / "half.bloom"))
    page.wait(lambda: page.find("name").text == "half.bloom")
    assert page.text("fill") == "50 %"
    rows = page.js("""
        const { width, height } = document.getElementById("map");
        const { data } = document.getElementById("map").getContext("2d").getImageData(0, 0, width, height);
        return Array.from({ length: height }, (_, y) => // the mean opacity of each row of pixels
          data.slice(4 * width * y, 4 * width * (y + 1)).filter((_, i) => i % 4 === 3).reduce((a, b) => a + b) / width / 255);
        """)
    upper, lower = rows[len(rows) // 20:len(rows) * 2 // 5], rows[len(rows) * 3 // 5:len(rows) * 9 // 10]
    assert sum(upper) / len(upper) > 0.7 and sum(lower) / len(lower) < 0.15
    assert "between 0 % and 100 % full" in page.find("map").get_attribute("aria-label")


GOOD = bytes([7, 0, 0, 0]) + (1001).to_bytes(8, "little") + bytes(126)
BAD_FILES = {
    "empty": (b"", "The file is empty."),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not a filter"),
    "text": (b"hello, this is a list of words\n" * 30, "not a filter"),
    "short": (GOOD[:-1], "cut short"),
    "long": (GOOD + bytes(5), "something was added"),
    "newline": (GOOD + b"\n", "a newline at its end"),
    "tail": (GOOD[:-1] + b"\x80", "damaged"),
    "k is 0": (bytes(4) + GOOD[4:], "its k is 0"),
    "snapshot": (b"REDIS0010" + bytes(50), "snapshot of a whole server"),
    "error": (b"ERR not found\n", "ERR not found"),
    "guava, short": (FIXTURES["guava/mitz64_utf8.bin"].data[:-3], "guava filter of 430 bytes, but the file has 427: it was cut short"),
    "rocksdb, a table": (FIXTURES["rocksdb/fv5_bpk6.sst"].path.read_bytes(), "a whole table of RocksDB"),
    "redisson": (FIXTURES["redisson/bytes.bitmap"].data, "have no header"),
    "parquet, short": (bytes.fromhex("158001") + bytes.fromhex("1c1c00001c1c00001c1c000000") + bytes(63), "cut short"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_filter_is_refused_in_words(browser, name):
    data, words = BAD_FILES[name]
    page = browser.page()
    page.drop("good.bloom", GOOD)
    assert page.find("view").is_displayed() and not page.find("problem").is_displayed()
    page.drop(name, data)
    assert words in page.find("problem").text and not page.find("view").is_displayed()
    page.drop("good.bloom", GOOD)
    assert page.find("view").is_displayed() and not page.find("problem").is_displayed()


# ---- Looks

CONTRAST = """
const luminance = (css) => {
  const [r, g, b] = css.match(/[\\d.]+/g).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
};
return [...document.querySelectorAll("h1, h2, h3, p, label, dt, dd, th, td, legend, button, code, .choice span, li span, .button, textarea, .text")]
  .filter((node) => node.textContent.trim() && node.checkVisibility() && !node.closest(".hidden, .skip"))
  .map((node) => {
    const [a, b] = [luminance(getComputedStyle(node).color), luminance(behind(node))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 80)];
  });
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["plain", "window", "counting"])
@pytest.mark.parametrize("width", [320, 390, 820, 1280])
def test_it_fits_and_can_be_read_at_every_width_light_and_dark(browser, width, kind, dark):
    page = browser.page(width=width, dark=dark)
    page.choose("kind", kind)
    if kind == "window":
        page.set("window", "1193046")  # hours: the longest window has the longest words
    page.set("key", "a-very-long-key-name-that-somebody-might-have-{tag}:" + "x" * 40)
    if kind == "counting":  # and the viewer has its longest words
        page.drop("nb-1-big-Filter.db", FIXTURES["cassandra/c4_1_9.db"].data)
        page.set("ask", "an item")
    else:
        page.js("document.getElementById('example').click()")
    assert page.js("return document.documentElement.scrollWidth") <= width
    outside = page.js("return [...document.querySelectorAll('main *')].filter((n) => n.checkVisibility() && !n.closest('.hidden, svg, .answers')"
                      "&& n.getBoundingClientRect().right > arguments[0] + 0.5).map((n) => n.outerHTML.slice(0, 80))", width)
    assert outside == []
    ratios = page.js(CONTRAST)
    assert len(ratios) > 40
    assert [pair for pair in ratios if pair[0] < 4.5] == []  # WCAG AA
    background = page.js("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(13, 15, 20)") == dark


CONTROLS = ("kind", "items", "items-slider", "quality", "quality-slider", "by", "layout", "key", "command", "copy", "plot-memory",
            "file", "example", "hash", "as", "ask")


@pytest.mark.parametrize("kind, own", [("plain", ("growth", "expansion", "plot-rate")), ("window", ("window", "unit", "generations"))])
def test_every_control_is_reached_by_the_tab_key_and_named(browser, kind, own):
    page = browser.page()
    page.choose("kind", kind)
    page.js("document.getElementById('example').click(); document.activeElement.blur(); scrollTo(0, 0)")
    reached = []
    for _ in range(40):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        node = page.driver.switch_to.active_element
        reached.append(node.get_attribute("id") or node.get_attribute("name") or node.text)
    for name in CONTROLS + own:
        assert name in reached, (name, reached)
    unnamed = page.js("return [...document.querySelectorAll('input, select, button, textarea, svg[role], canvas')].filter((n) => "
                      "!(n.labels?.length || n.textContent.trim() && n.tagName === 'BUTTON' || n.getAttribute('aria-label'))).map((n) => n.outerHTML)")
    assert unnamed == []


# ---- The recipe that has a page

def test_the_safe_browsing_list_is_checked_in_the_browser(browser, server, tmp_path):
    (tmp_path / "addresses.txt").write_text("bad.example/\nshop.example/login\n")
    listing = REPO / "build" / "page" / "list.bloom"
    subprocess.run([sys.executable, "-B", str(REPO / "tests/recipes/safe_browsing/publish.py"), str(tmp_path / "addresses.txt"),
                    str(listing)], check=True, env={**os.environ, "REDIS_URL": f"unix://{server.socket}"}, stdout=subprocess.DEVNULL)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            if self.path == "/favicon.ico":
                return self.send_response(204) or self.end_headers()
            return super().do_GET()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(REPO))) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{web.server_port}"
        page = browser.page(url=f"{root}/tests/recipes/safe_browsing/index.html?list=/build/page/list.bloom")
        for address, word in (("https://www.bad.example/x", "Dangerous"), ("https://shop.example/login?a=1", "Dangerous"),
                              ("https://shop.example/", "Not on the list"), ("https://", "Type an address")):
            page.js("const a = document.getElementById('address'); a.value = arguments[0]; a.oninput?.()", address)
            page.wait(lambda: page.text("verdict").startswith(word))
        # the page as modules, unbuilt, works from any static file server
        page.page(url=f"{root}/module/extras/page/index.html")
        page.wait(lambda: page.text("command").startswith("BF.RESERVE"))
        web.shutdown()
    listing.unlink()
