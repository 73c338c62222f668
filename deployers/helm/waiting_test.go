// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// crowd starts jobs of many items on a target, each with a release of its own.
func (f *fixture) crowd(count int, target string, content config) []*v1alpha1.DeployItem {
	f.Helper()
	var items []*v1alpha1.DeployItem
	for i := range count {
		content["name"] = fmt.Sprintf("crowd-%d", i)
		f.configure(content)
		item := &v1alpha1.DeployItem{ObjectMeta: f.meta(fmt.Sprintf("crowd-%d", i)), Spec: v1alpha1.DeployItemSpec{
			Type: v1alpha1.HelmDeployItemType, Target: &v1alpha1.DeployItemTarget{Name: target},
			Configuration: f.item.Spec.Configuration, Timeout: &v1alpha1.Duration{Duration: testTimeout},
		}}
		require.NoError(f, f.platform.Client().Create(f.ctx, item))
		now := metav1.Now()
		item.Status.JobID, item.Status.JobIDGenerationTime = uuid.NewString(), &now
		require.NoError(f, f.platform.Client().Status().Update(f.ctx, item))
		items = append(items, item)
	}
	return items
}

// silentTarget creates a Target whose server takes connections and never answers.
func (f *fixture) silentTarget() {
	f.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f, err)
	f.Cleanup(func() { _ = listener.Close() })
	kubeconfig := bytes.ReplaceAll(f.platform.Kubeconfig, []byte(f.platform.RestConfig.Host), []byte("https://"+listener.Addr().String()))
	require.NotEqual(f, string(f.platform.Kubeconfig), string(kubeconfig))
	content, err := json.Marshal(config{"kubeconfig": string(kubeconfig)})
	require.NoError(f, err)
	encoded := v1alpha1.NewAnyJSON(content)
	object := &v1alpha1.Target{ObjectMeta: f.meta("silent")}
	object.Spec.Type, object.Spec.Configuration = v1alpha1.KubernetesClusterTargetType, &encoded
	require.NoError(f, f.platform.Client().Create(f.ctx, object))
}

// TestD17WaitingItemsHoldUpNoOther lets more items wait than there are workers, and then deploys another one.
func TestD17WaitingItemsHoldUpNoOther(t *testing.T) {
	for name, tc := range map[string]struct {
		target   string
		files    map[string]string
		settings config
	}{
		"hooks":         {"cluster", map[string]string{"templates/hook.yaml": podHook("migrate-{{ .Release.Name }}", "pre-install")}, nil},
		"objects":       {"cluster", map[string]string{"templates/deployment.yaml": deploymentTemplate}, config{"install": config{"wait": true}}},
		"silent target": {"silent", map[string]string{"templates/cm.yaml": configMapTemplate}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.serveWith(contract.Options{Concurrency: 2})
			f.silentTarget()
			items := f.crowd(6, tc.target, f.with(tc.files, tc.settings))
			for _, item := range items {
				require.NoError(t, f.platform.Await(f.ctx, item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing }))
			}
			began := time.Now()
			f.createItem(f.with(map[string]string{"templates/cm.yaml": configMapTemplate}, nil), testTimeout)
			f.request()
			assert.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
			assert.Less(t, time.Since(began), pace.Within(2*time.Second))
			for _, item := range items {
				require.NoError(t, f.platform.Client().Get(f.ctx, client.ObjectKeyFromObject(item), item))
				assert.False(t, item.Status.IsIdle(), "it waits still")
			}
		})
	}
}
