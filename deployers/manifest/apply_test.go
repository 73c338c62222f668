// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestItemThatIsAppliedFromCreateToDelete(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "b") + "updateStrategy: apply\n")
	l.killed()
	before := l.live("a")
	l.succeed()
	assert.Equal(t, before.GetResourceVersion(), l.live("a").GetResourceVersion(), "nothing is written twice")

	l.configure(manifests("2", "b", "c") + "updateStrategy: apply\n")
	l.succeed()
	assert.False(t, l.exists("a"), "the orphan is gone")
	assert.Equal(t, []string{"b", "c"}, l.recorded())

	l.vanish()
	assert.False(t, l.exists("b"))
	assert.False(t, l.exists("c"))
}

func TestARefusedDryRunLeavesNothingToDelete(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a") + "- {manifest: {apiVersion: v1, kind: Service, metadata: {name: bad, namespace: NS}, spec: {ports: [{port: 0}]}}}\nupdateStrategy: apply\n")

	outcome, err := l.ensure()

	require.ErrorContains(t, err, "cannot create Service "+l.namespace+"/bad")
	assert.False(t, outcome.Done)
	assert.False(t, l.exists("a"))
	assert.Empty(t, l.recorded())
	l.vanish()
}

func TestSwitchingTheStrategyLeavesNothingBehind(t *testing.T) {
	l := newLife(t)
	l.configure(header + "manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS, labels: {old: x}}, data: {v: '1', old: '2'}}}]\n")
	l.succeed()
	for _, strategy := range []string{"apply", "update", "apply"} {
		l.configure(manifests("1", "a") + "updateStrategy: " + strategy + "\n")
		l.succeed()
		live := l.live("a")
		assert.Equal(t, map[string]any{"v": "1"}, live.Object["data"])
		assert.NotContains(t, live.GetLabels(), "old")
	}
}

const workload = `- manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: NS}, spec: {backoffLimit: 0, template: {spec: {
    restartPolicy: Never, containers: [{name: main, image: example.com/main}]}}}}
`

func TestJobsAreWaitedForByTheirStatusOnly(t *testing.T) {
	for name, test := range map[string]struct {
		settings string
		waits    bool
	}{
		"by default":                  {"", false},
		"with kstatus":                {"readinessChecks: {kstatus: true}\n", true},
		"with server-side apply":      {"updateStrategy: apply\n", true},
		"with apply, without kstatus": {"updateStrategy: apply\nreadinessChecks: {kstatus: false}\n", false},
		"without any check":           {"updateStrategy: apply\nreadinessChecks: {disableDefault: true, kstatus: true}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.configure(header + "manifests:\n" + workload + test.settings)
			outcome, err := l.ensure()
			require.NoError(t, err)
			assert.Equal(t, test.waits, !outcome.Done)
			if test.waits {
				assert.Contains(t, outcome.Waiting, "Job "+l.namespace+"/work is not ready: Job ")
			}
		})
	}
}

const healthChecks = `readinessChecks:
  disableDefault: true
  healthChecks: [{apiVersion: v1, kind: ConfigMap, current: "data.v == 'good'", failed: "data.v == 'bad'"}]
`

func TestHealthChecksDecide(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("new", "a") + healthChecks)
	outcome, err := l.ensure()
	require.NoError(t, err)
	assert.Equal(t, "ConfigMap "+l.namespace+"/a is not ready: none of its health checks is true", outcome.Waiting)

	l.patch(l.live("a"), `{"data": {"v": "good"}}`)
	l.succeed()
}

func TestAFailedObjectEndsTheJobAtOnce(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("bad", "a") + healthChecks)

	_, err := l.ensure()

	var failure *protocol.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, protocol.Stalled, failure.Kind)
	assert.Equal(t, "HealthCheckFailed", failure.Reason)
	assert.EqualError(t, err, "ConfigMap "+l.namespace+"/a has failed: readinessChecks.healthChecks[0].failed is true")
}

func TestBrokenExpressionsAreNamedBeforeAnythingIsDone(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a") + "readinessChecks: {healthChecks: [{apiVersion: v1, kind: ConfigMap, current: 'data.v =='}]}\n")

	_, err := l.ensure()

	require.ErrorContains(t, err, "spec.config: readinessChecks.healthChecks[0].current: is not a CEL expression")
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
	assert.False(t, l.exists("a"))
}
