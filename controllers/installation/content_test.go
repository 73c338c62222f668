// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestE22CopiesOfTargetsKeepTheirLabels(t *testing.T) {
	original := fixture.ClusterTarget()
	original.Labels[v1alpha1.DataObjectIndexLabel] = "3"
	original.Labels["kustomize.toolkit.fluxcd.io/name"] = "apps"
	original.Annotations[data.RetiredAnnotation] = "job"
	original.Annotations[data.LastAppliedAnnotation] = "{}"
	s := &scope{inst: fixture.Working("root", "1", "job"), Inputs: inputs.Inputs{Imports: &inputs.CollectedImports{Targets: map[string]*v1alpha1.Target{"cluster": original}}}}
	object, err := s.targetCopy(render.Target{Name: "cluster"}, "in", "in", nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"region": "eu", "landscaper.gardener.cloud/targetsync": "ok",
		v1alpha1.DataObjectContextLabel: "Inst.root", v1alpha1.DataObjectSourceLabel: "Inst.root", v1alpha1.DataObjectKeyLabel: "in",
		v1alpha1.DataObjectSourceTypeLabel: "import", v1alpha1.DataObjectJobIDLabel: "job",
	}, object.GetLabels())
	assert.Equal(t, map[string]string{"zone": "a", v1alpha1.HashAnnotation: object.GetAnnotations()[v1alpha1.HashAnnotation]}, object.GetAnnotations())
}

func TestWhatWasCollectedMeanwhileIsCreated(t *testing.T) {
	r := with(t)
	gone := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in", ResourceVersion: "7", Finalizers: []string{"example.com/held"}}}
	wanted := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}}
	require.NoError(t, r.replace(t.Context(), wanted, gone))
	require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(wanted), wanted))
	assert.Empty(t, wanted.Finalizers)
}

func TestE13CopiesOfAFormerInstallationAreMadeAnew(t *testing.T) {
	owned := func(uid types.UID) *v1alpha1.DataObject {
		inst := fixture.Working("root", string(uid), "job")
		return &v1alpha1.DataObject{
			ObjectMeta: copyMeta(&scope{inst: inst}, "in", "in", nil, kit.DataHash(v1alpha1.NewAnyJSON([]byte("1")))),
			Data:       v1alpha1.NewAnyJSON([]byte("1")),
		}
	}
	for name, tc := range map[string]struct {
		exists  *v1alpha1.DataObject
		renewed bool
	}{
		"own":                {owned("new"), false},
		"of the former":      {owned("former"), true},
		"of nobody":          {func() *v1alpha1.DataObject { o := owned("new"); o.OwnerReferences = nil; return o }(), false},
		"own, other content": {func() *v1alpha1.DataObject { o := owned("new"); o.Data.RawMessage = []byte("2"); return o }(), false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.exists.UID, tc.exists.Finalizers = "exists", []string{"example.com/held"}
			if tc.renewed {
				tc.exists.Finalizers = nil
			}
			r := with(t, tc.exists)
			require.NoError(t, r.publish(t.Context(), fixture.Working("root", "new", "job"), owned("new")))
			found := &v1alpha1.DataObject{}
			require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(tc.exists), found))
			assert.Equal(t, types.UID("new"), found.OwnerReferences[0].UID)
			assert.JSONEq(t, "1", string(found.Data.RawMessage))
			if tc.renewed {
				assert.NotEqual(t, types.UID("exists"), found.UID, "what replaced garbage would be collected")
				return
			}
			assert.Equal(t, []string{"example.com/held"}, found.Finalizers, "finalizers of others stay")
		})
	}
}
