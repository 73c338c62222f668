// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// TestContentThatIsTooLargeIsNotDownloaded has content of ten bytes where nine are allowed.
func TestContentThatIsTooLargeIsNotDownloaded(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	ref, _ := reg.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "0123456789"})
	blob := reg.PushBlob(t, "blobs", "text/plain", []byte("012345678_"))
	whole := component.NewContent("text/plain", []byte("01234567_9"))
	store, err := fetch.New(fetch.Options{Dir: t.TempDir(), MaxDownload: 9})
	require.NoError(t, err)
	s := arrange(t, reg,
		line("artifact", "helmChart", "{type: ociArtifact, imageReference: '"+ref+"'}", "")+
			line("blob", "plainText", fmt.Sprintf("{type: ociBlob, ref: %s/blobs, mediaType: text/plain, digest: '%s', size: 10}", reg.Host, blob.Digest), "")+
			line("unmeasured", "plainText", fmt.Sprintf("{type: ociBlob, ref: %s/blobs, mediaType: text/plain, digest: '%s'}", reg.Host, blob.Digest), "")+
			line("layer", "plainText", localBlob("text/plain", read(t, whole)), ""),
		func(o *Options) { o.Store = store }, whole)
	reg.Forget()
	for _, name := range []string{"artifact", "blob", "unmeasured", "layer"} {
		t.Run(name, func(t *testing.T) {
			_, err := s.content(t, name)
			require.ErrorIs(t, err, oci.ErrTooLarge)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
			assert.Zero(t, reg.Count("GET", "blobs"))
		})
	}
}

func TestPartsThatAreTooLargeTogetherAreRefused(t *testing.T) {
	parts := []ocispec.Descriptor{{Size: 5}, {Size: 5}}
	_, err := (&manifestBlobs{most: 9}).parts("both", parts)
	require.ErrorIs(t, err, oci.ErrTooLarge)
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
	found, err := (&manifestBlobs{most: 10}).parts("both", parts)
	require.NoError(t, err)
	assert.EqualValues(t, 10, found.size)
}
