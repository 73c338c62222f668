// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// Options say what a platform consists of, beside etcd and an API server with RBAC.
type Options struct {
	// ControllerManager collects garbage, empties deleted namespaces and makes service account tokens. Without it a
	// deleted namespace stays Terminating.
	ControllerManager bool
	// Node runs Pods: it adds a scheduler and a Node, and sets ControllerManager. It needs Linux, root and what InstallNode installs;
	// Shared and New skip the test where that is missing, or fail it where FLUX_LANDSCAPER_NODE is "required".
	Node bool
	// Flux runs source-controller and kustomize-controller and installs their CRDs.
	Flux bool
	// Git serves repositories over HTTP. SecondCluster ignores it: the clusters share the server.
	Git bool
	// Registry serves OCI artifacts over plain HTTP. SecondCluster ignores it: the clusters share the registry.
	Registry bool
	// Audit records every request, for Requests.
	Audit bool

	// LandscaperCRDs installs this repository's config/crd/bases.
	LandscaperCRDs bool
	// CRDDirs are more folders or files with CRD manifests to install, relative to the working directory or absolute.
	CRDDirs []string
	// Objects are applied after the CRDs, in order.
	Objects []client.Object

	// AddToScheme teaches Client, Apply and Await more typed kinds; built-in kinds, CRDs and Flux's are known already.
	AddToScheme []func(*runtime.Scheme) error

	// Network is where the API server and all that the platform runs beside it listen; nil is the network of this process. A Node reaches nothing that
	// the network does not lead to.
	// Git and Registry stay outside of it.
	Network *programs.Network

	// Issuer of the tokens of ServiceAccounts; default DefaultIssuer. An API server that trusts those of another one needs its own.
	Issuer string

	// Arguments added to the ones the platform gives to each program.
	APIServerArgs, ControllerManagerArgs, SourceControllerArgs, KustomizeControllerArgs []string

	// Log receives progress in plain sentences; default os.Stderr.
	Log io.Writer
	// AfterTests is called by Main when all tests have ended and the platform still runs. Each text that it returns is a failure.
	AfterTests func() []string
}

// complete returns the options with what they imply.
func (o Options) complete() Options {
	if o.Log == nil {
		o.Log = os.Stderr
	}
	o.ControllerManager = o.ControllerManager || o.Node
	o.Issuer = cmp.Or(o.Issuer, DefaultIssuer)
	return o
}

// components are the programs that the options need.
func (o Options) components() []binaries.Component {
	needed := []binaries.Component{binaries.Etcd, binaries.APIServer}
	if o.Node {
		needed = append(needed, binaries.NodeComponents...)
	}
	if o.ControllerManager {
		needed = append(needed, binaries.ControllerManager)
	}
	if o.Flux {
		needed = append(needed, binaries.SourceController, binaries.KustomizeController)
	}
	return needed
}

// Platform is a running control plane. The embedded Cluster is the main one.
type Platform struct {
	*Cluster
	// Git is nil unless Options.Git is set.
	Git *servers.GitServer
	// Registry is nil unless Options.Registry is set.
	Registry *servers.Registry

	folder *folder
	etcd   *programs.Process

	mu     sync.Mutex
	others []*Cluster
}

// Start starts a platform and returns when every part of it is ready: about 4 seconds, after the binaries exist.
// Whatever it has started is gone again if it fails. Call Stop when done; ctx bounds the start only.
func Start(ctx context.Context, options Options) (*Platform, error) {
	options = options.complete()
	tools, err := binaries.Tools(ctx, options.Log, options.components()...)
	if err != nil {
		return nil, err
	}
	p := &Platform{}
	if p.folder, err = newFolder(); err != nil {
		return nil, fmt.Errorf("cannot start the platform: %w", err)
	}
	if err := p.start(ctx, tools, options); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the platform: %w", err), p.Stop())
	}
	return p, nil
}

func (p *Platform) start(ctx context.Context, tools *binaries.Binaries, options Options) (err error) {
	if options.Git {
		if p.Git, err = servers.StartGit(p.path("git")); err != nil {
			return err
		}
	}
	if options.Registry {
		if p.Registry, err = servers.StartRegistry(); err != nil {
			return err
		}
	}
	if p.etcd, err = startEtcd(tools.Path(binaries.Etcd), p.path("etcd")); err != nil {
		return err
	}
	p.Cluster, err = startCluster(ctx, "main", p.path("main"), p.path("etcd"), tools, options)
	return err
}

func (p *Platform) path(name string) string { return filepath.Join(p.folder.path, name) }

// SecondCluster starts one more API server, e.g. as the fenced cluster, with data, users and controllers of its own.
// It shares etcd (under a prefix of its own), the Git server and the registry with the platform and ends with it. The name
// is a plain file name that no other cluster of the platform has, e.g. the namespace of the test.
func (p *Platform) SecondCluster(ctx context.Context, name string, options Options) (*Cluster, error) {
	options = options.complete()
	tools, err := binaries.Tools(ctx, options.Log, options.components()...)
	if err != nil {
		return nil, err
	}
	second, err := startCluster(ctx, name, p.path(name), p.path("etcd"), tools, options)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others = append(p.others, second)
	return second, nil
}

// Etcd returns the etcd process of the platform, to kill or restart it.
func (p *Platform) Etcd() *programs.Process { return p.etcd }

// Clusters returns the main cluster and every second one.
func (p *Platform) Clusters() []*Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Cluster{p.Cluster}, p.others...)
}

// Stop ends every process of the platform and removes its files. It may be called more than once.
func (p *Platform) Stop() error {
	var failures []error
	for _, c := range p.Clusters() {
		if c != nil {
			failures = append(failures, c.stop())
		}
	}
	if p.etcd != nil {
		failures = append(failures, p.etcd.Stop(stopGrace))
	}
	return errors.Join(append(failures, p.stopServers(), p.folder.remove())...)
}

func (p *Platform) stopServers() error {
	var failures []error
	if p.Git != nil {
		failures = append(failures, p.Git.Stop())
		p.Git = nil
	}
	if p.Registry != nil {
		failures = append(failures, p.Registry.Stop())
		p.Registry = nil
	}
	return errors.Join(failures...)
}
