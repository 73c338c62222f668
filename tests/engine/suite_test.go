// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine checks what the controller does by its flags and rights: each test runs controllers of its own on one cluster, one test
// at a time. Tests are named for their row of the acceptance matrix where one exists.
package engine

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// patience bounds every wait; nothing takes that long unless it is broken.
const patience = 90 * time.Second

func TestMain(m *testing.M) { os.Exit(landscape.Main(m, platform.Options{})) }

// site is the cluster of a test.
type site struct {
	*platform.Platform
	t   *testing.T
	ctx context.Context
}

func newSite(t *testing.T) *site {
	t.Helper()
	_, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err, "outside the deadline: others may be building")
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	return &site{Platform: platform.Shared(t), t: t, ctx: ctx}
}

// controller runs a controller with all rights until the test ends or stops it.
func (s *site) controller(user string, flags ...string) *programs.Process {
	s.t.Helper()
	return s.run(user, landscape.AllRights, "controller", flags...)
}

// run runs a sub-command as a user until the test ends or stops it.
func (s *site) run(user string, groups []string, command string, flags ...string) *programs.Process {
	s.t.Helper()
	return landscape.Run(s.ctx, s.t, s.Cluster, user, groups, command, flags...)
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
