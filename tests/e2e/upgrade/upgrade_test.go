// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

func TestALandscapeIsUpgradedAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, platform.Options{Flux: true})
	before, now := bothReleases(w.Ctx, t)
	programs := []string{rig.Controller, rig.ManifestDeployer, rig.HelmDeployer, rig.MockDeployer}
	w.run(before, programs...)
	w.Target("cluster")
	w.begin()

	w.replace(now, programs, mended.name, large.name)

	w.finish()
	all := slices.Concat(atRest, runs, []unit{hooked, large, mended, runsMock.cured()})
	for _, u := range fail {
		all = append(all, u.cured())
	}
	w.update(all, "v2")
	w.keepSecret(vault, "v2")
	w.requireDriftCorrected(all, "v2")

	w.begins(runs, "v3")
	w.replace(before, programs, large.name)
	w.ends(runs)
	w.update(append(all, vault), "v4")
	w.requireDriftCorrected(all, "v4")

	w.begins(runs, "v5")
	w.replace(now, programs, large.name)
	w.ends(runs)
	w.remove()
}

// begin makes the landscape under the release that is upgraded.
func (w *world) begin() {
	w.t.Helper()
	for name, value := range map[string]any{"count": 7, "text": "seven", "corrected": "seven", "large": int64(1<<53 + 1)} {
		w.number(name, value)
	}
	numbers := metav1.ObjectMeta{Name: "numbers", Namespace: w.Namespace}
	require.NoError(w.t, w.Apply(w.Ctx, &corev1.ConfigMap{ObjectMeta: numbers, Data: map[string]string{"count": "7"}},
		&corev1.Secret{ObjectMeta: numbers, Data: map[string][]byte{"count": []byte("7")}}))
	for _, u := range slices.Concat(atRest, goes, fail, []unit{mended, large, hooked, runsMock, vault}) {
		w.put(u, "v1")
	}
	w.begins(runs, "v1")
	w.awaitHook(hooked)
	w.running(runsMock.name)
	for _, u := range slices.Concat(atRest, goes, []unit{large, vault}) {
		w.Succeeded(u.name)
	}
	for _, u := range append(fail, mended) {
		w.Failed(u.name)
	}
	for _, u := range goes {
		w.hold(u.name)
		w.Delete(w.Installation(u.name))
	}
	w.Ended("goes-late", v1alpha1.PhaseDeleteFailed)
	w.number("corrected", 7)
}

// begins starts jobs of units that wait for their gates.
func (w *world) begins(units []unit, version string) {
	w.t.Helper()
	for _, u := range units {
		w.gate(u, "no")
		w.put(u, version)
	}
	for _, u := range units {
		w.awaitDeployed(u.name, version)
		w.running(u.name)
	}
}

// ends opens the gates of units, and requires that the jobs that run end well, each of them once.
func (w *world) ends(units []unit) {
	w.t.Helper()
	ran := map[string]string{}
	for _, u := range units {
		ran[u.name] = w.running(u.name).Status.JobID
	}
	objects := w.objects()
	for _, u := range units {
		w.gate(u, "yes")
	}
	for _, u := range units {
		assert.Equal(w.t, ran[u.name], w.Succeeded(u.name).Status.JobIDFinished, u.name)
	}
	w.awaitQuiet()
	after := w.objects()
	for about, version := range objects {
		if strings.HasPrefix(about, "*v1.ConfigMap ") && !strings.HasSuffix(about, "-follower") {
			assert.Equal(w.t, version, after[about], "%s: what waited is not applied again", about)
		}
	}
}

// finish ends all that runs since the former release, and what is in deletion.
func (w *world) finish() {
	w.t.Helper()
	hook, mock := w.running(hooked.name).Status.JobID, w.running(runsMock.name).Status.JobID
	w.endHook(hooked)
	w.Annotate(w.Installation(runsMock.name), v1alpha1.OperationAnnotation, string(v1alpha1.OperationInterrupt))
	w.ends(runs)
	assert.Equal(w.t, hook, w.Succeeded(hooked.name).Status.JobIDFinished)
	assert.Equal(w.t, mock, w.Ended(runsMock.name, v1alpha1.PhaseFailed).Status.JobIDFinished)
	w.requireRevisions(hooked.name, 1)
	w.requireRevisions("runs-helm", 1)
	w.Succeeded(mended.name)
	for _, u := range goes {
		require.NotNil(w.t, w.configMap(u.name).DeletionTimestamp, u.name)
		w.letGo(u.name)
	}
	for _, u := range goes {
		w.Gone(w.Installation(u.name))
	}
}

// requireRevisions checks how many revisions a release has.
func (w *world) requireRevisions(name string, count int) {
	w.t.Helper()
	records := &corev1.SecretList{}
	require.NoError(w.t, w.Client().List(w.Ctx, records, client.InNamespace(deployed), client.MatchingLabels{"owner": "helm", "name": name}))
	assert.Len(w.t, records.Items, count, "revisions of %s", name)
}

// update changes all units, which are deployed without that anything is made anew.
func (w *world) update(units []unit, version string) {
	w.t.Helper()
	born, begun := w.objects(), time.Now()
	for _, u := range units {
		w.put(u, version)
	}
	for _, u := range units {
		if u.item != "mock" {
			w.awaitDeployed(u.name, version) // the generation tells nothing of a new revision of a source
		}
		w.Succeeded(u.name)
		require.Equal(w.t, fmt.Sprintf("%q", version), w.Value("version-of-"+u.name))
	}
	require.NotEmpty(w.t, w.written(begun, w.isOnTarget), "what deployers write to the target is seen")
	for about, now := range w.objects() {
		if was, isKnown := born[about]; isKnown {
			require.Equal(w.t, strings.Fields(was)[0], strings.Fields(now)[0], "%s is made anew", about)
		}
	}
}

// keepSecret makes the export of a unit sensitive, and plain again, as who goes back to the former release has to do before.
func (w *world) keepSecret(u unit, version string) {
	w.t.Helper()
	for _, sensitive := range []bool{true, false} {
		u.sensitive = sensitive
		w.put(u, version)
		w.Succeeded(u.name)
		data := &v1alpha1.DataObject{ObjectMeta: w.Named("version-of-" + u.name)}
		require.NoError(w.t, w.Client().Get(w.Ctx, client.ObjectKeyFromObject(data), data))
		require.Equal(w.t, sensitive, data.SecretReference != nil)
	}
}

// requireDriftCorrected changes and deletes what is deployed, and waits until that is corrected.
func (w *world) requireDriftCorrected(units []unit, version string) {
	w.t.Helper()
	for i, u := range units {
		switch {
		case u.item == "mock":
		case i%2 == 0:
			w.patch(w.configMap(u.name), `{"data": {"version": "drifted"}}`)
		default:
			require.NoError(w.t, w.site.Client().Delete(w.Ctx, w.configMap(u.name)))
		}
	}
	for _, u := range units {
		if u.item != "mock" {
			w.awaitDeployed(u.name, version)
		}
	}
}

// remove deletes everything, and requires that nothing is left of it.
func (w *world) remove() {
	w.t.Helper()
	require.NoError(w.t, w.Client().DeleteAllOf(w.Ctx, &v1alpha1.Installation{}, client.InNamespace(w.Namespace)))
	for _, u := range slices.Concat(atRest, runs, fail, []unit{mended, large, hooked, runsMock, vault}) {
		w.Gone(w.Installation(u.name))
	}
	var left []string
	for _, all := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}, &corev1.SecretList{},
	} {
		w.each(w.Cluster, all, w.Namespace, func(o client.Object) { left = append(left, o.GetName()) })
	}
	assert.ElementsMatch(w.t, []string{"count", "text", "corrected", "large", "cluster", "numbers"}, left, "beside what the user made")
	require.Eventually(w.t, func() bool { return len(w.objects()) == 0 }, 5*time.Minute, 100*time.Millisecond, "%v", w.objects())
}
