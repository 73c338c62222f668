// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// Flag is one flag of the command landscaper.
type Flag struct {
	// Name with two dashes.
	Name string
	// Type of the value; empty for switches.
	Type string
	// Text of the help, with the default.
	Text string
	// Commands that have the flag, without the word landscaper.
	Commands []string
}

// FlagsPage is the page that lists the flags.
const FlagsPage = "docs/operations.md"

// Flags builds the command landscaper and returns the flags of all of its sub-commands, in the order of their names.
func Flags(ctx context.Context) ([]Flag, error) {
	binary, err := platform.BuildLandscaper(ctx)
	if err != nil {
		return nil, err
	}
	flags := map[string]*Flag{}
	if err := gather(ctx, binary, nil, flags); err != nil {
		return nil, err
	}
	var sorted []Flag
	for _, flag := range flags {
		slices.Sort(flag.Commands)
		sorted = append(sorted, *flag)
	}
	slices.SortFunc(sorted, func(a, b Flag) int { return strings.Compare(a.Name, b.Name) })
	return sorted, nil
}

var (
	flagLine    = regexp.MustCompile(`^ +(?:-\w, |    )(--[\w-]+)(?: ([\w\[\]=/]+))?  +(.*)$`)
	commandLine = regexp.MustCompile(`^  ([a-z][\w-]*)  +\S`)
)

// gather reads the help of one command and of those below it. Commands that only have others below them have no flags of their own.
func gather(ctx context.Context, binary string, command []string, flags map[string]*Flag) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, append(slices.Clone(command), "--help")...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, []string{} // defaults may come from the environment
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("landscaper %s --help: %w\n%s", strings.Join(command, " "), err, out.String())
	}
	_, list, nested := strings.Cut(out.String(), "Available Commands:\n")
	if !nested {
		enterFlags(out.String(), strings.Join(command, " "), flags)
		return nil
	}
	for line := range strings.Lines(list) {
		found := commandLine.FindStringSubmatch(line)
		if found == nil {
			break
		}
		if found[1] == "completion" || found[1] == "help" {
			continue
		}
		if err := gather(ctx, binary, append(slices.Clone(command), found[1]), flags); err != nil {
			return err
		}
	}
	return nil
}

func enterFlags(help, command string, flags map[string]*Flag) {
	for line := range strings.Lines(help) {
		found := flagLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if found == nil || found[1] == "--help" {
			continue
		}
		if flags[found[1]] == nil {
			flags[found[1]] = &Flag{Name: found[1], Type: found[2], Text: strings.Join(strings.Fields(found[3]), " ")}
		}
		flags[found[1]].Commands = append(flags[found[1]].Commands, command)
	}
}

// RenderFlags returns the page of the flags with a fresh generated part.
func RenderFlags(module *Module, flags []Flag) (string, error) {
	commands := map[string]bool{}
	for _, flag := range flags {
		for _, command := range flag.Commands {
			commands[command] = true
		}
	}
	var table strings.Builder
	table.WriteString("| Flag | Sub-commands | Meaning |\n|---|---|---|\n")
	for _, flag := range flags {
		where := strings.Join(flag.Commands, ", ")
		if len(flag.Commands) == len(commands) {
			where = "all"
		}
		name := strings.TrimSpace(flag.Name + " " + flag.Type)
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", name, where, strings.ReplaceAll(flag.Text, "|", "\\|"))
	}
	content, err := os.ReadFile(module.Path(FlagsPage))
	return replaceGenerated(FlagsPage, string(content), table.String(), err)
}
