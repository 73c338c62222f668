// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

const stopGrace = 10 * time.Second

// subCommands are the parts of the landscaper binary that run, one process each.
var subCommands = []struct {
	name string
	args []string
}{
	{"landscaper-controller", []string{"controller", "--reconcile-if-changed=true"}}, // as the quick start installs it,
	{"landscaper-deployer-manifest", []string{"deployer", "manifest"}},
	{"landscaper-deployer-helm", []string{"deployer", "helm"}},
	{"landscaper-deployer-mock", []string{"deployer", "mock"}},
}

// started are our running processes.
type started struct {
	// dir holds their kubeconfigs and logs; it goes with the platform.
	dir string
	// died gets an error for each process that ended although nobody asked it to.
	died chan error

	stopping  chan struct{}
	processes []*programs.Process
}

// startPrograms starts every sub-command of the binary against the cluster.
func startPrograms(cluster *platform.Cluster, binary string) (*started, error) {
	p := &started{
		dir:  filepath.Join(filepath.Dir(cluster.KubeconfigPath), "landscaper"),
		died: make(chan error, len(subCommands)), stopping: make(chan struct{}),
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return p, fmt.Errorf("cannot start the landscaper: %w", err)
	}
	for _, command := range subCommands {
		if err := p.start(cluster, binary, command.name, command.args); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *started) start(cluster *platform.Cluster, binary, name string, args []string) error {
	kubeconfig, err := writeKubeconfig(cluster, p.dir, name)
	if err != nil {
		return err
	}
	process, err := programs.Start(programs.Command{
		Name: name, Path: binary, Dir: p.dir, Env: []string{"KUBECONFIG=" + kubeconfig},
		Args: append(args[:len(args):len(args)], "--metrics-addr=0", "--health-addr=0"),
	})
	if err != nil {
		return err
	}
	p.processes = append(p.processes, process)
	go p.watch(name, process)
	return nil
}

// watch reports a process that ends by itself.
func (p *started) watch(name string, process *programs.Process) {
	<-process.Exited()
	select {
	case <-p.stopping:
	default:
		p.died <- fmt.Errorf("%s has ended by itself; its last words:\n%s", name, process.LogTail(15))
	}
}

// stop ends every process.
func (p *started) stop() error {
	close(p.stopping)
	results := make([]error, len(p.processes))
	var group sync.WaitGroup
	for i, process := range p.processes {
		group.Go(func() { results[i] = process.Stop(stopGrace) })
	}
	group.Wait()
	return errors.Join(results...)
}

// writeKubeconfig gives a program a user of its own with all rights and returns the path of its kubeconfig.
func writeKubeconfig(cluster *platform.Cluster, dir, user string) (string, error) {
	content, err := sample.Kubeconfig(cluster, user)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, user+".kubeconfig")
	return path, os.WriteFile(path, content, 0o600)
}
