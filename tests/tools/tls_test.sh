#!/bin/bash
# tls_test.sh - the program serves HTTPS with a certificate and key, and says so when they are no good.
set -u
cd "$(dirname "$0")/../.."
. tests/tools/serve.sh
program=${PROGRAM:-build/release/dikkat}
for tool in openssl curl; do
    command -v "$tool" >/dev/null || {
        echo "no $tool"
        exit 77
    }
done
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$tmp"' EXIT
fail() {
    echo "tls_test: $1"
    cat "$tmp/log"
    exit 1
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$tmp/key" -out "$tmp/cert" -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null || {
    echo "this openssl makes no certificate"
    exit 77
}
"$program" --port 0 --tls-cert "$tmp/cert" --tls-key "$tmp/key" --header-timeout-ms 500 >"$tmp/log" 2>&1 &
pid=$!
at=$(served_at "$tmp/log" "$pid") || fail "did not start"
port=${at##*:}
[ "$at" = "https://127.0.0.1:$port" ] || fail "it says that it serves $at"
ask() {
    curl -sS --max-time 10 --cacert "$tmp/cert" "$@"
}

ask "$at/health/live" | grep -q live || fail "no answer over TLS"
[ "$(ask -o /dev/null -w '%{http_code}' "$at/attention" -d '{"x": [[1, 0], [0, 1]]}')" = 200 ] || fail "no computation"
head -c 20000000 /dev/zero >"$tmp/large"
code=$(ask -o "$tmp/answer" -w '%{http_code}' -H 'Content-Type: text/csv' --data-binary "@$tmp/large" "$at/mha")
[ "$code" = 415 ] || fail "a large body that is no JSON is answered $code"
# What the library refuses by itself is answered in our words here too.
printf 'GET / HTTP/2.0\r\n\r\n' | timeout 5 openssl s_client -quiet -connect "127.0.0.1:$port" 2>/dev/null |
    grep -q '"/problems#http_version"' || fail "a refusal of the library's own"
"$program" --healthcheck --port "$port" --tls-cert "$tmp/cert" --tls-key "$tmp/key" || fail "healthcheck"
curl -s --max-time 2 "http://127.0.0.1:$port/health/live" && fail "answered without TLS"
# A client that connects and says nothing is dropped by the header timeout.
timeout 3 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat <&3 >/dev/null" || fail "a silent client is kept"
kill "$pid"
wait "$pid" || fail "exit code $? after SIGTERM"
pid=
echo garbage >"$tmp/bad"
"$program" --port 0 --tls-cert "$tmp/bad" --tls-key "$tmp/key" >"$tmp/log" 2>&1 && fail "started with a bad certificate"
grep -q certificate "$tmp/log" || fail "says nothing about a bad certificate"
echo "HTTPS: answers, large bodies, health check, silent clients, stop, a bad certificate"
