#!/bin/bash
# openapi_check.sh - is server/web/openapi.json what openapi.yaml says (`make openapi` makes it so), does every field say
# what it means, and is everything described that an answer holds?
set -u
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"${YAML2JSON:-build/release/tests/tools/yaml2json}" openapi.yaml | diff - server/web/openapi.json | head -n 20
[ "${PIPESTATUS[*]:0:2}" = "0 0" ] || exit 1
jq -e '.openapi | startswith("3.1")' server/web/openapi.json >/dev/null || exit 1

silent=$(jq -r '
    .components.schemas as $all
    | def means: .description // (.["$ref"] // "" | split("/") | last as $name | $all[$name].description);
      $all | to_entries[] | select(.key | test("Request$|^(Tokens|Draw|Random|Rope|Problem|LookupResult|Checks)$")) | .key as $of
      | .value.properties | to_entries[] | select(.key != "shapes" and .key != "sharpness")
      | select(.value | means | not) | "\($of).\(.key)"' server/web/openapi.json)
[ -z "$silent" ] || { printf 'without a description:\n%s\n' "$silent"; exit 1; }

# Members of answers: those of every golden case against the schema of the route.
for case in tests/golden/*/; do
    jq -r --arg route "$(cat "$case/route")" 'keys[] | "\($route) \(.)"' "$case/expected.json"
done | sort -u >"$tmp/answered"
jq -r '
    .components.schemas as $all
    | def resolve: if has("$ref") then $all[.["$ref"] | split("/") | last] else . end;
      .paths | to_entries[] | select(.value.post) | "POST \(.key)" as $route
      | .value.post.responses["200"].content["application/json"].schema | resolve | (., (.anyOf[]? | resolve))
      | .properties // {} | keys[] | "\($route) \(.)"' server/web/openapi.json | sort -u >"$tmp/described"
missing=$(comm -23 "$tmp/answered" "$tmp/described")
[ -s "$tmp/answered" ] && [ -z "$missing" ] || { printf 'answered but not described:\n%s\n' "$missing"; exit 1; }
echo "openapi.json follows openapi.yaml: $(jq '.paths | length' server/web/openapi.json) paths, $(wc -l <"$tmp/answered") members of answers described"
