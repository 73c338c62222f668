// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// leftover is content of an earlier process. It is verified when it is read.
type leftover struct {
	digest digest.Digest
	size   int64
	used   time.Time
}

// adopt takes over what lies in the directory, in the order of its last use.
func (s *Store) adopt() error {
	var found []leftover
	err := filepath.WalkDir(filepath.Join(s.dir, blobsName), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if name := digestOf(path); name != "" {
			found = append(found, leftover{name, info.Size(), info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("content store: list its directory: %w", err)
	}
	slices.SortFunc(found, func(a, b leftover) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(string(a.digest), string(b.digest)))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range found {
		s.keep(s.entry(l.digest), l.size)
	}
	return nil
}

// digestOf returns the digest that a path stands for, "" if it is none of the store's.
func digestOf(path string) digest.Digest {
	short, encoded := filepath.Dir(path), filepath.Base(path)
	d := digest.NewDigestFromEncoded(digest.Algorithm(filepath.Base(filepath.Dir(short))), encoded)
	if d.Validate() != nil || encoded[:2] != filepath.Base(short) {
		return ""
	}
	return d
}
