// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// marked is a component with a blueprint that exports the mark and a sub-installation of what it refers to, if anything.
func marked(name, version, mark, below, belowVersion string) *built {
	parts := object{
		"exports":          list{object{"name": "mark", "type": "data", "schema": object{"type": "string"}}},
		"deployExecutions": goTemplate(mockTemplate(`{mark: "` + mark + `"}`)),
		"exportExecutions": goTemplate(`exports: {mark: "{{ .values.deployitems.item.mark }}{{ .dataobjects.below }}"}`),
	}
	b := build(name, version)
	if below != "" {
		b.refers("below", below, belowVersion, nil)
		parts["subinstallations"] = list{object{
			"name": "below", "blueprint": object{"ref": "cd://componentReferences/below/resources/blueprint"},
			"exports": object{"data": list{object{"name": "mark", "dataRef": "below"}}},
		}}
	} else {
		parts["exportExecutions"] = goTemplate(`exports: {mark: {{ .values.deployitems.item.mark | quote }}}`)
	}
	return b.blueprint("blueprint", parts, nil)
}

func overwrite(name, version, toName, toVersion string) object {
	to := object{"version": toVersion}
	if toName != "" {
		to["componentName"] = toName
	}
	return object{"source": object{"componentName": name, "version": version}, "substitution": to}
}

func (s *scene) installMarked(name string) {
	s.T.Helper()
	s.install(name, of("example.com/root", "1.0.0", "blueprint", object{
		"exports": object{"data": list{object{"name": "mark", "dataRef": name}}},
	}))
}

func TestB1202OverwritesOfDirectAndIndirectReferences(t *testing.T) {
	s := newScene(t)
	s.publish(
		marked("example.com/root", "1.0.0", "root1", "example.com/sub", "1.0.0"), marked("example.com/root", "2.0.0", "root2", "example.com/sub", "1.0.0"),
		marked("example.com/sub", "1.0.0", "sub1", "", ""), marked("example.com/sub", "2.0.0", "sub2", "", ""),
	)
	s.useRegistry(object{"componentVersionOverwrites": "overwrites"})
	s.Put("ComponentVersionOverwrites", "overwrites", object{"overwrites": list{
		overwrite("example.com/root", "1.0.0", "", "2.0.0"), overwrite("example.com/sub", "1.0.0", "", "2.0.0"),
	}})
	s.installMarked("one")
	done := s.succeeded("one")
	assert.Equal(t, `"root2sub2"`, s.value("one"))
	shown := conditions.Get(done, v1alpha1.ComponentReferenceOverwriteCondition)
	require.NotNil(t, shown)
	assert.Equal(t, "FoundOverwrite", shown.Reason)
	assert.Contains(t, shown.Message, "2.0.0")

	s.Put("ComponentVersionOverwrites", "overwrites", object{"overwrites": list{overwrite("example.com/sub", "1.0.0", "", "2.0.0")}})
	s.Annotate(s.Installation("one"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	done = s.Ran("one", done.Status.JobID, v1alpha1.PhaseSucceeded)
	assert.Equal(t, `"root1sub2"`, s.value("one"))
	assert.True(t, conditions.IsFalse(done, v1alpha1.ComponentReferenceOverwriteCondition))
}

func TestB1203OverwritesOfReferencesOfOverwrittenComponents(t *testing.T) {
	s := newScene(t)
	s.publish(
		marked("example.com/root", "1.0.0", "root", "example.com/sub", "1.0.0"), marked("example.com/other", "2.0.0", "other", "example.com/leaf", "1.0.0"),
		marked("example.com/sub", "1.0.0", "sub", "", ""), marked("example.com/leaf", "1.0.0", "leaf1", "", ""), marked("example.com/twig", "3.0.0", "twig", "", ""),
	)
	s.useRegistry(object{"componentVersionOverwrites": "overwrites"})
	s.Put("ComponentVersionOverwrites", "overwrites", object{"overwrites": list{
		overwrite("example.com/sub", "1.0.0", "example.com/other", "2.0.0"), overwrite("example.com/leaf", "1.0.0", "example.com/twig", "3.0.0"),
	}})
	s.installMarked("one")
	s.succeeded("one")
	assert.Equal(t, `"rootothertwig"`, s.value("one"))
}
