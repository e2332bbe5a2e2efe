"""The recipe safe_browsing: node queries the list here; test_browser.py does it with the real page in a browser."""

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "server"), str(TESTS / "recipes")]

from test_recipes import HERE, at_most, numbers, run, served  # noqa: E402  (found by the line above)

import pytest  # noqa: E402


@pytest.fixture
def server():
    yield from served()


ASK = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [folder, file, addresses] = process.argv.slice(1);
const { entriesOf, isSuspect, openList } = await import(pathToFileURL(folder + "/list.js"));
const list = openList(new Uint8Array(readFileSync(file)).buffer);
console.log(JSON.stringify(JSON.parse(addresses).map((a) => [isSuspect(list, a), entriesOf(a)])));
"""


def test_an_exported_list_answers_in_javascript_what_the_server_answers(server, tmp_path):
    listed = [f"bad{i}.example/" for i in range(900)] + [f"shop.example/{i}/login" for i in range(100)]
    (tmp_path / "addresses.txt").write_text("\n".join(listed))
    out = run(server, "safe_browsing/publish.py", tmp_path / "addresses.txt", tmp_path / "list.bloom")
    count, size = numbers(out)
    assert count == 1000 and size == (tmp_path / "list.bloom").stat().st_size < 2_000
    dangerous = ["https://bad7.example/", "http://bad8.example:8080/any/page?q=1#x",
                 "https://www.bad899.example/", "https://shop.example/99/login"]
    harmless = ["https://example/", "https://shop.example/99/", "https://localhost/"]
    harmless += [f"https://good{i}.example/page/{i}" for i in range(500)]
    queried = json.dumps(dangerous + harmless)
    query = ["node", "--input-type=module", "-e", ASK, str(HERE / "safe_browsing"),
             str(tmp_path / "list.bloom"), queried]
    answers = json.loads(subprocess.run(query, check=True, timeout=60, stdout=subprocess.PIPE).stdout)
    assert answers[0][1] == ["bad7.example/"]
    assert answers[3][1] == ["shop.example/99/login", "shop.example/99/", "shop.example/"]
    assert all(suspect for suspect, _ in answers[:4])
    for suspect, entries in answers:
        assert suspect == any(server.call("BF.MEXISTS", "dangerous", *entries).plain), entries
    # 3 entries each of 500, at 0.001: 1.5 expected
    assert sum(suspect for suspect, _ in answers[4:]) <= at_most(1_500, 0.001)
