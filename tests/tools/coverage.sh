#!/bin/bash
# coverage.sh - runs the unit tests and prints the line coverage of each file of core/ and api/; fails below LEAST.
#
#   coverage.sh BUILD LEAST     BUILD built with --coverage; LEAST in percent, for core/ and api/ together
set -u
cd "$(dirname "$0")/../.."
build=$1
least=$2
find "$build" -name '*.gcda' -delete
PROGRAM=$build/dikkat OPENBLAS_NUM_THREADS=1 timeout -k 5 900 "$build/unit-tests" --timeout 300 >"$build/output" 2>&1 || {
    tail -n 40 "$build/output"
    echo "coverage: a test failed"
    exit 1
}
# gcov prints, a source file: File 'core/x.c' / Lines executed:95.00% of 20. A source compiled twice counts as covered
# where either precision ran, which gcov does not add up: each compilation is listed by itself.
objects=
for notes in "$build"/core/*.gcno "$build"/api/*.gcno; do
    object=${notes#"$build/"}
    source=${object%.gcno}
    case $source in *.f64 | *.f32) source=${source%.*}.real ;; esac
    [ -f "$source.c" ] && objects="$objects $object" # the source of an old object may be gone
done
(cd "$build" && gcov -n $objects 2>/dev/null) >"$build/gcov"
awk -v least="$least" '
    /^File / { file = $2; gsub(/\x27/, "", file) }
    /^Lines executed:/ && file ~ /^(core|api)\// {
        split($0, part, /[:% ]+/) # Lines executed 95.00 of 20
        lines = part[5]
        covered = part[3] * lines / 100
        all += lines
        hit += covered
        if (part[3] < least) printf "  %-32s %6.1f %% of %d lines\n", file, part[3], lines
        file = ""
    }
    END {
        rate = all ? 100 * hit / all : 0
        printf "coverage: %.1f %% of %d lines of core/ and api/, at least %d %%\n", rate, all, least
        exit rate < least
    }' "$build/gcov"
