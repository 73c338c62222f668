// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// TestAnInterruptEndsAHangingInstall ends the context of a call, as the contract does with the job, while Helm itself waits for something that
// never comes. A job that waits for readiness, with or without a release, is not in a call.
func TestAnInterruptEndsAHangingInstall(t *testing.T) {
	for name, tc := range map[string]struct {
		files    map[string]string
		settings config
		seen     client.Object
	}{
		"hook": {map[string]string{"templates/hook.yaml": podHook("migrate", "pre-install")}, nil, &corev1.Pod{}},
		"wait": {map[string]string{"templates/deployment.yaml": deploymentTemplate}, config{"install": config{"wait": true}}, &appsv1.Deployment{}},
		"atomic": {
			map[string]string{"templates/deployment.yaml": deploymentTemplate}, config{"install": config{"atomic": true}}, &appsv1.Deployment{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(f.with(tc.files, tc.settings))
			whole := f.ctx
			ctx, interrupt := context.WithCancel(whole)
			defer interrupt()
			f.ctx = ctx
			ended := make(chan error, 1)
			d := f.deployer()
			f.plan(d)
			go func() {
				_, err := d.Ensure(ctx, f.contractItem())
				ended <- err
			}()
			tc.seen.SetNamespace(f.namespace)
			tc.seen.SetName(map[string]string{"hook": "migrate"}[name])
			if tc.seen.GetName() == "" {
				tc.seen.SetName("hello-world")
			}
			require.NoError(t, f.platform.Await(whole, tc.seen, func() bool { return tc.seen.GetUID() != "" }))

			began := time.Now()
			interrupt()
			require.Error(t, <-ended)

			took := time.Since(began)
			t.Logf("the call ended after %s", took)
			assert.Less(t, took, pace.Within(2*time.Second))

			f.ctx = whole
			f.configure(f.with(map[string]string{"templates/cm.yaml": configMapTemplate}, nil))
			f.newJob()
			f.succeed(f.deployer())
		})
	}
}
