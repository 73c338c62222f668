// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// laughs stands for eight million values in three lines.
var laughs = "a: &a [" + strings.Repeat("x, ", 200) + "x]\nb: &b [" + strings.Repeat("*a, ", 200) + "x]\nc: [" + strings.Repeat("*b, ", 200) + "x]\n"

// longText stands for 25 GB in half a megabyte.
var longText = "a: &a " + strings.Repeat("x", 250<<10) + "\nb: [" + strings.Repeat("*a,", 100_000) + "x]\n"

// utf16Of is the text in UTF-16, low bytes first or high bytes first.
func utf16Of(text string, lowFirst bool) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		if lowFirst {
			out = append(out, byte(unit), byte(unit>>8))
		} else {
			out = append(out, byte(unit>>8), byte(unit))
		}
	}
	return string(out)
}

// bombs are refused, with the words of the error.
var bombs = map[string]struct{ text, says string }{
	"aliases of aliases": {laughs, "write out less"},
	"one long text":      {longText, "write out less"},
	"an alias of itself": {"a: &a [*a, *a]", "write out less"},
	"merged maps":        {"a: &a {" + strings.Repeat("k: v, ", 500) + "}\nb: [" + strings.Repeat("{<<: *a}, ", 500) + "]", "write out less"},
	"long keys":          {"a: &a\n  ? " + strings.Repeat("k", 200<<10) + "\n  : 1\nb: [" + strings.Repeat("*a, ", 1000) + "]", "write out less"},
	"UTF-16, low first":  {utf16Of(laughs, true), "write out less"},
	"UTF-16, high first": {utf16Of(laughs, false), "write out less"},
	"long":               {strings.Repeat("x", 17<<20), "split it"},
}

func TestBombsAreRefused(t *testing.T) {
	for name, c := range bombs {
		t.Run(name, func(t *testing.T) {
			_, err := foreign.ToJSON([]byte(c.text))
			require.ErrorIs(t, err, foreign.ErrTooMuch)
			assert.ErrorContains(t, err, c.says)
			var value any
			assert.ErrorIs(t, foreign.Unmarshal([]byte(c.text), &value), foreign.ErrTooMuch)
			assert.ErrorIs(t, foreign.Afford([]byte(c.text)), foreign.ErrTooMuch)
		})
	}
}

func TestBombsTakeLittleMemory(t *testing.T) {
	for name, text := range map[string]string{"laughs": laughs, "long text": longText} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := foreign.ToJSON([]byte(text))
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, foreign.ErrTooMuch)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		})
	}
}

func TestToJSON(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {"", "null"},
		"JSON":              {`{"a": [1, "b", 1.5, null]}`, `{"a":[1,"b",1.5,null]}`},
		"large number":      {"a: 9223372036854775807", `{"a":9223372036854775807}`},
		"aliases":           {"a: &a {x: 1}\nb: *a\nc: {<<: *a, z: 2}", `{"a":{"x":1},"b":{"x":1},"c":{"x":1,"z":2}}`},
		"used twice":        {"a: &a [1]\nb: &b [*a, *a]\nc: [*b, *b]", `{"a":[1],"b":[[1],[1]],"c":[[[1],[1]],[[1],[1]]]}`},
		"signs in a script": {"run: |\n  a && b & ls **/*.txt *", `{"run":"a \u0026\u0026 b \u0026 ls **/*.txt *"}`},
		"first document":    {"a: 1\n---\nb: [", `{"a":1}`},
		"first with alias":  {"a: &a 1\nb: *a\n---\nb: [", `{"a":1,"b":1}`},
		"UTF-16":            {utf16Of("a: &a 1\nb: *a", true), `{"a":1,"b":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := foreign.ToJSON([]byte(c.text))
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(out))
		})
	}
}

func TestWhatIsNotYAML(t *testing.T) {
	for name, text := range map[string]string{"plain": "a: b: c", "with an alias": "a: &a 1\nb: *a\nc: [", "unknown alias": "a: &a 1\nb: *b"} {
		t.Run(name, func(t *testing.T) {
			_, err := foreign.ToJSON([]byte(text))
			assert.ErrorContains(t, err, "is not YAML: ")
			assert.NotErrorIs(t, err, foreign.ErrTooMuch)
			assert.Equal(t, "is not YAML", foreign.Problem(err))
		})
	}
}

func TestTheLibraryRefusesAliasesToo(t *testing.T) {
	_, err := foreign.ToJSON([]byte("a: &a [" + strings.Repeat("x, ", 300) + "x]\nb: [" + strings.Repeat("*a, ", 300) + "x]"))
	require.ErrorIs(t, err, foreign.ErrTooMuch)
	assert.EqualError(t, err, "consists almost only of what aliases stand for; write out less with aliases")
}

func TestUnmarshalConvertsToTheTypeOfTheField(t *testing.T) {
	var into struct{ A string }
	require.NoError(t, foreign.Unmarshal([]byte("a: 7"), &into))
	assert.Equal(t, "7", into.A)
}

func TestUnmarshalOfAnotherType(t *testing.T) {
	var into struct{ A []string }
	err := foreign.Unmarshal([]byte("a: secret"), &into)
	assert.ErrorContains(t, err, "cannot be read: ")
	assert.Equal(t, "cannot be read", foreign.Problem(err))
}

func TestProblemShowsNothingOfTheDocument(t *testing.T) {
	_, err := foreign.ToJSON([]byte("a: !!int secret"))
	require.ErrorContains(t, err, "secret")
	assert.Equal(t, "is not YAML", foreign.Problem(fmt.Errorf("Secret x: %w", err)))
	_, err = foreign.ToJSON([]byte(laughs))
	assert.Equal(t, "has more than 16777216 bytes, counting those behind aliases; write out less", foreign.Problem(err))
	assert.Equal(t, "cannot be read", foreign.Problem(errors.New("secret")))
}

func TestAffordCountsEveryDocument(t *testing.T) {
	text := []byte("a: 1\n---\n" + laughs)
	assert.ErrorIs(t, foreign.Afford(text), foreign.ErrTooMuch)
	_, err := foreign.ToJSON(text)
	assert.NoError(t, err)
	assert.NoError(t, foreign.Afford([]byte("a: &a 1\n---\nb: &b 1\nc: *b\n")))
}

func TestOtherLimits(t *testing.T) {
	large := []byte(strings.Repeat("x", 17<<20))
	_, err := foreign.Index.ToJSON(large)
	assert.NoError(t, err)
	_, err = foreign.Limit(200).ToJSON([]byte("a: &a 1\nb: *a"))
	assert.ErrorContains(t, err, "has more than 200 bytes, counting those behind aliases")
	var value any
	assert.NoError(t, foreign.Limit(5).Unmarshal([]byte("a: 1"), &value))
	assert.ErrorIs(t, foreign.Limit(5).Unmarshal([]byte("a: 1234"), &value), foreign.ErrTooMuch)
}

type nested struct{ value any }

func (n *nested) UnmarshalJSON(text []byte) error { return foreign.Unmarshal(text, &n.value) }

func TestLargeDocumentsInsideLargeOnes(t *testing.T) {
	text, err := json.Marshal(map[string]string{"a": strings.Repeat("x", 300<<10)})
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var into nested
			assert.NoError(t, foreign.Unmarshal(text, &into))
			assert.IsType(t, map[string]any{}, into.value)
		})
	}
	group.Wait()
	_, err = foreign.ToJSON(text[:len(text)-1])
	assert.Error(t, err, "the turn is given back after an error")
	_, err = foreign.ToJSON(text)
	assert.NoError(t, err)
}

func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{"", "a: &a [1, 2]\nb: [*a, *a]", "a: &a [*a]", "{<<: [{a: 1}]}", "- - -\n  - a", "? a\n? b", laughs[:700],
		"a: &x |\n  long text\nb: *x", "%YAML 1.1\n---\na", utf16Of("a: &a b\nc: *a", true)} {
		f.Add([]byte(seed))
	}
	const limit = foreign.Limit(2000)
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := limit.ToJSON(text)
		if err != nil {
			assert.NotEmpty(t, foreign.Problem(err))
			return
		}
		assert.True(t, json.Valid(out))
		// At most six bytes for one of the text, and signs around each value.
		assert.LessOrEqual(t, len(out), 6*int(limit)+16*(int(limit)+1))
	})
}

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		longest int
		want    string
	}{
		"short":                  {"abc", 3, "abc"},
		"long":                   {"abcdef", 5, "ab…"},
		"a character in the cut": {"aäöü", 6, "aä…"},
		"no room":                {"abcdef", 3, "…"},
	} {
		got := foreign.Beginning(c.text, c.longest)
		assert.Equal(t, c.want, got, name)
	}
}

func TestABeginningIsValidAndBounded(t *testing.T) {
	text := strings.Repeat("日本語 text 🙂 ", 20)
	for longest := 3; longest <= len(text); longest++ {
		got := foreign.Beginning(text, longest)
		assert.True(t, utf8.ValidString(got), longest)
		assert.LessOrEqual(t, len(got), longest)
	}
}

func TestNothingOfATextIsLeftOutSilently(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: {c: 1}":           "",
		"a: {b: 1}\na: {b: 1}":      "",
		"---\na: 1\n---\n# no more": "",
		"a: |\n  ---\n  b":          "",
		"a: [{b: 1, b: 2}]":         "has a key twice in one object, again in line 1; remove one of them",
		"a: 1\nb: 2\na: x":          "has a key twice in one object, again in line 3; remove one of them",
		"a: 1\n---\nb: 2":           "has a second document, from line 3 on, which nobody reads; write one document",
		"a: b: c":                   "",
	} {
		err := foreign.CheckWhole([]byte(text))
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.EqualError(t, err, want, text)
	}
}

func TestAnAnchorThatIsNotThereIsNotShown(t *testing.T) {
	var value any
	for _, text := range []string{"password: *correcthorse", "url: a?b&c=d\npassword: *correcthorse"} {
		err := foreign.Unmarshal([]byte(text), &value)
		assert.EqualError(t, err, "is not YAML: a value begins with * and is no alias; put it in quotes")
	}
}
