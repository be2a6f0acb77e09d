#!/usr/bin/env bash
# The steps of a release, as .github/workflows/release.yaml and a rehearsal run them:
#
#   release/release.sh version TAG                     fails unless TAG names the version in Cargo.toml
#   release/release.sh bases                           prints RUST= and BASE=, the base images of the Dockerfile by digest
#   release/release.sh program TARGET OUT              builds the command line for a target of Rust, on a machine that can link it
#   release/release.sh image REPOSITORY OUT            builds the image for this machine's architecture and pushes it by digest
#   release/release.sh publish REPOSITORY CHARTS DIST  joins the images, makes the assets, pushes the chart, and signs
#
# RUST and BASE replace the base images. COSIGN_ARGS are further arguments of `cosign sign`, `attest` and `sign-blob`, and
# HELM_ARGS of `helm push`: release/rehearsal.sh signs with a key of its own and pushes to a registry without TLS.
set -euo pipefail
cd "$(dirname "$0")/.."

crane=github.com/google/go-containerregistry/cmd/crane@v0.22.1
auditable=0.7.2
cargo_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

main() {
    case "${1:-}-$#" in
        version-2) same_version "$2" ;;
        bases-1) bases ;;
        program-3) program "$2" "$3" ;;
        image-3) image "$2" "$3" ;;
        publish-4) publish "$2" "$3" "$4" ;;
        *)
            sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
            exit 2
            ;;
    esac
}

same_version() {
    [ "$1" = "v$cargo_version" ] || {
        echo "tag $1 does not match version $cargo_version in Cargo.toml" >&2
        return 1
    }
}

crane() {
    go run "$crane" "$@"
}

# The value of an ARG of the Dockerfile.
default_of() {
    sed -n "s/^ARG $1=//p" Dockerfile | head -n 1
}

bases() {
    local name image digest
    for name in RUST BASE; do
        image=$(default_of "$name")
        digest=$(crane digest "$image")
        echo "$name=${image%:*}@$digest"
    done
}

# Writes the program to OUT, with its dependencies in it as in the image.
program() {
    local target=$1 out=$2 suffix=""
    [[ "$target" != *-windows-* ]] || suffix=.exe
    export PATH=$PWD/target/tools/bin:$PATH
    cargo install cargo-auditable --quiet --locked --version "$auditable" --root target/tools
    cargo auditable build --release --locked --package queuewarden --bin queuewarden --target "$target"
    mkdir -p "$out"
    cp "${CARGO_TARGET_DIR:-target}/$target/release/queuewarden$suffix" "$out/"
}

# Writes to OUT: the program, the digest of the image, and the base images.
image() {
    local repository=$1 out=$2 epoch
    epoch=$(git log -1 --format=%ct)
    local build=(docker buildx build --build-arg "SOURCE_DATE_EPOCH=$epoch"
        --build-arg "RUST=${RUST:-$(default_of RUST)}" --build-arg "BASE=${BASE:-$(default_of BASE)}"
        --build-arg "CARGO_BUILD=cargo auditable build" --build-arg "CARGO_AUDITABLE=$auditable")
    mkdir -p "$out"
    "${build[@]}" --provenance=mode=max --sbom=true --metadata-file "$out/metadata.json" \
        --output "type=image,name=$repository,push=true,push-by-digest=true,name-canonical=true,rewrite-timestamp=true" .
    jq --raw-output '."containerimage.digest"' "$out/metadata.json" > "$out/digest"
    crane export --platform "linux/$(go env GOARCH)" "$repository@$(cat "$out/digest")" - |
        tar --extract --to-stdout usr/local/bin/queuewarden > "$out/queuewarden"
    printf 'RUST=%s\nBASE=%s\n' "${RUST:-$(default_of RUST)}" "${BASE:-$(default_of BASE)}" > "$out/bases"
}

# Reads DIST/PLATFORM/{queuewarden,digest,bases}, the last two where there is an image. Writes the files of the release to
# DIST/release and its notes to DIST/notes.md.
publish() {
    local repository=$1 charts=$2 dist=$3 folder images=() programs=() digest chart
    for folder in "$dist"/*/; do
        [ ! -e "$folder/digest" ] || images+=(--manifest "$repository@$(cat "$folder/digest")")
        programs+=("$(basename "$folder")=$(echo "$folder"queuewarden*)")
    done
    crane index append --tag "$repository:$cargo_version" "${images[@]}"
    digest=$(crane digest "$repository:$cargo_version")
    crane export --platform linux/amd64 "$repository@$digest" "$dist/image.tar"
    IMAGE_DIGEST=$digest IMAGE_FILES=$dist/image.tar release/assets.sh "$dist/release" "${programs[@]}"

    local helm cosign
    read -ra helm <<< "${HELM_ARGS:-}"
    read -ra cosign <<< "${COSIGN_ARGS:-}"
    # Helm prints the digest of the chart to standard error.
    chart=$(helm push "$dist/release/queuewarden-$cargo_version.tgz" "$charts" "${helm[@]}" 2>&1 | sed -n 's/^Digest: //p')
    chart=${charts#oci://}/queuewarden@$chart
    cosign sign --yes "${cosign[@]}" "$repository@$digest"
    cosign sign --yes "${cosign[@]}" "$chart"
    cosign attest --yes "${cosign[@]}" --type cyclonedx --predicate "$dist/release/queuewarden.cdx.json" "$repository@$digest"
    cosign sign-blob --yes "${cosign[@]}" --bundle "$dist/release/SHA256SUMS.sigstore.json" "$dist/release/SHA256SUMS"
    notes "$repository@$digest" "$chart" "$(cat "$dist"/*/bases | sort -u | paste -s -d ' ')" > "$dist/notes.md"
}

# What changed, and what to verify.
notes() {
    awk '/^## / { if (++part == 2) exit; next } part == 1' CHANGELOG.md
    cat << TEXT

## Digests

* image: \`$1\`
* chart: \`$2\`
* built from: \`$3\`
TEXT
}

main "$@"
