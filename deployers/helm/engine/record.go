// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

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

// recordedChart returns a chart as Helm records it. Its values are left as they are written: nobody but the storage reads them.
func recordedChart(raw []byte) (*helmchart.Chart, error) {
	parts := struct {
		Metadata  *helmchart.Metadata        `json:"metadata"`
		Lock      *helmchart.Lock            `json:"lock"`
		Templates []*helmchart.File          `json:"templates"`
		Values    map[string]json.RawMessage `json:"values"`
		Schema    []byte                     `json:"schema"`
		Files     []*helmchart.File          `json:"files"`
	}{}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	chart := &helmchart.Chart{Metadata: parts.Metadata, Lock: parts.Lock, Templates: parts.Templates, Schema: parts.Schema, Files: parts.Files}
	if parts.Values != nil {
		chart.Values = make(map[string]any, len(parts.Values))
	}
	for key, value := range parts.Values {
		chart.Values[key] = value
	}
	return chart, nil
}

// recording is a storage that completes the revision which an operation makes. Those that undo it are left as they are.
type recording struct {
	driver.Driver
	rendered *rendered
	isDone   bool
}

// Create stores a new revision.
func (r *recording) Create(key string, rel *release.Release) error {
	if !r.isDone {
		if rel.Version != r.rendered.revision && !isReplacement(rel, r.rendered) {
			return fmt.Errorf("revision %d was made meanwhile", rel.Version-1)
		}
		r.isDone = true
		rel.Hooks, rel.Chart, rel.Config, rel.Info.Notes = r.rendered.hooks, r.rendered.chart, r.rendered.values, r.rendered.notes
	}
	return r.Driver.Create(key, rel)
}

// isReplacement reports whether an install takes the name of an uninstalled release: Helm shows its templates the revision 1 all the same.
func isReplacement(rel *release.Release, rendered *rendered) bool {
	return rel.Info.Status == release.StatusPendingInstall && rendered.revision == 1
}
