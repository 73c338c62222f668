// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package charts gets the chart that a DeployItem names, from wherever that is: an archive, a registry, a Helm repository, a Flux source or a
// component. It knows nothing of releases and Targets. It promises nothing to others.
package charts

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/utils/lru"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

const (
	chartFile  = "Chart.yaml"
	helmSource = "HelmChart"

	rememberedDownloads = 1024
)

// Finder gets charts by the rules of the Context of an item.
type Finder struct {
	engine     *engine.Engine
	access     components.Access
	components *repository.Repositories
	// uncached finds the same as components, and asks each time.
	uncached   *repository.Repositories
	downloader *downloader
	// seen holds the downloads from Helm repositories that need not be repeated while the chart is cached.
	seen *lru.Cache
	// indexes holds the last answers of Helm repositories to requests for their indexes.
	indexes *memory.Cache[asked, received]
}

// New returns a Finder whose charts are kept by an engine. What is nil in access makes the items that need it fail with a message that says so.
func New(e *engine.Engine, access components.Access) (*Finder, error) {
	known, err := access.Repositories(0)
	if err != nil {
		return nil, err
	}
	uncached, err := access.Repositories(1)
	if err != nil {
		return nil, err
	}
	return &Finder{
		engine: e, access: access, components: known, uncached: uncached, downloader: newDownloader(access.PublicOnly),
		seen: lru.New(rememberedDownloads), indexes: memory.NewCache[asked, received](cacheSize, nil),
	}, nil
}

// Find returns the chart of an item, and the Flux sources that were used for it: the one that it lies in, or those of its component.
func (f *Finder) Find(ctx context.Context, item *contract.Item, chart *helmv1alpha1.Chart) (*engine.Chart, []v1alpha1.SourceStatus, error) {
	var loaded *engine.Chart
	var err error
	switch {
	case chart.Archive != nil:
		loaded, err = f.fromArchive(ctx, item, chart.Archive)
	case chart.Ref != "":
		loaded, err = f.pull(ctx, item, "chart.ref", chart.Ref, "")
	case chart.HelmChartRepo != nil:
		loaded, err = f.fromRepository(ctx, item, chart.HelmChartRepo, "")
	case chart.SourceRef != nil:
		return f.fromSource(ctx, item, chart)
	case chart.FromResource != nil:
		return f.fromOldResource(ctx, item, chart.FromResource)
	default:
		return f.fromKey(ctx, item, chart.ResourceRef)
	}
	return loaded, nil, err
}

// load parses an archive; field is where it comes from.
func (f *Finder) load(ctx context.Context, item *contract.Item, field string, archive []byte) (*engine.Chart, error) {
	chart, err := f.engine.Load(ctx, item.DeployItem.Namespace, archive)
	return chart, badChart(field, err)
}

// badChart is problem for what the engine says of a chart; other errors stay as they are.
func badChart(field string, err error) error {
	if errors.Is(err, engine.ErrChart) || errors.Is(err, engine.ErrNotRun) {
		return problem(field+": ", "", err)
	}
	return err
}

// invalidComponent is the reason for what is wrong with a component for good.
const invalidComponent = "InvalidComponent"

// problem says who can end an error: what is not there may still be published, and what a source or a registry offers may be replaced, but not what is wrong
// with the content that it offers now. At is where the chart comes from, invalid the reason for such content.
func problem(at, invalid string, err error) error {
	again := func(reason string) error { return protocol.Again("GetChart", reason, "%s%w", at, err) }
	stall := func(reason string) error { return protocol.Stall("GetChart", reason, "%s%w", at, err) }
	source, isSource := errors.AsType[*flux.Error](err)
	_, isReplaced := errors.AsType[*replacedError](err)
	switch {
	case err == nil:
		return nil
	case isReplaced:
		return stall("DigestMismatch")
	case isSource && source.Waiting:
		return again(string(source.Reason))
	case isSource:
		return stall(string(source.Reason))
	case errors.Is(err, engine.ErrChart):
		return protocol.Stall("GetChart", "InvalidChart", "%s%w; publish a valid chart", at, err)
	case errors.Is(err, engine.ErrNotRun):
		return again("RenderProcessEnded")
	case errors.Is(err, oci.ErrUnauthorized):
		return protocol.Coded(again("Unauthorized"), v1alpha1.ErrorUnauthorized)
	case errors.Is(err, repository.ErrRepositoryMissing):
		return stall("RepositoryContextMissing")
	case errors.Is(err, component.ErrNotFound), errors.Is(err, oci.ErrNotFound):
		return again("ChartNotFound")
	case errors.Is(err, oci.ErrInvalid), errors.Is(err, oci.ErrTooLarge), errors.Is(err, fetch.ErrTooLarge), errors.Is(err, fetch.ErrUnsafe),
		invalid == invalidComponent && !errors.Is(err, fetch.ErrGone) && fault.KindOf(err) == fault.Stalled:
		return stall(invalid)
	}
	return again("DownloadFailed")
}

func (f *Finder) fromArchive(ctx context.Context, item *contract.Item, archive *helmv1alpha1.ArchiveAccess) (*engine.Chart, error) {
	if archive.Raw != "" {
		content, err := base64.StdEncoding.DecodeString(archive.Raw)
		if err != nil {
			return nil, protocol.Stall("GetChart", "InvalidChart", "chart.archive.raw: is not base64; encode the .tgz file of the chart")
		}
		return f.load(ctx, item, "chart.archive.raw", content)
	}
	const field = "chart.archive.remote.url"
	content, err := f.downloader.get(ctx, download{field: field, url: archive.Remote.URL, limit: maxArchive})
	if err != nil {
		return nil, err
	}
	return f.load(ctx, item, field, content)
}

// fromSource returns the chart in the artifact of a Flux source.
func (f *Finder) fromSource(ctx context.Context, item *contract.Item, chart *helmv1alpha1.Chart) (*engine.Chart, []v1alpha1.SourceStatus, error) {
	if f.access.Sources == nil || f.access.Artifacts == nil {
		return nil, nil, protocol.Stall("GetChart", "NotSupported", "chart.sourceRef: this deployer runs without Flux sources; use chart.ref")
	}
	source, err := f.access.Lookup(ctx, item, *chart.SourceRef)
	if err != nil {
		return nil, nil, problem("chart.", "InvalidArtifact", err)
	}
	loaded, err := f.fromArtifact(ctx, item, source, chart.Path)
	return loaded, []v1alpha1.SourceStatus{source.Status()}, err
}

func (f *Finder) fromArtifact(ctx context.Context, item *contract.Item, source flux.Source, dir string) (*engine.Chart, error) {
	if source.Kind == helmSource { // the artifact is a packed chart
		content, err := f.access.Artifacts.OpenFile(ctx, source.Artifact())
		if err != nil {
			return nil, problem("chart.sourceRef: ", "InvalidArtifact", err)
		}
		return f.load(ctx, item, "chart.sourceRef "+source.String(), content)
	}
	tree, err := f.access.Artifacts.Open(ctx, source.Artifact())
	if err != nil {
		return nil, problem("chart.sourceRef: ", "InvalidArtifact", err)
	}
	defer tree.Close()
	if dir == "" {
		if dir, err = chartDirectory(tree.FS()); err != nil {
			return nil, protocol.Stall("GetChart", "ChartNotFound", "chart.sourceRef %s: %w", source, err)
		}
	}
	files, err := tree.Sub(dir)
	if err != nil {
		return nil, protocol.Stall("GetChart", "ChartNotFound", "chart.path: %w", err)
	}
	chart, err := f.engine.LoadDirectory(ctx, item.DeployItem.Namespace, files, tree.Digest.String()+"//"+path.Clean(dir))
	return chart, badChart("chart.sourceRef "+source.String()+", path "+dir, err)
}

// chartDirectory finds the chart in an artifact that holds just one: at the root, or in the only directory there, as in a packed chart.
func chartDirectory(files fs.FS) (string, error) {
	if _, err := fs.Stat(files, chartFile); err == nil {
		return ".", nil
	}
	found, err := fs.Glob(files, "*/"+chartFile)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d charts are at the root of the artifact; name the directory of the wanted one in chart.path", len(found))
	}
	return path.Dir(found[0]), nil
}
