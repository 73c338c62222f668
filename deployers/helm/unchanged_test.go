// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// hookTemplate is an object that every install and upgrade makes anew.
const hookTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
`

// counting is a cluster that counts certain requests.
func counting(cluster *target.Cluster, count *atomic.Int32, counts func(*http.Request) bool) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if counts(r) {
				count.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return &copied
}

func (f *fixture) hookUID() string {
	f.Helper()
	hook := &corev1.ConfigMap{}
	require.NoError(f, f.get("hook", hook))
	return string(hook.UID)
}

func (f *fixture) unchanged() config {
	return config{
		"chart":  raw(archive(f, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate, "templates/hook.yaml": hookTemplate})),
		"values": config{"testData": "hello"},
	}
}

func TestAnUnchangedChartMakesNoRevisionAndRunsNoHook(t *testing.T) {
	f := newFixture(t)
	f.configure(f.unchanged())
	f.succeed(f.deployer())
	hook := f.hookUID()

	var writes atomic.Int32
	whole := f.cluster
	f.cluster = counting(whole, &writes, func(r *http.Request) bool {
		return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubject")
	})
	for range 2 { // as a reconcile operation and the clock do it
		f.newJob()
		f.succeed(f.deployer())
	}
	f.cluster = whole
	assert.Equal(t, 1, f.release().Revision)
	assert.Equal(t, hook, f.hookUID())
	assert.Zero(t, writes.Load())
	assert.Equal(t, 1, f.status().Release.Revision)

	// The Helm library itself, asked for the same, makes one.
	p := f.person()
	p.upgrade(map[string]string{"templates/cm.yaml": configMapTemplate, "templates/hook.yaml": hookTemplate}, map[string]any{"testData": "hello"})
	assert.Equal(t, 2, f.release().Revision)
	assert.NotEqual(t, hook, f.hookUID())
}

// TestWhatHasChangedMakesARevision changes one thing of a release after another. Other values: TestEmptyValuesMeanTheDefaultsAgain.
func TestWhatHasChangedMakesARevision(t *testing.T) {
	f := newFixture(t)
	with := f.unchanged()
	f.configure(with)
	f.succeed(f.deployer())
	for _, change := range []struct {
		name string
		make func()
	}{
		{"chart", func() {
			with["chart"] = raw(archive(f, "1.0.1", map[string]string{"templates/cm.yaml": configMapTemplate}))
		}},
		{"settings", func() { with["helmDeploymentConfig"] = config{"upgrade": config{"takeOwnership": true}} }},
		{"force annotation", func() {
			metav1.SetMetaDataAnnotation(&f.item.ObjectMeta, meta.ForceRequestAnnotation, "2026-01-01T00:00:00Z")
		}},
		{"a revision of a person", func() { f.person().upgrade(personFiles, ofPerson) }},
		{"a failed revision", func() {
			f.next(config{"chart": f.chart("1.0.2", map[string]string{"cm": named("a"), "s": broken})})
			f.fail(f.deployer())
		}},
	} {
		change.make()
		before := f.release().Revision
		f.next(with)
		f.succeed(f.deployer())
		made := f.release().Revision
		assert.Equal(t, before+1, made, change.name)

		f.newJob()
		f.succeed(f.deployer())
		assert.Equal(t, made, f.release().Revision, "%s: once", change.name)
	}
}

func TestAMissingWorkloadMakesARevision(t *testing.T) {
	f := newFixture(t)
	f.configure(config{
		"chart": f.chart("1.0.0", map[string]string{"d": deploymentTemplate}), "readinessChecks": config{"disableDefault": true},
	})
	f.succeed(f.deployer())
	require.NoError(t, f.cluster.Client.Delete(f.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "hello-world"}}))
	f.newJob()
	f.succeed(f.deployer())
	assert.Equal(t, 2, f.release().Revision)
	require.NoError(t, f.get("hello-world", &appsv1.Deployment{}))
}
