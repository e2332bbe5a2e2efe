"""What the documents say: where they are, their examples, and their sections.

An example is a ```console block (in the man page, the lines between .nf and .fi under EXAMPLES):
lines that begin with "$ " are commands, "> " continues one, the lines below are what it prints.
Where that cannot be fixed, ... on a line of its own stands for any lines, and inside a line for any
characters.
"""

import re
from collections import namedtuple
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PAGES = REPO / "module" / "docs"
COMMANDS = PAGES / "COMMANDS.md"
CHANGES = PAGES / "CHANGELOG.md"
README = REPO / "README.md"
MANUAL = REPO / "rdb" / "tool" / "bloomport.1"
# Not of build/, where other targets may be making and removing whole systems right now.
TOPS = [path for path in REPO.iterdir() if path.is_dir() and path.name not in (".git", "build")]
MARKDOWN = sorted([*REPO.glob("*.md"), *(path for top in TOPS for path in top.rglob("*.md")
                                         if not {"node_modules", "target", ".pytest_cache"} & set(path.parts))])  # fmt: skip

Step = namedtuple("Step", "line command expected")


def named(path):
    """A document's name in a test's."""
    return str(path.relative_to(REPO))


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def fenced(text, language):
    """(line number, lines) of each ```language block."""
    start, block = None, []
    for number, line in enumerate(text.splitlines(), 1):
        if start is None and line.strip() == "```" + language:
            start, block = number + 1, []
        elif start is not None and line.strip() == "```":
            yield start, block
            start = None
        elif start is not None:
            block.append(line)


def of_manual(text):
    """(line number, lines) of the examples of a man page, without its escapes."""
    _, _, examples = text.partition(".SH EXAMPLES")
    start = text.count("\n", 0, len(text) - len(examples)) + 1
    for found in re.finditer(r"^\.nf\n(.*?)^\.fi$", examples, re.S | re.M):
        plain = re.sub(r"\\(.)", lambda m: "\\" if m[1] == "e" else "" if m[1] == "&" else m[1], found[1])
        yield start + examples.count("\n", 0, found.start(1)), plain.splitlines()


def steps(path):
    """Every command of a document with its expected output, in order."""
    text = path.read_text(encoding="utf-8")
    blocks = of_manual(text) if path == MANUAL else fenced(text, "console")
    for start, block in blocks:
        command, expected, line = None, [], start
        for number, text_line in enumerate(block, start):
            if text_line.startswith("$ "):
                if command is not None:
                    yield Step(line, command, expected)
                command, expected, line = text_line[2:], [], number
            elif text_line.startswith("> ") and command is not None and not expected:
                command += "\n" + text_line[2:]
            else:
                assert command is not None, f"{path.name}:{number}: output before any command"
                expected.append(text_line)
        if command is not None:
            yield Step(line, command, expected)


def pattern(expected):
    """A regular expression of what a step prints."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.rstrip().split("..."))) + r"[ \t]*\n")
    return "".join(parts)


def sections(path, level="## "):
    """{heading: text} of the headings of one level."""
    found = {}
    for part in re.split(rf"^(?={level})", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        found[heading[len(level):].strip()] = body
    return found
