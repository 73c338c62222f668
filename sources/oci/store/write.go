// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
)

// The ways in which content can differ from what was announced.
var (
	// ErrDigest: the content is not that of its digest.
	ErrDigest = errors.New("the content received is not that of its digest")
	// ErrLonger: there is more content than announced.
	ErrLonger = errors.New("more bytes were received than announced")
	// ErrShorter: there is less content than announced.
	ErrShorter = errors.New("fewer bytes were received than announced")
)

// Put stores what fill writes as the content of d, of size bytes. Nothing appears unless all of it is right: fill has to
// return nil, and the error is ErrDigest, ErrLonger or ErrShorter if the content is another one. Content that is larger
// than the limit stays as long as it is held.
func (s *Store) Put(d digest.Digest, size int64, fill func(io.Writer) error) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("content store: %w", err)
	}
	file, err := os.CreateTemp(s.temp(), "in-")
	if err != nil {
		return fmt.Errorf("content store: make a file: %w", err)
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	checked := &checkedWriter{file: file, left: size, verifier: d.Verifier()}
	if err := fill(checked); err != nil {
		return err
	}
	if err := checked.complete(); err != nil {
		return err
	}
	if err := s.commit(file, d, size); err != nil {
		return fmt.Errorf("content store: move content into place: %w", err)
	}
	s.evict()
	return nil
}

// commit makes the file durable before it gets the name under which it is served.
func (s *Store) commit(file *os.File, d digest.Digest, size int64) error {
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	folder := filepath.Dir(s.path(d))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := s.place(file.Name(), d, size); err != nil {
		return err
	}
	return s.sync(folder) // without the lock: a name that a crash takes away is only downloaded again
}

// place gives a file the name under which it is served.
func (s *Store) place(file string, d digest.Digest, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(file, s.path(d)); err != nil {
		return err
	}
	s.keep(s.entry(d), size)
	return nil
}

// syncFolder makes the names in a folder durable; where folders cannot be synced, the file system does it in its own time.
func syncFolder(path string) error {
	folder, err := os.Open(path) // #nosec G304 -- below the own directory
	if err != nil {
		return err
	}
	_ = folder.Sync()
	return folder.Close()
}

// checkedWriter writes to the file what belongs to the digest and size.
type checkedWriter struct {
	file     *os.File
	left     int64
	verifier digest.Verifier
}

// Write implements io.Writer. It refuses what exceeds the size before writing any of it.
func (w *checkedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		return 0, ErrLonger
	}
	n, err := w.file.Write(p)
	w.left -= int64(n)
	_, _ = w.verifier.Write(p[:n])
	if err != nil {
		return n, fmt.Errorf("content store: write: %w", err)
	}
	return n, nil
}

func (w *checkedWriter) complete() error {
	switch {
	case w.left > 0:
		return ErrShorter
	case !w.verifier.Verified():
		return ErrDigest
	}
	return nil
}
