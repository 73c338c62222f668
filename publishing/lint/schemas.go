// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"embed"
	"io/fs"
)

//go:embed schemas
var schemas embed.FS

// Schemas are the JSON schemas (draft 7) of the documents that persons write, as <kind>.json in lower case, and as <deployer>-<version>.json for the
// configurations of deploy items. make generate makes them of the CRDs and the Go types.
func Schemas() fs.FS {
	files, err := fs.Sub(schemas, "schemas")
	if err != nil {
		panic(err) // only for an invalid path, and this one is fixed
	}
	return files
}
