// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const servesIt = `{"deployer":"d","identity":"i","types":["example.com/none"]}`

// deployer adds the Lease of a deployer, and makes the process look at Leases in namespace ls.
func (b *bench) deployer(t *testing.T, change ...func(*coordinationv1.Lease)) *coordinationv1.Lease {
	t.Helper()
	b.r.Leases = "ls"
	if b.r.deployers.queue == nil {
		b.r.deployers.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		t.Cleanup(b.r.deployers.queue.ShutDown)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ls", Name: "one", Labels: map[string]string{v1alpha1.DeployerLeaseLabel: "true"},
		Annotations: map[string]string{v1alpha1.DeployerServesAnnotation: servesIt},
	}, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(60))}}
	for _, c := range change {
		c(lease)
	}
	require.NoError(t, b.api.Create(t.Context(), lease))
	return lease
}

// at sets the clock to a time after the job began.
func (b *bench) at(after time.Duration) { b.r.Now = func() time.Time { return began.Add(after) } }

// look has the controller of Leases look at one.
func (b *bench) look(t *testing.T, lease *coordinationv1.Lease) ctrl.Result {
	t.Helper()
	result, err := b.r.reconcileLease(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(lease)})
	require.NoError(t, err)
	return result
}

// renew changes a Lease as its deployer does.
func (b *bench) renew(t *testing.T, lease *coordinationv1.Lease) {
	t.Helper()
	now := metav1.NewMicroTime(b.r.Now())
	lease.Spec.RenewTime = &now
	require.NoError(t, b.api.Update(t.Context(), lease))
}

func TestABusyDeployerIsWaitedFor(t *testing.T) {
	b := newBench(t)
	lease := b.deployer(t)
	b.look(t, lease)
	for after := time.Minute; after < time.Hour; after += 30 * time.Second {
		b.at(after)
		b.renew(t, lease)
		assert.Equal(t, ctrl.Result{RequeueAfter: time.Minute}, b.look(t, lease))
		require.Zero(t, b.pass(t), "no clock brings it back")
	}
	assert.Zero(t, b.r.deployers.queue.Len())
	item := b.shown(t)
	assert.Nil(t, item.Status.LastError)
	assert.Equal(t, kit.ReasonDeployerBusy, conditions.GetReason(item, meta.ReconcilingCondition))
	assert.Contains(t, conditions.GetMessage(item, meta.ReadyCondition), "a deployer for type example.com/none is alive and has not begun this job within 1m0s")
	assert.Equal(t, 1, b.writes, "that it waits is written once")
}

func TestADeployerThatComesWhileThatIsShownWins(t *testing.T) {
	b := newBench(t)
	b.deployer(t)
	b.refuse = apierrors.NewConflict(schema.GroupResource{}, "item", nil)
	b.pass(t)
	assert.Equal(t, 1, b.writes)
}

func TestADeployerThatDoesNotSelectTheTargetAnyMoreIsWaitedForNoLonger(t *testing.T) {
	b := newBench(t, onTarget)
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "cluster", Labels: map[string]string{"zone": "a"}}}
	require.NoError(t, b.api.Create(t.Context(), target))
	b.deployer(t, func(l *coordinationv1.Lease) {
		l.Annotations[v1alpha1.DeployerServesAnnotation] =
			`{"types":["example.com/none"],"targetSelectors":[{"labels":[{"key":"zone","operator":"=","values":["a"]}]}]}`
	})
	b.pass(t)
	require.Nil(t, b.shown(t).Status.LastError)
	before := target.DeepCopy()
	target.Labels["zone"] = "b"
	require.NoError(t, b.api.Update(t.Context(), target))
	assert.True(t, selectionChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: target}))
	assert.Equal(t, []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(b.item)}}, b.r.deployers.parkedOf(t.Context(), target))
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
}

func TestEventsOfOtherTargetsBringNoItemBack(t *testing.T) {
	b := newBench(t, onTarget)
	b.deployer(t)
	b.pass(t)
	for _, other := range []metav1.ObjectMeta{{Namespace: "n", Name: "other"}, {Namespace: "m", Name: "cluster"}} {
		assert.Empty(t, b.r.deployers.parkedOf(t.Context(), &v1alpha1.Target{ObjectMeta: other}))
	}
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "cluster"}}
	assert.False(t, selectionChanged.Update(event.UpdateEvent{ObjectOld: target, ObjectNew: target.DeepCopy()}), "its status says nothing")
}

func TestParkedItemsOfATargetAreLookedForByAWorkerOfItsNamespace(t *testing.T) {
	b := newBench(t, onTarget)
	b.deployer(t)
	b.pass(t)
	for i := range 8 {
		another := b.item.DeepCopy()
		another.Name = fmt.Sprintf("item-%d", i)
		b.r.deployers.park(another)
	}
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "cluster"}}
	worker := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "n"}}
	assert.Equal(t, []ctrl.Request{worker}, b.r.deployers.laterParkedOf()(t.Context(), target))
	_, err := b.r.Reconcile(t.Context(), worker)
	require.NoError(t, err)
	assert.Equal(t, 9, b.r.deployers.queue.Len())
	assert.Empty(t, b.r.deployers.laterParkedOf()(t.Context(), &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "other"}}))
	for key := range b.r.deployers.parked {
		b.r.deployers.unpark(key)
	}
	assert.Empty(t, b.r.deployers.byTarget)
}

func TestNobodyIsAwaitedForAnItemThatIsToBeIgnored(t *testing.T) {
	b := newBench(t, func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
	})
	b.deployer(t)
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
}

func TestADeployerThatDiesIsWaitedForNoLonger(t *testing.T) {
	b := newBench(t)
	lease := b.deployer(t)
	b.look(t, lease)
	require.Zero(t, b.pass(t))
	b.at(3 * time.Minute)
	assert.Equal(t, ctrl.Result{RequeueAfter: 30 * time.Second}, b.look(t, lease), "it may just be late")
	require.Zero(t, b.pass(t))
	require.Zero(t, b.r.deployers.queue.Len())
	b.at(3*time.Minute + 30*time.Second)
	assert.Zero(t, b.look(t, lease))
	require.Equal(t, 1, b.r.deployers.queue.Len(), "the item comes back")
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
	assert.Empty(t, b.r.deployers.parked)
}

func TestWhatBringsAWaitingItemBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testing.T, *bench, *coordinationv1.Lease)
		back   int
	}{
		"a renewal does not": {func(t *testing.T, b *bench, lease *coordinationv1.Lease) { b.renew(t, lease) }, 0},
		"the Lease is gone": {func(t *testing.T, b *bench, lease *coordinationv1.Lease) {
			require.NoError(t, b.api.Delete(t.Context(), lease))
		}, 1},
		"the deployer serves other types": {func(t *testing.T, b *bench, lease *coordinationv1.Lease) {
			lease.Annotations[v1alpha1.DeployerServesAnnotation] = `{"types":["other"]}`
			b.renew(t, lease)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			lease := b.deployer(t)
			b.look(t, lease)
			b.pass(t)
			tc.change(t, b, lease)
			b.look(t, lease)
			assert.Equal(t, tc.back, b.r.deployers.queue.Len())
		})
	}
}

func TestLeasesThatKeepNoItemWaiting(t *testing.T) {
	for name, change := range map[string]func(*coordinationv1.Lease){
		"of another type": func(l *coordinationv1.Lease) {
			l.Annotations[v1alpha1.DeployerServesAnnotation] = `{"types":["other"]}`
		},
		"in another namespace": func(l *coordinationv1.Lease) { l.Namespace = "n" },
		"without the label":    func(l *coordinationv1.Lease) { l.Labels = nil },
		"that is unreadable":   func(l *coordinationv1.Lease) { l.Annotations = nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.deployer(t, change)
			b.pass(t)
			assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
		})
	}
}

func TestWhereNoLeasesAreSeenTheTimeCounts(t *testing.T) {
	b := newBench(t)
	b.deployer(t)
	b.r.Leases = ""
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
}

func TestAnItemThatIsPickedUpIsForgotten(t *testing.T) {
	b := newBench(t)
	b.deployer(t)
	b.pass(t)
	require.Len(t, b.r.deployers.parked, 1)
	item := b.shown(t)
	item.Status.LastReconcileTime = &metav1.Time{Time: began.Add(time.Second)}
	require.NoError(t, b.api.Status().Update(t.Context(), item))
	b.pass(t)
	assert.Empty(t, b.r.deployers.parked)
}

func TestForHowLongALeaseHolds(t *testing.T) {
	for want, says := range map[time.Duration]*int32{leaseDuration: nil, minLease: new(int32(-1)), maxLease: new(int32(1 << 30)), 7 * time.Second: new(int32(7))} {
		assert.Equal(t, want, holds(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: says}}))
	}
}

// TestNoDeployerDiesOfAnOutageOfTheAPIServer has an outage that is longer than a Lease: no deployer can renew, and the process goes on, as it does
// without leader election.
func TestNoDeployerDiesOfAnOutageOfTheAPIServer(t *testing.T) {
	for name, answers := range map[string][]error{
		"over before the first look": {nil},
		"over after the first look":  {apierrors.NewServiceUnavailable("etcd"), nil},
		"that lasts":                 {context.DeadlineExceeded, apierrors.NewServiceUnavailable("etcd"), context.DeadlineExceeded, nil},
		"that ends and comes back":   {nil, apierrors.NewServiceUnavailable("etcd"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			lease := b.deployer(t)
			b.look(t, lease)
			require.Zero(t, b.pass(t))
			now := 3 * time.Minute
			for _, answer := range answers {
				b.at(now)
				asked := false
				b.unread = func(o client.Object) error {
					if _, ok := o.(*coordinationv1.Lease); !ok {
						return nil
					}
					if !asked { // the cache has it, whatever the API server says
						asked = true
						return nil
					}
					return answer
				}
				result := b.look(t, lease)
				require.Positive(t, result.RequeueAfter)
				require.Zero(t, b.r.deployers.queue.Len(), "the item waits on")
				now += result.RequeueAfter
			}
			b.unread = nil
			b.at(now - time.Second)
			b.renew(t, lease)
			assert.Equal(t, ctrl.Result{RequeueAfter: time.Minute}, b.look(t, lease))
			require.Zero(t, b.pass(t))
			assert.Nil(t, b.shown(t).Status.LastError)
		})
	}
}
