// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the product on one machine: it starts a real Kubernetes with Flux, a Git server and an OCI registry, commits a sample
// landscape, shows how it deploys itself, says what to edit and push, and removes everything at Ctrl-C.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// options are the flags.
type options struct {
	exit    bool
	timeout time.Duration
}

func main() {
	opts := options{}
	flag.BoolVar(&opts.exit, "exit", false, "Print the tree when the landscape is ready and leave; the exit code is 0 only then.")
	flag.DurationVar(&opts.timeout, "timeout", 5*time.Minute, "How long the landscape may take to become ready, counted from the commit.")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once; the kernel then ends its children
	}()
	if err := run(ctx, opts, landscape.NewScreen(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
