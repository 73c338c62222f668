// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// counting publishes in a cluster with objects, and counts what it reads from the cache.
func counting(t *testing.T, objects ...client.Object) (*Publisher, map[string]int) {
	t.Helper()
	b := with(t, objects...)
	cache, reads := cluster.Counting(b.Client.(client.WithWatch))
	b.Client = cache
	return b, reads
}

// losing is an Installation whose exports another one may hold, and that one, with as many exports.
func losing(exports int) (inst, rival *v1alpha1.Installation, objects []client.Object) {
	inst, rival = fixture.Exporter("new", "9", jobs.ReasonExportOwnedByOther), fixture.Exporter("rival", "2", "")
	inst.Spec.Exports.Data = nil
	for i := range exports {
		name := "out" + strconv.Itoa(i)
		inst.Spec.Exports.Data = append(inst.Spec.Exports.Data, v1alpha1.DataExport{Name: name, DataRef: name})
		object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: rival.Name, UID: rival.UID}}
		objects = append(objects, object)
	}
	return inst, rival, append(objects, rival)
}

func TestARivalOfManyExportsIsReadOnce(t *testing.T) {
	inst, _, objects := losing(100)
	b, reads := counting(t, objects...)
	free, err := b.AreFree(t.Context(), inst)
	require.NoError(t, err)
	assert.True(t, free)
	assert.Equal(t, map[string]int{"*v1alpha1.DataObject": 100, "*v1alpha1.Installation": 1}, reads)
}

func TestExportsAreLookedForNoLongerThanTheContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	inst, _, objects := losing(2)
	b, reads := counting(t, objects...)
	_, err := b.AreFree(ended, inst)
	require.ErrorIs(t, err, context.Canceled)
	inst.Status.Phase, inst.Status.ObservedGeneration = v1alpha1.PhaseSucceeded, inst.Generation
	_, err = b.Lost(ended, inst)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, reads)
}

func TestPublishedExportsAreFoundWithoutCopies(t *testing.T) {
	inst, _, objects := losing(3)
	inst.Status.Phase, inst.Status.ObservedGeneration = v1alpha1.PhaseSucceeded, inst.Generation
	b, reads := counting(t, objects...)
	lost, err := b.Lost(t.Context(), inst)
	require.NoError(t, err)
	assert.Empty(t, lost)
	assert.Equal(t, map[string]int{"*v1alpha1.DataObject": 3}, reads)
}

// TestScopesAreListedWithoutCopies has objects that are not looked for in the scope of an Installation and among what it exported.
func TestScopesAreListedWithoutCopies(t *testing.T) {
	f := &children.Family{Inst: fixture.Grown(v1alpha1.PhaseSucceeded), Children: map[string]*v1alpha1.Installation{}}
	lists := map[string]int{"*v1alpha1.DataObjectList": 1, "*v1alpha1.TargetList": 1}
	p := &plan.Plan{Inst: f.Inst}
	for name, list := range map[string]func(*Publisher) error{
		"former copies":  func(b *Publisher) error { return b.retireFormerCopies(t.Context(), f, map[string]client.Object{}) },
		"retired copies": func(b *Publisher) error { return b.DeleteRetiredCopies(t.Context(), p) },
		"former exports": func(b *Publisher) error {
			return b.deleteFormerExports(t.Context(), f.Inst, map[string]client.Object{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, reads := counting(t)
			require.NoError(t, list(b))
			assert.Equal(t, lists, reads)
		})
	}
}

// decoding writes into the maps of an object what the API server answers, as clients do.
func decoding(object client.Object) { object.GetLabels()["decoded"] = "yes" }

// TestWhatIsSharedWithTheCacheIsNotChanged has deletions conflict, so that objects are read anew.
func TestWhatIsSharedWithTheCacheIsNotChanged(t *testing.T) {
	inst := fixture.Grown(v1alpha1.PhaseSucceeded)
	family := &children.Family{Inst: inst, Children: map[string]*v1alpha1.Installation{"root-sub": {}}}
	retire := func(b *Publisher) error { return b.retireFormerCopies(t.Context(), family, map[string]client.Object{}) }
	drop := func(b *Publisher) error { return b.DeleteRetiredCopies(t.Context(), &plan.Plan{Inst: inst}) }
	deleteFormer := func(b *Publisher) error { return b.deleteFormerExports(t.Context(), inst, map[string]client.Object{}) }
	for name, tc := range map[string]struct {
		source  string
		retired string
		change  func(*Publisher) error
	}{
		"a copy that is retired":         {v1alpha1.DataObjectSourceImport, "", retire},
		"a retired copy that is deleted": {v1alpha1.DataObjectSourceImport, "job", drop},
		"an export that is deleted":      {v1alpha1.DataObjectSourceExport, "", deleteFormer},
	} {
		t.Run(name, func(t *testing.T) {
			shared := &v1alpha1.Target{ObjectMeta: metaOf(inst, tc.source, kit.InstallationScope(inst.Name), "in", "")}
			shared.UID, shared.ResourceVersion, shared.Annotations[data.RetiredAnnotation] = "uid", "1", tc.retired
			before, answers := shared.DeepCopy(), 0
			api := interceptor.NewClient(cluster.With(t), interceptor.Funcs{
				List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
					if targets, ok := list.(*v1alpha1.TargetList); ok {
						targets.Items = []v1alpha1.Target{*shared}
					}
					return nil
				},
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
					answers++
					decoding(object)
					return nil
				},
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
					answers++
					decoding(object)
					return nil
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return apierrors.NewConflict(schema.GroupResource{}, "in", errors.New("it has changed"))
				},
			})
			err := tc.change(&Publisher{Client: api, Live: api})
			require.True(t, err == nil || apierrors.IsConflict(err), "%v", err)
			assert.NotZero(t, answers)
			assert.Equal(t, before, shared)
		})
	}
}
