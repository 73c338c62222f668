// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package disguise_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/disguise"
)

// isHidden reports whether a message has one of the forms of a text.
func isHidden(message, text string) bool {
	return slices.ContainsFunc(disguise.Forms(text), func(form string) bool { return strings.Contains(message, form) })
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
	for _, form := range disguise.Forms("secret") {
		assert.GreaterOrEqual(t, len(form), 6, "a shorter one would be in ordinary words: %s", form)
	}
}
