// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
)

// Limits of charts that are loaded from a directory; archives have Helm's own limits.
const (
	maxChartFiles = 10_000
	maxChartFile  = 5 << 20
	maxChartBytes = 100 << 20
)

// Chart is a chart as a child has found it. It is immutable and may be used by several operations at a time.
type Chart struct {
	// Name and Version are those of Chart.yaml.
	Name, Version string
	// Digest identifies the content, as "sha256:<hex>".
	Digest string

	packed rendering.PackedChart
	// dynamic says that what the chart renders may depend on the kinds the cluster knows at this very moment, hasDefinitions that it brings
	// some.
	dynamic, hasDefinitions bool
}

// Load returns the chart in a gzipped tar archive, from the cache where its content is known, for a tenant. The error wraps ErrChart where the chart
// is at fault.
func (e *Engine) Load(ctx context.Context, owner string, archive []byte) (*Chart, error) {
	sum := sha256.Sum256(archive)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if cached := e.Cached(digest); cached != nil {
		return cached, nil
	}
	if err := e.Reserve(ctx, int64(len(archive))); err != nil {
		return nil, err
	}
	return e.keep(ctx, owner, rendering.PackedChart{Archive: archive}, digest, digest)
}

// Cached returns the chart whose archive has the digest "sha256:<hex>", nil if it is not in memory. Whoever asks must have shown that the tenant may read
// the chart.
func (e *Engine) Cached(digest string) *Chart {
	cached, _ := e.charts.Get(digest)
	return cached
}

// LoadDirectory returns the chart that a directory holds; a .helmignore file is respected. The key identifies the content: what is cached under
// it is not read again. The digest of the chart is that of its own files, whatever lies beside them. The error wraps ErrChart where the chart is at
// fault.
func (e *Engine) LoadDirectory(ctx context.Context, owner string, files fs.FS, key string) (*Chart, error) {
	if cached := e.Cached(key); cached != nil {
		return cached, nil
	}
	found, err := e.readDirectory(ctx, files)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rendering.ErrChart, err)
	}
	return e.keep(ctx, owner, rendering.PackedChart{Files: found}, key, digestOf(found))
}

// digestOf returns the digest of files by name and content.
func digestOf(files []rendering.PackedFile) string {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b rendering.PackedFile) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, file := range sorted {
		fmt.Fprintf(sum, "%d %s\n%d\n", len(file.Name), file.Name, len(file.Data))
		sum.Write(file.Data)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

func (e *Engine) keep(ctx context.Context, owner string, packed rendering.PackedChart, key, digest string) (*Chart, error) {
	found, err := rendering.Do(ctx, e.children, owner, rendering.Task{Verb: rendering.TaskLoad, Chart: packed}, nil)
	if errors.Is(err, rendering.ErrUnaffordable) {
		return nil, fmt.Errorf("%w: %w", rendering.ErrChart, err)
	}
	if err != nil {
		return nil, err
	}
	return e.remember(key, &Chart{
		Name: found.Name, Version: found.Version, Digest: digest, packed: packed,
		dynamic: found.IsDynamic, hasDefinitions: found.HasDefinitions,
	}), nil
}

// remember keeps a chart that was read, and returns it. One that is larger than the cache takes all of it.
func (e *Engine) remember(key string, chart *Chart) *Chart {
	e.charts.Put(key, chart, min(int64(chart.packed.Size()), largestKept))
	return chart
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

// readDirectory reads what belongs to the chart, once there is room for it.
func (e *Engine) readDirectory(ctx context.Context, root fs.FS) ([]rendering.PackedFile, error) {
	if _, err := fs.Stat(root, "Chart.yaml"); err != nil {
		return nil, errors.New("the directory has no Chart.yaml; let chart.path name the directory of a chart")
	}
	found := &directory{root: root, rules: ignore.Empty()}
	if err := found.readRules(); err != nil {
		return nil, err
	}
	if err := fs.WalkDir(root, ".", found.visit); err != nil {
		return nil, err
	}
	if err := e.Reserve(ctx, found.size); err != nil {
		return nil, err
	}
	return found.read()
}

// directory finds the files of a chart directory.
type directory struct {
	root  fs.FS
	rules *ignore.Rules
	names []string
	size  int64
}

func (d *directory) readRules() error {
	d.rules.AddDefaults()
	file, err := d.root.Open(ignore.HelmIgnore)
	if err != nil {
		return nil
	}
	defer file.Close()
	rules, err := ignore.Parse(file)
	if err != nil {
		return fmt.Errorf("file %s: %w", ignore.HelmIgnore, err)
	}
	rules.AddDefaults()
	d.rules = rules
	return nil
}

func (d *directory) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil || name == "." {
		return err
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if d.rules.Ignore(name, info) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	d.size += info.Size()
	if info.Size() > maxChartFile || d.size > maxChartBytes || len(d.names) >= maxChartFiles {
		return fmt.Errorf("file %q exceeds the limits of a chart (%d MiB a file, %d MiB and %d files altogether)",
			name, maxChartFile>>20, maxChartBytes>>20, maxChartFiles)
	}
	d.names = append(d.names, name)
	return nil
}

func (d *directory) read() ([]rendering.PackedFile, error) {
	files := make([]rendering.PackedFile, 0, len(d.names))
	for _, name := range d.names {
		data, err := fs.ReadFile(d.root, name)
		if err != nil {
			return nil, err
		}
		files = append(files, rendering.PackedFile{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
	}
	return files, nil
}
