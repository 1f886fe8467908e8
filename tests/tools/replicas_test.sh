#!/bin/bash
# replicas_test.sh - three replicas behind the balancer of docker/haproxy.cfg, under load; one is killed with SIGKILL,
# comes back, then another is. No client may see a failure: every answer is 200 and whole. Nor may one see /metrics.
#
# Clients make a new connection for each request and repeat nothing. About eight seconds. Exit code 77 without HAProxy.
set -u
cd "$(dirname "$0")/../.."
program=${PROGRAM:-build/release/dikkat}
command -v haproxy >/dev/null || {
    echo "replicas_test: HAProxy is not installed (make setup)"
    exit 77
}
dir=$(mktemp -d)
pids=()
cleanup() {
    exec 2>/dev/null
    ((${#pids[@]})) && kill -9 "${pids[@]}"
    rm -rf "$dir"
}
trap cleanup EXIT

fail() {
    echo "replicas_test: $1"
    exit 1
}

# replica N PORT: starts replica N; sets pid[N] and port[N].
replica() {
    : >"$dir/replica$1" # the shell in the background opens it a moment later
    "$program" --port "$2" --log-format off >"$dir/replica$1" 2>&1 &
    pid[$1]=$!
    pids+=($!)
    disown $!
    for _ in $(seq 100); do
        port[$1]=$(grep -oE 'http://127.0.0.1:[0-9]+' "$dir/replica$1" | grep -oE '[0-9]+$' | head -n 1)
        [ -n "${port[$1]}" ] && return
        sleep 0.05
    done
    cat "$dir/replica$1"
    fail "replica $1 does not start"
}

# served N: how many computations replica N has answered.
served() {
    curl -s -m 2 "http://127.0.0.1:${port[$1]}/metrics" |
        awk '/^dikkat_requests_total.*mha/ { n += $NF } END { print n + 0 }'
}

declare -A pid port
for n in 1 2 3; do replica $n 0; done

# The configuration that is shipped, with these replicas and with sockets in a folder.
sed -e "s|bind :8080|bind unix@$dir/http|" -e "s|bind :8404|bind unix@$dir/measurements|" -e 's|log stdout.*||' \
    -e "s|server-template replica.*|server r1 127.0.0.1:${port[1]}\n    server r2 127.0.0.1:${port[2]}\n    server r3 127.0.0.1:${port[3]}|" \
    docker/haproxy.cfg >"$dir/haproxy.cfg"
haproxy -q -f "$dir/haproxy.cfg" >"$dir/haproxy" 2>&1 &
pids+=($!)
disown $!
for _ in $(seq 100); do [ -S "$dir/http" ] && break || sleep 0.05; done
sleep 1.5 # one round of health checks

# A small request, and one that computes for some time, so that there is always something in flight.
cp tests/golden/lesson_causal_mha/request.json "$dir/small"
cat >"$dir/long" <<'END'
{"random": {"seed": 1, "draws": [{"into": ["x"], "shape": [800, 192]},
 {"into": ["wq", "wk", "wv", "wo"], "shape": [192, 192], "scale": 0.3}]},
 "num_heads": 4, "return": [], "checks": false}
END

# client KIND N: until the end, one request after the other; a line with status and size for each.
client() {
    while (($(date +%s%N) < end)); do
        curl -s -m 20 --unix-socket "$dir/http" -H 'Connection: close' -w '%{stderr}%{http_code} %{size_download}\n' \
            --data-binary "@$dir/$1" 'http://dikkat/mha?[1-10]' 2>>"$dir/answers-$1-$2" >/dev/null
        code=$?
        ((code == 0)) || echo "curl ended with code $code" >>"$dir/answers-$1-$2"
    done
}
end=$(($(date +%s%N) + 6500000000))
clients=()
for n in 1 2 3 4; do
    client small $n &
    clients+=($!)
    client long $n &
    clients+=($!)
done

sleep 1.5
before1=$(served 1)
kill -9 "${pid[1]}"
sleep 1.5
replica 1 "${port[1]}"
sleep 1.5
again1=$(served 1)
before2=$(served 2)
kill -9 "${pid[2]}"
wait "${clients[@]}"

((before1 > 0 && before2 > 0)) || fail "the replicas that were killed had served nothing: $before1, $before2"
((again1 > 0)) || fail "the replica that came back was not used again"
repeated=$(curl -s --unix-socket "$dir/measurements" http://balancer/metrics |
    awk '/^haproxy_backend_(redispatch|retry)_warnings_total.*dikkat/ { n += $NF } END { print n + 0 }')
((repeated > 0)) || fail "nothing was in flight when the replicas were killed"

for target in /metrics '/metrics?x' /%6detrics 'http://dikkat/metric%73'; do
    code=$(curl -s -m 5 --unix-socket "$dir/http" --request-target "$target" -o "$dir/outside" -w '%{http_code}' http://dikkat)
    [ "$code" = 404 ] || fail "measurements can be seen from outside: $target gets $code"
done

total=0
for kind in small long; do
    # All answers to one request are the same, so they have the same size.
    sort "$dir/answers-$kind"-* | uniq -c >"$dir/$kind-seen"
    [ "$(wc -l <"$dir/$kind-seen")" = 1 ] && grep -q ' 200 ' "$dir/$kind-seen" || {
        cat "$dir/$kind-seen"
        fail "clients saw failures"
    }
    total=$((total + $(awk '{ print $1 }' "$dir/$kind-seen")))
done
echo "replicas_test: 2 of 3 replicas killed under load, 0 of $total requests failed, $repeated were sent again by the balancer"
