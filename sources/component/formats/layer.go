// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package formats

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// DescriptorFile is the name of a descriptor in archives and layers.
const DescriptorFile = "component-descriptor.yaml"

// Limits of descriptor layers.
const (
	maxLayer       = component.MaxDescriptor + 1<<20
	maxLayerFiles  = 100
	tarBlock       = 512
	tarMagicOffset = 257
)

// DecodeLayer reads the component descriptor out of a descriptor layer: a tar, with or without gzip, or the document itself. The
// content decides, not the media type. It reads at most MaxDescriptor bytes of the document.
func DecodeLayer(layer io.Reader) (*component.Descriptor, error) {
	raw, err := descriptorBytes(bufio.NewReaderSize(layer, tarBlock))
	if err != nil {
		return nil, fmt.Errorf("the layer with the component descriptor is unreadable: %w", err)
	}
	return component.Decode(raw)
}

func descriptorBytes(r *bufio.Reader) ([]byte, error) {
	if start, _ := r.Peek(2); len(start) == 2 && start[0] == 0x1f && start[1] == 0x8b {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = bufio.NewReaderSize(unpacked, tarBlock)
	}
	limited := io.LimitReader(r, maxLayer)
	if !isTar(r) {
		return readDocument(limited)
	}
	archive := tar.NewReader(limited)
	for range maxLayerFiles {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg && path.Clean(header.Name) == DescriptorFile {
			return readDocument(archive)
		}
	}
	return nil, fmt.Errorf("it has no file %s", DescriptorFile)
}

func isTar(r *bufio.Reader) bool {
	block, _ := r.Peek(tarBlock)
	return len(block) == tarBlock && string(block[tarMagicOffset:tarMagicOffset+5]) == "ustar"
}

// readDocument reads one byte more than Decode takes, so that Decode complains about documents that are too large.
func readDocument(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, component.MaxDescriptor+1))
}
