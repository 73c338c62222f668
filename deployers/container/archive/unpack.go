// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Permissions of what is unpacked: the owner and the group of the volume may always read and write.
const (
	DirectoryMode = 0o770
	FileMode      = 0o660
)

// errArchive is the failure of archives that are larger than allowed, or unpack to more.
var errArchive = fmt.Errorf("the archive: %w", ErrTooLarge)

// Unpack writes the content of an archive below a directory that it cannot leave. It keeps whether files are executable. An archive
// with anything but files and directories, with paths that leave the directory, or beyond the limits is an error.
func Unpack(packed io.Reader, root *os.Root, limits Limits) error {
	unzipped, err := gzip.NewReader(egress.Reader(packed, limits.Packed, errArchive))
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	defer unzipped.Close()
	// What tar needs beside the files: a header and padding for each.
	overhead := int64(limits.Entries+1)*4096 + 1<<20
	entries, content := tar.NewReader(egress.Reader(unzipped, limits.Bytes+overhead, errArchive)), limits.Bytes
	for count := 0; ; count++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if count >= limits.Entries {
			return fmt.Errorf("the archive has more than %d entries: %w", limits.Entries, ErrTooLarge)
		}
		written, err := extract(root, header, entries, content)
		if err != nil {
			return err
		}
		content -= written
	}
}

// extract writes one entry of at most limit bytes and returns its size.
func extract(root *os.Root, header *tar.Header, content io.Reader, limit int64) (int64, error) {
	name := path.Clean(strings.TrimSuffix(header.Name, "/"))
	if name == "." && header.Typeflag == tar.TypeDir {
		return 0, nil
	}
	if !filepath.IsLocal(name) || name == "." {
		return 0, fmt.Errorf("the archive holds the path %.200q, which leaves the directory", header.Name)
	}
	if err := checkPath(name); err != nil {
		return 0, err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return 0, root.MkdirAll(name, DirectoryMode)
	case tar.TypeReg:
		return writeFile(root, name, fs.FileMode(header.Mode&0o777), io.LimitReader(content, limit+1), limit) //nolint:gosec // nine bits
	}
	return 0, fmt.Errorf("the archive holds %.200q, which is neither a file nor a directory", header.Name)
}

// Limits of one path.
const (
	maxPath  = 1024
	maxDepth = 64
)

// checkPath refuses paths that are too long or too deep, so that a short archive makes no endless directories.
func checkPath(name string) error {
	if len(name) > maxPath || strings.Count(name, "/") >= maxDepth {
		return fmt.Errorf("the path %.200q has more than %d bytes or %d directories: %w", name, maxPath, maxDepth, ErrTooLarge)
	}
	return nil
}

func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader, limit int64) (int64, error) {
	if err := root.MkdirAll(path.Dir(name), DirectoryMode); err != nil {
		return 0, err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|FileMode)
	if err != nil {
		return 0, err
	}
	written, err := io.Copy(file, content)
	if err := errors.Join(err, file.Close()); err != nil {
		return written, fmt.Errorf("write %s: %w", name, err)
	}
	if written > limit {
		return written, fmt.Errorf("the files of the archive are larger than allowed: %w", ErrTooLarge)
	}
	return written, nil
}
