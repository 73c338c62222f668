// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContentForms(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want content
	}{
		"kubeconfig as text":   {`{"kubeconfig": "a: b"}`, content{kubeconfig: []byte("a: b")}},
		"kubeconfig as object": {`{"kubeconfig": {"a": "b"}}`, content{kubeconfig: []byte(`{"a":"b"}`)}},
		"kubeconfig before others": {
			`{"kubeconfig": "a: b", "selfConfig": {"serviceAccount": {"name": "x"}}}`, content{kubeconfig: []byte("a: b")},
		},
		"whole content": {"apiVersion: v1\nclusters: []\n", content{kubeconfig: []byte("apiVersion: v1\nclusters: []\n")}},
		"self":          {`selfConfig: {serviceAccount: {name: x}}`, content{self: &selfConfig{ServiceAccount: serviceAccount{Name: "x"}}}},
		"oidc": {
			`oidcConfig: {server: "https://a", caData: Y2E=, audience: [b], serviceAccount: {name: x}}`,
			content{oidc: &oidcConfig{Server: "https://a", CAData: []byte("ca"), Audience: []string{"b"}, ServiceAccount: serviceAccount{Name: "x"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parsed, err := parseContent([]byte(test.raw))
			require.NoError(t, err)
			assert.Equal(t, test.want, *parsed)
		})
	}
}

func TestContentRefusals(t *testing.T) {
	tests := map[string]struct{ raw, field string }{
		"old secret reference":     {`{"kubeconfig": {"secretRef": {"name": "s", "namespace": "n", "key": "k"}}}`, "kubeconfig.secretRef"},
		"kubeconfig as number":     {`{"kubeconfig": 7}`, "kubeconfig"},
		"oidc without account":     {`{"oidcConfig": {"server": "https://a"}}`, "oidcConfig.serviceAccount.name"},
		"oidc with wrong type":     {`{"oidcConfig": {"server": 7}}`, "oidcConfig"},
		"text":                     {`top-secret-value`, "the content"},
		"more than one mebibyte":   {strings.Repeat("a", maxContent+1), "the content"},
		"a list in place of a map": {`[]`, "the content"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseContent([]byte(test.raw))
			var refused *refusal
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, test.field, refused.field)
			assert.NotContains(t, err.Error(), secretMarker)
		})
	}
}

func TestOldSecretReferenceNamesItsReplacement(t *testing.T) {
	_, err := parseContent([]byte(`{"kubeconfig": {"secretRef": {"name": "s"}}}`))
	assert.ErrorContains(t, err, "spec.secretRef")
}
