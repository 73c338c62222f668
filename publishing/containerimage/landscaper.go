// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"bytes"
	"encoding/pem"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// unprivileged is the user of images without a user's files, as "nonroot" of the distroless images.
const unprivileged = "65532:65532"

// Source is where the source code of the images is.
const Source = "https://github.com/flux-landscaper/flux-landscaper"

// Release is what images and their bills of materials say of where they come from.
type Release struct {
	// Version is a semantic version with v.
	Version string
	// Revision is the commit.
	Revision string
	// Created is the time of that commit, so that a second build gives the same digests.
	Created time.Time
}

// Labels returns the labels and annotations of the OCI image specification.
func (r Release) Labels() map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title": "landscaper", "org.opencontainers.image.source": Source, "org.opencontainers.image.licenses": "Apache-2.0",
	}
	if r.Version != "" {
		labels["org.opencontainers.image.version"] = r.Version
	}
	if r.Revision != "" {
		labels["org.opencontainers.image.revision"] = r.Revision
	}
	return labels
}

// Landscaper returns the image of the controllers, the deployers and the agent: the static program of cmd/landscaper at path binary, which runs as
// user 65532, with the certificate authorities that Mozilla trusts. Those come from golang.org/x/crypto/x509roots, so that no file of the
// machine goes into the image.
func Landscaper(binary string, platform v1.Platform, release Release) (v1.Image, error) {
	to := "/landscaper"
	return Build(Contents{
		Platform:   platform,
		Programs:   map[string]string{to: binary},
		Files:      map[string][]byte{"/etc/ssl/certs/ca-certificates.crt": authorities()},
		Entrypoint: []string{to},
		User:       unprivileged,
		Labels:     release.Labels(),
		Created:    release.Created,
	})
}

// authorities returns the certificate authorities in PEM. Limits that Mozilla puts on some of them cannot be said in PEM and are lost, as in the
// packages of the distributions.
func authorities() []byte {
	var blocks [][]byte
	for root := range bundle.Roots() {
		blocks = append(blocks, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	slices.SortFunc(blocks, bytes.Compare)
	return bytes.Join(blocks, nil)
}
