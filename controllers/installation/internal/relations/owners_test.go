// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// line is a root and as many Installations below each other.
func line(depth int) []*v1alpha1.Installation {
	nodes := []*v1alpha1.Installation{fixture.Node("i0", "", "i1")}
	for i := 1; i <= depth; i++ {
		nodes = append(nodes, fixture.Node(fmt.Sprintf("i%d", i), fmt.Sprintf("i%d", i-1), fmt.Sprintf("i%d", i+1)))
	}
	return nodes
}

func TestT01OnlyWhomTheParentListsIsNested(t *testing.T) {
	replaced := fixture.Node("parent", "", "child")
	replaced.UID = "another"
	orphaned := fixture.Node("parent", "", "other")
	orphaned.Status.SubInstCache.OrphanedSubs = []string{"child"}
	foreign := fixture.Node("child", "parent")
	foreign.OwnerReferences[0].APIVersion = "apps.example.com/v1"
	for name, tc := range map[string]struct {
		inst   *v1alpha1.Installation
		others []*v1alpha1.Installation
		root   string
		says   string
	}{
		"root":                   {inst: fixture.Node("root", ""), root: "root"},
		"listed":                 {inst: fixture.Node("child", "parent"), others: []*v1alpha1.Installation{fixture.Node("parent", "", "child")}, root: "parent"},
		"listed as orphan":       {inst: fixture.Node("child", "parent"), others: []*v1alpha1.Installation{orphaned}, root: "parent"},
		"owner of another group": {inst: foreign, others: []*v1alpha1.Installation{fixture.Node("parent", "")}, root: "child"},
		"not listed":             {inst: fixture.Node("child", "parent"), others: []*v1alpha1.Installation{fixture.Node("parent", "", "other")}, says: "does not list it"},
		"parent without list":    {inst: fixture.Node("child", "parent"), others: []*v1alpha1.Installation{fixture.Node("parent", "")}, says: "does not list it"},
		"parent with another UID": {
			inst: fixture.Node("child", "parent"), others: []*v1alpha1.Installation{replaced}, says: "no installation parent with UID parent",
		},
		"no parent":      {inst: fixture.Node("child", "parent"), says: "no installation parent"},
		"its own parent": {inst: fixture.Node("child", "child", "child"), others: []*v1alpha1.Installation{fixture.Node("child", "child", "child")}, says: "its own owner"},
		"circle of two": {
			inst:   fixture.Node("a", "b", "b"),
			others: []*v1alpha1.Installation{fixture.Node("a", "b", "b"), fixture.Node("b", "a", "a")}, says: "do not lead to a root",
		},
		"parent not listed": {
			inst:   fixture.Node("c", "b"),
			others: []*v1alpha1.Installation{fixture.Node("a", "", "x"), fixture.Node("b", "a", "c")}, says: "does not list it",
		},
		"63 above": {inst: fixture.Node("i63", "i62"), others: line(62), root: "i0"},
		"64 above": {inst: fixture.Node("i64", "i63"), others: line(63), says: "within 64 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := finding(t, tc.others...).Root(t.Context(), tc.inst)
			if tc.says == "" {
				require.NoError(t, err)
				assert.Equal(t, tc.root, root.Name)
				return
			}
			var failure *protocol.Failure
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, protocol.Stalled, failure.Kind)
			assert.Equal(t, reasonForeignOwner, failure.Reason)
			assert.ErrorContains(t, err, tc.says)
			assert.ErrorContains(t, err, "remove the owner reference")
		})
	}
}

func TestT01AWalkOverOwnersEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := finding(t).Root(ctx, fixture.Node("a", ""))
	assert.ErrorIs(t, err, context.Canceled)
}

// TestT01ACacheThatLagsRefusesNobody has a parent in the cache that does not list the child yet.
func TestT01ACacheThatLagsRefusesNobody(t *testing.T) {
	r := finding(t, fixture.Node("parent", ""))
	r.Live = finding(t, fixture.Node("parent", "", "child")).Reader
	_, err := r.ListingParent(t.Context(), fixture.Node("child", "parent"), IsListed)
	assert.NoError(t, err)
}

func TestAParentWithTheSameNameIsNoParent(t *testing.T) {
	for name, c := range map[string]struct {
		uid   types.UID
		found bool
	}{"the owner": {"parent", true}, "another": {"later", false}} {
		t.Run(name, func(t *testing.T) {
			reads := interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
					assert.Equal(t, "parent", key.Name)
					object.SetUID(c.uid)
					return nil
				},
			})
			parent, err := (&Finder{Reader: reads}).Parent(t.Context(), fixture.Node("child", "parent"))
			assert.NoError(t, err)
			assert.Equal(t, c.found, parent != nil)
		})
	}
}
