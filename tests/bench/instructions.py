"""Counts the instructions that one item of a BLOCKED layer takes, in plain C and in SIMD code.

    instructions.py program [qemu ...]

A count is the same whatever else the machine does, and means something under emulation, where time means
nothing. It is the difference of two runs of tests/bench/instructions.c, divided by the items between them,
less the same for filling the array of hashes. Without an emulator valgrind counts; qemu-user writes a line
for every instruction that it executes.
"""
import re
import subprocess
import sys
import tempfile

FEW, MANY = 2560, 12800


def count_valgrind(program, words):
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, *words],
                             stderr=subprocess.PIPE, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def count_qemu(emulator, program, words):
    with tempfile.NamedTemporaryFile() as log:
        subprocess.run([*emulator, "-singlestep", "-d", "exec,nochain", "-D", log.name, program, *words], check=True)
        return sum(1 for line in log if line.startswith(b"Trace"))


def per_item(program, emulator, *words):
    def count(n):
        return count_qemu(emulator, program, [*words, str(n)]) if emulator else count_valgrind(program, [*words, str(n)])
    return (count(MANY) - count(FEW)) / (MANY - FEW)


def main():
    program, *emulator = sys.argv[1:]
    array = per_item(program, emulator, "plain", "nothing", "none")
    print("| instructions per item | plain C | SIMD | plain / SIMD |\n|---|---|---|---|")
    for what in ("contains", "add"):
        for how in ("one", "many"):
            plain, simd = (per_item(program, emulator, code, what, how) - array for code in ("plain", "simd"))
            print(f"| {what}, {'one by one' if how == 'one' else 'in batches'} | {plain:.1f} | {simd:.1f} | {plain / simd:.2f} |")


if __name__ == "__main__":
    main()
