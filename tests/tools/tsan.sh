#!/bin/bash
# tsan.sh - ThreadSanitizer on many threads that answer golden requests at once, then on the whole server under mixed
# load from sockets.
#
#   tsan.sh BUILD     the replay program and the server, built with -fsanitize=thread; $SOAK is the load, built without
set -u
cd "$(dirname "$0")/../.."
build=$1
export OPENBLAS_NUM_THREADS=1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# OpenBLAS is not instrumented: its own synchronisation is invisible and must not be reported. libmicrohttpd is not
# either, but its mutexes are seen, and order what is handed from thread to thread through it.
echo 'called_from_lib:libopenblas.so' >"$tmp/suppressions"
export TSAN_OPTIONS=halt_on_error=0:exitcode=66:second_deadlock_stack=1:suppressions=$tmp/suppressions
timeout -k 5 300 "$build/tests/tools/replay" --threads 4 --rounds 3 tests/golden/*/ || exit 1

TSAN_OPTIONS+=:log_path=$tmp/report PROGRAM=$build/dikkat timeout -k 5 120 "$SOAK" "${TSAN_SECONDS:-15}" 8
code=$?
if compgen -G "$tmp/report*" >/dev/null; then
    head -n 120 "$tmp"/report*
    echo "tsan: $(cat "$tmp"/report* | grep -c 'WARNING: ThreadSanitizer') reports about the server"
    exit 1
fi
((code == 0)) && echo "tsan: nothing found"
exit "$code"
