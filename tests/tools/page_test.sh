#!/bin/bash
# page_test.sh - the page in a real browser: it runs its first example by itself and shows weights and checks.
set -u
cd "$(dirname "$0")/../.."
program=${PROGRAM:-build/release/dikkat}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "no chromium"
    exit 77
}
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$tmp"' EXIT
fail() {
    echo "page_test: $1"
    cat "$tmp/dom" "$tmp/log" 2>/dev/null | tail -n 40
    exit 1
}
"$program" --port 0 --log-format off >"$tmp/log" 2>&1 &
pid=$!
for ((i = 0; i < 200; i++)); do
    address=$(sed -n 's/^dikkat serves \(http[^ ]*\) - try.*/\1/p' "$tmp/log")
    [ -z "$address" ] || break
    sleep 0.05
done
[ -n "$address" ] || fail "the server did not start"
timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync \
    --disable-background-networking --disable-component-update --disable-dev-shm-usage --user-data-dir="$tmp/profile" \
    --virtual-time-budget=10000 --dump-dom "$address/" >"$tmp/dom" 2>"$tmp/browser" || fail "the browser ended badly"

# What the page shows is what a client of its own gets.
sum=$(curl -fsS "$address/mha" -d @api/examples/mha-causal.json | jq -r '.weights[0][1][0] * 1000 | round / 1000')
for shown in "Everything requested holds" "causality holds" "weights (3, 6, 6)" ">$sum<" "<option value=\"lookup-sharpness\"" \
    "/mha?pretty"; do
    grep -qF -- "$shown" "$tmp/dom" || fail "the page does not show: $shown"
done
cells=$(grep -o '<td' "$tmp/dom" | wc -l)
((cells == 6 * 12 + 3 * 6 * 6)) || fail "$cells cells instead of $((6 * 12 + 3 * 6 * 6))"
echo "page_test: $(grep -o '<option value=' "$tmp/dom" | wc -l) examples offered, $cells cells drawn"
