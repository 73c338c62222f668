// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// TestADeletionEndsASyncOfManyClusters deletes a TargetSync once the first of its clusters is there.
func TestADeletionEndsASyncOfManyClusters(t *testing.T) {
	const count = 200
	s := newSyncScene(t)
	group := errgroup.Group{}
	group.SetLimit(8)
	for i := range count {
		group.Go(func() error {
			secret := &corev1.Secret{ObjectMeta: s.Named(fmt.Sprintf("cluster-%03d", i)), Data: map[string][]byte{"kubeconfig": []byte("x")}}
			return s.far.Client().Create(s.Ctx, secret)
		})
	}
	require.NoError(t, group.Wait())

	begun := time.Now()
	sync := s.sync("sync", object{"secretNameExpression": "^cluster-"})
	require.Eventually(t, func() bool {
		return s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: "cluster-000"}, &corev1.Secret{}) == nil
	}, landscape.Patience, time.Millisecond)
	s.Delete(sync)
	s.Gone(sync)

	created := 0
	for _, request := range s.Writes(s.Ctx, t, s.Namespace, begun) {
		if request.Verb == "create" && request.Resource == "secrets" {
			created++
		}
	}
	assert.Less(t, created, count, "the rest was not synced any more")
	left := &corev1.SecretList{}
	require.NoError(t, s.Client().List(s.Ctx, left, client.InNamespace(s.Namespace), client.HasLabels{"landscaper.gardener.cloud/targetsync"}))
	assert.Empty(t, left.Items)
}
