// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// PackedChart is a chart as it was found: an archive, or files. Only children look into it.
type PackedChart struct {
	Archive []byte
	Files   []PackedFile
}

// PackedFile is a file of a chart.
type PackedFile struct {
	Name string
	Data []byte
}

// Size is about what the chart takes in memory.
func (p PackedChart) Size() int {
	size := len(p.Archive)
	for _, file := range p.Files {
		size += len(file.Data)
	}
	return size
}

// load reads the chart.
func (p PackedChart) load() (*helmchart.Chart, error) {
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

func (p PackedChart) read() (*helmchart.Chart, error) {
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

// isDynamic reports whether the chart may ask for API versions, or brings kinds that its own templates may then use.
func isDynamic(chart *helmchart.Chart) bool {
	if len(chart.CRDObjects()) > 0 {
		return true
	}
	return asksForKinds(chart) || slices.ContainsFunc(chart.Dependencies(), isDynamic)
}

func asksForKinds(chart *helmchart.Chart) bool {
	asks := func(file *helmchart.File) bool { return AsksForKinds(file.Data) }
	return slices.ContainsFunc(chart.Raw, asks) || slices.ContainsFunc(chart.Dependencies(), asksForKinds)
}

// AsksForKinds reports whether a text asks for API versions if it is rendered as a template.
func AsksForKinds(text []byte) bool {
	return bytes.Contains(text, []byte("APIVersions")) || capabilities.Match(text)
}

// capabilities finds .Capabilities as a whole, as in toYaml .Capabilities, and not one of its fields.
var capabilities = regexp.MustCompile(`\.Capabilities([^.\w]|$)`)
