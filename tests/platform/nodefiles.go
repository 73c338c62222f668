// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"embed"
	"os"
	"path/filepath"
	"text/template"
)

// nodeFiles are templates of the files that the programs of a node read.
//
//go:embed nodefiles
var nodeFiles embed.FS

const (
	cniPlugins = "/usr/lib/cni"
	pauseImage = "flux-landscaper.local/pause:1"
	// servers are the ports of loopback that lead out of the node, in the notation of iptables: those of the platform and those that the
	// kernel chooses.
	servers = "20000:65535"
)

// nodeValues are what the templates may use.
type nodeValues struct {
	Dir, ClientCA, Group, Port              string
	NodeAddress, PodRange, Servers, Plugins string
	DNSAddress, PauseImage                  string
}

// writeFiles writes what the programs of the node read. The kubelet's file follows in startKubelet: its port is not known yet.
func (n *Node) writeFiles() error {
	bin := filepath.Join(n.dir, "cni", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(cniPlugins, "loopback"), filepath.Join(bin, "loopback")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.dir, "resolv.conf"), nil, 0o644); err != nil {
		return err
	}
	for from, to := range map[string]string{
		"machine.sh":      "machine.sh",
		"containerd.toml": "containerd.toml",
		"pods.conflist":   "cni/10-pods.conflist",
		"pod-network.sh":  "cni/bin/pod-network",
	} {
		if err := n.writeFile(from, to, ""); err != nil {
			return err
		}
	}
	return nil
}

// writeFile fills in a template and writes it into the folder of the node.
func (n *Node) writeFile(from, to, kubeletPort string) error {
	parsed, err := template.ParseFS(nodeFiles, "nodefiles/"+from)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = parsed.Option("missingkey=error").Execute(&text, nodeValues{
		Dir: n.dir, ClientCA: filepath.Join(n.cluster.dir, "ca.crt"), Group: n.group(), Port: kubeletPort,
		NodeAddress: nodeAddress, PodRange: podRange, Servers: servers, Plugins: cniPlugins,
		DNSAddress: dnsAddress, PauseImage: pauseImage,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.dir, to), text.Bytes(), 0o755)
}
