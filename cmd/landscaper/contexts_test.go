// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepositoryContextIsReadAsJSONOrYAML(t *testing.T) {
	for name, text := range map[string]string{
		"JSON": `{"type":"OCIRegistry","baseUrl":"registry.example.com"}`,
		"YAML": "type: OCIRegistry\nbaseUrl: registry.example.com\n",
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := (&contextFlags{repository: text}).parse()
			require.NoError(t, err)
			assert.JSONEq(t, `{"type":"OCIRegistry","baseUrl":"registry.example.com"}`, string(parsed.RawMessage))
		})
	}
}

func TestRepositoryContextIsOffByDefault(t *testing.T) {
	parsed, err := (&contextFlags{}).parse()
	require.NoError(t, err)
	assert.Nil(t, parsed)
}

func TestRepositoryContextIsRefused(t *testing.T) {
	for name, text := range map[string]string{"no YAML": "{", "a text": "registry.example.com", "no type": "{baseUrl: x}", "a list": "[]"} {
		t.Run(name, func(t *testing.T) {
			_, err := (&contextFlags{repository: text}).parse()
			assert.ErrorContains(t, err, "--default-repository-context")
		})
	}
}
