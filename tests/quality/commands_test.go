// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shownCommand is a command of flux-landscaper with its group, as pages show it.
var shownCommand = regexp.MustCompile(`flux[- ]landscaper (agent|blueprint|component|deployer|get|installation|mirror|schema) ([a-z][a-z-]+)`)

// TestPagesShowCommandsThatExist keeps the commands in docs/ at what the program has.
func TestPagesShowCommandsThatExist(t *testing.T) {
	commands, err := Commands(t.Context())
	require.NoError(t, err)
	known := map[string]bool{}
	for _, command := range commands {
		known[command.Name] = true
	}
	require.True(t, known["blueprint validate"], "the commands are %v", known)
	shown := 0
	texts(t, func(file, content string) {
		if path.Ext(file) != ".md" && file != ReasonsFile {
			return
		}
		for _, found := range shownCommand.FindAllStringSubmatch(strings.ReplaceAll(content, "\n", " "), -1) {
			shown++
			assert.True(t, known[found[1]+" "+found[2]], "%s shows %s, which does not exist", file, found[0])
		}
	})
	require.Greater(t, shown, 20)
}
