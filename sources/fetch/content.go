// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/opencontainers/go-digest"
)

// Content is content that the caller gets by himself, from a registry or a Git server for instance. Whether he may have it
// is his to know before he asks the store, which serves it to everybody who names the same Scope and ID.
type Content struct {
	// Name says in messages what it is, for instance `resource "chart" of example.com/shop:1.0.0`.
	Name string
	// Scope is where it comes from, such as host and repository: content of one scope is not served for another, so that
	// nobody receives by its mere digest what a server would refuse. Required.
	Scope string
	// ID identifies the content within its scope for ever: a digest, or the hash of a commit. Required.
	ID string
	// Digest, if set, is what the content has to have.
	Digest digest.Digest
	// Write writes the content to w; its error reaches the caller as it is. It may be called again after an error.
	Write func(ctx context.Context, w io.Writer) error
}

// key names the content in the cache. It is a hash since scope and id may hold anything and must not be read from the disk.
func (c Content) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", c.Scope, c.ID))
	return "content-" + hex.EncodeToString(sum[:])
}

func (s *Store) order(c Content) (order, error) {
	a := Artifact{content: c.Name}
	if c.Scope == "" || c.ID == "" || c.Name == "" || c.Write == nil {
		return order{}, errors.New("artifact store: a Content needs Name, Scope, ID and Write")
	}
	if c.Digest != "" && c.Digest.Validate() != nil {
		return order{}, refuse(ErrDigest, a.String(), fmt.Sprintf("its digest %q cannot be used", c.Digest),
			"publish it with a digest such as sha256:<64 hex digits>")
	}
	return order{a, c.key(), "", func(ctx context.Context, f *os.File) error { return s.receive(ctx, c, f) }}, nil
}

// receive lets c write itself to f, held to the limit and the digest.
func (s *Store) receive(ctx context.Context, c Content, f *os.File) error {
	if err := rewind(f); err != nil {
		return err
	}
	check := newChecker(c.Digest)
	limited := &cappedWriter{w: io.MultiWriter(f, check), left: s.options.MaxDownload}
	err := c.Write(ctx, limited)
	switch {
	case limited.full:
		return refuse(ErrTooLarge, c.Name, fmt.Sprintf("it is larger than the limit of %d bytes", s.options.MaxDownload),
			"make it smaller, or raise the limit of the controller")
	case err != nil:
		return err
	case !check.passed():
		return refuse(ErrDigest, c.Name, fmt.Sprintf("its content does not have the digest %s", c.Digest),
			"publish it anew; if that does not help, somebody changed it on the way")
	}
	return nil
}

// Extract returns the files of the tar or gzipped tar c, cached like Open. Write is called only if the store does not hold
// it yet, once for all who wait. The Digest of the Tree is the one of c.
func (s *Store) Extract(ctx context.Context, c Content) (*Tree, error) {
	o, err := s.order(c)
	if err != nil {
		return nil, err
	}
	return s.tree(ctx, o, c.Digest)
}

// File is content kept on disk. It must be closed.
type File struct {
	*os.File
	// Size in bytes.
	Size int64

	release func()
}

// Close gives the file back; the cache may drop it then.
func (f *File) Close() error {
	err := f.File.Close()
	f.release()
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

// Keep returns c as one file, cached like Extract.
func (s *Store) Keep(ctx context.Context, c Content) (*File, error) {
	o, err := s.order(c)
	if err != nil {
		return nil, err
	}
	e, err := s.obtain(ctx, o, fileForm)
	if err != nil {
		return nil, err
	}
	f, err := s.openKept(e)
	if err != nil {
		s.cache.release(e)
		return nil, fmt.Errorf("%s: open it in the cache: %w", o.artifact, err)
	}
	return f, nil
}

func (s *Store) openKept(e *entry) (*File, error) {
	f, err := os.Open(s.cache.content(e))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	kept := &File{File: f, Size: info.Size(), release: onceRelease(s.cache, e)}
	runtime.AddCleanup(kept, func(free func()) { free() }, kept.release)
	return kept, nil
}
