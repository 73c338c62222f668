// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const plenty = 1 << 20

func open(t *testing.T, dir string, limit int64) *Store {
	t.Helper()
	s, err := Open(dir, limit)
	require.NoError(t, err)
	return s
}

func put(s *Store, content string) (digest.Digest, error) {
	d := digest.FromString(content)
	return d, s.Put(d, int64(len(content)), func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
}

func mustPut(t *testing.T, s *Store, content string) digest.Digest {
	t.Helper()
	d, err := put(s, content)
	require.NoError(t, err)
	return d
}

func read(t *testing.T, s *Store, d digest.Digest) string {
	t.Helper()
	f, err := s.Get(d)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	content, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	require.NoError(t, err)
	return string(content)
}

// files lists what lies below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func TestContentComesBack(t *testing.T) {
	s := open(t, t.TempDir(), plenty)
	for _, content := range []string{"one", "", strings.Repeat("x", 100_000)} {
		require.Equal(t, content, read(t, s, mustPut(t, s, content)))
	}
	_, err := s.Get(digest.FromString("never"))
	require.ErrorIs(t, err, ErrAbsent)
}

func TestOtherDigestAlgorithms(t *testing.T) {
	s := open(t, t.TempDir(), plenty)
	d := digest.SHA512.FromString("one")
	require.NoError(t, s.Put(d, 3, func(w io.Writer) error { _, err := io.WriteString(w, "one"); return err }))
	require.Equal(t, "one", read(t, open(t, s.dir, plenty), d))
}

func TestWrongContentIsRefused(t *testing.T) {
	broken := errors.New("connection broken")
	for name, tc := range map[string]struct {
		sent string
		then error
		want error
	}{
		"other content":       {"0ne", nil, ErrDigest},
		"shorter":             {"on", nil, ErrShorter},
		"longer":              {"one and more", nil, ErrLonger},
		"broken in the end":   {"one", broken, broken},
		"broken in the midst": {"o", broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), plenty)
			d := digest.FromString("one")
			err := s.Put(d, 3, func(w io.Writer) error {
				if _, err := io.WriteString(w, tc.sent); err != nil {
					return err
				}
				return tc.then
			})
			require.ErrorIs(t, err, tc.want)
			_, err = s.Get(d)
			require.ErrorIs(t, err, ErrAbsent)
			require.Empty(t, files(t, s.dir), "nothing stays behind")
		})
	}
}

func TestMalformedDigestsNameNoPlace(t *testing.T) {
	s := open(t, t.TempDir(), plenty)
	for _, d := range []digest.Digest{"", "sha256", "sha256:../../x", digest.Digest("md5:" + strings.Repeat("a", 32))} {
		_, err := s.Get(d)
		require.Error(t, err)
		require.Error(t, s.Put(d, 0, func(io.Writer) error { return nil }))
	}
}

func TestEveryReadIsVerified(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"a flipped byte": func(path string) error { return os.WriteFile(path, []byte("0ne"), 0o600) },
		"cut":            func(path string) error { return os.Truncate(path, 1) },
		"emptied":        func(path string) error { return os.Truncate(path, 0) },
		"removed":        os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), plenty)
			d := mustPut(t, s, "one")
			require.NoError(t, damage(s.path(d)))
			_, err := s.Get(d)
			require.ErrorIs(t, err, ErrAbsent)
			require.Zero(t, s.Used())
			require.Empty(t, files(t, s.dir))
			require.Equal(t, "one", read(t, s, mustPut(t, s, "one")), "it can be stored anew")
		})
	}
}

func TestContentSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	d := mustPut(t, open(t, dir, plenty), "one")
	again := open(t, dir, plenty)
	require.Equal(t, "one", read(t, again, d))
	require.EqualValues(t, 3+blockBytes, again.Used())
}

func TestAWriteThatNeverEndedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	d := digest.FromString("one")
	died := errors.New("the process dies here")
	err := open(t, dir, plenty).Put(d, 3, func(w io.Writer) error {
		_, err := io.WriteString(w, "on")
		require.NoError(t, err)
		require.Len(t, files(t, dir), 1)
		_, err = open(t, dir, plenty).Get(d) // the next process
		require.ErrorIs(t, err, ErrAbsent)
		require.Empty(t, files(t, dir))
		return died
	})
	require.ErrorIs(t, err, died)
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, plenty)
	for _, name := range []string{"blobs/README", "blobs/sha256/ab/README", "blobs/sha256/ab/" + strings.Repeat("c", 64)} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	require.Zero(t, open(t, dir, 1).Used())
	require.Len(t, files(t, dir), 3)
}

func TestOthersGoOnWhileAFolderBecomesDurable(t *testing.T) {
	s := open(t, t.TempDir(), plenty)
	var synced []string
	s.sync = func(folder string) error {
		synced = append(synced, folder)
		if assert.True(t, s.mu.TryLock(), "nobody else can use the store") {
			s.mu.Unlock()
		}
		return syncFolder(folder)
	}
	d := mustPut(t, s, "one")
	require.Equal(t, []string{filepath.Dir(s.path(d))}, synced)
}

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	s := open(t, t.TempDir(), 3*(blockBytes+10))
	var all []digest.Digest
	for i := range 3 {
		all = append(all, mustPut(t, s, fmt.Sprint(i)))
	}
	read(t, s, all[0])
	mustPut(t, s, "3")
	_, err := s.Get(all[1])
	require.ErrorIs(t, err, ErrAbsent)
	require.Equal(t, "0", read(t, s, all[0]))
}

func TestTheOrderOfUseSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, plenty)
	old, new := mustPut(t, s, "old"), mustPut(t, s, "new")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(s.path(old), past, past))
	again := open(t, dir, blockBytes+10)
	_, err := again.Get(old)
	require.ErrorIs(t, err, ErrAbsent)
	require.Equal(t, "new", read(t, again, new))
}

func TestWhatIsHeldStays(t *testing.T) {
	s := open(t, t.TempDir(), 1)
	d := digest.FromString("one")
	release := s.Hold(d)
	mustPut(t, s, "one")
	f, err := s.Get(d)
	require.NoError(t, err)
	release()
	mustPut(t, s, "two")
	p := make([]byte, 3)
	_, err = f.ReadAt(p, 0)
	require.NoError(t, err)
	require.Equal(t, "one", string(p))
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "closing twice does nothing")
	require.Zero(t, s.Used())
	require.Empty(t, files(t, s.dir))
	require.Empty(t, s.entries)
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, t.TempDir(), 4*blockBytes)
	var group sync.WaitGroup
	for i := range 400 {
		group.Go(func() {
			content := fmt.Sprint(i % 10)
			release := s.Hold(digest.FromString(content))
			defer release()
			d, err := put(s, content)
			if !assert.NoError(t, err) {
				return
			}
			f, err := s.Get(d)
			if assert.NoError(t, err, "what is held and written is there") {
				assert.NoError(t, f.Close())
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, s.Used(), int64(4*blockBytes))
}

func TestADirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(filepath.Join(file, "store"), plenty)
	require.ErrorContains(t, err, "content store")
	_, err = OpenLedger(filepath.Join(file, "ledger"), 1)
	require.ErrorContains(t, err, "ledger")
}

// FuzzDigestOf feeds any path of a directory: what is adopted has to lie where the store would put it.
func FuzzDigestOf(f *testing.F) {
	hex := digest.FromString("x").Encoded()
	f.Add("dir/blobs/sha256/" + hex[:2] + "/" + hex)
	f.Add("")
	f.Add("/")
	f.Add("sha256/../" + hex)
	s := &Store{dir: "dir"}
	f.Fuzz(func(t *testing.T, path string) {
		d := digestOf(path)
		if d == "" {
			return
		}
		require.NoError(t, d.Validate())
		require.True(t, strings.HasSuffix(s.path(d), filepath.Join(string(d.Algorithm()), filepath.Base(path)[:2], filepath.Base(path))))
	})
}
