#!/bin/bash
# valgrind.sh - golden requests under memcheck: no invalid access, no use of undefined memory, no leak.
#
#   valgrind.sh REPLAY
set -u
cd "$(dirname "$0")/../.."
# Valgrind knows instructions up to AVX2.
OPENBLAS_CORETYPE=HASWELL OPENBLAS_NUM_THREADS=1 timeout -k 5 600 valgrind -q --error-exitcode=1 --leak-check=full \
    --errors-for-leak-kinds=definite "$1" --threads 1 --rounds 1 tests/golden/{lesson,embed,lookup,mha_one}*/
