// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

const unreadable = "spec.x cannot be read: write a text"

func TestASpecThatContradictsItselfIsRefusedFirst(t *testing.T) {
	s := &Reading{inst: fixture.Node("root", "")}
	s.inst.Spec.Blueprint = fixture.InlineBlueprint(fixture.Object{})
	s.inst.Spec.Blueprint.SourceReference = &v1alpha1.SourceReference{Kind: "GitRepository", Name: "missing"}
	var failure *protocol.Failure
	require.ErrorAs(t, (&Reader{}).checkReadable(t.Context(), s), &failure)
	assert.Equal(t, "InvalidInstallation", failure.Reason)
	assert.ErrorContains(t, failure, "spec.blueprint")
}

func TestT03AJobOfAnUnreadableSpecFails(t *testing.T) {
	s := &Reading{inst: fixture.Node("root", "")}
	s.inst.Spec.Blueprint = fixture.InlineBlueprint(fixture.Object{})
	r := &Reader{}
	require.NoError(t, r.checkReadable(t.Context(), s))
	s.inst.Undecoded = v1alpha1.Undecoded{unreadable}
	var failure *protocol.Failure
	require.ErrorAs(t, r.checkReadable(t.Context(), s), &failure)
	assert.Equal(t, protocol.Stalled, failure.Kind)
	assert.ErrorContains(t, failure, unreadable)
}

// TestT03AnUnreadableContextIsNotUsed has a Context whose content is not a JSON object where one has to be.
func TestT03AnUnreadableContextIsNotUsed(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	stored := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultContextName, Namespace: "ns"}}
	r := &Reader{Reader: undecoding{fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()}}
	_, err := r.findContext(t.Context(), fixture.Node("root", ""))
	assert.ErrorContains(t, err, unreadable)
}

// undecoding returns Contexts as if something of them could not be read.
type undecoding struct{ client.Client }

func (u undecoding) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if c, ok := object.(*v1alpha1.Context); ok {
		defer func() { c.Undecoded = v1alpha1.Undecoded{unreadable} }()
	}
	return u.Client.Get(ctx, key, object, opts...)
}
