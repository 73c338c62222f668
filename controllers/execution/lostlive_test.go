// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// liveReads counts what the API server is asked for.
type liveReads struct{ items, pages, whole int }

// counting is a Reconciler whose live reads are counted, in a cluster that returns lists page by page.
func counting(t *testing.T, items ...client.Object) (*Reconciler, *liveReads) {
	t.Helper()
	reads := &liveReads{}
	live := interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(items...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			reads.items++
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			reads.pages++
			asked := (&client.ListOptions{}).ApplyOptions(options)
			found, isMetadata := list.(*metav1.PartialObjectMetadataList)
			if !isMetadata || asked.Limit == 0 {
				reads.whole++
			}
			err := c.List(ctx, list, options...)
			if isMetadata && asked.Limit > 0 && int64(len(found.Items)) > asked.Limit {
				found.Items, found.Continue = found.Items[:asked.Limit], "more"
			}
			return err
		},
	})
	return &Reconciler{Live: live}, reads
}

// labelled is an item with the labels of template a of the Execution one, and a status.
func labelled(name string, change ...func(*v1alpha1.DeployItem)) client.Object {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
		v1alpha1.ExecutionManagedByLabel: "one", v1alpha1.ExecutionManagedNameLabel: "a",
	}}}
	item.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(watched(), v1alpha1.GroupVersion.WithKind("Execution"))}
	item.Status.JobID = "1"
	for _, change := range change {
		change(item)
	}
	return item
}

func watched() *v1alpha1.Execution {
	return &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one", UID: "uid-one"}}
}

func TestAnItemIsLookedForWithinLimits(t *testing.T) {
	own := storage.ChildName("one", "a")
	strange := func(item *v1alpha1.DeployItem) { item.OwnerReferences = nil }
	wiped := func(item *v1alpha1.DeployItem) { item.Status = v1alpha1.DeployItemStatus{} }
	other := func(item *v1alpha1.DeployItem) { item.Labels[v1alpha1.ExecutionManagedNameLabel] = "b" }
	unlabelled := func(item *v1alpha1.DeployItem) { item.Labels = nil }
	many := func(change ...func(*v1alpha1.DeployItem)) []client.Object {
		var all []client.Object
		for i := range 100 {
			all = append(all, labelled(fmt.Sprintf("copy-%d", i), change...))
		}
		return all
	}
	for name, tc := range map[string]struct {
		items []client.Object
		there bool
		reads liveReads
	}{
		"by its name":                    {append(many(strange), labelled(own)), true, liveReads{items: 1}},
		"by its name, without labels":    {[]client.Object{labelled(own, unlabelled)}, true, liveReads{items: 1}},
		"by another name":                {[]client.Object{labelled("taken-over")}, true, liveReads{items: 2, pages: 1}},
		"gone":                           {nil, false, liveReads{items: 1, pages: 1}},
		"of another template":            {[]client.Object{labelled(own, other)}, false, liveReads{items: 1, pages: 1}},
		"without status":                 {[]client.Object{labelled(own, wiped)}, false, liveReads{items: 1, pages: 1}},
		"of somebody else":               {[]client.Object{labelled(own, strange)}, false, liveReads{items: 1, pages: 1}},
		"among copies of its labels":     {many(strange), true, liveReads{items: 1, pages: 1}},
		"among copies without a status":  {many(wiped), true, liveReads{items: 1 + mostNamesakes, pages: 1}},
		"a copy of its labels by itself": {many(strange)[:1], false, liveReads{items: 1, pages: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r, reads := counting(t, tc.items...)
			there, err := r.isThere(t.Context(), watched(), "a")
			require.NoError(t, err)
			assert.Equal(t, tc.there, there)
			assert.Equal(t, tc.reads, *reads)
		})
	}
}
