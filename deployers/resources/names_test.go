// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// TestNamesOfAListThatExpiresAreReadAnew has two DeployItems with names that no label holds, in pages of one.
func TestNamesOfAListThatExpiresAreReadAnew(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, letter := range []string{"a", "b"} {
		builder.WithObjects(&v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: strings.Repeat(letter, MaxLabelValue+1)}})
	}
	api := builder.Build()
	for name, times := range map[string]int{"once": 1, "for ever": -1} {
		t.Run(name, func(t *testing.T) {
			names, err := longNames(t.Context(), &faults.Expiry{Client: api, Times: times}, "n")
			if times < 0 {
				require.True(t, apierrors.IsResourceExpired(err), "%v", err)
				return
			}
			require.NoError(t, err)
			assert.Len(t, names, 2)
		})
	}
}
