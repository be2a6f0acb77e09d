#!/usr/bin/env bash
# The end-to-end tests on a kind cluster with YuniKorn from its Helm chart. Needs docker, kind, kubectl and helm.
#
# KIND_CLUSTER names the cluster (it is deleted afterwards unless KEEP is set), YUNIKORN the version of the chart.
set -euo pipefail
cd "$(dirname "$0")/.."

cluster=${KIND_CLUSTER:-queuewarden-e2e}
image=queuewarden:e2e
KUBECONFIG=$(mktemp)
export KUBECONFIG

cleanup() {
    [ -n "${KEEP:-}" ] || kind delete cluster --name "$cluster"
    rm -rf "$KUBECONFIG" "${overlay:-}"
}
trap cleanup EXIT

kind create cluster --name "$cluster" --wait 2m
docker build --tag "$image" .
kind load docker-image --name "$cluster" "$image"

helm repo add yunikorn https://apache.github.io/yunikorn-release
helm install yunikorn yunikorn/yunikorn --version "${YUNIKORN:-1.8.0}" --namespace yunikorn --create-namespace --wait

# kustomize reads no absolute paths, so the overlay lives in the checkout.
overlay=$(mktemp -d ./.kind.XXXXXX)
cat > "$overlay/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../manifests]
images: [{name: ghcr.io/queuewarden/queuewarden, newName: ${image%:*}, newTag: ${image#*:}}]
EOF
kubectl apply --server-side --kustomize "$overlay"
kubectl wait --for=condition=Established --timeout=1m crd/queueacls.queuewarden.dev \
    crd/admissionpolicies.queuewarden.dev crd/yunikornconfigs.queuewarden.dev
kubectl --namespace queuewarden-system rollout status deployment/queuewarden --timeout=2m

QUEUEWARDEN_E2E=existing cargo test --package queuewarden-e2e --locked
