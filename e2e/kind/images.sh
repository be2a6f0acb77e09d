#!/usr/bin/env bash
# What cluster.sh makes where there are no published images: the programs of a node, and the images of nodes, of queuewarden's base and of
# YuniKorn. cluster.sh reads this.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
e2e=$(dirname "$here")
state=${QUEUEWARDEN_KIND:-$(dirname "$e2e")/target/kind}
mkdir -p "$state"
state=$(cd "$state" && pwd)
programs=$state/programs
kubernetes=$(sed -n 's/^\s*k8s.io\/kubernetes \(v[^ ]*\).*/\1/p' "$here/go.mod")

# Builds the programs of the node, and those that are run here. Go knows what is built already.
build() {
    local stamps="-s -w" variable
    mkdir -p "$programs"
    for variable in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        stamps+=" -X $variable.gitVersion=$kubernetes -X $variable.gitMajor=1 -X $variable.gitMinor=$(cut -d. -f2 <<< "$kubernetes")"
    done
    go_install "$here" "$stamps" tool ./network ./runc-reduced
    go_install "$here/coredns" "-s -w" .
    go_install "$e2e/helm/4" -s tool
    compile_pause
}

# What keeps the namespaces of a pod.
compile_pause() {
    cc -Os -static -o "$programs/pause" "-DVERSION=$kubernetes" "$(module k8s.io/kubernetes)/build/pause/linux/pause.c"
}

# Without cgo: such a program needs no libraries, whichever image it is in.
go_install() {
    local folder=$1 stamps=$2
    shift 2
    (cd "$folder" && GOBIN=$programs GOWORK=off CGO_ENABLED=0 go install -mod=readonly -ldflags "$stamps" "$@")
}

module() {
    (cd "$here" && go list -mod=readonly -m -f '{{.Dir}}' "$1")
}

have() {
    inside docker image inspect "$1" > /dev/null 2>&1
}

# The name of an image, with a hash over all that decides what is in it.
tag() {
    local hash
    hash=$(cd "$e2e" && ldd --version | cat - kind/images.sh kind/{go.mod,go.sum,storage.yaml} kind/*/*.go kind/coredns/go.* \
        kind/network/*.yaml servers/go.* servers/yunikorn-* | sha256sum)
    echo "localhost/$1:${hash:0:12}"
}

# Removes what a changed image replaces. One that goes takes others with it, which are then missing.
remove_older() {
    inside docker images --quiet "localhost/$1" | sort -u | inside xargs --no-run-if-empty docker rmi --force > /dev/null 2>&1 || true
}

# Makes an image for a program and prints its name.
image() {
    local name
    name=$(tag "$1")
    if ! have "$name"; then
        remove_older "$1"
        stage "image $1" "image_$1" "$name" >&2
    fi
    echo "$name"
}

# Has the C library of this machine, for programs that were built here: it stands in for the published distroless image.
image_base() {
    local name
    root=$state/root
    rm -rf "$root"
    mkdir -p "$root/etc/ssl/certs" "$root/lib"
    for name in libc.so.6 libgcc_s.so.1 libm.so.6 libresolv.so.2; do
        cp -L "$(cc "-print-file-name=$name")" "$root/lib/"
    done
    # The loader is named by every program.
    cp -L --parents "$(ldd "$(command -v cc)" | grep -o '/lib[^ ]*/ld-linux[^ ]*')" "$root"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    echo "nonroot:x:65532:65532:nonroot:/:/sbin/nologin" > "$root/etc/passwd"
    echo "nonroot:x:65532:" > "$root/etc/group"
    import "$1" "USER 65532"
}

image_yunikorn-scheduler() {
    yunikorn "$1" shim
}

image_yunikorn-admission() {
    yunikorn "$1" admissioncontroller
}

# The servers of the test cluster, in an image like YuniKorn's own.
yunikorn() {
    local file=go.mod release core=github.com/apache/yunikorn-core base folder
    [ "${QUEUEWARDEN_E2E_YUNIKORN:-1.8}" = 1.8 ] || file=yunikorn-$QUEUEWARDEN_E2E_YUNIKORN.mod
    release=$(sed -n "s#^\s*$core v\([^ ]*\).*#\1#p" "$e2e/servers/$file")
    (cd "$e2e/servers" && GOBIN=$programs GOWORK=off go install -mod=readonly "-modfile=$file" \
        -ldflags "-s -X github.com/apache/yunikorn-k8shim/pkg/conf.buildVersion=$release" "github.com/apache/yunikorn-k8shim/pkg/cmd/$2")
    base=$(image base)
    folder=$(mktemp -d)
    cp "$programs/$2" "$folder"
    printf 'FROM %s\nCOPY %s /\nUSER 4444:4444\nENTRYPOINT ["/%s"]\n' "$base" "$2" "$2" |
        inside docker build --quiet --tag "$1" --file - "$folder"
    rm -r "$folder"
}

# Unpacks Debian's packages into the folder $root. bookworm has the last systemd that starts with cgroups of version 1.
debian() {
    root=$state/root
    rm -rf "$root"
    mmdebstrap --quiet --mode=root --variant="$1" --include="$2" --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        bookworm "$root" 2> "$state/debian.log" || { tail -n 20 "$state/debian.log" >&2; return 1; }
}

# Makes an image of the folder $root, and removes that.
import() {
    local name=$1 changes=() change
    shift
    for change in "$@"; do changes+=(--change "$change"); done
    tar -C "$root" --numeric-owner -c . | inside docker import "${changes[@]}" - "$name" > /dev/null
    rm -rf "$root"
}

# An image with one program, which needs nothing but what is in $root already.
program() {
    local name=$1 program=$2
    root=${root:-$state/root}
    mkdir -p "$root/usr/local/bin" "$root/etc" "$root/tmp"
    cp "$programs/$program" "$root/usr/local/bin/${3:-$program}"
    import "$name" "ENTRYPOINT [\"/usr/local/bin/${3:-$program}\"]" "ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin"
}

# The programs that change the rules for packets. The package's scripts did not run, which would have made the links.
iptables() {
    local link
    debian extract iptables,nftables,ipset,conntrack
    for link in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
        ln -sf xtables-nft-multi "$root/usr/sbin/$link"
    done
}

# Enforces NetworkPolicies.
image_kube-router() {
    go_install "$here/kube-router" "-s -w" tool
    iptables
    program "$1" kube-router
}

# The image of a node: Debian with systemd and containerd, kind's files for it, Kubernetes, and the images of what runs in its pods.
node() {
    local files all=() pause container name
    files=$(module sigs.k8s.io/kind)/images/base/files
    rm -rf "$state/root"
    while read -r name; do
        case $name in
            */pause:*) pause=$name; program "$name" pause ;;
            */etcd:*) program "$name" server etcd ;;
            */coredns:*) program "$name" coredns ;;
            */kube-proxy:*)
                iptables
                program "$name" kube-proxy
                ;;
            *) program "$name" "$(basename "${name%:*}")" ;;
        esac
        all+=("$name")
    done < <("$programs/kubeadm" config images list --kubernetes-version "$kubernetes")
    program localhost/network:node network
    # Pods of the tests name it.
    inside docker tag "$pause" "${pause%:*}:3.10"
    all+=(localhost/network:node "${pause%:*}:3.10")

    debian minbase systemd,systemd-sysv,dbus,conntrack,iptables,nftables,ipset,iproute2,ethtool,mount,kmod,procps,ca-certificates,curl,jq,containerd,runc
    cp -r "$files/." "$root/"
    chmod -R u=rwX,go=rX "$root"/{kind,etc/containerd,etc/systemd/system,LICENSES}
    chmod 0755 "$root"/usr/local/bin/* "$root"/kind/bin/*
    # The units of its own, and none that look at the machine.
    rm -f "$root"/lib/systemd/system/{multi-user,local-fs,basic}.target.wants/* "$root"/etc/systemd/system/*.wants/* \
        "$root"/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service "$root"/lib/systemd/system/sockets.target.wants/*{udev,initctl}*
    echo "ReadKMsg=no" >> "$root/etc/systemd/journald.conf"
    ln -sf /usr/bin/containerd /usr/bin/ctr /usr/bin/containerd-shim-runc-v2 "$root/usr/local/bin/"
    chroot "$root" systemctl --quiet enable kubelet containerd undo-mount-hacks
    chroot "$root" systemctl --quiet mask systemd-binfmt
    mkdir -p "$root"/etc/kubernetes/manifests "$root"/etc/cni/net.d "$root"/opt/cni/bin "$root"/kind/manifests
    cp "$programs"/{host-local,loopback,portmap,ptp} "$root/opt/cni/bin/"
    cp "$programs"/{kubeadm,kubectl,kubelet} "$root/usr/bin/"
    chroot "$root" ctr oci spec |
        jq '.hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' > "$root/etc/containerd/cri-base.json"
    # A container may not lower its OOM score without CAP_SYS_RESOURCE.
    sed -i -e 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' -e "s#sandbox_image = .*#sandbox_image = \"$pause\"#" \
        "$root/etc/containerd/config.toml"
    printf %s "$kubernetes" > "$root/kind/version"
    cp "$here/network/daemonset.yaml" "$root/kind/manifests/default-cni.yaml"
    cp "$here/storage.yaml" "$root/kind/manifests/default-storage.yaml"
    import "$1-empty"

    container=$(inside docker run --detach --security-opt seccomp=unconfined --entrypoint /usr/bin/sleep "$1-empty" infinity)
    inside docker exec --detach "$container" containerd
    # shellcheck disable=SC2016
    inside docker exec "$container" sh -c 'for i in $(seq 50); do ctr version > /dev/null 2>&1 && exit; sleep 0.2; done; exit 1'
    inside docker save "${all[@]}" | inside docker exec --interactive "$container" ctr --namespace k8s.io images import --all-platforms --no-unpack - > /dev/null
    inside docker exec "$container" pkill containerd
    inside docker commit "$container" "$1-full" > /dev/null
    inside docker rm --force "$container" > /dev/null
    printf 'FROM %s\nENV container=docker\nSTOPSIGNAL SIGRTMIN+3\nENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]\n' "$1-full" |
        inside docker build --quiet --tag "$1" - > /dev/null
    inside docker rmi "${all[@]}" > /dev/null
}
