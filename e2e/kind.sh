#!/usr/bin/env bash
# The end-to-end tests on a kind cluster with YuniKorn from its Helm chart. Needs docker, kind, kubectl and helm.
#
# KIND_CLUSTER names the cluster (it is deleted afterwards unless KEEP is set), YUNIKORN the version of the chart.
set -euo pipefail
cd "$(dirname "$0")/.."

cluster=${KIND_CLUSTER:-queuewarden-e2e}
# As charts/queuewarden/ci/kind-values.yaml has it.
image=queuewarden:e2e
KUBECONFIG=$(mktemp)
export KUBECONFIG

cleanup() {
    [ -n "${KEEP:-}" ] || kind delete cluster --name "$cluster"
    rm -f "$KUBECONFIG"
}
trap cleanup EXIT

kind create cluster --name "$cluster" --wait 2m
docker build --tag "$image" .
kind load docker-image --name "$cluster" "$image"

helm repo add yunikorn https://apache.github.io/yunikorn-release
helm install yunikorn yunikorn/yunikorn --version "${YUNIKORN:-1.8.0}" --namespace yunikorn --create-namespace --wait

# The namespace with its labels and annotation, which Helm would make without them.
kubectl apply --server-side --filename manifests/namespace.yaml
helm install queuewarden charts/queuewarden --namespace queuewarden-system \
    --values charts/queuewarden/ci/kind-values.yaml --wait --timeout 3m
kubectl wait --for=condition=Established --timeout=1m crd/queueacls.queuewarden.dev \
    crd/admissionpolicies.queuewarden.dev crd/yunikornconfigs.queuewarden.dev crd/queueaccesstests.queuewarden.dev
kubectl --namespace queuewarden-system rollout status deployment/queuewarden --timeout=2m

QUEUEWARDEN_E2E=existing cargo test --package queuewarden-e2e --locked
