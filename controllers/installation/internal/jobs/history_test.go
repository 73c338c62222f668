// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestRevisionOfAnInstallation(t *testing.T) {
	component := &v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{Version: "1.2.3"}}
	for name, c := range map[string]struct {
		sources   []v1alpha1.SourceStatus
		component *v1alpha1.ComponentDescriptorDefinition
		want      string
	}{
		"source":               {sources: []v1alpha1.SourceStatus{{Revision: "main@sha1:a"}}, want: "main@sha1:a"},
		"component by name":    {component: component, want: "1.2.3"},
		"source and component": {sources: []v1alpha1.SourceStatus{{Revision: "main@sha1:a"}}, component: component, want: "main@sha1:a"},
		"source not fetched":   {sources: []v1alpha1.SourceStatus{{}}, component: component, want: "1.2.3"},
		"in place":             {component: &v1alpha1.ComponentDescriptorDefinition{}},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			inst.Spec.ComponentDescriptor, inst.Status.Sources = c.component, c.sources
			assert.Equal(t, c.want, RevisionOf(inst))
		})
	}
}
