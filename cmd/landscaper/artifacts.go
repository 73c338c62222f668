// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/scratch"
)

// artifactFlags say how artifacts of Flux sources are kept.
type artifactFlags struct {
	dir          string
	retries      int
	cacheBytes   int64
	maxExtracted int64
	maxDownload  int64
}

const mebibyte = 1 << 20

func (a *artifactFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.dir, "artifact-dir", "",
		"The directory that caches artifacts of Flux sources; it belongs to this process alone. By default one in the temporary directory.")
	flags.IntVar(&a.retries, "http-retry", 9, "The maximum number of retries when failing to fetch artifacts over HTTP.")
	flags.Int64Var(&a.cacheBytes, "artifact-cache-size", 1024*mebibyte, "The bytes on disk that unused artifacts may take.")
	flags.Int64Var(&a.maxDownload, "artifact-max-download", 64*mebibyte, "The largest download of an artifact, in bytes.")
	flags.Int64Var(&a.maxExtracted, "artifact-max-extracted", 256*mebibyte, "The largest extracted artifact, in bytes.")
}

// open returns the store, and a function that removes what no later process can use.
func (a *artifactFlags) open() (*fetch.Store, func(), error) {
	dir, cleanUp := a.dir, func() {}
	if dir == "" {
		made, err := scratch.Make("landscaper-artifacts-")
		if err != nil {
			return nil, nil, fmt.Errorf("make a directory for artifacts: %w", err)
		}
		dir, cleanUp = made.Path, func() { _ = made.Remove() }
	}
	store, err := fetch.New(fetch.Options{
		Dir: filepath.Clean(dir), Retries: a.retries, CacheBytes: a.cacheBytes,
		MaxExtracted: a.maxExtracted, MaxDownload: a.maxDownload, HostOverwrite: os.Getenv("SOURCE_CONTROLLER_LOCALHOST"),
	})
	if err != nil {
		cleanUp()
		return nil, nil, fmt.Errorf("--artifact-dir: %w", err)
	}
	return store, cleanUp, nil
}
