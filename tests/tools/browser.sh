# browser.sh - to be sourced: a headless Chromium, spoken to through its debugging pipe (messages of JSON with a NUL behind
# each), so that a page can be used in the tests like a person does, with bash and jq alone.

browser_find() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

# browser_start PROGRAM FOLDER - sets browser_pid; its files are in FOLDER.
browser_start() {
    mkfifo "$2/to" "$2/from"
    "$1" --headless --remote-debugging-pipe --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync \
        --disable-background-networking --disable-component-update --disable-dev-shm-usage \
        --user-data-dir="$2/profile" about:blank 3<"$2/to" 4>"$2/from" >"$2/browser" 2>&1 &
    browser_pid=$!
    exec 7>"$2/to" 8<"$2/from"
    browser_messages=0
    browser_session=
    local target
    target=$(browser_say Target.createTarget '{"url": "about:blank"}' | jq -r .targetId)
    browser_messages=$((browser_messages + 1))
    browser_session=$(browser_say Target.attachToTarget "{\"targetId\": \"$target\", \"flatten\": true}" | jq -r .sessionId)
    browser_messages=$((browser_messages + 1))
    [ -n "$browser_session" ]
}

# browser_stop - closes it and waits for it, so that nobody writes into the folder any more.
browser_stop() {
    browser_session=
    browser_say Browser.close '{}' >"$browser_events" 2>&1
    wait "$browser_pid" 2>/dev/null
}

# browser_say METHOD PARAMETERS - prints the result; events that come meanwhile go to browser_events. It runs in a subshell,
# so whoever calls it counts the message.
browser_say() {
    local id=$((browser_messages + 1)) line
    jq -cj --arg method "$1" --argjson id $id --arg session "$browser_session" \
        '{id: $id, method: $method, params: .} + (if $session == "" then {} else {sessionId: $session} end)' \
        <<<"$2" >&7
    printf '\0' >&7
    while IFS= read -r -d '' -t 60 line <&8; do
        if [ "$(jq ".id == $id" <<<"$line")" = true ]; then
            jq -c '.result // .error' <<<"$line"
            return
        fi
        echo "$line" >>"$browser_events"
    done
    return 1
}

# browser METHOD PARAMETERS - the same for the page; the result is left in browser_result.
browser() {
    browser_messages=$((browser_messages + 1))
    browser_result=$(browser_messages=$((browser_messages - 1)) browser_say "$1" "$2")
}

# browser_run EXPRESSION - the value that it, or its promise, comes to, in browser_result.
browser_run() {
    browser Runtime.evaluate "$(jq -n --arg e "$1" '{expression: $e, awaitPromise: true, returnByValue: true}')"
    browser_result=$(jq -r 'if .exceptionDetails then "threw " + (.exceptionDetails.exception.description // .exceptionDetails.text)
        else .result.value // empty end' <<<"$browser_result")
}
