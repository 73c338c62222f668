// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// change gives an item another configuration and a job.
func (s *served) change(item *v1alpha1.DeployItem, config string) {
	s.t.Helper()
	base := item.DeepCopy()
	item.Spec.Configuration = s.config(config)
	require.NoError(s.t, s.p.Client().Patch(s.t.Context(), item, client.MergeFrom(base)))
	s.begin(item)
	s.await(item, func() bool { return item.Status.JobID == item.Status.JobIDFinished })
}

func TestAMisspeltKeyDeletesNothing(t *testing.T) {
	s := serve(t)
	good := manifests("1", "a")
	item := s.create(good)
	s.finish(item)
	for name, test := range map[string]struct{ config, want string }{
		"a letter less":      {strings.Replace(good, "manifests:", "manifets:", 1), "spec.config: manifets: the key is unknown; did you mean manifests?"},
		"another case":       {strings.Replace(good, "manifests:", "Manifests:", 1), "spec.config: Manifests: the key is unknown; did you mean manifests?"},
		"on a deeper level":  {header + "readinessChecks: {manifests: []}\n", "spec.config: readinessChecks.manifests: the key is unknown; did you mean manifests?"},
		"beside its place":   {good + "dependsOn: [b]\n", "spec.config: dependsOn: the key is unknown; did you mean dependsOn of the deploy item, beside config?"},
		"no manifests":       {header, "spec.config: manifests: is missing; write the objects to deploy there, or [] to uninstall all that were deployed"},
		"manifests are null": {header + "manifests:\n", "spec.config: manifests: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			s.change(item, test.config)
			assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
			require.NotNil(t, item.Status.LastError)
			assert.Contains(t, item.Status.LastError.Message, test.want)
			assert.True(t, conditions.IsStalled(item))
			require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(s.configMap("a")), s.configMap("a")), "what was deployed stays")
		})
	}
	s.change(item, header+"manifests: []\n")
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.True(t, apierrors.IsNotFound(s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(s.configMap("a")), s.configMap("a"))))
}

func TestAKeyWithoutEffectIsShown(t *testing.T) {
	s := serve(t)
	item := s.create(manifests("1", "a") + "colour: red\n")
	s.finish(item)
	shown := conditions.Get(item, v1alpha1.UnknownKeysCondition)
	require.NotNil(t, shown)
	assert.Equal(t, "spec.config: colour: the key is unknown and has no effect; check its spelling or remove it", shown.Message)
	s.standsStill(item, s.namespace)

	s.change(item, manifests("1", "a"))
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.False(t, conditions.Has(item, v1alpha1.UnknownKeysCondition))
}
