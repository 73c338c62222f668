// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// letters is a component with a blueprint that appends what the component is for to what it imports.
func letters() *built {
	return build("example.com/letters", "1.0.0").blueprint("append", object{
		"imports":          list{object{"name": "in", "type": "data", "schema": object{"type": "string"}}},
		"exports":          list{object{"name": "out", "type": "data", "schema": object{"type": "string"}}},
		"exportExecutions": goTemplate(`exports: {out: {{ .imports.in | quote }}}`),
	}, nil)
}

// word publishes a version of a component with the sub-installation "one", which gives the export.
func (s *scene) word(version string, one object) {
	s.T.Helper()
	one["name"] = "one"
	s.publish(build("example.com/word", version).refers("letters", "example.com/letters", "1.0.0", nil).blueprint("blueprint", object{
		"imports":          list{object{"name": "start", "type": "data", "schema": object{"type": "string"}}},
		"exports":          list{object{"name": "word", "type": "data", "schema": object{"type": "string"}}},
		"subinstallations": list{one}, "exportExecutions": goTemplate(`exports: {word: {{ .dataobjects.one }}}`),
	}, nil))
}

func (s *scene) spell(version string) {
	s.T.Helper()
	s.install("word", of("example.com/word", version, "blueprint", object{
		"imports": object{"data": list{object{"name": "start", "dataRef": "start"}}},
		"exports": object{"data": list{object{"name": "word", "dataRef": "word"}}},
	}))
}

func TestA20SubinstallationsOfAnotherComponent(t *testing.T) {
	s := newScene(t)
	s.useRegistry(nil)
	s.publish(letters())
	s.Put("DataObject", "start", object{"data": "x"})
	s.word("1.0.0", object{
		"blueprint": object{"ref": "cd://componentReferences/letters/resources/append"},
		"imports":   object{"data": refs("start")["data"]}, "importDataMappings": object{"in": `(( start "A" ))`},
		"exports": object{"data": list{object{"name": "out", "dataRef": "one"}}},
	})
	s.spell("1.0.0")
	s.succeeded("word")
	assert.Equal(t, `"xA"`, s.value("word"))
	child := s.Child("word", "one")
	require.NotNil(t, child.Spec.ComponentDescriptor.Reference)
	assert.Equal(t, "example.com/letters", child.Spec.ComponentDescriptor.Reference.ComponentName)
	assert.Equal(t, "append", child.Spec.Blueprint.Reference.ResourceName)

	s.word("2.0.0", object{"blueprint": object{"ref": "cd://componentReferences/nothing/resources/append"}})
	s.spell("2.0.0")
	failure := s.failed("word")
	assert.Equal(t, "InvalidBlueprintRef", failure.Reason)
	assert.Contains(t, failure.Message, `sub-installation "one": blueprint.ref "cd://componentReferences/nothing/resources/append"`)
}
