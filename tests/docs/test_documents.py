"""What the documents say of the repository and of each other: links, versions, targets, settings."""

import os
import re
import subprocess

import pytest

import documents
from redis_server import MODULE, Server

REPO = documents.REPO
TOOL = os.environ.get("BLOOMPORT_TOOL", str(REPO / "build" / "bloomport"))
SNIPPET = REPO / "module" / "package" / "bloomport.conf"
MARKDOWN = sorted(path for path in [*REPO.glob("*.md"), *REPO.glob("*/**/*.md"), *REPO.glob(".github/*.md")]
                  if not {"build", "node_modules", "target"} & set(path.relative_to(REPO).parts))


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.S | re.M)


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(REPO)))
def test_links_lead_somewhere(path):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_make_targets_named_in_the_documents_exist():
    targets = set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(encoding="utf-8"), re.M))
    for path in MARKDOWN:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"`(?:sudo )?make ([a-z][a-z-]*)", text))
        named |= set(re.findall(r"^(?:sudo )?make ([a-z][a-z-]*)", text, re.M))
        assert named <= targets, path.name


def test_the_readme_lists_every_command_and_no_other():
    listed = re.findall(r"^\| `(BF\.\w+)", documents.README.read_text(encoding="utf-8"), re.M)
    commands = [name for name in documents.sections(documents.COMMANDS) if name.startswith("BF.")]
    assert sorted(set(listed)) == sorted(commands)


def test_the_change_log_begins_with_the_version_of_the_module(start):
    heading = next(iter(documents.sections(REPO / "module" / "CHANGELOG.md")))
    major, minor, patch = map(int, re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \(\d{4}-\d\d-\d\d\)", heading).groups())
    (module,) = start().client().execute_command("MODULE", "LIST")
    module = dict(zip(module[::2], module[1::2]))
    assert module[b"ver"] == major * 10000 + minor * 100 + patch


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


def test_make_install_puts_four_files_where_it_says_and_uninstall_takes_them_away(tmp_path):
    def make(target):
        subprocess.run(["make", "-s", "-o", "all", target, f"SO={MODULE}", f"TOOL={TOOL}",
                        f"DESTDIR={tmp_path}", "PREFIX=/opt/x"], cwd=REPO, check=True)

    make("install")
    assert files_below(tmp_path) == [
        "opt/x/bin/bloomport",
        "opt/x/lib/redis/modules/bloomport.so",
        "opt/x/share/doc/bloomport/examples/bloomport.conf",
        "opt/x/share/man/man1/bloomport.1",
    ]
    snippet = (tmp_path / "opt/x/share/doc/bloomport/examples/bloomport.conf").read_text(encoding="utf-8")
    assert "\nloadmodule /opt/x/lib/redis/modules/bloomport.so\n" in snippet
    make("uninstall")
    assert files_below(tmp_path) == []
