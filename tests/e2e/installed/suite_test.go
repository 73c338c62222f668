// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/e2e/releases"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		Node: true, Flux: true, Git: true, Registry: true, AddToScheme: []func(*k8sruntime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// fleet is the namespace of the sources and Kustomizations that install the product.
const fleet = "fleet"

// cluster is a cluster with Flux that people install the product on.
type cluster struct {
	*testing.T
	*platform.Platform
	ctx context.Context
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	p := platform.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	c := &cluster{T: t, Platform: p, ctx: ctx}
	require.NoError(t, p.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleet}}))
	t.Cleanup(c.explain)
	return c
}

// explain logs what the Installations and the Pods say when a test has failed.
func (c *cluster) explain() {
	if !c.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	installations, pods := &v1alpha1.InstallationList{}, &corev1.PodList{}
	if err := errors.Join(c.Client().List(ctx, installations), c.Client().List(ctx, pods, client.InNamespace("ls-system"))); err != nil {
		c.Log(err)
	}
	for _, one := range installations.Items {
		c.Logf("Installation %s: phase %q, error %+v, conditions %+v", one.Name, one.Status.Phase, one.Status.LastError, one.Status.Conditions)
	}
	clients, err := kubernetes.NewForConfig(c.RestConfig)
	if err != nil {
		c.Log(err)
		return
	}
	lines := int64(30)
	for _, pod := range pods.Items {
		said, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
		c.Logf("Pod %s: %s, %v\n%s", pod.Name, pod.Status.Phase, err, said)
	}
}

// release makes a release of this checkout and pushes it, as make release does.
func (c *cluster) release(version string) {
	c.Helper()
	program, err := binaries.BuildStatic(c.ctx, "./cmd/landscaper")
	require.NoError(c, err)
	require.NoError(c, releases.Push(c.ctx, c.Registry, program, filepath.Join("..", "..", ".."), c.TempDir(), version))
}

// former makes a release of the previous commit and pushes it; of this one where there is none.
func (c *cluster) former(version string) {
	c.Helper()
	previous, err := binaries.CheckOutPrevious(c.ctx, 1)
	if errors.Is(err, binaries.ErrNoPrevious) {
		c.Logf("%s is a release of this checkout: %v", version, err)
		c.release(version)
		return
	}
	require.NoError(c, err)
	c.Logf("%s is a release of commit %s", version, previous.Commit)
	require.NoError(c, releases.PushPrevious(c.ctx, c.Registry, previous, c.TempDir(), version))
}

// subscribe makes Flux install every release from 0.1.0 on, as the quick start says.
func (c *cluster) subscribe() (crds, install *kustomizev1.Kustomization) {
	c.Helper()
	source := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "landscaper", Namespace: fleet},
		Spec: sourcev1.OCIRepositorySpec{
			URL: c.Registry.URL(releases.Manifests), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{SemVer: ">=0.1.0"},
		},
	}
	crds, install = c.kustomization("landscaper-crds", "./flux/crds"), c.kustomization("landscaper", "./flux/install")
	crds.Spec.Prune = false
	install.Spec.DependsOn = []kustomizev1.DependencyReference{{Name: crds.Name}}
	require.NoError(c, c.Apply(c.ctx, source, crds, install))
	require.NoError(c, c.AwaitReady(c.ctx, crds))
	require.NoError(c, c.AwaitReady(c.ctx, install))
	return crds, install
}

func (c *cluster) kustomization(name, path string) *kustomizev1.Kustomization {
	return &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: fleet},
		Spec: kustomizev1.KustomizationSpec{
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.OCIRepositoryKind, Name: "landscaper"},
			Path:      path, Prune: true, Wait: true,
			Interval: metav1.Duration{Duration: time.Hour}, RetryInterval: &metav1.Duration{Duration: 2 * time.Second},
			Timeout: &metav1.Duration{Duration: 4 * time.Minute},
		},
	}
}

// upgrade asks Flux to look for a newer release and waits until its Pods run.
func (c *cluster) upgrade(install *kustomizev1.Kustomization, version string) {
	c.Helper()
	source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Name: "landscaper", Namespace: fleet}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+meta.ReconcileRequestAnnotation+`":"`+version+`"}}}`))
	require.NoError(c, c.Client().Patch(c.ctx, source, patch))
	require.NoError(c, c.Await(c.ctx, install, func() bool { return strings.HasPrefix(install.Status.LastAppliedRevision, version+"@") }))
	require.NoError(c, c.AwaitReady(c.ctx, install))
}

// deployment returns a Deployment of the product.
func (c *cluster) deployment(name string) *appsv1.Deployment {
	c.Helper()
	found := &appsv1.Deployment{}
	require.NoError(c, c.Client().Get(c.ctx, client.ObjectKey{Namespace: "ls-system", Name: name}, found))
	return found
}

// mock runs the mock deployer, which the sample landscape uses and no installation has, as the manifest deployer runs.
func (c *cluster) mock() {
	c.Helper()
	like := c.deployment("landscaper-manifest-deployer")
	mock := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "mock-deployer", Namespace: like.Namespace}, Spec: like.Spec}
	labels := map[string]string{"app.kubernetes.io/name": mock.Name}
	mock.Spec.Selector, mock.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	mock.Spec.Template.Spec.Containers[0].Args = []string{"deployer", "mock"}
	require.NoError(c, c.Apply(c.ctx, mock))
}

// jobs returns the last job of each Installation of the sample landscape.
func (c *cluster) jobs() map[string]string {
	c.Helper()
	all := &v1alpha1.InstallationList{}
	require.NoError(c, c.Client().List(c.ctx, all, client.InNamespace(sample.Namespace)))
	jobs := map[string]string{}
	for _, one := range all.Items {
		jobs[one.Name] = one.Status.JobIDFinished
	}
	return jobs
}
