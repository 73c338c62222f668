// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestM03LoginsLeaveWithoutTLSOnlyWhereTheyMay(t *testing.T) {
	c := newClient(t, func(o *Options) {
		o.PlainHTTP = []string{"named.example.com:5000"}
		o.Mirrors = map[string]string{"mirrored.example.com": "http://mirror.example.com"}
	})
	for name, test := range map[string]struct {
		ref, key string
		sent     bool
	}{
		"only the reference":       {"http://registry.example.com/a:1", "registry.example.com", false},
		"the login says https":     {"http://registry.example.com/a:1", "https://registry.example.com", false},
		"a pattern":                {"http://registry.example.com/a:1", "*.example.com", false},
		"the login names it":       {"http://registry.example.com/a:1", "http://registry.example.com", true},
		"and still fits with TLS":  {"registry.example.com/a:1", "http://registry.example.com", true},
		"the operator names it":    {"http://named.example.com:5000/a:1", "named.example.com:5000", true},
		"without saying so":        {"named.example.com:5000/a:1", "named.example.com:5000", true},
		"loopback":                 {"http://127.0.0.1:5000/a:1", "127.0.0.1:5000", true},
		"TLS":                      {"https://registry.example.com/a:1", "registry.example.com", true},
		"a mirror of the operator": {"http://mirrored.example.com/a:1", "mirror.example.com", true},
	} {
		t.Run(name, func(t *testing.T) {
			credentials, err := ParseDockerConfig(fmt.Appendf(nil, `{"auths": {%q: {"username": "u", "password": "p"}}}`, test.key))
			require.NoError(t, err)
			at, err := c.locate(test.ref, credentials, true)
			require.NoError(t, err)
			assert.Equal(t, test.sent, !at.login.Anonymous())
			common := newClient(t, func(o *Options) {
				o.PlainHTTP, o.Mirrors, o.Logins = c.options.PlainHTTP, c.options.Mirrors, credentials
			})
			at, err = common.locate(test.ref, Credentials{}, true)
			require.NoError(t, err)
			assert.Equal(t, test.sent, !at.login.Anonymous(), "the same holds for the logins of the operator")
		})
	}
}
