// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/flux-landscaper/flux-landscaper/publishing/pack"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
)

// WriteCTF writes component versions as a directory in Common Transport Format. The directory appears when it is complete. One that
// exists is an error, unless overwrite is set: then it is replaced.
func WriteCTF(dir string, versions []formats.Version, overwrite bool) error {
	return write(dir, overwrite, func(sink formats.Sink) error {
		return formats.WriteCTF(sink, versions, "")
	})
}

// WriteArchive writes one component version as a component archive, like WriteCTF.
func WriteArchive(dir string, v formats.Version, overwrite bool) error {
	return write(dir, overwrite, func(sink formats.Sink) error {
		return formats.WriteArchive(sink, v, "")
	})
}

func write(dir string, overwrite bool, fill func(formats.Sink) error) error {
	taken, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %s cannot be read: %w", dir, err)
	case len(taken) > 0 && !overwrite:
		return fmt.Errorf("directory %s is not empty; name another one, or add --overwrite to replace it", dir)
	case len(taken) > 0 && !replaceable(taken):
		return fmt.Errorf("directory %s holds something else than component versions and is not replaced; name another one", dir)
	}
	return pack.Place(dir, true, func(root *os.Root) error { return fill(directorySink{root}) })
}

// replaceable reports whether a directory is an archive, so that --overwrite cannot remove anything else.
func replaceable(entries []fs.DirEntry) bool {
	known := map[string]bool{formats.DescriptorFile: true, "artifact-index.json": true, "blobs": true}
	for _, entry := range entries {
		if !known[entry.Name()] {
			return false
		}
	}
	return true
}

// directorySink writes files below a directory.
type directorySink struct{ root *os.Root }

// Put implements formats.Sink.
func (s directorySink) Put(name string, size int64, content io.Reader) error {
	if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("directory of %s cannot be made: %w", name, err)
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("file %s cannot be made: %w", name, err)
	}
	_, err = io.CopyN(f, content, size)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("file %s cannot be written: %w", name, err)
	}
	return nil
}
