// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// exporting starts a deployer that exports what the pointer points to.
func exporting(t *testing.T, exports *map[string]any) *stage {
	return newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{Done: true, Exports: *exports}, nil
	}}, Options{})
}

func (s *stage) exportOf(item *v1alpha1.DeployItem) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, s.client().Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: item.Name + "-export"}, secret)
}

func TestExportsAreASecretOfTheItem(t *testing.T) {
	exports := map[string]any{"a": map[string]any{"b": 1}, "password": "top-secret-value"}
	s := exporting(t, &exports)
	item := s.create("item")
	since := s.trigger(item)
	s.finished(item)
	assert.Equal(t, &v1alpha1.ObjectReference{Name: "item-export", Namespace: s.namespace}, item.Status.ExportReference)
	secret, err := s.exportOf(item)
	require.NoError(t, err)
	assert.Equal(t, corev1.SecretTypeOpaque, secret.Type)
	assert.JSONEq(t, `{"a":{"b":1},"password":"top-secret-value"}`, string(secret.Data["config"]))
	raw, err := json.Marshal(item)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "top-secret-value", "the item does not show it")
	require.Len(t, secret.OwnerReferences, 1)
	assert.Equal(t, item.UID, secret.OwnerReferences[0].UID)
	assert.Equal(t, []string{"update deployitems/status", "create secrets", "update deployitems/status"}, s.requests(since))

	again := func() time.Time {
		t.Helper()
		since := s.trigger(item)
		s.finished(item)
		return since
	}
	assert.Equal(t, []string{"get secrets"}, s.requestsOf(again(), "secrets"), "what is unchanged is not written")

	require.NoError(t, s.client().Delete(t.Context(), secret))
	again()
	_, err = s.exportOf(item)
	require.NoError(t, err, "a Secret that is lost is made again")

	exports = map[string]any{"new": "value"}
	again()
	secret, err = s.exportOf(item)
	require.NoError(t, err)
	assert.JSONEq(t, `{"new":"value"}`, string(secret.Data["config"]))

	exports = nil
	again()
	assert.Nil(t, item.Status.ExportReference)
	_, err = s.exportOf(item)
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestForeignSecretIsNotOverwritten(t *testing.T) {
	exports := map[string]any{"a": "b"}
	s := exporting(t, &exports)
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item-export"}, StringData: map[string]string{"k": "v"}}
	require.NoError(t, s.client().Create(t.Context(), foreign))
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	secret, err := s.exportOf(item)
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"k": []byte("v")}, secret.Data)
}

func TestSecretOfAnEarlierItemIsTakenOver(t *testing.T) {
	wanted := map[string]any{"a": "b"}
	s := exporting(t, &wanted)
	earlier := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item", UID: "earlier"}}
	r := &reconciler{client: s.client(), live: s.client()}
	_, err := r.publish(t.Context(), earlier, map[string]any{"old": "value"})
	require.NoError(t, err)
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	secret, err := s.exportOf(item)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"b"}`, string(secret.Data["config"]))
	assert.True(t, metav1.IsControlledBy(secret, item))
}

func TestExportsTooLargeForASecret(t *testing.T) {
	_, err := ExportSecret(&v1alpha1.DeployItem{}, map[string]any{"a": strings.Repeat("x", maxExports)})
	assert.ErrorContains(t, err, "export less")
}
