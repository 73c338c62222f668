// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestSameJSON(t *testing.T) {
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	for name, tc := range map[string]struct {
		a, b any
		want bool
	}{
		"equal":             {raw(`{"a":1,"b":[2]}`), raw(`{"a":1,"b":[2]}`), true},
		"spaces":            {raw(`{"a":1}`), raw(`{ "a" : 1 }`), true},
		"order of fields":   {raw(`{"a":1,"b":2}`), raw(`{"b":2,"a":1}`), true},
		"another value":     {raw(`{"a":1}`), raw(`{"a":2}`), false},
		"order of elements": {raw(`[1,2]`), raw(`[2,1]`), false},
		"nothing":           {runtime.RawExtension{}, raw(`null`), true},
		"a field more":      {raw(`{"a":1}`), raw(`{"a":1,"b":null}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			same, err := SameJSON(tc.a, tc.b)
			require.NoError(t, err)
			assert.Equal(t, tc.want, same)
		})
	}
}

func TestWhatIsNoJSONCannotBeCompared(t *testing.T) {
	for name, tc := range map[string]struct{ a, b any }{
		"the first":  {runtime.RawExtension{Raw: []byte("{")}, 1},
		"the second": {1, runtime.RawExtension{Raw: []byte("{")}},
	} {
		t.Run(name, func(t *testing.T) {
			same, err := SameJSON(tc.a, tc.b)
			require.ErrorContains(t, err, "encode for comparison")
			assert.False(t, same)
		})
	}
}
