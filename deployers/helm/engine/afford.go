// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// maxPacked is how many archives may lie inside each other.
const maxPacked = 8

// What Helm parses of a chart and of the dependencies in it, and the dependencies that are archives.
var (
	parsedByHelm = regexp.MustCompile(`^(charts/[^/]+/)*(Chart\.(yaml|lock)|requirements\.(yaml|lock)|values\.yaml|values\.schema\.json|crds/.+\.(yaml|yml|json))$`)
	packedChart  = regexp.MustCompile(`^(charts/[^/]+/)*charts/[^/_.][^/]*\.tgz$`)
)

// loadArchive loads a chart from an archive when Helm can afford to parse it.
func loadArchive(archive []byte) (*helmchart.Chart, error) {
	files, err := loader.LoadArchiveFiles(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	return loadFiles(files)
}

// loadFiles loads a chart from its files when Helm can afford to parse them.
func loadFiles(files []*loader.BufferedFile) (*helmchart.Chart, error) {
	if err := (&allowance{bytes: maxChartBytes}).check(files); err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}

// allowance is what the archives inside a chart may still take.
type allowance struct {
	// bytes of their files, without compression.
	bytes int
	// depth is how many archives are around the files that are checked.
	depth int
}

// check refuses files that stand for more than they show.
func (a *allowance) check(files []*loader.BufferedFile) error {
	for _, file := range files {
		var err error
		switch {
		case parsedByHelm.MatchString(file.Name):
			err = affordable(file)
		case packedChart.MatchString(file.Name):
			err = a.checkPacked(file)
		}
		if err != nil {
			return fmt.Errorf("file %s %w", file.Name, err)
		}
	}
	return nil
}

// affordable refuses YAML beyond the limits of package foreign. JSON need not be YAML.
func affordable(file *loader.BufferedFile) error {
	err := foreign.Afford(file.Data)
	if path.Ext(file.Name) == ".json" && !errors.Is(err, foreign.ErrTooMuch) {
		return nil
	}
	return err
}

// checkPacked looks into an archive as Helm does later.
func (a *allowance) checkPacked(file *loader.BufferedFile) error {
	if a.depth++; a.depth > maxPacked {
		return fmt.Errorf("lies in more than %d archives; unpack some", maxPacked)
	}
	defer func() { a.depth-- }()
	files, err := loader.LoadArchiveFiles(bytes.NewReader(file.Data))
	if err != nil {
		return fmt.Errorf("is no chart: %w", err)
	}
	for _, inner := range files {
		a.bytes -= len(inner.Data)
	}
	if a.bytes < 0 {
		return fmt.Errorf("brings the archives inside the chart above %d MiB; leave out what is not needed", maxChartBytes>>20)
	}
	if err := a.check(files); err != nil {
		return fmt.Errorf("contains a chart whose %w", err)
	}
	return nil
}
