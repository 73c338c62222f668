// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

// node is an Installation whose UID is its name, owned by another unless owner is empty, and that lists others.
func node(name, owner string, listed ...string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)}}
	if owner != "" {
		inst.Labels = map[string]string{v1alpha1.EncompassedByLabel: owner}
		inst.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: owner, UID: types.UID(owner), Controller: new(true),
		}}
	}
	if len(listed) > 0 {
		inst.Status.SubInstCache = &v1alpha1.SubInstCache{}
	}
	for _, name := range listed {
		pair := v1alpha1.SubNamePair{SpecName: name, ObjectName: name}
		inst.Status.SubInstCache.ActiveSubs = append(inst.Status.SubInstCache.ActiveSubs, pair)
	}
	return inst
}
