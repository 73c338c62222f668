// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/Masterminds/semver/v3"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

const (
	// cacheSize is how many bytes of indexes are kept in memory, entrySize what one version of a chart takes beside its URLs.
	cacheSize = 32 << 20
	entrySize = 256
)

// asked is a request for an index. What a server answered counts only for the credentials and the trust that it answered to.
type asked struct {
	location, login, ca [sha256.Size]byte
}

// received is the last answer to such a request.
type received struct {
	validator validator
	digest    [sha256.Size]byte
	index     index
}

// index is what is read of the index.yaml of a Helm repository: the versions of its charts.
type index map[string][]indexEntry

// indexEntry is one version of a chart in a repository.
type indexEntry struct {
	// Version of the chart, as the index writes it.
	Version string `json:"version"`
	// URLs of the archive, absolute or relative to the repository; never empty in what find returns.
	URLs []string `json:"urls"`
	// Digest of the archive; empty where the index names none.
	Digest string `json:"digest"`
}

// entryOf returns the wanted version of the wanted chart in the index of a repository.
func (f *Finder) entryOf(
	ctx context.Context, item *contract.Item, auths []repositoryAuth, base string, wanted *helmv1alpha1.HelmChartRepo,
) (*indexEntry, error) {
	what, err := f.authorized(ctx, item, auths, base+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	index, err := f.indexAt(ctx, what, base)
	if err != nil {
		return nil, err
	}
	if len(index[wanted.HelmChartName]) == 0 {
		return nil, protocol.Again("GetChart", "ChartNotFound", "%s: repository %s has no chart %q; correct helmChartName, or publish the chart",
			repositoryField, shown(base), wanted.HelmChartName)
	}
	entry := index.find(wanted.HelmChartName, wanted.HelmChartVersion)
	if entry == nil {
		return nil, protocol.Again("GetChart", "ChartNotFound", "%s: repository %s has no version %q of chart %q; correct helmChartVersion, or publish the version",
			repositoryField, shown(base), wanted.HelmChartVersion, wanted.HelmChartName)
	}
	return entry, nil
}

// indexAt returns the index of a repository as it is now. It is downloaded only if the server does not say that the one remembered is still
// right, and parsed only if its content is new.
func (f *Finder) indexAt(ctx context.Context, what download, base string) (index, error) {
	key := asked{sha256.Sum256([]byte(what.url)), sha256.Sum256([]byte(what.authorization)), sha256.Sum256([]byte(what.caData))}
	last, isKnown := f.indexes.Get(key)
	what.known = last.validator
	found, err := f.downloader.ask(ctx, what)
	if err != nil {
		return nil, err
	}
	if found.unchanged {
		return last.index, nil
	}
	next := received{validator: found.validator, digest: sha256.Sum256(found.body), index: last.index}
	if !isKnown || next.digest != last.digest {
		if next.index, err = parseIndex(found.body); err != nil {
			return nil, protocol.Again("GetChart", "InvalidIndex", "%s: index.yaml of %s %s; publish a valid index", repositoryField, shown(base), foreign.Problem(err))
		}
	}
	f.indexes.Put(key, next, next.index.size())
	return next.index, nil
}

// parseIndex reads an index.yaml. The error shows nothing of the content.
func parseIndex(raw []byte) (index, error) {
	var read struct {
		Entries index `json:"entries"`
	}
	err := foreign.Index.Unmarshal(raw, &read)
	return read.Entries, err
}

// size is about what the index takes in memory. One that is larger than the cache takes all of it.
func (i index) size() int64 {
	size := 0
	for _, versions := range i {
		for _, version := range versions {
			size += entrySize + len(strings.Join(version.URLs, ""))
		}
	}
	return int64(min(size, cacheSize-1<<10))
}

// find returns the entry of exactly the wanted version, with or without "v", else that of the highest version in the semver range that
// wanted is, such as "1.x", and of that its highest build; nil when there is none. Pre-releases are only in ranges that name one.
func (i index) find(chart, wanted string) *indexEntry {
	versions := i[chart]
	for at := range versions {
		if len(versions[at].URLs) > 0 && sameVersion(versions[at].Version, wanted) {
			return &versions[at]
		}
	}
	fits, err := semver.NewConstraint(wanted)
	if err != nil {
		return nil
	}
	return highest(versions, fits)
}

// highest returns the entry of the highest version that fits, nil when none does. Of equal versions the first wins.
func highest(versions []indexEntry, fits *semver.Constraints) *indexEntry {
	var best *indexEntry
	var bestVersion *semver.Version
	for at := range versions {
		version, err := semver.NewVersion(versions[at].Version)
		if err != nil || len(versions[at].URLs) == 0 || !fits.Check(version) {
			continue
		}
		if best == nil || oci.IsHigher(version, bestVersion) {
			best, bestVersion = &versions[at], version
		}
	}
	return best
}

func sameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }

// IsVersion reports whether text is a full semantic version, with or without "v", or no range of versions either: then it names exactly one.
func IsVersion(text string) bool {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v")); err == nil {
		return true
	}
	_, err := semver.NewConstraint(text)
	return err != nil
}
