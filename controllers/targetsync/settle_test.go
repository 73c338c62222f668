// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Another sync finds nothing to change, so nobody would ever hear of it.
func TestWhatASyncHasChangedIsToldWhateverBecomesOfItsStatus(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	conflict := apierrors.NewConflict(schema.GroupResource{}, "clusters", errors.New("somebody has annotated it"))
	for name, end := range map[string]error{"its status conflicts": nil, "its last write conflicts": conflict} {
		t.Run(name, func(t *testing.T) {
			sync := &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Name: "clusters", Namespace: "n", Generation: 1}}
			refusing := interceptor.Funcs{SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				return conflict
			}}
			events := record.NewFakeRecorder(5)
			r := &Reconciler{
				Client:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(sync).WithInterceptorFuncs(refusing).Build(),
				Backoff: queue.NewBackoff(time.Second, time.Minute), Recorder: events,
			}
			s := &scope{sync: sync, persisted: sync.Status.DeepCopy(), now: time.Now()}
			s.changes.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cluster-0"}})

			result, err := r.settle(t.Context(), s, end)

			require.NoError(t, err)
			assert.Positive(t, result.RequeueAfter)
			require.Len(t, events.Events, 1)
			assert.Contains(t, <-events.Events, "objects created: 1, updated: 0, deleted: 0")
		})
	}
}

// crowd is a namespace with so many TargetSyncs, and how its lists were asked for.
func crowd(t *testing.T, members int) (*Reconciler, *[]client.ListOptions) {
	t.Helper()
	builder, asked := fake.NewClientBuilder().WithScheme(schemeOf(t)), &[]client.ListOptions{}
	for i := range members {
		meta := metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprintf("sync-%02d", i), UID: types.UID(fmt.Sprint(i))}
		builder = builder.WithObjects(&v1alpha1.TargetSync{ObjectMeta: meta})
	}
	noting := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		*asked = append(*asked, *(&client.ListOptions{}).ApplyOptions(options))
		return c.List(ctx, list, options...)
	}}
	return &Reconciler{Client: builder.WithInterceptorFuncs(noting).Build()}, asked
}

func TestOfManyTargetSyncsOfANamespaceAFewAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		members int
		said    string
	}{
		"two":     {2, "other TargetSyncs: sync-01; none"},
		"eleven":  {11, "sync-08, sync-09, sync-10; none"},
		"a dozen": {12, "sync-08, sync-09, sync-10 and more; none"},
		"dozens":  {40, "sync-08, sync-09, sync-10 and more; none"},
	} {
		t.Run(name, func(t *testing.T) {
			r, asked := crowd(t, c.members)
			first := &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "sync-00", UID: "0"}}
			require.ErrorContains(t, r.checkAlone(t.Context(), &scope{sync: first}), c.said)
			require.Len(t, *asked, 1)
			assert.True(t, ptr.Deref((*asked)[0].UnsafeDisableDeepCopy, false), "each of them copies all others")
		})
	}
}
