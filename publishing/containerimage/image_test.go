// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compile builds a program for images.
func compile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-trimpath")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return binary
}

func TestAnImageHoldsItsContents(t *testing.T) {
	contents := Contents{
		Programs:   map[string]string{"/bin/tool": compile(t)},
		Files:      map[string][]byte{"/etc/deep/settings": []byte("some")},
		Links:      map[string]string{"/bin/other": "tool"},
		Entrypoint: []string{"/bin/tool"}, User: "65532:65532", Env: []string{"A=b"},
	}

	image, err := Build(contents)

	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "linux", config.OS)
	assert.Equal(t, "65532:65532", config.Config.User)
	assert.Equal(t, []string{"/bin/tool"}, config.Config.Entrypoint)
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	modes := map[string]int64{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		modes[header.Name] = header.Mode
	}
	assert.Equal(t, map[string]int64{
		"bin/": 0o755, "etc/": 0o755, "etc/deep/": 0o755, "tmp/": 0o1777, "bin/tool": 0o755, "etc/deep/settings": 0o644, "bin/other": 0o777,
	}, modes)
}

func TestTheSameContentsGiveTheSameImage(t *testing.T) {
	binary := compile(t)
	contents := Contents{Programs: map[string]string{"/program": binary}}
	first, err := Build(contents)
	require.NoError(t, err)
	second, err := Build(contents)
	require.NoError(t, err)

	one, err := first.Digest()
	require.NoError(t, err)
	other, err := second.Digest()
	require.NoError(t, err)

	assert.Equal(t, one, other)
}

func TestATextIsNoProgram(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700))

	_, err := Build(Contents{Programs: map[string]string{"/text": text}})

	assert.ErrorContains(t, err, "is not a program of Linux")
}

func TestAProgramThatNeedsLibrariesIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the shell of this machine is not a program of Linux")
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)

	_, err = Build(Contents{Programs: map[string]string{"/bin/sh": shell}})

	assert.ErrorContains(t, err, "linked dynamically")
}

func TestAProgramOfAnotherArchitectureIsRefused(t *testing.T) {
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}

	_, err := Build(Contents{Programs: map[string]string{"/program": compile(t)}, Platform: v1.Platform{OS: "linux", Architecture: other}})

	assert.ErrorContains(t, err, "build it with GOARCH="+other)
}
