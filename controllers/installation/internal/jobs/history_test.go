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

func TestTheMessageOfSuccessSaysWhatIsDeployed(t *testing.T) {
	for name, c := range map[string]struct {
		revision string
		children int
		items    int
		took     string
		want     string
	}{
		"from a source":               {revision: "main@sha1:3e4d0b68a2b5e0d0f8c8", items: 2, took: "1.4s", want: "Deployed main@sha1:3e4d0b68: 2 items in 1.4s"},
		"of a version":                {revision: "1.2.3", items: 1, took: "1.4s", want: "Deployed 1.2.3: 1 item in 1.4s"},
		"in place":                    {items: 2, took: "1s", want: "Deployed 2 items in 1s"},
		"with sub-installations":      {children: 1, took: "3s", want: "Deployed 0 items and 1 sub-installation in 3s"},
		"in a time that is not known": {items: 2, want: "Deployed 2 items"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			inst.Status.LastAppliedRevision = c.revision
			if c.children > 0 {
				inst.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: make([]v1alpha1.SubNamePair, c.children)}
			}
			assert.Equal(t, c.want, SucceededMessage(inst, c.items, c.took))
		})
	}
}
