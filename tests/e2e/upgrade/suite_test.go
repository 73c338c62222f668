// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgrade proves that a landscape of a former commit, binaries.UpgradedFrom, lives on under this checkout, and back: CRDs and programs are
// replaced while Installations are at rest, running, failed and in deletion. No job starts and nothing is written to a target but what the tables
// of the tests name; running jobs end once; then everything is updated and deleted, and nothing is left behind.
package upgrade

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	// deployed is the namespace of what is deployed, gates that of what running jobs wait for.
	deployed, gates = "deployed", "gates"
	// quietTime is how long nobody writes when all have done what a start makes them do.
	quietTime = 4 * time.Second
	stopGrace = 20 * time.Second
)

type (
	object = map[string]any
	list   = []any
)

// release is a program with the CRDs that belong to it.
type release struct{ name, program, crds, source string }

// bothReleases are the one that is upgraded, and that of this checkout.
func bothReleases(ctx context.Context, t *testing.T) (before, now release) {
	t.Helper()
	const command = "./cmd/landscaper"
	former, err := binaries.CheckOut(ctx, binaries.UpgradedFrom)
	if errors.Is(err, binaries.ErrNoPrevious) {
		t.Skipf("NOTHING IS UPGRADED HERE: %v", err)
	}
	require.NoError(t, err)
	program, err := former.Build(ctx, command)
	require.NoError(t, err)
	own, err := binaries.BuildStatic(ctx, command)
	require.NoError(t, err)
	root, err := binaries.RepositoryRoot()
	require.NoError(t, err)
	return release{"the former release", program, former.CRDs(), former.Source},
		release{"this release", own, filepath.Join(root, "config", "crd", "bases"), root}
}

// world is a cluster with one release of the product, and a namespace with a landscape. It deploys to the cluster itself, as a user of its own.
type world struct {
	*landscape.Scene
	t        *testing.T
	programs map[string]*rig.Program
	// flags are those of a program of a release.
	flags func(r release, name string) []string
	// site and target are the cluster and the namespace of what is deployed.
	site   *platform.Cluster
	target string
	// also does what belongs to a release beside CRDs and programs.
	also func(release)
	// dir has the files of a component.
	dir string
	// image is that of containers, and door what they ask.
	image string
	door  *door
}

func newWorld(t *testing.T, options platform.Options) *world {
	t.Helper()
	options.ControllerManager, options.Audit, options.Registry = true, true, true
	options.AddToScheme = []func(*runtime.Scheme) error{v1alpha1.AddToScheme}
	p := platform.New(t, options)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	l := &landscape.Landscape{Platform: p}
	w := &world{
		Scene: &landscape.Scene{Landscape: l, T: t, Ctx: ctx, Namespace: "shop"}, t: t,
		programs: map[string]*rig.Program{}, site: p.Cluster, target: deployed, dir: t.TempDir(), flags: func(release, string) []string { return nil }, also: func(release) {},
	}
	for _, name := range []string{w.Namespace, deployed, gates, "ls-system"} {
		require.NoError(t, p.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	t.Cleanup(w.explain)
	return w
}

// explain logs how the landscape stands and what the programs say when a test has failed.
func (w *world) explain() {
	if !w.t.Failed() {
		return
	}
	ctx := context.Background()
	installations, items := &v1alpha1.InstallationList{}, &v1alpha1.DeployItemList{}
	for _, all := range []client.ObjectList{installations, items} {
		if err := w.Client().List(ctx, all); err != nil {
			w.t.Log(err)
		}
	}
	for _, one := range installations.Items {
		w.t.Logf("Installation %s: phase %q, error %+v, conditions %+v", one.Name, one.Status.Phase, one.Status.LastError, one.Status.Conditions)
	}
	for _, one := range items.Items {
		w.t.Logf("DeployItem %s: phase %q, error %+v, conditions %+v", one.Name, one.Status.Phase, one.Status.LastError, one.Status.Conditions)
	}
	for name, program := range w.programs {
		w.t.Logf("log of %s:\n%s", name, program.LogTail(40))
	}
}

// run replaces what runs by the programs of a release, after its CRDs.
func (w *world) run(r release, names ...string) {
	w.t.Helper()
	require.NoError(w.t, w.InstallCRDs(w.Ctx, r.crds))
	for name, program := range w.programs {
		require.NoError(w.t, program.Stop(stopGrace), name)
	}
	for _, name := range names {
		program, err := rig.Start(w.Cluster, r.program, name, nil, append([]string{"--log-level=info"}, w.flags(r, name)...)...)
		require.NoError(w.t, err)
		w.t.Cleanup(func() { _ = program.Stop(stopGrace) })
		w.programs[name] = program
	}
	for _, program := range w.programs {
		require.NoError(w.t, program.AwaitReady(w.Ctx))
	}
	w.also(r)
}

// isWrite reports whether a request changes something that is kept.
func isWrite(r platform.Request) bool {
	return r.Writes() && r.Code < 300 && !strings.Contains(r.Path, "dryRun=All") && !strings.Contains(r.Resource, "authorization.k8s.io") &&
		!strings.Contains(r.Resource, "authentication.k8s.io") && r.Resource != "leases.coordination.k8s.io"
}

// written tells what has been written since a moment to the landscaper cluster and to the target, of what is asked for.
func (w *world) written(since time.Time, what func(platform.Request) bool) (all []string) {
	w.t.Helper()
	requests, err := w.Requests(w.Ctx, since)
	require.NoError(w.t, err)
	if w.site != w.Cluster {
		inside, err := w.site.Requests(w.Ctx, since)
		require.NoError(w.t, err)
		requests = append(requests, inside...)
	}
	for _, r := range requests {
		if isWrite(r) && what(r) {
			all = append(all, fmt.Sprintln(r.Time.Format(time.StampMicro), r.User, r.Verb, r.Resource, r.Subresource, r.Namespace, r.Name, r.Code))
		}
	}
	return all
}

func (w *world) isOurs(r platform.Request) bool {
	return w.programs[r.User] != nil || r.User == w.Deployer() || strings.HasPrefix(r.User, inEnvironment) || strings.HasPrefix(r.User, behindFence)
}

// isOnTarget reports whether a request is one of the deployers to the target.
func (w *world) isOnTarget(r platform.Request) bool {
	return r.User == w.Deployer() || r.User == behindFence+"deployer-"+environment || w.isOurs(r) && r.Namespace == w.target
}

// awaitQuiet waits until nobody writes any more.
func (w *world) awaitQuiet() {
	w.t.Helper()
	begun, last := time.Now(), []string{}
	for time.Since(begun) < landscape.Patience {
		time.Sleep(quietTime)
		if last = w.written(time.Now().Add(-quietTime), w.isOurs); len(last) == 0 {
			return
		}
	}
	w.t.Fatalf("they go on writing:\n%s", strings.Join(last, ""))
}

// jobs describes the last job of each Installation, Execution and DeployItem.
func (w *world) jobs() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, all := range []client.ObjectList{&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}} {
		w.each(w.Cluster, all, metav1.NamespaceAll, func(o client.Object) {
			job := o.(interface{ Job() *v1alpha1.JobStatus }).Job()
			found[fmt.Sprintf("%T %s", o, o.GetName())] = fmt.Sprintf("%s, finished %s, %s", job.JobID, job.JobIDFinished, job.Phase)
		})
	}
	return found
}

// objects are the versions of all that is deployed.
func (w *world) objects() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, all := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}, &batchv1.JobList{}, &corev1.PersistentVolumeClaimList{}} {
		w.each(w.site, all, w.target, func(o client.Object) {
			if o.GetName() != "kube-root-ca.crt" && !ofHook(o.GetName()) {
				found[fmt.Sprintf("%T %s", o, o.GetName())] = string(o.GetUID()) + " " + o.GetResourceVersion()
			}
		})
	}
	w.each(w.site, &corev1.PodList{}, w.target, func(o client.Object) {
		if !ofHook(o.GetName()) {
			found["Pod "+o.GetName()] = string(o.GetUID())
		}
	})
	return found
}

// ofHook reports whether a text is about the unit whose hook runs again.
func ofHook(text string) bool { return strings.Contains(text, hooked.name) }

func (w *world) each(c *platform.Cluster, all client.ObjectList, namespace string, do func(client.Object)) {
	w.t.Helper()
	require.NoError(w.t, c.Client().List(w.Ctx, all, client.InNamespace(namespace)))
	require.NoError(w.t, apimeta.EachListItem(all, func(o runtime.Object) error {
		do(o.(client.Object))
		return nil
	}))
}

// replace replaces the release and requires that no job starts but those of the Installations that are named, and that nothing is written to the target.
func (w *world) replace(by release, names []string, starts ...string) {
	w.t.Helper()
	w.awaitQuiet()
	jobs, objects, begun := w.jobs(), w.objects(), time.Now()

	w.run(by, names...)
	w.awaitQuiet()

	after := w.jobs()
	for about, job := range after {
		for _, name := range starts {
			if strings.Contains(about, " "+name) {
				require.NotEqual(w.t, jobs[about], job, "%s: %s has to start a job", by.name, about)
				delete(jobs, about)
				delete(after, about)
			}
		}
	}
	require.Equal(w.t, jobs, after, "%s: jobs", by.name)
	require.Equal(w.t, objects, w.objects(), "%s: objects on the target", by.name)
	writes := slices.DeleteFunc(w.written(begun, w.isOnTarget), ofHook)
	require.Empty(w.t, writes, "%s: writes to the target", by.name)
	w.t.Logf("%s works after %s and %d writes", by.name, time.Since(begun).Round(time.Millisecond), len(w.written(begun, w.isOurs)))
}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "3"); err != nil { // they wait much more than they compute
		panic(err)
	}
	os.Exit(platform.Main(m, platform.Options{}))
}
