"""Runs cmocka programs and pytest files and adds up their results; the last line printed is
"N passed, N failed". Exit status 1 on any failure, on a program that crashes, on a file that does
not load, on a group or program without a single test, and on any sanitizer report.

    run_tests.py --out build/release [--left-out file] [--unit program ...] [--server file-or-directory ...]

The file of --left-out has a line for each test that is not run: its path without .c or .py, or, after
"::", one test of it; and the reason, which is printed. Each counts as skipped.
"""
import argparse
import glob
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def say(*words):
    print(*words, flush=True)


def skipped_tests(output):
    """(name, reason) of each test that a cmocka program skipped: what it printed before skipping."""
    for name, said in re.findall(r"^\[ RUN +\] (\w+)\n((?:(?!\[ ).*\n)*)\[ +SKIPPED +\] \w+$", output, re.M):
        yield name, " ".join(said.split()) or "it does not say why"


def run_unit(program, counts):
    """One cmocka program: its output is shown only if something is wrong."""
    # Results are counted from cmocka's default output, whatever the user's environment asks for.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CMOCKA_")}
    # BLOOMPORT_WRAP: valgrind and its options.
    wrap = shlex.split(os.environ.get("BLOOMPORT_WRAP", ""))
    run = subprocess.run([*wrap, program], env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace")

    def total(word):
        return sum(map(int, re.findall(rf"^\[ +{word} +\] (\d+) test", run.stdout, re.M)))

    passed, failed, skipped = total("PASSED"), total("FAILED"), total("SKIPPED")
    if run.returncode != 0 or passed + failed + skipped == 0:
        say(run.stdout)
        say(f"{program}: exit status {run.returncode}, {passed} passed")
        failed = max(failed, 1)  # a crash or an empty program is one failure
    else:
        say(f"{os.path.basename(program)}: {passed} passed")
        for name, reason in skipped_tests(run.stdout):
            say(f"SKIPPED [1] {os.path.basename(program)}: {name}: {reason}")
    counts.add(passed, failed, skipped)


def read_left_out(path):
    """[(test, reason)], of tests/platforms/left_out.txt for example."""
    with open(path, encoding="utf-8") as file:
        return [line.split(None, 1) for line in file.read().splitlines() if line and not line.startswith("#")]


def leave_out(left_out, options, counts):
    """Takes these tests out of what was asked for and says so; returns pytest's words for it."""
    words = []
    for test, reason in left_out:
        source, _, name = test.partition("::")
        programs = [path for path in options.unit or [] if path.endswith("/" + test)]
        if programs:
            options.unit.remove(*programs)
        elif any(os.path.commonpath([path, source + ".py"]) == path for path in options.server or []):
            words += ["--deselect", f"{source}.py::{name}"] if name else ["--ignore", source + ".py"]
        else:
            continue
        say(f"SKIPPED [1] {test}: {reason}")
        counts.add(0, 0, 1)
    return words


def run_server(words, out, counts):
    """One pytest run over all the paths, which may be options too; its JUnit file has the numbers."""
    junit = os.path.join(out, "pytest.xml")
    if os.path.exists(junit):
        os.remove(junit)
    status = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                             f"--junitxml={junit}", *words]).returncode
    tests = failed = skipped = 0
    if os.path.exists(junit):
        suite = ElementTree.parse(junit).getroot().find("testsuite")
        tests, failures, errors, skipped = (
            int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped"))
        failed = min(failures + errors, tests)
    if status != 0 or tests == 0:
        failed = max(failed, 1)
    counts.add(max(tests - failed - skipped, 0), failed, skipped)


def sanitizer_reports(out):
    """Reports of crashes, leaks and races; a failed allocation leaves only a WARNING, which is no fault."""
    for path in sorted(glob.glob(os.path.join(out, "report.*"))):
        with open(path, errors="replace") as report:
            text = report.read()
        if "ERROR:" in text or "ThreadSanitizer:" in text:
            yield path, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--left-out")
    parser.add_argument("--unit", nargs="*")
    parser.add_argument("--server", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for path in glob.glob(os.path.join(options.out, "report.*")):
        os.remove(path)

    counts = Counts()
    pytest_words = []
    if options.left_out:
        pytest_words = leave_out(read_left_out(options.left_out), options, counts)
    if options.unit is not None:
        if not options.unit:
            say("no such unit test program")
            counts.add(0, 1, 0)
        for program in options.unit:
            run_unit(program, counts)
    if options.server is not None:
        run_server(pytest_words + options.server, options.out, counts)
    for path, text in sanitizer_reports(options.out):
        say(f"--- {path}\n{text}")
        counts.add(0, 1, 0)

    with open(os.path.join(options.out, "summary"), "w") as summary:
        summary.write(f"{counts}\n")
    say(counts)
    return 0 if counts.passed and not counts.failed else 1


if __name__ == "__main__":
    sys.exit(main())
