// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pullsecrets

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// counted reads Secrets of a size and counts how often.
func counted(size int) (reading Reading, reads *int) {
	reads = new(int)
	return Reading{Field: "Context n/c: registryPullSecrets", Get: func(string) (map[string][]byte, error) {
		*reads++
		return map[string][]byte{"k": make([]byte, size)}, nil
	}}, reads
}

func numbered(count int) []string {
	names := make([]string, 0, count)
	for i := range count {
		names = append(names, fmt.Sprintf("secret-%d", i))
	}
	return names
}

func TestEachPullSecretIsReadOnce(t *testing.T) {
	reading, reads := counted(1)
	found := map[string]map[string][]byte{}
	require.NoError(t, reading.Into(found, slices.Repeat([]string{"pull"}, 1000)))
	assert.Equal(t, 1, *reads)
	assert.Len(t, found, 1)
}

func TestAPullSecretThatIsLeftOutIsReadOnce(t *testing.T) {
	reads := 0
	found := map[string]map[string][]byte{}
	require.NoError(t, Reading{Get: func(string) (map[string][]byte, error) {
		reads++
		return nil, ErrLeaveOut
	}}.Into(found, slices.Repeat([]string{"pull"}, 1000)))
	assert.Equal(t, 1, reads)
	assert.Empty(t, found)
}

func TestPullSecretsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		known map[string]map[string][]byte
		names []string
		size  int
		says  string
		reads int
	}{
		"as many as may be":        {names: numbered(MaxNames), size: 1, reads: MaxNames},
		"one more":                 {names: numbered(MaxNames + 1), size: 1, says: "names more than 50 different Secrets; name fewer"},
		"as large as may be":       {names: numbered(4), size: 1<<20 - 1, reads: 4},
		"too large together":       {names: numbered(5), size: 1 << 20, says: "the Secrets have more than 4 MiB together; name fewer", reads: 4},
		"one more than is known":   {known: map[string]map[string][]byte{"known": nil}, names: numbered(MaxNames), says: "names more than 50"},
		"what is known counts too": {known: map[string]map[string][]byte{"known": {"k": make([]byte, MaxBytes)}}, names: numbered(1), says: "more than 4 MiB", reads: 1},
		"what is known is there":   {known: map[string]map[string][]byte{"secret-0": nil}, names: numbered(1)},
	} {
		t.Run(name, func(t *testing.T) {
			reading, reads := counted(tc.size)
			found := map[string]map[string][]byte{}
			for known, data := range tc.known {
				found[known] = data
			}
			err := reading.Into(found, tc.names)
			assert.Equal(t, tc.reads, *reads)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrTooMuch)
			require.ErrorContains(t, err, "Context n/c: registryPullSecrets: ")
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
		})
	}
}

func TestOnlyWhatFitsIsRead(t *testing.T) {
	for name, tc := range map[string]struct{ names, size, fit int }{
		"too many":  {MaxNames + 1, 1, MaxNames},
		"too large": {9, 1 << 20, 3},
	} {
		t.Run(name, func(t *testing.T) {
			reading, _ := counted(tc.size)
			reading.OnlyWhatFits = true
			found := map[string]map[string][]byte{}
			require.NoError(t, reading.Into(found, numbered(tc.names)))
			assert.Len(t, found, tc.fit)
		})
	}
}

func TestAPullSecretThatCannotBeReadEndsTheReading(t *testing.T) {
	refused, reads := errors.New("refused"), 0
	err := Reading{Get: func(string) (map[string][]byte, error) {
		reads++
		return nil, refused
	}}.Into(map[string]map[string][]byte{}, numbered(2))
	require.ErrorIs(t, err, refused)
	assert.Equal(t, 1, reads)
}

func TestNamesOf(t *testing.T) {
	assert.Equal(t, []string{"a", "b", "a"}, NamesOf([]v1alpha1.LocalObjectReference{{Name: "a"}, {Name: "b"}, {Name: "a"}}))
}
