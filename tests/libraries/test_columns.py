"""The snippets of RECIPES.md for BF.BULKADD and BF.BULKEXISTS in Python, run as they stand there but for the
port: with Debian's numpy and pandas, and with the newest of both and Polars, from PyPI. Those in other
languages: tests/docs/test_bulk_snippets.py, which says what each gets.
"""

import sys

import pytest

from conftest import LIBRARIES, need
from test_bulk_snippets import IDS, PRINTED, assert_added_in_pieces, blocks, printed_by, served_thirds


@pytest.fixture
def server():
    yield from served_thirds()


PYTHONS = [("numpy", 1, sys.executable), ("numpy", 1, LIBRARIES), ("pandas", 2, sys.executable),
           ("pandas", 2, LIBRARIES), ("polars", 3, LIBRARIES)]


@pytest.mark.parametrize("library,block,python", PYTHONS,
                         ids=lambda value: {sys.executable: "debian", LIBRARIES: "newest"}.get(value, str(value)))
def test_a_column_goes_to_the_server_in_pieces_and_its_new_rows_are_kept(server, tmp_path, library, block, python):
    need(python, library, "redis")
    snippets = blocks("python")
    assert len(snippets) == 4 and snippets[0].count("6379") == 1 and f"import {library}" in "\n".join(
        [snippets[0], snippets[block]])
    script = tmp_path / "snippet.py"
    script.write_text(snippets[0].replace("6379", str(server.port)) + "\n" + snippets[block], encoding="utf-8")
    assert printed_by([python, script], tmp_path) == PRINTED
    assert_added_in_pieces(server, "ids", IDS)


REFUSED = """
for column in ([1, None], ["a", None], ["a", "b\\nc"], [1.5]):
    try:
        print("answered", bulk("BF.BULKEXISTS", "ids", column))
    except (TypeError, ValueError):
        print("refused")
print(*bulk("BF.BULKEXISTS", "ids", []), *bulk("BF.BULKEXISTS", "urls", ["https://example.com/3", ""]))
"""


def test_the_python_snippet_refuses_values_that_would_shift_the_answers(server, tmp_path):
    need(sys.executable, "numpy")
    script = tmp_path / "snippet.py"
    script.write_text(blocks("python")[0].replace("6379", str(server.port)) + REFUSED, encoding="utf-8")
    assert printed_by([sys.executable, script], tmp_path) == "refused\n" * 4 + "True False\n"
