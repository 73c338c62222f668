// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"os"
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

// TestWhatCommandsPrintAsJSONIsDocumented looks in the table before the generated help.
func TestWhatCommandsPrintAsJSONIsDocumented(t *testing.T) {
	content, err := os.ReadFile(loaded(t).Path("docs/reference/cli.md"))
	require.NoError(t, err)
	said, help, _ := strings.Cut(string(content), "<!-- generated")
	checked := 0
	for _, command := range regexp.MustCompile(`(?ms)^## ([a-z -]+)$.*?^Global Flags`).FindAllStringSubmatch(help, -1) {
		name := regexp.MustCompile("^get .*").ReplaceAllString(command[1], "get")
		if regexp.MustCompile(`(?m)^ +-o, --output string .*\bjson\b`).MatchString(command[0]) {
			checked++
			assert.Contains(t, said, "`"+name+"`", "the table has no row")
		}
	}
	assert.Greater(t, checked, 20)
}
