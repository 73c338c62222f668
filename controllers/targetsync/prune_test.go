// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func syncNamed(name string) *v1alpha1.TargetSync {
	return &v1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name), Finalizers: []string{v1alpha1.Finalizer}},
		Spec:       v1alpha1.TargetSyncSpec{SecretRef: v1alpha1.LocalSecretReference{Name: "access"}},
	}
}

func goingSync(name string) *v1alpha1.TargetSync {
	sync := syncNamed(name)
	sync.DeletionTimestamp = &metav1.Time{Time: noon}
	return sync
}

// field is a namespace with Targets and Secrets that TargetSyncs have made.
type field struct {
	r   *Reconciler
	api client.WithWatch
	// lists counts the lists of TargetSyncs that the API server has made.
	lists int
	// deleting is called before each deletion.
	deleting func()
}

const madeOfEach = 10

func newField(t *testing.T, syncs ...client.Object) *field {
	t.Helper()
	f := &field{deleting: func() {}}
	objects := syncs
	for i := range madeOfEach {
		made := metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprintf("cluster-%d", i), Labels: map[string]string{v1alpha1.TargetSyncLabel: v1alpha1.TargetSyncOK}}
		objects = append(objects, &v1alpha1.Target{ObjectMeta: made}, &corev1.Secret{ObjectMeta: made})
	}
	f.api = fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(objects...).Build()
	writes := interceptor.NewClient(f.api, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			f.deleting()
			return c.Delete(ctx, object, options...)
		},
	})
	reads := interceptor.NewClient(f.api, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			_, isTyped := list.(*v1alpha1.TargetSyncList)
			if isTyped || list.GetObjectKind().GroupVersionKind().Kind == "TargetSyncList" {
				f.lists++
			}
			return c.List(ctx, list, options...)
		},
	})
	f.r = &Reconciler{Client: writes, Live: reads, metadata: writes, Recorder: record.NewFakeRecorder(100)}
	return f
}

func (f *field) left(t *testing.T) int {
	t.Helper()
	targets, secrets := &v1alpha1.TargetList{}, &corev1.SecretList{}
	require.NoError(t, f.api.List(t.Context(), targets))
	require.NoError(t, f.api.List(t.Context(), secrets))
	return len(targets.Items) + len(secrets.Items)
}

func TestTargetSyncsAreNotListedForEachObjectThatIsDeleted(t *testing.T) {
	sync := syncNamed("sync")
	f := newField(t, sync, goingSync("other"))
	require.NoError(t, f.r.prune(t.Context(), &scope{sync: sync, wanted: map[string]*wanted{}}))
	assert.Zero(t, f.left(t))
	assert.LessOrEqual(t, f.lists, 2, "once for Targets and once for Secrets")
}

func TestAnHeirGetsWhatWasMade(t *testing.T) {
	sync := goingSync("sync")
	f := newField(t, sync, goingSync("another"), syncNamed("heir"))
	require.ErrorIs(t, f.r.uninstall(t.Context(), &scope{sync: sync}), protocol.ErrStop)
	assert.Equal(t, 2*madeOfEach, f.left(t), "the heir has it")
	require.Error(t, f.api.Get(t.Context(), client.ObjectKeyFromObject(sync), sync), "it is let go")
}

func TestNoMoreIsDeletedOnceAnotherTargetSyncHasCome(t *testing.T) {
	sync := syncNamed("sync")
	f := newField(t, sync)
	deleted := 0
	f.deleting = func() {
		if deleted++; deleted == 3 {
			require.NoError(t, f.api.Create(t.Context(), syncNamed("rival")))
		}
	}
	require.ErrorIs(t, f.r.prune(t.Context(), &scope{sync: sync, wanted: map[string]*wanted{}}), protocol.ErrStop)
	assert.Equal(t, 3, deleted)
}

// showing makes a client whose cache shows other TargetSyncs than there are.
func (f *field) showing(syncs ...v1alpha1.TargetSync) client.Client {
	return interceptor.NewClient(f.api, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if shown, ok := list.(*v1alpha1.TargetSyncList); ok {
				shown.Items = syncs
				return nil
			}
			return c.List(ctx, list, options...)
		},
	})
}

func TestAnHeirThatOnlyTheCacheHasIsNone(t *testing.T) {
	for name, there := range map[string]client.Object{"in deletion": goingSync("heir"), "gone": goingSync("another")} {
		t.Run(name, func(t *testing.T) {
			f := newField(t, there)
			f.r.Client = f.showing(*syncNamed("heir"))
			heirs, err := others(t.Context(), f.r.Live, goingSync("sync"))
			require.NoError(t, err)
			assert.Empty(t, heirs)
		})
	}
}

func TestNothingIsDeletedBesideATargetSyncThatTheCacheDoesNotShowYet(t *testing.T) {
	sync := goingSync("sync")
	f := newField(t, sync, syncNamed("rival"))
	f.r.Client = f.showing(*sync)
	require.ErrorIs(t, f.r.uninstall(t.Context(), &scope{sync: sync}), protocol.ErrStop)
	assert.Equal(t, 2*madeOfEach, f.left(t))
}
