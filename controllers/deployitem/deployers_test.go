// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const servesIt = `{"deployer":"d","identity":"i","types":["example.com/none"]}`

// deployer adds the Lease of a deployer, and makes the process look at Leases in namespace ls.
func (b *bench) deployer(t *testing.T, change ...func(*coordinationv1.Lease)) *coordinationv1.Lease {
	t.Helper()
	b.r.Leases = "ls"
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

// renew changes a Lease as its deployer does.
func (b *bench) renew(t *testing.T, lease *coordinationv1.Lease) {
	t.Helper()
	now := metav1.NewMicroTime(b.r.Now())
	lease.Spec.RenewTime = &now
	require.NoError(t, b.api.Update(t.Context(), lease))
	assert.Empty(t, b.r.sight(t.Context(), lease), "it brings no item back")
}

func TestABusyDeployerIsWaitedFor(t *testing.T) {
	b := newBench(t)
	lease := b.deployer(t)
	for after := time.Minute; after < time.Hour; after += 30 * time.Second {
		b.at(after)
		b.renew(t, lease)
		require.Equal(t, ctrl.Result{RequeueAfter: time.Minute}, b.pass(t))
	}
	item := b.shown(t)
	assert.Nil(t, item.Status.LastError)
	assert.Equal(t, protocol.ReasonDeployerBusy, conditions.GetReason(item, meta.ReconcilingCondition))
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
	target.Labels["zone"] = "b"
	require.NoError(t, b.api.Update(t.Context(), target))
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
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
	b.r.sight(t.Context(), lease)
	b.at(3 * time.Minute)
	require.Equal(t, ctrl.Result{RequeueAfter: 30 * time.Second}, b.pass(t), "it may just be late")
	b.at(3*time.Minute + 30*time.Second)
	require.Zero(t, b.pass(t))
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
}

func TestADeployerThatLeavesIsWaitedForNoLonger(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *bench, *coordinationv1.Lease){
		"its Lease is gone": func(t *testing.T, b *bench, lease *coordinationv1.Lease) {
			require.NoError(t, b.api.Delete(t.Context(), lease))
		},
		"it serves other types": func(t *testing.T, b *bench, lease *coordinationv1.Lease) {
			lease.Annotations[v1alpha1.DeployerServesAnnotation] = `{"types":["other"]}`
			b.renew(t, lease)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			lease := b.deployer(t)
			require.Positive(t, b.pass(t).RequeueAfter)
			change(t, b, lease)
			require.Zero(t, b.pass(t))
			assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
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

func TestOnlyLeasesOfDeployersAreSeen(t *testing.T) {
	b := newBench(t)
	lease := b.deployer(t)
	assert.True(t, b.r.isOfDeployer(lease))
	for _, change := range []func(*coordinationv1.Lease){
		func(l *coordinationv1.Lease) { l.Namespace = "n" }, func(l *coordinationv1.Lease) { l.Labels = nil },
	} {
		other := lease.DeepCopy()
		change(other)
		assert.False(t, b.r.isOfDeployer(other))
	}
}

func TestWhereNoLeasesAreSeenTheTimeCounts(t *testing.T) {
	b := newBench(t)
	b.deployer(t)
	b.r.Leases = ""
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
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
			require.Positive(t, b.pass(t).RequeueAfter)
			now := 3 * time.Minute
			for _, answer := range answers {
				b.at(now)
				b.unread = func(o client.Object) error {
					if _, ok := o.(*coordinationv1.Lease); ok {
						return answer
					}
					return nil
				}
				result := b.pass(t)
				require.Positive(t, result.RequeueAfter, "the item waits on")
				now += result.RequeueAfter
			}
			b.unread = nil
			b.at(now - time.Second)
			b.renew(t, lease)
			require.Equal(t, ctrl.Result{RequeueAfter: time.Minute}, b.pass(t))
			assert.Nil(t, b.shown(t).Status.LastError)
		})
	}
}
