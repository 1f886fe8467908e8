#!/bin/bash
# soak.sh - the harm tests that take long: SOAK_SECONDS (600) of full load with mixed requests, and two minutes of the
# others with more of everything.
#
#   soak.sh BUILD     BUILD/unit-tests and BUILD/tests/tools/soak are there, and the program at $PROGRAM
set -u
cd "$(dirname "$0")/../.."
build=$1
export PROGRAM=${PROGRAM:-$build/dikkat}
seconds=${SOAK_SECONDS:-600}
failed=0

# run SECONDS COMMAND...: a test that must end well, within this time.
run() {
    local most=$1
    shift
    echo "=== $*"
    timeout -k 5 "$most" "$@" || {
        echo "=== FAILED with code $?: $*"
        failed=$((failed + 1))
    }
}

# Other bodies every time; the seed is printed, HARM_SEED=... repeats them.
HARM_SEED=${HARM_SEED:-$(date +%s)} HARM_BODIES=${HARM_BODIES:-200000} \
    run 300 "$build/unit-tests" --filter 'harm/*' -j1
run 300 "$build/unit-tests" --filter 'workers/*' -j1
run 120 tests/tools/replicas_test.sh
run 60 tests/tools/clock_test.sh
run $((seconds + 60)) "$build/tests/tools/soak" "$seconds"
echo "soak: $failed failed"
((failed == 0))
