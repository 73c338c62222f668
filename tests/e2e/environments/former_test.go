// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ofAgents reads what agents of a release write, from files of agent/testdata.
func ofAgents(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "agent", "testdata", file))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into))
}

// Agents are upgraded by the repositories of their fences, so the controller serves those of former releases, too.
func TestAgentsOfFormerReleasesAreServed(t *testing.T) {
	s := newStage(t)
	env, lease := &v1alpha1.Environment{}, &coordinationv1.Lease{}
	ofAgents(t, "environment.yaml", env)
	ofAgents(t, "lease.yaml", lease)
	lease.Namespace = s.namespace
	s.create(env, deployer("mock"))
	host := until(s, &v1alpha1.Target{ObjectMeta: s.named("north")}, func(*v1alpha1.Target) bool { return true })
	assert.Equal(t, env.Spec.HostTarget.Annotations, host.Annotations)
	assert.JSONEq(t, string(env.Spec.HostTarget.Configuration.RawMessage), string(host.Spec.Configuration.RawMessage))
	installation := s.triggered("mock-north")
	assert.JSONEq(t, `"fence"`, string(installation.Spec.ImportDataMappings["releaseNamespace"].RawMessage))

	s.create(lease)
	renewed := metav1.NewMicroTime(lease.Spec.RenewTime.Add(15 * time.Second))
	edit(s, lease, func(l *coordinationv1.Lease) { l.Spec.RenewTime = &renewed })
	s.succeed("mock-north")
	ready := until(s, env, func(e *v1alpha1.Environment) bool { return conditions.IsReady(e) && e.Status.AgentVersion != "" })
	assert.Equal(t, "v1.2.3", ready.Status.AgentVersion)
	s.connected("north", metav1.ConditionTrue)
	target := &v1alpha1.Target{}
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "mock-north"}, target))
	assert.Contains(t, string(target.Spec.Configuration.RawMessage), "https://landscaper.example.com", "deployers come back the way that the agent has")
	s.requireSteady()
}
