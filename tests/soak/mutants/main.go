// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command mutants changes the code in one place at a time and reports whether tests notice. The code on disk stays as it is: the compiler gets the
// changed file as an overlay (go help build). It takes a sample of all places where a condition, a comparison, a call or an error could be wrong:
//
//	go run ./tests/soak/mutants -seed 1 -count 100 -suites ./tests/dataflow,./tests/behaviour
//
// or each condition of guards.yaml, with the tests that are named there. It ends with 1 where a test does not notice a guard. No other tests may run in
// the checkout meanwhile: the programs that suites start have the change, too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

var (
	seed    = flag.Uint64("seed", 1, "which sample is taken")
	count   = flag.Int("count", 100, "how many mutants the sample has")
	suites  = flag.String("suites", "", "packages, separated by commas, whose tests run where those of the package itself do not notice")
	only    = flag.String("guards", "", "take out the conditions of guards.yaml instead, those that match this regular expression")
	timeout = flag.Duration("timeout", 5*time.Minute, "how long the tests of a package may take; a mutant that hangs them is noticed")
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
	if *only != "" {
		return tryGuards(ctx, *only)
	}
	chosen, err := sample(*seed)
	if err != nil {
		return err
	}
	found := map[verdict]int{}
	for _, m := range chosen {
		if found[noticed]+found[noticedBySuite]+found[unnoticed] == *count {
			break
		}
		began := time.Now()
		result, err := tryMutant(ctx, m)
		if err != nil {
			return err
		}
		found[result]++
		fmt.Printf("%-18s %4.0fs  %s\n", result, time.Since(began).Seconds(), m)
	}
	fmt.Printf("%d noticed by the tests of the package, %d by a suite, %d by none; %d could not be built\n",
		found[noticed], found[noticedBySuite], found[unnoticed], found[unbuilt])
	return nil
}

func tryMutant(ctx context.Context, m *mutant) (verdict, error) {
	result, err := m.try(ctx, "", "./"+m.folder())
	if err != nil || result != unnoticed || *suites == "" {
		return result, err
	}
	result, err = m.try(ctx, "", strings.Split(*suites, ",")...)
	if result == noticed {
		result = noticedBySuite
	}
	return result, err
}

// verdict is what becomes of a mutant.
type verdict string

const (
	noticed        verdict = "noticed"
	noticedBySuite verdict = "noticed by a suite"
	unnoticed      verdict = "NOT NOTICED"
	unbuilt        verdict = "not built"
)

// try runs tests with the mutant; programs that they build have it, too. An empty pattern stands for all tests.
func (m *mutant) try(ctx context.Context, pattern string, packages ...string) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, m.changed(), 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return "", err
	}
	out, err := goTest(ctx, overlay, pattern, packages...)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return unbuilt, nil
	case err == nil:
		return unnoticed, nil
	}
	return noticed, nil
}

// goTest runs tests, with an overlay unless it is empty.
func goTest(ctx context.Context, overlay, pattern string, packages ...string) (string, error) {
	args, env := []string{"test", "-vet=off", "-failfast", "-timeout", timeout.String()}, os.Environ()
	if pattern != "" {
		args = append(args, "-run", pattern)
	}
	if overlay != "" {
		args = append(args, "-count=1") // the test binary may be the same, and a program that it starts another
		env = append(env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	return string(out), err
}
