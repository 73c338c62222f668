// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// inlineOf is the blueprint of an Installation, inline, with one deploy execution.
func inlineOf(template string) string {
	return "inline: {filesystem: {blueprint.yaml: " + quote(blueprintOf(template)) + "}}"
}

// execution is an Execution that no Installation owns.
func execution(items ...string) string {
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Execution\nmetadata: {name: direct}\nspec:\n  deployItems:\n" +
		"  " + strings.ReplaceAll(strings.TrimSpace(strings.Join(items, "")), "\n", "\n  ") + "\n"
}

func (s *scene) execution(name string) *v1alpha1.Execution {
	return &v1alpha1.Execution{ObjectMeta: s.Named(name)}
}

// start writes a job into the status of the Execution, as whoever uses it without an Installation does.
func (s *scene) start(job string) {
	s.T.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"jobID":"`+job+`"}}`))
	require.NoError(s.T, s.Client().Status().Patch(s.Ctx, s.execution("direct"), patch))
}

// finished waits until the Execution has ended a job in a phase.
func (s *scene) finished(job string, phase v1alpha1.Phase) *v1alpha1.Execution {
	s.T.Helper()
	direct := s.execution("direct")
	require.NoError(s.T, s.Await(s.Ctx, direct, func() bool { return direct.Status.JobIDFinished == job }))
	require.Equal(s.T, phase, direct.Status.Phase)
	return direct
}

// items returns the DeployItems of the scene by the name of their template.
func (s *scene) items() map[string]*v1alpha1.DeployItem {
	s.T.Helper()
	list := &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	items := map[string]*v1alpha1.DeployItem{}
	for i := range list.Items {
		items[list.Items[i].Labels[v1alpha1.ExecutionManagedNameLabel]] = &list.Items[i]
	}
	return items
}

func TestB201PickupTimeout(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	blueprint := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\ndeployExecutions:\n- type: GoTemplate\n  template: " +
		quote("deployItems:\n"+strings.Replace(mockItem("nobody", "Succeeded"), "/mock", "/dummy", 1)+mockItem("somebody", "Succeeded"))
	s.apply(`apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: one, annotations: {landscaper.gardener.cloud/operation: reconcile}}
spec:
  componentDescriptor:
    inline:
      meta: {schemaVersion: v2}
      component: {name: example.com/root, version: 1.0.0, provider: internal, repositoryContexts: [], sources: [], componentReferences: [], resources: []}
  blueprint: {inline: {filesystem: {blueprint.yaml: ` + quote(blueprint) + `}}}
`)
	failed := s.Ended("one", v1alpha1.PhaseFailed)
	require.Contains(t, failed.Status.LastError.Message, "nobody", "the root names the item")
	items := s.items()
	require.Equal(t, v1alpha1.PhaseSucceeded, items["somebody"].Status.Phase)
	nobody := items["nobody"].Status
	require.Equal(t, v1alpha1.PhaseFailed, nobody.Phase)
	require.Equal(t, "PickupTimeout", nobody.LastError.Reason)
	require.Equal(t, "WaitingForPickup", nobody.LastError.Operation)
	require.Contains(t, nobody.LastError.Codes, v1alpha1.ErrorTimeout)
	require.Contains(t, nobody.LastError.Message, "no deployer has reconciled this deployitem within 5 seconds")
}

func TestB202ExecutionWithoutInstallation(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.apply(execution(mockItem("main", "Succeeded")))
	s.start("job-1")
	first := s.finished("job-1", v1alpha1.PhaseSucceeded)
	item := s.items()["main"]
	require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	require.Equal(t, "job-1", item.Status.JobIDFinished)

	s.apply(execution(mockItem("main", "Succeeded") + "    providerStatus: {apiVersion: a/v1, kind: B, seen: second}\n"))
	s.start("job-2")
	second := s.finished("job-2", v1alpha1.PhaseSucceeded)
	changed := s.items()["main"]
	require.Greater(t, second.Generation, first.Generation)
	require.Greater(t, changed.Generation, item.Generation)
	require.Contains(t, string(changed.Spec.Configuration.Raw), "second")
	require.Contains(t, string(changed.Status.ProviderStatus.Raw), "second")

	require.NoError(t, s.Client().Delete(s.Ctx, s.execution("direct")))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"jobID":"job-3"}}`))
	if err := s.Client().Status().Patch(s.Ctx, s.execution("direct"), patch); err != nil {
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	require.NoError(t, s.AwaitGone(s.Ctx, s.execution("direct")))
	s.requireEmpty()
}

func TestB203ExecutionFollowsItsItem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i, phase := range []v1alpha1.Phase{"Failed", "Succeeded", "Failed", "Succeeded"} {
		job := fmt.Sprintf("job-%d", i)
		s.apply(execution(mockItem("main", phase)))
		s.start(job)
		s.finished(job, phase)
		require.Equal(t, phase, s.items()["main"].Status.Phase)
	}
}

func TestDeletionOfARunningExecutionTakesItsItems(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.apply(execution(mockItem("main", "Progressing")))
	s.start("job-1")
	require.Eventually(t, func() bool {
		item := s.items()["main"]
		return item != nil && item.Status.LastReconcileTime != nil
	}, landscape.Patience, tick)
	require.NoError(t, s.Client().Delete(s.Ctx, s.execution("direct")))
	s.nudge("direct")
	require.Equal(t, v1alpha1.PhaseProgressing, s.items()["main"].Status.Phase, "the running job goes on")

	s.Annotate(s.execution("direct"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	require.NoError(t, s.AwaitGone(s.Ctx, s.execution("direct")))
	s.requireEmpty()
}

// itemLog is every state of every DeployItem of a namespace, in the order in which they were written.
type itemLog struct {
	mu     sync.Mutex
	states []*v1alpha1.DeployItem
}

func (s *scene) logItems() *itemLog {
	s.T.Helper()
	watcher, err := s.Client().Watch(s.Ctx, &v1alpha1.DeployItemList{}, client.InNamespace(s.Namespace))
	require.NoError(s.T, err)
	s.T.Cleanup(watcher.Stop)
	log := &itemLog{}
	go func() {
		for event := range watcher.ResultChan() {
			if item, ok := event.Object.(*v1alpha1.DeployItem); ok && event.Type != watch.Deleted {
				log.mu.Lock()
				log.states = append(log.states, item)
				log.mu.Unlock()
			}
		}
	}()
	return log
}

// first returns the position of the first state of an item with a property, -1 when there is none.
func (l *itemLog) first(name string, property func(*v1alpha1.DeployItem) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, state := range l.states {
		if state.Labels[v1alpha1.ExecutionManagedNameLabel] == name && property(state) {
			return i
		}
	}
	return -1
}

func TestB204ItemsRunInTheOrderOfTheirDependencies(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	log := s.logItems()
	after := func(item string, names ...string) string {
		return item + "  dependsOn: [" + strings.Join(names, ", ") + "]\n"
	}
	started := func(job string) func(*v1alpha1.DeployItem) bool {
		return func(item *v1alpha1.DeployItem) bool { return item.Status.JobID == job }
	}
	succeeded := func(job string) func(*v1alpha1.DeployItem) bool {
		return func(item *v1alpha1.DeployItem) bool {
			return item.Status.JobIDFinished == job && item.Status.Phase == v1alpha1.PhaseSucceeded
		}
	}
	graph := func(phase v1alpha1.Phase) string {
		return execution(after(mockItem("last", "Succeeded"), "middle"), after(mockItem("middle", "Succeeded"), "left", "right"),
			mockItem("left", phase), mockItem("right", phase))
	}

	s.apply(graph(v1alpha1.PhaseProgressing))
	s.start("job-1")
	picked := func(item *v1alpha1.DeployItem) bool { return item.Status.LastReconcileTime != nil }
	require.Eventually(t, func() bool { return log.first("left", picked) >= 0 && log.first("right", picked) >= 0 }, landscape.Patience, tick,
		"independent items run at the same time")
	require.Negative(t, log.first("middle", started("job-1")))
	s.Annotate(s.execution("direct"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	s.finished("job-1", v1alpha1.PhaseFailed)

	s.apply(graph(v1alpha1.PhaseSucceeded))
	s.start("job-2")
	s.finished("job-2", v1alpha1.PhaseSucceeded)
	require.Eventually(t, func() bool { return log.first("last", succeeded("job-2")) >= 0 }, landscape.Patience, tick)
	for _, pair := range [][2]string{{"left", "middle"}, {"right", "middle"}, {"middle", "last"}} {
		require.Less(t, log.first(pair[0], succeeded("job-2")), log.first(pair[1], started("job-2")), "%s before %s", pair[0], pair[1])
	}
}

func TestB403NothingStartsByItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.apply(leaf{name: "one", value: "1"}.String())
	idle := s.AwaitState("one", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.ReadyCondition) == "ChangesPending"
	})
	require.Contains(t, conditions.GetMessage(idle, meta.ReadyCondition), v1alpha1.OperationAnnotation)
	require.Empty(t, idle.Status.Phase)
	require.Empty(t, idle.Status.JobID)
	s.requireEmpty()

	nested := leaf{name: "nested", value: "1", annotations: map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}}
	s.apply(strings.Replace(nested.String(), "metadata:\n", fmt.Sprintf(`metadata:
  labels: {landscaper.gardener.cloud/encompassed-by: one}
  ownerReferences:
  - {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Installation, name: one, uid: %s, controller: true}
`, idle.UID), 1))
	s.AwaitState("nested", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.StalledCondition) == "ForeignOwner"
	})
	s.nudge("nested")
	s.RequireJobs(0, "one", "nested")
}

func TestD02InlineComponentDescriptor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, path := range []string{"examples/02-inline-cd/cluster/00-root-dep-import.yaml", "examples/02-inline-cd/cluster/01-root-1.yaml"} {
		s.apply(placeholders.Replace(strings.ReplaceAll(fill(t, path, nil), "{{ .Namespace }}", s.Namespace)))
	}
	s.Annotate(s.Installation("root-1"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.Ended("root-1", v1alpha1.PhaseSucceeded)
	require.Contains(t, string(s.items()["main"].Status.ProviderStatus.Raw), `"imp":"val1"`)
}

func TestDeletionOfWhatNeverStarted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.apply(leaf{name: "one", value: "1"}.String())
	s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return len(inst.Status.Conditions) > 0 })
	s.delete(s.Installation("one"))
	s.RequireJobs(0, "one")
}

func TestDeletionWithoutTheSource(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.push("shop", "1.0.0", "1")
	s.apply(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: shop}
spec: {interval: 1h, insecure: true, url: "`+s.Registry.URL(s.Namespace+"/shop")+`", ref: {semver: 1.x}}
`, s.sourced("one", fromSource("OCIRepository", "shop", "")).String())
	s.Ended("one", v1alpha1.PhaseSucceeded)
	s.delete(&sourcev1.OCIRepository{ObjectMeta: s.Named("shop")})
	s.delete(s.Installation("one"))
	s.requireUninstalled("one")
}

// requireUninstalled checks that what an Installation deployed is gone, and everything of ours.
func (s *scene) requireUninstalled(name string) {
	s.T.Helper()
	requireGone(s.Ctx, s.T, s.Cluster, &corev1.ConfigMap{}, s.Namespace, name)
	s.requireEmpty()
}

// TestDeletionWaitsForTheRunningJob has an item of the root and one of a sub-installation that end by an interruption only.
func TestDeletionWaitsForTheRunningJob(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	renders := func(item string) string {
		return "deployExecutions:\n- name: default\n  type: GoTemplate\n  template: " + quote("deployItems:\n"+mockItem(item, "Progressing")) + "\n"
	}
	const header = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"
	root := header + renders("own") + "subinstallations:\n" +
		"- apiVersion: landscaper.gardener.cloud/v1alpha1\n  kind: InstallationTemplate\n  name: sub\n" +
		"  blueprint: {filesystem: {blueprint.yaml: " + quote(header+renders("below")) + "}}\n"
	s.apply("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata: {name: root, annotations: {" +
		v1alpha1.ReconcileIfChangedAnnotation + ": 'true'}}\nspec: {blueprint: {inline: {filesystem: {blueprint.yaml: " + quote(root) + "}}}}")
	require.Eventually(t, func() bool {
		own, below := s.items()["own"], s.items()["below"]
		return own != nil && own.Status.LastReconcileTime != nil && below != nil && below.Status.LastReconcileTime != nil
	}, landscape.Patience, tick)
	running := s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })

	require.NoError(t, s.Client().Delete(s.Ctx, s.Installation("root")))
	s.nudge("root")
	waiting := s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return !inst.DeletionTimestamp.IsZero() })
	require.Equal(t, running.Status.JobID, waiting.Status.JobID)
	for _, item := range []string{"own", "below"} {
		require.Equal(t, v1alpha1.PhaseProgressing, s.items()[item].Status.Phase)
	}
	s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	require.NoError(t, s.AwaitGone(s.Ctx, s.Installation("root")))
	s.requireEmpty()
}

func TestA10DeletionWaitsForItsTarget(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.apply(leaf{name: "one", value: "1", annotations: follows()}.String())
	s.Ended("one", v1alpha1.PhaseSucceeded)
	require.NoError(t, s.Client().DeleteAllOf(s.Ctx, &v1alpha1.Target{}, client.InNamespace(s.Namespace)), "any Target that leads there would do")

	require.NoError(t, s.Client().Delete(s.Ctx, s.Installation("one")))
	s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	require.Eventually(t, func() bool {
		item := s.items()["config"]
		if item == nil {
			return false
		}
		last := item.Status.LastError
		return last != nil && strings.Contains(last.Message, "cluster")
	}, landscape.Patience, tick, "the item says for what it waits")
	s.Annotate(s.Installation("one"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	s.Ended("one", v1alpha1.PhaseDeleteFailed)
	s.requireValue("one", "1")

	s.Target("cluster")
	s.Annotate(s.Installation("one"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	require.NoError(t, s.AwaitGone(s.Ctx, s.Installation("one")))
	s.requireUninstalled("one")
}

// TestDeletionNeedsNoDeployerForWhatNoneEverBegan deletes an Installation of an item that nobody serves, well before the pick-up timeout of a
// second job could end.
func TestDeletionNeedsNoDeployerForWhatNoneEverBegan(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.apply(leaf{name: "one", annotations: follows(), blueprint: inlineOf("deployItems:\n" +
		strings.Replace(mockItem("nobody", "Succeeded"), "/mock", "/dummy", 1))}.String())
	s.Ended("one", v1alpha1.PhaseFailed)
	require.Nil(t, s.items()["nobody"].Status.Deployer)

	s.delete(s.Installation("one")) // one that waits for a deployer fails at the pickup timeout, and stays

	s.requireEmpty()
}
