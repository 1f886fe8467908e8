#!/bin/bash
# openapi_check.sh - is server/web/openapi.json what openapi.yaml says? `make openapi` makes it so.
set -u
cd "$(dirname "$0")/../.."
"${YAML2JSON:-build/release/tests/tools/yaml2json}" openapi.yaml | diff - server/web/openapi.json | head -n 20
[ "${PIPESTATUS[*]:0:2}" = "0 0" ] || exit 1
jq -e '.openapi | startswith("3.1")' server/web/openapi.json >/dev/null || exit 1
echo "openapi.json follows openapi.yaml: $(jq '.paths | length' server/web/openapi.json) paths"
