#!/bin/bash
# layers.sh - do the dependencies point one way? What each archive calls outside itself must be what its layer may know.
#
#   layers.sh BUILD     BUILD/libcore.a, libapi.a, libserver.a
#
# core/ may call only what is listed (mathematics and memory blocks); api/ and server/ anything but what is listed.
set -u
build=$1
wrong=0

# What an archive calls and does not define: "object symbol" a line.
calls() {
    nm -g --defined-only "$build/$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/defined"
    nm -A -u "$build/$1" | sed 's/^[^:]*:\([^:]*\): *[UwvW] /\1 /' | sort -u |
        awk 'NR == FNR { defined[$1] = 1; next } !($2 in defined)' "$tmp/defined" -
}

# report LAYER: each line read is one call that should not be.
report() {
    while read -r object symbol; do
        echo "layers: $1/ must not call $symbol ($object)"
        wrong=1
    done
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for archive in libcore.a libapi.a libserver.a; do
    [ -s "$build/$archive" ] || {
        echo "layers: $build/$archive is missing"
        exit 2
    }
done

compiler='__cpu_model|__cpu_indicator_init|__cpu_features2|__stack_chk_fail|__assert_fail|_GLOBAL_OFFSET_TABLE_|_ZGV[a-z].*'
memory='memcpy|memmove|memset|memcmp|strcmp|strlen'
math='(exp|exp2|expm1|log|log2|log1p|sqrt|tanh|pow|sin|cos|sincos|fabs|floor|ceil|trunc|rint|nearbyint|round|lrint|fma|fmax|fmin|ldexp|scalbn|frexp|copysign)f?'
report core < <(calls libcore.a | grep -Ev " ($compiler|$memory|$math|cblas_[sd][a-z]+)\$")

network='MHD_.*|pthread_.*|socket|bind|listen|accept4?|connect|send.*|recv.*|poll|epoll_.*|select'
process='signal|sigaction|kill|raise|fork|exec[vl].*|system|exit|_exit|abort|getenv|setenv'
files='open|openat|fopen|read|write|unlink|printf|puts|perror|stderr|stdout'
report api < <(calls libapi.a | grep -E " ($network|$process|$files|cblas_.*|openblas_.*|srv_.*)\$")

# The server lends threads to core (attn_exec) and tests the kernel at start; the numbers themselves are none of its
# business.
report server < <(calls libserver.a | grep -E ' (cblas_.*|attn_.*)$' | grep -Ev ' attn_(exec|selftest).*$')

((wrong == 0)) && echo "layers: core <- api <- server holds"
exit $wrong
