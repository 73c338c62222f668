// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	everyWriteTimeout = 10 * time.Minute
	lifeTimeout       = 30 * time.Second
	// mostWrites is far more than a program writes in the life of a unit; a plan beyond it means that the count is wrong.
	mostWrites = 100
	// brokenVersion is one that unforgiving charts cannot be upgraded to.
	brokenVersion = "broken"
)

var stride = flag.Int("chaos-stride", 1, "die at every so manieth write only")

// TestGateDeathAtSomeWrites is a sample of TestDeathAtEveryWrite: one write of eight.
func TestGateDeathAtSomeWrites(t *testing.T) {
	s := newStage(t, nil)
	s.stride = 8
	s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer}, rig.Controller, rig.ManifestDeployer)
}

// TestDeathAtEveryWrite lets one unit after the other be deployed, changed and deleted. In each life one program dies at one write, just
// before or just after it: first at its first write, then at its second, until there are no more.
func TestDeathAtEveryWrite(t *testing.T) {
	s := newStage(t, nil)
	s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer}, rig.Controller, rig.ManifestDeployer)
}

// TestDeathOfHelmAtEveryWrite does the same to the helm deployer, with units that have a release too.
func TestDeathOfHelmAtEveryWrite(t *testing.T) {
	s := newStage(t, func(u *rig.Units) { u.HelmChart, u.HelmEvery = chart(t), 1 })
	s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer, rig.HelmDeployer}, rig.HelmDeployer)
}

// TestDeathOfMockAtEveryWrite lets the mock deployer die, whose items come after those of the manifest deployer.
func TestDeathOfMockAtEveryWrite(t *testing.T) {
	s := newStage(t, func(u *rig.Units) { u.Mock = true })
	s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer, rig.MockDeployer}, rig.MockDeployer)
}

// TestDeathOfApplyAtEveryWrite lets the manifest deployer die that applies by the API server.
func TestDeathOfApplyAtEveryWrite(t *testing.T) {
	s := newStage(t, func(u *rig.Units) { u.Strategy = "apply" })
	s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer}, rig.ManifestDeployer)
}

// TestDeathOfHelmTemplatesAtEveryWrite lets the helm deployer die that applies what charts render to, without releases.
func TestDeathOfHelmTemplatesAtEveryWrite(t *testing.T) {
	for _, strategy := range []string{"update", "apply"} {
		t.Run(strategy, func(t *testing.T) {
			s := newStage(t, func(u *rig.Units) {
				u.HelmChart, u.HelmEvery, u.HelmSettings = chart(t), 1, []string{"helmDeployment: false", "updateStrategy: " + strategy}
			})
			s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer, rig.HelmDeployer}, rig.HelmDeployer)
		})
	}
}

// TestDeathOfRemediationAtEveryWrite lets the helm deployer die with releases that are tested, and rolled back after an upgrade that fails.
func TestDeathOfRemediationAtEveryWrite(t *testing.T) {
	s := newStage(t, func(u *rig.Units) {
		u.HelmChart, u.HelmEvery, u.HelmSettings = unforgivingChart(t), 1, []string{
			"helmDeploymentConfig: {test: {enable: true}, upgrade: {remediation: {retries: 0, remediateLastFailure: true}}}",
		}
	})
	s.breaks = true
	s.dieEverywhere([]string{rig.Controller, rig.ManifestDeployer, rig.HelmDeployer}, rig.HelmDeployer)
}

// dieEverywhere runs the programs and lets each of the mortal ones die at every write.
func (s *stage) dieEverywhere(programs []string, mortal ...string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), everyWriteTimeout)
	defer cancel()
	gates, kubeconfigs := s.gates(programs)
	config, err := s.NewUser(targetUser, rig.AllRights)
	require.NoError(s.t, err)
	// The last mortal program is the deployer under test: what goes to the target passes its gate, whoever sends it.
	s.prepareWith(ctx, s.through(config, gates[mortal[len(mortal)-1]].Handler))
	s.start(ctx, programs, kubeconfigs)
	for _, name := range programs {
		gates[name].Program = s.programs[name]
	}
	unit := 0
	for _, name := range mortal {
		for _, at := range []rig.Moment{rig.BeforeWrite, rig.AfterWrite} {
			unit = s.dieAtEach(ctx, gates[name], at, unit)
		}
	}
	s.requireBorn(installationKind, unit)
	s.requireNothingLeft(ctx)
}

// dieAtEach lives lives until the program has died at every write, and returns the number of the next unit.
func (s *stage) dieAtEach(ctx context.Context, g *rig.Gate, at rig.Moment, unit int) int {
	s.t.Helper()
	begun, slowest := time.Now(), time.Duration(0)
	for n := 1; n <= mostWrites; n += s.stride {
		g.Arm(n, at)
		started := time.Now()
		s.live(ctx, unit, fmt.Sprintf("%s dies %s write %d", g.Program.Name, at, n), g)
		slowest = max(slowest, time.Since(started))
		unit++
		fired, writes, err := g.Result()
		require.NoError(s.t, err)
		if fired == "" {
			s.t.Logf("%s died %s each of %d writes: %s, the slowest life took %s", g.Program.Name, at, writes, time.Since(begun), slowest)
			return unit
		}
	}
	require.Fail(s.t, "too many writes", "%s sends more than %d writes for one unit", g.Program.Name, mostWrites)
	return unit
}

// live takes one unit through its life and checks that nothing of the death shows.
func (s *stage) live(ctx context.Context, unit int, plan string, g *rig.Gate) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	step := func(name string, condition rig.Condition, act func() error) {
		s.t.Helper()
		goal := s.observer.Expect(1, condition)
		require.NoError(s.t, act())
		if _, err := goal.Wait(ctx); err != nil {
			fired, _, _ := g.Result()
			require.NoError(s.t, err, "%s (%s): %s of %s", plan, fired, name, s.units.Name(unit))
		}
	}
	jobs := 1
	step("create", rig.Succeeded(1), func() error { return s.units.Create(ctx, s.harness, unit, "v1") })
	s.requireUnit(ctx, unit, plan, "v1", jobs)
	if s.breaks {
		jobs++
		step("break", rig.Failed(int64(jobs)), func() error { return s.units.Update(ctx, s.harness, unit, brokenVersion) })
		require.Len(s.t, s.observer.Jobs(s.units.Name(unit)), jobs, "%s: jobs after the failure", plan)
		s.requireReleases(ctx, unit, unit+1, "")
		require.Equal(s.t, "v1", s.versionOf(ctx, s.units.Name(unit)+"-chart"), "%s: the release is rolled back", plan)
	}
	jobs++
	step("update", rig.Succeeded(int64(jobs)), func() error { return s.units.Update(ctx, s.harness, unit, "v2") })
	s.requireUnit(ctx, unit, plan, "v2", jobs)
	if s.units.HasHelm(unit) {
		require.Equal(s.t, "v2", s.versionOf(ctx, s.units.Name(unit)+"-chart"), "%s: version of the chart", plan)
	}
	step("delete", rig.Gone(), func() error { return s.units.Delete(ctx, s.harness, unit) })
	require.Len(s.t, s.observer.Jobs(s.units.Name(unit)), jobs+1, "%s: jobs after the deletion", plan)
	require.Zero(s.t, s.deployedVersion(ctx, unit), "%s: the ConfigMap is left", plan)
	require.Zero(s.t, s.versionOf(ctx, s.units.Name(unit)+"-chart"), "%s: the ConfigMap of the chart is left", plan)
}
