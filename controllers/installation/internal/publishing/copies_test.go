// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/imports"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestE22CopiesOfTargetsKeepTheirLabels(t *testing.T) {
	original := fixture.ClusterTarget()
	original.Labels[v1alpha1.DataObjectIndexLabel] = "3"
	original.Labels["kustomize.toolkit.fluxcd.io/name"] = "apps"
	original.Annotations[data.RetiredAnnotation] = "job"
	original.Annotations[data.LastAppliedAnnotation] = "{}"
	p := &plan.Plan{Inst: fixture.Working("root", "1", "job")}
	p.Imports = &imports.Collected{Targets: map[string]*v1alpha1.Target{"cluster": original}}
	object, err := targetCopy(p, render.Target{Name: "cluster"}, "in", "in", nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"region": "eu", "landscaper.gardener.cloud/targetsync": "ok",
		v1alpha1.DataObjectContextLabel: "Inst.root", v1alpha1.DataObjectSourceLabel: "Inst.root", v1alpha1.DataObjectKeyLabel: "in",
		v1alpha1.DataObjectSourceTypeLabel: "import", v1alpha1.DataObjectJobIDLabel: "job",
	}, object.GetLabels())
	assert.Equal(t, map[string]string{"zone": "a", v1alpha1.OriginalTargetAnnotation: "cluster", v1alpha1.HashAnnotation: object.GetAnnotations()[v1alpha1.HashAnnotation]}, object.GetAnnotations())
}

func TestWhatWasCollectedMeanwhileIsCreated(t *testing.T) {
	b := with(t)
	gone := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in", ResourceVersion: "7", Finalizers: []string{"example.com/held"}}}
	wanted := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}}
	require.NoError(t, b.replace(t.Context(), wanted, gone))
	require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(wanted), wanted))
	assert.Empty(t, wanted.Finalizers)
}

func TestE13CopiesOfAFormerInstallationAreMadeAnew(t *testing.T) {
	owned := func(uid types.UID) *v1alpha1.DataObject {
		inst := fixture.Working("root", string(uid), "job")
		return &v1alpha1.DataObject{
			ObjectMeta: copyMeta(inst, "in", "in", nil, kit.DataHash(v1alpha1.NewAnyJSON([]byte("1")))),
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
			b, deleted := with(t, tc.exists), 0
			b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
					deleted++
					return c.Delete(ctx, object, options...)
				},
			})
			require.NoError(t, b.publish(t.Context(), fixture.Working("root", "new", "job"), owned("new")))
			found := &v1alpha1.DataObject{}
			require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(tc.exists), found))
			assert.Equal(t, types.UID("new"), found.OwnerReferences[0].UID)
			assert.JSONEq(t, "1", string(found.Data.RawMessage))
			if tc.renewed {
				assert.Equal(t, 1, deleted, "what replaced garbage would be collected")
				return
			}
			assert.Zero(t, deleted)
			assert.Equal(t, []string{"example.com/held"}, found.Finalizers, "finalizers of others stay")
		})
	}
}

// dataObject is a managed object with a name and a content.
func dataObject(name, content string) client.Object {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}

func TestSameContents(t *testing.T) {
	one, other := dataObject("a", "1"), dataObject("b", "1")
	for name, tc := range map[string]struct {
		has, wanted []client.Object
		same        bool
	}{
		"nothing":       {same: true},
		"another order": {has: []client.Object{one, other}, wanted: []client.Object{other, one}, same: true},
		"other content": {has: []client.Object{one}, wanted: []client.Object{dataObject("a", "2")}},
		"another name":  {has: []client.Object{one}, wanted: []client.Object{other}},
		"one more":      {has: []client.Object{one}, wanted: []client.Object{one, other}},
		"one less":      {has: []client.Object{one, other}, wanted: []client.Object{one}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.same, sameContents(tc.has, tc.wanted)) })
	}
}

func TestACopyStaysWhileASubinstallationHasTheJobThatImportsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		job   string
		stays bool
	}{
		"it has the running job":      {job: "job", stays: true},
		"it has the job of before":    {job: "former"},
		"the job has no children yet": {},
	} {
		t.Run(name, func(t *testing.T) {
			f := &children.Family{Inst: fixture.Working("root", "1", "job"), Children: map[string]*v1alpha1.Installation{}}
			if tc.job != "" {
				child := &v1alpha1.Installation{}
				child.Status.JobID = tc.job
				f.Children["child"] = child
			}
			former := &v1alpha1.DataObject{ObjectMeta: copyMeta(f.Inst, "former", "former", nil, "")}
			b := with(t, former)
			require.NoError(t, b.retireFormerCopies(t.Context(), f, map[string]client.Object{}))
			err := b.Get(t.Context(), client.ObjectKeyFromObject(former), &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{}})
			assert.Equal(t, tc.stays, err == nil)
		})
	}
}

// with publishes in a cluster with objects.
func with(t *testing.T, objects ...client.Object) *Publisher {
	t.Helper()
	c := cluster.With(t, objects...)
	return &Publisher{Client: c, Live: c, Related: &relations.Finder{Reader: c, Live: c}}
}
