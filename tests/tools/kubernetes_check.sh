#!/bin/bash
# kubernetes_check.sh - do the manifests say what a restricted cluster demands, and agree with each other and the image?
set -u
cd "$(dirname "$0")/../.."
yaml2json=${YAML2JSON:-build/release/tests/tools/yaml2json}
failed=0
checked=0

# holds FILE JQ...: each expression must be true of docker/kubernetes/FILE.
holds() {
    local file=docker/kubernetes/$1 json
    shift
    json=$("$yaml2json" "$file") || {
        failed=1
        return
    }
    for expression in "$@"; do
        checked=$((checked + 1))
        jq -e "$expression" <<<"$json" >/dev/null || {
            echo "$file: not so: $expression"
            failed=1
        }
    done
}

# How long a request that is in flight may still wait and compute, by the program's own defaults.
longest_ms=$("${PROGRAM:-build/release/dikkat}" --print-config |
    awk '/(queue|compute)[-_]timeout[-_]ms/ { gsub(/[^0-9 ]/, ""); ms += $1 } END { print ms + 0 }')

pod='.spec.template.spec'
container="$pod.containers[0]"
env="($container.env | map({(.name): .value}) | add)"
holds deployment.yaml \
    '.apiVersion == "apps/v1" and .kind == "Deployment"' \
    '.spec.selector.matchLabels as $s | .spec.template.metadata.labels | contains($s)' \
    '.spec | has("replicas") | not' \
    '.spec.strategy.rollingUpdate.maxUnavailable == 0' \
    "$pod.securityContext.runAsNonRoot and $pod.securityContext.runAsUser > 0" \
    "$pod.securityContext.seccompProfile.type == \"RuntimeDefault\"" \
    "$pod.automountServiceAccountToken == false" \
    "$pod | has(\"hostNetwork\") or has(\"hostPID\") or has(\"volumes\") | not" \
    "$container.securityContext.allowPrivilegeEscalation == false" \
    "$container.securityContext.privileged == false" \
    "$container.securityContext.readOnlyRootFilesystem and $container.securityContext.runAsNonRoot" \
    "$container.securityContext.capabilities == {\"drop\": [\"ALL\"]}" \
    "$container.livenessProbe.httpGet == {\"path\": \"/health/live\", \"port\": \"http\"}" \
    "$container.readinessProbe.httpGet == {\"path\": \"/health/ready\", \"port\": \"http\"}" \
    "$container.startupProbe.httpGet == {\"path\": \"/health/live\", \"port\": \"http\"}" \
    "$container.ports == [{\"name\": \"http\", \"containerPort\": 8080, \"protocol\": \"TCP\"}]" \
    "$container.resources.limits.memory and $container.resources.limits.cpu and $container.resources.requests.cpu" \
    "$container.resources.limits.memory == $container.resources.requests.memory" \
    "$env | has(\"DIKKAT_MAX_MEMORY_BYTES\") or has(\"DIKKAT_WORKERS\") | not" \
    "$pod.terminationGracePeriodSeconds * 1000 > ($env.DIKKAT_SHUTDOWN_DELAY_MS | tonumber) + ($env.DIKKAT_DRAIN_TIMEOUT_MS | tonumber)" \
    "($env.DIKKAT_SHUTDOWN_DELAY_MS | tonumber) >= 5000" \
    "($env.DIKKAT_DRAIN_TIMEOUT_MS | tonumber) > $longest_ms" \
    "$pod.topologySpreadConstraints | map(.topologyKey) | index(\"kubernetes.io/hostname\") != null"
holds service.yaml \
    '.kind == "Service" and .spec.ports[0].targetPort == "http"' \
    '.spec.selector == {"app.kubernetes.io/name": "dikkat"}'
holds autoscaler.yaml \
    '.apiVersion == "autoscaling/v2" and .spec.scaleTargetRef == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "dikkat"}' \
    '.spec.minReplicas >= 2 and .spec.maxReplicas > .spec.minReplicas' \
    '.spec.metrics[0].resource | .name == "cpu" and .target.averageUtilization <= 80'
holds disruption.yaml \
    '.apiVersion == "policy/v1" and .spec.maxUnavailable == 1' \
    '.spec.selector.matchLabels == {"app.kubernetes.io/name": "dikkat"}'
holds network.yaml \
    '.spec.podSelector.matchLabels == {"app.kubernetes.io/name": "dikkat"}' \
    '.spec.policyTypes == ["Ingress", "Egress"] and .spec.egress == []' \
    '.spec.ingress == [{"ports": [{"port": "http", "protocol": "TCP"}]}]'
for file in docker/kubernetes/*.yaml; do
    name=${file##*/}
    [ "$name" = kustomization.yaml ] || holds kustomization.yaml ".resources | index(\"$name\") != null"
done

# Every variable is an option that the program has.
for variable in $("$yaml2json" docker/kubernetes/deployment.yaml | jq -r "$container.env[].name") \
    $(sed -n 's/^.*\(DIKKAT_[A-Z_]*\)=.*$/\1/p' Dockerfile); do
    option=--$(tr 'A-Z_' 'a-z-' <<<"${variable#DIKKAT_}")
    checked=$((checked + 1))
    "${PROGRAM:-build/release/dikkat}" --help | grep -q -- "$option\b" || {
        echo "$variable: the program has no option $option"
        failed=1
    }
done
((failed == 0)) && echo "$checked statements about the manifests hold"
exit $failed
