// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// holdings are what a session keeps until it ends, and the Flux sources that it took something from.
type holdings struct {
	mu      sync.Mutex
	sources []v1alpha1.SourceStatus
	open    []io.Closer
	// found are the descriptors that the session has in memory, and weight is what it has with them, in bytes.
	found  map[*component.Descriptor]struct{}
	weight int64
}

// use records a source.
func (h *holdings) use(source flux.Source) {
	h.mu.Lock()
	defer h.mu.Unlock()
	used := v1alpha1.SourceStatus{Kind: source.Kind, Namespace: source.Namespace, Name: source.Name, Revision: source.Revision, Digest: source.Digest}
	if slices.Contains(h.sources, used) {
		return
	}
	h.sources = append(h.sources, used)
	slices.SortFunc(h.sources, func(a, b v1alpha1.SourceStatus) int {
		return strings.Compare(flux.Key(a.Kind, a.Namespace, a.Name), flux.Key(b.Kind, b.Namespace, b.Name))
	})
}

// keep counts what the session has in memory: descriptors, each once, and so many bytes beside them. The error is for a session that has too much.
func (h *holdings) keep(bytes int64, descriptors ...*component.Descriptor) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.weight += bytes
	for _, d := range descriptors {
		if _, isKnown := h.found[d]; !isKnown {
			h.found[d] = struct{}{}
			h.weight += d.Weight()
		}
	}
	if h.weight > component.MaxWeight {
		return stalled("component descriptors and manifests", fmt.Sprintf("they take more than %d bytes of memory", component.MaxWeight),
			"refer to fewer or smaller component versions")
	}
	return nil
}

// hold keeps trees and directories open until the session ends. Those of a repository are held when it is open: one that cannot be opened may be
// tried any number of times.
func (h *holdings) hold(open ...io.Closer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = append(h.open, open...)
}

// release closes what is open.
func (h *holdings) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.open {
		_ = held.Close()
	}
	h.open = nil
}

// used returns the sources by kind, namespace and name.
func (h *holdings) used() []v1alpha1.SourceStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sources)
}

// inMemory returns how many bytes the session has in memory.
func (h *holdings) inMemory() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.weight
}
