#!/bin/bash
# tsan.sh - many threads answer golden requests at once under ThreadSanitizer.
#
#   tsan.sh REPLAY     the replay program, built with -fsanitize=thread
set -u
cd "$(dirname "$0")/../.."
export TSAN_OPTIONS=halt_on_error=0:exitcode=66:second_deadlock_stack=1 OPENBLAS_NUM_THREADS=1
# OpenBLAS is not instrumented: its own synchronisation is invisible and must not be reported.
suppressions=$(mktemp)
trap 'rm -f "$suppressions"' EXIT
echo 'called_from_lib:libopenblas.so' >"$suppressions"
TSAN_OPTIONS+=:suppressions=$suppressions timeout -k 5 300 "$1" --threads 4 --rounds 3 tests/golden/*/
