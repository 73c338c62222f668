// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// TestT03AnUnreadableItemIsNotCarriedOut has an item whose timeout was left out when it was read. It is deleted all the same.
func TestT03AnUnreadableItemIsNotCarriedOut(t *testing.T) {
	deployer, scheme := &scripted{}, runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	r := newReconciler(fake.NewClientBuilder().WithScheme(scheme).Build(), nil, deployer, Options{SkipPullSecrets: true})
	item := &v1alpha1.DeployItem{Undecoded: v1alpha1.Undecoded{"spec.timeout cannot be read"}}
	_, err := r.perform(t.Context(), &scope{item: item, job: &job{}})
	var failure *protocol.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, protocol.Stalled, failure.Kind)
	assert.ErrorContains(t, err, "spec.timeout cannot be read")
	item.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	_, err = r.perform(t.Context(), &scope{item: item, job: &job{}})
	require.NoError(t, err)
	_, erased := deployer.calls()
	assert.Equal(t, 1, erased)
}

// TestOverwritesThatCannotBeReadAreNotLeftOut has an overwrite that was left out when the object was read.
func TestOverwritesThatCannotBeReadAreNotLeftOut(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	live := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			into.(*v1alpha1.ComponentVersionOverwrites).Undecoded = v1alpha1.Undecoded{"overwrites[0] cannot be read"}
			return nil
		},
	})
	object := &v1alpha1.Context{ContextConfiguration: v1alpha1.ContextConfiguration{ComponentVersionOverwritesReference: "mine"}}
	_, err := (&reconciler{live: live}).overwritesOf(object)(t.Context())
	var failure *protocol.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, protocol.Stalled, failure.Kind)
	assert.Equal(t, "InvalidContext", failure.Reason)
	assert.ErrorContains(t, err, "overwrites[0] cannot be read")
}
