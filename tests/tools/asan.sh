#!/bin/bash
# asan.sh - the unit tests, then the server under mixed load, under AddressSanitizer, LeakSanitizer and
# UndefinedBehaviorSanitizer.
#
#   asan.sh BUILD     BUILD/unit-tests and BUILD/dikkat built with them; $SOAK is the load, built without
#
# Leaks are found in what the sanitizers write, and leave exit codes alone: Criterion itself now and then forgets a block
# that it has allocated in its own code (frame 1), which is not counted. A suppression by name would hide our leaks too,
# since every test is called from there.
set -u
cd "$(dirname "$0")/../.."
build=$1
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1:log_path=$log/report
export LSAN_OPTIONS=exitcode=0
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$log/report
export PROGRAM=$build/dikkat OPENBLAS_NUM_THREADS=1
timeout -k 5 900 "$build/unit-tests" --timeout 300 2>&1 | tee "$log/output"
code=${PIPESTATUS[0]}
timeout -k 5 120 "$SOAK" "${ASAN_SECONDS:-10}" || code=1
cat "$log"/* | awk '
    /(Direct|Indirect) leak of/ {
        leak = $0; getline first; getline second
        if (second ~ /lib(criterion|boxfort|nanomsg)/) next
        print leak "\n" first "\n" second
        found = 1
        next
    }
    /ERROR: (Address|Undefined|Thread|Memory)/ || /runtime error:/ { found = 1 }
    found { print }
    END { exit found }' >"$log/found" || {
    head -n 200 "$log/found"
    echo "asan: the sanitizers found something"
    exit 1
}
((code == 0)) && echo "asan: nothing found"
exit "$code"
