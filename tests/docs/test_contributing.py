"""CONTRIBUTING against the repository: the code that it shows, the map of all files, the functions it names."""

import re
import subprocess

import pytest

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


MAPPED = ("module/", "rdb/", "tests/")


def regular(glob):
    """A name of the map as a regular expression: * within a name, ** everything below, [ch] one of the letters."""
    places = {r"\*\*": ".+", r"\*": "[^/]*", r"\[": "[", r"\]": "]"}
    return re.sub(r"\\\*\\\*|\\[*\[\]]", lambda found: places[found[0]], re.escape(glob))


def globs_of(text):
    """The names in the map, from the top of the repository. A name stands before the colon of its phrase."""
    folder = None
    for line in text.split("\n## The map\n")[1].split("\n## ")[0].splitlines():
        heading = re.match(r"### `(.*?)`", line)
        folder = heading[1] if heading else folder
        for part in line.removeprefix("- ").split("; ") if line.startswith("- ") else []:
            names, colon, _ = part.partition(": ")
            yield from (folder + name for name in re.findall(r"`([^`]*)`", names) if colon)


def without_a_name(files, globs):
    pattern = re.compile("|".join(map(regular, globs)))
    return [file for file in files if not pattern.fullmatch(file)]


def without_a_file(files, globs):
    return [glob for glob in globs if not any(re.fullmatch(regular(glob), file) for file in files)]


def files_of_git():
    """What git has, or would have: new files too, but not those that were removed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *MAPPED]
    listed = subprocess.run(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if listed.returncode:
        pytest.skip("these sources are not a git checkout")
    return sorted({name for name in listed.stdout.decode().split("\0") if name and (REPO / name).exists()})


def test_the_map_names_every_file_and_no_other():
    files, globs = files_of_git(), list(globs_of(SHOWN.read_text(encoding="utf-8")))
    assert len(files) > 500 and len(globs) > 200
    assert not without_a_name(files, globs)
    assert not without_a_file(files, globs)


def test_a_file_without_a_name_and_a_name_without_a_file_are_found():
    map_ = "\n## The map\n\n### `a/b/`: some\n\n- `x.[ch]`, `y*.py`: see `no.c`; `d/**`: more\n\n## Next\n\n- `z.c`: no\n"
    globs = list(globs_of(map_))
    assert globs == ["a/b/x.[ch]", "a/b/y*.py", "a/b/d/**"]
    assert without_a_name(["a/b/x.h", "a/b/y1.py", "a/b/d/e/f", "a/b/e/y1.py", "a/x.c", "a/b/x.cc"], globs) == [
        "a/b/e/y1.py", "a/x.c", "a/b/x.cc"]  # fmt: skip
    assert without_a_file(["a/b/x.h"], globs) == ["a/b/y*.py", "a/b/d/**"]


def test_what_is_to_be_found_is_in_the_file_that_is_named():
    """In the table, a path is followed by the names of what is in that file."""
    table = SHOWN.read_text(encoding="utf-8").split("| to find | look |")[1].split("\n\n")[0]
    path, found = None, 0
    for word in re.findall(r"`([\w./]+)`", table):
        if "/" in word or word.endswith(".h"):
            path = REPO / word if "/" in word else path.with_name(word)
            assert path.exists(), word
        elif path.suffix == ".c":
            assert re.search(r"\b%s\b" % word, path.read_text(encoding="utf-8")), (path, word)
            found += 1
    assert found > 6


def test_the_tests_readme_says_which_question_each_file_answers():
    text = (REPO / "tests" / "README.md").read_text(encoding="utf-8")
    files = [path.stem for folder in ("server", "cli") for path in (REPO / "tests" / folder).glob("test_*.py")]
    assert len(files) > 80
    assert not [name for name in sorted(files) if not re.search(r"\b%s\b" % name, text)]
