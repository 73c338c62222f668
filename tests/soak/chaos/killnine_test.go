// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	killedUnits     = 50
	helmEvery       = 10
	killNineTimeout = 3 * time.Minute

	// changesOfEach is fewer changes of Installations, Executions and DeployItems than a unit surely makes in one direction, so
	// that all kills happen while there is work.
	changesOfEach = 8
)

// TestKillNineOfEveryProgramTenTimes kills every program ten times while fifty units are deployed, and again while they are deleted.
func TestKillNineOfEveryProgramTenTimes(t *testing.T) { killNine(t, 10) }

// TestGateKillNineOfEveryProgram is a sample of it, as when the kernel ends a process that has no memory left.
func TestGateKillNineOfEveryProgram(t *testing.T) { killNine(t, 2) }

func killNine(t *testing.T, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killNineTimeout)
	defer cancel()
	programs := []string{rig.Controller, rig.ManifestDeployer, rig.MockDeployer}
	s := newStage(t, func(u *rig.Units) { u.Mock = true })
	if s.hasHelm() {
		programs = append(programs, rig.HelmDeployer)
		s.units.HelmChart, s.units.HelmEvery = chart(t), helmEvery
	}
	s.prepare(ctx)
	s.start(ctx, programs, nil)
	random := newRandom(t)

	kills := s.killDuring(random, programs, times)
	s.reach(ctx, killedUnits, rig.Succeeded(1), func(ctx context.Context, i int) error {
		return s.units.Create(ctx, s.harness, i, "v1")
	})
	kills.requireAll(t)
	t.Logf("deployed after %s; %s", time.Since(s.begun), s.summary(ctx))
	s.requireDeployedOnce(ctx)
	s.requireStandstill(ctx, 3*time.Second)

	kills = s.killDuring(random, programs, times)
	s.reach(ctx, killedUnits, rig.Gone(), func(ctx context.Context, i int) error { return s.units.Delete(ctx, s.harness, i) })
	kills.requireAll(t)
	t.Logf("deleted after %s; %s", time.Since(s.begun), s.summary(ctx))
	s.requireNothingLeft(ctx)
	s.requireBornOnce()
	for name, times := range s.deletions(ctx, configMaps) {
		require.Equal(t, 1, times, "times that ConfigMap %s was deleted", name)
	}
	s.requireJobs(killedUnits, 2)
	t.Logf("nothing left after %s", time.Since(s.begun))
}

// requireDeployedOnce fails unless the units are there, each made once by one job.
func (s *stage) requireDeployedOnce(ctx context.Context) {
	s.t.Helper()
	s.requireBornOnce()
	s.requireJobs(killedUnits, 1)
	s.requireVersion(ctx, killedUnits, "v1")
	s.requireReleases(ctx, 0, killedUnits, "")
}

// requireBornOnce fails if an object of the units was ever made twice.
func (s *stage) requireBornOnce() {
	s.t.Helper()
	s.requireBorn(installationKind, killedUnits)
	s.requireBorn(executionKind, killedUnits)
	s.requireBorn(deployItemKind, 2*killedUnits+s.helmUnits())
	s.requireBorn(configMapKind, killedUnits+s.helmUnits())
	s.requireBorn(dataObjectKind, killedUnits)
	s.requireBorn(targetKind, killedUnits)
}

func (s *stage) helmUnits() int {
	number := 0
	for i := range killedUnits {
		if s.units.HasHelm(i) {
			number++
		}
	}
	return number
}

// prepare makes what the units share and begins the ledger; deployers are user target on the target cluster.
func (s *stage) prepare(ctx context.Context) {
	s.t.Helper()
	config, err := s.NewUser(targetUser, rig.AllRights)
	require.NoError(s.t, err)
	s.prepareWith(ctx, config)
}

// prepareWith is prepare with the access that deployers have to the target.
func (s *stage) prepareWith(ctx context.Context, config *rest.Config) {
	s.t.Helper()
	require.NoError(s.t, s.units.Prepare(ctx, s.Cluster, config))
	s.ledger = s.keepLedger(ctx)
}

var chartFiles = map[string]string{
	"Chart.yaml":         "apiVersion: v2\nname: settings\nversion: 1.0.0\n",
	"values.yaml":        "version: none\n",
	"templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-chart\"}\ndata: {version: \"{{ .Values.version }}\"}\n",
}

// chart is a packaged chart with one ConfigMap.
func chart(t *testing.T) []byte { return packChart(t, chartFiles) }

// unforgivingChart is a packaged chart with a test, in whose brokenVersion the API server refuses an object.
func unforgivingChart(t *testing.T) []byte {
	files := maps.Clone(chartFiles)
	files["templates/test.yaml"] = `apiVersion: v1
kind: Secret
metadata:
  name: "{{ .Release.Name }}-test"
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
`
	files["templates/zzz.yaml"] = `{{ if eq .Values.version "` + brokenVersion + `" }}
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}-broken"}
spec: {ports: [{port: 99999}]}
{{ end }}
`
	return packChart(t, files)
}

func packChart(t *testing.T, files map[string]string) []byte {
	archive, err := servers.PackageChart(servers.Files(files))
	require.NoError(t, err)
	return archive
}

func newRandom(t *testing.T) *rand.Rand {
	chosen := uint64(*seed)
	if chosen == 0 {
		chosen = uint64(time.Now().UnixNano()) >> 10 % 1_000_000
	}
	t.Logf("repeat with: go test ./tests/soak/chaos -run '^%s$' -args -chaos-seed %d", t.Name(), chosen)
	return rand.New(rand.NewPCG(chosen, 0))
}

// A kill is due when so many changes have been seen.
type kill struct {
	at      int
	program string
}

// plan spreads as many moments per program over the changes of the units, one at a random place in each part.
func plan(random *rand.Rand, programs []string, times int) []kill {
	var kills []kill
	part := killedUnits * changesOfEach / times
	for _, program := range programs {
		for i := range times {
			kills = append(kills, kill{at: 1 + i*part + random.IntN(part), program: program})
		}
	}
	slices.SortStableFunc(kills, func(a, b kill) int { return cmp.Compare(a.at, b.at) })
	return kills
}

// killer kills programs and starts them again while it counts the changes of landscaper objects.
type killer struct {
	stage *stage

	mu      sync.Mutex
	pending []kill
	changes int
	err     error
}

// killDuring begins to kill the programs as planned at random.
func (s *stage) killDuring(random *rand.Rand, programs []string, times int) *killer {
	s.t.Helper()
	k := &killer{stage: s, pending: plan(random, programs, times)}
	s.ledger.listen(k.change)
	return k
}

// change counts one change of an Installation, Execution or DeployItem and does what is due.
func (k *killer) change(kind string) {
	if !slices.Contains([]string{installationKind, executionKind, deployItemKind}, kind) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	for len(k.pending) > 0 && k.pending[0].at <= k.changes {
		next := k.pending[0]
		k.pending = k.pending[1:]
		if err := k.stage.programs[next.program].Restart(); err != nil && k.err == nil {
			k.err = fmt.Errorf("cannot restart %s: %w", next.program, err)
		}
	}
}

// requireAll fails unless every kill has happened.
func (k *killer) requireAll(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	require.NoError(t, k.err)
	require.Empty(t, k.pending, "kills that did not happen in %d changes", k.changes)
}
