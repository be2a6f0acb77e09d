// Connects the pods of a node: the CNI configuration for its own range of addresses, and a route to the range of each other node. The
// network of published node images, kindnetd, is not a Go module that can be had; this does its part for IPv4, without NetworkPolicies.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const folder = "/etc/cni/net.d"

// Pods have an address of the node's range, and reach what is not a pod with the node's own.
const configuration = `{
  "cniVersion": "0.3.1",
  "name": "pods",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": true,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/pod-addresses",
        "ranges": [[{"subnet": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	self := os.Getenv("HOST_IP")
	for configured := ""; ; time.Sleep(time.Second) {
		nodes, err := client.CoreV1().Nodes().List(context.Background(), meta.ListOptions{ResourceVersion: "0"})
		if err != nil {
			log.Print("cannot list the nodes: ", err)
			continue
		}
		for _, node := range nodes.Items {
			address, pods := internal(&node), node.Spec.PodCIDR
			if address == "" || pods == "" || pods == configured {
				continue
			}
			if address == self {
				if err = configure(pods); err == nil {
					configured = pods
				}
			} else {
				err = route(pods, address)
			}
			if err != nil {
				log.Print(node.Name, ": ", err)
			}
		}
	}
}

func internal(node *core.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == core.NodeInternalIP && net.ParseIP(address.Address).To4() != nil {
			return address.Address
		}
	}
	return ""
}

// The runtime reads the folder at any time, so the file appears whole.
func configure(pods string) error {
	unfinished := filepath.Join(folder, ".pods")
	if err := os.WriteFile(unfinished, fmt.Appendf(nil, configuration, pods), 0o644); err != nil {
		return err
	}
	return os.Rename(unfinished, filepath.Join(folder, "10-pods.conflist"))
}

func route(pods, node string) error {
	_, destination, err := net.ParseCIDR(pods)
	if err != nil {
		return err
	}
	return netlink.RouteReplace(&netlink.Route{Dst: destination, Gw: net.ParseIP(node)})
}
