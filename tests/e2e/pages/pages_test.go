// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/pages"
)

var update = flag.Bool("update", false, "write the output of commands into the pages")

const (
	// patience is how long the output of a command may take to become what the page shows.
	patience = 5 * time.Minute
	// settled is how long output stays the same before it is written into a page.
	settled = 20 * time.Second
	tick    = time.Second
)

// TestPagesDoWhatTheySay follows each page from its first command to its last.
func TestPagesDoWhatTheySay(t *testing.T) {
	for _, page := range pages.Followed() {
		t.Run(page, func(t *testing.T) {
			file := filepath.Join("..", "..", "..", "docs", page)
			blocks, err := pages.Read(file)
			require.NoError(t, err)
			shell := startDemo(t).shell()
			shell.folder = filepath.Dir(file)
			var changed []change
			for _, block := range blocks {
				if block.NotRun == "" {
					t.Logf("%s:%d", page, block.Line)
					changed = append(changed, shell.follow(block)...)
				}
			}
			if *update {
				require.NoError(t, rewrite(file, changed))
			}
		})
	}
}

// TestSuggestionsOfTheDemoWork does everything that the demo suggests.
func TestSuggestionsOfTheDemoWork(t *testing.T) {
	demo := startDemo(t)
	shell := demo.shell()
	commands := demo.suggested()
	require.Len(t, commands, 10, "%v", commands)
	for _, command := range commands {
		if why, asks := strings.CutPrefix(command, "flux-landscaper why"); asks {
			shell.until("flux-landscaper why"+why, "shop.curency")
			continue
		}
		shell.do(command)
		if strings.HasSuffix(command, "git push") || strings.Contains(command, "blueprint push") {
			demo.until("is deployed after", "curency")
		}
	}
	require.Regexp(t, `(?s)ran greeting; untouched backend, frontend.*ran frontend; untouched backend, greeting.*ran backend`, demo.said())
}

// A change is output that a page, or a picture on it, shows differently.
type change struct {
	shown, real string
	picture     string // its file
}

// rewrite puts real output into a page and its pictures.
func rewrite(file string, changed []change) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, passed := "", string(content) // changes come in the order of the page, which may show a command twice
	for _, one := range changed {
		if one.picture != "" {
			if err := os.WriteFile(one.picture, []byte(one.real), 0o600); err != nil {
				return err
			}
			continue
		}
		before, after, found := strings.Cut(passed, one.shown)
		if !found {
			return fmt.Errorf("%s does not show\n%s", file, one.shown)
		}
		text, passed = text+before+one.real, after
	}
	return os.WriteFile(file, []byte(text+passed), 0o600)
}
