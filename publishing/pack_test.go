// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// directory writes files (path, content, …) into a new directory.
func directory(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
	return dir
}

func packed(t *testing.T, dir string, o PackOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := Pack(&out, dir, o)
	require.NoError(t, err)
	return out.Bytes()
}

func names(t *testing.T, dir string, o PackOptions) []string {
	t.Helper()
	var out []string
	o.Uncompressed = true
	archive := tar.NewReader(bytes.NewReader(packed(t, dir, o)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, header.Name)
	}
}

func TestSameFilesGiveTheSameBytes(t *testing.T) {
	first := directory(t, "blueprint.yaml", "a", "b/c.yaml", "d")
	second := directory(t, "b/c.yaml", "d", "blueprint.yaml", "a")
	require.NoError(t, os.Chmod(filepath.Join(second, "blueprint.yaml"), 0o755))
	require.NoError(t, os.Chtimes(filepath.Join(second, "b/c.yaml"), time.Unix(1, 0), time.Unix(1, 0)))
	require.NoError(t, os.Mkdir(filepath.Join(second, "empty"), 0o755))
	assert.Equal(t, packed(t, first, PackOptions{}), packed(t, second, PackOptions{}))
}

func TestOtherFilesGiveOtherBytes(t *testing.T) {
	assert.NotEqual(t, packed(t, directory(t, "a", "1"), PackOptions{}), packed(t, directory(t, "a", "2"), PackOptions{}))
	assert.NotEqual(t, packed(t, directory(t, "a", "1"), PackOptions{}), packed(t, directory(t, "b", "1"), PackOptions{}))
}

func TestDigestOfTheUncompressedArchive(t *testing.T) {
	var out bytes.Buffer
	contents, err := Pack(&out, directory(t, "a", "1"), PackOptions{})
	require.NoError(t, err)
	unzipped, err := gzip.NewReader(&out)
	require.NoError(t, err)
	plain, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	assert.Equal(t, digest.FromBytes(plain), contents.Uncompressed)
	assert.Equal(t, []string{"a"}, contents.Files)
}

func TestFilesThatArePacked(t *testing.T) {
	dir := directory(t, "blueprint.yaml", "", ".git/config", "", ".gitignore", "", ".sourceignore", "*.md\n!KEEP.md\n/out/",
		"README.md", "", "KEEP.md", "", "out/x", "", "charts/a.tgz", "", "charts/sub/.sourceignore", "secret.yaml", "charts/sub/secret.yaml", "", "secret.yaml", "")
	for name, test := range map[string]struct {
		options PackOptions
		want    []string
	}{
		"all":       {PackOptions{}, []string{".git/config", ".gitignore", ".sourceignore", "KEEP.md", "README.md", "blueprint.yaml", "charts/a.tgz", "charts/sub/.sourceignore", "charts/sub/secret.yaml", "out/x", "secret.yaml"}},
		"defaults":  {PackOptions{Defaults: true}, []string{"KEEP.md", "blueprint.yaml", "charts/a.tgz", "secret.yaml"}},
		"patterns":  {PackOptions{Defaults: true, Ignore: []string{"charts/", "secret.yaml"}}, []string{"KEEP.md", "blueprint.yaml"}},
		"lines":     {PackOptions{Defaults: true, Ignore: []string{"charts/\n# no comment\nsecret.yaml"}}, []string{"KEEP.md", "blueprint.yaml"}},
		"exclude":   {PackOptions{Defaults: true, Exclude: []string{"charts", "KEEP*"}}, []string{"blueprint.yaml", "secret.yaml"}},
		"include":   {PackOptions{Include: []string{"*.yaml"}, Exclude: []string{"charts/sub"}}, []string{"blueprint.yaml", "secret.yaml"}},
		"by prefix": {PackOptions{Include: []string{"charts/*"}, Prefix: "p"}, []string{"p/charts/a.tgz"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, names(t, dir, test.options))
		})
	}
}

func TestLinksInsideAreFollowed(t *testing.T) {
	dir := directory(t, "a/real", "content")
	require.NoError(t, os.Symlink("a/real", filepath.Join(dir, "link")))
	assert.Equal(t, packed(t, directory(t, "a/real", "content", "link", "content"), PackOptions{}), packed(t, dir, PackOptions{}))
}

func TestRefused(t *testing.T) {
	outside := directory(t, "secret", "x")
	linked := func(target string) string {
		dir := directory(t, "a/b", "x")
		require.NoError(t, os.Symlink(target, filepath.Join(dir, "link")))
		return dir
	}
	for name, test := range map[string]struct {
		dir     string
		options PackOptions
		want    string
	}{
		"no directory":         {filepath.Join(t.TempDir(), "none"), PackOptions{}, "cannot be opened"},
		"nothing to pack":      {t.TempDir(), PackOptions{}, "has no files to pack"},
		"link out of it":       {linked(filepath.Join(outside, "secret")), PackOptions{}, "file link cannot be read"},
		"relative link out":    {linked("../../../../etc/passwd"), PackOptions{}, "file link cannot be read"},
		"link to nothing":      {linked("nothing"), PackOptions{}, "file link cannot be read"},
		"link to itself":       {linked("link"), PackOptions{}, "file link cannot be read"},
		"link to a directory":  {linked("a"), PackOptions{}, "file link is not a regular file"},
		"large file":           {directory(t, "a", "12345"), PackOptions{MaxFile: 4}, "file a has 5 bytes, more than the 4"},
		"large directory":      {directory(t, "a", "123", "b", "456"), PackOptions{MaxTotal: 5}, "more than 5 bytes"},
		"many files":           {directory(t, "a", "", "b", ""), PackOptions{MaxFiles: 1}, "more than 1 files"},
		"malformed pattern":    {directory(t, "a", ""), PackOptions{Include: []string{"["}}, "malformed"},
		"backslash in a name":  {directory(t, "a\\b", ""), PackOptions{}, "backslash"},
		"source ignore a link": {sourceIgnoreLink(t, outside), PackOptions{Defaults: true}, ".sourceignore cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Pack(io.Discard, test.dir, test.options)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func sourceIgnoreLink(t *testing.T, outside string) string {
	t.Helper()
	dir := directory(t, "a", "")
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, ".sourceignore")))
	return dir
}

func TestHugeFileIsNotRead(t *testing.T) {
	dir := directory(t, "a", "x")
	require.NoError(t, os.Truncate(filepath.Join(dir, "a"), 1<<40))
	_, err := Pack(io.Discard, dir, PackOptions{})
	assert.ErrorContains(t, err, "file a has 1099511627776 bytes")
}

func TestWorkspace(t *testing.T) {
	w, err := NewWorkspace()
	require.NoError(t, err)
	blob, err := w.Keep(func(out io.Writer) error {
		_, err := io.WriteString(out, "content")
		return err
	})
	require.NoError(t, err)
	assert.Equal(t, int64(7), blob.Size)
	assert.Equal(t, digest.FromString("content"), blob.Digest)
	read, err := io.ReadAll(blob.Reader())
	require.NoError(t, err)
	assert.Equal(t, "content", string(read))
	require.NoError(t, w.Close())
	assert.NoDirExists(t, w.Dir("."))
}
