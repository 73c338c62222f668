// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// typed is a DeployItem without an Execution that deploys the ConfigMap "of-" and its type, and asks for a job.
func (s *scene) typed(kind string) string {
	s.T.Helper()
	config := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-` + kind + `", "namespace": "` + s.Namespace + `"}}`
	archive, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.0.0\n", "templates/one.yaml": config,
	}))
	require.NoError(s.T, err)
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DeployItem\nmetadata:\n  name: direct\n  annotations: {" +
		v1alpha1.OperationAnnotation + ": " + v1alpha1.OperationTestReconcile + "}\nspec: {type: landscaper.gardener.cloud/" + kind +
		", target: {name: cluster}, config: " + map[string]string{
		"mock":                "{phase: Succeeded, providerStatus: {seen: true}}",
		"kubernetes-manifest": "{manifests: [{policy: manage, manifest: " + config + "}]}",
		"helm":                fmt.Sprintf("{name: one, namespace: %s, chart: {archive: {raw: %s}}}", s.Namespace, base64.StdEncoding.EncodeToString(archive)),
	}[kind] + "}\n"
}

// tested waits until the job that the DeployItem of typed asks for has ended.
func (s *scene) tested(last string) *v1alpha1.DeployItem {
	s.T.Helper()
	return s.directItem(func(item *v1alpha1.DeployItem) bool {
		return item.Status.IsIdle() && item.Status.JobID != last && item.Annotations[v1alpha1.OperationAnnotation] == ""
	})
}

// TestAnItemOfAnotherTypeKeepsWhatIsDeployed changes the type of a DeployItem that no webhook guards.
func TestAnItemOfAnotherTypeKeepsWhatIsDeployed(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][2]string{{"helm", "kubernetes-manifest"}, {"kubernetes-manifest", "mock"}} {
		t.Run(kinds[0]+" to "+kinds[1], func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.apply(s.typed(kinds[0]))
			deployed := s.tested("")
			require.Equal(t, v1alpha1.PhaseSucceeded, deployed.Status.Phase)

			s.apply(s.typed(kinds[1]))
			refused := s.tested(deployed.Status.JobID)
			require.Equal(t, v1alpha1.PhaseFailed, refused.Status.Phase)
			require.Equal(t, "TypeChanged", refused.Status.LastError.Reason)
			require.Equal(t, deployed.Status.ProviderStatus, refused.Status.ProviderStatus)
			require.Equal(t, deployed.Status.Deployer, refused.Status.Deployer)
			require.True(t, s.has("of-"+kinds[0]))
			require.False(t, s.has("of-"+kinds[1]))
			s.RequireStandstill()

			s.Delete(refused)
			s.Annotate(refused, v1alpha1.OperationAnnotation, v1alpha1.OperationTestReconcile)
			kept := s.tested(refused.Status.JobID)
			require.Equal(t, v1alpha1.PhaseDeleteFailed, kept.Status.Phase)
			require.True(t, s.has("of-"+kinds[0]))

			s.apply(s.typed(kinds[0]))
			s.Gone(kept)
			requireGone(s.Ctx, t, s.Cluster, &corev1.ConfigMap{}, s.Namespace, "of-"+kinds[0])
		})
	}
}

// TestAJobEndsWhoseTypeNobodyServes changes the type of a DeployItem while its deployer works: that one leaves the item alone from then on, and there is
// no other.
func TestAJobEndsWhoseTypeNobodyServes(t *testing.T) {
	t.Parallel()
	for name, uninstalls := range map[string]bool{"while it is deployed": false, "while it is uninstalled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			config, err := s.NewUser(s.Deployer(), landscape.AllRights...)
			require.NoError(t, err)
			door, phase := s.TargetBehindDoor("cluster", config), v1alpha1.PhaseProgressing
			s.apply(leaf{name: "one", value: "1", annotations: follows()}.String())
			s.Succeeded("one")
			door.Close()
			if uninstalls {
				phase = v1alpha1.PhaseDeleting
				s.Delete(s.Installation("one"))
			} else {
				s.apply(leaf{name: "one", value: "2", annotations: follows()}.String())
			}
			item := s.items()["config"]
			require.NoError(t, s.Await(s.Ctx, item, func() bool { return item.Status.Phase == phase && item.Status.LastError != nil }))

			s.retype(item, "example.com/none")

			failed := s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() && inst.Status.Phase.IsFailed() })
			require.Contains(t, failed.Status.LastError.Message, "spec.type was landscaper.gardener.cloud/kubernetes-manifest before")
			s.RequireStandstill()
			require.NoError(t, door.Open())
			if uninstalls {
				s.Annotate(failed, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
			} else {
				s.Delete(failed)
			}
			s.Gone(failed)
			s.requireUninstalled("one")
		})
	}
}

// TestAnItemOfATypeThatNobodyServesIsLetGo changes the type of a DeployItem to one without a deployer, and does what the failure of its deletion says.
func TestAnItemOfATypeThatNobodyServesIsLetGo(t *testing.T) {
	const kind = "kubernetes-manifest"
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.apply(s.typed(kind))
	item := s.tested("")
	require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	s.retype(item, "example.com/none")
	s.Delete(item)
	s.RequireStandstill()

	s.Annotate(item, v1alpha1.DeleteWithoutUninstallAnnotation, "true")

	s.Gone(item)
	require.True(t, s.has("of-"+kind))
}

// retype changes the type of a DeployItem past its Execution.
func (s *scene) retype(item *v1alpha1.DeployItem, kind string) {
	s.T.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"type":"`+kind+`"}}`))
	require.NoError(s.T, s.Client().Patch(s.Ctx, item, patch))
}
