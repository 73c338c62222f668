// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/stretchr/testify/require"
)

// artifact offers an archive as the Flux source ExternalArtifact "bad", with the digest that it has unless another one is given.
func (s *scene) artifact(archive []byte, digest string) {
	s.T.Helper()
	if digest == "" {
		digest = fmt.Sprintf("sha256:%x", sha256.Sum256(archive))
	}
	s.Offer("bad", digest, len(archive), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
}

// archiveOf packs entries; bodies belong to regular files.
func archiveOf(s *scene, body string, headers ...tar.Header) []byte {
	s.T.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for i := range headers {
		header := headers[i]
		header.Mode = 0o644
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(body))
		}
		require.NoError(s.T, archive.WriteHeader(&header))
		if header.Typeflag == tar.TypeReg {
			_, err := archive.Write([]byte(body))
			require.NoError(s.T, err)
		}
	}
	require.NoError(s.T, archive.Close())
	require.NoError(s.T, zipped.Close())
	return packed.Bytes()
}

// bomb is an archive of few bytes with one file of 10 GB: the same compressed zeros over and over.
func bomb(s *scene) []byte {
	s.T.Helper()
	const chunk, chunks = 64 << 20, 160
	compress := func(content []byte) []byte {
		var out bytes.Buffer
		zipped := gzip.NewWriter(&out)
		_, err := zipped.Write(content)
		require.NoError(s.T, err)
		require.NoError(s.T, zipped.Close())
		return out.Bytes()
	}
	var header bytes.Buffer
	require.NoError(s.T, tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "blueprint.yaml", Mode: 0o644, Size: chunk * chunks, Typeflag: tar.TypeReg}))
	return append(compress(header.Bytes()), bytes.Repeat(compress(make([]byte, chunk)), chunks)...)
}
