// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	chaos    = "./tests/soak/chaos"
	tenants  = "./tests/soak/tenants"
	property = "./tests/soak/property"
	bench    = "./tests/soak/bench"

	// landscapes is how many random ones there are before the first comes again, and together is how many live at a time.
	landscapes, together = 200, 4
	fuzzTime             = "2m"
	benchSizes           = "LANDSCAPER_BENCH_SIZES=200,1000"
)

// kind is parts of one sort, and how many of them this run has done.
type kind struct {
	name  string
	parts []part
	done  int
	// tells says that what its parts print is of interest also where they succeed.
	tells bool
}

// kinds finds all that there is to do. The current folder is the root of the repository.
func kinds(ctx context.Context) ([]*kind, error) {
	deaths, err := listed(ctx, chaos, "Test")
	if err != nil {
		return nil, err
	}
	benchmarks, err := listed(ctx, bench, "Benchmark")
	if err != nil {
		return nil, err
	}
	acts, err := matches(`(?m)^\t\{"([^"]+)", `, "tests/soak/tenants/acts_test.go")
	if err != nil {
		return nil, err
	}
	guards, err := matches(`(?m)^- keeps: "(.+)"$`, "tests/soak/mutants/guards.yaml")
	if err != nil {
		return nil, err
	}
	targets, err := lines(ctx, "go", "run", "./tests/soak/fuzz", "-list")
	if err != nil {
		return nil, err
	}
	writes, hostile, released, random := &kind{name: "deaths"}, &kind{name: "acts"}, &kind{name: "what acts hold"}, &kind{name: "landscapes"}
	fuzzed, guarded, measured, rest := &kind{name: "fuzz"}, &kind{name: "guards"}, &kind{name: "benchmarks", tells: true}, &kind{name: "other tests"}
	for _, name := range deaths {
		writes.add(name, nil, test(chaos, "-run", "^"+name+"$"))
	}
	for _, act := range acts {
		only := "^TestNobodyStopsSlowsOrSwells$/^" + regexp.QuoteMeta(strings.ReplaceAll(act, " ", "_")) + "$"
		hostile.add(act, exact, test(tenants, "-run", only))
		released.add(act, nil, test(tenants, "-run", only))
	}
	for seed := 1; seed <= landscapes; seed += together {
		random.add(fmt.Sprintf("seeds %d to %d", seed, seed+together-1), nil,
			append(test(property, "-run", "^TestRandomLandscapes$"), "-args", "-first", strconv.Itoa(seed), "-seeds", strconv.Itoa(together), "-kills", "8"))
	}
	for _, target := range targets {
		fuzzed.add(target, nil, []string{"go", "run", "./tests/soak/fuzz", "-run", "^" + regexp.QuoteMeta(target) + "$", "-time", fuzzTime})
	}
	for _, guard := range guards {
		guarded.add(guard, nil, []string{"go", "run", "./tests/soak/mutants", "-guards", "^" + regexp.QuoteMeta(guard) + "$"})
	}
	for _, name := range benchmarks {
		measured.add(name, []string{benchSizes}, test(bench, "-run", "^$", "-bench", "^"+name+"$", "-benchtime", "1x"))
	}
	if err := rest.addTests(); err != nil {
		return nil, err
	}
	return []*kind{writes, hostile, released, random, fuzzed, guarded, measured, rest}, nil
}

// addTests adds the tests named TestSoak… of all folders.
func (k *kind) addTests() error {
	return filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, found := range soakTest.FindAllSubmatch(content, -1) {
			name := string(found[1])
			k.add(name, exact, test("./"+filepath.Dir(path), "-run", "^"+name+"$"))
		}
		return err
	})
}

var (
	soakTest = regexp.MustCompile(`(?m)^func (TestSoak\w+)\(`)
	// exact has tests keep their times: nothing else runs.
	exact = []string{"TEST_PACE=exact"}
)

func (k *kind) add(name string, env, command []string) {
	k.parts = append(k.parts, part{name: name, env: env, command: command})
}

// test is a command for tests of a package.
func test(pkg string, args ...string) []string {
	return append([]string{"go", "test", "-vet=off", "-count=1", "-timeout", "60m", pkg}, args...)
}

// listed returns the tests of a package that make test does not run, or its benchmarks.
func listed(ctx context.Context, pkg, prefix string) ([]string, error) {
	names, err := lines(ctx, "go", "test", "-vet=off", "-list", "^"+prefix, pkg)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, "TestGate") }), err
}

// lines returns what a command prints.
func lines(ctx context.Context, name string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// matches returns the first group of each match in a file.
func matches(pattern, file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(content, -1) {
		found = append(found, string(match[1]))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has nothing that matches %s", file, pattern)
	}
	return found, nil
}
