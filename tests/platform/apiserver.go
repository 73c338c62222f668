// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// DefaultIssuer is the issuer of the tokens of ServiceAccounts.
const DefaultIssuer = "https://kubernetes.default.svc"

// nowhere is an address for documentation: no Pod connects to the API server of a network apart.
const nowhere = "192.0.2.1"

// startAPIServer starts kube-apiserver and waits until it is ready and has its default namespace. A stranger on its port
// is never mistaken for it because our authority did not sign the stranger's certificate.
func (c *Cluster) startAPIServer(ctx context.Context, etcdDir string) error {
	if err := os.Symlink(filepath.Join(etcdDir, etcdSocket), filepath.Join(c.dir, etcdSocket)); err != nil {
		return err
	}
	err := c.serve(ctx, service{
		component: binaries.APIServer,
		ports:     1,
		args:      c.apiServerArgs,
		ready:     func([]string) probe { return c.apiServerAnswers },
	})
	if err != nil {
		return err
	}
	if err := c.makeClient(); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	return awaitReady(ctx, c.Process(binaries.APIServer), c.hasDefaultNamespace)
}

func (c *Cluster) apiServerAnswers(ctx context.Context) error {
	return answers(c.http, c.RestConfig.Host+"/readyz")(ctx)
}

func (c *Cluster) hasDefaultNamespace(ctx context.Context) error {
	return c.client.Get(ctx, client.ObjectKey{Name: corev1.NamespaceDefault}, &corev1.Namespace{})
}

// AwaitAPIServer waits until the API server answers, e.g. after a test has restarted its Process.
func (c *Cluster) AwaitAPIServer(ctx context.Context) error {
	return awaitReady(ctx, c.Process(binaries.APIServer), c.apiServerAnswers)
}

func (c *Cluster) apiServerArgs(addresses []string) ([]string, error) {
	if err := c.useAddress(addresses[0]); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return nil, err
	}
	args := []string{
		"--etcd-servers=unix://" + etcdSocket,
		"--etcd-prefix=/" + c.Name,
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--tls-cert-file=tls.crt",
		"--tls-private-key-file=tls.key",
		"--client-ca-file=ca.crt",
		"--service-account-issuer=" + c.options.Issuer,
		"--service-account-key-file=sa.key",
		"--service-account-signing-key-file=sa.key",
		"--service-cluster-ip-range=" + serviceRange,
		"--allow-privileged",
	}
	args = append(args, c.nodeArgs()...)
	if !c.options.ControllerManager {
		// Nobody makes the service accounts that this plugin insists on.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if c.options.Network != nil {
		args = append(args, "--advertise-address="+nowhere) // it finds none by itself where there is only loopback
	}
	if c.options.Audit {
		args = append(args, auditLog{c.dir}.args()...)
	}
	return append(args, c.options.APIServerArgs...), nil
}

// nodeArgs let kubelets have the rights of their node only, and the API server find them.
func (c *Cluster) nodeArgs() []string {
	if !c.options.Node {
		return []string{"--authorization-mode=RBAC"}
	}
	return []string{
		"--authorization-mode=Node,RBAC",
		"--kubelet-preferred-address-types=Hostname",
		"--kubelet-client-certificate=kubelet-client.crt",
		"--kubelet-client-key=kubelet-client.key",
	}
}
