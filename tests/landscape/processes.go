// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
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
	// ContainerDeployer carries out container items, in the namespace ContainerPods. It runs where the platform has a node and a registry.
	ContainerDeployer = "container-deployer"
)

// ChartHost is the registry that manifests of existing users name; the platform's registry stands in for it.
const ChartHost = "europe-docker.pkg.dev"

// ContainerPods is the namespace of the Pods of container items. Only Pods of the Pod Security level "restricted" may be there.
const ContainerPods = "containers"

// parallel is how many tests run at a time, on any number of processors: they wait much more than they compute.
const parallel = "6"

// Landscape is the platform with our processes running on it.
type Landscape struct {
	*platform.Platform
	// Witness sees every Installation.
	Witness *Witness
	// Standstill sees when something changes.
	Standstill *Standstill
	// Processes by name.
	Processes map[string]*programs.Process
	// Metrics are the addresses at which they serve metrics.
	Metrics map[string]string
}

var (
	controllerFlags, deployerFlags []string
	eventsAddress                  string

	startOnce sync.Once
	started   *Landscape
	startErr  error
)

// Main runs the tests of a package on one landscape, which the first Shared starts, and returns the exit code. What our processes need is
// added to the options; the flags are for the controller.
func Main(m *testing.M, options platform.Options, flags ...string) int {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	controllerFlags = flags
	options.ControllerManager, options.Audit, options.LandscaperCRDs = true, true, true
	options.AfterTests = verdict
	options.AddToScheme = append(options.AddToScheme, func(s *runtime.Scheme) error { return v1alpha1.AddToScheme(s) })
	return platform.Main(m, options)
}

// LeaveEnvironments lets the deployers of the landscape leave the Targets of Environments to deployers there. It has to be called before Main.
func LeaveEnvironments() {
	deployerFlags = []string{`--target-selector={"annotations": [{"key": "` + v1alpha1.EnvironmentAnnotation + `", "operator": "!"}]}`}
}

// SendEvents has all processes of the landscape post their events to an address. It has to be called before Main.
func SendEvents(address string) { eventsAddress = address }

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

func start(p *platform.Platform) (l *Landscape, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	l = &Landscape{Platform: p, Processes: map[string]*programs.Process{}, Metrics: map[string]string{}}
	all := commands(p)
	if p.Node() != nil && p.Registry != nil {
		if all[ContainerDeployer], err = containerDeployer(ctx, p); err != nil {
			return nil, err
		}
	}
	for name, command := range all {
		l.Metrics[name] = FreeAddress()
		flags := append(command[1:], "--log-level=info", "--concurrent=8", "--metrics-addr="+l.Metrics[name])
		if eventsAddress != "" {
			flags = append(flags, "--events-addr="+eventsAddress)
		}
		if l.Processes[name], err = Start(ctx, p.Cluster, name, AllRights, command[0], flags...); err != nil {
			return nil, err
		}
	}
	if l.Standstill, err = WatchStandstill(context.Background(), p.Cluster); err != nil {
		return nil, err
	}
	l.Witness, err = newWitness(p)
	return l, err
}

// verdict returns what still changes after the ends of the tests.
func verdict() []string {
	if started == nil || started.Standstill == nil {
		return nil
	}
	return started.Standstill.verdict()
}

// commands are the sub-commands of our processes by name, with their flags.
func commands(p *platform.Platform) map[string][]string {
	all := map[string][]string{
		Controller:       append([]string{"controller"}, controllerFlags...),
		ManifestDeployer: deployer("manifest"), MockDeployer: deployer("mock"),
	}
	if p.Registry != nil {
		all[HelmDeployer] = deployer("helm", "--oci-mirror="+ChartHost+"=http://"+p.Registry.Host)
	}
	return all
}

func deployer(name string, flags ...string) []string {
	return slices.Concat([]string{"deployer " + name}, deployerFlags, flags)
}

// containerDeployer makes what the container deployer needs, the namespace of its Pods and the image of its own program, and returns its
// command.
func containerDeployer(ctx context.Context, p *platform.Platform) ([]string, error) {
	pods := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: ContainerPods, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := p.Apply(ctx, pods); err != nil {
		return nil, err
	}
	image, err := platform.LandscaperImage(ctx)
	if err != nil {
		return nil, err
	}
	reference, err := p.Registry.PushImage(ctx, "landscaper", "test", image)
	return deployer("container", "--host-namespace="+ContainerPods, "--sidecar-image="+reference), err
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
