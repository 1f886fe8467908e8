#!/bin/bash
# readme_check.sh - the README tells the truth: its curl commands, sent to a freshly started server, print what it says.
#
#   readme_check.sh            compare, and send every api/examples/ENDPOINT-NAME.json to POST /ENDPOINT
#   readme_check.sh --update   write what is printed into the README instead
#
# A command is a ```sh block with curl in it; what it prints is the ```json or ```text block right behind it. Numbers may
# differ by 1e-12, all else must be the same. The table of options must be that of --help, and the examples in openapi.yaml
# those of api/examples. Files and cases that are named must be there. Needs curl and jq.
set -u
cd "$(dirname "$0")/../.."
. tests/tools/serve.sh
program=${PROGRAM:-build/release/dikkat}
readme=README.md
for tool in curl jq; do
    command -v "$tool" >/dev/null || {
        echo "$tool is not here"
        exit 77
    }
done

tmp=$(mktemp -d)
: >"$tmp/server"
"$program" --port 0 --log-format off >"$tmp/server" 2>&1 &
server=$!
stop() {
    kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    rm -rf "$tmp"
}
trap stop EXIT
address=$(served_at "$tmp/server" "$server") || {
    echo "readme_check: $program printed no address"
    cat "$tmp/server"
    exit 1
}
failed=0
commands=0
examples=0
tables=0
names=0

# same EXPECTED GOT - equal text, but for numbers less than 1e-12 apart.
same() {
    awk '
        function next_number(text) {
            return match(text, /-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/)
        }
        function differ(a, b, first_a, first_b, x, y) {
            while (1) {
                first_a = next_number(a); x = substr(a, RSTART, RLENGTH); la = RLENGTH
                first_b = next_number(b); y = substr(b, RSTART, RLENGTH); lb = RLENGTH
                if (first_a != first_b || (first_a ? substr(a, 1, first_a - 1) != substr(b, 1, first_b - 1) : a != b))
                    return 1
                if (!first_a)
                    return 0
                if (x - y > 1e-12 || y - x > 1e-12)
                    return 1
                a = substr(a, first_a + la); b = substr(b, first_b + lb)
            }
        }
        FNR == NR { expected[FNR] = $0; lines = FNR; next }
        differ(expected[FNR], $0) { bad = 1 }
        { got = FNR }
        END { exit bad || got != lines }' "$1" "$2"
}

# run COMMAND_FILE OUTPUT_FILE - as a reader would, but against our server and from the root of the sources.
run() {
    sed "s|http://127\.0\.0\.1:8080|$address|g" "$1" >"$tmp/run"
    timeout 20 bash "$tmp/run" >"$2" 2>"$tmp/stderr"
    sed -i "s|$address|http://127.0.0.1:8080|g" "$2"
}

# The rows of the README's table of options.
options_table() {
    "$program" --help | awk '
        /^  --[a-z-]+ [A-Z]+ / {
            name = $1
            sub(/^  --[a-z-]+ [A-Z]+ +/, "")
            initial = ""
            if (match($0, / \(default [^()]*\)$/)) {
                initial = "`" substr($0, RSTART + 10, RLENGTH - 11) "`"
                $0 = substr($0, 1, RSTART - 1)
            }
            print "| `" name "` | " initial " | " $0 " |"
        }'
}

# Walks the README: $state is text, command (inside a curl block), after (behind one), output (inside what it prints).
walk() {
    local line state=text
    options_table >"$tmp/options"
    while IFS= read -r line; do
        case $state:$line in
        text:'```sh')
            state=command
            : >"$tmp/command"
            ;;
        command:'```')
            state=text
            if grep -q '^curl ' "$tmp/command"; then
                state=after
                run "$tmp/command" "$tmp/got"
            fi
            ;;
        command:*) printf '%s\n' "$line" >>"$tmp/command" ;;
        after:'') ;;
        after:'```json' | after:'```text')
            state=output
            : >"$tmp/expected"
            printf '%s\n' "$line" >>"$tmp/readme"
            cat "$tmp/got" >>"$tmp/readme"
            continue
            ;;
        after:*) state=text ;;
        output:'```')
            state=text
            commands=$((commands + 1))
            if [ "$update" = no ] && ! same "$tmp/expected" "$tmp/got"; then
                failed=$((failed + 1))
                echo "readme_check: this prints something else than $readme says:"
                cat "$tmp/command"
                diff "$tmp/expected" "$tmp/got" | head -n 20
            fi
            ;;
        text:'| option | default | meaning |')
            state=options
            : >"$tmp/expected"
            printf '%s\n|---|---|---|\n' "$line" >>"$tmp/readme"
            cat "$tmp/options" >>"$tmp/readme"
            continue
            ;;
        options:'')
            state=text
            tables=$((tables + 1))
            if [ "$update" = no ] && ! diff "$tmp/expected" "$tmp/options"; then
                failed=$((failed + 1))
                echo "readme_check: the table of options is not that of --help"
            fi
            ;;
        options:'|---'*) continue ;;
        output:* | options:*)
            printf '%s\n' "$line" >>"$tmp/expected"
            continue
            ;;
        esac
        printf '%s\n' "$line" >>"$tmp/readme"
    done <"$readme"
}

# Every example is answered, and openapi.yaml shows the same ones.
try_examples() {
    local file name endpoint
    for file in api/examples/*.json; do
        name=$(basename "$file" .json)
        endpoint=${name%%-*}
        examples=$((examples + 1))
        if ! curl -fsS -o "$tmp/got" --data-binary @"$file" "$address/$endpoint" 2>"$tmp/stderr" ||
            ! jq -e '(.passed != null) or ((.shapes or .results) and .checks.ok != false)' "$tmp/got" >/dev/null; then
            failed=$((failed + 1))
            echo "readme_check: $file is not answered by /$endpoint: $(cat "$tmp/stderr")"
            curl -s --data-binary @"$file" "$address/$endpoint" | head -c 600
        fi
    done
    curl -fsS "$address/openapi.json" |
        jq -c '.paths[].post // empty | .requestBody.content["application/json"].examples
               | to_entries[] | [.key, .value.value]' >"$tmp/shown"
    [ -s "$tmp/shown" ] || failed=$((failed + 1))
    while IFS= read -r shown; do
        name=$(jq -r '.[0]' <<<"$shown")
        if ! jq -e --argjson shown "$shown" '. == $shown[1]' "api/examples/$name.json" >/dev/null; then
            failed=$((failed + 1))
            echo "readme_check: openapi.yaml shows $name otherwise than api/examples/$name.json"
        fi
    done <"$tmp/shown"
}

# Every file and every golden case that the README names is there.
try_names() {
    local name
    while IFS= read -r name; do
        names=$((names + 1))
        compgen -G "$name" >/dev/null || {
            failed=$((failed + 1))
            echo "readme_check: $readme names $name, which is not there"
        }
    done < <(
        grep -oE '`(core|api|server|tests|docker)/[^` ]*`' "$readme" | tr -d '`' | grep -v NAME
        grep -oE '\]\([^)#:]+\)' "$readme" | sed 's/^](\(.*\))$/\1/'
        grep -oE '`\*?(attention|mha|embed|lookup|lesson|float32)[a-z0-9_*]*_?[a-z0-9_*]*`' "$readme" | tr -d '`' |
            grep -E '_|\*' | grep -vxE "$(paste -sd '|' "$tmp/words")" | sed 's|^|tests/golden/|'
    )
}

update=no
[ "${1:-}" = --update ] && update=yes
walk
if [ "$update" = yes ]; then
    cp "$tmp/readme" "$readme"
    echo "readme_check: $commands outputs written into $readme"
    exit 0
fi
try_examples
jq -r '.. | .properties? // empty | keys[]' server/web/openapi.json | sort -u >"$tmp/words"
try_names
((commands > 0 && examples > 0 && tables == 1)) || failed=$((failed + 1))
echo "$commands commands of $readme print what it says, $examples examples are answered, $names names are there; $failed failures"
((failed == 0))
