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

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// inContext makes a Context and an item that names it, and starts its job.
func (s *stage) inContext(configuration v1alpha1.ContextConfiguration) *v1alpha1.DeployItem {
	s.t.Helper()
	require.NoError(s.t, s.client().Create(s.t.Context(), &v1alpha1.Context{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}, ContextConfiguration: configuration,
	}))
	item := s.create("item", func(item *v1alpha1.DeployItem) { item.Spec.Context = "shop" })
	s.trigger(item)
	return item
}

func TestOCMConfigIsReadOnceItIsThere(t *testing.T) {
	var got *Item
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		got = item
		return Outcome{Done: true}, nil
	}}, Options{})
	item := s.inContext(v1alpha1.ContextConfiguration{OCMConfig: &v1alpha1.LocalObjectReference{Name: "ocm"}})
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Contains(t, item.Status.LastError.Message, `ConfigMap "ocm" does not exist`)

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ocm"}}
	require.NoError(t, s.client().Create(t.Context(), config))
	s.underWay(item, func() bool {
		return item.Status.LastError != nil && item.Status.LastError.Reason == "OCMConfigIncomplete"
	})
	config.Data = map[string]string{".ocmconfig": "type: generic"}
	require.NoError(t, s.client().Update(t.Context(), config))
	s.finished(item)
	assert.Equal(t, "type: generic", string(got.Context.OCMConfig))
	assert.Nil(t, got.Context.Overwrites)
}

func TestOverwritesAreReadWhenAsked(t *testing.T) {
	var found []v1alpha1.ComponentVersionOverwrite
	s := newStage(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		var err error
		found, err = item.Context.Overwrites(ctx)
		return Outcome{Done: true}, err
	}}, Options{})
	item := s.inContext(v1alpha1.ContextConfiguration{ComponentVersionOverwritesReference: "mine"})
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Contains(t, item.Status.LastError.Message, `ComponentVersionOverwrites "mine" does not exist`)

	overwrites := []v1alpha1.ComponentVersionOverwrite{{Substitution: v1alpha1.ComponentVersionOverwriteReference{Version: "2.0.0"}}}
	require.NoError(t, s.client().Create(t.Context(), &v1alpha1.ComponentVersionOverwrites{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "mine"}, Overwrites: overwrites,
	}))
	s.finished(item)
	assert.Equal(t, overwrites, found)
}

func TestContextWithoutSecretsForDeployersThatNeedNone(t *testing.T) {
	var got *Item
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		got = item
		return Outcome{Done: true}, nil
	}}, Options{SkipPullSecrets: true})
	item := s.inContext(v1alpha1.ContextConfiguration{
		OCMConfig: &v1alpha1.LocalObjectReference{Name: "none"}, RegistryPullSecrets: []v1alpha1.LocalObjectReference{{Name: "none"}},
	})
	s.finished(item)
	assert.Empty(t, got.Context.OCMConfig)
	assert.Empty(t, got.Context.PullSecrets)
}
