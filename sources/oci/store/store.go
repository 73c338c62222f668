// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// Layout of the directory: blobs/<algorithm>/<first two digits>/<digest>, and tmp for what is being written.
const (
	blobsName = "blobs"
	tempName  = "tmp"
)

// blockBytes is the disk space counted for each blob beside its bytes.
const blockBytes = 4096

// ErrAbsent says that the content is not there, or was damaged and is removed.
var ErrAbsent = errors.New("not in the store")

// Store is content on disk by digest. It is safe for concurrent use by one process.
type Store struct {
	dir   string
	limit int64
	// sync makes the names in a folder durable.
	sync func(folder string) error

	mu      sync.Mutex
	entries map[digest.Digest]*entry
	recent  memory.Recent[*entry] // those that are ready
}

// entry is one digest. Its fields belong to the lock of the store.
type entry struct {
	digest digest.Digest
	holds  int
	place  *memory.Item[*entry] // nil unless the content is there
	// copies counts the writes, so that whoever finds an old copy damaged does not remove a new one.
	copies int
}

// Open takes over dir, which it makes with mode 0700 if need be: what an earlier process finished is kept, the rest is
// removed. limit is the disk space, in bytes, of content that nobody reads.
func Open(dir string, limit int64) (*Store, error) {
	s := &Store{dir: dir, limit: limit, sync: syncFolder, entries: map[digest.Digest]*entry{}}
	if err := os.RemoveAll(s.temp()); err != nil {
		return nil, fmt.Errorf("content store: clear its folder %s: %w", tempName, err)
	}
	for _, folder := range []string{s.temp(), filepath.Join(dir, blobsName)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("content store: make its directory: %w", err)
		}
	}
	if err := s.adopt(); err != nil {
		return nil, err
	}
	s.evict()
	return s, nil
}

func (s *Store) temp() string { return filepath.Join(s.dir, tempName) }

// path is where d lies. The digest has to be valid, so that it cannot name another place.
func (s *Store) path(d digest.Digest) string {
	return filepath.Join(s.dir, blobsName, d.Algorithm().String(), d.Encoded()[:2], d.Encoded())
}

// Hold keeps d from being removed, if it is there or arrives, until release is called, once.
func (s *Store) Hold(d digest.Digest) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(d)
	e.holds++
	return func() { s.release(e) }
}

// entry returns the entry of d, with the lock held.
func (s *Store) entry(d digest.Digest) *entry {
	e := s.entries[d]
	if e == nil {
		e = &entry{digest: d}
		s.entries[d] = e
	}
	return e
}

func (s *Store) release(e *entry) {
	s.mu.Lock()
	e.holds--
	if e.holds == 0 && e.place == nil {
		delete(s.entries, e.digest)
	}
	s.mu.Unlock()
	s.evict()
}

// use notes that e is read; losing the time on disk costs the order after a restart.
func (s *Store) use(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.place == nil {
		return
	}
	s.recent.Use(e.place)
	now := time.Now()
	_ = os.Chtimes(s.path(e.digest), now, now)
}

// keep notes that the content of e is there, with the lock held.
func (s *Store) keep(e *entry, size int64) {
	s.forget(e)
	e.place = s.recent.Add(e, size+blockBytes)
	e.copies++
}

// forget notes that the content of e is gone, with the lock held.
func (s *Store) forget(e *entry) {
	if e.place == nil {
		return
	}
	s.recent.Remove(e.place)
	e.place = nil
}

// evict removes content that nobody holds until the limit is kept, the least recently used first.
func (s *Store) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.recent.Weight() > s.limit {
		found := s.recent.Oldest(func(e *entry) bool { return e.holds == 0 })
		if found == nil {
			return
		}
		e := found.Value
		s.forget(e)
		delete(s.entries, e.digest)
		_ = os.Remove(s.path(e.digest))
	}
}

// remove drops the copy of e that was found damaged, unless another one has replaced it.
func (s *Store) remove(e *entry, copies int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.copies != copies || e.place == nil {
		return
	}
	s.forget(e)
	_ = os.Remove(s.path(e.digest))
}

// Used is the disk space, in bytes, that the content takes.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recent.Weight()
}

// absent reports that a file has vanished.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
