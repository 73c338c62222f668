// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
)

// Layer is one layer to push.
type Layer struct{ MediaType, Content string }

// Push stores an artifact, past the door and the faults, and returns its reference and manifest digest.
func (r *Registry) Push(t testing.TB, repository, tag string, layers ...Layer) (ref string, d digest.Digest) {
	t.Helper()
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: r.PushBlob(t, repository, "application/vnd.cncf.helm.config.v1+json", []byte("{}"))}
	for _, l := range layers {
		m.Layers = append(m.Layers, r.PushBlob(t, repository, l.MediaType, []byte(l.Content)))
	}
	return r.PushManifest(t, repository, tag, ocispec.MediaTypeImageManifest, m)
}

// PushBlob stores a blob, past the door and the faults.
func (r *Registry) PushBlob(t testing.TB, repository, mediaType string, content []byte) ocispec.Descriptor {
	t.Helper()
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	r.store(t, http.MethodPost, fmt.Sprintf("/v2/%s/blobs/uploads/?digest=%s", repository, d.Digest), "", content)
	return d
}

// PushManifest stores a manifest or index, or the bytes given for one, past the door and the faults.
func (r *Registry) PushManifest(t testing.TB, repository, tag, mediaType string, manifest any) (ref string, d digest.Digest) {
	t.Helper()
	raw, isRaw := manifest.([]byte)
	if !isRaw {
		var err error
		raw, err = json.Marshal(manifest)
		require.NoError(t, err)
	}
	r.store(t, http.MethodPut, "/v2/"+repository+"/manifests/"+tag, mediaType, raw)
	return r.Ref(repository, tag), digest.FromBytes(raw)
}

func (r *Registry) store(t testing.TB, method, path, mediaType string, content []byte) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(content))
	request.Header.Set("Content-Type", mediaType)
	answer := httptest.NewRecorder()
	r.backend.ServeHTTP(answer, request)
	require.Equal(t, http.StatusCreated, answer.Code, "%s %s: %s", method, path, answer.Body)
}
