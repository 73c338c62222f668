// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// Names of our programs; each is the user that its requests are counted under.
const (
	Controller        = "controller"
	ManifestDeployer  = "manifest-deployer"
	MockDeployer      = "mock-deployer"
	HelmDeployer      = "helm-deployer"
	ContainerDeployer = "container-deployer"
)

// AllRights is the group whose members may do everything.
const AllRights = "system:masters"

const (
	probeInterval = 10 * time.Millisecond
	readyTimeout  = time.Minute
)

// commands are the sub-commands of the landscaper binary by program.
var commands = map[string][]string{
	Controller:        {"controller"},
	ManifestDeployer:  {"deployer", "manifest"},
	MockDeployer:      {"deployer", "mock"},
	HelmDeployer:      {"deployer", "helm"},
	ContainerDeployer: {"deployer", "container"},
}

// Program is one of our programs, or one that they are compared with, running as a process.
type Program struct {
	*programs.Process
	// Name of the program and of its user.
	Name string

	metrics, health string // host:port
}

// Start starts the program called name against a cluster, as the user of that name with all rights. Kubeconfig replaces that access
// unless it is empty. It returns at once; AwaitReady waits.
func Start(cluster *platform.Cluster, binary, name string, kubeconfig []byte, args ...string) (*Program, error) {
	if len(kubeconfig) == 0 {
		var err error
		if kubeconfig, err = kubeconfigOf(cluster, name); err != nil {
			return nil, err
		}
	}
	own := append(slices.Clone(commands[name]), servers.EventFlags(strings.Join(commands[name], " "))...)
	return launch(cluster, binary, name, "ls-system", kubeconfig, append(own, args...))
}

// StartFlux starts a Flux controller like Start. The platform's own, if it runs one, has to be stopped before.
func StartFlux(cluster *platform.Cluster, binary string, component binaries.Component, args ...string) (*Program, error) {
	name := string(component)
	kubeconfig, err := kubeconfigOf(cluster, name)
	if err != nil {
		return nil, err
	}
	own := []string{servers.EventFlag(), "--enable-leader-election=false"}
	return launch(cluster, binary, name, platform.FluxNamespace, kubeconfig, append(own, args...))
}

func launch(cluster *platform.Cluster, binary, name, namespace string, kubeconfig []byte, args []string) (*Program, error) {
	dir, err := os.MkdirTemp(filepath.Dir(cluster.KubeconfigPath), "our-"+name+"-") // a program of the name may run already
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for %s: %w", name, err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the kubeconfig of %s: %w", name, err)
	}
	addresses, err := programs.FreeAddresses(2)
	if err != nil {
		return nil, err
	}
	p := &Program{Name: name, metrics: addresses[0], health: addresses[1]}
	p.Process, err = programs.Start(programs.Command{
		Name: name, Path: binary, Dir: dir, Args: append(args, "--metrics-addr="+p.metrics, "--health-addr="+p.health),
		Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=" + namespace},
	})
	return p, err
}

func kubeconfigOf(cluster *platform.Cluster, name string) ([]byte, error) {
	config, err := cluster.NewUser(name, AllRights)
	if err != nil {
		return nil, fmt.Errorf("cannot make user %s: %w", name, err)
	}
	return platform.KubeconfigFor(config)
}

// AwaitReady waits until the program says that it is ready, and fails as soon as it has ended.
func (p *Program) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		if body, err := get(ctx, "http://"+p.health+"/readyz"); err == nil {
			return body.Close()
		}
		select {
		case <-p.Exited():
			return fmt.Errorf("%s has ended: %v\n%s", p.Name, p.Err(), p.LogTail(20))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.Name, ctx.Err(), p.LogTail(20))
		case <-ticker.C:
		}
	}
}

// Get reads a path of the program's metrics endpoint, e.g. /metrics or /debug/pprof/heap. The caller closes the body.
func (p *Program) Get(ctx context.Context, path string) (io.ReadCloser, error) {
	return get(ctx, "http://"+p.metrics+path)
}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("GET %s: %s", url, response.Status), response.Body.Close())
	}
	return response.Body, nil
}
