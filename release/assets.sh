#!/usr/bin/env bash
# Makes what a release has besides the image: release/assets.sh OUT PLATFORM=PROGRAM…
#
#   release/assets.sh dist linux-amd64=linux/queuewarden windows-amd64=windows/queuewarden.exe
#
# The same commit and programs make the same bytes: SOURCE_DATE_EPOCH, or else the time of the commit, is the time of all files.
# IMAGE_DIGEST=sha256:… names the image by its digest, in install.yaml and in the chart's values.
# Needs kubectl, and cargo-cyclonedx and jq for the bill of materials; WITHOUT_SBOM=1 leaves that out. IMAGE_FILES is the file
# system of the image, as `crane export` writes it: its Debian packages are in the bill, too.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    [ $# -ge 2 ] || {
        sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
        exit 2
    }
    local out=$1
    shift
    # Sorting and messages are the same everywhere.
    export LC_ALL=C TZ=UTC
    epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
    mkdir -p "$out"
    staging=$(mktemp -d)
    trap 'rm -rf "$staging"' EXIT

    local pair
    for pair in "$@"; do
        archive_program "$out" "${pair%%=*}" "${pair#*=}"
    done
    # The tag stays beside the digest: `queuewarden check` compares it.
    kubectl kustomize manifests | sed "s|^\( *image: .*:$version\)$|\1${IMAGE_DIGEST:+@$IMAGE_DIGEST}|" > "$out/install.yaml"
    kubectl kustomize crds > "$out/crds.yaml"
    # For those who install by Helm, which would make it without its labels and its annotation.
    install -m 644 manifests/namespace.yaml "$out/namespace.yaml"
    # As `helm package` would, which writes the time of the day into it. .helmignore says what is left out.
    cp -r charts "$staging/charts"
    sed -i "s|^  digest: \"\"$|  digest: \"${IMAGE_DIGEST:-}\"|" "$staging/charts/queuewarden/values.yaml"
    tar_up "$out/queuewarden-$version.tgz" "$staging/charts" --exclude=queuewarden/ci queuewarden
    krew_manifest "$out" "$@" > "$out/krew.yaml"
    [ -n "${WITHOUT_SBOM:-}" ] || bill_of_materials "$out"
    # Names without a folder, so that it can be checked wherever they are.
    (cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum > "$staging/sums")
    install -m 644 "$staging/sums" "$out/SHA256SUMS"
}

# tar_up FILE FOLDER ARGUMENT…: what is in a folder, whoever packs it and when.
tar_up() {
    local file=$1 folder=$2
    shift 2
    tar --create --format=ustar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=u,go-w \
        --directory="$folder" "$@" | gzip --no-name --best > "$file"
}

archive_name() {
    echo "queuewarden-$1.tar.gz"
}

archive_program() {
    local out=$1 platform=$2 program=$3 name=queuewarden
    [[ "$platform" != windows-* ]] || name=queuewarden.exe
    mkdir "$staging/$platform"
    install -m 755 "$program" "$staging/$platform/$name"
    install -m 644 LICENSE "$staging/$platform/LICENSE"
    tar_up "$out/$(archive_name "$platform")" "$staging/$platform" LICENSE "$name"
}

# .krew.yaml as krew's index takes it: with the tag, and with the checksum of each archive that is there.
krew_manifest() {
    local out=$1 pair name sum
    shift
    local script="s|{{ .TagName }}|v$version|g"
    for pair in "$@"; do
        name=$(archive_name "${pair%%=*}")
        sum=$(sha256sum "$out/$name" | cut -d ' ' -f 1)
        script+=";s|{{addURIAndSha \"\([^\"]*$name\)\" .TagName }}|uri: \1\n      sha256: $sum|"
    done
    sed "/^#/d;$script" .krew.yaml
}

bill_of_materials() {
    command -v cargo-cyclonedx > /dev/null || {
        echo "cargo-cyclonedx is needed for the bill of materials: cargo install cargo-cyclonedx --locked" >&2
        return 1
    }
    SOURCE_DATE_EPOCH=$epoch cargo cyclonedx --quiet --target all --format json --override-filename queuewarden.cdx --manifest-path Cargo.toml
    # One for each package of the workspace was made.
    cp queuewarden.cdx.json "$staging/crates.json"
    find "$PWD" -path "$PWD/target" -prune -o -name queuewarden.cdx.json -not -path "$(realpath "$1")/*" -exec rm {} +
    base_packages > "$staging/base.json"
    # It also has the crates of tests, of build scripts and of systems without a release: only what is linked stays.
    cargo tree --locked --package queuewarden --edges normal --prefix none --format '{p}' --target x86_64-unknown-linux-gnu \
        --target aarch64-unknown-linux-gnu --target aarch64-apple-darwin --target x86_64-pc-windows-gnu |
        sed 's/^\([^ ]*\) v\([^ ]*\).*/"\1 \2"/' > "$staging/linked"
    # It names our own packages by where the checkout is.
    sed "s|path+file://$PWD|path+file:///src|g" "$staging/crates.json" |
        jq --slurpfile base "$staging/base.json" --slurpfile linked "$staging/linked" '
            ($linked | map({(.): true}) | add) as $linked | .components |= map(select($linked["\(.name) \(.version)"])) |
            (.components + [.metadata.component] | map({(."bom-ref"): true}) | add) as $kept |
            .dependencies |= map(select($kept[.ref]) | if .dependsOn then .dependsOn |= map(select($kept[.])) else . end) |
            .components += $base' > "$1/queuewarden.cdx.json"
}

# The packages of the base image, as components: a distroless image has a file for each in status.d.
base_packages() {
    [ -n "${IMAGE_FILES:-}" ] || return 0
    tar --extract --to-stdout --file "$IMAGE_FILES" --wildcards 'var/lib/dpkg/status*' --exclude='*.md5sums' > "$staging/status"
    awk '/^Package: / { name = $2 } /^(Architecture|Version): / { of[name, $1] = $2; names[name] }
        END { for (name in names) print name, of[name, "Version:"], of[name, "Architecture:"] }' "$staging/status" | sort |
        jq --raw-input 'split(" ") | "pkg:deb/debian/\(.[0])@\(.[1] | @uri)?arch=\(.[2])" as $purl |
            {type: "library", "bom-ref": $purl, name: .[0], version: .[1], purl: $purl}'
}

main "$@"
