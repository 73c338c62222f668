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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestE17ADelayNeverComesWithAnError(t *testing.T) {
	r := &Reconciler{Client: refusing(errors.New("boom")), Backoff: queue.NewBackoff(time.Second, time.Minute), Recorder: silent}
	r.setUp(r.Client)
	s := newScope(fixture.WithJobs("b", "a"), time.Unix(1, 0))
	s.persisted = &v1alpha1.InstallationStatus{}
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
