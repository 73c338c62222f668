// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

func TestReadEntries(t *testing.T) {
	key := client.ObjectKey{Namespace: "ns", Name: "there"}
	laughs := "a: &a [" + strings.Repeat("hidden, ", 300) + "x]\nb: &b [" + strings.Repeat("*a, ", 300) + "x]\nc: [" + strings.Repeat("*b, ", 300) + "x]"
	entries := map[string][]byte{"aliases": []byte("a: &a 1\nb: *a"), "bomb": []byte(laughs), "broken": []byte("hidden: [")}
	for name, c := range map[string]struct{ entry, says string }{
		"aliases":     {"aliases", ""},
		"bomb":        {"bomb", `Secret ns/there: key "bomb" has more than 250000 values`},
		"broken":      {"broken", `Secret ns/there: key "broken" is not YAML; correct its content`},
		"missing":     {"missing", `Secret ns/there has no key "missing"; add it`},
		"all of them": {"", "correct its content"},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := readEntries(entries, c.entry, "Secret", key, &foreign.Several{})
			if c.says == "" {
				require.NoError(t, err)
				assert.Equal(t, map[string]any{"a": 1.0, "b": 1.0}, value)
				return
			}
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "hidden")
		})
	}
}
