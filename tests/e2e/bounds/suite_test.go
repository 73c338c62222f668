// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package bounds runs the processes with the arguments and memory limits of the manifests in flux/, and lets one tenant ask for as much as it can: beside a
// tenant with a shard of its own, and with the largest objects that the CRDs accept.
package bounds

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

type (
	object = map[string]any
	list   = []any
)

// stopGrace is how long a process has to end by itself.
const stopGrace = 30 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(platform.Main(m, platform.Options{}))
}

// world is a cluster with the processes of a folder of flux/.
type world struct {
	*landscape.Landscape
	t   *testing.T
	ctx context.Context
	// limits are the memory limits of the processes by name, in bytes.
	limits map[string]int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	p := platform.New(t, platform.Options{ControllerManager: true, LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme}})
	w := &world{
		Landscape: &landscape.Landscape{Platform: p, Processes: map[string]*programs.Process{}}, t: t, ctx: ctx, limits: map[string]int64{},
	}
	w.namespace("ls-system", nil)
	return w
}

func (w *world) namespace(name string, labels map[string]string) {
	w.t.Helper()
	require.NoError(w.t, w.Apply(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
}

// scene is a namespace that something is deployed in.
func (w *world) scene(namespace string) *landscape.Scene {
	return &landscape.Scene{Landscape: w.Landscape, T: w.t, Ctx: w.ctx, Namespace: namespace}
}

// run starts the processes of a folder of flux/, with what is substituted there, as containers do: with their arguments, and with their memory limit as
// GOMEMLIMIT. There are no leases and no receiver of events here.
func (w *world) run(folder string, substitute ...string) {
	w.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("..", "..", "..", "flux", folder))
	require.NoError(w.t, err)
	for _, resource := range built.Resources() {
		if resource.GetKind() != "Deployment" {
			continue
		}
		text, err := resource.AsYAML()
		require.NoError(w.t, err)
		deployment := &appsv1.Deployment{}
		require.NoError(w.t, yaml.UnmarshalStrict([]byte(strings.NewReplacer(substitute...).Replace(string(text))), deployment))
		container := deployment.Spec.Template.Spec.Containers[0]
		w.start(deployment.Name, container.Resources.Limits.Memory().Value(), container.Args)
	}
}

func (w *world) start(name string, limit int64, args []string) {
	w.t.Helper()
	binary, err := binaries.BuildLandscaper(w.ctx)
	require.NoError(w.t, err)
	config, err := w.NewUser(name, landscape.AllRights...)
	require.NoError(w.t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(w.t, err)
	dir := w.t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(w.t, os.WriteFile(path, kubeconfig, 0o600))
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.HasPrefix(arg, "--enable-leader-election") || strings.HasPrefix(arg, "--events-addr")
	})
	args = append(args, "--metrics-addr=0", "--health-addr="+landscape.FreeAddress())
	process, err := programs.Start(programs.Command{
		Name: name, Path: binary, Args: args, Dir: dir, Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=ls-system", fmt.Sprint("GOMEMLIMIT=", limit)},
	})
	require.NoError(w.t, err)
	w.Processes[name], w.limits[name] = process, limit
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("log of %s:\n%s", name, process.LogTail(30))
		}
		require.NoError(w.t, process.Stop(stopGrace))
	})
}

// installation deploys by a blueprint in place with items for the Target cluster.
func installation(s *landscape.Scene, name string, labels map[string]string, items string, more ...func(spec, files object)) *unstructured.Unstructured {
	files := object{"blueprint.yaml": landscape.Blueprint(object{
		"imports":          list{object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}},
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + items),
	})}
	spec := object{
		"blueprint": object{"inline": object{"filesystem": files}},
		"imports":   object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
	}
	for _, change := range more {
		change(spec, files)
	}
	inst := &unstructured.Unstructured{Object: object{"spec": spec}}
	inst.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	inst.SetName(name)
	inst.SetNamespace(s.Namespace)
	inst.SetLabels(labels)
	inst.SetAnnotations(map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile})
	return inst
}

// createAll creates objects, many side by side.
func (w *world) createAll(objects []*unstructured.Unstructured) {
	w.t.Helper()
	group := errgroup.Group{}
	group.SetLimit(16)
	for _, one := range objects {
		group.Go(func() error { return w.Client().Create(w.ctx, one) })
	}
	require.NoError(w.t, group.Wait())
}

// phases counts the Installations of a namespace by phase.
func (w *world) phases(namespace string) map[v1alpha1.Phase]int {
	w.t.Helper()
	all, counts := &v1alpha1.InstallationList{}, map[v1alpha1.Phase]int{}
	require.NoError(w.t, w.Client().List(w.ctx, all, client.InNamespace(namespace)))
	for i := range all.Items {
		counts[all.Items[i].Status.Phase]++
	}
	return counts
}

// await waits until so many Installations of a namespace are in a phase; none and no phase wait until all are gone.
func (w *world) await(namespace string, phase v1alpha1.Phase, count int, within time.Duration) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		counts := w.phases(namespace)
		return counts[phase] == count && (count > 0 || len(counts) == 0)
	}, within, 50*time.Millisecond, "%d Installations of %s have to be %q: %v", count, namespace, phase, w.phases(namespace))
}
