// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package force

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

func TestADeletionByForceFindsWhatHasLostItsLabels(t *testing.T) {
	owned := func(owner client.Object, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: owner.GetName(), UID: types.UID("below-" + owner.GetUID()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		}
	}
	top, child, other := fixture.Node("top", ""), fixture.Node("child", "top"), fixture.Node("other", "")
	child.Labels = nil
	objects := []client.Object{top, child, other}
	for _, inst := range []*v1alpha1.Installation{top, child, other} {
		execution := &v1alpha1.Execution{ObjectMeta: owned(inst, "Installation")}
		objects = append(objects, execution, &v1alpha1.DeployItem{ObjectMeta: owned(execution, "Execution")})
	}
	found := Of(top)
	require.NoError(t, (&Deletion{Live: cluster.With(t, objects...)}).surveyTree(t.Context(), top, found))
	require.Len(t, found.installations, 1)
	assert.Equal(t, "child", found.installations[0].Name)
	assert.Len(t, found.executions, 2)
	require.Len(t, found.items, 2)
	assert.Equal(t, "top/child", found.leftovers["child"].Installation)
	assert.Equal(t, "child", found.leftovers["child"].Item)
	assert.NotContains(t, found.leftovers, "other", fmt.Sprint(found.leftovers))
}

// TestADeletionByForceListsAnewWhatHasExpired has three sub-installations in pages of one.
func TestADeletionByForceListsAnewWhatHasExpired(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "for ever": -1} {
		t.Run(name, func(t *testing.T) {
			top, found := fixture.Node("top", ""), Of(fixture.Node("top", ""))
			api := cluster.With(t, top, fixture.Node("a", "top"), fixture.Node("b", "top"), fixture.Node("c", "top"))
			err := (&Deletion{Live: &faults.Expiry{Client: api, Times: times}}).surveyTree(t.Context(), top, found)
			if times < 0 {
				require.True(t, apierrors.IsResourceExpired(err), "%v", err)
				return
			}
			require.NoError(t, err)
			assert.Len(t, found.installations, 3)
		})
	}
}
