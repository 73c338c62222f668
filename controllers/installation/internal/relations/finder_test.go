// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// finding returns a Finder of some Installations.
func finding(t *testing.T, installations ...*v1alpha1.Installation) *Finder {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, inst := range installations {
		builder = builder.WithObjects(inst)
	}
	for field, index := range map[string]client.IndexerFunc{ImportIndex: ImportsOf, ExportIndex: ExportsOf, ParentIndex: ParentsOf} {
		builder = builder.WithIndex(&v1alpha1.Installation{}, field, index)
	}
	c := builder.Build()
	return &Finder{Reader: c, Live: c}
}
