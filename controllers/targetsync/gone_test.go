// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

func schemeOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	return scheme
}

// The cache may show a TargetSync for a while after the last sync has let it go. What is made then is never deleted.
func TestNothingIsMadeForATargetSyncThatOnlyTheCacheHas(t *testing.T) {
	asked := map[string]int{}
	lagging := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		sync, ok := object.(*v1alpha1.TargetSync)
		if !ok {
			asked[key.Name]++
			return c.Get(ctx, key, object, options...)
		}
		*sync = v1alpha1.TargetSync{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, ResourceVersion: "1", UID: "a",
				Finalizers: []string{v1alpha1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: noon},
			},
			Spec: v1alpha1.TargetSyncSpec{SourceNamespace: "n", SecretRef: v1alpha1.LocalSecretReference{Name: "source"}, SecretNameExpression: "*"},
		}
		return nil
	}}
	empty := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithInterceptorFuncs(lagging).Build()
	r := &Reconciler{
		Client: empty, Live: empty, Recorder: record.NewFakeRecorder(5), Backoff: queue.NewBackoff(time.Second, time.Minute), Now: time.Now,
	}

	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "n", Name: "sync"}})

	require.NoError(t, err)
	assert.Zero(t, result)
	assert.Empty(t, asked, "the sync went on")
}

func TestASyncEndsOnceItsTargetSyncIsGone(t *testing.T) {
	sync := func(uid types.UID) *v1alpha1.TargetSync {
		return &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "sync", UID: uid}}
	}
	for name, present := range map[string][]client.Object{"gone": nil, "made anew": {sync("another")}} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(present...).Build()
			s := &scope{sync: sync("former"), now: noon, wanted: map[string]*wanted{"cluster": {}}}

			err := (&Reconciler{Client: c, Live: c, metadata: c}).write(t.Context(), s)

			require.ErrorIs(t, err, protocol.ErrStop)
			left := &v1alpha1.TargetList{}
			require.NoError(t, c.List(t.Context(), left))
			assert.Empty(t, left.Items)
		})
	}
}

// A DeployItem that is gone by then is one of many.
func TestTheUninstallsOfOthersAreSkippedBesideADeployItemThatIsGone(t *testing.T) {
	item := func(name string) *v1alpha1.DeployItem {
		return &v1alpha1.DeployItem{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: "a", Annotations: map[string]string{v1alpha1.ClusterNameAnnotation: "shoot"}},
			Spec: v1alpha1.DeployItemSpec{
				Target: &v1alpha1.DeployItemTarget{Name: "shoot"}, OnDelete: &v1alpha1.OnDeleteConfig{SkipUninstallIfClusterRemoved: true},
			},
		}
	}
	var skipped []string
	patches := interceptor.Funcs{Patch: func(_ context.Context, c client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
		if object.GetName() == "a-gone" {
			return c.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "nobody"}, &v1alpha1.DeployItem{})
		}
		skipped = append(skipped, object.GetName())
		return nil
	}}
	index := skipsUninstall
	items := []client.Object{item("a-gone"), item("b-there")}
	for _, each := range items {
		each.SetDeletionTimestamp(&metav1.Time{Time: noon})
		each.SetFinalizers([]string{v1alpha1.Finalizer})
	}
	c := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(items...).WithIndex(&v1alpha1.DeployItem{}, skipIndex, index).WithInterceptorFuncs(patches).Build()
	pattern, err := patternOf(&v1alpha1.TargetSyncSpec{SourceNamespace: "n", SecretRef: v1alpha1.LocalSecretReference{Name: "source"}, ShootNameExpression: "*"})
	require.NoError(t, err)
	r := &Reconciler{Client: c, Live: c, Recorder: record.NewFakeRecorder(5)}
	sync := &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "sync"}, Spec: v1alpha1.TargetSyncSpec{ShootNameExpression: "*"}}

	err = r.skipUninstalls(t.Context(), &scope{sync: sync, pattern: pattern, now: noon, wanted: map[string]*wanted{}})

	require.NoError(t, err)
	assert.Equal(t, []string{"b-there"}, skipped)
}
