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
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead


@pytest.mark.parametrize("path", TEXTS + CODE, ids=documents.named)
def test_words_are_plain(path):
    assert not list(found(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("text", ["A false\n * yes.", "the allocator says no", "It loads for ever.",
                                  "an adopted filter", "while the server is away"])
def test_a_banned_word_is_found(text):
    assert list(found(text))


@pytest.mark.parametrize("path", TEXTS + CODE, ids=documents.named)
def test_no_document_is_cited_that_is_not_here(path):
    here = {one.name for one in documents.MARKDOWN}
    cited = set(re.findall(r"\b[A-Z][A-Z-]+\.md\b", path.read_text(encoding="utf-8")))
    assert cited <= here
