// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

func TestOnlyInstallationsThatFollowNothingAreToldToAsk(t *testing.T) {
	const cure = "then annotate the installation with landscaper.gardener.cloud/operation=reconcile"
	controlled := true
	follows := map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}
	for name, tc := range map[string]struct {
		meta metav1.ObjectMeta
		told bool
	}{
		"asks":            {metav1.ObjectMeta{}, true},
		"follows changes": {metav1.ObjectMeta{Annotations: follows}, false},
		"sub-installation": {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Controller: &controlled,
		}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Reading{inst: &v1alpha1.Installation{ObjectMeta: tc.meta}}
			err := (&Reader{}).componentFailure(s, fmt.Errorf("x: %w", oci.ErrUnauthorized))
			require.ErrorIs(t, err, oci.ErrUnauthorized)
			assert.Equal(t, tc.told, strings.Contains(err.Error(), cure), err)
		})
	}
}

func TestUnauthorizedContentFailsTheRenderingAsSuch(t *testing.T) {
	var failure *protocol.Failure
	require.ErrorAs(t, viewFailure(t.Context(), jobs.RenderOperation, errors.New("template: x"), fmt.Errorf("x: %w", oci.ErrUnauthorized)), &failure)
	assert.Equal(t, reasonUnauthorized, failure.Reason)
	assert.Equal(t, protocol.Stalled, failure.Kind)
	assert.Contains(t, failure.Codes, v1alpha1.ErrorUnauthorized)
	assert.Contains(t, accessReasons[failure.Reason], failure.Operation)
}

func TestReasonOf(t *testing.T) {
	for want, err := range map[string]error{
		"": nil, reasonUnauthorized: fmt.Errorf("x: %w", oci.ErrUnauthorized), "ComponentNotFound": component.ErrNotFound,
		reasonInvalidContext: protocol.Stall(jobs.ContextOperation, reasonInvalidContext, "x"),
	} {
		assert.Equal(t, want, reasonOf(err))
	}
}
