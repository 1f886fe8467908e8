#!/bin/bash
# lint.sh - clang-format, clang-tidy and cppcheck over the files given; says which tools are not there.
set -u
failed=0
sources=()
for file in "$@"; do [[ $file == *.c ]] && sources+=("$file"); done

# need TOOL: is it there? Without one the check fails in CI and is passed over elsewhere, visibly.
need() {
    command -v "$1" >/dev/null && return 0
    echo "lint: $1 is not installed (make setup)"
    [ -z "${CI:-}" ] || failed=1
    return 1
}

if need clang-format; then
    clang-format --dry-run -Werror "$@" || failed=1
fi
if need clang-tidy; then
    # Criterion's macros are not ours to tidy: sources of the program, tools, benchmarks and fuzzers only.
    tidy=()
    for file in "${sources[@]}"; do [[ $file == tests/@(core|api|server)/* ]] || tidy+=("$file"); done
    printf '%s\n' "${tidy[@]}" |
        xargs -r -P "$(nproc)" -n 4 clang-tidy --quiet 2>/dev/null \
            --extra-arg=-std=c11 --extra-arg=-I. --extra-arg=-D_GNU_SOURCE --extra-arg=-fopenmp-simd || failed=1
fi
if need cppcheck; then
    # A branch of a constant condition, and a list node that lives on the stack of who waits for it, are as intended.
    cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr -j "$(nproc)" -I. -D_GNU_SOURCE -D__x86_64__ \
        --enable=warning,portability,performance --suppress=missingIncludeSystem --suppress=unknownMacro \
        --suppress=normalCheckLevelMaxBranches --suppress=uninitvar:tests/* \
        --suppress=arrayIndexOutOfBounds:core/exp.real.c --suppress=autoVariables:server/work.c "${sources[@]}" || failed=1
fi
((failed == 0)) && echo "lint: ${#sources[@]} sources are clean"
exit $failed
