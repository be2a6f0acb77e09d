#!/usr/bin/env bash
# Builds the program for arm64 and puts it to the tests of the test cluster, on a machine that is none. Needs Debian's gcc-aarch64-linux-gnu,
# g++-aarch64-linux-gnu and qemu-user-static, and Rust's target aarch64-unknown-linux-gnu. The servers of the test cluster are those of this machine.
#
# e2e/arm64.sh FILTER… says which tests; without one, the operator's story, its endpoints and what it may do.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
folder=${CARGO_TARGET_DIR:-$PWD/target}
[ $# -gt 0 ] || set -- operator::story operator::quickstart server::service chart::rights

CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
    CXX_aarch64_unknown_linux_gnu=aarch64-linux-gnu-g++ \
    AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar \
    cargo build --release --locked --target "$target" --package queuewarden

program=$folder/$target/release/queuewarden
emulated=$folder/$target/queuewarden-in-qemu
# QEMU looks for the loader and the C library where Debian puts those of the other architecture.
printf '#!/bin/sh\nexec qemu-aarch64-static -L /usr/aarch64-linux-gnu "%s" "$@"\n' "$program" > "$emulated"
chmod +x "$emulated"
"$emulated" version

QUEUEWARDEN_E2E_OPERATOR=$emulated cargo test --workspace --locked --test e2e -- "$@"
