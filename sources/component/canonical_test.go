// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCanonicalJSON(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"literals": {`[null, true, false]`, `[null,true,false]`},
		"numbers":  {`[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001, -0, 1e21, 1e-7, 100]`, `[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,1e-7,100]`},
		"escapes":  {`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\u2028<&>\u007f\b\f\r\t"`, "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u2028<&>\u007f\\b\\f\\r\\t\""},
		"order by UTF-16": {`{"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		"empty": {`{"a": {}, "b": []}`, `{"a":{},"b":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			require.NoError(t, json.Unmarshal([]byte(test.text), &value))
			assert.Equal(t, test.want, string(canonical(value)))
		})
	}
	assert.Equal(t, "5e-324", string(canonical(math.SmallestNonzeroFloat64)))
}
