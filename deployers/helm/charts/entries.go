// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

const (
	cacheSize   = 32 << 20
	largestKept = cacheSize - 1<<10
	// entryOverhead is what an entry takes in memory beside its text.
	entryOverhead = 128
)

// Index is what is read of the index.yaml of a Helm repository. It is immutable.
type Index struct {
	// Digest identifies the content of the file, as "sha256:<hex>".
	Digest string

	entries map[string][]IndexEntry
}

// IndexEntry is one version of a chart in a repository.
type IndexEntry struct {
	// Version of the chart, as the index writes it.
	Version string `json:"version"`
	// URLs of the archive, absolute or relative to the repository; never empty in what Find returns.
	URLs []string `json:"urls"`
	// Digest of the archive; empty where the index names none.
	Digest string `json:"digest"`
}

// indexes are those that were read lately, by their digests. It is safe for concurrent use.
type indexes struct {
	known *memory.Cache[string, *Index]
}

func newIndexes() indexes {
	return indexes{memory.NewCache[string, *Index](cacheSize, nil)}
}

// Load reads an index.yaml for a tenant, from the cache where its content is known. The error shows nothing of the content.
func (i indexes) Load(_ context.Context, owner string, raw []byte) (*Index, error) {
	sum := sha256.Sum256(raw)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if cached, ok := i.known.Get(digest); ok {
		return cached, nil
	}
	var read struct {
		Entries map[string][]IndexEntry `json:"entries"`
	}
	if err := foreign.Index.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	index := &Index{Digest: digest, entries: read.Entries}
	i.known.Put(digest, index, min(sizeOfEntries(read.Entries), largestKept)) // one that is larger takes all of it
	return index, nil
}

// Cached returns the index whose content has the digest "sha256:<hex>", if it was loaded before. Whoever asks must have shown that
// the tenant may read the index.
func (i indexes) Cached(owner, digest string) (*Index, bool) { return i.known.Get(digest) }

func sizeOfEntries(entries map[string][]IndexEntry) int64 {
	size := 0
	for name, versions := range entries {
		size += len(name) + entryOverhead
		for _, entry := range versions {
			size += len(entry.Version) + len(entry.Digest) + entryOverhead
			for _, location := range entry.URLs {
				size += len(location) + entryOverhead/4
			}
		}
	}
	return int64(size)
}

// Has reports whether the index lists a chart.
func (i *Index) Has(chart string) bool { return len(i.entries[chart]) > 0 }

// Find returns the entry of exactly the wanted version, with or without "v", else that of the highest version in the semver range that
// wanted is, such as "1.x", and of that its highest build; nil when there is none. Pre-releases are only in ranges that name one.
func (i *Index) Find(chart, wanted string) *IndexEntry {
	versions := i.entries[chart]
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
func highest(versions []IndexEntry, fits *semver.Constraints) *IndexEntry {
	var best *IndexEntry
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
