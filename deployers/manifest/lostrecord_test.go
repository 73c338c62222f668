// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// loseRecord removes the status of the item, and says so as the Execution does when it starts the next job.
func (l *life) loseRecord() {
	l.item.DeployItem.Status = v1alpha1.DeployItemStatus{JobStatus: v1alpha1.JobStatus{JobID: l.item.DeployItem.Status.JobID}}
	conditions.MarkTrue(l.item.DeployItem, v1alpha1.RecordLostCondition, "Test", "lost")
}

func TestADeletionWithoutRecordRemovesWhatIsOnTheTarget(t *testing.T) {
	l, other := newLife(t), newLife(t)
	other.item.DeployItem.Name, other.item.DeployItem.UID, other.namespace = l.item.DeployItem.Name, "another-uid", l.namespace
	l.configure(manifests("1", "a", "of-an-earlier-spec"))
	l.succeed()
	l.configure(manifests("1", "a", "b"))
	l.killed()
	other.configure(manifests("1", "of-a-namesake"))
	other.succeed()
	l.loseRecord()

	l.vanish()

	for _, name := range []string{"a", "b", "of-an-earlier-spec"} {
		assert.False(t, l.exists(name), name)
	}
	assert.True(t, l.exists("of-a-namesake"))
}

func TestADeletionWithoutRecordKeepsToPolicies(t *testing.T) {
	l := newLife(t)
	l.configure(header + `manifests:
- {policy: keep, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: NS}}}
- {policy: immutable, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: immutable, namespace: NS}}}
- policy: manage
  annotateBeforeDelete: {confirmed: "yes"}
  manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: confirmed, namespace: NS, finalizers: [example.com/held]}}
`)
	l.succeed()
	l.loseRecord()

	outcome, err := l.remove()

	require.NoError(t, err)
	assert.False(t, outcome.Done)
	assert.Contains(t, outcome.Waiting, "confirmed")
	assert.Equal(t, "yes", l.live("confirmed").GetAnnotations()["confirmed"])
	l.patch(l.configMap("confirmed"), `{"metadata":{"finalizers":null}}`)
	l.vanish()
	assert.True(t, l.exists("kept"))
	assert.False(t, l.exists("immutable"))
	assert.False(t, l.exists("confirmed"))
}

func TestADeletionWithoutRecordOfWhatWasNeverDeployedEnds(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.loseRecord()

	l.vanish()

	assert.False(t, l.exists("a"))
}

func TestADeletionWithoutRecordNeedsTheTarget(t *testing.T) {
	for name, lose := range map[string]func(l *life){
		"it cannot be opened":      func(l *life) { l.item.Target, l.item.TargetProblem = nil, errors.New("Target test does not exist") },
		"the spec names none":      func(l *life) { l.item.Target = nil },
		"its cluster is not there": func(l *life) { l.item.Target = open(t, &rest.Config{Host: "https://127.0.0.1:1"}) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.configure(manifests("1", "a"))
			l.succeed()
			there := l.item.Target
			l.loseRecord()
			lose(l)

			outcome, err := l.remove()

			require.Error(t, err)
			assert.False(t, outcome.Done)
			assert.Contains(t, err.Error(), v1alpha1.DeleteWithoutUninstallAnnotation)
			sites, isKnown := l.deployer.Sites(l.item.DeployItem)
			assert.Empty(t, sites)
			assert.False(t, isKnown)
			l.item.Target, l.item.TargetProblem = there, nil
			l.vanish()
			assert.False(t, l.exists("a"))
		})
	}
}

func TestADeletionWithoutRecordNeedsRightsToLook(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.succeed()
	l.loseRecord()
	l.configure(manifests("1"))
	there, limited := l.item.Target, rest.CopyConfig(platform.Shared(t).RestConfig)
	limited.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	l.item.Target = open(t, limited)

	outcome, err := l.remove()

	require.ErrorContains(t, err, "forbidden")
	assert.Contains(t, err.Error(), v1alpha1.DeleteWithoutUninstallAnnotation)
	assert.False(t, outcome.Done)
	l.item.Target = there
	l.vanish()
	assert.False(t, l.exists("a"))
}

func TestTheNextJobFindsWhatTheRecordLost(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "dropped"))
	l.succeed()
	l.loseRecord()
	l.configure(manifests("1", "a"))

	l.succeed()

	assert.False(t, l.exists("dropped"))
	assert.Equal(t, []string{"a"}, l.recorded())
	recorded, err := status(l.item.DeployItem)
	require.NoError(t, err)
	assert.Equal(t, []managedresource.Site(nil), inventoryOf(recorded).Sites)
}
