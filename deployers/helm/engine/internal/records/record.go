// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"encoding/json"
	"fmt"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// Rendered is what a child made of a chart for the next revision of a release. Helm's own rendering gets a chart without templates; what it cannot
// know of the revision is added when that is recorded, before any hook runs.
type Rendered struct {
	Manifest, Notes string
	Hooks           []*release.Hook
	Chart           *helmchart.Chart
	Values          map[string]any
	// Revision is the one that the templates have seen.
	Revision int
}

// Stub is the chart that Helm itself renders: nothing.
func (r *Rendered) Stub() *helmchart.Chart {
	metadata := *r.Chart.Metadata
	metadata.Dependencies = nil
	return &helmchart.Chart{Metadata: &metadata}
}

// Run returns the manifest in the place of the one that Helm has rendered.
func (r *Rendered) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBufferString(r.Manifest), nil
}

// RecordedChart returns a chart as Helm records it. Its values are left as they are written: nobody but the storage reads them.
func RecordedChart(raw []byte) (*helmchart.Chart, error) {
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

// Recording is a storage that completes the revision which an operation makes. Those that undo it are left as they are.
type Recording struct {
	driver.Driver
	Rendered *Rendered
	isDone   bool
}

// Create stores a new revision.
func (r *Recording) Create(key string, rel *release.Release) error {
	if !r.isDone {
		if rel.Version != r.Rendered.Revision && !isReplacement(rel, r.Rendered) {
			return fmt.Errorf("revision %d was made meanwhile", rel.Version-1)
		}
		r.isDone = true
		rel.Hooks, rel.Chart, rel.Config, rel.Info.Notes = r.Rendered.Hooks, r.Rendered.Chart, r.Rendered.Values, r.Rendered.Notes
	}
	return r.Driver.Create(key, rel)
}

// isReplacement reports whether an install takes the name of an uninstalled release: Helm shows its templates the revision 1 all the same.
func isReplacement(rel *release.Release, rendered *Rendered) bool {
	return rel.Info.Status == release.StatusPendingInstall && rendered.Revision == 1
}
