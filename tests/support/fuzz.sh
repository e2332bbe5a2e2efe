#!/bin/sh
# What `make fuzz` runs: each target for RUNS executions, or else for SECONDS, one after another. It
# starts from the corpus in the repository and from what earlier runs have found, and keeps what is
# new in <out>/corpus. An input that fails is left in <out>, and the status is 1. The last line counts the
# targets: N passed, N failed.
#
#   fuzz.sh out runs seconds program ...
#
# RUNS=merge adds to the repository what earlier runs have found.
set -u
out=$1 runs=$2 seconds=${3:-60}
shift 3
failed=0 passed=0
# Short stacks and a small quarantine: half the time goes into malloc otherwise.
export ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=16
for program; do
    target=${program##*/}
    entry=${target#fuzz_}
    kept=tests/fuzz/corpus/$entry
    found=$out/corpus/$entry
    mkdir -p "$kept" "$found"
    case $entry in program) longest=132 ;; pieces) longest=48 ;; items) longest=200 ;; *) longest=400 ;; esac
    if [ "$runs" = merge ]; then
        # Edges only, so that the corpus stays small.
        "$program" -merge=1 -use_counters=0 -max_len=$longest "$kept" "$found" 2>&1 | grep -a 'MERGE-OUTER: [0-9]* new' || failed=$((failed + 1))
        continue
    fi
    echo "$target: ${runs:-$seconds seconds}${runs:+ executions}"
    limit=-max_total_time=$seconds
    [ -z "$runs" ] || limit=-runs=$runs
    # A leak is looked for after each input, and a hang is 10 s.
    "$program" -max_len=$longest -timeout=10 -rss_limit_mb=2048 -entropic=0 -print_final_stats=1 -artifact_prefix="$out/" \
        "$limit" "$found" "$kept" >"$out/$target.log" 2>&1 && passed=$((passed + 1)) || failed=$((failed + 1))
    grep -aE '^stat::number_of_executed_units|^stat::peak_rss|ERROR|SUMMARY|does not hold|runtime error|Test unit' "$out/$target.log"
done
[ "$runs" = merge ] || echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
