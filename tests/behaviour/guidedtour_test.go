// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

const helloWorld = "hello-world"

// tour is one walk through a chapter of the guided tour in namespaces of its own.
type tour struct {
	*scene
	values map[string]string
	// example begins the names of the namespaces that the tour deploys to.
	example string
}

// toured is the second cluster that all walks deploy to, started once.
var toured struct {
	sync.Once
	cluster *platform.Cluster
	err     error
}

// newTour prepares the charts that the tour names and a namespace.
func newTour(t *testing.T) (*tour, *platform.Cluster) {
	t.Helper()
	s := newScene(t)
	s.pushHelloWorld()
	toured.Do(func() {
		toured.cluster, toured.err = s.SecondCluster(context.Background(), "toured", platform.Options{})
	})
	require.NoError(t, toured.err)
	return &tour{scene: s, example: s.Namespace + "-example", values: map[string]string{
		"namespace": s.Namespace, "kubeconfig": indent(string(toured.cluster.Kubeconfig)), "name": "my-cluster",
	}}, toured.cluster
}

// read returns a manifest of the tour. The tour deploys into fixed namespaces; each walk has others in their place.
func (w *tour) read(path string) string {
	w.T.Helper()
	return strings.ReplaceAll(fill(w.T, "guided-tour/"+path, w.values), "namespace: example", "namespace: "+w.example)
}

// pushHelloWorld pushes both versions of the tour's chart to where its manifests expect them.
func (s *scene) pushHelloWorld() {
	s.T.Helper()
	const repository = "sap-gcp-cp-k8s-stable-hub/landscaper-examples/examples/charts/hello-world"
	chart := "apiVersion: v2\nname: hello-world\nversion: "
	for version, object := range map[string]string{
		"1.0.0": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\n" +
			"data: {testData: {{ .Values.testData }}}\n",
		"1.0.1": "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\n" +
			"stringData: {testData: {{ .Values.testData }}}\n",
	} {
		packed, err := servers.PackageChart(servers.Files(map[string]string{
			"Chart.yaml": chart + version + "\n", "values.yaml": "testData: default-data\n", "templates/object.yaml": object,
		}))
		require.NoError(s.T, err)
		_, err = s.Registry.PushHelmChart(s.Ctx, repository, version, packed)
		require.NoError(s.T, err)
	}
}

// apply applies a manifest of the tour, as a user of kubectl does.
func (w *tour) apply(path string) {
	w.T.Helper()
	require.NoError(w.T, w.ApplyYAML(w.Ctx, w.read(path)))
}

// ended waits until the Installation is idle in a phase, with its operation consumed.
func (w *tour) ended(phase v1alpha1.Phase) *v1alpha1.Installation {
	w.T.Helper()
	return w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == phase && inst.Status.IsIdle() && inst.Status.JobID != "" &&
			inst.Status.ObservedGeneration == inst.Generation && inst.Annotations[v1alpha1.OperationAnnotation] == ""
	})
}

// succeed applies a manifest of the tour and waits until it succeeded.
func (w *tour) succeed(path string) *v1alpha1.Installation {
	w.T.Helper()
	w.apply(path)
	return w.ended(v1alpha1.PhaseSucceeded)
}

// item returns the only DeployItem.
func (w *tour) item() *v1alpha1.DeployItem {
	w.T.Helper()
	list := &v1alpha1.DeployItemList{}
	require.NoError(w.T, w.Client().List(w.Ctx, list, client.InNamespace(w.Namespace)))
	require.Len(w.T, list.Items, 1)
	return &list.Items[0]
}

// requireSeen waits until some state of the Installation was seen to have a property: the watch may lag behind the test.
func (w *tour) requireSeen(property func(*v1alpha1.Installation) bool) {
	w.T.Helper()
	require.Eventually(w.T, func() bool { return w.Witness.Saw(w.Namespace, helloWorld, property) }, landscape.Patience, tick)
}

// requireConfigMap checks what the chart deployed.
func requireConfigMap(ctx context.Context, t testing.TB, cluster *platform.Cluster, namespace, name, data string) {
	t.Helper()
	config := &corev1.ConfigMap{}
	require.NoError(t, cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, config))
	require.Equal(t, data, config.Data["testData"])
}

func requireGone(ctx context.Context, t testing.TB, cluster *platform.Cluster, object client.Object, namespace, name string) {
	t.Helper()
	err := cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	require.True(t, apierrors.IsNotFound(err), "%s/%s: %v", namespace, name, err)
}

func releases(ctx context.Context, t testing.TB, cluster *platform.Cluster, namespace string) []string {
	t.Helper()
	secrets := &corev1.SecretList{}
	require.NoError(t, cluster.Client().List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}))
	var names []string
	for i := range secrets.Items {
		names = append(names, secrets.Items[i].Name)
	}
	return names
}

func TestA01HelloWorld(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("hello-world/installation/target.yaml.tpl")
	w.succeed("hello-world/installation/installation.yaml.tpl")
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")
	require.Equal(t, []string{"sh.helm.release.v1.hello-world.v1"}, releases(w.Ctx, t, cluster, w.example))

	w.delete(w.Installation(helloWorld))
	requireGone(w.Ctx, t, cluster, &corev1.ConfigMap{}, w.example, helloWorld)
	require.Empty(t, releases(w.Ctx, t, cluster, w.example))
	require.NoError(t, cluster.Client().Get(w.Ctx, client.ObjectKey{Name: w.example}, &corev1.Namespace{}), "the namespace stays")
}

func TestA03Upgrade(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("basics/upgrade/installation/target.yaml.tpl")
	first := w.succeed("basics/upgrade/installation/installation.yaml.tpl")
	w.apply("basics/upgrade/installation/installation-upg.yaml.tpl")
	w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool {
		return inst.Status.JobIDFinished != first.Status.JobIDFinished && inst.Status.IsIdle()
	})
	w.ended(v1alpha1.PhaseSucceeded)
	requireGone(w.Ctx, t, cluster, &corev1.ConfigMap{}, w.example, helloWorld)
	require.NoError(t, cluster.Client().Get(w.Ctx, client.ObjectKey{Namespace: w.example, Name: helloWorld}, &corev1.Secret{}))
	require.Len(t, releases(w.Ctx, t, cluster, w.example), 2)
	require.Len(t, w.Witness.Jobs(w.Namespace, helloWorld), 2)
}

func TestA04ChangeWithoutAnnotation(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("hello-world/installation/target.yaml.tpl")
	first := w.succeed("hello-world/installation/installation.yaml.tpl")

	w.replaceData("hello", "changed")
	pending := w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool {
		return inst.Generation > inst.Status.ObservedGeneration && len(inst.Status.Conditions) > 0 &&
			conditions.GetReason(inst, meta.ReadyCondition) == "ChangesPending"
	})
	require.Equal(t, v1alpha1.PhaseSucceeded, pending.Status.Phase)
	require.Equal(t, first.Status.JobID, pending.Status.JobID)
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")

	w.Annotate(w.Installation(helloWorld), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	w.ended(v1alpha1.PhaseSucceeded)
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "changed")
}

// replaceData changes the values in the inline blueprint and nothing else.
func (w *tour) replaceData(from, to string) {
	w.T.Helper()
	inst := w.Installation(helloWorld)
	require.NoError(w.T, w.Client().Get(w.Ctx, client.ObjectKeyFromObject(inst), inst))
	changed := replaceInline(w.T, inst, "testData: "+from, "testData: "+to)
	require.NoError(w.T, w.Client().Update(w.Ctx, changed))
}

func TestA05ManifestDeployer(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	require.NoError(t, cluster.Apply(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.example}}))
	w.apply("basics/manifest-deployer/installation/target.yaml.tpl")
	w.succeed("basics/manifest-deployer/installation/installation.yaml.tpl")
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")
	w.delete(w.Installation(helloWorld))
	requireGone(w.Ctx, t, cluster, &corev1.ConfigMap{}, w.example, helloWorld)
}

func TestA06TwoDeployItems(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	for _, name := range []string{"my-cluster-1", "my-cluster-2"} {
		w.values["name"] = name
		w.apply("basics/multiple-deployitems/installation/target.yaml.tpl")
	}
	w.succeed("basics/multiple-deployitems/installation/installation.yaml.tpl")
	requireConfigMap(w.Ctx, t, cluster, w.example+"-1", "hello-world-1", "foo")
	requireConfigMap(w.Ctx, t, cluster, w.example+"-2", "hello-world-2", "bar")

	items := w.items()
	firstEnd := items["deploy-item-1"].Status.TransitionTimes.FinishedTime
	secondStart := items["deploy-item-2"].Status.TransitionTimes.TriggerTime
	require.False(t, secondStart.Before(firstEnd), "the second item starts after the first has ended")
}

func TestA07ImmediateError(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("hello-world/installation/target.yaml.tpl")
	broken := w.read("hello-world/installation/installation.yaml.tpl")
	require.NoError(t, w.ApplyYAML(w.Ctx, replaceOnce(t, broken, "          imports:\n            - name: cluster ", "          imports\n            - name: cluster ")))
	failed := w.ended(v1alpha1.PhaseFailed)
	for _, part := range []string{"spec.blueprint", "blueprint.yaml", "line"} {
		require.Contains(t, failed.Status.LastError.Message, part)
	}
	require.Contains(t, failed.Status.LastError.Codes, v1alpha1.ErrorConfigurationProblem)
	executions := &v1alpha1.ExecutionList{}
	require.NoError(t, w.Client().List(w.Ctx, executions, client.InNamespace(w.Namespace)))
	require.Empty(t, executions.Items)

	w.succeed("hello-world/installation/installation.yaml.tpl")
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")
}

// withTimeout makes the tour's installation wait for a chart version that does not exist.
func (w *tour) withMissingChart(timeout string) {
	w.T.Helper()
	text := w.read("hello-world/installation/installation.yaml.tpl")
	text = replaceOnce(w.T, text, "hello-world:1.0.0", "hello-world:0.0.5")
	text = replaceOnce(w.T, text, "                    type: landscaper.gardener.cloud/helm\n",
		"                    type: landscaper.gardener.cloud/helm\n                    timeout: "+timeout+"\n")
	require.NoError(w.T, w.ApplyYAML(w.Ctx, text))
}

func TestA08TimeoutError(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("hello-world/installation/target.yaml.tpl")
	w.withMissingChart("4s")
	w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	failed := w.ended(v1alpha1.PhaseFailed)
	require.Contains(t, failed.Status.LastError.Message, "hello-world:0.0.5", "the root shows the cause")

	item := w.item()
	require.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	require.Equal(t, "ProgressingTimeout", item.Status.LastError.Reason)
	require.Contains(t, item.Status.LastError.Codes, v1alpha1.ErrorTimeout)
	require.NotNil(t, item.Status.FirstError)
	require.Contains(t, item.Status.FirstError.Message, "hello-world:0.0.5")
	require.LessOrEqual(t, len(item.Status.LastErrors), 5)
	w.requireSeen(func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == v1alpha1.PhaseProgressing && inst.Status.LastError != nil &&
			inst.Status.LastError.Codes[0] == v1alpha1.ErrorUnfinished
	})

	w.succeed("hello-world/installation/installation.yaml.tpl")
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")
}

func TestA09ChangeDuringRunAndInterrupt(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("hello-world/installation/target.yaml.tpl")
	w.withMissingChart("10m")
	running := w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == v1alpha1.PhaseProgressing
	})
	w.awaitItem(func(item *v1alpha1.DeployItem) bool { return item.Status.LastError != nil })
	w.apply("hello-world/installation/installation.yaml.tpl")
	job := running.Status.JobID
	before := time.Now()
	w.Annotate(w.Installation(helloWorld), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool { return inst.Status.JobIDFinished == job })
	require.Less(t, time.Since(before), 10*time.Second)
	w.requireSeen(func(inst *v1alpha1.Installation) bool {
		return inst.Status.JobIDFinished == job && inst.Status.Phase == v1alpha1.PhaseFailed
	})
	w.ended(v1alpha1.PhaseSucceeded)
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")
}

// awaitItem waits for a state of the only DeployItem.
func (w *tour) awaitItem(done func(*v1alpha1.DeployItem) bool) {
	w.T.Helper()
	w.AwaitState(helloWorld, func(inst *v1alpha1.Installation) bool {
		return inst.Status.ExecutionReference != nil || inst.Status.Phase != ""
	})
	execution := w.execution(helloWorld)
	require.NoError(w.T, w.Await(w.Ctx, execution, func() bool { return execution.Status.JobID != "" }))
	require.Eventually(w.T, func() bool {
		list := &v1alpha1.DeployItemList{}
		err := w.Client().List(w.Ctx, list, client.InNamespace(w.Namespace))
		return err == nil && len(list.Items) == 1 && done(&list.Items[0])
	}, landscape.Patience, tick)
}

func TestA12DeleteWithoutUninstall(t *testing.T) {
	t.Parallel()
	w, cluster := newTour(t)
	w.apply("hello-world/installation/target.yaml.tpl")
	w.succeed("hello-world/installation/installation.yaml.tpl")
	w.Annotate(w.Installation(helloWorld), v1alpha1.DeleteWithoutUninstallAnnotation, "true")
	w.delete(w.Installation(helloWorld))
	require.Empty(t, w.items())
	requireConfigMap(w.Ctx, t, cluster, w.example, helloWorld, "hello")
	require.Len(t, releases(w.Ctx, t, cluster, w.example), 1)
}
