// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// revisionLabel holds the number of the revision that was made here; see fromHelm.
const revisionLabel = "helm.deployer.landscaper.gardener.cloud/revision"

// ErrRecordUnreadable says that a release has a record that cannot be read. It helps nothing to try again before a person has cured it.
var ErrRecordUnreadable = errors.New("is no record of a Helm release that can be read")

// records is Helm's own storage for one operation on a release. It labels revisions with their numbers, completes the one that the operation makes, and
// remembers what could not be written.
type records struct {
	driver.Driver
	// kind is Secret or ConfigMap.
	kind    string
	journal *journal
	// labels are set on new revisions, beside those that Helm gives them.
	labels map[string]string
	// rendered completes the next revision; nil leaves it as it is, as those that undo another one.
	rendered *rendered
	// resume is called where a release is leaving, which counts as one that is being uninstalled then.
	resume func()

	mu sync.Mutex
	// lost are the records that could not be updated. Helm only logs that at the end of an install and for the revision that an upgrade supersedes: the
	// release would stay pending although all of it is deployed, or have two revisions that count as deployed.
	lost map[string]*release.Release
}

// whole returns an error unless Helm has read all records, and each has what Helm looks into. It passes over those that it cannot read.
func (r *records) whole(found ...*release.Release) error {
	isBroken := func(rel *release.Release) bool {
		return rel == nil || rel.Info == nil || slices.Contains(rel.Hooks, nil)
	}
	if r.journal.takeUnreadable() || slices.ContainsFunc(found, isBroken) {
		return fmt.Errorf("a %s with the labels owner=helm and the name of the release %w; delete it, or correct it", r.kind, ErrRecordUnreadable)
	}
	return nil
}

// read calls Helm's storage, which panics where it cannot read the record of a name.
func (r *records) read(call func(string) (*release.Release, error), key string) (found *release.Release, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%s %s %w; delete it, or correct it", r.kind, key, ErrRecordUnreadable)
		}
	}()
	if found, err = call(key); err != nil {
		return nil, err
	}
	return found, r.whole(found)
}

// Get returns a record.
func (r *records) Get(key string) (*release.Release, error) { return r.read(r.Driver.Get, key) }

// Query returns the records with the given labels.
func (r *records) Query(labels map[string]string) ([]*release.Release, error) {
	found, err := r.Driver.Query(labels)
	if err == nil {
		err = r.whole(found...)
	}
	for _, rel := range found {
		if err == nil && r.resume != nil && isLeaving(rel) {
			rel.Info.Status = release.StatusUninstalling
			r.resume()
		}
	}
	return found, err
}

// Create stores a new revision.
func (r *records) Create(key string, rel *release.Release) error {
	if made := r.rendered; made != nil {
		// An install that takes the name of an uninstalled release shows its templates the revision 1 all the same.
		isReplacement := rel.Info.Status == release.StatusPendingInstall && made.revision == 1
		if rel.Version != made.revision && !isReplacement {
			return fmt.Errorf("revision %d was made meanwhile", rel.Version-1)
		}
		r.rendered = nil
		rel.Hooks, rel.Chart, rel.Config, rel.Info.Notes = made.hooks, made.chart, made.values, made.notes
	}
	// A rollback shares its labels with the revision that it goes back to.
	rel.Labels = joined(joined(rel.Labels, r.labels), map[string]string{revisionLabel: strconv.Itoa(rel.Version)})
	return r.Driver.Create(key, rel)
}

// Update changes a record.
func (r *records) Update(key string, rel *release.Release) error {
	err := r.Driver.Update(key, rel)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lost, key)
	if err != nil {
		if r.lost == nil {
			r.lost = map[string]*release.Release{}
		}
		r.lost[key] = rel
	}
	return err
}

// Delete removes a record.
func (r *records) Delete(key string) (*release.Release, error) {
	r.mu.Lock()
	delete(r.lost, key)
	r.mu.Unlock()
	return r.read(r.Driver.Delete, key)
}

// recover writes the records anew that were lost. Whoever gets an error has an operation that was carried out and is not recorded.
func (r *records) recover() error {
	r.mu.Lock()
	lost := maps.Clone(r.lost)
	r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		if err := r.Update(key, lost[key]); err != nil {
			return fmt.Errorf("revision %d cannot be recorded as %s: %w", lost[key].Version, lost[key].Info.Status, err)
		}
	}
	return nil
}

// rendered is what a child made of a chart for the next revision of a release. Helm's own rendering gets a chart without templates; what it cannot
// know of the revision is added when that is recorded, before any hook runs.
type rendered struct {
	manifest, notes string
	hooks           []*release.Hook
	chart           *helmchart.Chart
	values          map[string]any
	// revision is the one that the templates have seen.
	revision int
}

// stub is the chart that Helm itself renders: nothing.
func (r *rendered) stub() *helmchart.Chart {
	metadata := *r.chart.Metadata
	metadata.Dependencies = nil
	return &helmchart.Chart{Metadata: &metadata}
}

// Run returns the manifest in the place of the one that Helm has rendered.
func (r *rendered) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBufferString(r.manifest), nil
}
