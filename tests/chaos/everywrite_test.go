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

	"github.com/flux-landscaper/flux-landscaper/tests/bench/rig"
)

const (
	everyWriteTimeout = 10 * time.Minute
	lifeTimeout       = 30 * time.Second
	// mostWrites is far more than a program writes in the life of a unit; a plan beyond it means that the count is wrong.
	mostWrites = 60
)

var stride = flag.Int("chaos-stride", 1, "die at every so manieth write only")

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

// dieEverywhere runs the programs and lets each of the mortal ones die at every write.
func (s *stage) dieEverywhere(programs []string, mortal ...string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), everyWriteTimeout)
	defer cancel()
	gates, kubeconfigs := s.gates(programs)
	config, err := s.NewUser(targetUser, rig.AllRights)
	require.NoError(s.t, err)
	// The last mortal program is the deployer under test: what goes to the target passes its gate, whoever sends it.
	s.prepareWith(ctx, gates[mortal[len(mortal)-1]].open(s, config))
	s.start(ctx, programs, kubeconfigs)
	for _, name := range programs {
		gates[name].program = s.programs[name]
	}
	unit := 0
	for _, name := range mortal {
		for _, at := range []moment{beforeWrite, afterWrite} {
			unit = s.dieAtEach(ctx, gates[name], at, unit)
		}
	}
	s.requireBorn(installationKind, unit)
	s.requireNothingLeft(ctx)
}

// dieAtEach lives lives until the program has died at every write, and returns the number of the next unit.
func (s *stage) dieAtEach(ctx context.Context, g *gate, at moment, unit int) int {
	s.t.Helper()
	begun, slowest := time.Now(), time.Duration(0)
	for n := 1; n <= mostWrites; n += *stride {
		g.arm(n, at)
		started := time.Now()
		s.live(ctx, unit, fmt.Sprintf("%s dies %s write %d", g.program.Name, at, n), g)
		slowest = max(slowest, time.Since(started))
		unit++
		fired, writes, err := g.result()
		require.NoError(s.t, err)
		if fired == "" {
			s.t.Logf("%s died %s each of %d writes: %s, the slowest life took %s", g.program.Name, at, writes, time.Since(begun), slowest)
			return unit
		}
	}
	require.Fail(s.t, "too many writes", "%s sends more than %d writes for one unit", g.program.Name, mostWrites)
	return unit
}

// live takes one unit through its life and checks that nothing of the death shows.
func (s *stage) live(ctx context.Context, unit int, plan string, g *gate) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	step := func(name string, condition rig.Condition, act func() error) {
		s.t.Helper()
		goal := s.observer.Expect(1, condition)
		require.NoError(s.t, act())
		if _, err := goal.Wait(ctx); err != nil {
			fired, _, _ := g.result()
			require.NoError(s.t, err, "%s (%s): %s of %s", plan, fired, name, s.units.Name(unit))
		}
	}
	step("create", rig.Succeeded(1), func() error { return s.units.Create(ctx, s.harness, unit, "v1") })
	s.requireUnit(ctx, unit, plan, "v1", 1)
	step("update", rig.Succeeded(2), func() error { return s.units.Update(ctx, s.harness, unit, "v2") })
	s.requireUnit(ctx, unit, plan, "v2", 2)
	step("delete", rig.Gone(), func() error { return s.units.Delete(ctx, s.harness, unit) })
	require.Len(s.t, s.observer.Jobs(s.units.Name(unit)), 3, "%s: jobs after the deletion", plan)
	require.Zero(s.t, s.deployedVersion(ctx, unit), "%s: the ConfigMap is left", plan)
}
