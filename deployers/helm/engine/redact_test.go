// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJournalKeepsTheLastLines(t *testing.T) {
	j := &journal{}
	for i := range 2 * keptLogLines {
		j.log("line %d", i)
	}
	assert.Len(t, j.lines, keptLogLines)
	assert.Equal(t, fmt.Sprintf("line %d", keptLogLines), j.lines[0])
}

func TestJournalDropsLinesThatHoldSecrets(t *testing.T) {
	j := &journal{}
	j.log("list: failed to decode release: %v: %s", "the whole Secret", "bad")
	assert.Empty(t, j.lines)
	assert.True(t, j.takeUnreadable())
	assert.False(t, j.takeUnreadable(), "once")
}

func TestSensitiveValues(t *testing.T) {
	found := sensitive(map[string]any{
		"password": "one-secret", "short": "x", "db": map[string]any{"auth": []any{"two-secret", 3.0}, "host": "plain"},
		"apiToken": "abc",
	})
	assert.ElementsMatch(t, []string{"one-secret", "two-secret"}, found)
}

func TestD8SecretsAreHiddenInAllTheirShapes(t *testing.T) {
	secrets := sensitive(map[string]any{
		"password": "pa\"ss\nword", "token": 123456.0, "nested": map[string]any{"apiKey": "long-secret"}, "auth": []any{"part-of-list"}, "pin": "no",
	})
	for name, shown := range map[string]string{
		"as it is": "x pa\"ss\nword y", "quoted": `x pa\"ss\nword y`, "in base64": "x cGEic3MKd29yZA== y", "a number": "x 123456 y",
		"a list": "x part-of-list y", "longer ones first": "x long-secret y",
		"in JSON": `x pa\"ss\nword y`, "in hex": "x 6c6f6e672d736563726574 y", "in upper hex": "x 6C6F6E672D736563726574 y", "in a URL": "x pa%22ss%0Aword y",
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "x *** y", redact(shown, secrets))
		})
	}
	assert.Equal(t, "cannot dial postgres://user:***@db:5432/a?sslmode=off", redact("cannot dial postgres://user:s3cr3t@db:5432/a?sslmode=off", nil))
	assert.Equal(t, "host=db password=*** user=a", redact("host=db password=s3cr3t user=a", nil))
	assert.Equal(t, "GET https://[::1]:6443/api", redact("GET https://[::1]:6443/api", nil))
}

func TestSecretsAreHiddenWithinOthersInBase64(t *testing.T) {
	for _, before := range []string{"", "u:", "us:", "user:"} {
		auth := base64.StdEncoding.EncodeToString([]byte(before + "correct horse\n"))
		assert.NotContains(t, redact("auth is "+auth, []string{"correct horse"}), auth[8:20], before)
	}
}
