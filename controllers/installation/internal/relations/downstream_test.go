// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
)

// below makes a sub-installation import and export objects of its namespace by their own names.
func below(parent, name, imported, exported string) *v1alpha1.Installation {
	inst := fixture.Node(name, parent)
	ties := relaying(name, "#"+imported, "#"+exported)
	inst.Spec = ties.Spec
	return inst
}

// counted counts how often a Finder lists. A list that copies objects counts for many.
func counted(finder *Finder) (*Finder, *int) {
	lists := 0
	finder.Reader = interceptor.NewClient(finder.Reader.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			asked := (&client.ListOptions{}).ApplyOptions(options)
			if lists++; asked.UnsafeDisableDeepCopy == nil || !*asked.UnsafeDisableDeepCopy {
				lists += 1000
			}
			return c.List(ctx, list, options...)
		},
	})
	return finder, &lists
}

func TestWhereSomethingFlowsTo(t *testing.T) {
	type siblings []*v1alpha1.Installation
	for name, tc := range map[string]struct {
		from, others siblings
		want         []string
	}{
		"roots at any distance": {
			siblings{relaying("a", "-", "1")}, siblings{relaying("b", "1", "2"), relaying("c", "2", "3")}, []string{"b", "c"},
		},
		"not upstream": {siblings{relaying("b", "1", "2")}, siblings{relaying("a", "-", "1")}, nil},
		"of nested ones only consumers": {
			siblings{below("p", "a", "-", "1")}, siblings{below("p", "b", "1", "2"), below("p", "c", "2", "3")}, []string{"b"},
		},
		"nobody below another parent": {
			siblings{below("p", "a", "-", "1")}, siblings{below("q", "b", "1", "2"), relaying("c", "1", "2")}, nil,
		},
		"from several, each once": {
			siblings{relaying("a", "-", "1"), relaying("b", "-", "1")}, siblings{relaying("c", "1", "2")}, []string{"c"},
		},
		"from several parents": {
			siblings{below("p", "a", "-", "1"), relaying("b", "-", "1")},
			siblings{below("p", "c", "1", "2"), relaying("d", "1", "2"), relaying("e", "2", "3")}, []string{"c", "d", "e"},
		},
		"round a circle": {siblings{relaying("a", "2", "1")}, siblings{relaying("b", "1", "2")}, []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var from []Ties
			for _, inst := range tc.from {
				from = append(from, TiesOf(inst))
			}
			found, err := finding(t, append(tc.others, tc.from...)...).Downstream(t.Context(), "ns", from)
			require.NoError(t, err)
			assert.ElementsMatch(t, tc.want, found)
		})
	}
}

// TestAWalkListsWhatAKeyLeadsToOnce has roots that all import and export the same.
func TestAWalkListsWhatAKeyLeadsToOnce(t *testing.T) {
	const roots, keys = 6, 7
	var all []*v1alpha1.Installation
	var from []Ties
	for i := range roots {
		inst := fixture.Node(fmt.Sprintf("root-%d", i), "")
		for k := range keys {
			name := fmt.Sprintf("data-%d", k)
			inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: name, DataRef: name})
			inst.Spec.Exports.Data = append(inst.Spec.Exports.Data, v1alpha1.DataExport{Name: name, DataRef: name})
		}
		all, from = append(all, inst), append(from, TiesOf(inst))
	}
	finder, lists := counted(finding(t, all...))
	found, err := finder.Downstream(t.Context(), "ns", from)
	require.NoError(t, err)
	assert.Len(t, found, roots)
	assert.Equal(t, keys, *lists)
}

func TestWhatIsNamedTwiceIsListedOnce(t *testing.T) {
	producer, inst := relaying("a", "-", "1"), relaying("b", "1", "2")
	inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: "again", DataRef: "1"})
	finder, lists := counted(finding(t, producer, inst))
	found, err := finder.Producers(t.Context(), inst)
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, namesOf(found))
	assert.Equal(t, 1, *lists)
}
