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

	"golang.org/x/sync/semaphore"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// Limits of charts that are loaded from a directory; archives have Helm's own limits.
const (
	maxChartFiles = 10_000
	maxChartFile  = 5 << 20
	maxChartBytes = 100 << 20
)

const (
	// cacheSize is how many bytes of charts are kept in memory.
	cacheSize = 32 << 20
	// largeChart is from how many bytes on a chart is large. Hardly any is: Helm stores no release of one.
	largeChart = 16 << 20
	// largeCharts is how many calls have something large in memory at a time, of which each takes 100 MiB at most.
	largeCharts = 2
)

// Chart is a chart as a child has found it. It is immutable and may be used by several operations at a time.
type Chart struct {
	// Name and Version are those of Chart.yaml.
	Name, Version string
	// Digest identifies the content, as "sha256:<hex>".
	Digest string

	packed packedChart
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
	return e.keep(ctx, owner, packedChart{Archive: archive}, digest, digest)
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
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	return e.keep(ctx, owner, packedChart{Files: found}, key, digestOf(found))
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

func (e *Engine) keep(ctx context.Context, owner string, packed packedChart, key, digest string) (*Chart, error) {
	found, err := e.do(ctx, owner, task{Verb: taskLoad, Chart: packed}, nil)
	if errors.Is(err, ErrUnaffordable) {
		return nil, fmt.Errorf("%w: %w", ErrChart, err)
	}
	if err != nil {
		return nil, err
	}
	chart := &Chart{Name: found.Name, Version: found.Version, Digest: digest, packed: packed, dynamic: found.IsDynamic, hasDefinitions: found.HasDefinitions}
	size := int64(len(packed.Archive))
	for _, file := range packed.Files {
		size += int64(len(file.Data))
	}
	e.charts.Put(key, chart, min(size, cacheSize-1<<10)) // one that is larger than the cache takes all of it
	return chart, nil
}

// readDirectory reads what belongs to the chart, once there is room for it.
func (e *Engine) readDirectory(ctx context.Context, root fs.FS) ([]*loader.BufferedFile, error) {
	if _, err := fs.Stat(root, "Chart.yaml"); err != nil {
		return nil, errors.New("the directory has no Chart.yaml; let chart.path name the directory of a chart")
	}
	rules := ignore.Empty()
	if file, err := root.Open(ignore.HelmIgnore); err == nil {
		defer file.Close()
		if rules, err = ignore.Parse(file); err != nil {
			return nil, fmt.Errorf("file %s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	var files []*loader.BufferedFile
	var size int64
	if err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case rules.Ignore(name, info) && entry.IsDir():
			return fs.SkipDir
		case rules.Ignore(name, info) || !info.Mode().IsRegular():
			return nil
		}
		size += info.Size()
		if info.Size() > maxChartFile || size > maxChartBytes || len(files) >= maxChartFiles {
			return fmt.Errorf("file %q exceeds the limits of a chart (%d MiB a file, %d MiB and %d files altogether)",
				name, maxChartFile>>20, maxChartBytes>>20, maxChartFiles)
		}
		files = append(files, &loader.BufferedFile{Name: name})
		return nil
	}); err != nil {
		return nil, err
	}
	if err := e.Reserve(ctx, size); err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := fs.ReadFile(root, file.Name)
		if err != nil {
			return nil, err
		}
		file.Data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	}
	return files, nil
}

// session is one call for a DeployItem. It is not for use by several goroutines.
type session struct {
	slots *semaphore.Weighted
	large bool
}

// sessionKey is the key of contexts for Session.
type sessionKey struct{}

// Session returns a context for one call for a DeployItem, and the function that ends it.
func (e *Engine) Session(ctx context.Context) (context.Context, func()) {
	s := &session{slots: e.large}
	return context.WithValue(ctx, sessionKey{}, s), s.end
}

// Reserve waits until the call that a context is for may read so many bytes of a chart, or of what leads to one, into memory. The error is that of the
// context. Without a session nobody waits.
func (e *Engine) Reserve(ctx context.Context, bytes int64) error {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok || bytes < largeChart || s.large {
		return nil
	}
	if !s.slots.TryAcquire(1) {
		waits(ctx)
		if err := s.slots.Acquire(ctx, 1); err != nil {
			return context.Cause(ctx)
		}
	}
	s.large = true
	return nil
}

func (s *session) end() {
	if s.large {
		s.slots.Release(1)
	}
}
