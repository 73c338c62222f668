// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// serve runs the deployer in a manager until the test ends, with Target and Context in place. The landscaper cluster is the target itself.
func (f *fixture) serve() {
	f.Helper()
	f.serveWith(contract.Options{})
}

// serveWith is serve with some options of its own.
func (f *fixture) serveWith(options contract.Options) {
	f.Helper()
	scheme := runtime.NewScheme()
	require.NoError(f, clientgoscheme.AddToScheme(scheme))
	require.NoError(f, v1alpha1.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(f.platform.RestConfig, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			ByObject: contract.CacheOptions(v1alpha1.HelmDeployItemType), DefaultNamespaces: map[string]cache.Config{f.namespace: {}},
		},
	})
	require.NoError(f, err)
	f.options.Landscaper = f.cluster
	options.Identity = "test"
	options.Clients, err = target.New(target.Options{Landscaper: f.platform.RestConfig})
	require.NoError(f, err)
	require.NoError(f, contract.Serve(mgr, f.deployer(), options))
	platform.Run(f.ctx, f.T, mgr)
	content, err := json.Marshal(config{"kubeconfig": string(f.platform.Kubeconfig)})
	require.NoError(f, err)
	encoded := v1alpha1.NewAnyJSON(content)
	object := &v1alpha1.Target{ObjectMeta: f.meta("cluster")}
	object.Spec.Type, object.Spec.Configuration = v1alpha1.KubernetesClusterTargetType, &encoded
	require.NoError(f, f.platform.Client().Create(f.ctx, object))
	require.NoError(f, f.platform.Client().Create(f.ctx, &v1alpha1.Context{
		ObjectMeta: f.meta(v1alpha1.DefaultContextName), ContextConfiguration: f.context.Configuration,
	}))
}

// request starts a job of the DeployItem, as the Execution controller does.
func (f *fixture) request() {
	f.Helper()
	now := metav1.Now()
	f.item.Status.JobID, f.item.Status.JobIDGenerationTime = uuid.NewString(), &now
	require.NoError(f, f.platform.Client().Status().Update(f.ctx, f.item))
}

// finish waits for the end of the job.
func (f *fixture) finish() v1alpha1.DeployItemStatus {
	f.Helper()
	require.NoError(f, f.platform.Await(f.ctx, f.item, func() bool { return f.item.Status.IsIdle() }))
	return f.item.Status
}

func (f *fixture) createItem(content config, timeout time.Duration) {
	f.Helper()
	f.configure(content)
	f.item = &v1alpha1.DeployItem{ObjectMeta: f.meta("hello-item"), Spec: v1alpha1.DeployItemSpec{
		Type: v1alpha1.HelmDeployItemType, Target: &v1alpha1.DeployItemTarget{Name: "cluster"},
		Configuration: f.item.Spec.Configuration, Timeout: &v1alpha1.Duration{Duration: timeout},
	}}
	require.NoError(f, f.platform.Client().Create(f.ctx, f.item))
}

func TestServedItem(t *testing.T) {
	f := newFixture(t)
	f.serve()
	f.createItem(config{
		"chart":  config{"ref": f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})},
		"values": config{"testData": "hello"},
		"exports": config{"exports": []any{config{"key": "greeting", "jsonPath": ".data.testData", "fromResource": config{
			"apiVersion": "v1", "kind": "ConfigMap", "name": "hello-world", "namespace": f.namespace,
		}}}},
	}, testTimeout)
	f.request()
	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
	assert.Equal(t, "hello", f.configMap("hello-world")["testData"])
	exported := &corev1.Secret{}
	require.NoError(t, f.get("hello-item-export", exported))
	assert.JSONEq(t, `{"greeting": "hello"}`, string(exported.Data["config"]))

	f.request()
	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
	assert.Equal(t, 1, f.release().Revision, "nothing has changed")

	require.NoError(t, f.platform.Client().Delete(f.ctx, f.item))
	f.item.ResourceVersion = ""
	require.NoError(t, f.platform.Client().Get(f.ctx, client.ObjectKeyFromObject(f.item), f.item))
	f.request()
	require.NoError(t, f.platform.AwaitGone(f.ctx, f.item))
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
	assert.Nil(t, f.release())
}
