// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// keeper keeps the children of a cluster with objects.
func keeper(t *testing.T, objects ...client.Object) *Keeper {
	t.Helper()
	c := cluster.With(t, objects...)
	return &Keeper{Client: c, Live: c, Installations: &kit.Consistency{}, Executions: &kit.Consistency{}}
}

// familyOf is an Installation of which no children are known.
func familyOf(inst *v1alpha1.Installation) *Family {
	return &Family{Alarm: &jobs.Alarm{}, Inst: inst, Children: map[string]*v1alpha1.Installation{}}
}
