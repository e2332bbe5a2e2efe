"""What the documents say of the repository and of each other: links, versions, targets, settings."""

import os
import re
import subprocess

import pytest

import documents
from redis_server import MODULE, Server

REPO = documents.REPO
TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))
SNIPPET = REPO / "module" / "extras" / "debian" / "bloomport.conf"
MARKDOWN, README = documents.MARKDOWN, documents.README


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    text = documents.without_code(path.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def links(path):
    """The targets of a document's links and pictures, those in code left out."""
    text = re.sub(r"`[^`\n]*`", "", documents.without_code(path.read_text(encoding="utf-8")))
    return re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("path", MARKDOWN, ids=documents.named)
def test_links_lead_somewhere(path):
    broken = []
    for target in links(path):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_the_readme_leads_to_every_page():
    linked = {(REPO / target.partition("#")[0]).resolve() for target in links(README)}
    pages = {*documents.PAGES.glob("*.md"), *REPO.glob(".github/CONTRIBUTING.md"), REPO / "tests" / "README.md", REPO / "tests" / "RESULTS.md"}
    assert not sorted(map(documents.named, pages - linked))


def test_the_readme_is_under_180_lines():
    assert len(README.read_text(encoding="utf-8").splitlines()) < 180


@pytest.mark.parametrize("path", sorted(documents.PAGES.glob("*.md")), ids=documents.named)
def test_a_page_opens_with_what_it_answers_and_has_contents_if_it_is_long(path):
    text = path.read_text(encoding="utf-8")
    if path == documents.CHANGES:
        return
    title, _, opening, *_ = text.splitlines()
    assert title.startswith("# ") and opening.startswith("This page answers")
    headings = documents.sections(path)
    if len(headings) > 5:
        contents = [line for line in text.split("\n## ")[0].splitlines() if " · " in line]
        assert len(contents) == 1 and re.findall(r"\[([^]]*)\]", contents[0]) == list(headings)


def table_rows(path):
    """The rows of a document's tables, without heads, rulers and very short rows."""
    for table in re.findall(r"(?:^\|.*\n)+", documents.without_code(path.read_text(encoding="utf-8")), re.M):
        for row in table.splitlines()[2:]:
            words = " ".join(row.replace("|", " ").split())
            if len(words) > 30:
                yield words


def sentences(path):
    """The longer sentences of a document's prose."""
    text = re.sub(r"^\|.*$", "", documents.without_code(path.read_text(encoding="utf-8")), flags=re.M)
    for sentence in re.split(r"(?<=[.:;!?])\s+|\n+", text):
        sentence = re.sub(r"[*_`]|\[|\]\([^)]*\)|^[-\d. ]+", "", sentence).strip()
        if len(sentence) > 50:
            yield sentence


@pytest.mark.parametrize("parts", [table_rows, sentences])
def test_no_document_repeats_another(parts):
    where = {}
    for path in MARKDOWN:
        for part in set(parts(path)):
            where.setdefault(part, []).append(documents.named(path))
    assert len(where) > 100
    assert not {part: paths for part, paths in where.items() if len(paths) > 1}


def makefiles():
    """The texts of the Makefile and of what it includes."""
    names = ["Makefile", "tests/targets.mk", "tests/platforms.mk", "module/extras/release/release.mk"]
    return [(REPO / name).read_text(encoding="utf-8") for name in names]


def test_make_targets_named_in_the_documents_exist():
    targets = {target for text in makefiles() for target in re.findall(r"^([a-z0-9-]+):", text, re.M)}
    for path in MARKDOWN:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"`(?:sudo )?make ([a-z][a-z0-9-]*)", text))
        named |= set(re.findall(r"^(?:sudo )?make ([a-z][a-z0-9-]*)", text, re.M))
        assert named <= targets, path.name


def test_the_makefile_is_under_150_lines():
    assert len((REPO / "Makefile").read_text(encoding="utf-8").splitlines()) < 150


def test_make_help_lists_every_target_that_has_a_description_in_one_of_five_groups():
    described = [target for text in makefiles() for target in re.findall(r"^([a-z0-9-]+):.* ## ", text, re.M)]
    printed = subprocess.run(["make", "-s", "help"], cwd=REPO, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert re.findall(r"^(\w.*):$", printed, re.M) == ["Use it", "Work on it", "Measure it", "Other platforms", "Release it"]
    assert re.findall(r"^  make ([a-z0-9-]+) +\S", printed, re.M) == described and len(described) > 30


def test_the_readme_lists_every_command_and_no_other():
    listed = re.findall(r"^\| `(BF\.\w+)", README.read_text(encoding="utf-8"), re.M)
    commands = [name for name in documents.sections(documents.COMMANDS) if name.startswith("BF.")]
    assert sorted(set(listed)) == sorted(commands)


def test_the_newest_released_change_is_the_version_of_the_module(start):
    unreleased, heading, *_ = documents.sections(documents.CHANGES)
    assert unreleased == "[Unreleased]"
    major, minor, patch = map(int, re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d", heading).groups())
    modules = [dict(zip(one[::2], one[1::2])) for one in start().client().execute_command("MODULE", "LIST")]
    assert [one[b"ver"] for one in modules if one[b"name"] == b"bf"] == [major * 10000 + minor * 100 + patch]


def test_the_configuration_snippet_has_every_setting_at_its_default(start):
    said = dict(re.findall(r"^# (bf\.\S+) (\S+)$", SNIPPET.read_text(encoding="utf-8"), re.M))
    settings = start().connection(protocol=3).call("CONFIG", "GET", "bf.*").plain
    assert said == {name.decode(): value.decode() for name, value in settings.items()}


def test_a_server_starts_with_every_line_of_the_configuration_snippet():
    text = re.sub(r"^# (bf\.)", r"\1", SNIPPET.read_text(encoding="utf-8"), flags=re.M)
    server = Server(module=None)
    try:
        with open(server.config_file, "a", encoding="utf-8") as config:
            config.write(text.replace("/usr/lib/redis/modules/bloomport.so", MODULE))
        server.start()
        assert server.client().execute_command("BF.ADD", "k", "a") == 1
    finally:
        server.close()


def files_below(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_make_install_installs_seven_files_where_it_says_and_uninstall_removes_them(tmp_path):
    def make(target):
        subprocess.run(["make", "-s", "-o", "all", target, f"SO={MODULE}", f"TOOL={TOOL}",
                        f"DESTDIR={tmp_path}", "PREFIX=/opt/x"], cwd=REPO, check=True)

    make("install")
    assert files_below(tmp_path) == [
        "opt/x/bin/bloomport",
        "opt/x/lib/redis/modules/bloomport.so",
        "opt/x/share/bash-completion/completions/bloomport",
        "opt/x/share/doc/bloomport/examples/bloomport.conf",
        "opt/x/share/fish/vendor_completions.d/bloomport.fish",
        "opt/x/share/man/man1/bloomport.1",
        "opt/x/share/zsh/site-functions/_bloomport",
    ]
    snippet = (tmp_path / "opt/x/share/doc/bloomport/examples/bloomport.conf").read_text(encoding="utf-8")
    assert "\nloadmodule /opt/x/lib/redis/modules/bloomport.so\n" in snippet
    make("uninstall")
    assert files_below(tmp_path) == []
