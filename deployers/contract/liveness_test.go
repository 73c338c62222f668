// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// leaseOf waits for the Lease of the deployer in a namespace.
func (s *stage) leaseOf(namespace string) *coordinationv1.Lease {
	s.t.Helper()
	leases := &coordinationv1.LeaseList{}
	require.Eventually(s.t, func() bool {
		err := s.client().List(s.t.Context(), leases, client.InNamespace(namespace), client.HasLabels{v1alpha1.DeployerLeaseLabel})
		return err == nil && len(leases.Items) == 1
	}, patience, 10*time.Millisecond)
	return &leases.Items[0]
}

func TestADeployerRenewsItsLease(t *testing.T) {
	home := platform.Shared(t).Namespace(t)
	options := Options{TargetsOnly: true, Liveness: &notify.LivenessOptions{Namespace: home, Namespaces: []string{"a"}, Interval: time.Second}}
	s := newStage(t, &scripted{}, options)
	lease := s.leaseOf(home)
	claim, err := notify.DeployerClaimOf(lease)
	require.NoError(t, err)
	assert.Equal(t, notify.DeployerClaim{
		Deployer: s.deployer.Name(), Identity: "test", Types: []string{s.deployer.Type()}, TargetsOnly: true, Namespaces: []string{"a"},
	}, claim)
	assert.EqualValues(t, 3, *lease.Spec.LeaseDurationSeconds)
	renewed := func(since *metav1.MicroTime) func() bool {
		return func() bool { return lease.Spec.RenewTime.After(since.Time) }
	}
	require.NoError(t, s.p.Await(s.context(), lease, renewed(lease.Spec.RenewTime)))
	const stolen = `{"spec":{"holderIdentity":"somebody else"}}`
	require.NoError(t, s.client().Patch(t.Context(), lease, client.RawPatch(types.MergePatchType, []byte(stolen))), "whatever is renewed meanwhile")
	require.NoError(t, s.p.Await(s.context(), lease, func() bool { return *lease.Spec.HolderIdentity == "test" }), "it takes it back")
	version := lease.UID
	require.NoError(t, s.client().Delete(t.Context(), lease))
	require.Eventually(t, func() bool { return s.leaseOf(home).UID != version }, patience, 10*time.Millisecond, "it makes it anew")
	s.stop()
	s.start(options)
	last := s.leaseOf(home)
	require.NoError(t, s.p.Await(s.context(), last, func() bool { return last.Spec.RenewTime.After(time.Now().Add(-time.Second)) }), "the next process goes on")
}

func TestADeployerWorksWithoutItsLease(t *testing.T) {
	s := newStage(t, &scripted{}, Options{Liveness: &notify.LivenessOptions{Namespace: "no-such-namespace", Interval: 50 * time.Millisecond}})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
}

func TestALeaseNeedsANamespace(t *testing.T) {
	_, err := notify.NewLiveness(platform.Shared(t).RestConfig, notify.LivenessOptions{}, notify.DeployerClaim{})
	assert.ErrorContains(t, err, "set Options.Liveness.Namespace")
}

func TestDeployersOfOtherItemsHaveLeasesOfTheirOwn(t *testing.T) {
	p := platform.Shared(t)
	home := p.Namespace(t)
	claim := notify.DeployerClaim{Deployer: "helm", Identity: "same", Types: []string{"helm"}}
	annotated := claim
	annotated.TargetSelectors = []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{{Key: "a", Operator: "exists"}}}}
	run := func(options notify.LivenessOptions, claim notify.DeployerClaim) {
		options.Namespace, options.Interval = home, 50*time.Millisecond
		holder, err := notify.NewLiveness(p.RestConfig, options, claim)
		require.NoError(t, err)
		go func() { _ = holder.Run(t.Context()) }()
	}
	run(notify.LivenessOptions{Namespaces: []string{"a"}}, claim)
	run(notify.LivenessOptions{Namespaces: []string{"b"}}, claim)
	run(notify.LivenessOptions{Namespaces: []string{"b"}}, claim) // another Pod of the same one
	run(notify.LivenessOptions{LabelSelector: "shard=one"}, claim)
	run(notify.LivenessOptions{}, annotated)
	said := func() map[string]string {
		leases := &coordinationv1.LeaseList{}
		if p.Client().List(t.Context(), leases, client.InNamespace(home)) != nil {
			return nil
		}
		found := map[string]string{}
		for _, lease := range leases.Items {
			found[lease.Name] = lease.Annotations[v1alpha1.DeployerServesAnnotation]
		}
		return found
	}
	require.Eventually(t, func() bool { return len(said()) == 4 }, patience, 10*time.Millisecond)
	first := said()
	assert.Never(t, func() bool { now := said(); return now != nil && !assert.ObjectsAreEqual(first, now) }, 500*time.Millisecond, 10*time.Millisecond, "nobody writes over another one")
}
