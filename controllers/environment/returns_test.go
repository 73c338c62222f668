// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// workIn is a deployer that is installed for some namespaces and bound in others.
func workIn(t *testing.T, installed, bound []string) *work {
	t.Helper()
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
	registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "helm"}}
	spec, err := describe(env, registration, installed)
	require.NoError(t, err)
	installation := &v1alpha1.Installation{Spec: *spec}
	installation.Finalizers = []string{v1alpha1.DeployerManagementFinalizer}
	installation.Annotations = map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}
	return &work{
		scope: &scope{env: env, persisted: &v1alpha1.EnvironmentStatus{}, now: now, namespaces: bound},
		key:   helmInEast, registration: registration, installation: installation,
	}
}

func TestANamespaceThatADeployerHasLostReturnsLater(t *testing.T) {
	one, both := []string{"one"}, []string{"one", "shop"}
	for name, test := range map[string]struct {
		installed, bound []string
		change           func(*Reconciler, *work)
		wants            []string
	}{
		"in its absence":          {one, both, func(*Reconciler, *work) {}, one},
		"when that is over":       {one, both, func(_ *Reconciler, w *work) { w.now = now.Add(time.Minute) }, both},
		"after a restart":         {one, both, func(r *Reconciler, _ *work) { r.absences.forget("east") }, both},
		"it is back already":      {both, both, func(*Reconciler, *work) {}, both},
		"it is the only one left": {one, []string{"shop"}, func(*Reconciler, *work) {}, []string{"shop"}},
		"with a new namespace":    {one, []string{"new", "one", "shop"}, func(*Reconciler, *work) {}, []string{"new", "one", "shop"}},
		"while another one goes":  {[]string{"one", "two"}, both, func(*Reconciler, *work) {}, one},
		"with a new version": {one, both, func(_ *Reconciler, w *work) {
			w.registration.Spec.InstallationTemplate.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{}
		}, both},
		"somebody asks for it": {one, both, func(_ *Reconciler, w *work) {
			w.env.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
		}, both},
		"somebody has asked before": {one, both, func(_ *Reconciler, w *work) {
			w.env.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
			w.persisted.LastHandledReconcileAt = "now"
		}, one},
		"it is not installed yet": {one, both, func(_ *Reconciler, w *work) { w.installation.Annotations = nil }, both},
		"everywhere":              {one, nil, func(*Reconciler, *work) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := &Reconciler{}, workIn(t, test.installed, test.bound)
			r.absences.begin(w.key, "shop", now)
			test.change(r, w)
			got, err := r.workplaces(w)
			require.NoError(t, err)
			assert.Equal(t, test.wants, got)
		})
	}
}

func TestItIsToldWhenANamespaceReturns(t *testing.T) {
	r, w := &Reconciler{}, workIn(t, []string{"one"}, []string{"one", "shop"})
	r.absences.begin(w.key, "shop", now)
	_, err := r.workplaces(w)
	require.NoError(t, err)
	require.Len(t, w.problems, 1)
	failure := protocol.AsOwnFailure(operation, w.problems[0])
	assert.Equal(t, protocol.Waiting, failure.Kind, "nobody has to act")
	assert.Equal(t, reasonNamespaceReturns, failure.Reason)
	assert.Contains(t, failure.Error(), "namespace shop has refused deployer helm 1 times and no longer does; it works there again at 2026-01-02T03:05:05Z")
	assert.Equal(t, time.Minute, w.requeue)
}

func TestOnlyANamespaceThatADeployerHadIsLost(t *testing.T) {
	r, w := &Reconciler{}, workIn(t, []string{"one", "shop"}, []string{"new", "one", "shop"})
	w.refusals = []refusal{{"shop", errors.New("quota")}, {"shop", errors.New("quota of the second binding")}, {"new", errors.New("quota")}}
	r.noteLosses(w, watched(w.installation))
	assert.Equal(t, map[loss]absence{{w.key, "shop"}: {1, now.Add(time.Minute)}}, r.absences.of)
}
