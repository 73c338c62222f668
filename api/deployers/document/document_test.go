// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// sample has fields that read themselves.
type sample struct {
	Timeout *v1alpha1.Duration `json:"timeout"`
	Checks  []struct {
		Every v1alpha1.Duration `json:"every"`
		Count int               `json:"count"`
	} `json:"checks"`
}

func TestErrorsNameTheFieldAndLittleOfTheValue(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct{ raw, want string }{
		"text that is not a duration": {`{"timeout": "soon"}`, `timeout: "soon" is not a duration; write one like 10m, or none`},
		"long text":                   {`{"timeout": "` + huge + `"}`, `timeout: "` + huge[:57] + `…" is not a duration; write one like 10m, or none`},
		"number for a duration":       {`{"timeout": 5}`, "timeout: is a JSON number, which the field cannot hold; correct the type of the value"},
		"element of a list": {
			`{"timeout": "1m", "checks": [{"every": "1m"}, {"every": "soon"}]}`, `checks[1].every: "soon" is not a duration; write one like 10m, or none`,
		},
		"number in a list": {`{"checks": [{"count": 1}, {"count": "x"}]}`, "checks[1].count: is a JSON string, which the field cannot hold; correct the type of the value"},
		"no object":        {`5`, "the document: is a JSON number, which the field cannot hold; correct the type of the value"},
		"no JSON":          {`{"timeout"`, "the document is not JSON: problem at byte 10"},
	} {
		t.Run(name, func(t *testing.T) {
			err := document.Decode([]byte(test.raw), &sample{})
			require.Error(t, err)
			assert.Equal(t, test.want, err.Error())
		})
	}
}

// counted counts how often it is read, and cannot be.
func TestGoodDocumentsAreRead(t *testing.T) {
	var read sample
	require.NoError(t, document.Decode([]byte(`{"timeout": "1m", "checks": [{"count": 2}], "unknown": 1}`), &read))
	assert.Equal(t, 2, read.Checks[0].Count)
}

// TestAFieldIsFoundInFewSteps counts how often a long list is read to find the one element that is wrong.
