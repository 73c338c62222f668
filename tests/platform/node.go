// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// Addresses in the network of a node. Every node has a network of its own, so they are the same on all.
const (
	podRange       = "10.244.0.0/16"
	nodeAddress    = "10.244.0.1"
	serviceRange   = "10.96.0.0/16"
	serviceAddress = "10.96.0.1" // of Service kubernetes: the first of the range
	dnsAddress     = "10.96.0.10"
	doorPort       = 10000
)

// nodeName resolves to the machine's loopback: the API server reaches the kubelet by the name of its node.
const nodeName = "localhost"

// Node is one machine of a cluster that runs Pods: kubelet, containerd and runc in namespaces of their own, with a network, mounts and
// process numbers that nobody else sees and that end with it.
//
// A Pod reaches the API server as in every cluster, by KUBERNETES_SERVICE_HOST, and every server on 127.0.0.1 of the machine below, from
// port 20000 on, at the same address: the platform's registry, Git server and API servers, and what a test serves. It reaches nothing
// else outside the node, and no Service but kubernetes: there is neither kube-proxy nor DNS.
type Node struct {
	// Name of the Node object.
	Name string

	cluster *Cluster
	dir     string
	machine *programs.Process
	ways    *ways
}

// startNode starts the scheduler and the node, side by side, and waits until the node is ready for Pods.
func (c *Cluster) startNode(ctx context.Context) error {
	if err := CheckNode(); err != nil {
		return err
	}
	n := &Node{Name: nodeName, cluster: c, dir: filepath.Join(c.dir, "node")}
	c.node = n
	steps := []func() error{
		func() error { return c.startScheduler(ctx) },
		func() error { return n.startMachine(ctx) },
		n.openWays,
		func() error { return n.startContainerd(ctx) },
		func() error { return n.importPause(ctx) },
		n.startKubelet,
		func() error { return n.awaitReady(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("cannot start a node: %w", err)
		}
	}
	return nil
}

// Node returns the node of this cluster, or nil without Options.Node.
func (c *Cluster) Node() *Node { return c.node }

// PID returns the number of the first process in the namespaces of the node, for nsenter and /proc.
func (n *Node) PID() int { return n.machine.PID() }

// startMachine makes the namespaces of the node and prepares them.
func (n *Node) startMachine(ctx context.Context) (err error) {
	if err := n.writeFiles(); err != nil {
		return err
	}
	ready := filepath.Join(n.dir, "ready")
	n.machine, err = programs.Start(programs.Command{
		Name: "machine", Path: "/bin/sh", Args: []string{filepath.Join(n.dir, "machine.sh"), ready}, Dir: n.dir, Isolated: true,
		Env: []string{
			"NODE_ADDRESS=" + nodeAddress, "SERVICE_RANGE=" + serviceRange, "SERVICE_ADDRESS=" + serviceAddress,
			"SERVERS=" + outwardPorts, "DOOR_PORT=" + strconv.Itoa(doorPort), "GROUP=" + n.group(),
		},
	})
	if err != nil {
		return err
	}
	return awaitReady(ctx, n.machine, func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	})
}

// openWays connects the network of the node with that of the cluster: Pods reach servers on loopback there, the API server reaches the kubelet.
func (n *Node) openWays() (err error) {
	n.ways, err = openWays(n.machine.PID(), n.cluster.address, n.cluster.options.Network)
	return err
}

// inside returns a command that runs a program in the namespaces of the node.
func (n *Node) inside(program string, args ...string) (path string, all []string, err error) {
	if path, err = exec.LookPath("nsenter"); err != nil {
		return "", nil, err
	}
	enter := []string{"--target", strconv.Itoa(n.machine.PID()), "--mount", "--pid", "--net", "--ipc", "--uts", "--", program}
	return path, append(enter, args...), nil
}

// run starts a program of the node that ends with the cluster.
func (n *Node) run(name binaries.Component, program string, args ...string) error {
	path, all, err := n.inside(program, args...)
	if err != nil {
		return err
	}
	_, err = n.cluster.started.Start(programs.Command{Name: string(name), Path: path, Args: all, Dir: n.dir, Network: n.cluster.options.Network})
	return err
}

// output runs a program in the node until it ends and returns what it prints.
func (n *Node) output(ctx context.Context, program string, args ...string) (string, error) {
	path, all, err := n.inside(program, args...)
	if err != nil {
		return "", err
	}
	return programs.Output(ctx, exec.Command(path, all...))
}

func (n *Node) startContainerd(ctx context.Context) error {
	if err := n.run(binaries.Containerd, "containerd", "--config", filepath.Join(n.dir, "containerd.toml")); err != nil {
		return err
	}
	return awaitReady(ctx, n.cluster.Process(binaries.Containerd), func(ctx context.Context) error {
		_, err := n.ctr(ctx, "version")
		return err
	})
}

// ctr runs containerd's own client in the namespace of the kubelet's images.
func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	return n.output(ctx, "ctr", append([]string{"--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io"}, args...)...)
}

func (n *Node) startKubelet() error {
	kubeconfig, err := n.cluster.kubeconfigOf(string(binaries.Kubelet), "system:node:"+n.Name, "system:nodes")
	if err != nil {
		return err
	}
	if err := n.writeFile("kubelet.yaml", "kubelet.yaml", n.ways.kubelet); err != nil {
		return err
	}
	return n.run(binaries.Kubelet, n.cluster.binaries.Path(binaries.Kubelet),
		"--config="+filepath.Join(n.dir, "kubelet.yaml"),
		"--kubeconfig="+kubeconfig,
		"--hostname-override="+n.Name,
		"--node-ip="+nodeAddress,
		"--root-dir=/run/kubelet",
		"--cert-dir=/run/kubelet/pki",
	)
}

// awaitReady waits until Pods are scheduled to the node: it is ready, and the controller manager has taken its taints away.
func (n *Node) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	err := n.cluster.Await(ctx, node, func() bool { return len(node.Spec.Taints) == 0 && nodeIsReady(node) })
	if err != nil {
		return fmt.Errorf("%w\nlast lines of the kubelet:\n%s", err, n.cluster.Logs(binaries.Kubelet, 15))
	}
	return nil
}

func nodeIsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// stop ends everything in the namespaces of the node and removes what the kernel keeps beside them.
func (n *Node) stop() error {
	var failures []error
	if n.ways != nil {
		failures = append(failures, n.ways.close())
	}
	if n.machine != nil {
		failures = append(failures, n.machine.Kill9())
	}
	return errors.Join(append(failures, removeGroups(n.group()))...)
}

// group names the control group of all containers of the node: unique on the machine, and by it what a killed process left is found.
func (n *Node) group() string {
	return filepath.Join(filepath.Base(filepath.Dir(n.cluster.dir)), n.cluster.Name)
}

// nodeFiles are templates of the files that the programs of a node read.
//
//go:embed nodefiles
var nodeFiles embed.FS

const (
	cniPlugins = "/usr/lib/cni"
	pauseImage = "flux-landscaper.local/pause:1"
	// outwardPorts are the ports of loopback that lead out of the node, in the notation of iptables: those of the platform and those that the
	// kernel chooses.
	outwardPorts = "20000:65535"
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
		NodeAddress: nodeAddress, PodRange: podRange, Servers: outwardPorts, Plugins: cniPlugins,
		DNSAddress: dnsAddress, PauseImage: pauseImage,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.dir, to), text.Bytes(), 0o755)
}
