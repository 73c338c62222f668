// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

func hookNamed(name, event string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: " + event + "}}\n"
}

// heldFiles are a chart with an object that somebody's finalizer holds, one that goes at once, and hooks around their deletion.
var heldFiles = map[string]string{
	"templates/held.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.org/operator]}\n",
	"templates/other.yaml":  named("other"),
	"templates/before.yaml": hookNamed("before", "pre-delete"),
	"templates/after.yaml":  hookNamed("after", "post-delete"),
}

// release lets the object go that heldFiles have, if it is there.
func (f *fixture) letGo() {
	object := &corev1.ConfigMap{}
	if f.get("held", object) == nil {
		assert.NoError(f, client.IgnoreNotFound(f.cluster.Client.Patch(f.ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`)))))
	}
}

// tryRemove is a call for a deletion, of a new process.
func (f *fixture) tryRemove() contract.Outcome {
	f.Helper()
	outcome, err := f.deployer().Delete(f.ctx, f.contractItem())
	require.NoError(f, err)
	return outcome
}

func TestAnUninstallWaitsForItsObjects(t *testing.T) {
	for name, uninstall := range map[string]config{"unset": {}, "true": {"wait": true}, "D13 malformed": {"wait": "yes", "timeout": 1}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			t.Cleanup(f.letGo)
			f.configure(f.with(heldFiles, nil))
			f.succeed(f.deployer())
			f.configure(f.with(heldFiles, config{"uninstall": uninstall}))

			outcome := f.tryRemove()
			assert.False(t, outcome.Done)
			assert.Equal(t, "ConfigMap "+f.namespace+"/held is still there, held by [example.org/operator]", outcome.Waiting)
			require.Len(t, outcome.Watch, 1)
			assert.Equal(t, "held", outcome.Watch[0].Name)
			assert.True(t, f.isGone("other"))
			assert.True(t, f.isGone("after"), "hooks that follow an uninstall wait for its end")
			require.NoError(t, f.cluster.Client.Delete(f.ctx, &corev1.ConfigMap{ObjectMeta: objectMeta(f.namespace, "before")}))
			assert.False(t, f.tryRemove().Done)

			f.letGo()
			assert.True(t, f.tryRemove().Done)
			assert.False(t, f.isGone("after"))
			assert.True(t, f.isGone("before"), "hooks that go before an uninstall run once")
			assert.Nil(t, f.release())
		})
	}
}

func TestAnUninstallThatIsNotToWaitEndsAtOnce(t *testing.T) {
	f := newFixture(t)
	t.Cleanup(f.letGo)
	f.configure(f.with(heldFiles, config{"uninstall": config{"wait": false}}))
	f.succeed(f.deployer())
	f.remove(f.deployer())
	assert.False(t, f.isGone("held"))
	assert.False(t, f.isGone("after"))
	assert.Nil(t, f.release())
}

func TestAnUninstallThatWaitedKeepsItsHistory(t *testing.T) {
	f := newFixture(t)
	t.Cleanup(f.letGo)
	f.configure(f.with(heldFiles, config{"uninstall": config{"keepHistory": true}}))
	f.succeed(f.deployer())
	require.False(t, f.tryRemove().Done)
	f.letGo()
	require.True(t, f.tryRemove().Done)
	assert.Equal(t, engine.StatusUninstalled, f.release().Status)
	assert.False(t, f.release().Leaving)
	require.NoError(t, f.cluster.Client.Delete(f.ctx, &corev1.ConfigMap{ObjectMeta: objectMeta(f.namespace, "after")}))
	require.True(t, f.tryRemove().Done)
	assert.True(t, f.isGone("after"), "the hooks that follow run once")
}

func TestAReleaseOfAnotherNameWaitsUntilTheOldOneIsGone(t *testing.T) {
	f := newFixture(t)
	t.Cleanup(f.letGo)
	f.configure(f.with(heldFiles, nil))
	f.succeed(f.deployer())
	content := f.with(heldFiles, nil)
	content["name"] = "renamed"
	f.next(content)
	outcome, err := f.ensure(f.deployer())
	require.NoError(t, err)
	assert.False(t, outcome.Done)
	assert.Contains(t, outcome.Waiting, "held by [example.org/operator]")

	f.next(f.with(heldFiles, nil)) // back to the old name
	_, err = f.ensure(f.deployer())
	require.ErrorContains(t, err, "is being uninstalled: ConfigMap "+f.namespace+"/held is still there")
	f.letGo()
	f.succeed(f.deployer())
	assert.Equal(t, 1, f.release().Revision)
	assert.False(t, f.isGone("held"))
}
