// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// Flag is one flag of a command.
type Flag struct {
	// Name with two dashes.
	Name string
	// Type of the value; empty for switches.
	Type string
	// Text of the help, with the default.
	Text string
	// Commands that have the flag, without the name of the program.
	Commands []string
}

// Pages about commands: the flags of landscaper by name, and flux-landscaper command by command.
const (
	FlagsPage = "docs/reference/flags.md"
	CLIPage   = "docs/reference/cli.md"
)

// Flags builds the command landscaper and returns the flags of all of its sub-commands, in the order of their names.
func Flags(ctx context.Context) ([]Flag, error) {
	binary, err := binaries.BuildLandscaper(ctx)
	if err != nil {
		return nil, err
	}
	return flagsOf(ctx, binary)
}

// Command is a command of flux-landscaper that runs something.
type Command struct {
	// Name without that of the program, such as "blueprint push".
	Name string
	// Help is what it says for --help.
	Help string
}

// Commands builds the command flux-landscaper and returns its commands, in the order of its own help.
func Commands(ctx context.Context) ([]Command, error) {
	binary, err := binaries.BuildCLI(ctx)
	if err != nil {
		return nil, err
	}
	var found []Command
	err = gather(ctx, binary, nil, func(name, help string) { found = append(found, Command{Name: name, Help: help}) })
	return found, err
}

func flagsOf(ctx context.Context, binary string) ([]Flag, error) {
	flags := map[string]*Flag{}
	if err := gather(ctx, binary, nil, func(name, help string) { enterFlags(help, name, flags) }); err != nil {
		return nil, err
	}
	var sorted []Flag
	for _, flag := range flags {
		slices.Sort(flag.Commands)
		sorted = append(sorted, *flag)
	}
	slices.SortFunc(sorted, func(a, b Flag) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(strings.Join(a.Commands, ","), strings.Join(b.Commands, ",")))
	})
	return sorted, nil
}

var (
	flagLine    = regexp.MustCompile(`^ +(?:-\w, |    )(--[\w-]+)(?: ([\w\[\]=/]+))?  +(.*)$`)
	commandLine = regexp.MustCompile(`^  ([a-z][\w-]*) +\S`)
)

// gather reads the help of one command and of those below it. Commands that only have others below them run nothing and are left out.
func gather(ctx context.Context, binary string, command []string, enter func(name, help string)) error {
	var out bytes.Buffer
	help := exec.CommandContext(ctx, binary, append(slices.Clone(command), "--help")...)
	help.Stdout, help.Stderr, help.Env = &out, &out, []string{} // defaults may come from the environment
	if err := help.Run(); err != nil {
		return fmt.Errorf("%s %s --help: %w\n%s", filepath.Base(binary), strings.Join(command, " "), err, out.String())
	}
	_, list, nested := strings.Cut(out.String(), "Available Commands:\n")
	if !nested {
		enter(strings.Join(command, " "), out.String())
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
		if err := gather(ctx, binary, append(slices.Clone(command), found[1]), enter); err != nil {
			return err
		}
	}
	return nil
}

// enterFlags notes the flags of one command. A flag that means something else in another command, or has another default there, is another one.
func enterFlags(help, command string, flags map[string]*Flag) {
	for line := range strings.Lines(help) {
		found := flagLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if found == nil || found[1] == "--help" {
			continue
		}
		flag := Flag{Name: found[1], Type: found[2], Text: strings.Join(strings.Fields(found[3]), " ")}
		key := flag.Name + " " + flag.Text
		if flags[key] == nil {
			flags[key] = &flag
		}
		flags[key].Commands = append(flags[key].Commands, command)
	}
}

// RenderCLI returns CLIPage with a fresh generated part.
func RenderCLI(module *Module, commands []Command) (string, error) {
	var text strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&text, "## %s\n\n```\n%s\n```\n\n", command.Name, strings.TrimSpace(command.Help))
	}
	content, err := os.ReadFile(module.Path(CLIPage))
	return replaceGenerated(CLIPage, string(content), text.String(), err)
}

// RenderFlags returns FlagsPage with a fresh generated part.
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
