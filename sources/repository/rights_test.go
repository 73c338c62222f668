// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

func TestResolversAreOrdered(t *testing.T) {
	parsed, err := ParseRights(nil, ocmConfig(
		"{type: credentials.config.ocm.software, consumers: []}",
		"{type: other.config.ocm.software/v1, anything: 1}",
		`{type: ocm.config.ocm.software/v1, aliases: {mine: {type: OCIRegistry, baseUrl: alias}}, resolvers: [
		  {prefix: example.com, repository: {type: OCIRegistry, baseUrl: short}},
		  {prefix: example.com/team, repository: mine},
		  {repository: {type: OCIRegistry, baseUrl: low}, priority: 1},
		  {repository: {type: OCIRegistry, baseUrl: high}, priority: 50}]}`,
		`{type: generic.config.ocm.software/v1, configurations: [{type: resolvers.config.ocm.software/v1alpha1, resolvers: [{componentNamePattern: "example.com/*", repository: {type: OCIRegistry, baseUrl: pattern}}]}]}`))
	require.NoError(t, err)
	assert.NotEmpty(t, parsed.resolvers)
	for name, want := range map[string][]string{
		"example.com/team/shop": {"high", "alias", "short", "pattern", "low"},
		"example.com/teams":     {"high", "short", "pattern", "low"},
		"example.org/shop":      {"high", "low"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range parsed.resolvers {
				if r.fits(name) {
					var spec struct{ BaseURL string }
					require.NoError(t, json.Unmarshal(r.repository.Raw, &spec))
					got = append(got, spec.BaseURL)
				}
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestOCMConfigErrorsHideTheContent(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":       "hunter2: [",
		"no type":       "hunter2: 1",
		"a list":        "[hunter2]",
		"unknown alias": "{type: ocm.config.ocm.software, resolvers: [{repository: nope}]}",
		"no repository": "{type: ocm.config.ocm.software, resolvers: [{prefix: x}]}",
		"bad pattern":   "{type: resolvers.config.ocm.software, resolvers: [{componentNamePattern: '[', repository: {type: OCIRegistry}}]}",
		"credentials":   "{type: credentials.config.ocm.software, consumers: hunter2}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRights(nil, []byte(text))
			require.Error(t, err)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestFingerprintsTellLoginsApart(t *testing.T) {
	a, b := rights(t, "example.com", "alice", "1"), rights(t, "example.com", "alice", "2")
	assert.Equal(t, a.fingerprint, rights(t, "example.com", "alice", "1").fingerprint)
	assert.NotEqual(t, a.fingerprint, b.fingerprint)
	assert.NotEqual(t, a.fingerprint, Rights{}.fingerprint)
	config, err := ParseRights(nil, ocmConfig())
	require.NoError(t, err)
	assert.NotEqual(t, config.fingerprint, Rights{}.fingerprint)
}

func TestRightsPrintNothing(t *testing.T) {
	r := rights(t, "example.com", "alice", "hunter2")
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, printed := range []string{fmt.Sprint(r), fmt.Sprintf("%+v %#v", r, r), string(text)} {
		assert.NotContains(t, printed, "hunter2")
		assert.NotContains(t, printed, "alice")
	}
}

func FuzzOCMConfig(f *testing.F) {
	f.Add(string(ocmConfig("{type: ocm.config.ocm.software/v1, resolvers: [{prefix: a, repository: {type: OCIRegistry, baseUrl: x}}]}")))
	f.Add("{type: generic.config.ocm.software, configurations: [{type: generic.config.ocm.software, configurations: []}]}")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, _ := ParseRights(nil, []byte(text))
		for i, r := range parsed.resolvers {
			if i > 0 && parsed.resolvers[i-1].priority < r.priority {
				t.Errorf("resolver %d comes before one of a higher priority", i-1)
			}
			if r.repository.IsZero() {
				t.Errorf("resolver %d has no repository", i)
			}
		}
	})
}
