// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestAReplacedInstallationGetsItsFinalizerBack(t *testing.T) {
	s := newStage(t)
	s.played()
	inst := s.leaf("leaf", "a")
	fixture.Operate(inst)
	s.create(inst)
	s.finished("leaf", "", always)
	edit(s, inst, func(inst *v1alpha1.Installation) { inst.Annotations, inst.Finalizers = nil, nil })
	s.installation("leaf", func(inst *v1alpha1.Installation) bool { return len(inst.Finalizers) == 1 })
	s.quiet()
	assert.Equal(t, 1, s.seen.jobs(s, s.installation("leaf", always)))
}

func TestObjectsThatOnlyHaveOurLabelsStay(t *testing.T) {
	for name, source := range map[string]string{"as a copy": v1alpha1.DataObjectSourceImport, "as an export": v1alpha1.DataObjectSourceExport} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.played()
			scope := storage.InstallationScope("leaf")
			labels := map[string]string{
				v1alpha1.DataObjectSourceTypeLabel: source, v1alpha1.DataObjectContextLabel: scope, v1alpha1.DataObjectSourceLabel: scope,
			}
			mine, cluster := &v1alpha1.DataObject{ObjectMeta: s.named("mine")}, &v1alpha1.Target{ObjectMeta: s.named("mine")}
			mine.Labels, cluster.Labels = labels, labels
			mine.Data = v1alpha1.NewAnyJSON([]byte(`"precious"`))
			inst := fixture.Following(s.leaf("leaf", "a"))
			s.create(mine, cluster, inst)
			first := s.finished("leaf", "", always)
			edit(s, inst, func(inst *v1alpha1.Installation) { deploy(inst, "b") })
			s.finished("leaf", first.Status.JobID, always)
			for _, object := range []client.Object{mine, cluster} {
				require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(object), object))
				assert.Nil(t, object.GetDeletionTimestamp())
			}
		})
	}
}
