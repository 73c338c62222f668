// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop holds what the OCM CLI wrote: every format, signatures, normal forms and names that it refuses. The README in testdata says
// how each file was made.
package interop

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

//go:embed testdata
var testdata embed.FS

// Files returns all files; README.md describes them.
func Files() fs.FS {
	files, err := fs.Sub(testdata, "testdata")
	if err != nil {
		panic(err)
	}
	return files
}

// Read returns the content of a file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	content, err := fs.ReadFile(Files(), name)
	require.NoError(t, err)
	return content
}

// Unpack returns the files of a directory, or of a .tar or .tgz archive.
func Unpack(t testing.TB, name string) fs.FS {
	t.Helper()
	if info, err := fs.Stat(Files(), name); err == nil && info.IsDir() {
		files, err := fs.Sub(Files(), name)
		require.NoError(t, err)
		return files
	}
	return Untar(t, Read(t, name))
}

// Untar returns the files of a tar, with or without gzip.
func Untar(t testing.TB, archive []byte) fstest.MapFS {
	t.Helper()
	var content io.Reader = bytes.NewReader(archive)
	if bytes.HasPrefix(archive, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(content)
		require.NoError(t, err)
		content = unzipped
	}
	out := fstest.MapFS{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(reader)
		require.NoError(t, err)
		out[path.Clean(header.Name)] = &fstest.MapFile{Data: data}
	}
}

// Names returns the files that match a pattern of package path.
func Names(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(Files(), pattern)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

// Signature is a line of signed/signatures.tsv.
type Signature struct {
	// File below signed; Component is name:version.
	File, Component string
	// Name of the signature, and its algorithms.
	Name, Normalisation, Hash, Digest, Algorithm, MediaType string
	// Keys are the files to check it with, in words.
	Keys string
	// OCM says what the OCM CLI thinks of the signature.
	OCM string
}

// Signatures returns the lines of signed/signatures.tsv.
func Signatures(t testing.TB) []Signature {
	t.Helper()
	var out []Signature
	for _, f := range table(t, "signed/signatures.tsv")[1:] {
		out = append(out, Signature{File: f[0], Component: f[1], Name: f[2], Normalisation: f[3], Hash: f[4], Digest: f[5], Algorithm: f[6],
			MediaType: f[7], Keys: f[8], OCM: f[9]})
	}
	return out
}

// Refusals returns what the OCM CLI says about each file of refused: an error, or that it is accepted.
func Refusals(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range table(t, "refused/errors.tsv") {
		out[f[0]] = f[1]
	}
	return out
}

func table(t testing.TB, name string) [][]string {
	t.Helper()
	reader := csv.NewReader(bytes.NewReader(Read(t, name)))
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord = '\t', true, -1
	lines, err := reader.ReadAll()
	require.NoError(t, err)
	return lines
}

// Content is a line of contents.txt: what a reader gets out of a resource.
type Content struct {
	// Component is name:version.
	Component string
	// Resource with Identity, which is the extra identity.
	Resource string
	Identity map[string]string
	// MediaType, Size in bytes and SHA-256 digest of the content.
	MediaType, Size, Digest string
}

// Contents returns the lines of contents.txt about a component, given as name:version.
func Contents(t testing.TB, component string) []Content {
	t.Helper()
	var out []Content
	for line := range strings.Lines(string(Read(t, "contents.txt"))) {
		fields := strings.Fields(line)
		if fields[0] != component {
			continue
		}
		c := Content{Component: fields[0], Resource: fields[1], Identity: map[string]string{}}
		if len(fields) == 6 {
			key, value, _ := strings.Cut(strings.Trim(fields[2], "{}"), ":")
			c.Identity[key] = value
		}
		last := fields[len(fields)-3:]
		c.MediaType, c.Size, c.Digest = last[0], last[1], last[2]
		out = append(out, c)
	}
	require.NotEmpty(t, out, component)
	return out
}
