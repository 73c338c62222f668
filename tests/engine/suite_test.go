// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine checks what the controller does by its flags and rights: each test runs controllers of its own on one cluster, one test
// at a time. Tests are named for their row of the acceptance matrix where one exists.
package engine

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// patience bounds every wait; nothing takes that long unless it is broken.
const patience = 90 * time.Second

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// site is the cluster of a test.
type site struct {
	*platform.Platform
	t   *testing.T
	ctx context.Context
}

func newSite(t *testing.T) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	return &site{Platform: platform.Shared(t), t: t, ctx: ctx}
}

// controller runs a controller with all rights until the test ends or stops it.
func (s *site) controller(user string, flags ...string) *platform.Process {
	s.t.Helper()
	return s.run(user, []string{"system:masters"}, append([]string{"controller"}, flags...)...)
}

// run runs a sub-command as a user until the test ends or stops it.
func (s *site) run(user string, groups []string, command ...string) *platform.Process {
	s.t.Helper()
	binary, err := platform.BuildLandscaper(s.ctx)
	require.NoError(s.t, err)
	config, err := s.NewUser(user, groups...)
	require.NoError(s.t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.t, err)
	dir, err := os.MkdirTemp(filepath.Dir(s.KubeconfigPath), user)
	require.NoError(s.t, err)
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(s.t, os.WriteFile(path, kubeconfig, 0o600))
	process, err := platform.StartProcess(platform.Command{
		Name: user, Path: binary, Dir: dir, Args: append(command, "--metrics-addr=0", "--health-addr="+freeAddress(s.t)),
		Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=ls-system"},
	})
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("log of %s:\n%s", user, process.LogTail(40))
		}
		_ = process.Stop(10 * time.Second) // it may have been stopped by the test
	})
	return process
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// namespace makes a namespace.
func (s *site) namespace(name string) {
	s.t.Helper()
	require.NoError(s.t, s.Client().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// until waits until an object is in a state.
func (s *site) until(object client.Object, done func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	require.NoError(s.t, s.Await(ctx, object, done))
}
