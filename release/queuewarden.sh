#!/usr/bin/env bash
# Runs the queuewarden on the PATH, or else the released one of this checkout's version, for the GitHub action and pre-commit.
#
# The program is downloaded once, to ~/.cache/queuewarden, and its sum is verified. QUEUEWARDEN_RELEASES replaces the address of the
# releases, for mirrors.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/Cargo.toml" | head -n 1)
releases=${QUEUEWARDEN_RELEASES:-https://github.com/queuewarden/queuewarden/releases/download}

main() {
    if command -v queuewarden > /dev/null; then
        exec queuewarden "$@"
    fi
    local program=${XDG_CACHE_HOME:-$HOME/.cache}/queuewarden/$version/queuewarden
    [ -x "$program" ] || download "$(dirname "$program")"
    exec "$program" "$@"
}

download() {
    local folder=$1 platform archive name program=queuewarden check=(sha256sum)
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) platform=linux-amd64 ;;
        Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
        Darwin-x86_64) platform=darwin-amd64 ;;
        Darwin-arm64) platform=darwin-arm64 ;;
        # Git's bash, which starts queuewarden.exe by the name without the suffix.
        MINGW64*-x86_64 | MSYS*-x86_64) platform=windows-amd64 program=queuewarden.exe ;;
        *)
            echo "no queuewarden was released for $(uname -s) on $(uname -m); build one with: cargo install --locked --path $here" >&2
            return 2
            ;;
    esac
    archive=queuewarden-$platform.tar.gz
    command -v sha256sum > /dev/null || check=(shasum --algorithm 256)
    mkdir -p "$folder"
    staging=$(mktemp -d "$folder/download.XXXXXX")
    trap 'rm -rf "$staging"' EXIT
    for name in SHA256SUMS "$archive"; do
        curl --fail --silent --show-error --location --retry 3 --max-time 300 --output "$staging/$name" "$releases/v$version/$name" || {
            echo "cannot download $releases/v$version/$name" >&2
            return 2
        }
    done
    # Exactly this archive: a file without the line would pass --ignore-missing.
    (cd "$staging" && grep -E "^[0-9a-f]{64}  $archive\$" SHA256SUMS | "${check[@]}" --check --quiet --strict) || {
        echo "$archive does not have the sum that SHA256SUMS names" >&2
        return 2
    }
    tar --extract --gzip --file "$staging/$archive" --directory "$staging" "$program"
    mv "$staging/$program" "$folder/$program"
    rm -rf "$staging"
    trap - EXIT
}

main "$@"
