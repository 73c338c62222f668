// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package sidecar is what runs in a Pod of the container deployer beside the user's program: Init prepares its files, Wait stores what
// it leaves. Both find everything by environment variables, see package layout. The user's program may have written anything to the
// volume that they share, so Wait never follows a link out of it. It promises nothing to others.
package sidecar

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/archive"
)

// Environment returns the value of an environment variable, as os.Getenv does.
type Environment func(name string) string

// need returns the value of a variable that has to be set.
func (e Environment) need(name string) (string, error) {
	value := e(name)
	if value == "" {
		return "", fmt.Errorf("the environment variable %s is not set; this command is started by the container deployer", name)
	}
	return value, nil
}

// number returns the value of a variable that has to be a positive number.
func (e Environment) number(name string) (int64, error) {
	value, err := strconv.ParseInt(e(name), 10, 64)
	if err != nil || value <= 0 {
		return 0, fmt.Errorf("the environment variable %s is not a positive number; this command is started by the container deployer", name)
	}
	return value, nil
}

// openBelow opens the directory that a path lies in and returns it with the name of the path in it.
func openBelow(path string) (*os.Root, string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	return root, filepath.Base(path), err
}

// maxEntries is how many files and directories an archive may have.
const maxEntries = 100_000

// limitsOf are the limits of an archive of so many bytes; what it was made from may have ten times as many.
func limitsOf(packed, bytes int64) archive.Limits {
	return archive.Limits{Packed: packed, Bytes: bytes, Entries: maxEntries}
}
