// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
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
	// resident is what opened repositories have in memory, and bytes are those of the others that the session has.
	resident []*component.Descriptor
	bytes    int64
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

// keep counts what the session has in memory.
func (h *holdings) keep(bytes int64, resident ...*component.Descriptor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += bytes
	h.resident = append(h.resident, resident...)
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

// inMemory returns the descriptors of opened repositories, and how many bytes of others there are.
func (h *holdings) inMemory() ([]*component.Descriptor, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.resident), h.bytes
}
