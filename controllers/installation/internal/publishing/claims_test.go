// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
)

func TestE15ExportsThatAreFreeAgain(t *testing.T) {
	held := func(name, uid string) *v1alpha1.DataObject {
		object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: name, UID: fixture.Working(name, uid, "").UID}}
		return object
	}
	byHand := held("", "")
	byHand.OwnerReferences = nil
	going := held("other", "2")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/held"}
	other, changed := fixture.Exporter("other", "2", ""), fixture.Exporter("other", "2", "")
	changed.Spec.Exports.Data = nil
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		free    bool
	}{
		"held by another":              {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "2"), other}, false},
		"the other is gone":            {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "2")}, true},
		"the other was made anew":      {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "1"), other}, true},
		"the other has deleted it":     {jobs.ReasonExportOwnedByOther, []client.Object{other}, true},
		"the other exports it no more": {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "2"), changed}, true},
		"about to go":                  {jobs.ReasonExportOwnedByOther, []client.Object{going, other}, true},
		"held by nobody":               {jobs.ReasonExportOwnedByOther, []client.Object{byHand, other}, true},
		"failed for something else":    {"ImportNotFound", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := with(t, tc.objects...).AreFree(t.Context(), fixture.Exporter("new", "9", tc.reason))
			require.NoError(t, err)
			assert.Equal(t, tc.free, free)
		})
	}
}

func TestAFormerExportGoesOnlyWhileItIsTheOwn(t *testing.T) {
	inst := fixture.Working("one", "1", "job")
	for name, tc := range map[string]struct {
		owner *v1alpha1.Installation
		stays bool
	}{
		"the own":                     {inst, false},
		"another one's by now":        {fixture.Working("two", "2", "job"), true},
		"of a namesake that followed": {fixture.Working("one", "2", "job"), true},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, object := range map[string]client.Object{"DataObject": &v1alpha1.DataObject{}, "Target": &v1alpha1.Target{}} {
				object.SetName("out")
				object.SetNamespace(inst.Namespace)
				object.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Installation", Name: tc.owner.Name, UID: tc.owner.UID}})
				r := with(t, object)
				require.NoError(t, r.deleteExport(t.Context(), inst, object.DeepCopyObject().(client.Object)))
				err := r.Get(t.Context(), client.ObjectKeyFromObject(object), object)
				assert.Equal(t, tc.stays, err == nil && object.GetDeletionTimestamp().IsZero(), kind)
			}
		})
	}
}

func TestLostExportOf(t *testing.T) {
	export := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}}
	for name, tc := range map[string]struct {
		phase      v1alpha1.Phase
		generation int64
		objects    []client.Object
		want       string
	}{
		"it is gone":                  {v1alpha1.PhaseSucceeded, 1, nil, "DataObject out"},
		"it is there":                 {v1alpha1.PhaseSucceeded, 1, []client.Object{export}, ""},
		"no job has published it yet": {v1alpha1.PhaseSucceeded, 2, nil, ""},
		"the last job has failed":     {v1alpha1.PhaseFailed, 1, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Grown(tc.phase)
			inst.Generation, inst.Status.ObservedGeneration = tc.generation, 1
			inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: "out"}}
			lost, err := with(t, tc.objects...).Lost(t.Context(), inst)
			require.NoError(t, err)
			assert.Equal(t, tc.want, lost)
		})
	}
}
