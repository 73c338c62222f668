// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// migration is a configuration with a Job that goes by itself, and a patch of it that comes when it is gone.
const migration = header + `
updateStrategy: %s
readinessChecks: {kstatus: true}
manifests:
- policy: manage
  patchAfterDeployment: {metadata: {labels: {patched: 'yes'}}}
  manifest:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: migrate, namespace: NS}
    spec:
      ttlSecondsAfterFinished: 0
      template: {spec: {restartPolicy: Never, nodeName: none, containers: [{name: c, image: example.com/migrate:%s}]}}
`

func (l *life) job() (*unstructured.Unstructured, error) {
	job := l.configMap("migrate")
	job.SetAPIVersion("batch/v1")
	job.SetKind("Job")
	return job, platform.Shared(l.t).Client().Get(l.t.Context(), crclient.ObjectKeyFromObject(job), job)
}

// end deletes the Job at once, as Kubernetes does with one that has ended.
func (l *life) end() {
	l.t.Helper()
	job, err := l.job()
	require.NoError(l.t, err)
	require.NoError(l.t, platform.Shared(l.t).Client().Delete(l.t.Context(), job, crclient.PropagationPolicy("Background")))
	require.NoError(l.t, platform.Shared(l.t).AwaitGone(l.t.Context(), job))
}

func (l *life) awaitJob() {
	l.t.Helper()
	outcome, err := l.ensure()
	require.NoError(l.t, err)
	require.Contains(l.t, outcome.Waiting, "Job "+l.namespace+"/migrate is not ready")
}

func TestAJobThatGoesOnceItHasEndedIsRunOnce(t *testing.T) {
	for _, strategy := range []string{"update", "apply"} {
		for name, meanwhile := range map[string]func(*life){"one process": func(*life) {}, "another process": (*life).die} {
			t.Run(strategy+", "+name, func(t *testing.T) {
				l := newLife(t)
				l.configure(fmt.Sprintf(migration, strategy, "v1"))
				l.awaitJob()
				l.end()
				meanwhile(l)
				l.succeed()

				l.configure(fmt.Sprintf(migration, strategy, "v1"))
				l.succeed()
				_, err := l.job()
				assert.True(t, crclient.IgnoreNotFound(err) == nil && err != nil, "the next job does not run it again")

				l.configure(fmt.Sprintf(migration, strategy, "v2"))
				l.awaitJob()
				l.end()
				l.succeed()
				l.vanish()
			})
		}
	}
}

func TestAJobThatHasFailedIsRunAgainThoughItIsGone(t *testing.T) {
	// No controller of the cluster writes the status of a Job that another one manages, or deletes it in the time of the test.
	managed := strings.ReplaceAll(fmt.Sprintf(migration, "apply", "v1"), "ttlSecondsAfterFinished: 0", "ttlSecondsAfterFinished: 2000000000\n      managedBy: example.com/nobody")
	l := newLife(t)
	l.configure(managed)
	l.awaitJob()
	job, err := l.job()
	require.NoError(t, err)
	failed := crclient.RawPatch("application/merge-patch+json", []byte(`{"status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [
{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded", "message": "too many", "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": "2026-01-01T00:00:00Z"},
{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too many", "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": "2026-01-01T00:00:00Z"}]}}`))
	require.NoError(t, platform.Shared(t).Client().SubResource("status").Patch(t.Context(), job, failed))
	_, err = l.ensure()
	require.ErrorContains(t, err, "has failed")
	l.end()

	l.configure(managed)
	l.awaitJob()
}
