#!/usr/bin/env bash
# The end-to-end tests on the cluster that KUBECONFIG names: `e2e/existing.sh FILTER…`. It has YuniKorn in namespace yunikorn, and perhaps
# queuewarden; its queue configuration is overwritten. Tests that this cluster cannot run (they kill servers or count writes) are shown and
# counted as not run: libtest has no such end of a test.
set -euo pipefail
cd "$(dirname "$0")/.."

QUEUEWARDEN_E2E_NOT_RUN=$(mktemp)
export QUEUEWARDEN_E2E=existing QUEUEWARDEN_E2E_NOT_RUN
trap 'rm "$QUEUEWARDEN_E2E_NOT_RUN"' EXIT

# The lines of libtest, with the tests that have written their names into the file.
tell() {
    local line name absent passed
    while IFS= read -r line; do
        case $line in
            "test "*" ... ok")
                name=${line#test }
                if grep -qxF "${name% ... ok}" "$QUEUEWARDEN_E2E_NOT_RUN"; then line=${line%ok}"not run"; fi
                ;;
            "test result: "*)
                absent=$(wc -l < "$QUEUEWARDEN_E2E_NOT_RUN")
                passed=${line%% passed*}
                passed=${passed##* }
                line=${line/$passed passed/$((passed - absent)) passed}
                line=${line/; 0 measured/; $absent not run; 0 measured}
                ;;
        esac
        printf '%s\n' "$line"
    done
}

cargo test --offline --workspace --locked --test all --test e2e -- --test-threads 1 "$@" | tell
