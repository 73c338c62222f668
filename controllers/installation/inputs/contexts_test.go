// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestFingerprintsCoverTheContextAndWhatItNames(t *testing.T) {
	plain := func() (*usedContext, *access) {
		return &usedContext{Object: &v1alpha1.Context{}}, &access{pull: map[string]map[string][]byte{"pull": {"key": []byte("one")}}}
	}
	c, used := plain()
	base := c.fingerprint(used)
	c, used = plain()
	assert.Equal(t, base, c.fingerprint(used))
	for name, change := range map[string]func(*usedContext, *access){
		"repository": func(c *usedContext, _ *access) {
			c.Object.RepositoryContext = new(v1alpha1.NewAnyJSON([]byte(`{"type":"x"}`)))
		},
		"pull secret's name": func(c *usedContext, _ *access) {
			c.Object.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: "x"}}
		},
		"overwrites": func(c *usedContext, _ *access) {
			c.Overwrites = make([]v1alpha1.ComponentVersionOverwrite, 1)
		},
		"login":               func(_ *usedContext, s *access) { s.pull["pull"]["key"] = []byte("two") },
		"OCM configuration":   func(_ *usedContext, s *access) { s.config = []byte("x") },
		"another pull secret": func(_ *usedContext, s *access) { s.pull["other"] = nil },
	} {
		c, used := plain()
		change(c, used)
		assert.NotEqual(t, base, c.fingerprint(used), name)
	}
}
