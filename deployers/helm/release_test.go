// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// sibling is another DeployItem of the same namespace and cluster.
func (f *fixture) sibling(name string) *fixture {
	copied := *f
	copied.item = &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace, UID: types.UID(uuid.NewString())}}
	copied.newJob()
	return &copied
}

// chart is a source of the chart hello-world with these templates by name.
func (f *fixture) chart(version string, templates map[string]string) config {
	f.Helper()
	files := map[string]string{}
	for name, content := range templates {
		files["templates/"+name+".yaml"] = content
	}
	return raw(archive(f, version, files))
}

// isGone reports whether the namespace has no ConfigMap of that name.
func (f *fixture) isGone(name string) bool {
	return apierrors.IsNotFound(f.get(name, &corev1.ConfigMap{}))
}

// named is a template of a ConfigMap.
func named(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// broken is a template of a ConfigMap that the API server refuses after it has accepted those before it in the order of Helm.
const broken = "apiVersion: v1\nkind: Service\nmetadata: {name: broken}\nspec: {ports: [{port: 99999}]}\n"

func (f *fixture) fail(d contract.Deployer) error {
	f.Helper()
	_, err := f.ensure(d)
	require.Error(f, err)
	return err
}

func TestD05AReleaseOfAnotherItemIsLeftAlone(t *testing.T) {
	a := newFixture(t)
	a.configure(config{"chart": a.chart("1.0.0", map[string]string{"cm": named("of-a")})})
	a.succeed(a.deployer())

	b := a.sibling("other-item")
	b.configure(config{"chart": b.chart("2.0.0", map[string]string{"cm": named("of-b")})})
	err := b.fail(b.deployer())
	require.ErrorContains(t, err, "belongs to the DeployItem "+a.namespace+"/hello-item")
	assert.False(t, protocol.IsUnrecoverable(err), "the other item may be on its way out")
	b.remove(b.deployer())
	assert.Equal(t, 1, a.release().Revision)
	a.configMap("of-a")

	a.remove(a.deployer())
	b.succeed(b.deployer())
	b.configMap("of-b")
}

func TestD05TheDeletionOfAnItemLeavesWhatAnotherHasTakenOver(t *testing.T) {
	a := newFixture(t)
	chart := a.chart("1.0.0", map[string]string{"cm": named("shared")})
	a.configure(config{"chart": chart})
	a.succeed(a.deployer())

	b := a.sibling("other-item")
	b.configure(config{"chart": chart, "helmDeploymentConfig": config{"upgrade": config{"takeOwnership": true}}})
	b.succeed(b.deployer())
	a.remove(a.deployer())
	assert.Equal(t, 2, b.release().Revision)
	b.configMap("shared")

	b.remove(b.deployer())
	assert.Nil(t, b.release())
	assert.True(t, b.isGone("shared"))
}

// landscape is a landscaper cluster with these DeployItems, or one that does not answer.
type landscape struct {
	names  []string
	silent bool
}

func (l landscape) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	switch {
	case l.silent:
		return errors.New("no answer")
	case slices.Contains(l.names, key.String()):
		return nil
	}
	return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), key.Name)
}

func (l landscape) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestAReleaseIsTakenOverOnceItsItemIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		of    func(owner *v1alpha1.DeployItem) landscape
		cause string
	}{
		"gone": {func(*v1alpha1.DeployItem) landscape { return landscape{} }, ""},
		"exists": {func(owner *v1alpha1.DeployItem) landscape {
			return landscape{names: []string{client.ObjectKeyFromObject(owner).String()}}
		}, "belongs to the DeployItem"},
		"silent": {func(*v1alpha1.DeployItem) landscape { return landscape{silent: true} }, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newFixture(t)
			a.configure(config{"chart": a.chart("1.0.0", map[string]string{"cm": named("of-a")})})
			a.succeed(a.deployer())
			b := a.sibling("other-item")
			b.deployItems = test.of(a.item)
			b.configure(config{"chart": b.chart("2.0.0", map[string]string{"cm": named("of-b")})})

			if test.cause != "" {
				require.ErrorContains(t, b.fail(b.deployer()), test.cause)
				assert.Equal(t, 1, a.release().Revision)
				return
			}
			b.succeed(b.deployer())
			assert.Equal(t, 2, b.release().Revision)
			assert.True(t, b.isGone("of-a"))
			b.remove(b.deployer())
			assert.Nil(t, b.release())
		})
	}
}

func TestD05ARecreatedItemGoesOnWithItsRelease(t *testing.T) {
	a := newFixture(t)
	chart := a.chart("1.0.0", map[string]string{"cm": named("of-a")})
	a.configure(config{"chart": chart})
	a.succeed(a.deployer())

	again := a.sibling(a.item.Name)
	again.configure(config{"chart": chart})
	again.succeed(again.deployer())
	assert.Equal(t, 2, again.release().Revision)
}

func TestD05AReleaseMadeByHandAfterTheUninstallStays(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"cm": named("of-a")})})
	f.succeed(f.deployer())
	f.unlabel("sh.helm.release.v1.hello-world.v1")
	f.remove(f.deployer())
	f.configMap("of-a")
}

func TestD11FailingAtomicUpgradesEndTheJob(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"cm": named("a")})})
	f.succeed(d)

	f.configure(config{
		"chart":                f.chart("1.1.0", map[string]string{"cm": named("a"), "d": deploymentTemplate}),
		"helmDeploymentConfig": config{"upgrade": config{"atomic": true, "timeout": "1s", "retries": 1}},
	})
	f.newJob()
	first := f.fail(d)
	assert.False(t, isFinal(first))
	last := f.fail(d)
	require.ErrorContains(t, last, "given up after 2 failed attempts")
	require.ErrorContains(t, last, "context deadline exceeded")
	assert.True(t, isFinal(last))
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &appsv1.Deployment{})))

	revision := f.release().Revision
	f.memory = map[string]any{} // the process dies before the end of the job is written
	again := f.fail(f.deployer())
	assert.True(t, isFinal(again))
	assert.Equal(t, revision, f.release().Revision, "no revision without a new job")
}

func TestD11FailingAtomicInstallsEndTheJob(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{
		"chart":                f.chart("1.0.0", map[string]string{"d": deploymentTemplate}),
		"helmDeploymentConfig": config{"install": config{"atomic": true, "timeout": "1s", "retries": 1}},
	})
	first := f.fail(d)
	assert.False(t, isFinal(first))
	require.ErrorContains(t, first, "has been uninstalled due to atomic being set")
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &appsv1.Deployment{})))
	assert.True(t, isFinal(f.fail(d)))
	assert.Nil(t, f.release())
}

// isFinal reports whether an error ends the job.
func isFinal(err error) bool { return protocol.AsFailure("", err).Kind == protocol.Stalled }

// stray is a template of a ConfigMap in a namespace that may come.
const stray = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z-stray, namespace: not-there-yet}\n"

func TestD11RetriesOfAJobMakeOneRevision(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"cm": named("a"), "s": stray})})
	for range 3 {
		assert.False(t, isFinal(f.fail(d)))
	}
	assert.Equal(t, 1, f.release().Revision)

	f.configure(config{"chart": f.chart("1.0.1", map[string]string{"cm": named("a")})})
	f.newJob()
	f.succeed(d)
	f.configure(config{"chart": f.chart("1.0.2", map[string]string{"cm": named("a"), "s": stray})})
	f.newJob()
	for range 3 {
		f.fail(d)
	}
	assert.Equal(t, 3, f.release().Revision)
	assert.Equal(t, engine.StatusFailed, f.release().Status)
}

func TestD10WorkloadsInListsHaveToBeReady(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"list": `apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: listed}
  spec:
    selector: {matchLabels: {app: a}}
    template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}
`})})
	outcome, err := f.ensure(f.deployer())
	require.NoError(t, err)
	assert.False(t, outcome.Done)
	assert.Contains(t, outcome.Waiting, "Deployment "+f.namespace+"/listed")
}

func TestD14APendingOperationOfAnotherItemIsLeftAlone(t *testing.T) {
	a := newFixture(t)
	a.configure(config{"chart": a.chart("1.0.0", map[string]string{"cm": named("a")})})
	a.crash(http.MethodPost, "/configmaps")

	b := a.sibling("other-item")
	b.configure(config{
		"chart": b.chart("1.0.0", map[string]string{"cm": named("a")}), "helmDeploymentConfig": config{"upgrade": config{"takeOwnership": true}},
	})
	require.ErrorContains(t, b.fail(b.deployer()), "is pending-install since")
	assert.Equal(t, engine.Status("pending-install"), a.release().Status)
}
