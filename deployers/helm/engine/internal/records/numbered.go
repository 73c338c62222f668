// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"maps"
	"strconv"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// revisionLabel holds the number of the revision that was made here. Helm hands the labels of a revision on to the next one, also where a
// person makes that with helm upgrade or helm rollback: then the number is not that of the revision.
const revisionLabel = "helm.deployer.landscaper.gardener.cloud/revision"

// Numbered is a storage that labels the revisions made here with their numbers, those of rollbacks included.
type Numbered struct {
	driver.Driver
	// Labels are set on new revisions, beside those that Helm gives them.
	Labels map[string]string
}

// Create stores a new revision.
func (n Numbered) Create(key string, rel *release.Release) error {
	labels := maps.Clone(rel.Labels) // a rollback shares them with the revision that it goes back to
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, n.Labels)
	labels[revisionLabel] = strconv.Itoa(rel.Version)
	rel.Labels = labels
	return n.Driver.Create(key, rel)
}

// IsInherited reports whether a revision has its labels from one that was made here. One without a number may have been made here by an
// earlier version of the deployer.
func IsInherited(rel *release.Release) bool {
	number, has := rel.Labels[revisionLabel]
	return has && number != strconv.Itoa(rel.Version)
}
