// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var generous = Limits{Bytes: 1 << 20, Packed: 1 << 20, Entries: 100}

func packed(t testing.TB, dir string, limits Limits) ([]byte, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	p := NewPacker(limits)
	if err := p.AddDirectory("", root.FS()); err != nil {
		return nil, err
	}
	return p.Close()
}

func unpacked(t testing.TB, raw []byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	return dir, Unpack(bytes.NewReader(raw), root)
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "empty"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "run.sh"), []byte("echo"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("words"), 0o400))
	raw, err := packed(t, dir, generous)
	require.NoError(t, err)
	again, err := packed(t, dir, generous)
	require.NoError(t, err)
	assert.Equal(t, raw, again, "equal directories give equal archives")

	out, err := unpacked(t, raw)

	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(out, "text"))
	require.NoError(t, err)
	assert.Equal(t, "words", string(text))
	info, err := os.Stat(filepath.Join(out, "a", "run.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100, "it is still executable")
	info, err = os.Stat(filepath.Join(out, "text"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode()&0o600, "its owner may write it")
	assert.DirExists(t, filepath.Join(out, "a", "empty"))
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	for name, plant := range map[string]func(at string) error{
		"a symbolic link": func(at string) error { return os.Symlink("/etc/passwd", at) },
		"a pipe":          func(at string) error { return syscall.Mkfifo(at, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, plant(filepath.Join(dir, "planted")))
			_, err := packed(t, dir, generous)
			assert.EqualError(t, err, "planted is "+name+"; keep only files and directories there")
		})
	}
}

func TestLimitsOfPacking(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(name, 1000)), 0o600))
	}
	for name, limits := range map[string]Limits{
		"bytes":   {Bytes: 1500, Packed: 1 << 20, Entries: 10},
		"entries": {Bytes: 1 << 20, Packed: 1 << 20, Entries: 1},
		"packed":  {Bytes: 1 << 20, Packed: 20, Entries: 10},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := packed(t, dir, limits)
			assert.ErrorIs(t, err, ErrTooLarge)
		})
	}
}

type entry struct {
	header  tar.Header
	content string
}

func archiveOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, e := range entries {
		e.header.Size, e.header.Mode = int64(len(e.content)), 0o600
		require.NoError(t, w.WriteHeader(&e.header))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func TestHostileArchives(t *testing.T) {
	file := func(name string) entry {
		return entry{header: tar.Header{Typeflag: tar.TypeReg, Name: name}, content: "x"}
	}
	for name, test := range map[string]struct {
		entries []entry
		message string
	}{
		"parent":        {[]entry{file("../x")}, "escapes"},
		"absolute":      {[]entry{file("/etc/x")}, "escapes"},
		"hidden parent": {[]entry{file("a/../../x")}, "escapes"},
		"symbolic link": {[]entry{{header: tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}}}, "neither a file nor a directory"},
		"hard link":     {[]entry{{header: tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "x"}}}, "neither a file nor a directory"},
		"device":        {[]entry{{header: tar.Header{Typeflag: tar.TypeChar, Name: "d"}}}, "neither a file nor a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpacked(t, archiveOf(t, test.entries...))
			assert.ErrorContains(t, err, test.message)
		})
	}
}

func TestUnpackingDoesNotFollowLinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()

	err = Unpack(bytes.NewReader(archiveOf(t, entry{header: tar.Header{Typeflag: tar.TypeReg, Name: "link/x"}, content: "x"})), root)

	assert.Error(t, err)
	assert.NoFileExists(t, filepath.Join(outside, "x"))
}

func TestDamagedArchiveIsAnError(t *testing.T) {
	raw := archiveOf(t, entry{header: tar.Header{Typeflag: tar.TypeReg, Name: "a"}, content: strings.Repeat("a", 5000)})
	for name, damaged := range map[string][]byte{"empty": nil, "text": []byte("no archive"), "cut": raw[:len(raw)/2]} {
		t.Run(name, func(t *testing.T) {
			_, err := unpacked(t, damaged)
			assert.Error(t, err)
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archiveOf(f, entry{header: tar.Header{Typeflag: tar.TypeReg, Name: "a/b"}, content: "x"}))
	f.Add(archiveOf(f, entry{header: tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "../x"}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "inside")
		require.NoError(t, os.Mkdir(dir, 0o700))
		root, err := os.OpenRoot(dir)
		require.NoError(t, err)
		defer root.Close()
		unpackErr := Unpack(bytes.NewReader(raw), root)
		beside, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Len(t, beside, 1, "nothing is written outside")
		if unpackErr == nil {
			_, err = packed(t, dir, Limits{Bytes: 1 << 30, Packed: 1 << 30, Entries: 1 << 20})
			require.NoError(t, err, "what was unpacked can be packed")
		}
	})
}
