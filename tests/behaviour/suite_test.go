// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package behaviour checks what a user observes: real API server, real Flux, our processes as they run in a cluster. Files are named for
// the behaviour, tests for their row of the acceptance matrix where one exists.
package behaviour

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// pickupTimeout is short so that the test of it is.
const pickupTimeout = 5 * time.Second

// patience bounds every wait; nothing takes that long unless it is broken.
const patience = 60 * time.Second

// tick is how often to look where nothing can be watched.
const tick = 50 * time.Millisecond

// parallel is how many tests run at a time, on any number of processors: they wait much more than they compute.
const parallel = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	code := platform.Main(m, platform.Options{
		ControllerManager: true, Flux: true, Git: true, Registry: true, Audit: true, LandscaperCRDs: true,
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	os.Exit(code)
}

// landscape is the platform with our processes running on it.
type landscape struct {
	*platform.Platform
	witness   *witness
	processes map[string]*platform.Process
}

var (
	startOnce sync.Once
	started   *landscape
	startErr  error
)

// shared returns the landscape of this test binary and starts it on the first call.
func shared(t *testing.T) *landscape {
	t.Helper()
	p := platform.Shared(t)
	startOnce.Do(func() { started, startErr = start(p) })
	require.NoError(t, startErr)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for name, process := range started.processes {
			t.Logf("log of %s:\n%s", name, process.LogTail(40))
		}
	})
	return started
}

func start(p *platform.Platform) (*landscape, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	binary, err := platform.BuildLandscaper(ctx)
	if err != nil {
		return nil, err
	}
	mirror := "europe-docker.pkg.dev=http://" + p.Registry.Host
	l := &landscape{Platform: p, processes: map[string]*platform.Process{}}
	for name, args := range map[string][]string{
		"controller":        {"controller", "--pickup-timeout=" + pickupTimeout.String()},
		"manifest-deployer": {"deployer", "manifest"},
		"mock-deployer":     {"deployer", "mock"},
		"helm-deployer":     {"deployer", "helm", "--oci-mirror=" + mirror},
	} {
		process, err := l.run(binary, name, args)
		if err != nil {
			return nil, err
		}
		l.processes[name] = process
	}
	l.witness, err = newWitness(p)
	return l, err
}

// run starts one of our processes under a user of its own name, so that its requests can be counted.
func (l *landscape) run(binary, name string, args []string) (*platform.Process, error) {
	config, err := l.NewUser(name, "system:masters")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := platform.KubeconfigFor(config)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(l.KubeconfigPath), name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	args = append(args, "--metrics-addr=0", "--health-addr="+freeAddress(), "--log-level=info", "--concurrent=8")
	return platform.StartProcess(platform.Command{
		Name: name, Path: binary, Args: args, Dir: dir, Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=ls-system"},
	})
}

func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer listener.Close()
	return listener.Addr().String()
}

// ours are the users of our processes.
var ours = map[string]bool{"controller": true, "manifest-deployer": true, "mock-deployer": true, "helm-deployer": true}

// deadline is the context of one test.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// targetOf makes a Target of a cluster.
func (l *landscape) targetOf(ctx context.Context, t *testing.T, namespace, name string, config *rest.Config) {
	t.Helper()
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	require.NoError(t, l.ApplyYAML(ctx, fmt.Sprintf(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: %s, namespace: %s}
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  config:
    kubeconfig: %q
`, name, namespace, kubeconfig)))
}
