#!/bin/bash
# contracts.sh - the published contracts, held against published schemas: docker/kubernetes against those of Kubernetes,
# openapi.yaml against that of OpenAPI 3.1, and the program's requests and answers against openapi.yaml.
#
#   contracts.sh BUILD     BUILD/dikkat is there
#
# The validators (tests/contracts/requirements.txt) are installed into build/contracts. Exit code 77 when there is no
# Python, or no package index to have them from.
set -u
cd "$(dirname "$0")/../.."
build=$1
venv=build/contracts
oldest=1.25 # of Kubernetes that the validator knows; the newest is its default
failed=0

skip() {
    echo "contracts: $1"
    exit 77
}

if ! cmp -s tests/contracts/requirements.txt $venv/installed; then
    rm -rf $venv
    python3 -m venv $venv >/dev/null 2>&1 || skip "python3 with its module venv is not installed (make setup)"
    $venv/bin/pip install -q --disable-pip-version-check --retries 1 --timeout 15 -r tests/contracts/requirements.txt \
        >$venv/log 2>&1 || skip "the validators cannot be had: $(tail -n 1 $venv/log)"
    cp tests/contracts/requirements.txt $venv/installed
fi

# Kustomize's own file is no resource of Kubernetes and has no such schema.
manifests=$(ls docker/kubernetes/*.yaml | grep -v kustomization)
for version in $oldest ""; do
    # The validator passes over a kind that it does not know, with a warning.
    $venv/bin/kubernetes-validate --strict --quiet ${version:+-k $version} $manifests >$venv/log 2>&1 && ! grep -q WARN $venv/log || {
        cat $venv/log
        failed=1
    }
done
((failed)) || echo "contracts: $(wc -w <<<"$manifests") manifests are valid for Kubernetes $oldest and the newest known"

$venv/bin/openapi-spec-validator --schema 3.1 openapi.yaml || failed=1
$venv/bin/python -B tests/contracts/answers.py "$build/dikkat" || failed=1
exit $failed
