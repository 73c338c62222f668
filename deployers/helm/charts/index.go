// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/sha256"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// asked is a request for an index. What a server answered counts only for the credentials and the trust that it answered to.
type asked struct {
	location, login, ca [sha256.Size]byte
}

// received is the last answer to such a request.
type received struct {
	validator validator
	digest    string
}

// entryOf returns the wanted version of the wanted chart in the index of a repository.
func (f *Finder) entryOf(
	ctx context.Context, item *contract.Item, auths []repositoryAuth, base string, wanted *helmv1alpha1.HelmChartRepo,
) (*IndexEntry, error) {
	what, err := f.authorized(ctx, item, auths, base+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	index, err := f.index(ctx, item.DeployItem.Namespace, what, base)
	if err != nil {
		return nil, err
	}
	if !index.Has(wanted.HelmChartName) {
		return nil, kit.Again("GetChart", "ChartNotFound", "%s: repository %s has no chart %q; correct helmChartName, or publish the chart",
			repositoryField, shown(base), wanted.HelmChartName)
	}
	entry := index.Find(wanted.HelmChartName, wanted.HelmChartVersion)
	if entry == nil {
		return nil, kit.Again("GetChart", "ChartNotFound", "%s: repository %s has no version %q of chart %q; correct helmChartVersion, or publish the version",
			repositoryField, shown(base), wanted.HelmChartVersion, wanted.HelmChartName)
	}
	return entry, nil
}

// index returns the index of a repository as it is now. It is downloaded only if the server does not say that the one remembered is still
// right, and parsed only if its content is new.
func (f *Finder) index(ctx context.Context, owner string, what download, base string) (*Index, error) {
	key := asked{sha256.Sum256([]byte(what.url)), sha256.Sum256([]byte(what.authorization)), sha256.Sum256([]byte(what.caData))}
	last, _ := f.indexes.Get(key)
	known, _ := last.(received)
	if _, ok := f.read.Cached(owner, known.digest); ok {
		what.known = known.validator
	}
	found, err := f.downloader.ask(ctx, what)
	if err == nil && found.unchanged {
		if index, ok := f.read.Cached(owner, known.digest); ok {
			return index, nil
		}
		what.known = validator{} // the cache has let it go meanwhile
		found, err = f.downloader.ask(ctx, what)
	}
	if err != nil {
		return nil, err
	}
	index, err := f.read.Load(ctx, owner, found.body)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, kit.Again("GetChart", "InvalidIndex", "%s: index.yaml of %s %s; publish a valid index", repositoryField, shown(base), foreign.Problem(err))
	}
	f.indexes.Add(key, received{found.validator, index.Digest})
	return index, nil
}
