// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/opencontainers/go-digest"
)

// File is verified content. It implements io.ReaderAt and io.Closer, and stays readable until it is closed.
type File struct {
	file  *os.File
	size  int64
	close func() error
}

// Size is the number of bytes.
func (f *File) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) { return f.file.ReadAt(p, offset) }

// Close gives the content back; closing again does nothing.
func (f *File) Close() error { return f.close() }

// Get returns the content of d after comparing all of it with the digest. It fails with ErrAbsent if there is none, or
// only a damaged copy, which it removes.
func (s *Store) Get(d digest.Digest) (*File, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("content store: %w", err)
	}
	s.mu.Lock()
	e := s.entry(d)
	there, copies := e.place != nil, e.copies
	e.holds++
	s.mu.Unlock()
	if !there {
		s.release(e)
		return nil, ErrAbsent
	}
	f, err := s.open(e)
	if err != nil {
		if errors.Is(err, ErrAbsent) {
			s.remove(e, copies)
		}
		s.release(e)
		return nil, err
	}
	s.use(e)
	return f, nil
}

// open opens and verifies the file of e, which the caller holds.
func (s *Store) open(e *entry) (*File, error) {
	file, err := os.Open(s.path(e.digest))
	if absent(err) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("content store: open: %w", err)
	}
	size, err := verified(file, e.digest)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	closing := sync.OnceValue(func() error {
		defer s.release(e)
		return file.Close()
	})
	return &File{file: file, size: size, close: closing}, nil
}

// verified returns the size of a file whose content is that of d.
func verified(file *os.File, d digest.Digest) (int64, error) {
	verifier := d.Verifier()
	size, err := io.Copy(verifier, file)
	if err != nil || !verifier.Verified() {
		return 0, ErrAbsent
	}
	return size, nil
}
