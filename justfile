# Shortcuts. Each recipe is the plain command one would type; nothing needs just.

# List the recipes.
default:
    @just --list

# Lines of code in each crate and folder: the table in docs/architecture.md.
size:
    .ci/size

# Licences, sources and banned crates (needs cargo-deny).
deny:
    cargo deny check

# Security of the workflows and the action (needs zizmor).
zizmor:
    zizmor --offline --persona pedantic .github action.yml

# Benchmarks of the pure core; `just bench decision` for those with this in their names.
bench *args:
    cargo bench --package queuewarden --bench all --locked -- {{ args }}

# Looks for an input that breaks something: each target for so many seconds (needs cargo-fuzz and a nightly toolchain).
fuzz seconds="3600" *targets="acl yaml regex admission access_review xml":
    for target in {{ targets }}; do \
        CARGO_PROFILE_RELEASE_STRIP=none \
            cargo +nightly fuzz run $target fuzz/corpus/$target tests/samples \
            -- -max_total_time={{ seconds }} -timeout=10 -rss_limit_mb=4096 -max_len=16384 || exit 1; \
    done

# Explores the controller's protocol: a million random schedules, and more than ten million states of small clusters (up to an hour, up to 20 GiB of memory).
model:
    cargo test --release --package queuewarden-plan --lib --locked -- checker::everything --ignored --nocapture --test-threads 1

# Compares the model with YuniKorn on so many inputs in each test, for each version (a million in all of them takes hours); `just agree 1000000 acl` for those with this in their names.
agree cases filter="":
    GOGC=800 GOMEMLIMIT=2GiB QUEUEWARDEN_E2E_CASES={{ cases }} \
        cargo test --release --package queuewarden-e2e --test e2e --locked -- agreement::{{ filter }} --nocapture

# Changes what decides in thousands of places, one at a time: some test must fail each time (needs cargo-mutants; all of it takes hours, `just mutants --shard 0/32` a part).
mutants *args:
    PROPTEST_CASES=48 PROPTEST_MAX_SHRINK_ITERS=50 cargo mutants --workspace {{ args }}

# How fast it is beside YuniKorn and Hadoop: the table in docs/speed.md (needs Go, Maven and a JDK).
compare *rounds:
    cargo run --release --package queuewarden-compare --locked -- {{ rounds }}

# All faults, as long and as often as they are meant: API server, network, operator, scheduler, other writers. Above half an hour.
chaos *filter:
    QUEUEWARDEN_E2E_CHAOS=full cargo test --workspace --locked --test e2e -- chaos::{{ filter }} --include-ignored

# What another release of YuniKorn's core changes, as `just yunikorn-diff 1.8.0 1.9.0`: both answer tests/vectors, tests/samples and 100,000 drawn inputs. Some minutes.
yunikorn-diff old new:
    QUEUEWARDEN_E2E_OLD={{ old }} QUEUEWARDEN_E2E_NEW={{ new }} cargo test --package queuewarden-e2e --locked --test e2e -- agreement::between:: --ignored --nocapture

# Tests on each pair of YuniKorn and Kubernetes that the test cluster can run, and a line for each pair: what passed and failed, in which time; `just versions operator::` chooses the tests (builds Kubernetes twice more: a quarter of an hour).
versions *tests:
    e2e/versions.sh {{ tests }}

# How many decisions a second the authorizer makes: the table in docs/speed.md. The client is a release build, too (ten minutes to compile).
load:
    cargo build --release --locked --package queuewarden
    QUEUEWARDEN_E2E_OPERATOR="$PWD/target/release/queuewarden" cargo test --release --workspace --locked --test e2e -- load::decisions_per_second --ignored --nocapture

# What names that need aliases cost the user-info webhook: p50 and p99 beside a name that needs none (ten minutes to compile).
names:
    cargo build --release --locked --package queuewarden
    QUEUEWARDEN_E2E_OPERATOR="$PWD/target/release/queuewarden" cargo test --release --workspace --locked --test e2e -- load::user_info_by_names --ignored --nocapture

# Ten thousand grants on ten thousand queues: the table in docs/scale.md (some minutes).
scale:
    cargo build --release --locked --package queuewarden
    QUEUEWARDEN_E2E_OPERATOR="$PWD/target/release/queuewarden" cargo test --workspace --locked --test e2e -- scale::figures --ignored --nocapture

# Attacks on the ports from inside the cluster, a minute each, and starts beside large objects: memory, and the latency of honest clients.
attacks:
    cargo build --release --locked --package queuewarden
    QUEUEWARDEN_E2E_OPERATOR="$PWD/target/release/queuewarden" \
        cargo test --workspace --locked --test e2e -- server::attacks::for_a_minute_each server::stored::all_of_them --ignored --nocapture

# Changes without end, for so many seconds: memory stays flat, and nothing is written without need.
soak seconds="1800":
    cargo build --release --locked --package queuewarden
    QUEUEWARDEN_E2E_SOAK={{ seconds }} QUEUEWARDEN_E2E_OPERATOR="$PWD/target/release/queuewarden" \
        cargo test --workspace --locked --test e2e -- scale::soak::long --ignored --nocapture

# Random changes and faults, one schedule after the other for so many seconds, against a model that shares no code with the program.
random seconds="3600":
    cargo build --release --locked --package queuewarden
    QUEUEWARDEN_E2E_RANDOM={{ seconds }} QUEUEWARDEN_E2E_OPERATOR="$PWD/target/release/queuewarden" \
        cargo test --workspace --locked --test e2e -- random::seed_after_seed --ignored --nocapture

# The program for arm64, put to tests of the test cluster under QEMU (needs Debian's cross compiler and qemu-user-static).
arm64 *filter:
    e2e/arm64.sh {{ filter }}

# Keep what this version leaves in a cluster, for the upgrade test of those that follow.
record-upgrade version:
    VERSION={{ version }} cargo test --workspace --locked --test e2e -- upgrade::record --ignored

# A release on this machine: registry, signatures, refused copies, bill of materials, everything twice (as root on Debian; needs Go, ten minutes).
release-rehearsal:
    release/rehearsal.sh

# Checks that the command line compiles for each target of a release (needs PyPI's cargo-zigbuild and its ziglang, which compile the parts in C).
targets *targets="aarch64-unknown-linux-gnu x86_64-unknown-linux-musl x86_64-apple-darwin aarch64-apple-darwin x86_64-pc-windows-gnu":
    rustup target add {{ targets }}
    for target in {{ targets }}; do \
        cargo-zigbuild check --locked --package queuewarden --bin queuewarden --target $target || exit 1; \
    done

# Everything that needs real nodes, on a kind cluster that is made if need be (as root on Debian, or with Docker and kind): a quarter of an hour the first time.
kind *filter:
    e2e/kind.sh {{ filter }}
