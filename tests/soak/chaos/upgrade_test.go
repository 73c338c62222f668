// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// release is a program with the CRDs that belong to it.
type release struct{ name, program, crds string }

func crdsOf(source string) string { return filepath.Join(source, "config", "crd", "bases") }

// releases are that of the previous commit, and that of this checkout.
func (s *stage) releases(ctx context.Context) (before, now release) {
	s.t.Helper()
	previous, err := binaries.CheckOutPrevious(ctx, 1)
	if errors.Is(err, binaries.ErrNoPrevious) {
		s.t.Skipf("nothing to upgrade from: %v", err)
	}
	require.NoError(s.t, err)
	const command = "./cmd/landscaper"
	program, err := previous.Build(ctx, command)
	require.NoError(s.t, err)
	own, err := binaries.BuildStatic(ctx, command)
	require.NoError(s.t, err)
	root, err := binaries.RepositoryRoot()
	require.NoError(s.t, err)
	return release{"the release of commit " + previous.Commit, program, crdsOf(previous.Source)}, release{"this release", own, crdsOf(root)}
}

// elect lets programs wait until no other of their name leads, as in Deployments.
const elect = "--enable-leader-election"

// replace has each program replaced by that of another release, as Flux and a Deployment with more than one replica do: CRDs first, and the new
// program is there before the old one ends.
func (s *stage) replace(ctx context.Context, names []string, by release) error {
	if err := s.InstallCRDs(ctx, by.crds); err != nil {
		return err
	}
	for _, name := range names {
		next, err := rig.Start(s.Cluster, by.program, name, nil, elect)
		if err != nil {
			return err
		}
		old := s.programs[name]
		s.programs[name] = next
		if err := errors.Join(next.AwaitReady(ctx), old.Stop(stopGrace)); err != nil {
			return fmt.Errorf("replace %s: %w", name, err)
		}
	}
	return nil
}

// rounds change every unit again and again; each round ends when all have been deployed anew.
type rounds struct {
	*stage
	done int
}

// next changes every unit once more. It fails as soon as a job fails.
func (r *rounds) next(ctx context.Context) {
	r.t.Helper()
	r.done++
	version := "v" + strconv.Itoa(r.done)
	change := func(ctx context.Context, i int) error { return r.units.Update(ctx, r.harness, i, version) }
	if r.done == 1 {
		change = func(ctx context.Context, i int) error { return r.units.Create(ctx, r.harness, i, version) }
	}
	r.reach(ctx, killedUnits, rig.Succeeded(int64(r.done)), change)
}

// during goes on with changes until something else is done, and for one round more.
func (r *rounds) during(ctx context.Context, act func() error) {
	r.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- act() }()
	for {
		r.next(ctx)
		select {
		case err := <-ended:
			require.NoError(r.t, err)
			r.next(ctx)
			return
		default:
		}
	}
}

// TestUpgradeFromThePreviousCommitUnderLoadAndBack replaces the release of the previous commit by this one, and this one by that again, while fifty
// Installations change without a pause. No job fails, none is done twice, and nothing is deleted or made anew.
func TestUpgradeFromThePreviousCommitUnderLoadAndBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*killNineTimeout+buildTimeout)
	defer cancel()
	s := newStage(t, func(u *rig.Units) { u.Mock, u.HelmChart, u.HelmEvery = true, chart(t), helmEvery })
	before, now := s.releases(ctx)
	t.Cleanup(func() { require.NoError(t, s.InstallCRDs(context.WithoutCancel(ctx), now.crds)) }) // for other tests
	require.NoError(t, s.InstallCRDs(ctx, before.crds))
	require.NoError(t, s.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-system"}})) // of the Leases
	s.prepare(ctx)
	s.begun, s.path = time.Now(), before.program
	names := []string{rig.Controller, rig.ManifestDeployer, rig.MockDeployer, rig.HelmDeployer}
	s.start(ctx, names, nil, elect)
	r := &rounds{stage: s}
	r.next(ctx)
	r.next(ctx)

	for _, next := range []release{now, before} {
		first, began := r.done, time.Now()
		r.during(ctx, func() error { return s.replace(ctx, names, next) })
		t.Logf("%s works after %d rounds and %s; %s", next.name, r.done-first, time.Since(began), s.summary(ctx))
	}

	s.requireBornOnce()
	s.requireJobs(killedUnits, r.done)
	s.requireVersion(ctx, killedUnits, "v"+strconv.Itoa(r.done))
	s.requireReleases(ctx, 0, killedUnits, strconv.Itoa(r.done))
	for _, resource := range []string{configMaps, "installations", "executions", "deployitems"} {
		require.Empty(t, s.deletions(ctx, resource), "deletions of %s", resource)
	}
}
