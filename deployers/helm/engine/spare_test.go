// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// takers are those who may have changed the marks on an object of a release, and whether Helm leaves it alone then.
var takers = map[string]struct {
	change func(object *corev1.ConfigMap)
	stays  bool
}{
	"nobody": {func(*corev1.ConfigMap) {}, false},
	"a DeployItem": {func(o *corev1.ConfigMap) {
		o.Labels, o.Annotations = map[string]string{v1alpha1.ManifestDeployItemLabel: "another"}, nil
	}, true},
	"a DeployItem in part":      {func(o *corev1.ConfigMap) { o.Labels[v1alpha1.ManifestDeployItemLabel] = "another" }, false},
	"another release":           {func(o *corev1.ConfigMap) { o.Annotations[helmv1alpha1.ReleaseNameAnnotation] = "another" }, true},
	"somebody without marks":    {func(o *corev1.ConfigMap) { o.Labels, o.Annotations = nil, nil }, false},
	"whoever removed the label": {func(o *corev1.ConfigMap) { o.Labels = nil }, false},
}

const movedTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\n"

// moved is a release with an object that others may take.
type moved struct {
	*testing.T
	e       *engine.Engine
	request engine.Request
	cluster *target.Cluster
}

func newMoved(t *testing.T) *moved {
	t.Helper()
	m := &moved{T: t, e: newEngine(t), cluster: openTarget(t)}
	m.request = engine.Request{
		Cluster: m.cluster, Namespace: platform.Shared(t).Namespace(t), Name: "hello",
		Chart: chartOf(t, m.e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate, "templates/moved.yaml": movedTemplate}),
	}
	_, err := m.e.Install(testContext(t), m.request)
	require.NoError(t, err)
	return m
}

func (m *moved) change(by func(*corev1.ConfigMap)) {
	object := &corev1.ConfigMap{}
	require.NoError(m, m.cluster.Client.Get(m.Context(), client.ObjectKey{Namespace: m.request.Namespace, Name: "moved"}, object))
	by(object)
	require.NoError(m, m.cluster.Client.Update(m.Context(), object))
}

func (m *moved) exists() bool {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.request.Namespace, Name: "moved"}}
	err := m.cluster.Client.Get(m.Context(), client.ObjectKeyFromObject(object), object)
	require.NoError(m, client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

// operations take the object out of the release, or the release away.
var operations = map[string]func(m *moved) error{
	"upgrade": func(m *moved) error {
		m.request.Chart = chartOf(m.T, m.e, "1.1.0", map[string]string{"templates/cm.yaml": configMapTemplate})
		_, err := m.e.Upgrade(testContext(m.T), m.request)
		return err
	},
	"uninstall": func(m *moved) error {
		return uninstall(m.e, testContext(m.T), m.request.Cluster, m.request.Namespace, "hello", engine.Flags{ReleaseSettings: helmv1alpha1.ReleaseSettings{Wait: true}})
	},
}

func TestWhatOthersHaveTakenIsNotDeleted(t *testing.T) {
	for name, taker := range takers {
		for verb, operation := range operations {
			t.Run(verb+" after "+name, func(t *testing.T) {
				m := newMoved(t)
				m.change(taker.change)

				require.NoError(t, operation(m))

				assert.Equal(t, taker.stays, m.exists())
			})
		}
	}
}

// TestWhatIsTakenInTheLastMomentIsNotDeleted has a taker that comes between Helm's look at the object and its deletion.
func TestWhatIsTakenInTheLastMomentIsNotDeleted(t *testing.T) {
	for verb, operation := range operations {
		t.Run(verb, func(t *testing.T) {
			m := newMoved(t)
			var deletions atomic.Int32
			m.request.Cluster = gated(m.cluster, func(r *http.Request) {
				if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/configmaps/moved") && deletions.Add(1) == 1 {
					m.change(takers["a DeployItem"].change)
				}
			})

			require.NoError(t, operation(m))

			assert.True(t, m.exists())
			assert.EqualValues(t, 1, deletions.Load())
		})
	}
}

func TestAnUpgradeCostsNoFurtherRequest(t *testing.T) {
	m := newMoved(t)
	var reads, deletions atomic.Int32
	m.request.Cluster = gated(m.cluster, func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configmaps/moved") {
			map[string]*atomic.Int32{http.MethodGet: &reads, http.MethodDelete: &deletions}[r.Method].Add(1)
		}
	})

	require.NoError(t, operations["upgrade"](m))

	assert.EqualValues(t, 1, reads.Load(), "as with Helm alone")
	assert.EqualValues(t, 1, deletions.Load())
}
