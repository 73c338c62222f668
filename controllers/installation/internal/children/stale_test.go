// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestNothingIsDecidedOnChildrenThatTheCacheShowsTooOld(t *testing.T) {
	root := fixture.Working("root", "1", "job")
	root.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{ObjectName: "child"}}}
	child := fixture.Below(root, fixture.Working("child", "2", "job"))
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root", UID: "3"}}
	execution.OwnerReferences = child.OwnerReferences
	for name, tc := range map[string]struct {
		cached []client.Object
		wrote  func(*Keeper)
		stops  bool
	}{
		"all as they are":     {[]client.Object{child, execution}, func(*Keeper) {}, false},
		"an old child":        {[]client.Object{child, execution}, func(k *Keeper) { k.Installations.Wrote(fixture.Newer(child)) }, true},
		"a new child":         {[]client.Object{execution}, func(k *Keeper) { k.Installations.Created(fixture.Newer(child)) }, true},
		"a child that went":   {[]client.Object{execution}, func(*Keeper) {}, false},
		"an old Execution":    {[]client.Object{child, execution}, func(k *Keeper) { k.Executions.Wrote(fixture.Newer(execution)) }, true},
		"a new Execution":     {[]client.Object{child}, func(k *Keeper) { k.Executions.Created(fixture.Newer(execution)) }, true},
		"no Execution at all": {[]client.Object{child}, func(*Keeper) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := keeper(t, tc.cached...)
			tc.wrote(k)
			err := kit.Through(t.Context(), familyOf(root), []kit.Step[*Family]{k.FindExecution, k.FindChildren})
			if !tc.stops {
				require.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, kit.ErrStop)
		})
	}
}
