#!/usr/bin/env bash
# A kind cluster for the end-to-end tests. Where Docker runs and kind is installed, it is an ordinary one with published images. Elsewhere, on
# Debian as root, everything is made from Debian's packages and Go modules, and nothing of the cluster can leave a network namespace of its own.
#
#   cluster.sh check            fails, and says why, where no container can run
#   cluster.sh make             makes all that the cluster needs, without starting it
#   cluster.sh up               makes what is missing and starts the cluster
#   cluster.sh run COMMAND…     runs a command that reaches it: docker, kind, kubectl and helm are in PATH, KUBECONFIG is set
#   cluster.sh kind             says whether images are published ones, or made here
#   cluster.sh image NAME       makes one of the images base, yunikorn-scheduler and yunikorn-admission
#   cluster.sh down             deletes it and stops what was started; what was built stays
#   cluster.sh clean            deletes that, too
#
# QUEUEWARDEN_KIND is the folder for all of it (target/kind; Docker needs a real file system there, not an overlay), KIND_CLUSTER the cluster's
# name.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=images.sh
. "$(dirname "$0")/images.sh"
cluster=${KIND_CLUSTER:-queuewarden-e2e}
namespace=queuewarden-kind
# Sockets are here, because their paths have to be short.
run=/run/$namespace
export KUBECONFIG=$state/kubeconfig
# The API server's configuration of authorizers, for tests.
authorization=$state/authorization
export KIND_AUTHORIZATION=$authorization

main() {
    local command=${1:-}
    shift || true
    case $command in
        check) check ;;
        make) make ;;
        up) up ;;
        down) down ;;
        clean) clean ;;
        run) inside "$@" ;;
        kind) if published; then echo published; else echo made; fi ;;
        image) image "$@" ;;
        *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; return 2 ;;
    esac
}

# Whether there is a Docker of the machine's own, with kind.
published() {
    [ ! -e "$run/docker.sock" ] && command -v kind kubectl helm > /dev/null && docker info > /dev/null 2>&1
}

# Not every root may make namespaces and cgroups.
check() {
    ! published || return 0
    packages
    go_install "$here" -s ./runc-reduced
    compile_pause
    start_docker
    have localhost/check:node || program localhost/check:node pause
    local why
    why=$(inside docker run --rm --privileged localhost/check:node -v 2>&1 > /dev/null) ||
        { echo "kind: no container runs here: ${why%%$'\n'*}" >&2; return 1; }
}

make() {
    ! published || return 0
    stage packages packages
    stage programs build
    stage docker start_docker
    local node name
    node=$(tag node)
    if ! have "$node"; then
        remove_older node
        stage "node image" node "$node"
    fi
    for name in base yunikorn-scheduler yunikorn-admission; do
        image "$name" > /dev/null
    done
}

up() {
    make
    ! clusters | grep -qx "$cluster" || return 0
    local image=()
    published || image=(--image "$(tag node)")
    # What kubeadm would have by itself. Tests add queuewarden.
    mkdir -p "$authorization"
    printf '%s\n' "apiVersion: apiserver.config.k8s.io/v1" "kind: AuthorizationConfiguration" \
        "authorizers: [{type: Node, name: node}, {type: RBAC, name: rbac}]" > "$authorization/authorization.yaml"
    sed "s#AUTHORIZATION#$authorization#" "$here/cluster.yaml" > "$state/cluster.yaml"
    stage cluster inside kind create cluster --name "$cluster" "${image[@]}" --config "$state/cluster.yaml" --wait 3m
    published || restore_sysctls
    stage DNS inside kubectl --namespace kube-system rollout status deployment/coredns --timeout=2m
}

clusters() {
    inside kind get clusters 2> /dev/null
}

# Runs a command where the cluster can be reached. `ip netns exec` would mount a /sys without cgroups.
inside() {
    if published; then
        "$@"
    else
        PATH=$programs:$PATH DOCKER_HOST=unix://$run/docker.sock DOCKER_BUILDKIT=0 \
            nsenter --net="/run/netns/$namespace" -- "$@"
    fi
}

# Runs a part and says how long it took. A part ends at its first error, so it must not be the condition of anything.
stage() {
    local begin=$SECONDS
    running=$1
    shift
    "$@"
    printf 'kind: %4d s  %s\n' $((SECONDS - begin)) "$running" >&2
    running=
}

running=
code=0
trap 'code=$?; [ "$code" -eq 0 ] || [ -z "$running" ] || echo "kind: $running failed" >&2; exit "$code"' EXIT

# Installs the packages that lack a program, or says which they are.
packages() {
    local missing=() pair
    [ "$(uname -s)" = Linux ] || { echo "kind: Linux, or Docker and kind, is needed" >&2; return 1; }
    [ "$(stat -f -c %T "$state")" != overlayfs ] ||
        { echo "kind: $state is on an overlay, on which Docker cannot work: set QUEUEWARDEN_KIND to a folder elsewhere" >&2; return 1; }
    command -v go > /dev/null || { echo "kind: Go is needed (https://go.dev/dl)" >&2; return 1; }
    for pair in dockerd:docker.io docker:docker.io runc:runc ip:iproute2 iptables:iptables mmdebstrap:mmdebstrap nsenter:util-linux cc:gcc; do
        command -v "${pair%%:*}" > /dev/null || [[ " ${missing[*]} " = *" ${pair#*:} "* ]] || missing+=("${pair#*:}")
    done
    [ "$(id -u)" -eq 0 ] || { echo "kind: neither do Docker and kind work here, nor is this root, who could start them" >&2; return 1; }
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get > /dev/null || { echo "kind: Debian's packages ${missing[*]} are needed, and there is no apt-get" >&2; return 1; }
    apt-get update -q > /dev/null
    # RUNLEVEL keeps the package from starting a daemon of its own.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" > /dev/null
}

start_docker() {
    ! inside docker info > /dev/null 2>&1 || return 0
    [ -e "/run/netns/$namespace" ] || ip netns add "$namespace"
    mkdir -p "$run" "$state/docker"
    # Kubelets change these for the whole machine, at each start.
    [ -e "$run/sysctls" ] || sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes |
        sed 's/ = /=/' > "$run/sysctls"
    # kind mounts it, so Docker makes it.
    [ -e /lib/modules ] || touch "$run/made-modules"
    ip -n "$namespace" link set lo up
    # A packet for elsewhere is refused at once; without a route its sender would wait.
    ip -n "$namespace" route replace unreachable default
    setsid nsenter --net="/run/netns/$namespace" -- dockerd --data-root "$state/docker" --exec-root "$run/exec" \
        --pidfile "$run/docker.pid" --host "unix://$run/docker.sock" --storage-driver overlay2 \
        --containerd-namespace "$namespace" --containerd-plugins-namespace "$namespace-plugins" \
        --add-runtime reduced="$programs/runc-reduced" --default-runtime reduced > "$state/docker.log" 2>&1 < /dev/null &
    local tries
    for ((tries = 0; tries < 150; tries++)); do
        ! inside docker info > /dev/null 2>&1 || return 0
        sleep 0.2
    done
    tail -n 20 "$state/docker.log" >&2
    echo "kind: Docker does not start here: $(tail -n 1 "$state/docker.log")" >&2
    return 1
}

restore_sysctls() {
    xargs -a "$run/sysctls" sysctl -qw
}

down() {
    if published; then
        kind delete cluster --name "$cluster"
        return
    fi
    if [ -e "$run/sysctls" ]; then
        # One that was killed has left the nodes behind; another one ends them.
        start_docker
        inside kind delete cluster --name "$cluster"
        local pid
        pid=$(< "$run/docker.pid")
        kill "$pid"
        while [ -e "/proc/$pid" ]; do sleep 0.1; done
        # A Docker that was killed before has left mounts.
        awk -v below="$run/" 'index($2, below) == 1 {print $2}' /proc/mounts | sort -r | xargs --no-run-if-empty umount
    fi
    [ ! -e "$run/sysctls" ] || restore_sysctls
    [ ! -e "$run/made-modules" ] || rmdir /lib/modules 2> /dev/null || true
    [ ! -e "/run/netns/$namespace" ] || ip netns delete "$namespace"
    rm -rf "$run" "$KUBECONFIG"
}

clean() {
    down
    # Go's own caches stay.
    rm -rf "$state"
}

# Read as one line: bash would go on reading a file that was changed meanwhile.
main "$@"; exit
