// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pages reads the code blocks of pages of documentation, so that tests can run what they tell a person to do.
//
// The language of a block says what it is: "sh" is commands, "console" is commands behind "$ " with their output, "yaml" is manifests, and a
// file where the first line is a comment with its path. Three comments of HTML are for tests only: "<!-- not run: REASON -->" on the line before a
// block, "<!-- run: COMMANDS -->", which stands for what a person does otherwise, and "<!-- picture: FILE: COMMAND -->" for a picture of what the command
// prints, see Picture.
package pages

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Block is a code block of a page, or hidden commands.
type Block struct {
	// Line of the page that the block begins at, from 1.
	Line int
	// Language is empty where the page names none.
	Language string
	// Text is the lines between the fences, without their indentation, each with its end.
	Text string
	// NotRun is the reason why no test runs the block.
	NotRun string
	// Indent is what stands before each line.
	Indent string
	// Picture is the file, from the folder of the page, that shows the only command of a console with its output; empty where the page shows it.
	Picture string
}

// Languages of blocks that people run.
const (
	Commands = "sh"
	Console  = "console"
	Manifest = "yaml"
)

var (
	fence   = regexp.MustCompile("^( *)```(.*)$")
	notRun  = regexp.MustCompile(`^ *<!-- not run: (.+) -->$`)
	run     = regexp.MustCompile(`^ *<!-- run: (.+) -->$`)
	picture = regexp.MustCompile(`^ *<!-- picture: (\S+): (.+) -->$`)
	path    = regexp.MustCompile(`^# ([\w./-]+\.ya?ml)\n`)
)

// Read returns the blocks of a page in order.
func Read(file string) ([]Block, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var (
		found  []Block
		inside *Block
		reason string
	)
	for i, line := range strings.Split(string(content), "\n") {
		switch opened := fence.FindStringSubmatch(line); {
		case inside != nil && opened != nil:
			found, inside, reason = append(found, *inside), nil, ""
		case inside != nil:
			inside.Text += strings.TrimPrefix(line, inside.Indent) + "\n"
		case opened != nil:
			inside = &Block{Line: i + 1, Language: opened[2], NotRun: reason, Indent: opened[1]}
		default:
			reason = ""
			if hidden := run.FindStringSubmatch(line); hidden != nil {
				found = append(found, Block{Line: i + 1, Language: Commands, Text: hidden[1] + "\n"})
			} else if drawn := picture.FindStringSubmatch(line); drawn != nil {
				found = append(found, Block{Line: i + 1, Language: Console, Text: "$ " + drawn[2] + "\n", Picture: drawn[1]})
			} else if marked := notRun.FindStringSubmatch(line); marked != nil {
				reason = marked[1]
			}
		}
	}
	if inside != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", file, inside.Line)
	}
	return found, nil
}

// File is the path of the file that the block shows, empty where it shows none.
func (b Block) File() string {
	if named := path.FindStringSubmatch(b.Text); named != nil && b.Language == Manifest {
		return named[1]
	}
	return ""
}

// An Entry is a command of a console with its output.
type Entry struct {
	Command, Output string
}

// Entries are those of a console.
func (b Block) Entries() []Entry {
	var entries []Entry
	continues := false
	for line := range strings.Lines(b.Text) {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(entries) - 1
		switch {
		case begins:
			entries = append(entries, Entry{Command: command})
		case last < 0:
			continue // what comes before the first command belongs to none
		case continues:
			entries[last].Command += line
		default:
			entries[last].Output += line
		}
		continues = (begins || continues) && strings.HasSuffix(line, "\\\n")
	}
	return entries
}

// Content is the text of the file that the block shows.
func (b Block) Content() string {
	_, content, _ := strings.Cut(b.Text, "\n")
	return content
}

// Script is the commands of the block, for a shell; empty for blocks without commands.
func (b Block) Script() string {
	switch b.Language {
	case Commands:
		return b.Text
	case Console:
		var script strings.Builder
		for _, entry := range b.Entries() {
			script.WriteString(entry.Command)
		}
		return script.String()
	}
	return ""
}

// Followed are the pages below docs/ that tests/e2e/pages does as a person would, each on a landscape of its own.
func Followed() []string {
	return []string{
		"quick-start.md", "tutorial.md", "troubleshooting.md", "how-to/blueprint.md", "how-to/clusters.md", "how-to/delete.md", "how-to/failures.md",
		"how-to/lint.md", "how-to/preview.md", "how-to/promotion.md", "how-to/secrets.md",
	}
}

// Reasons are why blocks of pages are not run, each with what holds them instead.
func Reasons() map[string]string {
	return map[string]string{
		"the test has done it":        "tests/e2e/pages starts the demo, which builds the command line",
		"needs a release":             "tests/e2e/releases installs one; TestPagesNameWhatAReleasePublishes keeps its references",
		"needs a fenced cluster":      "tests/e2e/fence and tests/e2e/environments do what the page says",
		"needs a registry":            "cmd/flux-landscaper and publishing/ocm test these commands with registries and keys of their own",
		"needs another landscape":     "objects have the names of a reader; names of commands and flags are checked",
		"needs a deployer to examine": "tests/conformance runs the command against example-deployer",
		"needs an issuer of certificates and an identity provider": "an API server takes the manifests; landscape/page tests who sees what",
		"of another program": "a pipeline, a server or a tool that this project does not bring",
	}
}
