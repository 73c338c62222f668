// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// objectsIn keeps objects in a directory until ctx ends.
func objectsIn(ctx context.Context, dir string) *filesystem.Storage {
	return filesystem.NewStorage(endingFiles{osfs.New(dir), ctx}, cache.NewObjectLRU(cache.MiByte))
}

// endingFiles are files that can be read until ctx ends. The library knows no context while it resolves deltas, but reads each of them from its file.
type endingFiles struct {
	billy.Filesystem
	ctx context.Context
}

// Open implements billy.Basic.
func (e endingFiles) Open(name string) (billy.File, error) {
	file, err := e.Filesystem.Open(name)
	if err != nil {
		return nil, err
	}
	return endingFile{file, e.ctx}, nil
}

type endingFile struct {
	billy.File
	ctx context.Context
}

// Read implements io.Reader.
func (e endingFile) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.File.Read(p)
}
