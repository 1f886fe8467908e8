#!/bin/bash
# make_corpus.sh - seeds for fuzz_api: the example requests and the smaller golden ones, each behind the byte that
# chooses its route (its place among the POST routes of api/api.c).
set -eu
cd "$(dirname "$0")/../.."
out=tests/fuzz/corpus/api
rm -rf "$out" && mkdir -p "$out"
seed() { # NAME ROUTE FILE
    local byte
    case $2 in
    */embed) byte='\x00' ;; */attention) byte='\x01' ;; */mha) byte='\x02' ;; */lookup) byte='\x03' ;; */check) byte='\x04' ;; *) return ;;
    esac
    { printf "$byte" && jq -c . "$3" 2>/dev/null || cat "$3"; } >"$out/$1"
}
for file in api/examples/*.json; do
    name=$(basename "$file" .json)
    seed "example_$name" "/${name%%-*}" "$file"
done
for folder in tests/golden/*/; do
    file=$folder/request.json
    [ -f "$file" ] && [ "$(stat -c %s "$file")" -lt 700 ] && seed "$(basename "$folder")" "$(cat "$folder/route")" "$file"
done
ls "$out" | wc -l
