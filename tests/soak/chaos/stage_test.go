// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	buildTimeout = 10 * time.Minute
	writers      = 8
	stopGrace    = 10 * time.Second

	// standstillPatience is how long the last writes of what has succeeded may take.
	standstillPatience = 30 * time.Second

	harnessUser = "harness"
	targetUser  = "target"
)

var (
	seed   = flag.Int64("chaos-seed", 0, "seed of the random choices; 0 takes one from the clock")
	binary = flag.String("landscaper", os.Getenv("LANDSCAPER_CHAOS_BINARY"), "landscaper binary to test; by default that of this checkout")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true,
		// The garbage collector is no part of what is tested, but waited for.
		ControllerManagerArgs: []string{"--kube-api-qps=500", "--kube-api-burst=1000"},
		AddToScheme:           []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// stage is a set of units on the shared platform, and our programs, which this test alone uses.
type stage struct {
	*platform.Platform
	t        *testing.T
	begun    time.Time
	path     string // of the landscaper binary
	units    rig.Units
	programs map[string]*rig.Program
	harness  client.WithWatch
	observer *rig.Observer
	ledger   *ledger
	// standstill sees when something last changed in the landscaper cluster.
	standstill *landscape.Standstill
	// breaks says that each unit gets a version that its release cannot be upgraded to, before the next good one.
	breaks bool
	// stride says at which writes programs die: 1 is each.
	stride int
}

// restartCollector makes the garbage collector look at the kinds again: it started before ours were there, and looks every 30 seconds.
var restartCollector sync.Once

// newStage prepares everything but the programs.
func newStage(t *testing.T, prepare func(*rig.Units)) *stage {
	p := platform.Shared(t)
	restartCollector.Do(func() { require.NoError(t, p.Process(binaries.ControllerManager).Restart()) })
	s := &stage{Platform: p, t: t, begun: time.Now(), programs: map[string]*rig.Program{}, path: *binary, stride: *stride}
	if s.path == "" {
		ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
		defer cancel()
		var err error
		s.path, err = binaries.BuildLandscaper(ctx)
		require.NoError(t, err)
	}
	s.units = rig.Units{Namespace: p.Namespace(t), Deployed: p.Namespace(t), DataImport: true}
	if prepare != nil {
		prepare(&s.units)
	}
	var err error
	s.harness, err = rig.NewClient(p.Cluster, harnessUser)
	require.NoError(t, err)
	s.observer, err = rig.Observe(t.Context(), s.harness, s.units.Namespace)
	require.NoError(t, err)
	t.Cleanup(s.observer.Stop)
	s.standstill, err = landscape.WatchStandstill(t.Context(), p.Cluster)
	require.NoError(t, err)
	return s
}

// requireStandstill fails unless, for a while, nothing changes any more among the objects of the units and what they deploy here.
func (s *stage) requireStandstill(ctx context.Context, quiet time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, standstillPatience)
	defer cancel()
	for _, namespace := range []string{s.units.Namespace, s.units.Deployed} {
		require.NoError(s.t, s.standstill.Await(ctx, namespace, quiet))
	}
}

// start starts our programs, which are ready when it returns. Kubeconfigs replace the access of the programs named.
func (s *stage) start(ctx context.Context, names []string, kubeconfigs map[string][]byte, args ...string) {
	s.t.Helper()
	s.t.Cleanup(s.stop)
	for _, name := range names {
		program, err := rig.Start(s.Cluster, s.path, name, kubeconfigs[name], args...)
		require.NoError(s.t, err)
		s.programs[name] = program
	}
	for _, name := range names {
		require.NoError(s.t, s.programs[name].AwaitReady(ctx))
	}
}

func (s *stage) stop() {
	for name, program := range s.programs {
		if s.t.Failed() {
			s.t.Logf("last lines of %s:\n%s", name, program.LogTail(30))
		}
		if err := program.Stop(stopGrace); err != nil {
			s.t.Errorf("cannot stop %s: %v", name, err)
		}
	}
}

// hasHelm reports whether the binary brings the helm deployer.
func (s *stage) hasHelm() bool {
	out, err := exec.CommandContext(s.t.Context(), s.path, "deployer", "--help").CombinedOutput()
	require.NoError(s.t, err, string(out))
	return strings.Contains(string(out), "\n  helm ")
}

// reach lets act change every unit and waits until each meets the condition.
func (s *stage) reach(ctx context.Context, units int, condition rig.Condition, act func(ctx context.Context, i int) error) {
	s.t.Helper()
	goal := s.observer.Expect(units, condition)
	require.NoError(s.t, rig.Parallel(ctx, writers, units, act))
	_, err := goal.Wait(ctx)
	require.NoError(s.t, err)
}
