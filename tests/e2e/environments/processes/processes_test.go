// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package processes checks on the real platform what Environments and DeployerRegistrations do together with all other loops. The test plays the
// agents.
package processes

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// home is the namespace of the deployer management.
const home = "deployers"

// pickupTimeout is short: a test waits until it is over, and deployers that are installed must not fail by it.
const pickupTimeout = 3 * time.Second

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{Registry: true}, "--deployer-management", "--shared-environments",
		"--deployer-management-namespace="+home, "--pickup-timeout="+pickupTimeout.String()))
}

type object = map[string]any

// newScene returns the scene of a test in the namespace of the deployer management.
func newScene(t testing.TB) *landscape.Scene {
	t.Helper()
	l := landscape.Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*landscape.Patience)
	t.Cleanup(cancel)
	require.NoError(t, l.Apply(ctx, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: home}}))
	return &landscape.Scene{Landscape: l, T: t, Ctx: ctx, Namespace: home}
}

// environment makes an Environment, as its agent does.
func environment(s *landscape.Scene, name string) *v1alpha1.Environment {
	s.T.Helper()
	raw, err := json.Marshal(object{"kubeconfig": string(s.Kubeconfig)})
	require.NoError(s.T, err)
	content := v1alpha1.NewAnyJSON(raw)
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	env.Spec.HostTarget.Annotations = map[string]string{v1alpha1.DeployerOnlyAnnotation: "true"}
	env.Spec.HostTarget.Type, env.Spec.HostTarget.Configuration = v1alpha1.KubernetesClusterTargetType, &content
	env.Spec.Namespace = "fence"
	env.Spec.LandscaperClusterRestConfig = v1alpha1.ClusterRestConfig{Host: s.RestConfig.Host, CAData: s.RestConfig.CAData}
	require.NoError(s.T, s.Client().Create(s.Ctx, env))
	return env
}

// register makes a DeployerRegistration whose blueprint has one deploy item.
func register(s *landscape.Scene, name, item string) *v1alpha1.DeployerRegistration {
	s.T.Helper()
	blueprint := landscape.Blueprint(object{
		"imports": []any{
			object{"name": "cluster", "type": "target", "targetType": v1alpha1.KubernetesClusterTargetType},
			object{"name": "landscaperCluster", "type": "target", "targetType": v1alpha1.KubernetesClusterTargetType, "required": false},
			object{"name": "identity", "type": "data", "schema": object{"type": "string"}},
			object{"name": "targetSelectors", "type": "data", "schema": object{"type": "array"}},
		},
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + item),
	})
	raw, err := json.Marshal(object{"blueprint.yaml": blueprint})
	require.NoError(s.T, err)
	files := v1alpha1.NewAnyJSON(raw)
	registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	registration.Spec.DeployItemTypes = []string{"example.com/" + name}
	registration.Spec.InstallationTemplate.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: files}
	require.NoError(s.T, s.Client().Create(s.Ctx, registration))
	return registration
}

// beat gives a sign of life of an agent, and waits until it counts.
func beat(s *landscape.Scene, name string) {
	s.T.Helper()
	sign(s, name)
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(s.T, s.Await(s.Ctx, env, func() bool { return conditions.IsTrue(env, v1alpha1.AgentConnectedCondition) }))
}

// sign writes the Lease of an agent.
func sign(s *landscape.Scene, name string) {
	s.T.Helper()
	seconds := int32(600)
	now := metav1.NewMicroTime(time.Now())
	lease := &coordinationv1.Lease{ObjectMeta: s.Named(v1alpha1.AgentLeasePrefix + name)}
	lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &seconds, &now
	_ = s.Client().Delete(s.Ctx, lease.DeepCopy())
	require.NoError(s.T, s.Client().Create(s.Ctx, lease))
}

func TestDeployersAreInstalledIntoEveryEnvironmentAndUninstalled(t *testing.T) {
	s := newScene(t)
	var registered []*v1alpha1.Environment
	for _, name := range []string{"east", "west"} {
		registered = append(registered, environment(s, name))
		require.NoError(t, s.Await(s.Ctx, registered[len(registered)-1], func() bool { return len(registered[len(registered)-1].Status.Conditions) > 0 }))
		beat(s, name)
	}
	const item = "- name: deploy\n  type: landscaper.gardener.cloud/mock\n  target: {import: cluster}\n  config:\n" +
		"    apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1\n    kind: ProviderConfiguration\n" +
		"    export: {identity: {{ .imports.identity }}, access: {{ .imports.landscaperCluster.metadata.name }}}\n"
	one, two := register(s, "one", item), register(s, "two", item)
	for _, name := range []string{"one-east", "one-west", "two-east", "two-west"} {
		s.Succeeded(name)
	}
	for _, env := range registered {
		require.NoError(t, s.Await(s.Ctx, env, func() bool { return conditions.IsReady(env) && len(env.Status.Deployers) == 2 }))
	}
	require.NoError(t, s.Await(s.Ctx, one, func() bool { return conditions.IsReady(one) && len(one.Status.Environments) == 2 }))
	job := s.Succeeded("one-east").Status.JobID
	assert.Equal(t, job, s.Succeeded("one-east").Status.JobID, "one job was enough")

	s.Delete(one)
	s.Gone(one, s.Installation("one-east"), s.Installation("one-west"))
	s.Succeeded("two-east")
	for _, env := range registered {
		s.Delete(env)
		s.Gone(env)
	}
	s.Gone(s.Installation("two-east"), s.Installation("two-west"))
	s.Delete(two)
	s.Gone(two)
}

// withoutAgent makes an Environment whose agent has gone, and waits until that is shown.
func withoutAgent(s *landscape.Scene, name string) *v1alpha1.Environment {
	s.T.Helper()
	seconds := int32(5)
	lease := &coordinationv1.Lease{ObjectMeta: s.Named(v1alpha1.AgentLeasePrefix + name)}
	lease.Spec.LeaseDurationSeconds = &seconds // nobody renews it
	require.NoError(s.T, s.Client().Create(s.Ctx, lease))
	env := environment(s, name)
	require.NoError(s.T, s.Await(s.Ctx, env, func() bool { return conditions.IsFalse(env, v1alpha1.AgentConnectedCondition) }))
	return env
}

func TestItemsOfAnEnvironmentWithoutAgentWait(t *testing.T) {
	s := newScene(t)
	env := withoutAgent(s, "lonely")
	registration := register(s, "three", "- name: deploy\n  type: example.com/nobody\n  target: {import: cluster}\n  config: {}\n")
	shown := s.AwaitState("three-lonely", func(inst *v1alpha1.Installation) bool { return inst.Status.ExecutionReference != nil })
	items := &v1alpha1.DeployItemList{}
	waits := func() bool {
		if s.Client().List(s.Ctx, items, client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: "three-lonely"}) != nil || len(items.Items) != 1 {
			return false
		}
		return conditions.GetReason(&items.Items[0], meta.ReconcilingCondition) == protocol.ReasonAgentUnreachable
	}
	require.Eventually(t, waits, landscape.Patience, 50*time.Millisecond)
	require.Never(t, func() bool { return !waits() }, 2*pickupTimeout, 100*time.Millisecond)
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(shown), shown))
	assert.True(t, conditions.IsReconciling(shown))
	assert.False(t, shown.Status.IsIdle())

	beat(s, "lonely")
	assert.Equal(t, "PickupTimeout", s.Failed("three-lonely").Reason, "from now on time counts")
	s.Delete(registration)
	s.Delete(env)
	s.Gone(registration, env, s.Installation("three-lonely"))
}

// begun does what a deployer of an environment does that has begun with the DeployItem of a pair, and returns that.
func begun(s *landscape.Scene, pair string) *v1alpha1.DeployItem {
	s.T.Helper()
	items := &v1alpha1.DeployItemList{}
	require.Eventually(s.T, func() bool {
		return s.Client().List(s.Ctx, items, client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: pair}) == nil && len(items.Items) == 1
	}, landscape.Patience, 50*time.Millisecond)
	item := &items.Items[0]
	require.NoError(s.T, s.Client().Patch(s.Ctx, item, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`"]}}`))))
	require.NoError(s.T, s.Client().Status().Patch(s.Ctx, item, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Progressing","jobID":"`+
		item.Status.JobID+`","deployer":{"name":"lost","identity":"lost","version":"v1"},"providerStatus":{"release":{"name":"left","namespace":"fence"}}}}`))))
	return item
}

// documentedRelease is the patch of docs/environments.md that takes the finalizer of the agent off. The commands beside it name what the landscaper knows.
func documentedRelease(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "environments.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "--type=json -p '")
	require.True(t, found)
	patch, rest, _ := strings.Cut(rest, "'\n")
	for _, name := range []string{v1alpha1.ForceDeleteAnnotation + "=true", "-n " + v1alpha1.EnvironmentNamespacePrefix + "east annotate",
		"-l " + v1alpha1.LeftBehindLabel, "-l " + v1alpha1.DeployerEnvironmentLabel + "=east"} {
		assert.Contains(t, rest, name)
	}
	return []byte(patch)
}

// An agent that never comes back keeps nothing: what docs/environments.md says about force takes its Environment apart. Its deployer, which the test plays,
// had begun to deploy.
func TestAnEnvironmentWhoseAgentIsLostGoesByForce(t *testing.T) {
	s := newScene(t)
	env := withoutAgent(s, "lost")
	registration := register(s, "four", "- name: deploy\n  type: example.com/nobody\n  target: {import: cluster}\n  config: {}\n")
	installation := s.AwaitState("four-lost", func(inst *v1alpha1.Installation) bool { return inst.Status.ExecutionReference != nil })
	change := func(object client.Object, patch string) {
		require.NoError(t, s.Client().Patch(s.Ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	item := begun(s, "four-lost")
	change(env, `{"metadata":{"finalizers":["`+v1alpha1.AgentFinalizer+`","`+v1alpha1.DeployerManagementFinalizer+`"]}}`)

	s.Delete(env)

	require.NoError(t, s.Await(s.Ctx, env, func() bool {
		return strings.Contains(conditions.GetMessage(env, meta.ReadyCondition), "Installation "+home+"/four-lost has to be gone first")
	}))
	require.Never(t, func() bool {
		return apierrors.IsNotFound(s.Client().Get(s.Ctx, client.ObjectKeyFromObject(installation), &v1alpha1.Installation{}))
	}, 2*pickupTimeout, 100*time.Millisecond, "nobody uninstalls it")
	releasing := documentedRelease(t)
	err := s.Client().Patch(s.Ctx, env.DeepCopy(), client.RawPatch(types.JSONPatchType, releasing))
	require.True(t, apierrors.IsInvalid(err), "the management has its finalizer: %v", err)
	change(installation, `{"metadata":{"annotations":{"`+v1alpha1.ForceDeleteAnnotation+`":"true"}}}`)
	s.Gone(installation)
	records := &corev1.ConfigMapList{}
	require.NoError(t, s.Client().List(s.Ctx, records, client.InNamespace(home), client.MatchingLabels{v1alpha1.LeftBehindLabel: "four-lost"}))
	require.Len(t, records.Items, 1)
	assert.Contains(t, records.Items[0].Data[item.Name], "release: fence/left", "what stays behind the fence is known")
	require.NoError(t, s.Await(s.Ctx, env, func() bool { return len(env.Finalizers) == 1 }))
	require.NoError(t, s.Client().Patch(s.Ctx, env, client.RawPatch(types.JSONPatchType, releasing)))
	s.Gone(env)
	for _, left := range []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "four-lost"}}, &corev1.ServiceAccount{ObjectMeta: s.Named("four-lost")},
		&v1alpha1.Target{ObjectMeta: s.Named("four-lost")}, &v1alpha1.Target{ObjectMeta: s.Named("lost")},
	} {
		require.NoError(t, s.AwaitGone(s.Ctx, left), "%T", left)
	}
	lease := &coordinationv1.Lease{ObjectMeta: s.Named(v1alpha1.AgentLeasePrefix + "lost")}
	s.Delete(registration)
	s.Delete(lease)
	s.Delete(&records.Items[0])
	s.Gone(registration, lease)
}
