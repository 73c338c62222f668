// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bytes"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/pages"
)

// eachBlock calls visit with every code block of every page that people write.
func eachBlock(t *testing.T, visit func(page string, block pages.Block)) {
	t.Helper()
	texts(t, func(file, _ string) {
		if path.Ext(file) != ".md" || strings.HasPrefix(file, "docs/reference/") || strings.HasPrefix(file, "tests/") {
			return
		}
		blocks, err := pages.Read(loaded(t).Path(file))
		require.NoError(t, err)
		for _, block := range blocks {
			visit(file, block)
		}
	})
}

// Each block says what it is, and each command on a page for users or operators is run by a test, or says why not.
func TestEachCommandOfPagesRuns(t *testing.T) {
	known := []string{pages.Commands, pages.Console, pages.Manifest, "text", "mermaid", "go", "json", "yaml inputs"}
	reasons, used := pages.Reasons(), map[string]bool{}
	eachBlock(t, func(page string, block pages.Block) {
		place := fmt.Sprintf("%s:%d", page, block.Line)
		assert.Contains(t, known, block.Language, place)
		if block.NotRun != "" {
			used[block.NotRun] = true
			assert.Contains(t, reasons, block.NotRun, "%s: this is no reason of the list in tests/pages", place)
		}
		documentation := page == "README.md" || strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/dev/")
		if documentation && block.Script() != "" && !slices.Contains(pages.Followed(), strings.TrimPrefix(page, "docs/")) {
			assert.NotEmpty(t, block.NotRun, "%s: no test runs it; add the page to Followed of tests/pages, or say why not", place)
		}
	})
	for reason := range reasons {
		assert.True(t, used[reason], "no block is marked %q: take it off the list in tests/pages", reason)
	}
}

var (
	// ourCommand is a call of the command line, up to the end of the simple command.
	ourCommand = regexp.MustCompile(`(?:^|[|(&;]\s*|\$\()(?:flux[- ]landscaper) ((?:'[^']*'|"[^"]*"|[^|;&>()#'"])*)`)
	flagWord   = regexp.MustCompile(`(?:^| )(--?[a-zA-Z][\w-]*)`)
	quoted     = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// Commands on pages can be read by a shell, and those of flux-landscaper have the names and flags that the program has.
func TestCommandsOfPagesParse(t *testing.T) {
	commands, err := Commands(t.Context())
	require.NoError(t, err)
	help := map[string]string{}
	for _, command := range commands {
		help[command.Name] = command.Help
	}
	checked := 0
	eachBlock(t, func(page string, block pages.Block) {
		script := block.Script()
		if script == "" {
			return
		}
		place := fmt.Sprintf("%s:%d", page, block.Line)
		shell := exec.Command("bash", "-n")
		shell.Stdin = strings.NewReader(script)
		var problems bytes.Buffer
		shell.Stderr = &problems
		assert.NoError(t, shell.Run(), "%s: %s", place, &problems)
		for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
			for _, call := range ourCommand.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				words := strings.Fields(call[1])
				name := ""
				for i := min(2, len(words)); i > 0 && name == ""; i-- {
					if _, exists := help[strings.Join(words[:i], " ")]; exists {
						name = strings.Join(words[:i], " ")
					}
				}
				if !assert.NotEmpty(t, name, "%s: flux-landscaper has no command %s", place, call[1]) {
					continue
				}
				checked++
				for _, flag := range flagWord.FindAllStringSubmatch(quoted.ReplaceAllString(call[1], ""), -1) {
					assert.Regexp(t, `(?m)^ *(-\w, )? *`+regexp.QuoteMeta(flag[1])+`\b`, help[name], "%s: %s has no flag %s", place, name, flag[1])
				}
			}
		}
	})
	assert.Greater(t, checked, 20)
}

// unseen is what readers do not see.
var unseen = regexp.MustCompile(`(?s)<!--.*?-->`)

// budgets are how many words a page has at most, by its path; those of others are in users and operators.
var budgets = map[string]int{
	"docs/architecture.md": 2500, "docs/security.md": 2500, "CONTRIBUTING.md": 1200, "README.md": 850,
	"docs/agent.md": 3000, "docs/environments.md": 2200, "docs/releases.md": 1900,
}

// users are the pages for those who write and run landscapes. Pages for operators, contributors and the generated reference are not among them.
var users = []string{
	"README.md", "docs/quick-start.md", "docs/tutorial.md", "docs/concepts.md", "docs/compare.md", "docs/faq.md",
	"docs/glossary.md", "docs/troubleshooting.md", "docs/writing-blueprints.md", "docs/helm.md", "docs/manifest.md", "docs/container.md",
	"docs/drift.md", "docs/ownership.md", "docs/components.md", "docs/publishing.md", "docs/flux.md",
}

const (
	usersRead   = 25000
	mostOfHowTo = 900
)

// Pages stay short enough to be read: what is added takes the place of something.
func TestPagesKeepTheirWordBudgets(t *testing.T) {
	words, all := map[string]int{}, 0
	texts(t, func(file, content string) {
		words[file] = len(strings.Fields(unseen.ReplaceAllString(content, "")))
		howTo := strings.HasPrefix(file, "docs/how-to/")
		if howTo {
			assert.LessOrEqual(t, words[file], mostOfHowTo, file)
		}
		if howTo || slices.Contains(users, file) {
			all += words[file]
		}
	})
	assert.LessOrEqual(t, all, usersRead, "words that users read")
	for _, page := range users {
		assert.NotZero(t, words[page], "%s is not there", page)
	}
	for page, most := range budgets {
		assert.LessOrEqual(t, words[page], most, page)
	}
}
