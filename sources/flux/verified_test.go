// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestVerified(t *testing.T) {
	asks := sourcev1.OCIRepositorySpec{Verify: &sourcev1.OCIRepositoryVerification{Provider: "cosign"}}
	condition := func(status metav1.ConditionStatus, generation int64) sourcev1.OCIRepositoryStatus {
		return sourcev1.OCIRepositoryStatus{Conditions: []metav1.Condition{{
			Type: sourcev1.SourceVerifiedCondition, Status: status, ObservedGeneration: generation, Message: "no signatures found",
		}}}
	}
	for name, tc := range map[string]struct {
		source  Object
		waiting bool
		message string
	}{
		"verified": {source: &sourcev1.OCIRepository{ObjectMeta: object("OCIRepository"), Spec: asks, Status: condition(metav1.ConditionTrue, 3)}},
		"failed": {
			source:  &sourcev1.OCIRepository{ObjectMeta: object("OCIRepository"), Spec: asks, Status: condition(metav1.ConditionFalse, 3)},
			waiting: true, message: "no signatures found",
		},
		"verified for an older spec": {
			source:  &sourcev1.OCIRepository{ObjectMeta: object("OCIRepository"), Spec: asks, Status: condition(metav1.ConditionTrue, 2)},
			waiting: true, message: "correct its spec.verify",
		},
		"not asked for": {
			source:  &sourcev1.OCIRepository{ObjectMeta: object("OCIRepository"), Status: condition(metav1.ConditionTrue, 3)},
			message: "set spec.verify",
		},
		"kind without verification": {source: &sourcev1.Bucket{ObjectMeta: object("Bucket")}, message: "set spec.verify"},
	} {
		t.Run(name, func(t *testing.T) {
			source := Source{Kind: "OCIRepository", Namespace: "default", Name: "x", Object: tc.source}
			err := source.RequireVerified()
			assert.Equal(t, tc.message == "", source.Verified())
			if tc.message == "" {
				require.NoError(t, err)
				return
			}
			var problem *Error
			require.True(t, errors.As(err, &problem))
			assert.Equal(t, NotVerified, problem.Reason)
			assert.Equal(t, tc.waiting, problem.Waiting)
			assert.ErrorContains(t, err, tc.message)
		})
	}
}

func TestL06OperatorRequiresVerifiedSources(t *testing.T) {
	source := ready()["GitRepository"]
	reader := reader(t, source)
	ref := v1alpha1.SourceReference{Kind: "GitRepository", Name: source.GetName()}
	_, err := Lookup(t.Context(), reader, source.GetNamespace(), ref, Policy{})
	require.NoError(t, err)
	_, err = Lookup(t.Context(), reader, source.GetNamespace(), ref, Policy{RequireVerified: true})
	var problem *Error
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, NotVerified, problem.Reason)
}
