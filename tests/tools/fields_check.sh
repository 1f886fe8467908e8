#!/bin/bash
# fields_check.sh - every field that openapi.yaml describes, and every word a field can be, is used by a golden case.
#
# Looks at the request schemas and the objects inside them; a case with bare NaN is not JSON and is left out.
set -u
cd "$(dirname "$0")/../.."
command -v jq >/dev/null || {
    echo "jq is not here"
    exit 77
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Lines "POST /mha causal", "POST /mha tokens.ids", "POST /mha return=weights" of all cases.
for case in tests/golden/*/; do
    route=$(cat "$case/route")
    jq -r --arg route "$route" '
        def fields($at): to_entries[] | ($at + .key) as $name | $name,
            (.value | strings | "\($name)=\(.)"),
            (.value | arrays | .[] | strings | "\($name)=\(.)"),
            (.value | objects | fields($name + ".")),
            (.value | arrays | .[] | objects | fields($name + "."));
        fields("") | "\($route) \(.)"' "$case/request.json" 2>/dev/null
done | sort -u >"$tmp/used"

# The same lines from the document. A field may stand for an object by $ref, below anyOf, or as the items of a list.
jq -r '
    . as $all
    | def resolve: . as $schema | if ($schema | has("$ref"))
          then ($schema["$ref"] | ltrimstr("#/") | split("/")) as $path | $all | getpath($path) else $schema end;
      def words: ((.enum? // []) + (.items?.enum? // []) + [.anyOf[]?.enum[]?])[] | strings;
      def fields($at): resolve | (.properties // {}) | to_entries[] | ($at + .key) as $name | $name,
          (.value | resolve | words | "\($name)=\(.)"),
          (.value | resolve | select(.properties and (.properties | has("eye") or has("data") | not)) | fields($name + ".")),
          (.value | resolve | .items? // empty | resolve | select(.properties) | fields($name + "."));
      .paths | to_entries[] | select(.value.post) | "POST \(.key)" as $route
      | .value.post.requestBody.content["application/json"].schema | fields("") | "\($route) \(.)"' server/web/openapi.json |
    sort -u >"$tmp/described"

missing=$(comm -23 "$tmp/described" "$tmp/used")
[ -s "$tmp/described" ] || missing="openapi.json describes no field"
[ -z "$missing" ] || printf 'no golden case uses:\n%s\n' "$missing"
echo "$(wc -l <"$tmp/described") fields and words of openapi.yaml, $(grep -c . <<<"$missing") without a golden case"
[ -z "$missing" ]
