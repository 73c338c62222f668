// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// exporter is an Installation that exports "out" and has failed for a reason.
func exporter(name, uid, reason string) *v1alpha1.Installation {
	inst := working(name, uid, "job")
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: "out"}}
	inst.Status.JobIDFinished = "job"
	inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: reason}
	return inst
}

func TestE15ExportsThatAreFreeAgain(t *testing.T) {
	held := func(name, uid string) *v1alpha1.DataObject {
		object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: name, UID: working(name, uid, "").UID}}
		return object
	}
	byHand := held("", "")
	byHand.OwnerReferences = nil
	going := held("other", "2")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/held"}
	other, changed := exporter("other", "2", ""), exporter("other", "2", "")
	changed.Spec.Exports.Data = nil
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		free    bool
	}{
		"held by another":              {reasonExportOwnedByOther, []client.Object{held("other", "2"), other}, false},
		"the other is gone":            {reasonExportOwnedByOther, []client.Object{held("other", "2")}, true},
		"the other was made anew":      {reasonExportOwnedByOther, []client.Object{held("other", "1"), other}, true},
		"the other has deleted it":     {reasonExportOwnedByOther, []client.Object{other}, true},
		"the other exports it no more": {reasonExportOwnedByOther, []client.Object{held("other", "2"), changed}, true},
		"about to go":                  {reasonExportOwnedByOther, []client.Object{going, other}, true},
		"held by nobody":               {reasonExportOwnedByOther, []client.Object{byHand, other}, true},
		"failed for something else":    {"ImportNotFound", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := with(t, tc.objects...).exportsAreFree(t.Context(), exporter("new", "9", tc.reason))
			require.NoError(t, err)
			assert.Equal(t, tc.free, free)
		})
	}
}

func TestClaimOf(t *testing.T) {
	const job = "job"
	parent := working("root", "0", job)
	idle, ahead := working("root", "0", job), working("root", "0", "next")
	idle.Status.JobIDFinished = job
	child := func(job string, exports bool) *v1alpha1.Installation {
		inst := exporter("other", "2", "")
		inst.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, v1alpha1.GroupVersion.WithKind("Installation"))}
		inst.Labels = map[string]string{v1alpha1.EncompassedByLabel: parent.Name}
		inst.Status.JobID = job
		if !exports {
			inst.Spec.Exports.Data = nil
		}
		return inst
	}
	noted := child("former", true)
	noted.Annotations = map[string]string{v1alpha1.JobAnnotation: job}
	key := exportsOf(child(job, true))[0]
	for name, tc := range map[string]struct {
		parent, owner *v1alpha1.Installation
		want          exportClaim
	}{
		"the owner is gone":                        {nil, nil, abandoned},
		"the owner exports it":                     {nil, child("", true), refused},
		"the owner exports it no more":             {nil, child("", false), inherited},
		"a sibling exports it no more":             {parent, child(job, false), inherited},
		"a sibling that is to get its spec":        {parent, child("former", true), early},
		"a sibling with the spec of the job":       {parent, noted, refused},
		"a sibling at the job":                     {parent, child(job, true), refused},
		"the parent has ended the job":             {idle, child("former", true), refused},
		"the parent is at another job":             {ahead, child("former", true), refused},
		"the owner has another parent or none":     {working("else", "1", job), child("former", true), refused},
		"a sibling that never had one, as yet new": {parent, child("", false), inherited},
	} {
		t.Run(name, func(t *testing.T) {
			inst := working("new", "9", job)
			assert.Equal(t, tc.want, claimOf(inst, tc.parent, tc.owner, key))
		})
	}
}

func TestAFormerExportGoesOnlyWhileItIsTheOwn(t *testing.T) {
	inst := working("one", "1", "job")
	for name, tc := range map[string]struct {
		owner *v1alpha1.Installation
		stays bool
	}{
		"the own":                     {inst, false},
		"another one's by now":        {working("two", "2", "job"), true},
		"of a namesake that followed": {working("one", "2", "job"), true},
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

func TestOnlyIdleFailuresWaitForExports(t *testing.T) {
	inst := exporter("new", "9", reasonExportOwnedByOther)
	assert.True(t, lostToRival(inst))
	inst.Status.JobID = "next"
	assert.False(t, lostToRival(inst))
	inst.Status.JobIDFinished, inst.Status.Phase = "next", v1alpha1.PhaseSucceeded
	assert.False(t, lostToRival(inst))
}
