// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"testing/fstest"
)

// Limits of a snapshot.
const (
	maxSnapshotBytes   = 32 << 20
	maxSnapshotEntries = 10000
)

// Snapshot copies a directory into memory and returns the copy with the digest (sha256:hex) of its paths and contents. Equal
// trees have equal digests. It fails when the directory is too large for a blueprint. What Git keeps beside it is left out.
func Snapshot(files fs.FS) (fstest.MapFS, string, error) {
	copied := fstest.MapFS{}
	sum := sha256.New()
	total := 0
	err := fs.WalkDir(files, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == "." {
			return err
		}
		if len(copied) >= maxSnapshotEntries {
			return fmt.Errorf("the blueprint has more than %d files; set blueprint.path to its directory", maxSnapshotEntries)
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir // a working tree, of which nothing is published
		}
		if entry.IsDir() {
			copied[at] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
			return nil
		}
		content, err := fs.ReadFile(files, at)
		if err != nil && !entry.Type().IsRegular() {
			return nil // a link that leads to no file here
		}
		if err != nil {
			return err
		}
		if total += len(content); total > maxSnapshotBytes {
			return fmt.Errorf("the blueprint is larger than %d bytes; set blueprint.path to its directory", maxSnapshotBytes)
		}
		fmt.Fprintf(sum, "%s\x00%d\x00", at, len(content))
		sum.Write(content)
		copied[at] = &fstest.MapFile{Data: content, Mode: 0o444}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return copied, "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}
