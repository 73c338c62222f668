// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGateEachGuardIsThereOnce(t *testing.T) {
	all, err := guards()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, g := range all {
		m, err := g.without("../../..")
		if assert.NoError(t, err) {
			assert.NotEqual(t, string(m.code), string(m.changed()))
		}
		files, err := filepath.Glob(filepath.Join("../../..", g.In, "*_test.go"))
		require.NoError(t, err)
		var code []byte
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			code = append(code, content...)
		}
		for name := range strings.SplitSeq(g.Tests, "|") {
			assert.Regexp(t, `(?m)^func `+name+`\(`, string(code), "tests of %q in %s", g.Keeps, g.In)
		}
	}
}

func TestGateMutantsOfAFunction(t *testing.T) {
	file := filepath.Join(t.TempDir(), "some.go")
	require.NoError(t, os.WriteFile(file, []byte(`package some

func (s *store) read(n int) error {
	if n > 3 {
		s.note()
	}
	_, err := s.get()
	return err
}
`), 0o600))

	all, err := mutantsOf(file)

	require.NoError(t, err)
	var changes [][2]string
	for _, m := range all {
		assert.Equal(t, "store.read", m.function)
		changes = append(changes, [2]string{m.taken(), m.put})
	}
	assert.Equal(t, [][2]string{{"n > 3", "(n > 3) && false"}, {"n > 3", "(n > 3) || true"}, {">", ">="}, {"s.note()", ""}, {"err", "nil"}}, changes)
}
