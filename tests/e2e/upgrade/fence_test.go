// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/e2e/releases"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	environment = "my-env"
	// home is the namespace of the Environment on the landscaper cluster, and system that of the agent and the deployers behind the fence.
	home, system = v1alpha1.EnvironmentNamespacePrefix + environment, "ls-system"
	// inEnvironment and behindFence begin the names of users: of the agent and the deployers on the landscaper cluster, and behind the fence.
	inEnvironment, behindFence = "system:serviceaccount:" + home + ":", "system:serviceaccount:" + system + ":"
	// formerLease is the Lease of the deployer of the former release, which its chart did not make.
	formerLease = "landscaper-manifest-deployer-e3b0c442"
	// components is the repository of the component versions of deployers.
	components = "components"
)

// fenced is a world with a fenced cluster, in which processes stand for Pods. What runs there runs the program at a path.
type fenced struct {
	*world
	path     string
	versions map[string]string
}

func newFenced(t *testing.T, before, now release) *fenced {
	t.Helper()
	w := newWorld(t, platform.Options{})
	f := &fenced{world: w, path: filepath.Join(t.TempDir(), "landscaper"), versions: map[string]string{before.name: "0.1.0", now.name: "0.2.0"}}
	for _, r := range []release{before, now} {
		version := "v" + f.versions[r.name]
		image, err := platform.ProgramImage(w.Ctx, "./tests/platform/cmd/pause") // nobody looks into it
		require.NoError(t, err)
		reference, err := w.Registry.PushImage(w.Ctx, "landscaper", version, image)
		require.NoError(t, err)
		require.NoError(t, releases.PushComponents(w.Ctx, w.Registry, r.source, t.TempDir(), version, reference, components))
	}
	fence := platform.New(t, platform.Options{ControllerManager: true, Audit: true, ControllerManagerArgs: []string{platform.NoHeartbeats}})
	w.site = fence.Cluster
	for _, name := range []string{deployed, gates, system} {
		require.NoError(t, fence.Apply(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	w.flags = func(release, string) []string { return []string{"--deployer-management"} }
	f.link(before)
	node, err := fence.StartProcessNode(w.Ctx, f.path)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			for name, log := range node.Logs(40) {
				t.Logf("log of Pod %s behind the fence:\n%s", name, log)
			}
		}
		assert.NoError(t, node.Stop())
	})
	w.also = f.bringAgent
	return f
}

// link makes a release what Pods that begin from now on run.
func (f *fenced) link(r release) {
	f.t.Helper()
	require.NoError(f.t, os.Symlink(r.program, f.path+".next"))
	require.NoError(f.t, os.Rename(f.path+".next", f.path))
}

// apply applies a folder of a release with the name of the Environment.
func (f *fenced) apply(c *platform.Cluster, r release, folder string) {
	f.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(r.source, "flux", folder))
	require.NoError(f.t, err)
	text, err := built.AsYaml()
	require.NoError(f.t, err)
	variables := map[string]string{"environment": environment}
	substituted, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		value, isSet := variables[name]
		return value, isSet
	})
	require.NoError(f.t, err)
	require.NoError(f.t, c.ApplyYAML(f.Ctx, substituted))
}

// bringAgent brings the rights and the agent of a release, as commits on both sides do, and waits until the agent is connected.
func (f *fenced) bringAgent(r release) {
	f.t.Helper()
	rights, err := filepath.Glob(filepath.Join(r.source, "config", "rbac", "*.yaml"))
	require.NoError(f.t, err)
	for _, file := range rights {
		if filepath.Base(file) != "kustomization.yaml" {
			text, err := os.ReadFile(file)
			require.NoError(f.t, err)
			require.NoError(f.t, f.ApplyYAML(f.Ctx, string(text)))
		}
	}
	f.apply(f.Cluster, r, "agent-access")
	f.giveAccess()
	f.link(r)
	f.apply(f.site, r, "agent")
	agents := []client.ListOption{client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "landscaper-agent"}}
	former := &corev1.PodList{}
	require.NoError(f.t, f.site.Client().List(f.Ctx, former, agents...))
	begun := time.Now().Truncate(time.Second)
	require.NoError(f.t, f.site.Client().DeleteAllOf(f.Ctx, &corev1.Pod{}, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "landscaper-agent"}))
	for i := range former.Items {
		require.NoError(f.t, f.site.AwaitGone(f.Ctx, &former.Items[i]))
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.AgentLeasePrefix + environment, Namespace: home}}
	f.await(f.Cluster, lease, func() bool { return lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(begun.Add(time.Second)) })
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: environment}}
	f.await(f.Cluster, env, func() bool { return conditions.IsTrue(env, v1alpha1.AgentConnectedCondition) })
}

// await waits for a state of an object of a cluster.
func (f *fenced) await(c *platform.Cluster, o client.Object, done func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.Ctx, landscape.Patience)
	defer cancel()
	require.NoError(f.t, c.Await(ctx, o, done))
}

// giveAccess gives the agent its kubeconfig of the landscaper cluster, once.
func (f *fenced) giveAccess() {
	f.t.Helper()
	key := client.ObjectKey{Namespace: system, Name: "landscaper-agent-kubeconfig"}
	if f.site.Client().Get(f.Ctx, key, &corev1.Secret{}) == nil {
		return
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "landscaper-agent-" + environment}}
	request := &authenticationv1.TokenRequest{}
	require.NoError(f.t, f.Client().SubResource("token").Create(f.Ctx, account, request))
	access, err := platform.KubeconfigFor(&rest.Config{
		Host: f.RestConfig.Host, BearerToken: request.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: f.RestConfig.CAData},
	})
	require.NoError(f.t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string][]byte{"kubeconfig": access}}
	require.NoError(f.t, f.site.Apply(f.Ctx, secret))
}

// deployer brings the manifest deployer of a release behind the fence, and waits until its Pod runs.
func (f *fenced) deployer(r release) {
	f.t.Helper()
	require.NoError(f.t, f.ApplyYAML(f.Ctx, fmt.Sprintf(`apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployerRegistration
metadata: {name: manifest}
spec:
  installationTemplate:
    componentDescriptor:
      ref:
        repositoryContext: {type: ociRegistry, baseUrl: "%s/%s"}
        componentName: github.com/gardener/landscaper/manifest-deployer
        version: %s
    blueprint: {ref: {resourceName: manifest-deployer-blueprint}}
`, f.Registry.Host, components, f.versions[r.name])))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "manifest-" + environment + "-manifest-deployer"}}
	f.await(f.site, deployment, func() bool {
		return deployment.Spec.Template.Spec.Containers[0].Image == f.Registry.Host+"/landscaper:v"+f.versions[r.name] &&
			deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.UpdatedReplicas == 1 && deployment.Status.AvailableReplicas == 1
	})
	registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "manifest"}}
	f.await(f.Cluster, registration, func() bool {
		return conditions.IsReady(registration) && registration.Status.ObservedGeneration == registration.Generation && len(registration.Status.Environments) == 1
	})
}

// A fence lives through an upgrade and back: first CRDs, controller and agent are replaced, then its deployer by the version of its registration.
func TestAFenceIsUpgradedAndBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	before, now := bothReleases(ctx, t)
	f := newFenced(t, before, now)
	programs := []string{rig.Controller}
	f.run(before, programs...)
	f.deployer(before)
	access, err := f.site.NewUser(f.Deployer(), landscape.AllRights...)
	require.NoError(t, err)
	kubeconfig, err := platform.KubeconfigFor(access)
	require.NoError(t, err)
	f.Put("Target", "cluster", object{
		"metadata": object{"annotations": object{v1alpha1.EnvironmentAnnotation: environment}},
		"spec":     object{"type": v1alpha1.KubernetesClusterTargetType, "config": object{"kubeconfig": string(kubeconfig)}},
	})
	f.number("count", 7)
	rests, running, goes := unit{name: "rests", item: "manifest"}, unit{name: "runs", item: "manifest", more: held("runs")}, unit{name: "goes", item: "manifest"}
	for _, u := range []unit{rests, goes} {
		f.put(u, "v1")
		f.Succeeded(u.name)
	}
	f.hold(goes.name)
	f.Delete(f.Installation(goes.name))
	f.begins([]unit{running}, "v1")

	for i, r := range []release{now, before, now} {
		f.replace(r, programs)

		job := f.running(running.name).Status.JobID
		f.deployer(r)
		f.awaitQuiet()
		assert.Equal(t, job, f.running(running.name).Status.JobID)
		f.ends([]unit{running})
		f.update([]unit{rests}, fmt.Sprint("v", 2*i+2))
		if i < 2 {
			f.begins([]unit{running}, fmt.Sprint("v", 2*i+3))
		}
		if i == 0 {
			f.letGo(goes.name)
			f.Gone(f.Installation(goes.name))
		}
	}

	for _, u := range []unit{rests, running} {
		f.Delete(f.Installation(u.name))
		f.Gone(f.Installation(u.name))
	}
	require.Eventually(t, func() bool { return len(f.objects()) == 0 }, 5*time.Minute, 100*time.Millisecond, "%v", f.objects())
	f.removeFence()
}

// removeFence deletes registration and Environment, and requires that nothing is left on either side but the Lease of the former
// deployer.
func (f *fenced) removeFence() {
	f.t.Helper()
	registration, env := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "manifest"}}, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: environment}}
	f.Delete(registration)
	f.Gone(registration)
	f.Delete(env)
	f.await(f.Cluster, env, func() bool { return len(env.Finalizers) == 1 })
	f.Annotate(env, v1alpha1.ReleaseAgentAnnotation, "true")
	f.Gone(env)
	var left []string
	for _, all := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.TargetList{}, &v1alpha1.DataObjectList{}, &corev1.SecretList{},
		&corev1.ServiceAccountList{}, &coordinationv1.LeaseList{},
	} {
		f.each(f.Cluster, all, home, func(o client.Object) { left = append(left, o.GetName()) })
	}
	const agent = "landscaper-agent-" + environment
	assert.ElementsMatch(f.t, []string{"default", agent, "landscaper-agent-bootstrap-" + environment, agent}, left, "beside the access of the agent and its Lease")
	left = nil
	for _, all := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.SecretList{}, &corev1.ServiceAccountList{}, &coordinationv1.LeaseList{}} {
		f.each(f.site, all, system, func(o client.Object) { left = append(left, o.GetName()) })
	}
	assert.ElementsMatch(f.t, []string{agent, "landscaper-agent-kubeconfig", "default", agent, formerLease}, left, "beside the agent")
}
