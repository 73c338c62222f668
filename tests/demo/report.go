// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// A report says what happens: on a terminal the tree changes in place, else each change is a line. The end of each round, from the first
// sign of a change until everything is ready, is said in both.
type report struct {
	screen  *landscape.Screen
	latest  *landscape.Snapshot
	changes landscape.Changes
	began   time.Time         // of the round that is going on
	settled map[string]string // the last job of each Installation when the last round ended
	calm    bool              // no round is going on
}

// clock is how times of day are shown, in UTC as those of the API.
const clock = "15:04:05Z"

func newReport(screen *landscape.Screen, began time.Time) *report {
	return &report{screen: screen, latest: &landscape.Snapshot{}, began: began, settled: map[string]string{}}
}

// take shows a snapshot, and reports whether everything has just become ready.
func (r *report) take(snapshot *landscape.Snapshot, now time.Time) (settled bool) {
	r.latest = snapshot
	if !r.screen.Live {
		r.screen.Say(r.changes.Lines(r.nodes(now), now)...)
	}
	r.paint(now)
	revision, ready := r.ready(now)
	switch {
	case ready && !r.calm:
		r.calm = true
		r.finish(revision, now)
		return true
	case !ready && r.calm:
		r.calm, r.began = false, now
	}
	return false
}

// animate lets times move while a round is going on.
func (r *report) animate(now time.Time) {
	if !r.calm {
		r.paint(now)
	}
}

func (r *report) nodes(now time.Time) []*landscape.Node {
	return r.latest.Tree(landscape.TreeOptions{Sources: true, Now: now})
}

func (r *report) lines(now time.Time) []string {
	return append([]string{""}, landscape.TreeTable(r.nodes(now), false).Lines(r.screen.Width(), r.screen.Paint)...)
}

// paint shows the tree in place.
func (r *report) paint(now time.Time) {
	if r.screen.Live {
		r.screen.Show(r.lines(now))
	}
}

// ready reports whether everything that is in Git is deployed, with the revision that was applied.
func (r *report) ready(now time.Time) (revision string, ready bool) {
	newest := map[string]string{}
	for i := range r.latest.GitRepositories.Items {
		if artifact := r.latest.GitRepositories.Items[i].Status.Artifact; artifact != nil {
			newest[r.latest.GitRepositories.Items[i].Name] = artifact.Revision
		}
	}
	for i := range r.latest.Kustomizations.Items {
		kustomization := &r.latest.Kustomizations.Items[i]
		revision = kustomization.Status.LastAppliedRevision
		if revision == "" || revision != newest[kustomization.Spec.SourceRef.Name] {
			return revision, false
		}
	}
	for i := range r.latest.Installations.Items {
		inst := &r.latest.Installations.Items[i]
		status := landscape.StatusOf(inst, now)
		if status.Suspended && inst.Status.IsIdle() {
			continue // nothing more happens to it
		}
		if status.Health != landscape.Well || status.Pending {
			return revision, false
		}
	}
	return revision, revision != "" && len(r.latest.Installations.Items) > 0
}

// finish sums a round up and, without a terminal, prints the tree.
func (r *report) finish(revision string, now time.Time) {
	jobs, waiting := map[string]string{}, []string{}
	for i := range r.latest.Installations.Items {
		inst := &r.latest.Installations.Items[i]
		status := landscape.StatusOf(inst, now)
		jobs[inst.Name] = inst.Status.JobID
		if status.Suspended && status.Pending {
			waiting = append(waiting, inst.Name)
		}
	}
	r.screen.Sayf("%s %s  %s is deployed after %s: %s.", r.screen.Paint.Green("✓"), now.UTC().Format(clock),
		landscape.Short(revision), took(now.Sub(r.began)), difference(r.settled, jobs))
	if len(waiting) > 0 {
		r.screen.Sayf("             suspended, with a change that waits: %s.", list(waiting))
	}
	r.settled = jobs
	if !r.screen.Live {
		r.tree()
	}
}

// difference says which Installations have another last job than before, which have the same, and which are gone.
func difference(before, after map[string]string) string {
	var ran, untouched, removed []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] == before[name] {
			untouched = append(untouched, name)
		} else {
			ran = append(ran, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, exists := after[name]; !exists {
			removed = append(removed, name)
		}
	}
	parts := []string{"ran " + list(ran), "untouched " + list(untouched)}
	if len(removed) > 0 {
		parts = append(parts, "removed "+list(removed))
	}
	return strings.Join(parts, "; ")
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// leave is the end of the report: the tree stays, where it is not the last that was said anyway.
func (r *report) leave() {
	r.screen.Show(nil)
	if r.screen.Live || !r.calm {
		r.tree()
	}
}

// tree prints the tree to stay.
func (r *report) tree() { r.screen.Say(append(r.lines(time.Now()), "")...) }
