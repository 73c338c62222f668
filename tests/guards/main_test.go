// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// TestGuardsAreWhereTheListSaysThem finds each guard in the code, and the test that notices.
func TestGuardsAreWhereTheListSaysThem(t *testing.T) {
	all, err := guards()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 40)
	for _, g := range all {
		t.Run(g.Guard, func(t *testing.T) {
			changed, err := g.without(root)
			require.NoError(t, err)
			assert.NotEmpty(t, changed)
			assert.NotEqual(t, g.Take, g.Put)
			top, _, _ := strings.Cut(g.Test, "/")
			wanted, err := regexp.Compile("^(" + top + ")$")
			require.NoError(t, err)
			assert.True(t, hasTest(t, filepath.Join(root, g.Package), wanted), "%s has no test %s", g.Package, g.Test)
		})
	}
}

func hasTest(t *testing.T, dir string, wanted *regexp.Regexp) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range testFunc.FindAllSubmatch(code, -1) {
			if wanted.Match(found[1]) {
				return true
			}
		}
	}
	return false
}

func TestAGuardThatIsNotThereOnceIsNamed(t *testing.T) {
	for name, take := range map[string]string{"never": "not in this file" + " at all", "twice": "package"} {
		t.Run(name, func(t *testing.T) {
			_, err := guard{Guard: "x", File: "main_test.go", Take: take}.without(".")
			assert.ErrorContains(t, err, `guard "x": main_test.go has its code`)
		})
	}
}
