// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed guards.yaml
var list []byte

// guard is a condition without which something is lost, leaks or is done twice.
type guard struct {
	// Keeps says what would happen without it.
	Keeps string `json:"keeps"`
	// Folder, Function and Condition say where it is: a folder of the repository, a function or Type.Method in it, and the condition of an if there.
	Folder    string `json:"folder"`
	Function  string `json:"function"`
	Condition string `json:"condition"`
	// Tests notice: a folder, and a regular expression as go test -run takes it.
	In    string `json:"in"`
	Tests string `json:"tests"`
}

func guards() ([]guard, error) {
	var all []guard
	if err := yaml.UnmarshalStrict(list, &all); err != nil {
		return nil, fmt.Errorf("guards.yaml: %w", err)
	}
	return all, nil
}

// without returns the mutant in which the condition of the guard never holds.
func (g guard) without(root string) (*mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, g.Folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var found []*mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		all, err := mutantsOf(file)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if m.function == g.Function && m.put == "("+g.Condition+") && false" {
				found = append(found, m)
			}
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("guard %q: function %s in %s has the condition %q %d times, not once; correct guards.yaml",
			g.Keeps, g.Function, g.Folder, g.Condition, len(found))
	}
	return found[0], nil
}

func tryGuards(ctx context.Context, pattern string) error {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("-guards: %w", err)
	}
	all, err := guards()
	if err != nil {
		return err
	}
	missed := 0
	for _, g := range all {
		if !chosen.MatchString(g.Keeps) {
			continue
		}
		began := time.Now()
		result, err := g.try(ctx)
		if err != nil {
			return err
		}
		if result != noticed {
			missed++
		}
		fmt.Printf("%-18s %4.0fs  %s (%s %s)\n", result, time.Since(began).Seconds(), g.Keeps, g.In, g.Tests)
	}
	if missed > 0 {
		return fmt.Errorf("%d guards can go without a test that notices", missed)
	}
	return nil
}

func (g guard) try(ctx context.Context) (verdict, error) {
	m, err := g.without(".")
	if err != nil {
		return "", err
	}
	tests := "^(" + g.Tests + ")$"
	if out, err := goTest(ctx, "", tests, "./"+g.In); err != nil {
		return "", fmt.Errorf("guard %q: its tests fail with it, too: %s", g.Keeps, out)
	}
	return m.try(ctx, tests, "./"+g.In)
}
