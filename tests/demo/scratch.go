// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	scratchVariable = "GOTMPDIR"
	scratchInterval = 10 * time.Millisecond
	scratchTimeout  = 5 * time.Second
)

// useScratch makes the go command work in a folder of its own, because a build that is interrupted does not clean up. The returned
// function removes the folder.
func useScratch() (remove func() error, err error) {
	dir, err := os.MkdirTemp("", "flux-landscaper-demo-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for builds: %w", err)
	}
	if err := os.Setenv(scratchVariable, dir); err != nil {
		return nil, err
	}
	return func() error { return removeAll(dir) }, nil
}

// removeAll removes a folder that compilers, killed a moment ago, may still write to.
func removeAll(dir string) error {
	var last error
	_ = wait.PollUntilContextTimeout(context.Background(), scratchInterval, scratchTimeout, true, func(context.Context) (bool, error) {
		last = os.RemoveAll(dir)
		return last == nil, nil
	})
	return last
}
