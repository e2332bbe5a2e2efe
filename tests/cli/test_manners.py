"""How the tool speaks: help, versions, suggestions, summaries, completions."""

import os
import pty
import re
import select
import shutil
import subprocess

import pytest

from test_tool import REPO, TOOL, WORDS, built, info, lines, run, words_file  # noqa: F401  (fixtures)

COMPLETIONS = REPO / "module" / "extras" / "completions"


def commands():
    return re.findall(r"^  (\w+) ", run("--help").decode(), re.M)


def said(*words, stdin=b""):
    """Standard error of a run that ends well."""
    done = subprocess.run([TOOL, *map(str, words)], input=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          check=True, timeout=60)
    return done.stderr.decode()


# help


def test_help_is_one_text_however_it_is_asked_for():
    assert run("--help") == run("-h") == run("help")
    for command in commands():
        text = run(command, "--help")
        assert text == run(command, "-h") == run("help", command)
        assert text.startswith(b"usage: bloomport " + command.encode())


def test_every_help_has_examples_whose_options_exist():
    for command in commands():
        text = run("help", command).decode()
        options, examples = text.split("\nexamples:\n")
        assert re.findall(r"^  .*bloomport %s" % command, examples, re.M), command
        for word in re.findall(r"(?<= )-{1,2}[a-z-]+", re.sub(r"^.*\| ", "", examples, flags=re.M)):
            assert re.search(r" %s[ ,\[]" % word, options), (command, word)


def test_the_version_is_the_modules():
    source = (REPO / "module" / "core" / "version.h").read_text(encoding="utf-8")
    numbers = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", source)
    assert run("--version").decode() == "bloomport %s\n" % ".".join(numbers)
    assert run("version") == run("--version")
    assert b"bloomport --version" in run("--help")


@pytest.mark.parametrize("words, expected", [
    (["bild"], "unknown command 'bild' (did you mean build?), see bloomport --help"),
    (["inf"], "(did you mean info?)"),
    (["help", "sise"], "unknown command 'sise' (did you mean size?)"),
    (["build", "--eror", "0.1"], "build has no option --eror (did you mean --error?), see bloomport help build"),
    (["build", "--eror=0.1"], "build has no option --eror (did you mean --error?)"),
    (["build", "--capcity", "5"], "did you mean --capacity?"),
    (["build", "--format", "portible"], "there is no format 'portible' (did you mean portable?), but portable, "),
    (["pull", "--kye", "k"], "did you mean --key?"),
])
def test_a_misspelt_word_gets_a_suggestion(words, expected):
    assert expected in run(*words, status=2)


@pytest.mark.parametrize("words", [["-o"], ["words", "-o"], ["words", "--output"], ["-q", "words", "-qo"]])
def test_an_option_without_its_value_is_named(words):
    assert "%s needs a value, see bloomport help build" % words[-1] in run("build", *words, status=2)


@pytest.mark.parametrize("words, named", [(["-z", "f"], "-z"), (["-zq", "f"], "-z"), (["-qz"], "-z"), (["--zq", "f"], "--zq")])
def test_an_unknown_option_is_named_in_a_group_too(words, named):
    assert "build has no option %s, see bloomport help build" % named in run("build", *words, status=2)


def test_a_word_like_no_other_gets_none():
    for words in ["frobnicate"], ["build", "--frobnicate"], ["build", "--format", "foo"], ["info", "--key", "k"]:
        assert "did you mean" not in run(*words, status=2)


def test_a_key_where_a_file_is_written_gets_a_hint():
    for command in "build", "merge", "convert":
        assert "%s has no option --key (push puts a file to a key), see" % command in run(command, "--key", "k", status=2)


def test_a_percentage_is_refused_with_the_number_to_write():
    assert "--error: '0.1%' is not a number, write 0.001\n" in run("size", "--items", "5", "--error", "0.1%", status=2)
    assert "write 0.01\n" in run("build", "--error", "1%", status=2)


def test_size_takes_capacity_for_items():
    assert run("size", "--capacity", "1M", "--error", "0.01") == run("size", "--items", "1M", "--error", "0.01")
    assert "--capacity: 'x' is not" in run("size", "--capacity", "x", "--error", "0.01", status=2)


# one word for one thing


def test_format_is_the_word_everywhere_and_the_old_ones_still_work(tmp_path, words_file):  # noqa: F811
    path = tmp_path / "f"
    run("build", "--format", "leveldb", "-o", path, words_file)
    for word in "--format", "--from":
        assert run("check", "-c", word, "leveldb", path, stdin=lines(WORDS)) == b"5000\n"
        assert info(path, word, "leveldb")["format"] == "leveldb"
    for word in "--format", "--to":
        dump = run("convert", "--from", "leveldb", word, "dump", path)
        assert dump.startswith(b"BLOOMPRT")


def test_a_variant_is_one_of_its_format(tmp_path, words_file):  # noqa: F811
    path = tmp_path / "f"
    for name, variant in ("cassandra", "3.x"), ("cassandra", "4.x"), ("cassandra", "old"):
        run("build", "--format", name, "--variant", variant, "-o", path, words_file)
        assert run("check", "-c", "--format", name, "--variant", variant, path, stdin=lines(WORDS)) == b"5000\n"
        again = run("convert", "--from", name, "--variant", variant, "--to", "dump", path)
        assert run("convert", "--to", name, "--variant", variant, "-", stdin=again) == path.read_bytes()
    one, two = (run("build", "--format", "spark", "--variant", variant, words_file) for variant in ("v1", "v2"))
    assert (one[3], two[3]) == (1, 2)
    assert "format spark has no variant '4.x'" in run("build", "--format", "spark", "--variant", "4.x", words_file, status=2)
    assert "--variant goes with --format" in run("info", "--variant", "4.x", path, status=2)


# the summary


def test_the_summary_has_items_seconds_size_and_rate(tmp_path, words_file):  # noqa: F811
    path = tmp_path / "f"
    assert re.fullmatch(r"5,000 items, 4,999 of them new, \d+\.\d\d s, 9\.0 kB, error rate 0\.001\n",
                        said("build", "--error", "0.001", "-o", path, words_file))
    assert re.match(r"1 items, .*, error rate", said("build", "-o", path, stdin=b"a\n"))


def test_quiet_says_nothing(tmp_path, words_file):  # noqa: F811
    path = tmp_path / "f"
    assert said("build", "-q", "-o", path, words_file) == ""
    assert said("build", "--quiet", "-o", path) == ""
    assert said("merge", "-q", "-o", tmp_path / "g", path, path) == ""


def test_an_empty_input_is_said(tmp_path):
    text = said("build", "-o", tmp_path / "f")
    assert text.startswith("the input is empty: a filter without items was written\n0 items, ")


def test_a_built_file_keeps_the_capacity_and_the_rate_that_were_asked_for(tmp_path):
    path = tmp_path / "f"
    for items, rate in (1, 0.5), (1000, 0.001), (1_000_000, 0.01), (1_100_000, 0.01):
        run("build", "--error", rate, "-o", path, stdin=lines(b"%d" % i for i in range(items)))
        facts = info(path)
        assert (facts["format"], facts["capacity"]) == ("dump", items)
        assert facts["items"] <= items and facts["items"] >= 0.98 * items


# completions


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_installed_completions_are_those_of_the_tool(shell):
    assert (COMPLETIONS / ("bloomport." + shell)).read_bytes() == run("completion", shell)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_its_completions(shell):
    if not shutil.which(shell):
        pytest.skip(shell + " is not installed")
    subprocess.run([shell, "-n", COMPLETIONS / ("bloomport." + shell)], check=True)


def completed_by_bash(line, cwd):
    """What bash offers at the end of a line."""
    words = line.split(" ")
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bloomport; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", COMPLETIONS / "bloomport.bash", *words], cwd=cwd, check=True,
                          stdout=subprocess.PIPE, text=True)
    return [word for word in done.stdout.splitlines() if word]


def test_bash_completes_commands_options_values_and_files(tmp_path):
    (tmp_path / "users.bloom").write_bytes(b"")
    assert set(commands()) | {"help"} <= set(completed_by_bash("bloomport ", tmp_path))
    assert completed_by_bash("bloomport bui", tmp_path) == ["build"]
    assert completed_by_bash("bloomport build --err", tmp_path) == ["--error"]
    assert completed_by_bash("bloomport build --layout bl", tmp_path) == ["blocked"]
    assert "valkeybloom" in completed_by_bash("bloomport convert --to ", tmp_path)
    assert completed_by_bash("bloomport info us", tmp_path) == ["users.bloom"]
    assert completed_by_bash("bloomport build -o us", tmp_path) == ["users.bloom"]
    (tmp_path / "two words.bloom").write_bytes(b"")
    assert completed_by_bash("bloomport info tw", tmp_path) == ["two words.bloom"]
    assert completed_by_bash("bloomport help che", tmp_path) == ["check"]
    assert completed_by_bash("bloomport completion z", tmp_path) == ["zsh"]


def test_fish_completes_commands_and_values(tmp_path):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")

    def completed(line):
        script = "source %s; complete -C '%s'" % (COMPLETIONS / "bloomport.fish", line)
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, check=True,
                              text=True)
        offered = [row.split("\t")[0] for row in done.stdout.splitlines()]
        # Since fish 4 also what has the letters typed at other places: --cacertdir for --err.
        return [word for word in offered if word.startswith(line.split(" ")[-1])]

    assert set(commands()) <= set(completed("bloomport "))
    assert completed("bloomport build --layout bl") == ["blocked"]
    assert completed("bloomport build --err") == ["--error"]


def test_zsh_completes_commands_options_and_values(tmp_path):
    """A zsh on a terminal; each line is completed by a tab and then echoed by the shell itself."""
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    (tmp_path / "_bloomport").write_bytes((COMPLETIONS / "bloomport.zsh").read_bytes())
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PS1": "", "ZDOTDIR": str(tmp_path)}
    process = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment,
                               start_new_session=True)
    seen = b""

    def until(text):
        nonlocal seen
        while text not in seen:
            assert select.select([ours], [], [], 60)[0], seen
            seen += os.read(ours, 4096)

    try:
        os.write(ours, b"fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' insert-tab false; bloomport() { print -r -- got $*; }; print rea''dy\n")
        until(b"ready")
        for typed, expected in (b"bui\t", b"got build"), (b"build --layout=bl\t", b"got build --layout=blocked"), (
                b"list --sort=ut\t", b"got list --sort=utilisation"), (b"build --err\t0.5", b"got build --error=0.5"):
            os.write(ours, b"bloomport " + typed + b"\n")
            until(expected)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
