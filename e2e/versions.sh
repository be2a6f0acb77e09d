#!/usr/bin/env bash
# Runs tests on each pair of YuniKorn and Kubernetes that the test cluster can run, and prints a line for each pair at the end: the tests that
# passed and failed, and their time. Kubernetes is built twice more, which takes a quarter of an hour.
#
# e2e/versions.sh FILTER… says which tests. QUEUEWARDEN_E2E_YUNIKORN and QUEUEWARDEN_E2E_KUBERNETES list the versions, if not all.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- smoke:: operator::story:: operator::releases:: operator::crds:: admission::api_server_answers
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
lines=""
for yunikorn in ${QUEUEWARDEN_E2E_YUNIKORN:-1.8 1.9}; do
    for kubernetes in ${QUEUEWARDEN_E2E_KUBERNETES:-1.35 1.36 1.37}; do
        QUEUEWARDEN_E2E_YUNIKORN=$yunikorn QUEUEWARDEN_E2E_KUBERNETES=$kubernetes \
            cargo test --workspace --locked --test all --test e2e -- "$@" 2>&1 | tee "$log" || code=1
        result=$(sed -n 's/^test result: .*\. \([0-9]* passed; [0-9]* failed\);.* finished in /\1; /p' "$log" | tail -n 1)
        lines+="YuniKorn $yunikorn, Kubernetes $kubernetes: ${result:-no result}"$'\n'
    done
done
printf '\n%s' "$lines"
exit "$code"
