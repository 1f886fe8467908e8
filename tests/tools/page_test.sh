#!/bin/bash
# page_test.sh - the page in a real browser, used like a person does (page_test.js): wide and narrow, light and dark, with
# the keyboard, with mistakes, large requests and many heads, a slow server and one that is gone.
set -u
cd "$(dirname "$0")/../.."
. tests/tools/browser.sh
. tests/tools/serve.sh
program=${PROGRAM:-build/release/dikkat}
chromium=$(browser_find) || {
    echo "no chromium"
    exit 77
}
tmp=$(mktemp -d)
browser_events=$tmp/events
pid= browser_pid=
end() {
    [ -z "$pid" ] || kill -CONT "$pid" 2>/dev/null
    [ -z "$pid" ] || kill "$pid" 2>/dev/null
    [ -z "$browser_pid" ] || browser_stop
    rm -rf "$tmp"
}
trap end EXIT
fail() {
    echo "page_test: $1"
    tail -n 20 "$tmp/log" "$tmp/browser" 2>/dev/null
    exit 1
}

serve() {
    : >"$tmp/log"
    "$program" --port 0 --log-format off "$@" >>"$tmp/log" 2>&1 &
    pid=$!
    address=$(served_at "$tmp/log" "$pid") || fail "the server did not start"
}

# visit WIDTH SCHEME FRAGMENT
visit() {
    browser Emulation.setDeviceMetricsOverride "{\"width\": $1, \"height\": 844, \"deviceScaleFactor\": 1, \"mobile\": false}"
    browser Emulation.setEmulatedMedia "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"$2\"}]}"
    browser Page.navigate '{"url": "about:blank"}'
    browser Page.navigate "{\"url\": \"$address/$3\"}"
    place="$1 $2"
    browser_run "$(cat tests/tools/page_test.js)"
}

steps=0
step() {
    browser_run "pageTest('$1')"
    [ -z "$browser_result" ] || fail "$place, $1: $browser_result"
    steps=$((steps + 1))
}

serve
browser_start "$chromium" "$tmp" || fail "the browser did not start"
for domain in Page Runtime Log; do
    browser $domain.enable '{}'
done
for width in 1280 390; do
    for scheme in light dark; do
        visit $width $scheme ""
        step first
        step colours
    done
    step examples
    visit $width light ""
    step first
    step access
    step problems
done
step large
step curl
visit 1280 light "#mha-cross"
step linked
kill -STOP "$pid"
step slow
kill -CONT "$pid"
kill "$pid"
wait "$pid"
step gone
echo a-key-for-the-page >"$tmp/keys"
chmod 600 "$tmp/keys"
serve --keys-file "$tmp/keys"
visit 1280 light ""
step keyed

# What the console says: no exception, nothing that the page's own security policy forbids.
browser_run 1
bad=$(jq -r 'select(.method == "Runtime.exceptionThrown" or (.method == "Log.entryAdded" and .params.entry.source != "network"))' \
    "$browser_events")
[ -z "$bad" ] || fail "the console says: $bad"
echo "page_test: $steps visits by a person, wide and narrow, light and dark"
