// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

func TestWordsOfTheCoreSchemaAreTexts(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"every word":       {"[y, Y, n, N, yes, Yes, YES, no, No, NO, on, On, ON, off, Off, OFF]", `["y","Y","n","N","yes","Yes","YES","no","No","NO","on","On","ON","off","Off","OFF"]`},
		"in a map":         {"a: n\nb: {c: off}\n", `{"a":"n","b":{"c":"off"}}`},
		"as a key":         {"on: 1\nn : 2\n", `{"n":2,"on":1}`},
		"alone":            {"no", `"no"`},
		"with a comment":   {"a: no # really\n", `{"a":"no"}`},
		"behind an alias":  {"a: &x [n]\nb: *x\n", `{"a":["n"],"b":["n"]}`},
		"with an anchor":   {"a: &x n\nb: *x\n", `{"a":"n","b":"n"}`},
		"quoted":           {"a: 'n'\nb: \"off\"\n", `{"a":"n","b":"off"}`},
		"in a block":       {"a: |\n  n\n  yes\n", `{"a":"n\nyes\n"}`},
		"truth values":     {"a: true\nb: False\nc: n\n", `{"a":true,"b":false,"c":"n"}`},
		"others stay":      {"a: 012\nb: 1.0\nc: 2020-01-01\nd: ~\ne: 12:30\nf: 0x1F\ng: n\n", `{"a":10,"b":1,"c":"2020-01-01","d":null,"e":"12:30","f":31,"g":"n"}`},
		"first document":   {"a: n\n---\nb: n\n", `{"a":"n"}`},
		"JSON":             {`{"a": "n", "b": " yes "}`, `{"a":"n","b":" yes "}`},
		"tagged as a text": {"a: !!str n\n", `{"a":"n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := foreign.CoreToJSON([]byte(c.text))
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(document))
			var read any
			require.NoError(t, foreign.CoreUnmarshal([]byte(c.text), &read))
			again, err := json.Marshal(read)
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(again))
		})
	}
}

func TestWordsOfTheCoreSchemaInTextFields(t *testing.T) {
	var read struct{ Password, Port string }
	require.NoError(t, foreign.CoreUnmarshal([]byte("password: yes\nport: 5000\n"), &read))
	assert.Equal(t, "yes", read.Password)
	assert.Equal(t, "5000", read.Port)
}

func TestDocumentsOfTheCoreSchemaHaveLimits(t *testing.T) {
	bomb := "a: &a [n,n,n,n,n,n,n,n,n,n]\n"
	for _, step := range strings.Fields("ab bc cd de ef fg") {
		bomb += step[1:] + ": &" + step[1:] + " [" + strings.Repeat("*"+step[:1]+",", 10) + "]\n"
	}
	_, err := foreign.CoreToJSON([]byte(bomb))
	require.ErrorIs(t, err, foreign.ErrTooMuch)
	require.ErrorIs(t, foreign.CoreUnmarshal([]byte(bomb), new(any)), foreign.ErrTooMuch)
}
