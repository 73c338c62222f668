// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// ErrBusy is wrapped by errors that say that other calls use all the memory or disk that there is for such work at the moment. The work itself may be fine.
var ErrBusy = errors.New("no room now")

func busy(subject string) error {
	return &fault.Error{Kind: fault.Retry, Class: ErrBusy, Subject: subject, Problem: "others have as much at work as there is room for", Cure: "it is tried again"}
}

const (
	// manifestsRoom, descriptorsRoom and sessionsRoom are how many bytes of memory a process has for manifests that it reads, for descriptors that it
	// decodes, and for what sessions found until they rest. An owner may have half of what the others leave.
	manifestsRoom, descriptorsRoom, sessionsRoom = 128 << 20, 256 << 20, 256 << 20
	// memoryStep is the unit of these.
	memoryStep = 64 << 10
	// smallSession is up to how many bytes a session needs no room.
	smallSession = 4 << 20
	// transitRoom is how many bytes of content may be on its way to the disk, transitStep the unit of it, and largestTransit what content counts at most.
	transitRoom, transitStep, largestTransit = 1 << 30, 1 << 20, transitRoom / 4
	// transitPatience is for how long content waits for other content. It has a worker meanwhile.
	transitPatience = 10 * time.Second
)

// rooms bound what is in memory or on its way at a time, for each namespace and for the process. To avoid deadlocks a caller may hold room for manifests while
// it waits for room for descriptors, and never the reverse.
type rooms struct{ manifests, descriptors, sessions, transit *memory.Room }

// newRooms returns empty rooms. With unbounded transit there is none for content on its way to the disk.
func newRooms(unboundedTransit bool) rooms {
	own := rooms{
		manifests: memory.NewRoom(manifestsRoom, memoryStep), descriptors: memory.NewRoom(descriptorsRoom, memoryStep),
		sessions: memory.NewRoom(sessionsRoom, memoryStep),
	}
	if !unboundedTransit {
		own.transit = memory.NewRoom(transitRoom, transitStep)
	}
	return own
}

// manifestCost is how many bytes of memory a manifest of a size takes while it is read: its text, and twice its elements, each of which is decoded to
// a multiple of its text.
func manifestCost(size int64) int64 {
	const perByte, most = 100, 32 << 20
	return 2*size + min(perByte*size, most)
}

// decodingCost is how many bytes of memory a descriptor takes while it is decoded: its text, as it was written and as JSON, and its values, of which no
// document may have more than some.
func decodingCost(text int64) int64 {
	const perByte, most = 24, 40 << 20
	return 2*text + min(perByte*text, most)
}

// holdings are what a session keeps until it ends, and the Flux sources that it took something from.
type holdings struct {
	mu      sync.Mutex
	sources []v1alpha1.SourceStatus
	open    []io.Closer
	// found are the descriptors that the session has in memory, bytes what it has beside them, and weight both together.
	found         map[*component.Descriptor]struct{}
	bytes, weight int64
	// claim is the room for that.
	claim *memory.Claim
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

// keep counts what the session has in memory: descriptors, each once, and so many bytes beside them. The error is for a session that has too much, or
// for one that finds no room.
func (h *holdings) keep(bytes int64, descriptors ...*component.Descriptor) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += bytes
	h.weight += bytes
	for _, d := range descriptors {
		if _, isKnown := h.found[d]; !isKnown {
			h.found[d] = struct{}{}
			h.weight += d.Weight()
		}
	}
	switch {
	case h.weight > component.MaxWeight:
		return stalled("component descriptors and manifests", fmt.Sprintf("they take more than %d bytes of memory", component.MaxWeight),
			"refer to fewer or smaller component versions")
	case h.weight > smallSession && !h.claim.Fits(h.weight):
		return busy("component descriptors and manifests")
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
	h.claim.End()
}

// used returns the sources by kind, namespace and name.
func (h *holdings) used() []v1alpha1.SourceStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sources)
}

// inMemory returns the descriptors that the session has, and how many bytes beside them.
func (h *holdings) inMemory() ([]*component.Descriptor, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.found)), h.bytes
}
