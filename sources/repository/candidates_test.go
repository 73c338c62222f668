// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// sessionWith has resolvers, each as YAML.
func sessionWith(t *testing.T, resolvers ...string) *Session {
	t.Helper()
	rights, err := ParseRights(nil, ocmConfig("{type: ocm.config.ocm.software/v1, aliases: {mine: {type: OCIRegistry, baseUrl: alias}, none: null}, resolvers: ["+
		strings.Join(resolvers, ",")+"]}"))
	require.NoError(t, err)
	return &Session{scope: &Scope{Rights: rights}}
}

func parsed(t *testing.T, text string) component.Typed {
	t.Helper()
	out, err := component.ParseTyped([]byte(text))
	require.NoError(t, err)
	return out
}

func TestEachRepositoryIsAskedOnce(t *testing.T) {
	f := sessionWith(t, `{prefix: example.com/other, repository: {type: OCI, baseUrl: one}}`, `{repository: {type: OCIRegistry, baseUrl: one}}`,
		`{repository: {type: ociRegistry/v1, baseUrl: one}}`, `{repository: mine}`, `{repository: {type: OCI, baseUrl: alias}}`, `{repository: none}`, `{repository: none}`)
	one, alias, none := `{"baseUrl":"one","type":"OCIRegistry"}`, `{"baseUrl":"alias","type":"OCIRegistry"}`, ""
	for name, test := range map[string]struct {
		repository component.Typed
		want       []string
	}{
		"without a repository":        {component.Typed{}, []string{one, alias, none}},
		"a repository of a resolver":  {parsed(t, "{type: oci, baseUrl: one}"), []string{`{"baseUrl":"one","type":"oci"}`, alias, none}},
		"a repository of an alias":    {parsed(t, "{type: oci, baseUrl: alias}"), []string{`{"baseUrl":"alias","type":"oci"}`, one, none}},
		"a repository of no resolver": {parsed(t, "{type: oci, baseUrl: two}"), []string{`{"baseUrl":"two","type":"oci"}`, one, alias, none}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, candidate := range f.candidates(component.Key{Name: "example.com/shop", Version: "1"}, test.repository) {
				got = append(got, candidate.String())
			}
			assert.Equal(t, test.want, got)
		})
	}
}
