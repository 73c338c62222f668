// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// TestAStatusWriteKeepsWhoOwnsTheSpec writes a status as deployers do, on an API server that tracks who owns each field.
func TestAStatusWriteKeepsWhoOwnsTheSpec(t *testing.T) {
	p := platform.Shared(t)
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace(t), Name: "owned"}}
	item.Spec.Type = "example.com/owned"
	require.NoError(t, p.Client().Create(t.Context(), item, client.FieldOwner("author")))
	author := item.ManagedFields[0]
	require.Equal(t, "author", author.Manager)
	for _, job := range []string{"first", "second"} {
		item.Status.JobID = job
		require.NoError(t, protocol.WriteItemStatus(t.Context(), p.Client(), item, time.Now(), &protocol.Consistency{}))
	}
	require.NoError(t, p.Client().Get(t.Context(), client.ObjectKeyFromObject(item), item))
	require.Len(t, item.ManagedFields, 2)
	assert.Contains(t, item.ManagedFields, author)
	ofStatus := slices.IndexFunc(item.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource == "status" })
	require.GreaterOrEqual(t, ofStatus, 0)
	assert.Contains(t, item.ManagedFields[ofStatus].FieldsV1.GetRawString(), `"f:jobID"`)
}
