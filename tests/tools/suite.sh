#!/bin/bash
# suite.sh - runs every test: the Criterion binary, then each script.
#
#   suite.sh BUILD     BUILD/unit-tests and the program at $PROGRAM are there
#
# A script test is tests/tools/*_check.sh or tests/tools/*_test.sh: it exits 0 when it passed, 77 when it could not run
# here (and says why), anything else when it failed. The last line counts all of them. Exit code 1 if any failed.
set -u
cd "$(dirname "$0")/../.."
build=$1
export PROGRAM=${PROGRAM:-$build/dikkat}
export YAML2JSON=$build/tests/tools/yaml2json
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The unit tests compute with the kernel that the server would choose, on one thread.
kernel=$("$build/tests/tools/kernel_probe" | tee /dev/stderr | cut -d: -f1)
OPENBLAS_CORETYPE=$kernel OPENBLAS_NUM_THREADS=1 timeout -k 5 600 "$build/unit-tests" --timeout 120 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
count() {
    sed -n "s/.*Synthesis: .*$1: \([0-9]*\).*/\1/p" <<<"$plain"
}
plain=$(sed 's/\x1b\[[0-9;]*m//g' "$log")
passed=$(count Passing)
failed=$(($(count Failing || echo 0) + $(count Crashing || echo 0)))
passed=${passed:-0}
skipped=0
# No synthesis, or a bad exit code without a failed test: the run itself went wrong.
if ((failed == 0 && (code != 0 || passed == 0))); then
    echo "suite: $build/unit-tests ended with code $code"
    failed=1
fi

for script in tests/tools/*_check.sh tests/tools/*_test.sh; do
    [ -x "$script" ] || continue
    timeout -k 5 300 "$script" >"$log" 2>&1 </dev/null
    case $? in
    0)
        passed=$((passed + 1))
        echo "[PASS] $script: $(tail -n 1 "$log")"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "[SKIP] $script: $(tail -n 1 "$log")"
        ;;
    *)
        failed=$((failed + 1))
        cat "$log"
        echo "[FAIL] $script"
        ;;
    esac
done
echo "suite: $passed tests passed, $failed failed, $skipped skipped"
((failed == 0))
