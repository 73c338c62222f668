// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

// environmentFile is what a person reads into a shell, and cliName the command line, beside this program.
const (
	environmentFile = "demo.env"
	cliName         = "flux-landscaper"
)

// A suggestion is something to try, with commands that work as they are printed.
type suggestion struct {
	title    string
	commands []string
	outcome  string
}

// suggestions are three things to try, in the clone of the repository.
func suggestions() []suggestion {
	return []suggestion{
		{
			"Change one Installation", []string{
				edit("s/Welcome to/Good morning from/", "installations/greeting.yaml"),
				"git commit -am 'Greet the morning' && git push",
			}, "Within 10 seconds greeting runs once, backend and frontend not at all.",
		}, {
			"Publish a blueprint", []string{
				"flux-landscaper blueprint push oci://$REGISTRY/" + sample.BlueprintPath + ":1.1.0 \\",
				"  -f " + sample.BlueprintPath + " --source demo --revision 1.1.0",
			}, "frontend follows the versions 1.x, and runs once.",
		}, {
			"Make a mistake, and ask why", []string{
				edit("s/shop.currency/shop.curency/", "blueprints/backend/deploy.yaml"),
				"git commit -am 'Make a mistake' && git push",
				"flux-landscaper why installation backend -n " + sample.Namespace + "    # after 10 seconds",
				"git revert --no-edit HEAD && git push",
			}, "Flux does not wait for what is broken: the repair is live as fast.",
		},
	}
}

// hints says how to look at the landscape, and what to change to see it at work. Commands are indented by four spaces, and nothing else is.
func (d *demo) hints() []string {
	bold, dim := d.screen.Paint.Bold, d.screen.Paint.Dim
	lines := []string{
		"",
		bold("Look, in another terminal:"),
		"    . " + d.environment(),
		"    flux-landscaper tree -n " + sample.Namespace,
		"    git clone $SHOP && cd " + sample.Namespace,
		"",
		bold("Then try:"),
	}
	for i, one := range suggestions() {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, one.title))
		for _, command := range one.commands {
			lines = append(lines, "    "+command)
		}
		lines = append(lines, dim("   "+one.outcome))
	}
	return append(lines, "", "The tutorial goes on: docs/tutorial.md. Logs are in", d.programs.dir,
		bold("Ctrl-C")+" ends every process and removes every file.", "")
}

// edit is a command line that replaces text in a file, as the sed of this system wants it.
func edit(expression, file string) string {
	if runtime.GOOS == "darwin" {
		return fmt.Sprintf("sed -i '' '%s' %s", expression, file)
	}
	return fmt.Sprintf("sed -i '%s' %s", expression, file)
}

// buildCLI puts the command line for people into a folder.
func buildCLI(ctx context.Context, dir string) error {
	built, err := binaries.BuildCLI(ctx)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	// A program that runs cannot be written to, but replaced.
	path := filepath.Join(dir, cliName)
	if err := os.WriteFile(path+".new", content, 0o755); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// environment is the path of the file with the environment, from the folder that a person is in.
func (d *demo) environment() string {
	path := filepath.Join(d.dir, environmentFile)
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}

// writeEnvironment tells shells where everything is.
func (d *demo) writeEnvironment() error {
	lines := []string{
		"# How to reach what make run has started. It goes when that ends.",
		"export KUBECONFIG=" + d.platform.KubeconfigPath,
		"export SHOP=" + d.repository.CloneURL,
		"export REGISTRY=" + d.platform.Registry.Host,
		"export PATH='" + d.dir + "':$PATH",
	}
	return os.WriteFile(filepath.Join(d.dir, environmentFile), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (d *demo) removeEnvironment() error {
	err := os.Remove(filepath.Join(d.dir, environmentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
