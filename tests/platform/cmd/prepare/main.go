// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command prepare provides the programs of the test platform ahead of time, so that the first test run does not build. Where
// FLUX_LANDSCAPER_NODE is "required" it also installs and builds what a node needs, as root on Debian; else it says whether tests that run
// Pods are skipped here. With -e2e it also provides what make test does not need: kubectl, helm-controller and notification-controller, which not every
// module proxy has, and the program that upgrades begin with.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

func main() {
	e2e := flag.Bool("e2e", false, "also provide what make test does not need")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := prepare(ctx, *e2e); err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		os.Exit(1)
	}
}

func prepare(ctx context.Context, e2e bool) error {
	if platform.NodeRequired() {
		if err := platform.InstallNode(ctx, os.Stderr); err != nil {
			return err
		}
	}
	if _, err := binaries.Tools(ctx, os.Stderr); err != nil {
		return err
	}
	if err := prepareNode(ctx); err != nil {
		return err
	}
	if !e2e {
		return ctx.Err()
	}
	if _, err := binaries.Tools(ctx, os.Stderr, binaries.Kubectl); err != nil {
		return err
	}
	// Tests that need one of these say why it is missing, or fail where it cannot be built.
	for _, rare := range binaries.RareComponents {
		if _, err := binaries.Tools(ctx, os.Stderr, rare); err != nil {
			fmt.Fprintf(os.Stderr, "platform: NO TEST RUNS %s: %v\n", strings.ToUpper(string(rare)), err)
		}
	}
	if err := prepareUpgrade(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func prepareUpgrade(ctx context.Context) error {
	former, err := binaries.CheckOut(ctx, binaries.UpgradedFrom)
	if errors.Is(err, binaries.ErrNoPrevious) {
		fmt.Fprintln(os.Stderr, "platform: NOTHING IS UPGRADED:", err)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "platform: building the program of commit %.8s (cold about 60s on 2 cores)\n", former.Commit)
	_, err = former.Build(ctx, "./cmd/landscaper")
	return err
}

func prepareNode(ctx context.Context) error {
	if err := platform.CheckNode(); err != nil {
		fmt.Fprintln(os.Stderr, "platform: TESTS THAT RUN PODS ARE SKIPPED:", err)
		return nil
	}
	if _, err := binaries.Tools(ctx, os.Stderr, binaries.NodeComponents...); err != nil {
		return err
	}
	// A test that had to wait for it would run out of time.
	fmt.Fprintln(os.Stderr, "platform: building the program of our image (cold about 40s on 2 cores)")
	_, err := platform.LandscaperImage(ctx)
	return err
}
