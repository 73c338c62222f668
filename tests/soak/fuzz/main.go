// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command fuzz runs the fuzz targets of this module one after the other, each for a given time under a memory cap, and keeps the
// small inputs that reached new code as seeds beside the target, in testdata/fuzz: every go test runs them from then on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	match := flag.String("run", ".", "Targets to fuzz: a regular expression for package.Name, such as template.FuzzSpiff.")
	var limits limits
	flag.DurationVar(&limits.time, "time", 10*time.Minute, "How long to fuzz each target.")
	flag.Int64Var(&limits.memory, "memory", 1<<30, "The bytes that a target may keep in memory; more is a failure.")
	flag.IntVar(&limits.workers, "workers", 1, "How many processes fuzz a target at the same time; each has the memory to itself.")
	keep := flag.Int("keep", 40, "How many inputs to keep as seeds for a target.")
	list := flag.Bool("list", false, "Only print the targets.")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := fuzz(ctx, *match, *list, limits, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func fuzz(ctx context.Context, match string, list bool, limits limits, keep int) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	targets, err := find(pattern)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("-run %q matches no fuzz target", match)
	}
	for _, t := range targets {
		if list {
			fmt.Println(t)
			continue
		}
		fmt.Printf("==> %s for %s, at most %d MiB\n", t, limits.time, limits.memory>>20)
		peak, err := t.run(ctx, limits)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		kept, err := t.keepSeeds(keep)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		fmt.Printf("    peak memory of a process %d MiB, %d new seeds\n", peak>>20, kept)
	}
	return nil
}
