// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
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
		from   *v1alpha1.Installation
		others siblings
		want   []string
	}{
		"roots at any distance": {
			relaying("a", "-", "1"), siblings{relaying("b", "1", "2"), relaying("c", "2", "3")}, []string{"b", "c"},
		},
		"not upstream": {relaying("b", "1", "2"), siblings{relaying("a", "-", "1")}, []string{}},
		"of nested ones only consumers": {
			below("p", "a", "-", "1"), siblings{below("p", "b", "1", "2"), below("p", "c", "2", "3")}, []string{"b"},
		},
		"nobody below another parent": {
			below("p", "a", "-", "1"), siblings{below("q", "b", "1", "2"), relaying("c", "1", "2")}, []string{},
		},
		"those that are met twice, once": {
			relaying("a", "-", "1"), siblings{relaying("b", "1", "2"), relaying("c", "1", "2"), relaying("d", "2", "3")}, []string{"b", "c", "d"},
		},
		"round a circle": {relaying("a", "2", "1"), siblings{relaying("b", "1", "2")}, []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := finding(t, append(tc.others, tc.from)...).Downstream(t.Context(), tc.from)
			require.NoError(t, err)
			assert.ElementsMatch(t, tc.want, namesOf(found))
		})
	}
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
