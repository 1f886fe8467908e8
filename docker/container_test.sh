#!/bin/bash
# container_test.sh - builds the image with docker or podman and holds it to its promises: size, start, any user,
# read-only, no capabilities, HEALTHCHECK, a correct answer, SIGTERM, and refusals instead of the OOM killer.
#
# Exit code 77 when there is no engine or no base image; the last line says so.
set -u
cd "$(dirname "$0")/.."
image=localhost/dikkat-test:$$
names=()
failed=0

skip() {
    echo "container_test: $1"
    exit 77
}

ok() {
    echo "  ok    $1"
}

bad() {
    echo "  FAIL  $1"
    failed=1
}

now_ms() {
    date +%s%3N
}

# --- an engine, and what it needs here -------------------------------------------------------------------------------

if docker info >/dev/null 2>&1; then
    engine=(docker)
elif command -v podman >/dev/null && podman info >/dev/null 2>&1; then
    engine=(podman)
else
    skip "neither docker nor podman works here"
fi
podman=$([ "${engine[0]}" = podman ] && echo yes)

base=docker.io/library/debian:${DEBIAN:-trixie}-slim
"${engine[@]}" image inspect "$base" >/dev/null 2>&1 || "${engine[@]}" pull -q "$base" >/dev/null 2>&1 ||
    skip "the base image $base cannot be had"

log=$(mktemp -d)
cleanup() {
    ((${#names[@]})) && "${engine[@]}" rm -f "${names[@]}" >/dev/null 2>&1
    "${engine[@]}" rmi -f "$image" >/dev/null 2>&1
    rm -rf "$log"
}
trap cleanup EXIT

build=(build -q -t "$image" --build-arg "COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)")
[ "$podman" ] && build+=(--format docker) # the other format knows no HEALTHCHECK
if ! "${engine[@]}" "${build[@]}" . >"$log/build" 2>&1; then
    # A machine that allows no nested namespaces: build in a plain chroot.
    if ! [ "$podman" ] || ! "${engine[@]}" "${build[@]}" --isolation chroot --network host . >"$log/build" 2>&1; then
        tail -n 40 "$log/build"
        echo "container_test: the image does not build"
        exit 1
    fi
fi
ok "the image builds (${engine[0]})"

safe=(--read-only --cap-drop all --security-opt no-new-privileges)
if [ "$podman" ] && ! "${engine[@]}" run --rm "${safe[@]}" "$image" --version >/dev/null 2>&1; then
    engine=(podman --runtime runc --cgroup-manager cgroupfs)
    safe+=(--ulimit nofile=20000:20000 --ulimit nproc=1000:1000)
fi

# start NAME FLAG...: runs the image in the background. Sets $container, $url where it answers, and $start_ms, the time
# from the start of its process to the first answer. A port that somebody else holds is left for another.
start() {
    local port poll started
    container=dikkat-test-$$-$1
    shift
    names+=("$container")
    for _ in $(seq 20); do
        port=$((10000 + RANDOM % 20000)) # below the ports that the kernel gives to clients
        url=http://127.0.0.1:$port
        rm -f "$log/answered"
        (
            for _ in $(seq 1000); do
                curl -sf -m 2 -o /dev/null "$url/health/ready" && date +%s%3N >"$log/answered" && exit
                sleep 0.01
            done
        ) &
        poll=$!
        "${engine[@]}" run -d --name "$container" "${safe[@]}" -p "127.0.0.1:$port:8080" "$@" "$image" >"$log/run" 2>&1 &&
            break
        kill "$poll"
        "${engine[@]}" rm -f "$container" >/dev/null 2>&1
        grep -qE 'in use|already allocated' "$log/run" || break
    done
    wait "$poll" || {
        cat "$log/run"
        return 1
    }
    [ -s "$log/answered" ] || return 1
    started=$("${engine[@]}" inspect --format '{{json .State.StartedAt}}' "$container")
    start_ms=$(($(cat "$log/answered") - $(date -d "${started//\"/}" +%s%3N)))
}

# --- the promises ----------------------------------------------------------------------------------------------------

size=$("${engine[@]}" image inspect --format '{{.Size}}' "$image")
((size < 120000000)) && ok "$((size / 1000000)) MB, under 120" || bad "the image has $((size / 1000000)) MB"

"${engine[@]}" run --rm --entrypoint /bin/sh "$image" -c true >/dev/null 2>&1 && bad "there is a shell" || ok "no shell"

user=$("${engine[@]}" image inspect --format '{{.Config.User}}' "$image")
[[ $user =~ ^[1-9][0-9]* ]] && ok "user $user" || bad "the user is '$user', which may be root"

if start plain --memory 512m --user 12345:0; then
    ok "answers, read-only, without capabilities, as user 12345"
    request=tests/golden/lesson_causal_mha/request.json
    got=$(curl -s -m 10 -w '\n%{http_code}' --data-binary "@$request" "$url/mha")
    if [ "$(tail -n 1 <<<"$got")" = 200 ] && grep -q '"ok": *true' <<<"$got" && grep -q '"output"' <<<"$got"; then
        ok "POST /mha: the causal lesson, checks ok"
    else
        bad "POST /mha: $(head -c 300 <<<"$got")"
    fi

    ((start_ms < 300)) && ok "answers $start_ms ms after its start, under 300" || bad "needs $start_ms ms to answer"

    "${engine[@]}" exec "$container" dikkat --healthcheck >/dev/null 2>&1 && ok "dikkat --healthcheck inside" ||
        bad "dikkat --healthcheck inside fails"
    if [ "$podman" ]; then
        "${engine[@]}" healthcheck run "$container" >/dev/null 2>&1 && ok "HEALTHCHECK green" || bad "HEALTHCHECK red"
    else
        for _ in $(seq 30); do
            health=$("${engine[@]}" inspect --format '{{.State.Health.Status}}' "$container")
            [ "$health" = starting ] || break
            sleep 1
        done
        [ "$health" = healthy ] && ok "HEALTHCHECK green" || bad "HEALTHCHECK $health"
    fi

    begun=$(now_ms)
    "${engine[@]}" stop -t 10 "$container" >/dev/null 2>&1
    took=$(($(now_ms) - begun))
    code=$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$container")
    ((took < 2000 && code == 0)) && ok "stops on SIGTERM in $took ms with exit code 0" ||
        bad "SIGTERM: $took ms, exit code $code"
else
    bad "it does not answer"
    "${engine[@]}" logs "$container" 2>&1 | tail -n 20
fi

# Far more than fits, several at once, into 32 MiB: each is computed or refused, and the container lives.
if start small --memory 32m --memory-swap 32m; then
    awk 'BEGIN {
        srand(1)
        printf "{\"x\": ["
        for (i = 0; i < 1500; i++) {
            printf i ? ",[" : "["
            for (j = 0; j < 300; j++) printf "%s%.15f", j ? "," : "", rand()
            printf "]"
        }
        printf "]}"
    }' >"$log/large"
    for i in $(seq 8); do
        curl -s -m 30 -o /dev/null -w '%{http_code}\n' --data-binary "@$log/large" "$url/attention" >"$log/code$i" &
    done
    for job in $(jobs -p); do wait "$job"; done
    codes=$(cat "$log"/code* | sort | uniq -c | awk '{ printf "%s%s x %s", (NR > 1 ? ", " : ""), $1, $2 }')
    others=$(cat "$log"/code* | grep -cEv '^(200|413|503)$')
    refused=$(cat "$log"/code* | grep -cE '^(413|503)$')
    after=$(curl -s -m 10 -o /dev/null -w '%{http_code}' --data-binary "@$request" "$url/mha")
    state=$("${engine[@]}" inspect --format '{{.State.Running}} {{.State.OOMKilled}}' "$container")
    if ((others == 0 && refused > 0)) && [ "$after" = 200 ] && [ "$state" = "true false" ]; then
        ok "32 MiB: large requests get $codes; a small one still 200"
    else
        bad "32 MiB: large requests get $codes; a small one $after; running, killed for memory: $state"
    fi
else
    bad "it does not answer within 32 MiB"
    "${engine[@]}" logs "$container" 2>&1 | tail -n 20
fi

((failed == 0)) && echo "container_test: the image keeps its promises (${engine[0]})"
exit $failed
