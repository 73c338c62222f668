// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenReadsWhatTheArchiveHolds(t *testing.T) {
	plain := []archiveEntry{
		e(tar.Header{Name: "pax_global_header", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "abc"}}, ""),
		e(tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0}, ""),
		e(tar.Header{Name: "./blueprints/", Typeflag: tar.TypeDir, Mode: 0}, ""),
		e(file("./blueprints/shop/blueprint.yaml", "kind: Blueprint")),
		e(file("a..b/...", "dots are no parents")),
		e(file("empty", "")),
	}
	for name, archive := range map[string][]byte{"gzipped": tgz(t, plain...), "plain tar": tarOf(t, plain...)} {
		t.Run(name, func(t *testing.T) {
			tree := open(t, newStore(t, nil), newServer(t).offer(archive))
			require.Equal(t, "kind: Blueprint", read(t, tree.FS(), "blueprints/shop/blueprint.yaml"))
			require.Equal(t, "dots are no parents", read(t, tree.FS(), "a..b/..."))
			require.Empty(t, read(t, tree.FS(), "empty"))
		})
	}
}

func TestDirectoriesCountOnce(t *testing.T) {
	s := newStore(t, func(o *Options) { o.MaxEntries = 5 })
	archive := tgz(t, e(tar.Header{Name: "a/", Typeflag: tar.TypeDir}, ""), e(file("a/b/1", "")), e(file("a/b/2", "")), e(file("a/b/3", "")))
	_, err := s.Open(context.Background(), newServer(t).offer(archive))
	require.NoError(t, err)
}

func TestOpenIgnoresModesOfTheArchive(t *testing.T) {
	h, content := file("run.sh", "#!/bin/sh")
	h.Mode = 0o6777
	tree := open(t, newStore(t, nil), newServer(t).offer(tgz(t, e(h, content))))
	info, err := fs.Stat(tree.FS(), "run.sh")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}

func TestOpenRefusesUnsafeArchives(t *testing.T) {
	for name, tc := range map[string]struct {
		archive []byte
		kind    error
		says    string
	}{
		"parent":            {tgz(t, e(file("../evil", "x"))), ErrUnsafe, `entry "../evil" leaves its directory`},
		"parent inside":     {tgz(t, e(file("a/../../evil", "x"))), ErrUnsafe, `entry "a/../../evil" leaves its directory`},
		"parent at the end": {tgz(t, e(tar.Header{Name: "a/..", Typeflag: tar.TypeDir}, "")), ErrUnsafe, `entry "a/.." leaves its directory`},
		"absolute":          {tgz(t, e(file("/etc/passwd", "x"))), ErrUnsafe, `entry "/etc/passwd" has an absolute path`},
		"backslash":         {tgz(t, e(file(`..\evil`, "x"))), ErrUnsafe, "has a backslash, a zero byte or no UTF-8"},
		"not UTF-8":         {tgz(t, e(file("caf\xe9", "x"))), ErrUnsafe, "no UTF-8"},
		"long element":      {tgz(t, e(file(strings.Repeat("n", 256), "x"))), ErrUnsafe, "more than 255 bytes"},
		"long path":         {tgz(t, e(file(strings.Repeat("n/", 2001)+"n", "x"))), ErrUnsafe, "more than 4000 bytes"},
		"symbolic link":     {tgz(t, e(link(tar.TypeSymlink, "l", "/etc/passwd"))), ErrUnsafe, `entry "l" is neither file nor directory`},
		"hard link":         {tgz(t, e(link(tar.TypeLink, "l", "/etc/passwd"))), ErrUnsafe, `entry "l" is neither file nor directory`},
		"device":            {tgz(t, e(link(tar.TypeChar, "null", ""))), ErrUnsafe, `entry "null" is neither file nor directory`},
		"pipe":              {tgz(t, e(link(tar.TypeFifo, "p", ""))), ErrUnsafe, `entry "p" is neither file nor directory`},
		"file twice":        {tgz(t, e(file("f", "1")), e(file("./f", "2"))), ErrUnsafe, `entry "./f" appears twice`},
		"file as directory": {tgz(t, e(file("f", "1")), e(file("f/g", "2"))), ErrUnsafe, `entry "f/g" appears twice, or as file and as directory`},
		"directory as file": {tgz(t, e(file("f/g", "1")), e(file("f", "2"))), ErrUnsafe, `entry "f" appears twice`},
		"root as file":      {tgz(t, e(file(".", "1"))), ErrUnsafe, `entry "."`},
		"not tar":           {[]byte("kind: Blueprint"), ErrUnsafe, "not a readable tar"},
		"not gzip":          {[]byte("\x1f\x8bnothing"), ErrUnsafe, "not readable gzip"},
		"cut off":           {tarOf(t, e(file("f", strings.Repeat("x", 900))))[:1024], ErrUnsafe, `entry "f" cannot be read`},
		"big file":          {tgz(t, e(file("f", strings.Repeat("x", 1001)))), ErrTooLarge, `entry "f" has 1001 bytes, more than the 1000`},
		"big sum":           {tgz(t, e(file("f", strings.Repeat("x", 900))), e(file("g", strings.Repeat("x", 900))), e(file("h", strings.Repeat("x", 900)))), ErrTooLarge, `with entry "h" it has more than 2000 bytes`},
		"many entries":      {tgz(t, e(file("1", "")), e(file("2", "")), e(file("3", "")), e(file("4", "")), e(file("5", ""))), ErrTooLarge, "more than 4 entries"},
		"many directories":  {tgz(t, e(file("1/2/3/4/5", ""))), ErrTooLarge, "more than 4 entries, counting the directories in their paths"},
		"deep directories":  {tgz(t, e(tar.Header{Name: "1/2/3", Typeflag: tar.TypeDir}, ""), e(tar.Header{Name: "1/2/4/5", Typeflag: tar.TypeDir}, "")), ErrTooLarge, "more than 4 entries"},
		"endless headers":   {gzipped(t, longNames(t, 200)), ErrTooLarge, "unpack to more than 2000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(o *Options) { o.MaxFile, o.MaxExtracted, o.MaxEntries = 1000, 2000, 4 })
			_, err := s.Open(context.Background(), newServer(t).offer(tc.archive))
			require.ErrorIs(t, err, tc.kind)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, `artifact "main@sha1:abc" of GitRepository default/shop: `)
			require.Empty(t, cacheDirs(t, s.options.Dir), "nothing of it is visible")
			requireTempEmpty(t, s)
		})
	}
}

// TestRefusalsOfLongNamesAreShort keeps what is remembered of refused artifacts, and shown of them, small.
func TestRefusalsOfLongNamesAreShort(t *testing.T) {
	long := strings.Repeat("\x01", 1<<18)
	for name, archive := range map[string][]byte{
		"unsafe":    tgz(t, e(file("../"+long, "x"))),
		"too large": tgz(t, e(file(long, strings.Repeat("x", 2000)))),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(o *Options) { o.MaxFile, o.MaxExtracted = 1000, 4<<20 })
			_, err := s.Open(context.Background(), newServer(t).offer(archive))
			require.Error(t, err)
			require.Less(t, len(err.Error()), 4<<10)
		})
	}
}

// longNames is a tar of n long-name headers and no file, which a tar reader reads in one go.
func longNames(t *testing.T, n int) []byte {
	one := tarOf(t, e(tar.Header{Name: strings.Repeat("n", 300), Typeflag: tar.TypeReg, Format: tar.FormatGNU}, ""))
	return bytes.Repeat(one[:1024], n)
}

// zeros yields n zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// bomb is a gzipped tar of files of the given size; the last one is cut off, which the extraction must not reach.
func bomb(t *testing.T, files int, size int64) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	for i := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("f%d", i), Typeflag: tar.TypeReg, Size: size}))
		if i < files-1 || files == 1 {
			_, err := io.Copy(w, zeros(min(size, 64<<20)))
			require.NoError(t, err)
		}
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestBombsFailWithinASecond(t *testing.T) {
	for name, archive := range map[string][]byte{
		"one file of 10 GB":          bomb(t, 1, 10<<30),
		"files just below the limit": bomb(t, 8, DefaultMaxFile),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, nil)
			a := newServer(t).offer(archive)
			start := time.Now()
			_, err := s.Open(context.Background(), a)
			require.ErrorIs(t, err, ErrTooLarge)
			assert.Less(t, time.Since(start), pace.Within(time.Second))
			requireTempEmpty(t, s)
		})
	}
}

func TestSub(t *testing.T) {
	archive := tgz(t, e(file("blueprints/shop/blueprint.yaml", "shop")), e(file("blueprints/db/blueprint.yaml", "db")), e(file("README.md", "r")))
	tree := open(t, newStore(t, nil), newServer(t).offer(archive))
	for _, path := range []string{"blueprints/shop", "./blueprints/shop", "/blueprints/shop/", "blueprints/db/../shop"} {
		t.Run("sub "+path, func(t *testing.T) {
			sub, err := tree.Sub(path)
			require.NoError(t, err)
			require.Equal(t, "shop", read(t, sub, "blueprint.yaml"))
		})
	}
	for _, path := range []string{"", ".", "./", "/"} {
		t.Run("whole "+path, func(t *testing.T) {
			sub, err := tree.Sub(path)
			require.NoError(t, err)
			require.Equal(t, "r", read(t, sub, "README.md"))
		})
	}
	for path, says := range map[string]string{
		"blueprints/web":           `path "blueprints/web" is not in it; "blueprints" holds "db", "shop"`,
		"charts/web/x":             `"." holds "README.md", "blueprints"`,
		"README.md/x":              `"." holds "README.md", "blueprints"`,
		"README.md":                "is a file; name the directory",
		"../..":                    "leaves the artifact",
		"blueprints/../../secrets": "leaves the artifact",
	} {
		t.Run("error "+path, func(t *testing.T) {
			_, err := tree.Sub(path)
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "GitRepository default/shop")
		})
	}
}

// A link that somebody plants in the cache afterwards does not lead a reader out either.
func TestTreeDoesNotFollowPlantedLinks(t *testing.T) {
	s := newStore(t, nil)
	tree := open(t, s, newServer(t).offer(tgz(t, e(file("f", "x")))))
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s"), 0o600))
	content := filepath.Join(s.options.Dir, cacheDirs(t, s.options.Dir)[0], contentName)
	require.NoError(t, os.Symlink(secret, filepath.Join(content, "l")))
	_, err := fs.ReadFile(tree.FS(), "l")
	require.ErrorContains(t, err, "escapes")
}

// FuzzExtract feeds any bytes to the extraction with small limits: it must end, stay inside its directory, keep its
// limits, and leave only plain files that the tree can list and read.
func FuzzExtract(f *testing.F) {
	f.Add(tarOfF(f, e(file("a/b", "content"))))
	f.Add(tarOfF(f, e(link(tar.TypeSymlink, "l", "..")), e(file("l/x", "y"))))
	f.Add(tarOfF(f, e(tar.Header{Name: "g", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"a": "b"}}, "")))
	f.Add(tarOfF(f, e(tar.Header{Name: "sparse", Typeflag: tar.TypeGNUSparse, Format: tar.FormatGNU}, "")))
	f.Add([]byte("\x1f\x8b"))
	l := limits{file: 1 << 10, total: 4 << 10, entries: 16}
	f.Fuzz(func(t *testing.T, raw []byte) {
		outer := t.TempDir()
		inner := filepath.Join(outer, "inner")
		require.NoError(t, os.Mkdir(inner, 0o700))
		root, err := os.OpenRoot(inner)
		require.NoError(t, err)
		defer root.Close()
		used, err := extract(context.Background(), "r", bytes.NewReader(raw), root, l)
		around, readErr := os.ReadDir(outer)
		require.NoError(t, readErr)
		require.Len(t, around, 1, "nothing beside its directory")
		if err != nil {
			return
		}
		require.LessOrEqual(t, used.Bytes, l.total)
		require.LessOrEqual(t, used.Entries, l.entries)
		var sum int64
		require.NoError(t, fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			require.True(t, d.IsDir() || d.Type().IsRegular(), path)
			if !d.IsDir() {
				content, err := fs.ReadFile(root.FS(), path)
				require.NoError(t, err)
				sum += int64(len(content))
			}
			return nil
		}))
		require.Equal(t, used.Bytes, sum)
	})
}

func tarOfF(f *testing.F, entries ...archiveEntry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if w.WriteHeader(&e.header) == nil {
			_, _ = io.WriteString(w, e.content)
		}
	}
	_ = w.Close()
	return b.Bytes()
}
