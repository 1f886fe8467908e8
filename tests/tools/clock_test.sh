#!/bin/bash
# clock_test.sh - while the wall clock jumps by years, requests are served, deadlines come when they should, and only the
# times in the log show it. The jumps come from a library put in front of the C library.
set -u
cd "$(dirname "$0")/../.."
. tests/tools/serve.sh
program=${PROGRAM:-build/release/dikkat}
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$tmp"' EXIT
fail() {
    echo "clock_test: $1"
    tail -n 5 "$tmp/log"
    exit 1
}
nm -D --undefined-only "$program" 2>/dev/null | grep -q __tsan_init && {
    echo "clock_test: not together with ThreadSanitizer"
    exit 77
}
gcc -shared -fPIC -D_GNU_SOURCE -o "$tmp/jumping.so" tests/tools/jumping_clock.c -ldl || exit 1
LD_PRELOAD=$tmp/jumping.so "$program" --port 0 --header-timeout-ms 800 --body-timeout-ms 800 --idle-timeout-ms 1600 \
    --rate-limit 1000 >"$tmp/log" 2>&1 &
pid=$!
address=$(served_at "$tmp/log" "$pid") || fail "did not start"
port=${address##*:}

# ends TEXT: what the server answers to this beginning, and after how many milliseconds it closes.
ends() {
    local began=${EPOCHREALTIME/./}
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf "$1" >&3
    answer=$(timeout 10 cat <&3)
    exec 3<&-
    took=$(((${EPOCHREALTIME/./} - began) / 1000))
}
ends 'GET / HTTP/1.1\r\nHo'
[[ $answer == *" 408 "* ]] && ((took > 700 && took < 2000)) || fail "a slow head: $took ms: $answer"
head=$took
ends 'POST /mha HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{'
[[ $answer == *" 408 "* ]] && ((took > 700 && took < 2000)) || fail "a slow body: $took ms: $answer"
body=$took
ends 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
[[ $answer == *" 200 "* ]] && ((took > 1400 && took < 3500)) || fail "an idle connection: $took ms: $answer"
idle=$took

# A computation of some time, queued and computed under deadlines, and many small ones under a rate limit.
good=$(curl -s -m 20 -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/attention?[1-200]" \
    -d '{"random": {"seed": 1, "draws": [{"into": ["x"], "shape": [200, 16]}]}, "return": []}' | grep -c '^200$')
[ "$good" = 200 ] || fail "$good of 200 requests were answered"
kill "$pid"
wait "$pid" || fail "exit code $? after SIGTERM"
pid=
years=$(grep -o '"time": *"[0-9]*' "$tmp/log" | grep -o '[0-9]*$' | sort -u | paste -sd ' ')
[ "$(wc -w <<<"$years")" = 3 ] || fail "the clock did not jump: the log is of the years $years"
echo "the wall clock jumps between the years $years: 200 of 200 requests served, ends after 800, 800, 1600 ms came after $head, $body, $idle ms"
