// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// TestAContextThatIsPutBackIsTriedAgain covers a Context that was made too large and then what it was before, with which an earlier job went well.
func TestAContextThatIsPutBackIsTriedAgain(t *testing.T) {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "i", UID: "uid"}}
	inst.Spec.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{}
	large := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: v1alpha1.DefaultContextName}}
	for i := range 51 {
		large.RegistryPullSecrets = append(large.RegistryPullSecrets, v1alpha1.LocalObjectReference{Name: fmt.Sprintf("secret-%d", i)})
	}
	r := with(t, large)
	before := &usedContext{Object: &v1alpha1.Context{}}
	r.tried.note(inst, before, &access{})

	in := &Reading{inst: inst}
	in.context = &usedContext{Object: large}
	err := r.resolveComponent(t.Context(), in)

	require.ErrorContains(t, err, "names more than 50 different Secrets")
	assert.Equal(t, protocol.Stalled, protocol.AsFailure("", err).Kind)
	_, known := r.tried.changed(inst, before, &access{})
	assert.False(t, known)
}

func TestAContextIsIndexedByThePullSecretsThatAreRead(t *testing.T) {
	c := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}}
	for i := range 50_000 {
		c.RegistryPullSecrets = append(c.RegistryPullSecrets, v1alpha1.LocalObjectReference{Name: "again"}, v1alpha1.LocalObjectReference{Name: fmt.Sprintf("secret-%d", i)})
	}
	keys := UsedByContext(c)
	assert.Len(t, keys, 50)
	assert.Equal(t, []string{"Secret/n/again", "Secret/n/secret-0"}, keys[:2])
}
