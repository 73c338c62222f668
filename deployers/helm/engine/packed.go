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

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// packedChart is a chart as it was found: an archive, or files. Only children look into it.
type packedChart struct {
	Archive []byte
	Files   []packedFile
}

// packedFile is a file of a chart.
type packedFile struct {
	Name string
	Data []byte
}

// size is about what the chart takes in memory.
func (p packedChart) size() int {
	size := len(p.Archive)
	for _, file := range p.Files {
		size += len(file.Data)
	}
	return size
}

// load reads the chart.
func (p packedChart) load() (*helmchart.Chart, error) {
	chart, err := p.read()
	if err != nil {
		return nil, err
	}
	if err := chart.Validate(); err != nil {
		return nil, err
	}
	if chart.Metadata.Type == "library" {
		return nil, fmt.Errorf("%s is a library chart; name a chart of type application", chart.Name())
	}
	return chart, nil
}

func (p packedChart) read() (*helmchart.Chart, error) {
	if p.Archive != nil {
		return loader.LoadArchive(bytes.NewReader(p.Archive))
	}
	files := make([]*loader.BufferedFile, 0, len(p.Files))
	for _, file := range p.Files {
		files = append(files, &loader.BufferedFile{Name: file.Name, Data: file.Data})
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	return chart, action.CheckDependencies(chart, chart.Metadata.Dependencies)
}

// describe tells the parent what it has to know of a chart.
func (w *worker) describe(chart *helmchart.Chart) {
	w.product.Name, w.product.Version = chart.Name(), chart.Metadata.Version
	w.product.IsDynamic, w.product.HasDefinitions = isDynamic(chart), len(chart.CRDObjects()) > 0
}

// isDynamic reports whether the chart asks for API versions, or brings kinds that its own templates may then use.
func isDynamic(chart *helmchart.Chart) bool {
	if len(chart.CRDObjects()) > 0 {
		return true
	}
	for _, template := range chart.Templates {
		if bytes.Contains(template.Data, []byte("APIVersions")) {
			return true
		}
	}
	for _, dependency := range chart.Dependencies() {
		if isDynamic(dependency) {
			return true
		}
	}
	return false
}

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
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	digest := digestOf(files)
	if cached, ok := e.charts.get(digest); ok {
		return cached, nil
	}
	return e.keep(ctx, owner, packedChart{Files: files}, digest, digest)
}

// unpackFiles reads files within the limits of charts.
func unpackFiles(content []byte) ([]packedFile, error) {
	var files []packedFile
	reader := tar.NewReader(bytes.NewReader(content))
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
		data, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		files = append(files, packedFile{Name: header.Name, Data: data})
	}
}
