#!/bin/bash
# kernel_test.sh - does a kernel that computes wrongly, or crashes, give way to the next simpler one, and does it end?
# The wrong numbers come from a library put in front of OpenBLAS.
set -u
cd "$(dirname "$0")/../.."
build=$(dirname "${PROGRAM:-build/release/dikkat}")
probe=$build/tests/tools/kernel_probe
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS
gcc -shared -fPIC -D_GNU_SOURCE -o "$tmp/wrong.so" tests/tools/wrong_gemm.c -ldl || exit 1
failed=0

# expect CODE PATTERN ENV... [-- ARGUMENT]: what the probe says and its exit code.
expect() {
    local code=$1 pattern=$2 said got
    shift 2
    said=$(timeout 60 env "$@" 2>&1)
    got=$?
    if ((got != code)) || ! grep -Eqi -- "$pattern" <<<"$said"; then
        echo "with $*: exit code $got (expected $code), said '$said' (expected $pattern)"
        failed=1
    fi
}

wrong="LD_PRELOAD=$tmp/wrong.so"
expect 0 '^[a-z0-9]+: .*for this processor' "$probe"
expect 0 '.' "$wrong" "$probe" # the library alone changes nothing
first=$("$probe" | cut -d: -f1)

case $(uname -m) in
x86_64)
    expect 0 'Prescott: named by the operator' OPENBLAS_CORETYPE=PRESCOTT "$probe"
    expect 0 'Prescott: named by the operator' "$probe" Prescott
    expect 0 'Prescott: named by the operator' OPENBLAS_CORETYPE=NEHALEM "$probe" PRESCOTT
    expect 0 'NOSUCH, named by the operator, is not in this OpenBLAS' "$probe" NOSUCH
    expect 1 'named by the operator, but it computes wrong' "$wrong" WRONG_KERNELS=PRESCOTT "$probe" PRESCOTT
    if grep -q avx2 /proc/cpuinfo; then
        all=-,SKYLAKEX,HASWELL,ZEN,SANDYBRIDGE
        expect 0 "failed the self-test" "$wrong" WRONG_KERNELS=-,SKYLAKEX "$probe"
        expect 0 "Prescott: .*Sandybridge failed the self-test" "$wrong" WRONG_KERNELS=$all "$probe"
        expect 0 "Prescott: .*Sandybridge failed the self-test" "$wrong" WRONG_KERNELS=$all WRONG_CRASHES=1 "$probe"
        expect 1 "no kernel computes correctly" "$wrong" WRONG_KERNELS=$all,PRESCOTT "$probe"
    fi
    ;;
esac

# A round that was planted from outside ends as well.
for round in '0 Prescott' '3 Prescott' '99 Haswell' named '-1' '' x; do
    expect 0 '^[a-z0-9]+: ' "_DIKKAT_KERNEL_ROUND=$round" "$probe"
done

# One thread, whatever the environment says.
threads=$(OPENBLAS_NUM_THREADS=4 "$probe" >/dev/null && echo ended)
[ "$threads" = ended ] || failed=1

((failed == 0)) && echo "$first here; wrong and crashing kernels give way in order"
exit $failed
