// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server serves blobs by path and counts requests.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	blobs    map[string][]byte
	requests atomic.Int32
}

func newServer(t testing.TB) *server {
	s := &server{blobs: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.mu.Lock()
		b, ok := s.blobs[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s
}

// offer serves content and returns the artifact that names it.
func (s *server) offer(content []byte) Artifact {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs["/"+sum] = content
	return Artifact{URL: s.URL + "/" + sum, Digest: "sha256:" + sum, Revision: "main@sha1:abc", Source: "GitRepository default/shop"}
}

func newStore(t testing.TB, change func(*Options)) *Store {
	o := Options{Dir: t.TempDir(), RetryDelay: time.Millisecond}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	require.NoError(t, err)
	return s
}

// file is a plain entry.
func file(name, content string) (tar.Header, string) {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o777, Size: int64(len(content))}, content
}

func link(flag byte, name, to string) (tar.Header, string) {
	return tar.Header{Name: name, Typeflag: flag, Linkname: to, Mode: 0o777}, ""
}

type archiveEntry struct {
	header  tar.Header
	content string
}

func e(h tar.Header, content string) archiveEntry { return archiveEntry{h, content} }

func tarOf(t testing.TB, entries ...archiveEntry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&e.header))
		_, err := io.WriteString(w, e.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(t testing.TB, content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func tgz(t testing.TB, entries ...archiveEntry) []byte { return gzipped(t, tarOf(t, entries...)) }

func open(t testing.TB, s *Store, a Artifact) *Tree {
	tree, err := s.Open(context.Background(), a)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

func read(t testing.TB, fsys fs.FS, name string) string {
	b, err := fs.ReadFile(fsys, name)
	require.NoError(t, err)
	return string(b)
}

// cacheDirs lists the finished entries on disk.
func cacheDirs(t testing.TB, dir string) []string {
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, f := range found {
		if f.Name() != tempName {
			names = append(names, f.Name())
		}
	}
	return names
}

// requireTempEmpty asserts that no half-made work stays behind.
func requireTempEmpty(t testing.TB, s *Store) {
	left, err := os.ReadDir(s.cache.temp())
	require.NoError(t, err)
	require.Empty(t, left)
}
