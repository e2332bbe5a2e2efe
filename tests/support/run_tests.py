"""Runs cmocka programs and pytest files side by side and adds up their results; the last line printed is
"N passed, N failed". Exit status 1 on any failure, on a program that crashes, on a file that does
not load, on a group or program without a single test, and on any sanitizer report.

    run_tests.py --out build/release [--jobs n] [--left-out file] [--unit program ...] [--server file-or-directory ...]

Each file has a process of its own and, by the fixtures, servers and ports of its own, so any number of them
can run at a time: as many as there are CPUs, or `--jobs`. What a file printed is shown if it failed; the only
one of a run has the terminal for itself (PYTEST_ADDOPTS='-s', '--pdb').

The file of --left-out has a line for each test that is not run: its path without .c or .py, or, after
"::", one test of it; and the reason, which is printed. Each counts as skipped.
"""
import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

# These first, so that no long one begins when the others are over; by the seconds that a run prints.
LONGEST_FIRST = """test_rates test_statistics test_tidy test_always_loadable test_persistence test_recipes test_random_programs
    test_tool_valkeybloom test_input test_replication test_replica_gaps test_small_filters test_damaged_files
    test_formats_fixtures test_durability test_stands_alone test_connections test_cluster test_scheme_rates""".split()
NO_TESTS_COLLECTED = 5  # pytest's exit status


class Result(NamedTuple):
    """What one program or file gave."""

    passed: int
    failed: int
    skipped: int
    said: str  # worth showing

    def counts(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def total(results):
    return Result(*(sum(result[i] for result in results) for i in range(3)), "")


def say(*words, sep=" "):
    print(*words, sep=sep, flush=True)


# ---- cmocka ----------------------------------------------------------------------------------


def skipped_tests(output):
    """(name, reason) of each test that a cmocka program skipped: what it printed before skipping."""
    for name, said in re.findall(r"^\[ RUN +\] (\w+)\n((?:(?!\[ ).*\n)*)\[ +SKIPPED +\] \w+$", output, re.M):
        yield name, " ".join(said.split()) or "it does not say why"


def run_unit(program):
    """One cmocka program: its output is shown only if something is wrong."""
    # Results are counted from cmocka's default output, whatever the user's environment asks for.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CMOCKA_")}
    # BLOOMPORT_WRAP: valgrind and its options.
    wrap = shlex.split(os.environ.get("BLOOMPORT_WRAP", ""))
    run = subprocess.run([*wrap, program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace")

    def number(word):
        return sum(map(int, re.findall(rf"^\[ +{word} +\] (\d+) test", run.stdout, re.M)))

    passed, failed, skipped = number("PASSED"), number("FAILED"), number("SKIPPED")
    name = os.path.basename(program)
    if run.returncode != 0 or passed + failed + skipped == 0:
        # a crash or an empty program is one failure
        said = f"{run.stdout}\nFAILED {program}: exit status {run.returncode}, {passed} passed"
        return Result(passed, max(failed, 1), skipped, said)
    reasons = [f"SKIPPED [1] {name}: {test}: {reason}" for test, reason in skipped_tests(run.stdout)]
    return Result(passed, failed, skipped, "\n".join(reasons))


# ---- pytest ----------------------------------------------------------------------------------


def test_files(path):
    """The files of a directory; a file, or a file and `::test`, as it is."""
    return sorted(map(str, Path(path).rglob("test_*.py"))) if os.path.isdir(path) else [path]


def read_junit(path):
    """(tests, failed, skipped); nothing if pytest did not get so far."""
    if not os.path.exists(path):
        return 0, 0, 0
    suite = ElementTree.parse(path).getroot().find("testsuite")
    tests, failures, errors, skipped = (int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped"))
    return tests, min(failures + errors, tests), skipped


def run_pytest(path, words, out, is_only):
    """One file; its JUnit file has the numbers."""
    junit = os.path.join(out, "junit", re.sub(r"\W+", "-", path) + ".xml")
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-rsfE", "-p", "no:cacheprovider", f"--junitxml={junit}"]
    captured = {} if is_only else {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    run = subprocess.run([*command, *words, path], text=True, errors="replace", **captured)
    tests, failed, skipped = read_junit(junit)
    said = run.stdout or ""
    if run.returncode == NO_TESTS_COLLECTED and os.environ.get("PYTEST_ADDOPTS") and not is_only:
        return Result(0, 0, 0, "")  # -k and -m select tests of other files
    if run.returncode != 0 or tests == 0:
        failed = max(failed, 1)
        if not re.search(r"^(FAILED|ERROR) ", said, re.M):
            said += f"\nFAILED {path}: exit status {run.returncode}, {tests} tests"
    else:
        said = "\n".join(re.findall(r"^SKIPPED .*", said, re.M))
    return Result(max(tests - failed - skipped, 0), failed, skipped, said)


# ---- What is left out ------------------------------------------------------------------------


def read_left_out(path):
    """[(test, reason)], of tests/platforms/left_out.txt for example."""
    with open(path, encoding="utf-8") as file:
        return [line.split(None, 1) for line in file.read().splitlines() if line and not line.startswith("#")]


def leave_out(left_out, units, files):
    """Takes these tests out of both lists and says so. Returns how many, and pytest's words for the rest."""
    words, count = [], 0
    for test, reason in left_out:
        source, _, name = test.partition("::")
        programs = [path for path in units if path.endswith("/" + test)]
        if programs:
            units.remove(*programs)
        elif source + ".py" not in files:
            continue
        elif name:
            words += ["--deselect", f"{source}.py::{name}"]
        else:
            files.remove(source + ".py")
        say(f"SKIPPED [1] {test}: {reason}")
        count += 1
    return count, words


# ---- All -------------------------------------------------------------------------------------


def timed(function, *words):
    began = time.monotonic()
    return function(*words), time.monotonic() - began


def rank(task):
    name = Path(task[0]).stem
    return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)


def run_all(tasks, jobs):
    """The results of [(name, function, word ...)], each of which is said when it is there."""
    results = []
    with ThreadPoolExecutor(jobs) as pool:
        names = {pool.submit(timed, *task[1:]): task[0] for task in sorted(tasks, key=rank)}
        try:
            for future in as_completed(names):
                result, seconds = future.result()
                if result.said:
                    say(result.said)
                say(f"{names[future]}: {result.counts()}, {seconds:.1f} s")
                results.append(result)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return results


def sanitizer_reports(out):
    """Reports of crashes, leaks and races; a failed allocation leaves only a WARNING, which is no fault."""
    for path in sorted(glob.glob(os.path.join(out, "report.*"))):
        with open(path, errors="replace") as report:
            text = report.read()
        if "ERROR:" in text or "ThreadSanitizer:" in text:
            yield Result(0, 1, 0, f"--- {path}\n{text}\nFAILED {path}: a report of a sanitizer")


def clean(out):
    os.makedirs(out, exist_ok=True)
    for path in glob.glob(os.path.join(out, "report.*")):
        os.remove(path)
    shutil.rmtree(os.path.join(out, "junit"), ignore_errors=True)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--left-out")
    parser.add_argument("--unit", nargs="*")
    parser.add_argument("--server", nargs="*")
    return parser.parse_args()


def main():
    options = parse()
    clean(options.out)
    units = list(options.unit or [])
    files = [file for path in options.server or [] for file in test_files(path)]
    left_out, words = leave_out(read_left_out(options.left_out), units, files) if options.left_out else (0, [])
    results = [Result(0, 0, left_out, "")]
    if options.unit == [] or (options.server is not None and not files):
        say("FAILED there is no such test")
        results.append(Result(0, 1, 0, ""))
    is_only = len(units) + len(files) == 1
    tasks = [(program, run_unit, program) for program in units]
    tasks += [(file, run_pytest, file, words, options.out, is_only) for file in files]
    results += run_all(tasks, options.jobs)
    for report in sanitizer_reports(options.out):
        say(report.said)
        results.append(report)

    failures = re.findall(r"^(?:FAILED|ERROR) .*", "\n".join(result.said for result in results), re.M)
    say(*failures, sep="\n")
    counts = total(results)
    with open(os.path.join(options.out, "summary"), "w") as summary:
        summary.write(f"{counts.counts()}\n")
    say(counts.counts())
    return 0 if counts.passed and not counts.failed else 1


if __name__ == "__main__":
    sys.exit(main())
