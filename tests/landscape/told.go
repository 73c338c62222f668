// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Told returns what the objects of the namespace tell people, as JSON: the states of ours, and all events.
func (s *Scene) Told() string {
	s.T.Helper()
	var all []any
	installations, executions, items, targets := &v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.TargetList{}
	events := &corev1.EventList{} // those of events.k8s.io are the same objects
	for _, list := range []client.ObjectList{installations, executions, items, targets, events} {
		require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	}
	for i := range installations.Items {
		all = append(all, installations.Items[i].Status)
	}
	for i := range executions.Items {
		all = append(all, executions.Items[i].Status)
	}
	for i := range items.Items {
		all = append(all, items.Items[i].Status)
	}
	for i := range targets.Items {
		all = append(all, targets.Items[i].Status)
	}
	raw, err := json.Marshal(append(all, events.Items))
	require.NoError(s.T, err)
	return string(raw)
}
