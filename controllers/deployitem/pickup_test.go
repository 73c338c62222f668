// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// bench has one DeployItem whose job began at a moment and that nobody has picked up.
type bench struct {
	r      *Reconciler
	api    client.WithWatch
	item   *v1alpha1.DeployItem
	events *record.FakeRecorder
	writes int
	refuse error
	// refusePatch is the answer to changes of metadata.
	refusePatch error
	// unread returns why an object cannot be read.
	unread func(client.Object) error
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newBench(t *testing.T, change ...func(*v1alpha1.DeployItem)) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, coordinationv1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "item", UID: "1"}}
	item.Spec.Type = "example.com/none"
	item.Status.JobID, item.Status.JobIDGenerationTime = "job", &metav1.Time{Time: began}
	for _, c := range change {
		c(item)
	}
	b := &bench{item: item, events: record.NewFakeRecorder(10)}
	b.api = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(item).WithReturnManagedFields().WithObjects(item).Build()
	counted := interceptor.NewClient(b.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if b.unread != nil {
				if err := b.unread(o); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			b.writes++
			if b.refuse != nil {
				return b.refuse
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if b.refusePatch != nil {
				return b.refusePatch
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	b.r = &Reconciler{Client: counted, Live: counted, Recorder: b.events, PickupTimeout: time.Minute, Now: func() time.Time { return began.Add(time.Minute) }}
	return b
}

func (b *bench) request() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.item)}
}

func (b *bench) pass(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := b.r.Reconcile(t.Context(), b.request())
	require.NoError(t, err)
	return result
}

func TestAJobThatNobodyPicksUpFails(t *testing.T) {
	b := newBench(t, func(item *v1alpha1.DeployItem) {
		item.Spec.Target = &v1alpha1.DeployItemTarget{Namespace: "n", Name: "cluster"}
	})
	require.Zero(t, b.pass(t).RequeueAfter)
	failed := &v1alpha1.DeployItem{}
	require.NoError(t, b.api.Get(t.Context(), client.ObjectKeyFromObject(b.item), failed))
	assert.Equal(t, v1alpha1.PhaseFailed, failed.Status.Phase)
	assert.Equal(t, "job", failed.Status.JobIDFinished)
	assert.Equal(t, "PickupTimeout", failed.Status.LastError.Reason)
	assert.Contains(t, failed.Status.LastError.Message, "run a deployer for type example.com/none (Target n/cluster does not exist; create it)")
	assert.Len(t, b.events.Events, 1)
	b.pass(t)
	assert.Equal(t, 1, b.writes)
}

func TestAJobThatWasRequestedWhileTheClockWasWrongFails(t *testing.T) {
	b := newBench(t, func(item *v1alpha1.DeployItem) {
		item.Status.JobIDGenerationTime = &metav1.Time{Time: began.Add(1000 * time.Hour)}
	})
	require.Zero(t, b.pass(t).RequeueAfter)
	failed := &v1alpha1.DeployItem{}
	require.NoError(t, b.api.Get(t.Context(), client.ObjectKeyFromObject(b.item), failed))
	assert.Equal(t, v1alpha1.PhaseFailed, failed.Status.Phase)
	b.pass(t)
	assert.Equal(t, 1, b.writes)
}

func TestTheTimeForPickUpCountsFromNoMomentToCome(t *testing.T) {
	now, ahead := began.Add(time.Hour), began.Add(1000*time.Hour)
	connected := func(at time.Time) *v1alpha1.Environment {
		env := &v1alpha1.Environment{}
		env.Status.Conditions = []metav1.Condition{{Type: v1alpha1.AgentConnectedCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
		return env
	}
	for name, tc := range map[string]struct {
		requested time.Time
		env       *v1alpha1.Environment
		want      time.Time
	}{
		"without agent":                        {began, nil, began},
		"requested ahead":                      {ahead, nil, time.Time{}},
		"connected before":                     {began, connected(began.Add(-time.Minute)), began},
		"connected since":                      {began, connected(began.Add(time.Minute)), began.Add(time.Minute)},
		"connected ahead":                      {began, connected(ahead), began},
		"requested ahead, and connected since": {ahead, connected(began), began},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, waitsSince(tc.requested, tc.env, now)) })
	}
}

func TestJobsThatAreLeftAlone(t *testing.T) {
	other := protocol.Shard{Selector: labels.SelectorFromSet(labels.Set{protocol.ShardLabel: "other"})}
	for name, tc := range map[string]struct {
		change func(*bench)
		item   func(*v1alpha1.DeployItem)
		look   time.Duration
	}{
		"the time is not over":    {change: func(b *bench) { b.r.Now = func() time.Time { return began.Add(time.Second) } }, look: 59 * time.Second},
		"ended":                   {item: func(item *v1alpha1.DeployItem) { item.Status.JobIDFinished = "job" }},
		"nobody knows since when": {item: func(item *v1alpha1.DeployItem) { item.Status.JobIDGenerationTime = nil }},
		"picked up": {item: func(item *v1alpha1.DeployItem) {
			item.Status.LastReconcileTime = &metav1.Time{Time: began.Add(time.Second)}
		}},
		"of another shard":       {change: func(b *bench) { b.r.Shard = other }},
		"the cache shows it old": {change: func(b *bench) { newer := b.item.DeepCopy(); newer.ResourceVersion = "1000000"; b.r.items.Wrote(newer) }},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.item == nil {
				tc.item = func(*v1alpha1.DeployItem) {}
			}
			b := newBench(t, tc.item)
			if tc.change != nil {
				tc.change(b)
			}
			assert.Equal(t, tc.look, b.pass(t).RequeueAfter)
			assert.Zero(t, b.writes)
		})
	}
}

func TestADeployerThatComesFirstWins(t *testing.T) {
	b := newBench(t)
	b.refuse = apierrors.NewConflict(schema.GroupResource{}, "item", nil)
	b.pass(t)
	assert.Empty(t, b.events.Events)
}
