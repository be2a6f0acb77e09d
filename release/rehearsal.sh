#!/usr/bin/env bash
# Rehearses a release on this machine: runs the steps of release/release.sh with a registry on loopback and a
# throw-away key, verifies the results, shows that changed copies are refused, and makes everything twice.
#
#   release/rehearsal.sh        ten minutes on two cores, most of it for two builds of the program
#
# Needs Go, Rust, and Debian's packages, which it installs as root. PROGRAM is a program that
# `release.sh program` has built already: it is not built twice then. If `KEEP=1 e2e/kind.sh` has left a
# cluster, the image and the chart are installed there from the registry, by digest. Without Docker and buildx,
# buildah makes the image from the same Dockerfile, with the program given and a base made of Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."

state=$PWD/target/rehearsal
dist=$state/dist
address=127.0.0.1:5151
repository=$address/queuewarden
charts=$address/charts
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
target=$(rustc -vV | sed -n 's/^host: //p')
platform=linux-$(go env GOARCH)
export PATH=$state/bin:$PWD/target/tools/bin:$PATH
export COSIGN_PASSWORD="" LC_ALL=C
cosign=github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
crane=$(sed -n 's/^crane=//p' release/release.sh)

main() {
    rm -rf "$state"/{dist,again,registry,tampered}
    mkdir -p "$state"/{bin,registry,tampered}
    step "tools" tools
    step "registry" serve 127.0.0.1
    step "version" release/release.sh version "v$version"
    step "program" program "$dist"
    if docker buildx version > /dev/null 2>&1 && docker info > /dev/null 2>&1; then
        step "image, by Docker" release/release.sh image "$repository" "$dist/$platform"
    else
        step "image, by buildah, because there is no Docker with buildx" image
    fi
    step "key" key
    COSIGN_ARGS="--key $state/cosign.key --signing-config $state/signing.json" HELM_ARGS=--plain-http \
        step "publish" release/release.sh publish "$repository" "oci://$charts" "$dist"
    step "signatures" signatures
    step "changed copies are refused" tampered
    step "bill of materials" bill
    step "the same twice" twice
    step "install into kind" into_kind
    printf '\n%s' "$timings"
}

timings=""
serving=()
trap 'kill "${serving[@]}" 2> /dev/null || true' EXIT
step() {
    local name=$1 begin=$SECONDS
    shift
    printf '\n==> %s\n' "$name"
    "$@"
    timings+=$(printf '%5d s  %s' $((SECONDS - begin)) "$name")$'\n'
}

tools() {
    local missing=() pair
    for pair in docker-registry:docker-registry buildah:buildah mmdebstrap:mmdebstrap jq:jq; do
        command -v "${pair%%:*}" > /dev/null || missing+=("${pair#*:}")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
            echo "needed: Debian's packages ${missing[*]}" >&2
            return 1
        fi
        apt-get update -q > /dev/null
        # RUNLEVEL keeps the registry's package from starting a service.
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" > /dev/null
    fi
    GOBIN=$state/bin CGO_ENABLED=0 go install "$cosign"
    GOBIN=$state/bin go install "$crane"
    GOBIN=$state/bin GOWORK=off go -C e2e/helm/4 install -mod=readonly tool
    command -v kubectl > /dev/null || GOBIN=$state/bin GOWORK=off CGO_ENABLED=0 go -C e2e/kind install -mod=readonly k8s.io/kubernetes/cmd/kubectl
    local crate
    for crate in cargo-cyclonedx@0.5.9 rust-audit-info@0.5.4; do
        cargo install "$crate" --quiet --locked --root target/tools
    done
}

# The registry of what was pushed so far, at an address of its own, until the end of the rehearsal.
serve() {
    local host=$1
    shift
    cat > "$state/registry.yaml" << TEXT
version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $state/registry}}
TEXT
    # shellcheck disable=SC2016
    "$@" sh -c 'echo $$ > "$1.pid"; REGISTRY_HTTP_ADDR=$2 exec docker-registry serve "$1.yaml" >> "$1.log" 2>&1' sh \
        "$state/registry" "$host:${address#*:}" &
    "$@" curl --fail --silent --retry 50 --retry-delay 1 --retry-connrefused "http://$host:${address#*:}/v2/"
    serving+=("$(< "$state/registry.pid")")
}

program() {
    if [ -n "${PROGRAM:-}" ]; then
        install -D "$PROGRAM" "$1/$platform/queuewarden"
    else
        release/release.sh program "$target" "$1/$platform"
    fi
}

builder() {
    buildah --root "$state/storage" --runroot "$state/run" --storage-driver vfs "$@"
}

# Has the C library and the list of packages as a distroless image has it.
base() {
    # shellcheck disable=SC2016
    mmdebstrap --quiet --mode=root --variant=extract --include=libc6,libgcc-s1 --extract-hook='mkdir "$1/var/lib/dpkg/status.d"
        for deb in "$1"/var/cache/apt/archives/*.deb; do
            dpkg-deb --field "$deb" > "$1/var/lib/dpkg/status.d/$(dpkg-deb --field "$deb" Package)"
        done' trixie "$state/base.tar"
    printf 'FROM scratch\nADD base.tar /\n' | builder build --quiet --timestamp 0 --tag base --file - "$state"
}

image() {
    base
    printf 'FROM scratch\nCOPY queuewarden /src/target/release/queuewarden\n' |
        builder build --quiet --timestamp 0 --tag program --file - "$dist/$platform"
    builder build --quiet --timestamp 0 --target given --build-arg PROGRAM=localhost/program --build-arg BASE=localhost/base --tag queuewarden .
    builder push --quiet --tls-verify=false --digestfile "$dist/$platform/digest" localhost/queuewarden "docker://$repository:$platform"
    echo "BASE=trixie" > "$dist/$platform/bases"
}

key() {
    rm -f "$state"/{cosign,other}.*
    cosign generate-key-pair --output-key-prefix "$state/cosign"
    cosign generate-key-pair --output-key-prefix "$state/other"
    # No log of signatures that others read.
    cosign signing-config create --out "$state/signing.json"
}

# What the notes of the release name.
digest_of() {
    sed -n "s/^\* $1: \`\(.*\)\`$/\1/p" "$dist/notes.md"
}

verify() {
    cosign "$1" --key "$state/cosign.pub" --insecure-ignore-tlog=true "${@:2}" > "$state/verify.log" 2>&1 || {
        cat "$state/verify.log"
        return 1
    }
}

signatures() {
    local sums=$dist/release/SHA256SUMS pulled=$state/tampered/pulled
    verify verify "$(digest_of image)"
    verify verify "$(digest_of chart)"
    verify verify-attestation --type cyclonedx "$(digest_of image)"
    verify verify-blob --bundle "$sums.sigstore.json" "$sums"
    (cd "$dist/release" && sha256sum --check --quiet --strict SHA256SUMS)
    mkdir "$pulled"
    helm pull "oci://$(digest_of chart)" --plain-http --destination "$pulled"
    cmp "$pulled"/queuewarden*.tgz "$dist/release/queuewarden-$version.tgz"
    tar --extract --gzip --to-stdout --file "$dist/release/queuewarden-$version.tgz" queuewarden/values.yaml | grep -F "$(digest_of image | sed 's/.*@//')"
}

# refused NAME COMMAND…: fails if the command does not.
refused() {
    local name=$1
    shift
    if "$@" > "$state/tampered/log" 2>&1; then
        echo "$name is accepted" >&2
        return 1
    fi
    echo "$name: $(grep -iE 'error|failed|no match' "$state/tampered/log" | head -n 1)"
}

tampered() {
    local changed=$state/tampered sums=$dist/release/SHA256SUMS image chart file
    image=$(crane mutate --platform "linux/${platform#*-}" --label changed=yes --tag "$repository:changed" "$(digest_of image)" 2> /dev/null)
    refused "an image with another label" verify verify "$image"
    refused "an image with another label and the old attestation" verify verify-attestation --type cyclonedx "$image"
    cp "$dist/release/queuewarden-$version.tgz" "$changed/"
    mkdir "$changed/chart"
    tar --extract --gzip --file "$dist/release/queuewarden-$version.tgz" --directory "$changed/chart"
    echo "# changed" >> "$changed/chart/queuewarden/values.yaml"
    helm package "$changed/chart/queuewarden" --destination "$changed/chart" > /dev/null
    chart=$(helm push "$changed/chart/queuewarden-$version.tgz" "oci://$address/changed" --plain-http 2>&1 | sed -n 's/^Digest: //p')
    refused "a changed chart" verify verify "$address/changed/queuewarden@$chart"
    sed 's/^./0/' "$sums" > "$changed/SHA256SUMS"
    refused "changed sums" verify verify-blob --bundle "$sums.sigstore.json" "$changed/SHA256SUMS"
    cp "$dist/release/"* "$changed/chart/"
    file=$changed/chart/queuewarden-$platform.tar.gz
    printf x >> "$file"
    refused "a changed archive" sh -c "cd '$changed/chart' && sha256sum --check --strict SHA256SUMS"
    refused "the image, by another key" cosign verify --key "$state/other.pub" --insecure-ignore-tlog=true "$(digest_of image)"
    # As the GitHub action and pre-commit install it.
    mkdir "$changed/releases" && mv "$changed/chart" "$changed/releases/v$version"
    XDG_CACHE_HOME=$changed/cache QUEUEWARDEN_RELEASES=file://$changed/releases PATH=/usr/bin:/bin \
        refused "a changed archive, by release/queuewarden.sh" release/queuewarden.sh version
    mkdir "$changed/unchanged" && cp -r "$dist/release" "$changed/unchanged/v$version"
    XDG_CACHE_HOME=$changed/cache QUEUEWARDEN_RELEASES=file://$changed/unchanged PATH=/usr/bin:/bin release/queuewarden.sh version
}

# Compares the bill with what `cargo auditable` wrote into the program, and with the files of the image.
bill() {
    local audit=$state/audit named=$state/named
    tar --extract --to-stdout --file "$dist/image.tar" usr/local/bin/queuewarden > "$state/program"
    cmp "$state/program" "$dist/$platform/queuewarden"
    rust-audit-info "$state/program" > "$audit.json"
    jq --raw-output '.packages[] | select(.kind != "build") | "\(.name) \(.version)"' "$audit.json" | sort -u > "$audit"
    jq --raw-output '.packages[] | "\(.name) \(.version)"' "$audit.json" | sort -u > "$audit.all"
    jq --raw-output '(.components[], .metadata.component) | select(.purl | startswith("pkg:cargo/")) | "\(.name) \(.version)"' \
        "$dist/release/queuewarden.cdx.json" | sort -u > "$named"
    comm -23 "$audit" "$named" > "$state/missing"
    [ ! -s "$state/missing" ] || { echo "in the program, and not in the bill:" >&2; cat "$state/missing" >&2; return 1; }
    printf '%d crates are in the program; the bill has all of them, and %d others that are not in it:\n' "$(wc -l < "$audit")" \
        "$(comm -13 "$audit" "$named" | wc -l)"
    comm -13 "$audit" "$named" | paste -s -d ,
    jq --raw-output '.components[] | select(.purl // "" | startswith("pkg:deb/")) | .purl' "$dist/release/queuewarden.cdx.json" > "$state/debs"
    [ -s "$state/debs" ] || { echo "the bill names no package of the base image" >&2; return 1; }
    cat "$state/debs"
}

twice() {
    local files=$state/again/release
    [ -n "${PROGRAM:-}" ] || {
        rm -rf "target/$target/release"
        program "$state/again"
        cmp "$dist/$platform/queuewarden" "$state/again/$platform/queuewarden"
    }
    IMAGE_DIGEST=$(crane digest "$repository:$version") IMAGE_FILES=$dist/image.tar \
        release/assets.sh "$files" "$platform=$dist/$platform/queuewarden"
    # The signature is made of a random number each time.
    diff --recursive --exclude=SHA256SUMS.sigstore.json "$dist/release" "$files"
    (cd "$files" && sha256sum ./*)
    [ -z "${PROGRAM:-}" ] || echo "NOT DONE: a second build of the program, because PROGRAM is given"
}

# From the registry at an address that nodes reach, which do not ask it for TLS.
into_kind() {
    local cluster=${KIND_CLUSTER:-queuewarden-e2e} on=(e2e/kind/cluster.sh run) gateway registry node
    if ! "${on[@]}" kubectl get nodes > /dev/null 2>&1; then
        echo "NOT DONE: there is no kind cluster (KEEP=1 e2e/kind.sh)"
        return
    fi
    gateway=$("${on[@]}" docker network inspect kind --format '{{range .IPAM.Config}}{{.Gateway}} {{end}}' | grep -oE '[0-9]+(\.[0-9]+){3}' | head -n 1)
    registry=$gateway:${address#*:}
    serve "$gateway" "${on[@]}"
    for node in $("${on[@]}" kind get nodes --name "$cluster"); do
        # Containerd reads certs.d only if its configuration names the folder.
        # shellcheck disable=SC2016
        "${on[@]}" docker exec "$node" sh -euc 'mkdir -p "/etc/containerd/certs.d/$1"
            printf "server = \"http://%s\"\n" "$1" > "/etc/containerd/certs.d/$1/hosts.toml"
            grep -q config_path /etc/containerd/config.toml || {
                printf "\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = \"/etc/containerd/certs.d\"\n" >> /etc/containerd/config.toml
                systemctl restart containerd
            }' sh "$registry"
    done
    # Helm takes a digest in place of the version.
    "${on[@]}" helm upgrade --install queuewarden "oci://$registry/charts/queuewarden@$(digest_of chart | sed 's/.*@//')" --plain-http \
        --namespace queuewarden-system --create-namespace --set "image.repository=$registry/queuewarden" --wait --timeout 3m
    "${on[@]}" kubectl --namespace queuewarden-system get pods --output wide
    "${on[@]}" kubectl --namespace queuewarden-system get pods --output jsonpath='{range .items[*]}{.status.containerStatuses[*].imageID}{"\n"}{end}' |
        grep -F "$(digest_of image | sed 's/.*@//')"
}

main "$@"
