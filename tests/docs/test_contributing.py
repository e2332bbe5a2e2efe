"""The code that CONTRIBUTING shows is the code that is there."""

import documents

REPO = documents.REPO
SHOWN = REPO / ".github" / "CONTRIBUTING.md"
SOURCES = ["rdb/formats/leveldb.c", "rdb/formats/formats.h"]


def shown_code():
    """The parts of the C blocks, cut at empty lines, without the comments that say where a part is from."""
    for _, lines in documents.fenced(SHOWN.read_text(encoding="utf-8"), "c"):
        code = [line for line in lines if not line.startswith("/*")]
        yield from (part.strip() for part in "\n".join(code).split("\n\n") if part.strip())


def test_the_format_that_contributing_shows_is_the_one_in_the_sources():
    sources = "".join((REPO / path).read_text(encoding="utf-8") for path in SOURCES)
    parts = list(shown_code())
    assert len(parts) == 4
    assert not [part for part in parts if part not in sources]
