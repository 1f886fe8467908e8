#!/bin/bash
# docker_check.sh - do HAProxy and Prometheus accept their configuration, and does what stands in docker/ fit together:
# files that compose.yaml mounts, and metrics that the dashboard and the alerts ask for?
#
# Without haproxy or promtool those two checks are passed over, visibly; the others always run.
set -u
cd "$(dirname "$0")/../.."
. tests/tools/serve.sh
yaml2json=${YAML2JSON:-build/release/tests/tools/yaml2json}
failed=0
passed_over=

bad() {
    echo "docker_check: $1"
    failed=1
}

# check TOOL ARGUMENT...: runs it, if it is there.
check() {
    command -v "$1" >/dev/null || {
        passed_over="$passed_over $1"
        return
    }
    local output
    output=$("$@" 2>&1) || bad "$* says: $output"
}

check haproxy -c -f docker/haproxy.cfg
check promtool check config docker/prometheus.yml # and the alerts it names
check promtool test rules tests/tools/alerts_fire.yml

for file in docker/compose.yaml docker/prometheus.yml docker/alerts.yml docker/grafana/*.yaml; do
    "$yaml2json" "$file" >/dev/null || bad "$file is not YAML"
done
for mounted in $("$yaml2json" docker/compose.yaml | jq -r '.services[].volumes[]? | split(":")[0]'); do
    [ -f "docker/$mounted" ] || bad "compose.yaml mounts $mounted, which is not there"
done

dashboard=docker/grafana/dikkat.json
jq -e '.panels | length > 0 and all(.title and (.targets | length > 0))' $dashboard >/dev/null ||
    bad "$dashboard has no panels, or one without a query"

# Queries ask for metrics, labels and values that the program serves.
dir=$(mktemp -d)
"${PROGRAM:-build/release/dikkat}" --port 0 --log-format off >"$dir/program" 2>&1 &
pid=$!
trap 'kill "$pid"; rm -rf "$dir"' EXIT
url=$(served_at "$dir/program" "$pid") || bad "the program does not start: $(cat "$dir/program")"
for path in health/live health/ready metrics metrics; do curl -s -m 5 "$url/$path" >"$dir/metrics"; done
{
    jq '.panels[].targets[].expr' $dashboard
    "$yaml2json" docker/alerts.yml | jq '.groups[].rules[].expr'
} >"$dir/queries"
jq -r --rawfile metrics "$dir/metrics" -f tests/tools/queries.jq "$dir/queries" >"$dir/complaints" ||
    bad "the queries cannot be compared with what is served"
while read -r complaint; do bad "$complaint"; done <"$dir/complaints"
asked=$(jq -r 'scan("dikkat_[a-z_]+")' "$dir/queries" | sort -u)

# Every query must be one that Prometheus can read: as rules, which promtool checks.
if command -v promtool >/dev/null; then
    rules=$dir/rules
    jq '{groups: [{name: "dashboard", rules: [.panels[].targets[].expr | {record: "query",
        expr: gsub("\\$__rate_interval"; "1m")}]}]}' $dashboard >"$rules"
    promtool check rules "$rules" >/dev/null 2>"$rules.err" || bad "the dashboard has a bad query: $(cat "$rules.err")"
fi

((failed == 0)) || exit 1
if [ -n "$passed_over" ]; then
    echo "docker_check: files fit together; not installed, so not asked:$passed_over"
    exit 77
fi
echo "docker_check: configurations are valid, $(wc -w <<<"$asked") metrics asked for are served"
