#!/usr/bin/env bash
# The end-to-end tests on a kind cluster (e2e/kind/cluster.sh) with YuniKorn and queuewarden installed by Helm, queuewarden from an image by the
# project's Dockerfile. `e2e/kind.sh FILTER…` runs some of those that need nodes.
#
# KEEP leaves the cluster. QUEUEWARDEN_E2E_OPERATOR is a program that is built already: the image then gets that, and so it does where
# no published image with Rust can be had.
set -euo pipefail
cd "$(dirname "$0")/.."

on() {
    e2e/kind/cluster.sh run "$@"
}

# A packet of the cluster does not leave it, and so a published image is only used by a Docker of the machine's own.
published() {
    [ "$(e2e/kind/cluster.sh kind)" = published ]
}

cleanup() {
    code=$?
    [ "$code" -eq 0 ] || on kubectl get pods --all-namespaces --output wide || true
    [ -n "${KEEP:-}" ] || e2e/kind/cluster.sh down
    exit "$code"
}
trap cleanup EXIT

# As charts/queuewarden/ci/kind-values.yaml has it.
image=queuewarden:e2e

load() {
    on kind load docker-image --name "${KIND_CLUSTER:-queuewarden-e2e}" "$@"
}

yunikorn() {
    if published; then
        on helm upgrade --install yunikorn yunikorn --repo https://apache.github.io/yunikorn-release --version "${YUNIKORN:-1.8.0}" \
            --namespace yunikorn --create-namespace --wait
        return
    fi
    local scheduler admission
    scheduler=$(e2e/kind/cluster.sh image yunikorn-scheduler)
    admission=$(e2e/kind/cluster.sh image yunikorn-admission)
    load "$scheduler" "$admission"
    on helm upgrade --install yunikorn e2e/kind/yunikorn --namespace yunikorn --create-namespace --wait --timeout 3m \
        --set "scheduler=$scheduler,admission=$admission"
}

image() {
    local program=${QUEUEWARDEN_E2E_OPERATOR:-}
    if published && [ -z "$program" ]; then
        on docker build --tag "$image" .
    else
        if [ -z "$program" ]; then
            cargo build --locked --package queuewarden --bin queuewarden
            program=target/debug/queuewarden
        fi
        local folder
        folder=$(mktemp -d)
        # What cargo builds for tests is ten times as large with what a debugger reads.
        strip -o "$folder/queuewarden" "$program"
        printf 'FROM scratch\nCOPY queuewarden /src/target/release/queuewarden\n' | on docker build --quiet --tag queuewarden-program --file - "$folder"
        rm -r "$folder"
        # It was linked to the C library of this machine.
        on docker build --tag "$image" --target given --build-arg PROGRAM=queuewarden-program \
            --build-arg "BASE=$(e2e/kind/cluster.sh image base)" .
    fi
    load "$image"
}

# Published nodes enforce NetworkPolicies by themselves.
policies() {
    ! published || return 0
    local name
    name=$(e2e/kind/cluster.sh image kube-router)
    load "$name"
    sed "s#KUBE_ROUTER#$name#" e2e/kind/kube-router/daemonset.yaml | on kubectl apply --server-side --filename -
    on kubectl --namespace kube-system rollout status daemonset/kube-router --timeout=2m
}

install() {
    # With the labels of Pod Security, which `--create-namespace` does not set.
    on kubectl apply --server-side --filename manifests/namespace.yaml
    # Tests on an existing cluster apply the definitions by themselves, and write over other fields.
    on helm upgrade --install queuewarden charts/queuewarden --namespace queuewarden-system --take-ownership --force-conflicts \
        --values charts/queuewarden/ci/kind-values.yaml --wait --timeout 3m
    # The image has the name of the one before.
    on kubectl --namespace queuewarden-system rollout restart deployment/queuewarden
    on kubectl --namespace queuewarden-system rollout status deployment/queuewarden --timeout=2m
}

filters=("${@/#/kind::}")
[ $# -gt 0 ] || filters=(kind::)
e2e/kind/cluster.sh up
yunikorn
# Without a filter the policies hold for all tests.
[[ " ${*:-network} " != *network* ]] || policies
image
install
on kubectl get pods --all-namespaces --output wide
# All is built here, where there are registries. Then the tests that need nodes, and the others as far as they can run there.
cargo test --workspace --locked --test all --test e2e --no-run
tests=(cargo test --offline --workspace --locked --test all --test e2e --)
for filter in "${filters[@]}"; do
    "${tests[@]}" --list --ignored "$filter" 2> /dev/null | grep -q ': test$' || { echo "no test is named $filter" >&2; exit 1; }
done
QUEUEWARDEN_E2E=existing on "${tests[@]}" --test-threads 1 --ignored "${filters[@]}"
if [ $# -eq 0 ]; then
    install
    on e2e/existing.sh smoke:: operator:: admission::
fi
