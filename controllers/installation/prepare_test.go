// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestE17ADelayNeverComesWithAnError(t *testing.T) {
	r := &Reconciler{Client: refusing(errors.New("boom")), Backoff: kit.NewBackoff(time.Second, time.Minute), Recorder: silent}
	s := &scope{inst: withJobs("b", "a"), persisted: &v1alpha1.InstallationStatus{}, now: time.Unix(1, 0)}
	result, err := r.settle(t.Context(), s, nil)
	require.NoError(t, err)
	assert.Equal(t, time.Second, result.RequeueAfter)
}

// refusing is a client whose writes of statuses fail.
func refusing(err error) client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return err
		},
	})
}

func TestAnExecutionOfSomebodyElseIsNotTaken(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	for name, tc := range map[string]struct {
		owner   *v1alpha1.Installation
		foreign bool
	}{
		"own":                                   {inst, false},
		"of an earlier one of that name":        {fixture.Working("root", "0", "job"), true},
		"of somebody who says nothing about it": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}}
			if tc.owner != nil {
				execution.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(tc.owner, v1alpha1.GroupVersion.WithKind("Installation"))}
			}
			s := &scope{inst: inst}
			require.NoError(t, with(t, execution).findExecution(t.Context(), s))
			assert.Equal(t, tc.foreign, s.foreign)
			assert.Equal(t, tc.foreign, s.execution == nil)
		})
	}
}
