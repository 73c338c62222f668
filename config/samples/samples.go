// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package samples holds manifests to read, to copy and to try: they are the landscape that the demo runs.
package samples

import (
	"embed"
	"io/fs"
)

//go:embed landscape
var files embed.FS

// Landscape returns the files of the sample landscape as they lie in a Git repository. sync.yaml holds the placeholders ${clone_url}
// and ${registry}; below installations, Flux itself fills in ${registry} (host:port of an OCI registry).
func Landscape() fs.FS {
	landscape, err := fs.Sub(files, "landscape")
	if err != nil {
		panic(err) // only for an invalid path, and this one is fixed
	}
	return landscape
}
