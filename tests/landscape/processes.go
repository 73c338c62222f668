// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// Names of our processes; each is also the user under which the process works.
const (
	// Controller reconciles Installations and Executions.
	Controller = "controller"
	// ManifestDeployer carries out manifest items.
	ManifestDeployer = "manifest-deployer"
	// MockDeployer carries out mock items.
	MockDeployer = "mock-deployer"
	// HelmDeployer carries out helm items. It runs where the platform has a registry, which serves the charts of ChartHost.
	HelmDeployer = "helm-deployer"
)

// ChartHost is the registry that manifests of existing users name; the platform's registry stands in for it.
const ChartHost = "europe-docker.pkg.dev"

// parallel is how many tests run at a time, on any number of processors: they wait much more than they compute.
const parallel = "6"

// Landscape is the platform with our processes running on it.
type Landscape struct {
	*platform.Platform
	// Witness sees every Installation.
	Witness *Witness
	// Processes by name.
	Processes map[string]*platform.Process
}

var (
	startOnce sync.Once
	started   *Landscape
	startErr  error
)

// Main runs the tests of a package on one landscape, which the first Shared starts, and returns the exit code. What our processes need is
// added to the options.
func Main(m *testing.M, options platform.Options) int {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	options.ControllerManager, options.Audit, options.LandscaperCRDs = true, true, true
	options.AddToScheme = append(options.AddToScheme, func(s *runtime.Scheme) error { return v1alpha1.AddToScheme(s) })
	return platform.Main(m, options)
}

// Shared returns the landscape of this test binary and starts it on the first call. If the test fails, the ends of all logs are printed.
func Shared(t testing.TB) *Landscape {
	t.Helper()
	p := platform.Shared(t)
	startOnce.Do(func() { started, startErr = start(p) })
	require.NoError(t, startErr)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for name, process := range started.Processes {
			t.Logf("log of %s:\n%s", name, process.LogTail(40))
		}
	})
	return started
}

func start(p *platform.Platform) (*Landscape, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	binary, err := platform.BuildLandscaper(ctx)
	if err != nil {
		return nil, err
	}
	l := &Landscape{Platform: p, Processes: map[string]*platform.Process{}}
	for name, args := range programs(p) {
		if l.Processes[name], err = l.run(binary, name, args); err != nil {
			return nil, err
		}
	}
	l.Witness, err = newWitness(p)
	return l, err
}

// programs are the arguments of our processes by name.
func programs(p *platform.Platform) map[string][]string {
	all := map[string][]string{
		Controller: {"controller"}, ManifestDeployer: {"deployer", "manifest"}, MockDeployer: {"deployer", "mock"},
	}
	if p.Registry != nil {
		all[HelmDeployer] = []string{"deployer", "helm", "--oci-mirror=" + ChartHost + "=http://" + p.Registry.Host}
	}
	return all
}

// run starts one of our processes under a user of its own name, so that its requests can be counted.
func (l *Landscape) run(binary, name string, args []string) (*platform.Process, error) {
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
	defer listener.Close() // nothing was written
	return listener.Addr().String()
}

// Writes returns what our processes wrote in a namespace since a moment, events included. Leases lie in another namespace.
func (l *Landscape) Writes(ctx context.Context, t testing.TB, namespace string, since time.Time) []platform.Request {
	t.Helper()
	requests, err := l.Requests(ctx, since)
	require.NoError(t, err)
	var writes []platform.Request
	for _, request := range requests {
		if l.Processes[request.User] != nil && request.Writes() && request.Namespace == namespace {
			writes = append(writes, request)
		}
	}
	return writes
}
