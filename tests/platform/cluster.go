// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	adminGroup = "system:masters"
	stopGrace  = 5 * time.Second
)

// Cluster is one API server with RBAC, and the controllers that were asked for.
type Cluster struct {
	// Name tells the clusters of one platform apart: "main" or what SecondCluster was given.
	Name string
	// RestConfig is the administrator's, without a client-side rate limit. Copy it before changing it.
	RestConfig *rest.Config
	// Kubeconfig is the administrator's kubeconfig, self-contained.
	Kubeconfig []byte
	// KubeconfigPath is the file that holds Kubeconfig.
	KubeconfigPath string

	dir       string
	options   Options
	binaries  *binaries.Binaries
	authority *authority
	address   string       // host:port of the API server
	http      *http.Client // the administrator's
	client    client.WithWatch
	node      *Node

	// started are its programs, the API server first.
	started programs.Group
}

// startCluster starts an API server on the etcd in etcdDir and then, side by side, what the options ask for.
func startCluster(ctx context.Context, name, dir, etcdDir string, binaries *binaries.Binaries, options Options) (*Cluster, error) {
	c, begun := &Cluster{Name: name, dir: dir, options: options, binaries: binaries}, time.Now()
	steps := []func() error{
		func() error { return os.Mkdir(dir, 0o700) },
		c.makeIdentity,
		auditLog{dir}.writePolicy,
		func() error { return c.startAPIServer(ctx, etcdDir) },
		func() error { return c.startControllers(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot start cluster %s: %w", name, err), c.stop())
		}
	}
	fmt.Fprintf(options.Log, "platform: cluster %s is ready after %s\n", name, time.Since(begun).Round(time.Millisecond))
	return c, nil
}

func (c *Cluster) makeIdentity() (err error) {
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	return c.authority.writeIdentity(c.dir)
}

// useAddress makes the administrator's access to an API server at address.
func (c *Cluster) useAddress(address string) (err error) {
	c.address = address
	if c.RestConfig, err = c.NewUser("admin", adminGroup); err != nil {
		return err
	}
	if c.http, err = rest.HTTPClientFor(c.RestConfig); err != nil {
		return err
	}
	if c.Kubeconfig, err = KubeconfigFor(c.RestConfig); err != nil {
		return err
	}
	c.KubeconfigPath = filepath.Join(c.dir, "admin.kubeconfig")
	return os.WriteFile(c.KubeconfigPath, c.Kubeconfig, 0o600)
}

// NewUser returns access for a user of this name and groups, without a client-side rate limit. A user has the rights that
// RBAC gives it; the group system:masters has all. Requests can be counted by user.
func (c *Cluster) NewUser(name string, groups ...string) (*rest.Config, error) {
	issued, err := c.authority.user(name, groups)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:      "https://" + c.address,
		UserAgent: name,
		QPS:       -1,
		Dial:      c.options.Network.Dialer(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.authority.pem,
			CertData: issued.certificate,
			KeyData:  issued.key,
		},
	}, nil
}

// userKubeconfig writes the kubeconfig of a user with all rights and returns its path.
func (c *Cluster) userKubeconfig(name string) (string, error) {
	return c.kubeconfigOf(name, name, adminGroup)
}

// kubeconfigOf writes the kubeconfig of a program that is a user and returns its path.
func (c *Cluster) kubeconfigOf(program, user string, groups ...string) (string, error) {
	config, err := c.NewUser(user, groups...)
	if err != nil {
		return "", err
	}
	content, err := KubeconfigFor(config)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, program+".kubeconfig")
	return path, os.WriteFile(path, content, 0o600)
}

// KubeconfigFor returns a self-contained kubeconfig with the access of config (a client certificate or a bearer token).
func KubeconfigFor(config *rest.Config) ([]byte, error) {
	const name = "platform"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return clientcmd.Write(*kubeconfig)
}

// Process returns the running program of a component, to kill or restart it, or nil if this cluster has none.
func (c *Cluster) Process(component binaries.Component) *programs.Process {
	for _, p := range c.started.All() {
		if p.Name() == string(component) {
			return p
		}
	}
	return nil
}

// Logs returns the last lines of a component's log.
func (c *Cluster) Logs(component binaries.Component, lines int) string {
	if p := c.Process(component); p != nil {
		return p.LogTail(lines)
	}
	return fmt.Sprintf("cluster %s runs no %s", c.Name, component)
}

// run starts a component in the cluster's folder and remembers it for stop.
func (c *Cluster) run(component binaries.Component, env []string, args ...string) (*programs.Process, error) {
	return c.started.Start(programs.Command{
		Name: string(component), Path: c.binaries.Path(component), Args: args, Env: env, Dir: c.dir, Network: c.options.Network,
	})
}

// stop ends the node and the controllers side by side, then the API server.
func (c *Cluster) stop() error {
	processes := c.started.Take()
	if len(processes) == 0 {
		return nil
	}
	failures := []error{programs.StopAll(processes[1:], stopGrace)}
	if c.node != nil {
		failures = append(failures, c.node.stop())
	}
	return errors.Join(append(failures, programs.StopAll(processes[:1], stopGrace))...)
}
