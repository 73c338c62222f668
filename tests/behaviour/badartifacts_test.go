// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// artifact offers an archive as the Flux source ExternalArtifact "bad", with the digest that it has unless another one is given.
func (s *scene) artifact(archive []byte, digest string) {
	s.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }))
	s.t.Cleanup(server.Close)
	if digest == "" {
		digest = fmt.Sprintf("sha256:%x", sha256.Sum256(archive))
	}
	source := &sourcev1.ExternalArtifact{ObjectMeta: s.meta("bad")}
	require.NoError(s.t, s.Client().Create(s.ctx, source))
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"artifact": map[string]any{
			"url": server.URL + "/bad.tar.gz", "path": "bad.tar.gz", "revision": "v1", "digest": digest,
			"lastUpdateTime": time.Now().UTC().Format(time.RFC3339), "size": len(archive),
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}},
	}})
	require.NoError(s.t, err)
	require.NoError(s.t, s.Client().Status().Patch(s.ctx, source, client.RawPatch("application/merge-patch+json", status)))
}

// archiveOf packs entries; bodies belong to regular files.
func archiveOf(s *scene, body string, headers ...tar.Header) []byte {
	s.t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for i := range headers {
		header := headers[i]
		header.Mode = 0o644
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(body))
		}
		require.NoError(s.t, archive.WriteHeader(&header))
		if header.Typeflag == tar.TypeReg {
			_, err := archive.Write([]byte(body))
			require.NoError(s.t, err)
		}
	}
	require.NoError(s.t, archive.Close())
	require.NoError(s.t, zipped.Close())
	return packed.Bytes()
}

// bomb is an archive of few bytes with one file of 10 GB: the same compressed zeros over and over.
func bomb(s *scene) []byte {
	s.t.Helper()
	const chunk, chunks = 64 << 20, 160
	compress := func(content []byte) []byte {
		var out bytes.Buffer
		zipped := gzip.NewWriter(&out)
		_, err := zipped.Write(content)
		require.NoError(s.t, err)
		require.NoError(s.t, zipped.Close())
		return out.Bytes()
	}
	var header bytes.Buffer
	require.NoError(s.t, tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "blueprint.yaml", Mode: 0o644, Size: chunk * chunks, Typeflag: tar.TypeReg}))
	return append(compress(header.Bytes()), bytes.Repeat(compress(make([]byte, chunk)), chunks)...)
}
