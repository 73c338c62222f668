// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package enrolment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyTheKeyOpensItsAnswer(t *testing.T) {
	private, public, err := NewKey()
	require.NoError(t, err)
	again, err := Public(private)
	require.NoError(t, err)
	assert.Equal(t, public, again)
	credential := Credential{Token: "t", Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	answer, err := Seal(public, "east", "1", credential)
	require.NoError(t, err)
	opened, err := Open(private, "east", "1", answer)
	require.NoError(t, err)
	assert.Equal(t, credential, opened)

	other, _, err := NewKey()
	require.NoError(t, err)
	for name, open := range map[string]func() (Credential, error){
		"another key":         func() (Credential, error) { return Open(other, "east", "1", answer) },
		"another Environment": func() (Credential, error) { return Open(private, "west", "1", answer) },
		"another claim":       func() (Credential, error) { return Open(private, "east", "2", answer) },
		"a broken key":        func() (Credential, error) { return Open([]byte("x"), "east", "1", answer) },
		"a broken answer":     func() (Credential, error) { return Open(private, "east", "1", append([]byte{1}, answer...)) },
	} {
		_, err := open()
		assert.Error(t, err, name)
	}
	require.NoError(t, CheckPublic(public))
	require.Error(t, CheckPublic(nil))
	_, err = Seal([]byte("x"), "east", "1", credential)
	assert.Error(t, err)
}
