// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// Limits of charts that are loaded from a directory; archives have Helm's own limits.
const (
	maxChartFiles = 10_000
	maxChartFile  = 5 << 20
	maxChartBytes = 100 << 20
)

// ErrChart says that a chart cannot be used as it is; errors.Is finds it in the errors of Load, LoadDirectory and the operations.
var ErrChart = errors.New("the chart cannot be used")

// Chart is a loaded chart. It is immutable and may be used by several operations at a time.
type Chart struct {
	// Name and Version are those of Chart.yaml.
	Name, Version string
	// Digest identifies the content, as "sha256:<hex>".
	Digest string

	pristine *helmchart.Chart
	size     int
	// dynamic says that what the chart renders may depend on the kinds the cluster knows at this very moment.
	dynamic bool
}

// Load returns the chart in a gzipped tar archive, from the cache where its content is known. The error wraps ErrChart.
func (e *Engine) Load(archive []byte) (*Chart, error) {
	sum := sha256.Sum256(archive)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if cached, ok := e.charts.get(digest); ok {
		return cached, nil
	}
	loaded, err := loadArchive(archive)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	return e.keep(loaded, digest, digest)
}

// Cached returns the chart whose archive has the digest "sha256:<hex>", if it was loaded before. Whoever asks must have shown that it may
// read the chart.
func (e *Engine) Cached(digest string) (*Chart, bool) { return e.charts.get(digest) }

// LoadDirectory returns the chart that a directory holds; a .helmignore file is respected. The key identifies the content: what is cached under
// it is not read again. The digest of the chart is that of its own files, whatever lies beside them. The error wraps ErrChart.
func (e *Engine) LoadDirectory(files fs.FS, key string) (*Chart, error) {
	if cached, ok := e.charts.get(key); ok {
		return cached, nil
	}
	buffered, err := readDirectory(files)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	loaded, err := loadFiles(buffered)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	if err := action.CheckDependencies(loaded, loaded.Metadata.Dependencies); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	return e.keep(loaded, key, digestOf(buffered))
}

// digestOf returns the digest of files by name and content.
func digestOf(files []*loader.BufferedFile) string {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b *loader.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, file := range sorted {
		fmt.Fprintf(sum, "%d %s\n%d\n", len(file.Name), file.Name, len(file.Data))
		sum.Write(file.Data)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

func (e *Engine) keep(loaded *helmchart.Chart, key, digest string) (*Chart, error) {
	if err := loaded.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	if loaded.Metadata.Type == "library" {
		return nil, fmt.Errorf("%w: %s is a library chart; name a chart of type application", ErrChart, loaded.Name())
	}
	chart := &Chart{
		Name: loaded.Name(), Version: loaded.Metadata.Version, Digest: digest,
		pristine: loaded, size: sizeOf(loaded), dynamic: isDynamic(loaded),
	}
	forgetRaw(loaded)
	e.charts.add(key, chart)
	return chart, nil
}

// forgetRaw drops the archive's own form of the files, which only Helm's command line needs.
func forgetRaw(chart *helmchart.Chart) {
	chart.Raw = nil
	for _, dependency := range chart.Dependencies() {
		forgetRaw(dependency)
	}
}

// isDynamic tells whether the chart asks for API versions, or brings kinds that its own templates may then use.
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

func sizeOf(chart *helmchart.Chart) int {
	size := 0
	for _, file := range chart.Raw {
		size += len(file.Data)
	}
	for _, dependency := range chart.Dependencies() {
		size += sizeOf(dependency)
	}
	return size
}

// fresh returns a copy for one operation: Helm writes into dependencies, metadata and values of the charts that it works with.
func (c *Chart) fresh() *helmchart.Chart {
	return copyChart(c.pristine)
}

func copyChart(source *helmchart.Chart) *helmchart.Chart {
	metadata := *source.Metadata
	metadata.Dependencies = make([]*helmchart.Dependency, 0, len(source.Metadata.Dependencies))
	for _, dependency := range source.Metadata.Dependencies {
		if dependency != nil {
			copied := *dependency
			metadata.Dependencies = append(metadata.Dependencies, &copied)
		}
	}
	result := &helmchart.Chart{
		Metadata: &metadata, Lock: source.Lock, Templates: source.Templates, Schema: source.Schema, Files: source.Files,
		Values: copyTree(source.Values),
	}
	for _, dependency := range source.Dependencies() {
		result.AddDependency(copyChart(dependency))
	}
	return result
}

// copyTree copies a map of decoded JSON or YAML.
func copyTree(tree map[string]any) map[string]any {
	if tree == nil {
		return nil
	}
	result := make(map[string]any, len(tree))
	for key, value := range tree {
		result[key] = copyValue(value)
	}
	return result
}

func copyValue(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		return copyTree(typed)
	case []any:
		result := make([]any, len(typed))
		for i := range typed {
			result[i] = copyValue(typed[i])
		}
		return result
	default:
		return value
	}
}

// readDirectory reads what belongs to the chart.
func readDirectory(root fs.FS) ([]*loader.BufferedFile, error) {
	if _, err := fs.Stat(root, "Chart.yaml"); err != nil {
		return nil, errors.New("the directory has no Chart.yaml; let chart.path name the directory of a chart")
	}
	reader := &directoryReader{root: root, rules: ignore.Empty()}
	if err := reader.readRules(); err != nil {
		return nil, err
	}
	err := fs.WalkDir(root, ".", reader.visit)
	return reader.files, err
}

// directoryReader collects the files of a chart directory.
type directoryReader struct {
	root  fs.FS
	rules *ignore.Rules
	files []*loader.BufferedFile
	size  int64
}

func (r *directoryReader) readRules() error {
	r.rules.AddDefaults()
	file, err := r.root.Open(ignore.HelmIgnore)
	if err != nil {
		return nil
	}
	defer file.Close()
	rules, err := ignore.Parse(file)
	if err != nil {
		return fmt.Errorf("file %s: %w", ignore.HelmIgnore, err)
	}
	rules.AddDefaults()
	r.rules = rules
	return nil
}

func (r *directoryReader) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil || name == "." {
		return err
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if r.rules.Ignore(name, info) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	return r.read(name, info.Size())
}

func (r *directoryReader) read(name string, size int64) error {
	r.size += size
	if size > maxChartFile || r.size > maxChartBytes || len(r.files) >= maxChartFiles {
		return fmt.Errorf("file %q exceeds the limits of a chart (%d MiB a file, %d MiB and %d files altogether)",
			name, maxChartFile>>20, maxChartBytes>>20, maxChartFiles)
	}
	data, err := fs.ReadFile(r.root, name)
	if err != nil {
		return err
	}
	r.files = append(r.files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
	return nil
}
