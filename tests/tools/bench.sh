#!/bin/bash
# bench.sh - states the machine and the kernel, then runs each benchmark program on the kernel the server would choose.
#
#   bench.sh PROGRAM...     exit code 1 when a gated figure is missed
set -u
cd "$(dirname "$0")/../.."
failed=0
build=$(dirname "$1")/../..
model=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)
kernel=$("$build/tests/tools/kernel_probe")
echo "machine  ${model:-$(uname -m)}, $(nproc) cores, $(uname -m)"
echo "kernel   $kernel"
echo "compiler $(gcc --version | head -n 1)"
export OPENBLAS_CORETYPE=${kernel%%:*} OPENBLAS_NUM_THREADS=1 PROGRAM=${PROGRAM:-$build/dikkat}
for program in "$@"; do
    echo
    echo "${program##*/}"
    timeout -k 5 120 "$program" || {
        failed=1
        echo "  ${program##*/}: a goal is missed, or it failed"
    }
done
exit $failed
