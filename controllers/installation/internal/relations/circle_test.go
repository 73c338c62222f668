// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// relaying is an Installation that imports and exports data.
func relaying(name, imported, exported string) *v1alpha1.Installation {
	inst := fixture.Node(name, "")
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: imported}}
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: exported}}
	return inst
}

func TestWhoLeadsBackInACircle(t *testing.T) {
	for name, tc := range map[string]struct {
		after map[string][]string
		want  []string
	}{
		"nobody follows":                      {map[string][]string{"a": nil}, nil},
		"a chain has an order":                {map[string][]string{"a": {"b"}, "b": {"c"}}, []string{"b"}},
		"a circle of two has none":            {map[string][]string{"a": {"b"}, "b": {"a"}}, nil},
		"a circle of three has none":          {map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}, nil},
		"one in it is not being deleted":      {map[string][]string{"a": {"b"}, "b": {"c"}}, []string{"b"}},
		"one beside the circle is waited for": {map[string][]string{"a": {"b", "x"}, "b": {"a"}}, []string{"x"}},
		"a circle of others has none of us":   {map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var outside []string
			circle := leadingTo("a", tc.after)
			for _, successor := range tc.after["a"] {
				if !circle[successor] {
					outside = append(outside, successor)
				}
			}
			assert.Equal(t, tc.want, outside)
		})
	}
}

func TestOnlyCirclesThatAreDeletedAsAWholeLoseTheirOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		siblings []*v1alpha1.Installation
		want     []string
	}{
		"all are being deleted": {[]*v1alpha1.Installation{fixture.Leaving(relaying("b", "a", "b")), fixture.Leaving(relaying("c", "b", "c"))}, []string{}},
		"the last one stays":    {[]*v1alpha1.Installation{fixture.Leaving(relaying("b", "a", "b")), relaying("c", "b", "c")}, []string{"b"}},
		"the next one stays":    {[]*v1alpha1.Installation{relaying("b", "a", "b"), fixture.Leaving(relaying("c", "b", "c"))}, []string{"b"}},
		"a consumer beside it":  {[]*v1alpha1.Installation{fixture.Leaving(relaying("b", "a", "c")), relaying("x", "a", "x")}, []string{"x"}},
		"a chain":               {[]*v1alpha1.Installation{fixture.Leaving(relaying("b", "a", "b"))}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Leaving(relaying("a", "c", "a"))
			found, err := finding(t, append(tc.siblings, inst)...).AwaitedSuccessors(t.Context(), inst)
			require.NoError(t, err)
			assert.Equal(t, tc.want, namesOf(found))
		})
	}
}

func TestWhoImportsItsOwnExport(t *testing.T) {
	for name, tc := range map[string]struct {
		inst *v1alpha1.Installation
		want bool
	}{
		"another one":       {relaying("a", "b", "a"), false},
		"its own":           {relaying("a", "a", "a"), true},
		"a Secret so named": {secretNamed("a"), false},
		"a Target so named": {targetNamed("a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			circle, err := finding(t, tc.inst).Cycle(t.Context(), tc.inst)
			require.NoError(t, err)
			assert.Equal(t, tc.want, circle != nil)
		})
	}
}

// secretNamed imports from a Secret what it exports as data of the same name.
func secretNamed(name string) *v1alpha1.Installation {
	inst := relaying(name, "", name)
	inst.Spec.Imports.Data[0] = v1alpha1.DataImport{Name: "in", SecretRef: &v1alpha1.LocalSecretReference{Name: name}}
	return inst
}

// targetNamed imports a Target with the name of the data that it exports.
func targetNamed(name string) *v1alpha1.Installation {
	inst := relaying(name, "other", name)
	inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "cluster", Target: name}}
	return inst
}

// TestTheWayRoundACircleIsLookedForOnce counts what is allocated: each search of its own remembers what it has seen.
func TestTheWayRoundACircleIsLookedForOnce(t *testing.T) {
	const many = 300
	after := map[string][]string{}
	for i := range many {
		name, next := "i"+strconv.Itoa(i), "i"+strconv.Itoa(i+1)
		after["a"], after[name] = append(after["a"], name), []string{next}
	}
	assert.Empty(t, leadingTo("a", after))
	assert.Less(t, testing.AllocsPerRun(1, func() { leadingTo("a", after) }), 4.0*many)
}

func TestSiblingsAreLookedForNoLongerThanTheContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	inst := fixture.Leaving(relaying("a", "c", "a"))
	finder, lists := counted(finding(t, inst, fixture.Leaving(relaying("b", "a", "b"))))
	for name, look := range map[string]func() error{
		"successors": func() error { _, err := finder.AwaitedSuccessors(ended, inst); return err },
		"a circle":   func() error { _, err := finder.Cycle(ended, inst); return err },
		"downstream": func() error { _, err := finder.Downstream(ended, inst); return err },
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, look(), context.Canceled)
			assert.Zero(t, *lists)
		})
	}
}
