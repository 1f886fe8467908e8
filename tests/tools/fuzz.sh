#!/bin/bash
# fuzz.sh - runs each fuzzer for FUZZ_SECONDS from its corpus, tests/fuzz/corpus/NAME. New finds go to build/, not into
# the corpus; an input that fails is left there too.
#
#   fuzz.sh BUILD/tests/fuzz/fuzz_NAME...
set -u
cd "$(dirname "$0")/../.."
export OPENBLAS_NUM_THREADS=1 ASAN_OPTIONS=allocator_may_return_null=1
failed=0
for fuzzer in "$@"; do
    name=${fuzzer##*/fuzz_}
    found=$(dirname "$fuzzer")/found/$name
    mkdir -p "$found"
    corpus=()
    [ -d "tests/fuzz/corpus/$name" ] && corpus=("tests/fuzz/corpus/$name")
    dictionary=()
    [ -f "tests/fuzz/$name.dict" ] && dictionary=("-dict=tests/fuzz/$name.dict")
    if timeout -k 5 $((FUZZ_SECONDS + 120)) "$fuzzer" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 \
        -max_len=65536 -artifact_prefix="$found/" "${dictionary[@]}" "$found" "${corpus[@]}" >"$found.log" 2>&1; then
        echo "fuzz: $name: $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) .*/\1 inputs in \2 s/p' "$found.log"), nothing found"
    else
        tail -n 40 "$found.log"
        echo "fuzz: $name FAILED; the input is in $found"
        failed=1
    fi
done
(($#)) || {
    echo "fuzz: there are no fuzzers"
    failed=1
}
exit $failed
