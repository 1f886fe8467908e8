#!/bin/bash
# layers_test.sh - does `make layers` notice a call that points the wrong way? Plants one in a copy of each archive.
set -u
cd "$(dirname "$0")/../.."
build=$(dirname "${PROGRAM:-build/release/dikkat}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# plant ARCHIVE LAYER DECLARATION CALL: appends a function that makes the call, and expects a complaint that names it.
plant() {
    cp "$build"/lib{core,api,server}.a "$tmp"
    printf '%s;\nvoid planted(void);\nvoid planted(void) { %s; }\n' "$3" "$4" >"$tmp/planted.c"
    gcc -w -c -o "$tmp/planted.o" "$tmp/planted.c" && ar r "$tmp/$1" "$tmp/planted.o" || exit 1
    if tests/tools/layers.sh "$tmp" >"$tmp/said" || ! grep -q "$2/ must not call ${4%%(*} (planted.o)" "$tmp/said"; then
        echo "layers.sh does not notice $4 in $2/:"
        cat "$tmp/said"
        failed=1
    fi
}

plant libcore.a core 'void *json_object(void)' 'json_object()'
plant libcore.a core 'void *malloc(unsigned long)' 'malloc(1)'
plant libcore.a core 'int puts(const char *)' 'puts("x")'
plant libcore.a core 'void api_handle(void)' 'api_handle()'
plant libapi.a api 'void MHD_get_version(void)' 'MHD_get_version()'
plant libapi.a api 'void pthread_yield(void)' 'pthread_yield()'
plant libapi.a api 'void cblas_dgemm(void)' 'cblas_dgemm()'
plant libserver.a server 'void cblas_dgemm(void)' 'cblas_dgemm()'
plant libserver.a server 'void attn_attention(void)' 'attn_attention()'
((failed == 0)) && echo "nine planted calls noticed"
exit $failed
