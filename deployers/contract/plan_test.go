// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// planning is a scripted deployer that plans the same for every job.
type planning struct {
	*scripted
	// destinations are where the jobs were to go.
	destinations chan managedresource.ClusterReference
	// isAt answers IsAt; nil says yes.
	isAt func(to managedresource.ClusterReference) bool
}

const (
	planned = `{"planned":true}`
	closed  = `{"closed":true}`
)

var _ Planner = planning{}

// Close shows that it was asked.
func (planning) Close(*v1alpha1.DeployItem, *runtime.RawExtension) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(closed)}
}

func (p planning) Plan(_ *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension {
	if p.destinations != nil {
		p.destinations <- to
	}
	return &runtime.RawExtension{Raw: []byte(planned)}
}

// recorded returns the provider status of an item as text, empty when it has none.
func recorded(item *v1alpha1.DeployItem) string {
	if item.Status.ProviderStatus == nil {
		return ""
	}
	return string(item.Status.ProviderStatus.Raw)
}

func TestPlanIsRecordedWithThePickUp(t *testing.T) {
	seen := make(chan string, 1)
	s := newPlanningStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		seen <- recorded(item.DeployItem)
		return Outcome{Done: true}, nil
	}})
	item := s.create("item")
	since := s.trigger(item)
	s.finished(item)
	assert.JSONEq(t, planned, <-seen)
	assert.JSONEq(t, planned, recorded(item))
	assert.Equal(t, []string{"update deployitems/status", "update deployitems/status"}, s.requests(since), "the plan costs no write")
}

func TestPlanOfAJobThatTouchedNothingIsTakenBack(t *testing.T) {
	failed := errors.New("no way to the target")
	for name, test := range map[string]struct {
		untouched []bool
		want      string
	}{
		"touched":               {untouched: []bool{false}, want: planned},
		"untouched":             {untouched: []bool{true}},
		"touched by a call":     {untouched: []bool{false, true}, want: planned},
		"touched by the second": {untouched: []bool{true, false}, want: planned},
	} {
		t.Run(name, func(t *testing.T) {
			call := 0
			s := newPlanningStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
				call++
				if call < len(test.untouched) {
					return Outcome{Untouched: test.untouched[call-1]}, failed
				}
				return Outcome{Untouched: test.untouched[call-1]}, protocol.Stall("Test", "Test", "stop")
			}})
			item := s.create("item")
			s.trigger(item)
			s.finished(item)
			assert.Equal(t, test.want, recorded(item))
		})
	}
}

func TestOnlyTheDeployerClosesItsRecord(t *testing.T) {
	const called = `{"called":true}`
	status := &runtime.RawExtension{Raw: []byte(called)}
	for name, test := range map[string]struct {
		outcome Outcome
		err     error
		want    string
	}{
		"success":          {Outcome{Done: true, ProviderStatus: status}, nil, closed},
		"failure":          {Outcome{ProviderStatus: status}, protocol.Stall("Test", "Test", "stop"), closed},
		"nothing recorded": {Outcome{Done: true}, nil, planned},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPlanningStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return test.outcome, test.err }})
			item := s.create("item")
			s.trigger(item)
			s.finished(item)
			assert.Equal(t, test.want, recorded(item))
		})
	}
	t.Run("ended by somebody else", func(t *testing.T) {
		s := newPlanningStage(t, &scripted{ensure: func(ctx context.Context, _ *Item) (Outcome, error) {
			<-ctx.Done()
			return Outcome{ProviderStatus: status}, ctx.Err()
		}})
		item := s.create("item")
		s.trigger(item)
		s.underWay(item, func() bool { return recorded(item) != "" })
		item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID
		require.NoError(t, s.p.Client().Status().Update(s.context(), item))
		s.remove(item)
		require.NoError(t, s.p.AwaitGone(s.context(), item))
		assert.Equal(t, planned, recorded(item))
	})
}

func TestD13PlanIsTakenBackWhenTheTargetIsMissing(t *testing.T) {
	s := newPlanningStage(t, &scripted{})
	item := s.create("item", named("missing"))
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Empty(t, recorded(item))
}

func TestPlanOfAnInterruptedJobThatTouchedNothingIsTakenBack(t *testing.T) {
	erased := make(chan string, 1)
	s := newPlanningStage(t, &scripted{
		ensure: func(ctx context.Context, _ *Item) (Outcome, error) {
			<-ctx.Done()
			return Outcome{Untouched: true}, ctx.Err()
		},
		remove: func(_ context.Context, item *Item) (Outcome, error) {
			erased <- recorded(item.DeployItem)
			return Outcome{Done: true}, nil
		},
	})
	item := s.create("item")
	s.trigger(item)
	s.underWay(item, func() bool { return recorded(item) != "" })
	s.remove(item)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
	assert.Empty(t, <-erased)
}

func TestD13DeletionAsksThePlannerAlthoughTheTargetIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		needed bool
	}{"nothing was deployed": {}, "something was deployed": {needed: true}} {
		t.Run(name, func(t *testing.T) {
			s := newPlanningStage(t, &scripted{remove: func(_ context.Context, item *Item) (Outcome, error) {
				if test.needed && item.Target == nil {
					return Outcome{}, item.TargetProblem
				}
				return Outcome{Done: true}, nil
			}})
			item := s.create("item", named("missing"))
			s.remove(item)
			if !test.needed {
				require.NoError(t, s.p.AwaitGone(s.context(), item))
				return
			}
			s.underWay(item, func() bool { return item.Status.LastError != nil })
			assert.Equal(t, "NoTargetFound", item.Status.LastError.Reason)
			s.createTarget("missing", nil)
			require.NoError(t, s.p.AwaitGone(s.context(), item))
		})
	}
}

func TestWarningOfASuccessIsShown(t *testing.T) {
	s := newPlanningStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{Done: true, Warning: "two objects are left on another cluster"}, nil
	}})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.Equal(t, "The item is deployed; two objects are left on another cluster", item.Status.Conditions[0].Message)
}

func TestPlanKnowsWhereTheTargetLeads(t *testing.T) {
	deployer, destinations := &scripted{}, make(chan managedresource.ClusterReference, 1)
	s := newStageOf(t, deployer, planning{scripted: deployer, destinations: destinations}, Options{})
	item := s.create("item", s.withTarget("cluster"))
	identity, err := platformCluster(t).Identity(t.Context())
	require.NoError(t, err)

	s.trigger(item)
	s.finished(item)

	to := <-destinations
	assert.Equal(t, "cluster", to.Target)
	assert.Equal(t, identity.UID, to.UID)
	assert.NotEmpty(t, to.Address)
}

func TestPlanOfASilentTargetHasItsName(t *testing.T) {
	deployer, destinations := &scripted{}, make(chan managedresource.ClusterReference, 1)
	s := newStageOf(t, deployer, planning{scripted: deployer, destinations: destinations}, Options{})
	item := s.create("item", named("missing"))

	s.trigger(item)
	s.finished(item)

	assert.Equal(t, managedresource.ClusterReference{Target: "missing"}, <-destinations)
}

func TestRecordedStatusIsThereBeforeTheCallGoesOn(t *testing.T) {
	const ahead = `{"ahead":true}`
	var s *stage
	seen := make(chan string, 1)
	s = newPlanningStage(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		if err := item.Record(ctx, &runtime.RawExtension{Raw: []byte(ahead)}); err != nil {
			return Outcome{}, err
		}
		written := &v1alpha1.DeployItem{}
		err := s.client().Get(ctx, client.ObjectKeyFromObject(item.DeployItem), written)
		seen <- recorded(written)
		return Outcome{Done: true}, err
	}})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.JSONEq(t, ahead, <-seen)
	assert.JSONEq(t, ahead, recorded(item), "it stays until the deployer records something else")
}

func (p planning) IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool {
	return p.isAt == nil || p.isAt(to)
}

func TestUpdateOnChangeOnlyAsksWhereTheTargetLeads(t *testing.T) {
	for moved, calls := range map[bool]int{false: 1, true: 2} {
		t.Run(fmt.Sprintf("moved %t", moved), func(t *testing.T) {
			deployer := &scripted{}
			addresses := make(chan string, 1)
			s := newStageOf(t, deployer, planning{scripted: deployer, isAt: func(to managedresource.ClusterReference) bool {
				addresses <- to.Address
				return !moved
			}}, Options{})
			item := s.create("item", s.withTarget("cluster"), func(item *v1alpha1.DeployItem) { item.Spec.UpdateOnChangeOnly = true })
			s.trigger(item)
			s.finished(item)
			asked := s.trigger(item)
			s.finished(item)

			ensured, _ := deployer.calls()
			assert.Equal(t, calls, ensured)
			assert.NotEmpty(t, <-addresses)
			if !moved {
				assert.Len(t, s.requestsOf(asked, "deployitems/status"), 1, "that nothing changed costs one write")
			}
		})
	}
}
