// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ErrTooLarge is inside the error about a directory beyond its limits.
var ErrTooLarge = errors.New("too large")

// Limits of an archive. All have to be set.
type Limits struct {
	// Bytes of all files together.
	Bytes int64
	// Packed is the size of the archive in bytes.
	Packed int64
	// Entries counts files and directories.
	Entries int
}

// Packer writes an archive into memory.
type Packer struct {
	limits  Limits
	out     bounded
	zip     *gzip.Writer
	tar     *tar.Writer
	bytes   int64
	entries int
}

// NewPacker returns an empty archive.
func NewPacker(limits Limits) *Packer {
	p := &Packer{limits: limits, out: bounded{limit: limits.Packed}}
	p.zip = gzip.NewWriter(&p.out)
	p.tar = tar.NewWriter(p.zip)
	return p
}

// Entries is how many files and directories were added.
func (p *Packer) Entries() int { return p.entries }

// AddFile adds a file.
func (p *Packer) AddFile(name string, mode fs.FileMode, content []byte) error {
	return p.add(name, mode, int64(len(content)), bytes.NewReader(content))
}

// AddDirectory adds what a directory holds, below prefix ("" is the root). Equal directories give equal archives. Errors name the entry that
// cannot be packed.
func (p *Packer) AddDirectory(prefix string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if at == "." {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(prefix+"/"+at, "/")
		switch {
		case entry.IsDir():
			return p.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(info.Mode().Perm())})
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is %s; keep only files and directories there", name, describe(info.Mode()))
		}
		file, err := files.Open(at)
		if err != nil {
			return err
		}
		defer file.Close()
		return p.add(name, info.Mode(), info.Size(), file)
	})
}

// Close returns the archive.
func (p *Packer) Close() ([]byte, error) {
	if err := errors.Join(p.tar.Close(), p.zip.Close()); err != nil {
		return nil, err
	}
	return p.out.Bytes(), nil
}

func (p *Packer) add(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if p.bytes += size; p.bytes > p.limits.Bytes {
		return fmt.Errorf("the files have more than %d bytes: %w; keep less there", p.limits.Bytes, ErrTooLarge)
	}
	if err := p.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode.Perm()), Size: size}); err != nil {
		return err
	}
	if copied, err := io.Copy(p.tar, io.LimitReader(content, size)); err != nil || copied != size {
		return fmt.Errorf("%s cannot be read completely: %w", name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return p.tar.Flush()
}

func (p *Packer) header(h *tar.Header) error {
	if p.entries++; p.entries > p.limits.Entries {
		return fmt.Errorf("there are more than %d files and directories: %w; keep fewer there", p.limits.Entries, ErrTooLarge)
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("%s cannot be packed: %w", h.Name, err)
	}
	return nil
}

func describe(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "neither a file nor a directory"
}

// bounded is a buffer with a limit.
type bounded struct {
	bytes.Buffer
	limit int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if int64(b.Len()+len(p)) > b.limit {
		return 0, fmt.Errorf("the archive has more than %d bytes: %w; keep less there", b.limit, ErrTooLarge)
	}
	return b.Buffer.Write(p)
}

// Permissions of what is unpacked: the owner and the group of the volume may always read and write.
const (
	DirectoryMode = 0o770
	FileMode      = 0o660
)

// Unpack writes the content of an archive that a Packer made below a directory that it cannot leave. It keeps whether files are executable.
func Unpack(packed io.Reader, root *os.Root) error {
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := extract(root, header, entries); err != nil {
			return fmt.Errorf("unpack %.200q: %w", header.Name, err)
		}
	}
}

func extract(root *os.Root, header *tar.Header, content io.Reader) error {
	name := path.Clean(header.Name)
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, DirectoryMode)
	case tar.TypeReg:
	default:
		return errors.New("it is neither a file nor a directory")
	}
	if err := root.MkdirAll(path.Dir(name), DirectoryMode); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fs.FileMode(header.Mode&0o777)|FileMode) //nolint:gosec // nine bits
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content) // #nosec G110 -- the Packer had limits
	return errors.Join(err, file.Close())
}
