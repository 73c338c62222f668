// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// asking is an item whose Context asks for an identity.
func asking(identity *v1alpha1.RegistryIdentity) *contract.Item {
	return &contract.Item{
		DeployItem: &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "item"}},
		Context:    &contract.Context{Configuration: v1alpha1.ContextConfiguration{RegistryIdentity: identity}},
	}
}

func TestIdentitiesOfAContext(t *testing.T) {
	for name, tc := range map[string]struct {
		asked *v1alpha1.RegistryIdentity
		own   bool
		want  string
		fails string
	}{
		"none":           {nil, true, "0 registry logins (hidden)", ""},
		"of the process": {&v1alpha1.RegistryIdentity{Provider: "aws"}, true, "1 registry logins (hidden)", ""},
		"for nobody":     {&v1alpha1.RegistryIdentity{Provider: "aws"}, false, "", "Context: registryIdentity: it names no ServiceAccount"},
		"gate is closed": {&v1alpha1.RegistryIdentity{Provider: "gcp", ServiceAccountName: "a"}, true, "", "ServiceAccount shop/a may not log in at gcp"},
	} {
		t.Run(name, func(t *testing.T) {
			identities, err := oci.NewIdentities(oci.IdentityOptions{Client: fake.NewClientBuilder().Build(), OwnIdentity: tc.own})
			require.NoError(t, err)
			f := &Finder{access: components.Access{Identities: identities.Find}}
			logins, err := f.logins(t.Context(), asking(tc.asked))
			if tc.fails == "" {
				require.NoError(t, err)
				assert.Equal(t, tc.want, logins.String())
				return
			}
			require.ErrorContains(t, err, tc.fails)
			var failure *protocol.Failure
			require.True(t, errors.As(err, &failure))
			assert.Equal(t, protocol.Stalled, failure.Kind)
			_, err = f.scopeOf(t.Context(), asking(tc.asked), false)
			require.ErrorContains(t, err, tc.fails)
		})
	}
}
