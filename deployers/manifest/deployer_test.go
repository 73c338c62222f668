// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestIdentity(t *testing.T) {
	d := New()
	assert.Equal(t, "manifest.deployer.landscaper.gardener.cloud", d.Name())
	assert.Equal(t, "landscaper.gardener.cloud/kubernetes-manifest", d.Type())
}

func TestItemFromCreateToDelete(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "b"))
	outcome := l.succeed()
	assert.Nil(t, outcome.Exports)
	assert.Equal(t, []string{"a", "b"}, l.recorded())

	l.configure(manifests("2", "b", "c"))
	l.succeed()
	assert.False(t, l.exists("a"), "the orphan is gone")
	assert.Equal(t, []string{"b", "c"}, l.recorded())

	l.vanish()
	assert.False(t, l.exists("b"))
	assert.False(t, l.exists("c"))
}

func TestOldConfiguration(t *testing.T) {
	l := newLife(t)
	l.configure(`
apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1
kind: ProviderConfiguration
manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {v: '1'}}]
exports: {exports: [{key: out.v, jsonPath: .data.v, fromResource: {apiVersion: v1, kind: ConfigMap, name: a, namespace: NS}}]}
`)
	outcome := l.succeed()
	assert.Equal(t, map[string]any{"out": map[string]any{"v": "1"}}, outcome.Exports)
	assert.Contains(t, string(outcome.ProviderStatus.Raw), "manifest.deployer.landscaper.gardener.cloud/v1alpha2")
	l.vanish()
	assert.False(t, l.exists("a"))
}

func TestStatusOfOldVersionIsDeleted(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.succeed()
	l.item.DeployItem.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha1",
"kind": "ProviderStatus", "managedResources": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "` + l.namespace + `"}]}`)}
	l.vanish()
	assert.False(t, l.exists("a"))
}

func TestC23KindList(t *testing.T) {
	l := newLife(t)
	l.configure(header + `
manifests:
- manifest: {apiVersion: v1, kind: List, items: []}
- manifest:
    apiVersion: v1
    kind: List
    items:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}}
    - {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: NS}}]}
`)
	l.succeed()
	assert.Equal(t, []string{"a", "b"}, l.recorded())
}

func TestNamespaceAndItsContent(t *testing.T) {
	l := newLife(t)
	l.configure(header + `
updateStrategy: patch
manifests:
- {policy: manage, manifest: {apiVersion: v1, kind: Secret, metadata: {name: my-secret, namespace: sub-NS}, stringData: {config: my-val}}}
- {policy: manage, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: sub-NS}}}
`)
	l.succeed()
	l.configure(string(l.item.DeployItem.Spec.Configuration.Raw))
	l.succeed()

	outcome, err := l.remove()

	require.NoError(t, err)
	assert.False(t, outcome.Done)
	assert.Contains(t, outcome.Waiting, "Namespace sub-"+l.namespace+" is still there")
	require.Len(t, outcome.Watch, 1)
	assert.Equal(t, "Namespace", outcome.Watch[0].Kind)
}

func TestConfigurationProblems(t *testing.T) {
	for name, test := range map[string]struct{ config, message string }{
		"unknown version": {config: "apiVersion: x/v1\nkind: ProviderConfiguration", message: "spec.config: apiVersion"},
		"wrong type":      {config: header + "manifests: no", message: "spec.config: manifests: is a JSON bool"},
		"invalid":         {config: header + "manifests: [{policy: never, manifest: {a: b}}]", message: "spec.config: manifests[0]: policy"},
		"no kind":         {config: header + "manifests: [{manifest: {apiVersion: v1, metadata: {name: a}}}]", message: "manifests[0].manifest.kind: is empty"},
		"no name":         {config: header + "manifests: [{manifest: {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A}]}}]", message: "manifests[0].manifest.items[0].metadata.name: is empty"},
		"no object":       {config: header + "manifests: [{manifest: text}]", message: "manifests[0].manifest: is not an object"},
		"conflict":        {config: header + "onConflict: Fail", message: "onConflict: is for updateStrategy apply only"},
		"immutable":       {config: header + "onImmutable: Sometimes", message: "onImmutable: \"Sometimes\" is unknown"},
		"health check":    {config: header + "readinessChecks: {healthChecks: [{apiVersion: v1, current: a}]}", message: "readinessChecks.healthChecks[0].kind: is empty"},
		"number as label": {config: header + "manifests: [{manifest: {apiVersion: v1, kind: A, metadata: {name: a, labels: {a: 1}}}}]", message: "manifests[0].manifest.metadata.labels: holds something that is not a string"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.configure(test.config)
			_, err := l.ensure()
			assert.ErrorContains(t, err, test.message)
			assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
		})
	}
}

func TestNoTarget(t *testing.T) {
	l := newLife(t)
	l.item.Target = nil
	l.configure(manifests("1", "a"))
	_, err := l.ensure()
	assert.ErrorContains(t, err, "no target defined")
	l.vanish()
}

func TestManagedResourcesAreRecordedWhenOthersFail(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.succeed()
	l.configure(manifests("2", "b") + "- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}}\n")

	outcome, err := l.ensure()

	assert.ErrorContains(t, err, `cannot create ConfigMap nowhere/c: namespaces "nowhere" not found`)
	assert.False(t, outcome.Done)
	assert.Equal(t, []string{"b", "a"}, l.recorded(), "the orphan is not forgotten")
	assert.True(t, l.exists("a"), "nothing is removed while something new is missing")
}

func TestReadinessIsWaitedForWithoutApplyingAgain(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a") + `
readinessChecks:
  custom:
  - name: done
    resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: a, namespace: NS}]
    requirements: [{jsonPath: .data.done, operator: ==, values: [{value: "yes"}]}]
`)
	outcome, err := l.ensure()
	require.NoError(t, err)
	assert.False(t, outcome.Done)
	assert.Contains(t, outcome.Waiting, "readiness check done")
	require.Len(t, outcome.Watch, 1)
	assert.Equal(t, []string{"a"}, l.recorded())

	l.patch(l.configMap("a"), `{"data":{"done":"yes"}}`)
	l.succeed()
	assert.Equal(t, "yes", l.live("a").Object["data"].(map[string]any)["done"], "the object was not applied a second time")
}

func TestDefaultReadinessCanBeSwitchedOff(t *testing.T) {
	for _, off := range []bool{true, false} {
		t.Run(map[bool]string{true: "off", false: "on"}[off], func(t *testing.T) {
			l := newLife(t)
			l.configure(header + map[bool]string{true: "readinessChecks: {disableDefault: true}\n"}[off] +
				"manifests: [{manifest: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: NS}, spec: {automountServiceAccountToken: false, containers: [{name: a, image: example.com/a}]}}}]")
			l.awaitServiceAccount()
			outcome, err := l.ensure()
			require.NoError(t, err)
			assert.Equal(t, off, outcome.Done)
		})
	}
}

func TestExportWaitsForWhatTheClusterWrites(t *testing.T) {
	l := newLife(t)
	l.configure(header + `
manifests:
- manifest: {apiVersion: v1, kind: ServiceAccount, metadata: {name: user, namespace: NS}}
- manifest: {apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: token, namespace: NS, annotations: {kubernetes.io/service-account.name: user}}}
exports: {exports: [{key: test-token, jsonPath: .data.token, fromResource: {apiVersion: v1, kind: Secret, name: token, namespace: NS}}]}
`)
	outcome, err := l.ensure()
	require.NoError(t, err)
	secret := l.configMap("token")
	secret.SetKind("Secret")
	require.NoError(t, platform.Shared(t).Await(t.Context(), secret, func() bool { return secret.Object["data"] != nil }))
	if !outcome.Done {
		assert.Equal(t, "export test-token: Secret "+l.namespace+"/token has no .data.token yet", outcome.Waiting)
		require.Len(t, outcome.Watch, 1)
		outcome = l.succeed()
	}
	assert.Equal(t, map[string]any{"test-token": secret.Object["data"].(map[string]any)["token"]}, outcome.Exports)
}

func TestPatchAfterDeployment(t *testing.T) {
	l := newLife(t)
	l.configure(header + "manifests: [{patchAfterDeployment: {data: {after: done}}, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {v: '1'}}}]")
	l.succeed()
	assert.Equal(t, map[string]any{"v": "1", "after": "done"}, l.live("a").Object["data"])
}

func TestPatchesKeepWholeNumbers(t *testing.T) {
	l := newLife(t)
	l.configure(header + `manifests:
- patchAfterDeployment: {spec: {activeDeadlineSeconds: 9007199254740993}}
  manifest:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: a, namespace: NS}
    spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}
`)
	_, err := l.ensure()
	require.NoError(t, err)
	job := l.configMap("a")
	job.SetAPIVersion("batch/v1")
	job.SetKind("Job")
	require.NoError(t, platform.Shared(t).Client().Get(t.Context(), crclient.ObjectKeyFromObject(job), job))
	assert.Equal(t, int64(9007199254740993), job.Object["spec"].(map[string]any)["activeDeadlineSeconds"])
}

func TestC21OrphansGoByTheirOwnDeletionGroups(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "b"))
	l.succeed()
	l.configure(manifests("1", "b") + "deletionGroupsDuringUpdate: [{predefinedResourceGroup: {type: empty}}]\n")

	l.succeed()

	assert.True(t, l.exists("a"))
	assert.Equal(t, []string{"b"}, l.recorded())
}

func TestOrphanThatLingersStaysRecorded(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "b"))
	l.succeed()
	l.patch(l.configMap("a"), `{"metadata":{"finalizers":["example.com/hold"]}}`)
	l.configure(manifests("1", "b"))

	outcome, err := l.ensure()

	require.NoError(t, err)
	assert.Contains(t, outcome.Waiting, "held by [example.com/hold]")
	assert.Equal(t, []string{"b", "a"}, l.recorded())
	l.patch(l.configMap("a"), `{"metadata":{"finalizers":null}}`)
	l.succeed()
	assert.Equal(t, []string{"b"}, l.recorded())
}

func TestDeletionWithBrokenConfiguration(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.succeed()
	l.configure("apiVersion: x/v1\nkind: Y\nmanifests: 7")
	l.vanish()
	assert.False(t, l.exists("a"))
}

func TestC21DeletionGroupsOfTheItem(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a") + "deletionGroups: [{predefinedResourceGroup: {type: empty}}]\n")
	l.succeed()
	l.vanish()
	assert.True(t, l.exists("a"))
}

func TestCheckpointEndsTheCall(t *testing.T) {
	timeout := errors.New("timeout")
	for _, at := range []string{"manifest deployer: start reconcile", "manifest deployer: start apply manifests", "deployer: process manifests",
		"deployer: apply manifests", "manifest deployer: default readiness checks", "manifest deployer: custom readiness checks",
		"manifest deployer: before reading export values"} {
		t.Run(at, func(t *testing.T) {
			l := newLife(t)
			l.configure(manifests("1", "a"))
			l.item.Checkpoint = func(name string) error {
				if name == at {
					return timeout
				}
				return nil
			}
			_, err := l.ensure()
			assert.ErrorIs(t, err, timeout)
		})
	}
}

func TestB901ToB902ManifestsOfBothVersions(t *testing.T) {
	const secrets = `[{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: NS}, stringData: {a: b}},
{apiVersion: v1, kind: Namespace, metadata: {name: other-NS}},
{apiVersion: v1, kind: Secret, metadata: {name: two, namespace: other-NS}, stringData: {a: b}}]`
	for name, config := range map[string]string{
		"B901 v1alpha2": header + `manifests:
- {policy: manage, manifest: {apiVersion: v1, kind: Secret, metadata: {name: one, namespace: NS}, stringData: {a: b}}}
- {policy: keep, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: other-NS}}}
- {policy: manage, manifest: {apiVersion: v1, kind: Secret, metadata: {name: two, namespace: other-NS}, stringData: {a: b}}}
`,
		"B902 v1alpha1": "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ProviderConfiguration\nmanifests: " + secrets,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.configure(config)
			l.succeed()
			assert.Equal(t, 2, l.secrets())

			outcome, err := l.remove()

			require.NoError(t, err)
			assert.True(t, outcome.Done || strings.Contains(outcome.Waiting, "Namespace other-"+l.namespace), outcome.Waiting)
			assert.Zero(t, l.secrets())
		})
	}
}

// secrets counts those of the test in its two namespaces.
func (l *life) secrets() int {
	l.t.Helper()
	count := 0
	for _, namespace := range []string{l.namespace, "other-" + l.namespace} {
		found := &corev1.SecretList{}
		require.NoError(l.t, platform.Shared(l.t).Client().List(l.t.Context(), found, crclient.InNamespace(namespace)))
		count += len(found.Items)
	}
	return count
}
