// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// Recovering is a storage that remembers the records which it could not update. Helm only logs such an error at the end of an install and for
// the revision that an upgrade supersedes: the release would stay pending although all of it is deployed, or have two revisions that count as
// deployed.
type Recovering struct {
	driver.Driver

	mu   sync.Mutex
	lost map[string]*release.Release
}

// Update changes a record.
func (r *Recovering) Update(key string, rel *release.Release) error {
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
func (r *Recovering) Delete(key string) (*release.Release, error) {
	r.mu.Lock()
	delete(r.lost, key)
	r.mu.Unlock()
	return r.Driver.Delete(key)
}

// Recover writes the records anew that were lost. Whoever gets an error has an operation that was carried out and is not recorded.
func (r *Recovering) Recover() error {
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
