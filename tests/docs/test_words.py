"""Plain words: the documents, and the comments and texts of the code, use the field's own terms. Each
pattern has the term to write instead."""

import re

import pytest

import documents

# pattern: write instead. Case does not matter; a word broken over two lines is found too.
BANNED = {
    r"false" r" yes": "false positive, false-positive rate",
    r"says? no\b": "fails, refuses, answers 0",
    r"put behind|\bbehind (?:the|it|its|an?)\b": "after, append",
    r"\badopt(?:s|ed|ing)?\b": "foreign filter, keep as it is",
    r"for ever\b": "keeps loading in every later version",
    r"(?:is|was|be) away\b": "downtime, unavailable",
    r"(?:take|takes|took|taken|taking) (?:it |them |filters? )?out\b": "export, remove",
    r"bring(?:s|ing)? in\b": "import",
    r"\bask(?:s|ed|ing)? (?:a|the|your|my|its|them) filters?": "look up, query",
}
TEXTS = [documents.MANUAL, documents.REPO / "module" / "extras" / "debian" / "control",
         documents.REPO / "module" / "extras" / "debian" / "bloomport.conf", *documents.MARKDOWN,
         *sorted(documents.REPO.glob(".github/**/*.yml"))]
SUFFIXES = {".c", ".h", ".py", ".sh", ".js", ".mjs", ".html", ".css", ".lua", ".json", ".go", ".rs", ".java"}
# A golden file is data; this file has the words it bans.
CODE = sorted(path for folder in ("module", "rdb", "tests") for path in (documents.REPO / folder).rglob("*")
              if path.suffix in SUFFIXES and path.name != "test_words.py"
              and not {"golden", "corpus", "node_modules"} & set(path.parts))


def found(text):
    """(line, word, what to write instead) of every banned word."""
    for pattern, instead in BANNED.items():
        spread = re.sub(r"(?<!\\) ", r"(?:\\s+(?:\\*|//|#|;)?\\s*)", pattern)
        for match in re.finditer(spread, text, re.I):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), "write: " + instead


def cited(text):
    """(line, name, what is wrong) of every document that is named and is not here."""
    here = {one.name for one in documents.MARKDOWN}
    for match in re.finditer(r"\b[A-Z][A-Z-]+\.md\b", text):
        if match[0] not in here:
            yield text.count("\n", 0, match.start()) + 1, match[0], "there is no such document"


def findings(check, paths):
    """What a check finds in files, each with its file and line."""
    return ["%s:%d: %s: %s" % (path, *one) for path in paths for one in check(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("check", [found, cited])
def test_no_file_has_a_banned_word_or_cites_a_document_that_is_not_here(check):
    assert len(TEXTS) > 20 and len(CODE) > 400
    assert not findings(check, TEXTS + CODE)


@pytest.mark.parametrize("check, text", [
    (found, "A false\n * yes."), (found, "the allocator says no"), (found, "It loads for ever."), (found, "an adopted filter"),
    (found, "while the server is away"), (cited, "see NO" "WHERE.md"),
])  # fmt: skip
def test_a_finding_names_the_file_and_the_line(tmp_path, check, text):
    path = tmp_path / "page.md"
    path.write_text("One line.\n" + text, encoding="utf-8")
    (finding,) = findings(check, [path])
    assert finding.startswith("%s:2: " % path)
