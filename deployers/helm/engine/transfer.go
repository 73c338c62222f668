// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
)

// Media types of charts on their way from one process to another.
const (
	// MediaTypeArchive is that of a packed chart.
	MediaTypeArchive = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	// MediaTypeFiles is that of the files of a directory.
	MediaTypeFiles = "application/x-tar"
)

// Content returns the chart as it was found and the media type of that, for Receive of another engine.
func (c *Chart) Content() (string, []byte, error) {
	if c.packed.Archive != nil {
		return MediaTypeArchive, c.packed.Archive, nil
	}
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, file := range c.packed.Files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file.Name, Size: int64(len(file.Data)), Mode: 0o600}
		if err := writer.WriteHeader(header); err != nil {
			return "", nil, err
		}
		if _, err := writer.Write(file.Data); err != nil {
			return "", nil, err
		}
	}
	return MediaTypeFiles, packed.Bytes(), writer.Close()
}

// Receive returns the chart that Content of another engine has packed, with the digest that it had there, for a tenant. The error wraps ErrChart where
// the chart is at fault.
func (e *Engine) Receive(ctx context.Context, owner, mediaType string, content []byte) (*Chart, error) {
	if mediaType != MediaTypeFiles {
		return e.Load(ctx, owner, content)
	}
	files, err := unpackFiles(content)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rendering.ErrChart, err)
	}
	digest := digestOf(files)
	if cached, err := e.Cached(ctx, owner, digest); cached != nil || err != nil {
		return cached, err
	}
	if err := e.Reserve(ctx, int64(len(content))); err != nil {
		return nil, err
	}
	return e.keep(ctx, owner, rendering.PackedChart{Files: files}, digest, digest)
}

// unpackFiles reads files within the limits of charts. They are parts of content, which may be as large as all that there is room for.
func unpackFiles(content []byte) ([]rendering.PackedFile, error) {
	var files []rendering.PackedFile
	packed := bytes.NewReader(content)
	reader := tar.NewReader(packed)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg || header.Size > maxChartFile || len(files) >= maxChartFiles {
			return nil, fmt.Errorf("entry %q is no file within the limits of a chart", header.Name)
		}
		if header.Size > int64(packed.Len()) {
			return nil, fmt.Errorf("entry %q is cut off", header.Name)
		}
		begins := len(content) - packed.Len()
		ends := begins + int(header.Size)
		files = append(files, rendering.PackedFile{Name: header.Name, Data: content[begins:ends:ends]})
	}
}
