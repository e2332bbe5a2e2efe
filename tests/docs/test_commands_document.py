"""module/docs/COMMANDS.md against the server's own COMMAND DOCS and the error texts in the sources."""

import re

import pytest

import documents
from redis_server import Server
from test_command_table import command_info, docs

SECTIONS = {name: text for name, text in documents.sections(documents.COMMANDS).items()
            if name.startswith("BF.")}


@pytest.fixture(scope="module")
def server():
    server = Server().start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def documented(server):
    """{name: COMMAND DOCS} of every command of the module."""
    call = server.connection(protocol=3).call
    names = call("COMMAND", "LIST", "FILTERBY", "MODULE", "bf").plain
    return {name.decode().upper(): docs(call, name) for name in names}


def syntax(argument):
    """One argument as the document writes it."""
    inner = [syntax(each) for each in argument.get("arguments", [])]
    kind, token = argument["type"], argument.get("token", "")
    optional = "optional" in argument.get("flags", [])
    if kind == "pure-token":
        text = token
    else:
        if kind == "oneof":
            text = " | ".join(inner)
            text = text if optional and not token else f"<{text}>"
        else:
            text = " ".join(inner) if kind == "block" else argument["name"]
        text = f"{token} {text}".strip()
        if "multiple" in argument.get("flags", []):
            text += f" [{text} ...]"
    return f"[{text}]" if optional else text


def first_block(text):
    return "\n".join(next(documents.fenced(text, ""))[1])


def test_every_command_has_a_section_and_no_other_has(documented):
    assert sorted(SECTIONS) == sorted(documented)


def test_the_list_at_the_top_links_every_section():
    linked = re.findall(r"\[(BF\.\w+)\]\(#(\w+)\) ?(?:·|\n)", documents.COMMANDS.read_text())
    assert [name for name, _ in linked] == list(SECTIONS)


@pytest.mark.parametrize("name", SECTIONS)
def test_the_syntax_is_that_of_command_docs(documented, name):
    line = " ".join([name, *map(syntax, documented[name]["arguments"])])
    assert first_block(SECTIONS[name]) == line


@pytest.mark.parametrize("name", SECTIONS)
def test_the_complexity_is_that_of_command_docs(documented, name):
    (row,) = re.findall(r"^\| complexity \| (.*) \|$", SECTIONS[name], re.M)
    assert row == documented[name]["complexity"]


@pytest.mark.parametrize("name", SECTIONS)
def test_every_command_has_a_reply_and_an_example(name):
    assert re.search(r"^\| reply", SECTIONS[name], re.M)
    assert any(step.command.count(name) for step in documents.steps(documents.COMMANDS))


@pytest.mark.parametrize("name", SECTIONS)
def test_writing_commands_say_their_event_and_what_is_propagated(server, name):
    is_write = "write" in command_info(server.call, name)["flags"]
    for word in ("event", "propagated as"):
        assert is_write == bool(re.search(rf"^\| {word} \|", SECTIONS[name], re.M))


def source_texts():
    """What stands in quotes in the module's sources, neighbours joined as the compiler does."""
    text = ""
    for pattern in ("module/*.[ch]", "rdb/*.[ch]", "rdb/formats/*.[ch]"):
        for path in sorted(documents.REPO.glob(pattern)):
            text += re.sub(r'"\s*(?:\\\n\s*)*"', "", path.read_text(encoding="utf-8"))
    return set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))


def shape(text):
    """An error text as a regular expression, printf's places open."""
    return re.sub(r"%\w+", ".+", re.escape(text))


def test_every_error_text_of_the_sources_is_documented():
    document = documents.COMMANDS.read_text(encoding="utf-8")
    texts = {text.replace(": %s", ":") for text in source_texts() if text.startswith("ERR ")}
    assert len(texts) > 30
    assert not sorted(text for text in texts if not re.search(shape(text), document))


def test_every_documented_error_text_is_in_the_sources():
    texts = source_texts() | {"ERR wrong number of arguments for 'bf.add' command"}
    known = [shape(text) for text in texts if text.startswith("ERR ")]
    said = re.findall(r"`(ERR [^`]*)`", documents.COMMANDS.read_text(encoding="utf-8"))
    assert not sorted(text for text in said if not any(re.fullmatch(one, text) for one in known))


@pytest.mark.parametrize("name", ["at the top", *SECTIONS])
def test_every_row_of_errors_says_what_to_do(name):
    text = SECTIONS.get(name) or documents.COMMANDS.read_text(encoding="utf-8").split("\n## ")[0]
    for table in re.findall(r"^\| error \|.*\n(?:\|.*\n)+", text, re.M):
        head, _, *rows = table.splitlines()
        assert head == "| error | when | what to do |"
        for row in rows:
            assert all(cell.strip() for cell in row.strip("|").split(" | ")), row
            assert row.count(" | ") == 2, row


def test_the_loop_that_copies_a_filter_does(server):
    client = server.client()
    (block,) = documents.fenced(SECTIONS["BF.LOADCHUNK"], "python")
    scope = {}
    exec("\n".join(block[1]), scope)  # pylint: disable=exec-used
    client.execute_command("BF.RESERVE", "from", "0.01", "10")
    client.execute_command("BF.MADD", "from", *map(str, range(50)))
    scope["copy"](client, "from", client, "to")
    assert client.execute_command("BF.DEBUG", "from") == client.execute_command("BF.DEBUG", "to")
    assert client.execute_command("BF.MEXISTS", "to", *map(str, range(50))) == [1] * 50
