// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Most is how many problems of an object are named.
const MostProblems = 100

// More says that there are more problems than are named.
const MoreProblems = "there are more problems than these; correct them first"

// In returns the problems of the items of a list, without those that are nil. It looks at no further item once it has more than Most.
func ProblemsIn[P comparable](items int, problemsOf func(item int) []P) []P {
	var none P
	var found []P
	for item := 0; item < items && len(found) <= MostProblems; item++ {
		found = append(found, slices.DeleteFunc(problemsOf(item), func(problem P) bool { return problem == none })...)
	}
	return found
}

// InMap returns the problems of the entries of a map in the order of their keys, as In does.
func ProblemsInMap[V any, P comparable](entries map[string]V, problemsOf func(key string, value V) []P) []P {
	keys := slices.Sorted(maps.Keys(entries))
	return ProblemsIn(len(keys), func(i int) []P { return problemsOf(keys[i], entries[keys[i]]) })
}

// Join returns one error for several, of which some may be nil. It names the first Most, and says whether there are more.
func Join(problems []error) error {
	found := slices.DeleteFunc(slices.Clone(problems), func(problem error) bool { return problem == nil })
	if len(found) > MostProblems {
		found = append(found[:MostProblems], errors.New(MoreProblems))
	}
	return errors.Join(found...)
}

// shortest is how many bytes a text has at least that is looked for within a longer one in base64; of shorter ones too little is left there.
const shortest = 6

// Forms returns a text as messages repeat it: as it is, quoted, escaped, in hex and in base64. Forms in base64 leave out the characters that depend on what
// stands before and after the text where both are encoded together, as "user:password" is. The same form may be there twice.
func Forms(text string) []string {
	inJSON, _ := json.Marshal(text) // a text always is JSON
	inHex := hex.EncodeToString([]byte(text))
	forms := []string{
		text, inside(strconv.Quote(text)), inside(strconv.QuoteToASCII(text)), inside(string(inJSON)), strings.ReplaceAll(text, "'", "''"),
		url.QueryEscape(text), url.PathEscape(text), inHex, strings.ToUpper(inHex),
		base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)),
	}
	if len(text) < shortest {
		return forms
	}
	for before := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, within(encoding, text, before))
		}
	}
	return forms
}

// bitsOfByte and bitsOfCharacter are how much a byte has, and a character of base64.
const bitsOfByte, bitsOfCharacter = 8, 6

// within returns the characters that a text alone decides on where it is encoded behind so many other bytes.
func within(encoding *base64.Encoding, text string, before int) string {
	encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
	first := (before*bitsOfByte + bitsOfCharacter - 1) / bitsOfCharacter
	return encoded[first : (before+len(text))*bitsOfByte/bitsOfCharacter]
}

func inside(quoted string) string { return quoted[1 : len(quoted)-1] }
