// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
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

// pullSecrets is an API server with Secrets of a size by any name, which counts how often they are read.
type pullSecrets struct {
	client.Reader
	size, reads int
}

func (s *pullSecrets) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.reads++
	object.(*corev1.Secret).Data = map[string][]byte{"k": make([]byte, s.size)}
	return nil
}

func TestEachPullSecretIsReadOnce(t *testing.T) {
	live := &pullSecrets{size: 1}
	object := &v1alpha1.Context{}
	object.RegistryPullSecrets = slices.Repeat([]v1alpha1.LocalObjectReference{{Name: "pull"}}, 1000)
	found, err := (&reconciler{live: live}).pullSecrets(t.Context(), object, false)
	require.NoError(t, err)
	assert.Len(t, found, 1)
	assert.Equal(t, 1, live.reads)
}

func TestPullSecretsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		names, size, fit int
		says             string
	}{
		"too many":  {51, 1, 50, "registryPullSecrets of Context n/c: names more than 50 different Secrets; name fewer"},
		"too large": {5, 1 << 20, 3, "registryPullSecrets of Context n/c: the Secrets have more than 4 MiB together; name fewer"},
	} {
		object := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}}
		for i := range tc.names {
			object.RegistryPullSecrets = append(object.RegistryPullSecrets, v1alpha1.LocalObjectReference{Name: fmt.Sprintf("secret-%d", i)})
		}
		c := &reconciler{live: &pullSecrets{size: tc.size}}
		t.Run(name, func(t *testing.T) {
			_, err := c.pullSecrets(t.Context(), object, false)
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, protocol.Stalled, protocol.AsFailure("", err).Kind)
		})
		t.Run(name+", in a deletion", func(t *testing.T) {
			found, err := c.pullSecrets(t.Context(), object, true)
			require.NoError(t, err)
			assert.Len(t, found, tc.fit)
		})
	}
}

func TestAContextWithTooManyPullSecretsEndsTheJob(t *testing.T) {
	deployer := &scripted{}
	s := newStage(t, deployer, Options{})
	var many []v1alpha1.LocalObjectReference
	for i := range 51 {
		many = append(many, v1alpha1.LocalObjectReference{Name: fmt.Sprintf("secret-%d", i)})
	}
	item := s.inContext(v1alpha1.ContextConfiguration{RegistryPullSecrets: many})
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Equal(t, "InvalidContext", item.Status.LastError.Reason)
	assert.Contains(t, item.Status.LastError.Message, "names more than 50 different Secrets")
}
