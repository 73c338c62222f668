// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// neverReady is a Deployment whose Pods run nowhere.
const neverReady = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "never", "namespace": %q}, "spec": {` +
	`"selector": {"matchLabels": {"app": "never"}}, "template": {"metadata": {"labels": {"app": "never"}}, "spec": {"containers": [{"name": "c", "image": "none"}]}}}}`

// lasting are DeployItems of each type, in the words of lastingItem, whose jobs end by their timeout only.
var lasting = []string{"mock", "kubernetes-manifest", "helm", "helm as template"}

// lastingItem is a DeployItem without an Execution; its operation may be empty.
func (s *scene) lastingItem(kind, operation string) string {
	s.T.Helper()
	deployment := fmt.Sprintf(neverReady, s.Namespace)
	archive, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: never\nversion: 1.0.0\n", "templates/never.yaml": deployment,
	}))
	require.NoError(s.T, err)
	kind, isTemplate := strings.CutSuffix(kind, " as template")
	config := map[string]string{
		"mock":                "{phase: Progressing}",
		"kubernetes-manifest": "{manifests: [{policy: manage, manifest: " + deployment + "}]}",
		"helm": fmt.Sprintf("{name: never, namespace: %s, helmDeployment: %t, chart: {archive: {raw: %s}}}", s.Namespace, !isTemplate,
			base64.StdEncoding.EncodeToString(archive)),
	}[kind]
	annotations := ""
	if operation != "" {
		annotations = "\n  annotations: {" + v1alpha1.OperationAnnotation + ": " + operation + "}"
	}
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DeployItem\nmetadata:\n  name: direct" + annotations +
		"\nspec: {type: landscaper.gardener.cloud/" + kind + ", target: {name: cluster}, config: " + config + "}\n"
}

// directItem waits for a state of the DeployItem of lastingItem.
func (s *scene) directItem(done func(*v1alpha1.DeployItem) bool) *v1alpha1.DeployItem {
	s.T.Helper()
	item := &v1alpha1.DeployItem{ObjectMeta: s.Named("direct")}
	require.NoError(s.T, s.Await(s.Ctx, item, func() bool { return done(item) }))
	return item
}

// requireInterrupted checks the end of a job.
func requireInterrupted(t *testing.T, job string, item *v1alpha1.DeployItem) {
	t.Helper()
	require.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	require.Equal(t, job, item.Status.JobIDFinished)
	require.Equal(t, "InterruptOperation", item.Status.LastError.Reason)
	require.Equal(t, "operation was interrupted", item.Status.LastError.Message)
}

func TestAnInterruptEndsTheJobOfAnItemWithoutExecution(t *testing.T) {
	t.Parallel()
	for _, kind := range lasting {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.apply(s.lastingItem(kind, v1alpha1.OperationTestReconcile))
			item := s.directItem(func(item *v1alpha1.DeployItem) bool {
				return item.Status.Phase == v1alpha1.PhaseProgressing && item.Annotations[v1alpha1.OperationAnnotation] == "" && len(item.Finalizers) > 0
			})
			if deployed := (&appsv1.Deployment{ObjectMeta: s.Named("never")}); kind != "mock" {
				require.NoError(t, s.Await(s.Ctx, deployed, func() bool { return deployed.UID != "" }))
			}
			asked := time.Now()

			s.Annotate(item, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)

			ended := s.directItem(func(item *v1alpha1.DeployItem) bool { return item.Annotations[v1alpha1.OperationAnnotation] == "" })
			took := time.Since(asked)
			t.Logf("it took %s", took)
			require.Less(t, took, pace.Within(2*time.Second))
			requireInterrupted(t, item.Status.JobID, ended)
			s.RequireStandstill()

			require.NoError(t, s.Client().Delete(s.Ctx, item))
			s.Annotate(item, v1alpha1.OperationAnnotation, v1alpha1.OperationTestReconcile)
			s.Gone(item)
			requireGone(s.Ctx, t, s.Cluster, &appsv1.Deployment{}, s.Namespace, "never")
		})
	}
}

// TestAnInterruptEndsOneJobWhereGitKeepsIt commits the operation, which Flux would put back at every sync.
func TestAnInterruptEndsOneJobWhereGitKeepsIt(t *testing.T) {
	t.Parallel()
	s := newSynced(t)
	commit := func(operation string) {
		t.Helper()
		_, err := s.repo.Commit(s.Ctx, "Change the item", map[string][]byte{"item.yaml": []byte(s.lastingItem("mock", operation))})
		require.NoError(t, err)
	}
	commit(v1alpha1.OperationTestReconcile)
	item := s.directItem(func(item *v1alpha1.DeployItem) bool { return item.Status.Phase == v1alpha1.PhaseProgressing })

	commit(v1alpha1.OperationInterrupt)

	ended := s.directItem(func(item *v1alpha1.DeployItem) bool { return item.Status.IsIdle() })
	requireInterrupted(t, item.Status.JobID, ended)
	require.Equal(t, "InterruptInGit", conditions.GetReason(ended, operationInGit))
	s.RequireStandstill()
	quiet := time.Now()
	s.awaitSyncs(3)
	s.RequireNoWrites(quiet)

	commit("")
	s.directItem(func(item *v1alpha1.DeployItem) bool { return !conditions.Has(item, operationInGit) })
	s.RequireStandstill()
}
