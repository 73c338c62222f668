// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

var errWrong = errors.New("wrong")

func TestFewItemsAreLookedAt(t *testing.T) {
	for name, tc := range map[string]struct {
		of            []error
		looks, enough int
	}{
		"of a bad list":  {of: []error{errWrong}, looks: fault.MostProblems + 1, enough: fault.MostProblems + 1},
		"of a good list": {of: []error{nil}, looks: 10 * fault.MostProblems},
		"of an item with several problems": {
			of: []error{errWrong, nil, errWrong}, looks: fault.MostProblems/2 + 1, enough: fault.MostProblems + 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			found := fault.ProblemsIn(10*fault.MostProblems, func(int) []error {
				looks++
				return slices.Clone(tc.of)
			})
			assert.Equal(t, tc.looks, looks)
			assert.Len(t, found, tc.enough)
		})
	}
}

func TestMoreProblemsThanAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		problems []error
		named    int
		more     bool
	}{
		"few":          {problems: []error{nil, errWrong, nil, errWrong}, named: 2},
		"just as many": {problems: slices.Repeat([]error{errWrong, nil}, fault.MostProblems), named: fault.MostProblems},
		"more":         {problems: slices.Repeat([]error{errWrong}, fault.MostProblems+1), named: fault.MostProblems, more: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := fault.Join(tc.problems)
			require.Error(t, err)
			assert.Equal(t, tc.named, strings.Count(err.Error(), "wrong"))
			assert.Equal(t, tc.more, strings.Contains(err.Error(), "there are more problems than these"))
		})
	}
	assert.NoError(t, fault.Join([]error{nil}))
}

// isHidden reports whether a message has one of the forms of a text.
func isHidden(message, text string) bool {
	return slices.ContainsFunc(fault.Forms(text), func(form string) bool { return strings.Contains(message, form) })
}

func TestFormsOfAText(t *testing.T) {
	const secret = "p@ss/w\"ord ü'1"
	for name, message := range map[string]string{
		"plain": secret, "quoted": strconv.Quote(secret), "in ASCII": strconv.QuoteToASCII(secret), "YAML": strings.ReplaceAll(secret, "'", "''"),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "hex": hex.EncodeToString([]byte(secret)),
		"upper hex": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	} {
		assert.True(t, isHidden("x"+message+"y", secret), name)
	}
}

func TestATextIsFoundWithinOthersInBase64(t *testing.T) {
	for _, secret := range []string{"secret", "secret7", "secret78", "\xff\xfe\xfd\xff\xfe\xfd\xff"} {
		for before := range 4 {
			for after := range 4 {
				whole := []byte(strings.Repeat("a", before) + secret + strings.Repeat("z", after))
				for name, encoding := range map[string]*base64.Encoding{"standard": base64.StdEncoding, "URL": base64.URLEncoding} {
					assert.True(t, isHidden(encoding.EncodeToString(whole), secret), "%q, %d before, %d after, %s", secret, before, after, name)
				}
			}
		}
	}
}

func TestFormsAreOfTheTextOnly(t *testing.T) {
	for _, other := range []string{"secrets are", "c2VjcmV0", "", "736563726574"} {
		assert.False(t, isHidden(other, "another one"), other)
	}
	for _, form := range fault.Forms("secret") {
		assert.GreaterOrEqual(t, len(form), 6, "a shorter one would be in ordinary words: %s", form)
	}
}
