// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contexts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestFingerprintsCoverTheContextAndWhatItNames(t *testing.T) {
	plain := func() (*Context, *Access) {
		return &Context{Object: &v1alpha1.Context{}}, &Access{pull: map[string]map[string][]byte{"pull": {"key": []byte("one")}}}
	}
	c, access := plain()
	base := c.fingerprint(access)
	c, access = plain()
	assert.Equal(t, base, c.fingerprint(access))
	for name, change := range map[string]func(*Context, *Access){
		"repository": func(c *Context, _ *Access) {
			c.Object.RepositoryContext = new(v1alpha1.NewAnyJSON([]byte(`{"type":"x"}`)))
		},
		"pull secret's name": func(c *Context, _ *Access) {
			c.Object.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: "x"}}
		},
		"overwrites": func(c *Context, _ *Access) {
			c.Overwrites = make([]v1alpha1.ComponentVersionOverwrite, 1)
		},
		"login":               func(_ *Context, s *Access) { s.pull["pull"]["key"] = []byte("two") },
		"OCM configuration":   func(_ *Context, s *Access) { s.config = []byte("x") },
		"another pull secret": func(_ *Context, s *Access) { s.pull["other"] = nil },
	} {
		c, access := plain()
		change(c, access)
		assert.NotEqual(t, base, c.fingerprint(access), name)
	}
}
