// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission checks the admission webhooks on real API servers: what they refuse and accept, and that they keep answering through
// renewals, restarts and updates. Tests are named for their row of the acceptance matrix where one exists.
package admission

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	// patience bounds every wait; nothing takes that long unless it is broken.
	patience = 60 * time.Second
	// account is what the processes run as, with the rights of flux/webhooks.
	account       = "system:serviceaccount:ls-system:landscaper-webhooks"
	configuration = "landscaper-validation-webhook"
	secretName    = "landscaper-webhook-certs"
	home          = "ls-system"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they wait more than they compute
		panic(err)
	}
	os.Exit(platform.Main(m, options()))
}

func options() platform.Options {
	return platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}
}

// site is a cluster with the rights of the webhooks, and a balancer in front of its replicas, as a Service is.
type site struct {
	*platform.Cluster
	t        testing.TB
	binary   string
	balancer *balancer
	lasting  bool // its processes end with the tests
}

// replica is one process that serves webhooks.
type replica struct {
	*programs.Process
	address string
}

// newSite prepares a cluster of its own for a test that replaces processes.
func newSite(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	return prepare(t, platform.New(t, options()).Cluster)
}

func prepare(t testing.TB, cluster *platform.Cluster) *site {
	t.Helper()
	binary, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err)
	s := &site{Cluster: cluster, t: t, binary: binary, balancer: newBalancer(t)}
	for _, folder := range []string{"flux/install", "flux/webhooks"} {
		for _, object := range manifests(t, folder) {
			if object.GetKind() != "CustomResourceDefinition" {
				require.NoError(t, cluster.Apply(t.Context(), object))
			}
		}
	}
	return s
}

// manifests returns what a folder for Flux builds.
func manifests(t testing.TB, folder string) []*unstructured.Unstructured {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("..", "..", folder))
	require.NoError(t, err)
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		require.NoError(t, err)
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	require.NotEmpty(t, objects)
	return objects
}

// deployment is that of the webhooks.
func deployment(t testing.TB) *appsv1.Deployment {
	t.Helper()
	for _, object := range manifests(t, "flux/webhooks") {
		if object.GetKind() == "Deployment" {
			found := &appsv1.Deployment{}
			content := object.Object
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, found, true))
			return found
		}
	}
	require.Fail(t, "flux/webhooks has no Deployment")
	return nil
}

// start starts a replica behind the balancer, with the arguments of the Deployment but for the address.
func (s *site) start(args ...string) *replica {
	s.t.Helper()
	r := s.launch(args...)
	s.balancer.add(r.address)
	return r
}

// launch starts a process that nobody calls yet. It ends with the test.
func (s *site) launch(args ...string) *replica {
	s.t.Helper()
	address := programs.RequireFreeAddress(s.t, programs.Loopback)
	_, port, err := net.SplitHostPort(address)
	require.NoError(s.t, err)
	flags := []string{"webhooks", "--webhook-url=https://" + s.balancer.address, "--port=" + port}
	return &replica{Process: s.spawn(account, nil, append(flags, args...)...), address: address}
}

// run starts a controller or a deployer, with all rights.
func (s *site) run(command ...string) {
	s.t.Helper()
	s.spawn(command[len(command)-1], []string{"system:masters"}, command...)
}

// spawn starts a process as a user. It ends with the test.
func (s *site) spawn(user string, groups []string, args ...string) *programs.Process {
	s.t.Helper()
	config, err := s.NewUser(user, groups...)
	require.NoError(s.t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.t, err)
	dir, err := os.MkdirTemp(filepath.Dir(s.KubeconfigPath), args[0])
	require.NoError(s.t, err)
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(s.t, os.WriteFile(path, kubeconfig, 0o600))
	process, err := programs.Start(programs.Command{
		Name: args[0], Path: s.binary, Args: append(args, "--metrics-addr=0", "--health-addr="+programs.RequireFreeAddress(s.t, programs.Loopback)), Dir: dir,
		Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=" + home},
	})
	require.NoError(s.t, err)
	if s.lasting {
		return process
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("log of %s:\n%s", strings.Join(args, " "), process.LogTail(30))
		}
		require.NoError(s.t, process.Stop(10*time.Second))
	})
	return process
}

// awaitEnforced waits until the API server refuses what the webhooks refuse: it reads their registration from a cache.
func (s *site) awaitEnforced() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return deniedBy(s.try(badTarget(metav1.NamespaceDefault, "probe")), "targets")
	}, patience, 20*time.Millisecond, "bad Targets are refused")
}

// try offers an object to the API server in a dry run.
func (s *site) try(object client.Object) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Client().Create(ctx, object, client.DryRunAll)
}

// registered reads the registration.
func (s *site) registered() *admissionregistrationv1.ValidatingWebhookConfiguration {
	s.t.Helper()
	found := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(s.t, s.Client().Get(context.Background(), client.ObjectKey{Name: configuration}, found))
	return found
}

// deniedBy reports whether a webhook has refused, in the words that people know.
func deniedBy(err error, plural string) bool {
	return err != nil && strings.Contains(err.Error(),
		fmt.Sprintf("admission webhook %q denied the request", plural+".validation.landscaper.gardener.cloud"))
}

// balancer forwards connections to the replicas in turn, leaving out those that do not listen.
type balancer struct {
	address string
	mu      sync.Mutex
	targets []string
	turn    int
}

func newBalancer(t testing.TB) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &balancer{address: listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(connection.(*net.TCPConn))
		}
	}()
	return b
}

func (b *balancer) add(target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets = append(b.targets, target)
}

// order returns the replicas, beginning with the one whose turn it is.
func (b *balancer) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.targets) == 0 {
		return nil
	}
	b.turn = (b.turn + 1) % len(b.targets)
	return append(append([]string(nil), b.targets[b.turn:]...), b.targets[:b.turn]...)
}

func (b *balancer) forward(from *net.TCPConn) {
	defer from.Close()
	for _, target := range b.order() {
		if to, err := net.Dial("tcp", target); err == nil {
			defer to.Close()
			go pipe(to.(*net.TCPConn), from)
			pipe(from, to.(*net.TCPConn))
			return
		}
	}
}

// pipe copies until the source ends, and passes the end on.
func pipe(to, from *net.TCPConn) {
	_, _ = to.ReadFrom(from)
	_ = to.CloseWrite()
}
