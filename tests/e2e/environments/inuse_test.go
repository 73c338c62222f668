// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// deployed makes an Installation of a tenant whose DeployItem a deployer of an Environment has taken, and returns the item.
func (s *stage) deployed(namespace, name, env string) *v1alpha1.DeployItem {
	s.t.Helper()
	at := metav1.ObjectMeta{Namespace: namespace, Name: name}
	annotated := at
	annotated.Annotations = map[string]string{v1alpha1.EnvironmentAnnotation: env}
	item := &v1alpha1.DeployItem{ObjectMeta: at, Spec: v1alpha1.DeployItemSpec{Type: "mock", Target: &v1alpha1.DeployItemTarget{Name: name}}}
	item.Labels = map[string]string{v1alpha1.ExecutionManagedByLabel: name}
	s.create(
		&v1alpha1.Installation{ObjectMeta: at, Spec: v1alpha1.InstallationSpec{Blueprint: v1alpha1.BlueprintDefinition{Reference: &v1alpha1.BlueprintReference{ResourceName: "a"}}}},
		&v1alpha1.Target{ObjectMeta: annotated, Spec: v1alpha1.TargetSpec{Type: "mock"}}, item)
	item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "mock-" + env}
	require.NoError(s.t, s.client.Status().Update(s.ctx, item))
	return item
}

// held waits until the deletion of an Environment is held with a message that contains a text.
func (s *stage) held(env *v1alpha1.Environment, text string) {
	s.t.Helper()
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "EnvironmentInUse" && strings.Contains(conditions.GetMessage(e, meta.ReadyCondition), text)
	})
}

func TestAnEnvironmentThatIsUsedKeepsItsDeployersUntilNobodyNeedsThem(t *testing.T) {
	s := newStage(t)
	shop, other := s.p.Namespace(t), s.p.Namespace(t)
	env := s.env("east", in(shop))
	s.create(env, deployer("mock"))
	s.succeed("mock-east")
	one, two := s.deployed(shop, "one", "east"), s.deployed(shop, "two", "east")
	s.deployed(other, "three", "east") // its deployers may not work there

	require.NoError(t, s.client.Delete(s.ctx, env))

	s.held(env, "2 ("+shop+"/one, "+shop+"/two); delete them, or annotate this Environment "+v1alpha1.ForceDeleteAnnotation)
	assert.True(t, s.triggered("mock-east").DeletionTimestamp.IsZero(), "it still has to uninstall")
	s.requireSteady()
	require.NoError(t, s.client.Delete(s.ctx, one))
	s.held(env, "1 ("+shop+"/two);")
	require.NoError(t, s.client.Delete(s.ctx, two))
	s.uninstall("mock-east")
}

func TestTheDeletionOfAnEnvironmentThatIsUsedCanBeForced(t *testing.T) {
	s := newStage(t)
	shop := s.p.Namespace(t)
	env := s.env("east")
	s.create(env, deployer("mock"))
	s.succeed("mock-east")
	s.deployed(shop, "one", "east")
	require.NoError(t, s.client.Delete(s.ctx, env))
	s.held(env, shop+"/one")
	edit(s, env, func(e *v1alpha1.Environment) {
		e.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
	})
	s.uninstall("mock-east")
}

func TestAnEnvironmentWhoseDeployersWereDeletedByForceSaysWhatTheyLeave(t *testing.T) {
	s := newStage(t)
	env := s.env("east")
	s.create(env, deployer("mock"))
	s.succeed("mock-east")
	record := &corev1.ConfigMap{ObjectMeta: s.named("mock-east-left-behind-1")}
	record.Labels = map[string]string{v1alpha1.LeftBehindLabel: "mock-east"}
	s.create(record)
	require.NoError(t, s.client.Delete(s.ctx, env))
	s.uninstall("mock-east")
	shown := until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "AgentInstalled"
	})
	said := conditions.GetMessage(shown, meta.ReadyCondition)
	assert.Contains(t, said, "left on the host cluster, as ConfigMaps say: "+client.ObjectKeyFromObject(record).String())
	assert.NotContains(t, said, "all deployers are uninstalled")
	s.requireSteady()
}
