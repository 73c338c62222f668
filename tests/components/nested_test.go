// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// letters is a component with a blueprint that appends what the component is for to what it imports.
func letters() *built {
	return build("example.com/letters", "1.0.0").blueprint("append", object{
		"imports":          list{object{"name": "in", "type": "data", "schema": object{"type": "string"}}},
		"exports":          list{object{"name": "out", "type": "data", "schema": object{"type": "string"}}},
		"exportExecutions": goTemplate(`exports: {out: {{ .imports.in | quote }}}`),
	}, nil)
}

// appender is a sub-installation that appends a letter to one or several values, given as a Spiff expression.
func appender(name, expression string, from ...string) object {
	imports := list{}
	for _, ref := range from {
		imports = append(imports, object{"name": ref, "dataRef": ref})
	}
	return object{
		"name": name, "blueprint": object{"ref": "cd://componentReferences/letters/resources/append"},
		"imports": object{"data": imports}, "importDataMappings": object{"in": "(( " + expression + " ))"},
		"exports": object{"data": list{object{"name": "out", "dataRef": name}}},
	}
}

// word publishes a version of a component with sub-installations; the last one gives the export.
func (s *scene) word(version, last string, subinstallations ...object) {
	s.T.Helper()
	var templates list
	for _, template := range subinstallations {
		templates = append(templates, template)
	}
	s.publish(build("example.com/word", version).refers("letters", "example.com/letters", "1.0.0", nil).blueprint("blueprint", object{
		"imports":          list{object{"name": "start", "type": "data", "schema": object{"type": "string"}}},
		"exports":          list{object{"name": "word", "type": "data", "schema": object{"type": "string"}}},
		"subinstallations": templates, "exportExecutions": goTemplate(`exports: {word: {{ index .dataobjects "` + last + `" }}}`),
	}, nil))
}

func (s *scene) spell(version string) {
	s.T.Helper()
	s.install("word", of("example.com/word", version, "blueprint", object{
		"imports": object{"data": list{object{"name": "start", "dataRef": "start"}}},
		"exports": object{"data": list{object{"name": "word", "dataRef": "word"}}},
	}))
}

func TestB301To304DependenciesOfSubinstallations(t *testing.T) {
	s := newScene(t)
	s.useRegistry(nil)
	s.publish(letters())
	s.Put("DataObject", "start", object{"data": ""})

	s.word("1.0.0", "four", appender("one", `start "A"`, "start"), appender("two", `one "B"`, "one"), appender("three", `two "C"`, "two"),
		appender("four", `three "D"`, "three"))
	s.spell("1.0.0")
	s.succeeded("word")
	require.Equal(t, `"ABCD"`, s.value("word"), "B301: a chain")

	s.word("2.0.0", "four", appender("one", `start "A"`, "start"), appender("two", `start "B"`, "start"), appender("three", `start "C"`, "start"),
		appender("four", `"(" one "|" two "|" three ")D"`, "one", "two", "three"))
	s.spell("2.0.0")
	s.succeeded("word")
	require.Equal(t, `"(A|B|C)D"`, s.value("word"), "B302: a join")

	s.word("3.0.0", "four", appender("one", `start "A"`, "start"), appender("two", `one four "B"`, "one", "four"), appender("three", `two "C"`, "two"),
		appender("four", `three two "D"`, "three", "two"))
	s.spell("3.0.0")
	assert.Contains(t, s.failed("word").Codes, v1alpha1.ErrorCyclicDependencies, "B303: a cycle")

	conflict := appender("four", `one "D"`, "one")
	conflict["exports"] = object{"data": list{object{"name": "out", "dataRef": "one"}}}
	s.word("4.0.0", "one", appender("one", `start "A"`, "start"), conflict)
	s.spell("4.0.0")
	assert.Contains(t, s.failed("word").Message, `"one"`, "B304: two exports of one name")
	require.Equal(t, `"(A|B|C)D"`, s.value("word"), "a failed job leaves the exports as they are")
}

func TestA20SubinstallationsOfAnotherComponent(t *testing.T) {
	s := newScene(t)
	s.useRegistry(nil)
	s.publish(letters())
	s.Put("DataObject", "start", object{"data": "x"})
	s.word("1.0.0", "one", appender("one", `start "A"`, "start"))
	s.spell("1.0.0")
	s.succeeded("word")
	child := s.Child("word", "one")
	require.NotNil(t, child.Spec.ComponentDescriptor.Reference)
	assert.Equal(t, "example.com/letters", child.Spec.ComponentDescriptor.Reference.ComponentName)
	assert.Equal(t, "append", child.Spec.Blueprint.Reference.ResourceName)

	s.word("2.0.0", "one", object{"name": "one", "blueprint": object{"ref": "cd://componentReferences/nothing/resources/append"}})
	s.spell("2.0.0")
	failure := s.failed("word")
	assert.Equal(t, "InvalidBlueprintRef", failure.Reason)
	assert.Contains(t, failure.Message, `sub-installation "one": blueprint.ref "cd://componentReferences/nothing/resources/append"`)
}
