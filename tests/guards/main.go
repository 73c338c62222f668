// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command guards takes each guard of guards.yaml out of the code, one after the other, and reports whether the test beside it passes with it and fails
// without it.
// The code on disk stays as it is: the compiler gets the changed file as an overlay (go help build). It ends with 1 where a test does not notice.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed guards.yaml
var list []byte

// guard is one condition without which something is lost, leaks or hangs.
type guard struct {
	// Guard says what it keeps from happening.
	Guard string `json:"guard"`
	// File is its path from the root of the repository.
	File string `json:"file"`
	// Take is the code that is the guard. It is there once. Put is what stands there without it.
	Take string `json:"take"`
	Put  string `json:"put"`
	// Package and Test name the tests that notice: a path from the root, and a regular expression as go test -run takes it.
	Package string `json:"package"`
	Test    string `json:"test"`
}

func guards() ([]guard, error) {
	var all []guard
	if err := yaml.UnmarshalStrict(list, &all); err != nil {
		return nil, fmt.Errorf("guards.yaml: %w", err)
	}
	return all, nil
}

// without returns the file of a guard without it.
func (g guard) without(root string) ([]byte, error) {
	code, err := os.ReadFile(filepath.Join(root, g.File))
	if err != nil {
		return nil, err
	}
	if found := strings.Count(string(code), g.Take); found != 1 {
		return nil, fmt.Errorf("guard %q: %s has its code %d times, not once; correct take", g.Guard, g.File, found)
	}
	return []byte(strings.Replace(string(code), g.Take, g.Put, 1)), nil
}

var (
	only    = flag.String("run", ".", "the guards to take out, a regular expression on what they keep from happening")
	timeout = flag.Duration("timeout", 3*time.Minute, "how long the tests of one guard may take; one that hangs has noticed")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "✗", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	all, err := guards()
	if err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	missed := 0
	for _, g := range all {
		if !chosen.MatchString(g.Guard) {
			continue
		}
		began := time.Now()
		verdict, err := g.try(ctx, root)
		if err != nil {
			return err
		}
		if verdict != noticed {
			missed++
		}
		fmt.Printf("%-12s %4.0fs  %s (%s %s)\n", verdict, time.Since(began).Seconds(), g.Guard, g.Package, g.Test)
	}
	if missed > 0 {
		return fmt.Errorf("%d guards can go without a test that notices", missed)
	}
	return nil
}

// What becomes of a guard that is taken out.
const (
	noticed   = "noticed"
	unnoticed = "NOT NOTICED"
	unbuilt   = "NOT BUILT"
	broken    = "FAILS WITH THE GUARD, TOO"
)

// try runs the tests of a guard with it, unless the go command knows that they pass, and then without it.
func (g guard) try(ctx context.Context, root string) (string, error) {
	if out, err := g.test(ctx); err != nil {
		return broken + ": " + firstLine(out), ctx.Err()
	}
	code, err := g.without(root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, g.File): changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, code, 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return "", err
	}
	out, err := g.test(ctx, "-count=1", "-overlay", overlay)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case strings.Contains(string(out), "[build failed]"), strings.Contains(string(out), "[setup failed]"):
		return unbuilt + ": " + firstLine(out), nil
	case err == nil:
		return unnoticed, nil
	}
	return noticed, nil
}

// test runs the tests of a guard.
func (g guard) test(ctx context.Context, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-vet=off", "-failfast", "-timeout", timeout.String()}, flags...)
	return exec.CommandContext(ctx, "go", append(args, "-run", "^("+g.Test+")$", g.Package)...).CombinedOutput()
}

// firstLine returns the first line of an output that is not a heading.
func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "#") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
