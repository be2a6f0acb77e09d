# syntax=docker/dockerfile:1
#
# glibc and distroless/cc rather than a static musl binary: this is the target that is built and tested everywhere else, and aws-lc-rs (TLS)
# builds for it with the compiler that is in the image. Both stages are Debian 13, so the C library is the same in both.
#
# A release gives all of these by digest (release/README.md): an image is built from what it was built from, or it is another one.
ARG RUST=docker.io/library/rust:1.95-trixie
ARG BASE=gcr.io/distroless/cc-debian13:nonroot
# With `--target given`: an image that holds the program already, alone in /src/target/release.
ARG PROGRAM=scratch

FROM ${BASE} AS image
LABEL org.opencontainers.image.title="queuewarden" \
      org.opencontainers.image.description="Manages who may submit to and who administers the queues of Apache YuniKorn" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/queuewarden/queuewarden"
# By number, so that runAsNonRoot can be checked. Nothing is written: the root file system may be read-only.
USER 65532:65532
EXPOSE 8080 8443
ENTRYPOINT ["/usr/local/bin/queuewarden"]
CMD ["run"]

FROM ${PROGRAM} AS program
# Without an image the folder is empty, and is there: a builder that makes every stage copies it, too.
WORKDIR /src/target/release

# This comes before the build, because Docker's own builder makes all stages up to the one that is wanted.
FROM image AS given
COPY --from=program /src/target/release/ /usr/local/bin/

FROM ${RUST} AS build
WORKDIR /src
# Of a release the program tells what it was built from: CARGO_BUILD="cargo auditable build", and the version of cargo-auditable.
ARG CARGO_BUILD="cargo build"
ARG CARGO_AUDITABLE=""
RUN if [ -n "${CARGO_AUDITABLE}" ]; then cargo install cargo-auditable --locked --version "${CARGO_AUDITABLE}"; fi

# The dependencies, as a layer of their own: it is built anew only when a manifest or the lock file changes.
COPY Cargo.toml Cargo.lock rust-toolchain.toml ./
COPY crates/go-compat/Cargo.toml crates/go-compat/
COPY crates/queuewarden-api/Cargo.toml crates/queuewarden-api/
COPY crates/queuewarden-client/Cargo.toml crates/queuewarden-client/
COPY crates/queuewarden-import/Cargo.toml crates/queuewarden-import/
COPY crates/queuewarden-operator/Cargo.toml crates/queuewarden-operator/
COPY crates/queuewarden-plan/Cargo.toml crates/queuewarden-plan/
COPY crates/queuewarden-report/Cargo.toml crates/queuewarden-report/
COPY crates/yunikorn/Cargo.toml crates/yunikorn/
COPY crates/yunikorn-access/Cargo.toml crates/yunikorn-access/
COPY e2e/Cargo.toml e2e/
COPY e2e/compare/Cargo.toml e2e/compare/
COPY fuzz/Cargo.toml fuzz/
COPY fuzz/src fuzz/src
COPY fuzz/fuzz_targets fuzz/fuzz_targets
RUN mkdir -p src benches tests e2e/src e2e/tests e2e/compare/src \
    && echo 'fn main() {}' | tee src/main.rs > e2e/compare/src/main.rs \
    && for crate in crates/*; do mkdir "$crate/src" && touch "$crate/src/lib.rs"; done \
    && touch src/lib.rs benches/all.rs tests/all.rs e2e/src/lib.rs e2e/tests/e2e.rs \
    && ${CARGO_BUILD} --release --locked --package queuewarden --bin queuewarden

# Ours. cargo compares times, and COPY keeps those of the checkout, which may be older than the layer above.
COPY crates crates
COPY src src
# `queuewarden codes CODE` has its words from there.
COPY docs/codes docs/codes
COPY docs/conditions.md docs/conditions.md
COPY docs/object-conditions.md docs/object-conditions.md
# `queuewarden check` asks for the rights that they give.
COPY manifests manifests
# `queuewarden place` knows the pods of operators from there.
COPY examples/operators examples/operators
RUN find crates src -name '*.rs' -exec touch {} + \
    && ${CARGO_BUILD} --release --locked --package queuewarden --bin queuewarden

FROM image
COPY --from=build /src/target/release/queuewarden /usr/local/bin/queuewarden
