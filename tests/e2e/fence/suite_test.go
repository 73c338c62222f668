// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package fence shows the way from a commit to objects and Pods behind the fence: two clusters with an etcd, an authority and a Flux of their own
// each, and a network around the fenced one that leads outwards only. Nothing is played but the kubelet of the landscaper cluster, and that of the
// fenced one where no node can run.
package fence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/e2e/releases"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

const (
	// patience bounds every wait.
	patience = 4 * time.Minute
	tick     = 50 * time.Millisecond
	system   = "ls-system"
	version  = "v0.1.0"
	// environment is the Environment of the fenced cluster.
	environment = "my-env"
	// components is the repository of the component versions of the deployers.
	components = "components"
	// tenant is the namespace of a user of the landscaper cluster, and of his objects behind the fence.
	tenant = "shop"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, centre()))
}

// centre is what the landscaper cluster consists of.
func centre() platform.Options {
	return platform.Options{
		ControllerManager: true, Flux: true, Git: true, Registry: true, Audit: true,
		AddToScheme:           []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
		ControllerManagerArgs: []string{platform.NoHeartbeats},
	}
}

// world is the landscaper cluster, and the fenced one.
type world struct {
	t *testing.T
	*platform.Platform
	ctx   context.Context
	fence *platform.Platform
	// apart is the network of the fence, and wire its way to the landscaper cluster.
	apart *programs.Network
	wire  *faults.Wire
	// centreNode and fenceNode run the Pods; fenceNode is nil where a kubelet does.
	centreNode, fenceNode *platform.ProcessNode
	// mirror is a registry behind the fence.
	mirror *servers.Registry
	// central and fenced are the repositories that the two Flux follow.
	central, fenced *servers.GitRepo
}

// skipWithoutRoot skips a test where no network can be made.
func skipWithoutRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network around the fence needs root")
	}
}

// newWorld builds the fence around a cluster beside a landscaper cluster. With a node Pods run there on a kubelet, otherwise as processes.
func newWorld(t *testing.T, p *platform.Platform, node bool) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	w := &world{t: t, Platform: p, ctx: ctx}
	var err error
	w.wire, err = faults.NewWire(strings.TrimPrefix(p.RestConfig.Host, "https://"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.wire.Close()) })
	w.buildFence(node)
	program, err := binaries.BuildLandscaper(ctx)
	require.NoError(t, err)
	w.centreNode = w.processNode(p.Cluster, program)
	inImage := "./cmd/landscaper"
	if !node {
		w.fenceNode = w.processNode(w.fence.Cluster, program)
		inImage = "./tests/platform/cmd/pause" // no kubelet looks into the image
	}
	t.Cleanup(w.explain)
	w.central, w.fenced = w.repository("central", p.Cluster), w.repository("fenced", w.fence.Cluster)
	program, err = binaries.BuildStatic(ctx, inImage)
	require.NoError(t, err)
	require.NoError(t, releases.Push(ctx, p.Registry, program, filepath.Join("..", "..", ".."), t.TempDir(), version))
	image := p.Registry.Host + "/landscaper:" + version
	require.NoError(t, releases.PushComponents(ctx, p.Registry, filepath.Join("..", "..", ".."), t.TempDir(), version, image, components))
	return w
}

// buildFence starts the fenced cluster in a network of its own, with ways to the landscaper cluster, the Git server and the registry.
func (w *world) buildFence(node bool) {
	w.t.Helper()
	var err error
	w.apart, err = programs.NewNetwork()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, w.apart.Close()) })
	for _, address := range []string{w.wire.Address, strings.TrimPrefix(w.Git.URL, "http://"), w.Registry.Host} {
		require.NoError(w.t, w.apart.Lead(address))
	}
	w.fence = platform.New(w.t, platform.Options{
		ControllerManager: true, Flux: true, Audit: true, Network: w.apart, Node: node, ControllerManagerArgs: w.heartbeats(node),
	})
}

// heartbeats are the arguments of a controller-manager: on a kubelet there are heartbeats.
func (w *world) heartbeats(node bool) []string {
	if node {
		return nil
	}
	return []string{platform.NoHeartbeats}
}

func (w *world) processNode(cluster *platform.Cluster, program string) *platform.ProcessNode {
	w.t.Helper()
	node, err := cluster.StartProcessNode(w.ctx, program)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, node.Stop()) })
	return node
}

// repository makes a Git repository, and has the Flux of a cluster apply what is in it.
func (w *world) repository(name string, cluster *platform.Cluster) *servers.GitRepo {
	w.t.Helper()
	repository, err := w.Git.CreateRepository(w.ctx, name)
	require.NoError(w.t, err)
	_, err = repository.Commit(w.ctx, "begin", map[string][]byte{"README.md": []byte("What Flux applies.\n")})
	require.NoError(w.t, err)
	source := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet", Namespace: platform.FluxNamespace},
		Spec: sourcev1.GitRepositorySpec{
			URL: repository.CloneURL, Interval: metav1.Duration{Duration: time.Second}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	}
	all := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet", Namespace: platform.FluxNamespace},
		Spec: kustomizev1.KustomizationSpec{
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "fleet"}, Prune: true,
			Interval: metav1.Duration{Duration: time.Hour}, RetryInterval: &metav1.Duration{Duration: time.Second},
		},
	}
	require.NoError(w.t, cluster.Apply(w.ctx, source, all))
	return repository
}

// commit changes a repository; a file without content goes. It returns when Flux has applied it.
func (w *world) commit(repository *servers.GitRepo, cluster *platform.Cluster, files map[string]string) {
	w.t.Helper()
	changes := map[string][]byte{}
	for name, text := range files {
		changes[name] = nil
		if text != "" {
			changes[name] = []byte(text)
		}
	}
	revision, err := repository.Commit(w.ctx, "change the fleet", changes)
	require.NoError(w.t, err)
	all := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "fleet", Namespace: platform.FluxNamespace}}
	require.NoError(w.t, cluster.Await(w.ctx, all, func() bool { return all.Status.LastAppliedRevision == revision }))
}

// documented returns a YAML example of docs/agent.md, the one after a text.
func (w *world) documented(after string) string {
	w.t.Helper()
	return w.example("agent.md", after, "```yaml\n")
}

// example returns an example of a page, the one after a text that begins with a fence.
func (w *world) example(name, after, fence string) string {
	w.t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	require.NoError(w.t, err)
	_, rest, found := strings.Cut(string(page), after)
	require.True(w.t, found, after)
	_, rest, _ = strings.Cut(rest, fence)
	example, _, _ := strings.Cut(rest, "```")
	return example
}

// landscaperSource is where both clusters get the release from.
func (w *world) landscaperSource() string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: landscaper, namespace: flux-system}
spec:
  interval: 1h
  insecure: true
  url: %s
  ref: {semver: "*"}
`, w.Registry.URL(releases.Manifests))
}

// kustomization is a Kustomization for a folder of the release.
func kustomization(name, folder, more string) string {
	return fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec:
  interval: 1h
  retryInterval: 1s
  prune: true
  wait: true
  path: ./flux/%s
  sourceRef: {kind: OCIRepository, name: landscaper}
%s`, name, folder, more)
}

// awaitApplied waits until a Kustomization is ready.
func (w *world) awaitApplied(cluster *platform.Cluster, name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	require.NoError(w.t, cluster.AwaitReady(ctx, &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: platform.FluxNamespace}}))
}

// kubeconfigOf returns a kubeconfig with a token of a ServiceAccount.
func (w *world) kubeconfigOf(cluster *platform.Cluster, host, namespace, name string) string {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	require.NoError(w.t, cluster.Client().SubResource("token").Create(w.ctx, account, request))
	raw, err := platform.KubeconfigFor(&rest.Config{
		Host: host, BearerToken: request.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: cluster.RestConfig.CAData},
	})
	require.NoError(w.t, err)
	return string(raw)
}

// await waits for a state of an object of the landscaper cluster.
func await[O client.Object](w *world, object O, done func(O) bool) O {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	require.NoError(w.t, w.Await(ctx, object, func() bool { return done(object) }))
	return object
}

// succeeded waits until the last job of an Installation has ended well.
func (w *world) succeeded(key client.ObjectKey) *v1alpha1.Installation {
	w.t.Helper()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	await(w, inst, func(inst *v1alpha1.Installation) bool {
		return inst.Status.JobID != "" && inst.Status.IsIdle() && inst.Status.ObservedGeneration == inst.Generation &&
			inst.Annotations[v1alpha1.OperationAnnotation] == "" && inst.Status.Phase == v1alpha1.PhaseSucceeded
	})
	return inst
}

// explain logs what the processes say when a test has failed, and where each object and Pod stands.
func (w *world) explain() {
	if !w.t.Failed() {
		return
	}
	for _, node := range []*platform.ProcessNode{w.centreNode, w.fenceNode} {
		if node == nil {
			continue
		}
		for name, log := range node.Logs(25) {
			w.t.Logf("last lines of Pod %s:\n%s", name, log)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.explainPods(ctx)
	installations, items := &v1alpha1.InstallationList{}, &v1alpha1.DeployItemList{}
	for _, list := range []client.ObjectList{installations, items} {
		if err := w.Client().List(ctx, list); err != nil {
			w.t.Log(err)
		}
	}
	for _, one := range installations.Items {
		w.t.Logf("state of Installation %s/%s: phase %q, error %+v, conditions %+v", one.Namespace, one.Name, one.Status.Phase, one.Status.LastError, one.Status.Conditions)
	}
	for _, one := range items.Items {
		w.t.Logf("state of DeployItem %s/%s: job %s of %v, finished %s, phase %q, by %+v, error %+v, deleted %v", one.Namespace, one.Name, one.Status.JobID,
			one.Status.TransitionTimes, one.Status.JobIDFinished, one.Status.Phase, one.Status.Deployer, one.Status.LastError, one.DeletionTimestamp)
	}
}

// explainPods logs of the Pods of a fenced cluster with a node how often they began anew and why, and what they say.
func (w *world) explainPods(ctx context.Context) {
	if w.fence == nil || w.fenceNode != nil {
		return
	}
	clients, err := kubernetes.NewForConfig(w.fence.RestConfig)
	if err != nil {
		w.t.Log(err)
		return
	}
	pods := &corev1.PodList{}
	if err := w.fence.Client().List(ctx, pods); err != nil {
		w.t.Log(err)
	}
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			w.t.Logf("state of Pod %s/%s: %s, made %v, restarted %d times, now %+v, before %+v", pod.Namespace, pod.Name, pod.Status.Phase, pod.CreationTimestamp,
				status.RestartCount, status.State, status.LastTerminationState.Terminated)
			for _, previous := range []bool{true, false} {
				options := &corev1.PodLogOptions{Container: status.Name, Previous: previous, TailLines: ptr.To[int64](25)}
				if log, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx); err == nil {
					w.t.Logf("last lines of Pod %s, of the process before: %v:\n%s", pod.Name, previous, log)
				}
			}
		}
	}
}
