// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// exporting is the spec of an Installation that exports one value and one Target.
func exporting(parts object) object {
	parts["exports"] = append(dataExports("value"), object{"name": "place", "type": "target", "targetType": "example.com/place"})
	parts["exportExecutions"] = goTemplate("exports:\n  value: 7\n  place: {type: example.com/place, config: {a: b}}\n")
	return object{"exports": object{"data": refs("value"), "targets": list{object{"name": "place", "target": "place"}}}, "blueprint": parts}
}

func TestADeletedExportIsExportedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"DataObject", "Target"} {
		t.Run(kind, func(t *testing.T) {
			s := newScene(t)
			spec := exporting(object{})
			spec["blueprint"] = inline(spec["blueprint"].(object))
			s.install("exporter", spec)
			s.succeeded("exporter")
			s.deleteExport(kind)
			s.backAgain(kind)
			s.RequireStandstill()
			s.RequireJobs(2, "exporter")
			assert.True(t, conditions.IsTrue(s.succeeded("exporter"), meta.ReadyCondition))
		})
	}
}

func TestADeletedExportOfASubinstallationIsExportedAgain(t *testing.T) {
	s := newScene(t)
	sub := exporting(object{})
	sub["name"], sub["blueprint"] = "sub", inTemplate(sub["blueprint"].(object))
	s.install("root", object{
		"blueprint": inline(object{"subinstallations": list{sub}}),
	})
	s.succeeded("root")
	data := &v1alpha1.DataObjectList{}
	require.NoError(t, s.Client().List(s.Ctx, data, client.InNamespace(s.Namespace), client.MatchingLabels{
		v1alpha1.DataObjectSourceLabel: storage.InstallationScope(s.Child("root", "sub").Name), v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceExport,
	}))
	require.Len(t, data.Items, 1)
	lost := &data.Items[0]
	s.Delete(lost)
	require.Eventually(t, func() bool { return s.exists(&v1alpha1.DataObject{ObjectMeta: s.Named(lost.Name)}) }, landscapePatience, tick)
	s.RequireStandstill()
	s.RequireJobs(2, "root")
}

func TestASuspendedExporterOnlySaysThatItsExportIsGone(t *testing.T) {
	s := newScene(t)
	spec := exporting(object{})
	spec["blueprint"] = inline(spec["blueprint"].(object))
	s.install("exporter", spec)
	s.succeeded("exporter")
	spec["suspend"] = true
	s.install("exporter", spec)
	s.deleteExport("DataObject")
	inst := s.AwaitState("exporter", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.ReadyCondition) == protocol.ReasonExportLost
	})
	assert.Contains(t, readyMessage(inst), "DataObject value was deleted")
	s.RequireStandstill()
	s.RequireJobs(1, "exporter")
}

func (s *scene) export(kind string) client.Object {
	if kind == "Target" {
		return &v1alpha1.Target{ObjectMeta: s.Named("place")}
	}
	return &v1alpha1.DataObject{ObjectMeta: s.Named("value")}
}

func (s *scene) deleteExport(kind string) {
	s.T.Helper()
	s.Delete(s.export(kind))
}

// backAgain waits until the exporter has ended a second job, and its export is there.
func (s *scene) backAgain(kind string) {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return len(s.Witness.Jobs(s.Namespace, "exporter")) == 2 }, landscapePatience, tick)
	s.succeeded("exporter")
	assert.True(s.T, s.exists(s.export(kind)))
}
