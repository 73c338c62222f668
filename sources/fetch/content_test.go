// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func contentStore(t *testing.T, change func(*Options)) *Store {
	o := Options{Dir: t.TempDir()}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	require.NoError(t, err)
	return s
}

func oneFile(t *testing.T, name, text string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// contentOf is a Content of the bytes and the number of times that it was written.
func contentOf(scope string, raw []byte) (Content, *atomic.Int32) {
	var writes atomic.Int32
	d := digest.FromBytes(raw)
	return Content{Name: "blob", Scope: scope, ID: d.String(), Digest: d, Write: func(_ context.Context, w io.Writer) error {
		writes.Add(1)
		_, err := w.Write(raw)
		return err
	}}, &writes
}

func TestExtractWritesOnceForAll(t *testing.T) {
	s := contentStore(t, nil)
	c, writes := contentOf("example.com/a", oneFile(t, "hello", "world"))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			tree, err := s.Extract(t.Context(), c)
			if assert.NoError(t, err) {
				raw, err := fs.ReadFile(tree.FS(), "hello")
				assert.NoError(t, err)
				assert.Equal(t, "world", string(raw))
				assert.NoError(t, tree.Close())
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, writes.Load())
}

func TestContentIsNotSharedBetweenScopes(t *testing.T) {
	s := contentStore(t, nil)
	mine, _ := contentOf("example.com/mine", oneFile(t, "hello", "world"))
	tree, err := s.Extract(t.Context(), mine)
	require.NoError(t, err)
	require.NoError(t, tree.Close())
	refused := errors.New("refused by the server")
	theirs := mine
	theirs.Scope, theirs.Write = "example.com/theirs", func(context.Context, io.Writer) error { return refused }
	_, err = s.Extract(t.Context(), theirs)
	assert.ErrorIs(t, err, refused)
}

func TestKeepSurvivesARestart(t *testing.T) {
	s := contentStore(t, nil)
	c, writes := contentOf("scope", []byte("some bytes"))
	f, err := s.Keep(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	again, err := New(Options{Dir: s.options.Dir})
	require.NoError(t, err)
	f, err = again.Keep(t.Context(), c)
	require.NoError(t, err)
	raw, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Equal(t, "some bytes", string(raw))
	assert.EqualValues(t, 10, f.Size)
	assert.NoError(t, f.Close())
	assert.NoError(t, f.Close(), "closing twice is harmless")
	assert.EqualValues(t, 1, writes.Load())
}

func TestContentIsHeldToItsDigest(t *testing.T) {
	c, writes := contentOf("scope", []byte("some bytes"))
	c.Digest = digest.FromString("others")
	s := contentStore(t, nil)
	_, err := s.Keep(t.Context(), c)
	require.ErrorIs(t, err, ErrDigest)
	_, err = s.Keep(t.Context(), c)
	require.ErrorIs(t, err, ErrDigest)
	assert.EqualValues(t, 2, writes.Load(), "a download may be better the next time")
}

func TestContentIsHeldToTheLimit(t *testing.T) {
	s := contentStore(t, func(o *Options) { o.MaxDownload = 1000 })
	endless := Content{Name: "blob", Scope: "s", ID: "1", Write: func(_ context.Context, w io.Writer) error {
		for {
			if _, err := w.Write(make([]byte, 100)); err != nil {
				return err
			}
		}
	}}
	_, err := s.Keep(t.Context(), endless)
	assert.ErrorIs(t, err, ErrTooLarge)
	assert.ErrorContains(t, err, "1000 bytes")
}

func TestExtractRemembersUnsafeContent(t *testing.T) {
	s := contentStore(t, nil)
	c, writes := contentOf("scope", oneFile(t, "../out", "x"))
	for range 3 {
		_, err := s.Extract(t.Context(), c)
		require.ErrorIs(t, err, ErrUnsafe)
	}
	assert.EqualValues(t, 1, writes.Load())
}

func TestContentNeedsItsFields(t *testing.T) {
	s := contentStore(t, nil)
	c, _ := contentOf("scope", []byte("x"))
	for name, broken := range map[string]func(*Content){
		"no scope": func(c *Content) { c.Scope = "" },
		"no ID":    func(c *Content) { c.ID = "" },
		"digest":   func(c *Content) { c.Digest = "sha256:short" },
	} {
		t.Run(name, func(t *testing.T) {
			changed := c
			broken(&changed)
			_, err := s.Keep(t.Context(), changed)
			assert.Error(t, err)
		})
	}
}

func TestAPanicOfSharedWorkIsAnErrorOfThoseWhoWait(t *testing.T) {
	s := contentStore(t, nil)
	c, _ := contentOf("scope", []byte("x"))
	broken := c
	broken.Write = func(context.Context, io.Writer) error { panic("broken") }
	for range 2 {
		_, err := s.Keep(t.Context(), broken)
		assert.ErrorContains(t, err, "broke off by a panic")
	}
	f, err := s.Keep(t.Context(), c)
	require.NoError(t, err, "who comes later starts anew")
	assert.NoError(t, f.Close())
}

func TestTexts(t *testing.T) {
	s := contentStore(t, nil)
	_, known := s.Get("scope", "id")
	assert.False(t, known)
	for _, text := range []string{"one", "two"} {
		require.NoError(t, s.Put("scope", "id", []byte(text)))
		got, _ := s.Get("scope", "id")
		assert.Equal(t, text, string(got))
	}
	again, err := New(Options{Dir: s.options.Dir})
	require.NoError(t, err)
	got, _ := again.Get("scope", "id")
	assert.Equal(t, "two", string(got), "over a restart")
	again.Drop("scope", "id")
	_, known = again.Get("scope", "id")
	assert.False(t, known)
	requireTempEmpty(t, again)
}
