// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestSelectors(t *testing.T) {
	fenced := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "fenced", Annotations: map[string]string{"environment": "inside"}, Labels: map[string]string{"size": "7"},
	}}
	require := func(key, operator string, values ...string) []v1alpha1.Requirement {
		return []v1alpha1.Requirement{{Key: key, Operator: operator, Values: values}}
	}
	name := func(namespace, name string) []v1alpha1.ObjectReference {
		return []v1alpha1.ObjectReference{{Name: "other"}, {Namespace: namespace, Name: name}}
	}
	tests := map[string]struct {
		selector v1alpha1.TargetSelector
		want     bool
	}{
		"empty":                   {v1alpha1.TargetSelector{}, true},
		"name":                    {v1alpha1.TargetSelector{Targets: name("", "fenced")}, true},
		"name and namespace":      {v1alpha1.TargetSelector{Targets: name("ns", "fenced")}, true},
		"name in other namespace": {v1alpha1.TargetSelector{Targets: name("other", "fenced")}, false},
		"equal":                   {v1alpha1.TargetSelector{Annotations: require("environment", "=", "inside")}, true},
		"double equal":            {v1alpha1.TargetSelector{Annotations: require("environment", "==", "outside")}, false},
		"in":                      {v1alpha1.TargetSelector{Annotations: require("environment", "in", "outside", "inside")}, true},
		"not in":                  {v1alpha1.TargetSelector{Annotations: require("environment", "notin", "inside")}, false},
		"not in without key":      {v1alpha1.TargetSelector{Annotations: require("absent", "notin", "inside")}, true},
		"not equal without key":   {v1alpha1.TargetSelector{Annotations: require("absent", "!=", "inside")}, true},
		"exists":                  {v1alpha1.TargetSelector{Labels: require("size", "exists")}, true},
		"does not exist":          {v1alpha1.TargetSelector{Labels: require("size", "!")}, false},
		"greater":                 {v1alpha1.TargetSelector{Labels: require("size", "gt", "6")}, true},
		"less":                    {v1alpha1.TargetSelector{Labels: require("size", "lt", "7")}, false},
		"no number":               {v1alpha1.TargetSelector{Annotations: require("environment", "gt", "1")}, false},
		"all parts have to match": {v1alpha1.TargetSelector{Targets: name("", "fenced"), Labels: require("size", "=", "8")}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, notify.Selected([]v1alpha1.TargetSelector{test.selector}, fenced))
		})
	}
}

func TestAnySelectorIsEnough(t *testing.T) {
	object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	selectors := []v1alpha1.TargetSelector{
		{Targets: []v1alpha1.ObjectReference{{Name: "a"}}}, {Targets: []v1alpha1.ObjectReference{{Name: "b"}}},
	}
	assert.True(t, notify.Selected(selectors, object))
}

func TestUnknownOperatorIsAnError(t *testing.T) {
	options := Options{Clients: &target.Clients{}, TargetSelectors: []v1alpha1.TargetSelector{{Labels: []v1alpha1.Requirement{{Key: "a", Operator: "~"}}}}}
	assert.ErrorContains(t, options.complete(), `unknown operator "~"`)
}

// inside selects targets with the label zone=inside.
var inside = Options{TargetSelectors: []v1alpha1.TargetSelector{{Labels: []v1alpha1.Requirement{{Key: "zone", Operator: "=", Values: []string{"inside"}}}}}}

func TestDeployerWithSelectorsServesItsTargetsOnly(t *testing.T) {
	s := newStage(t, &scripted{}, inside)
	s.createTarget("inside", map[string]string{"zone": "inside"})
	s.createTarget("outside", map[string]string{"zone": "outside"})
	outside := s.create("outside", named("outside"))
	absent := s.create("absent", named("absent"))
	own := s.create("inside", named("inside"))
	free := s.create("free")
	for _, item := range []*v1alpha1.DeployItem{outside, absent, own, free} {
		s.trigger(item)
	}
	s.finished(own)
	s.finished(free)
	for _, item := range []*v1alpha1.DeployItem{outside, absent} {
		require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
		assert.Empty(t, item.Status.Phase, item.Name)
	}
}

func TestDeployerOfTargetsOnlyLeavesItemsWithoutTarget(t *testing.T) {
	s := newStage(t, &scripted{}, Options{TargetsOnly: true})
	s.createTarget("cluster", nil)
	own, free := s.create("own", named("cluster")), s.create("free")
	s.trigger(free)
	s.trigger(own)
	s.finished(own)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(free), free))
	assert.Empty(t, free.Status.Phase)
}

func TestTargetThatBecomesSelectedBringsItsItemsOn(t *testing.T) {
	s := newStage(t, &scripted{}, inside)
	item := s.create("item", named("late"))
	s.trigger(item)
	s.createTarget("late", map[string]string{"zone": "inside"})
	s.finished(item)
}

func TestDeployerReportsThatATargetItServedIsGone(t *testing.T) {
	s := newStage(t, &scripted{}, inside)
	s.createTarget("cluster", map[string]string{"zone": "inside"})
	item := s.create("item", named("cluster"))
	s.trigger(item)
	s.finished(item)
	gone := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "cluster"}}
	require.NoError(t, s.client().Delete(t.Context(), gone))
	s.remove(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Equal(t, "NoTargetFound", item.Status.LastError.Reason)
}

func TestItemGetsTargetAndContext(t *testing.T) {
	var got *Item
	var second *target.Cluster
	s := newStage(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		got = item
		var err error
		second, err = item.Targets(ctx, "second")
		return Outcome{Done: true}, err
	}}, Options{})
	require.NoError(t, s.client().Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "pull"}, StringData: map[string]string{"user": "me"},
	}))
	require.NoError(t, s.client().Create(t.Context(), &v1alpha1.Context{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"},
		ContextConfiguration: v1alpha1.ContextConfiguration{
			RegistryPullSecrets: []v1alpha1.LocalObjectReference{{Name: "pull"}},
			Configurations:      map[string]v1alpha1.AnyJSON{"k": v1alpha1.NewAnyJSON([]byte(`"v"`))},
		},
	}))
	s.createTarget("second", nil)
	item := s.create("item", s.withTarget("cluster"), func(item *v1alpha1.DeployItem) { item.Spec.Context = "shop" })
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, "cluster", got.Target.Name)
	assert.Equal(t, "second", second.Name)
	assert.Equal(t, map[string]map[string][]byte{"pull": {"user": []byte("me")}}, got.Context.PullSecrets)
	assert.JSONEq(t, `"v"`, string(got.Context.Configuration.Configurations["k"].RawMessage))
}

func TestDefaultContextMayBeMissing(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	missing := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1alpha1.DefaultContextName}}
	require.NoError(t, s.client().Delete(t.Context(), missing))
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestMissingPullSecretIsNamed(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	shop := &v1alpha1.Context{
		ObjectMeta:           metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"},
		ContextConfiguration: v1alpha1.ContextConfiguration{RegistryPullSecrets: []v1alpha1.LocalObjectReference{{Name: "pull"}}},
	}
	require.NoError(t, s.client().Create(t.Context(), shop))
	item := s.create("item", func(item *v1alpha1.DeployItem) { item.Spec.Context = "shop" })
	s.trigger(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Contains(t, item.Status.LastError.Message, `Secret "pull"`)
	require.NoError(t, s.client().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "pull"}}))
	s.finished(item)
}

func TestCacheHoldsItemsOfTheTypeOnly(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	own := s.create("own")
	s.trigger(own)
	s.finished(own)
	s.create("foreign", func(item *v1alpha1.DeployItem) { item.Spec.Type = "example.com/other" })
	var found v1alpha1.DeployItemList
	require.NoError(t, s.client().List(t.Context(), &found, client.InNamespace(s.namespace), client.MatchingFields{"spec.type": s.deployer.Type()}))
	assert.Len(t, found.Items, 1)
}
