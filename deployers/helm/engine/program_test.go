// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	helmchart "helm.sh/helm/v3/pkg/chart"

	"github.com/flux-landscaper/flux-landscaper/confined"
)

func TestValuesComeOverAsTheyAre(t *testing.T) {
	given := map[string]any{
		"null": nil, "text": "a", "float": 1.5, "whole": 3.0, "integer": int64(1 << 60), "yes": true,
		"map": map[string]any{"empty": map[string]any{}, "null": nil}, "list": []any{nil, "a", []any{}, map[string]any{"a": 1.5}},
	}
	for name, values := range map[string]map[string]any{"some": given, "none": {}} {
		t.Run(name, func(t *testing.T) {
			sent, err := taskOf(taskLoad, Request{Chart: &Chart{}, Values: values})
			require.NoError(t, err)
			w := &worker{task: sent, parent: &confined.Parent{}}
			require.ErrorIs(t, w.work(), ErrChart)
			assert.Equal(t, values, w.values)
		})
	}
}

func TestMarksDoNotShiftWhatErrorsSay(t *testing.T) {
	for _, column := range []int{3, 57} {
		said := fmt.Sprintf("template: a/templates/b.yaml:1:%d: executing at line 2:1:9", column+len(mark))
		assert.Equal(t, fmt.Sprintf("template: a/templates/b.yaml:1:%d: executing at line 2:1:9", column), unmarked(said))
	}
}

func TestTemplatesAreRecordedWithoutMarks(t *testing.T) {
	shared := &helmchart.File{Name: "templates/a.yaml", Data: []byte("a: 1")}
	partial := &helmchart.File{Name: "templates/_b.tpl", Data: []byte("b")}
	chart := &helmchart.Chart{Templates: []*helmchart.File{shared, partial, nil}}
	chart.AddDependency(&helmchart.Chart{Templates: []*helmchart.File{shared}})
	eachTemplate(chart, addMark)
	assert.Equal(t, mark+"a: 1", string(shared.Data), "once, also where dependencies share it")
	assert.Equal(t, "b", string(partial.Data))
	eachTemplate(chart, removeMark)
	assert.Equal(t, "a: 1", string(shared.Data))
}

func TestLongErrorsKeepBeginningAndEnd(t *testing.T) {
	text := withoutMiddle("begin " + strings.Repeat("ä", 10_000) + " end")
	assert.True(t, strings.HasPrefix(text, "begin ") && strings.HasSuffix(text, " end"))
	assert.LessOrEqual(t, len(text), 2*maxErrorText+10)
	assert.Equal(t, "short", withoutMiddle("short"))
}

func TestWhoIsToBlameForTheEndOfATask(t *testing.T) {
	for name, tc := range map[string]struct{ err, kind error }{
		"it took too long":       {&confined.Ended{Reason: confined.OutOfTime}, ErrUnaffordable},
		"ended from outside":     {&confined.Ended{Reason: confined.Died}, ErrNotRun},
		"not started":            {fmt.Errorf("%w: no memory", confined.ErrNotStarted), ErrNotRun},
		"the caller has no time": {context.Canceled, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			told := toldBy("", tc.err)
			require.ErrorIs(t, told, tc.kind)
			assert.Equal(t, tc.err.Error(), told.Error())
		})
	}
}

// deploymentWith is a Deployment whose only container has a limit of processor time.
func deploymentWith(cpu string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: main, resources: {limits: {cpu: \"" + cpu + "\"}}}]}}}\n"
}

func TestQuantitiesThatNobodyCanWorkOutEndWithTheirChart(t *testing.T) {
	for cpu, isBad := range map[string]bool{"500m": false, "1e3": false, "1234567890123456789e2147483639": true} {
		w := &worker{parent: &confined.Parent{}}
		err := w.keepRevision(&helmchart.Chart{}, nil, deploymentWith(cpu))
		if isBad {
			require.ErrorIs(t, err, ErrRender, cpu)
			assert.ErrorContains(t, err, "write it shorter")
		} else {
			require.NoError(t, err, cpu)
		}
	}
}

func TestListsInListsAreFlat(t *testing.T) {
	object := func(name string) map[string]any { return map[string]any{"kind": name} }
	list := func(items ...any) map[string]any { return map[string]any{"kind": "List", "items": items} }
	var kinds []string
	for _, one := range Flat([]map[string]any{object("a"), list(object("b"), "no object", list(object("c")), list()), object("d")}) {
		kinds = append(kinds, one.GetKind())
	}
	assert.Equal(t, []string{"a", "b", "c", "d"}, kinds)
}

// A release keeps the end of a text in a block, so what is read from its record keeps it, too: else it would have drifted at once.
func TestTheTextAtTheEndOfADocumentKeepsItsNewline(t *testing.T) {
	objects, err := ParseManifest("---\na: |\n  first\n---\nb: |\n  last\n")
	require.NoError(t, err)
	assert.Equal(t, []map[string]any{{"a": "first\n"}, {"b": "last\n"}}, objects)
}
