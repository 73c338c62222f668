// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

const (
	// unknownSize is what a blueprint counts for, in bytes, until it is in memory: as much as it may have.
	unknownSize = 32 << 20
	// namespaceLimit is how many bytes of blueprints the reconciliations of a namespace may have in memory, beside what is cached.
	namespaceLimit = 2 * unknownSize
	// smallBlueprint is the size in bytes up to which a blueprint counts for nothing once it is in memory.
	smallBlueprint = 256 << 10
	// reserveTimeout is for how long a reconciliation waits for others. It may hold what one of them waits for, so it begins anew then.
	reserveTimeout = 10 * time.Second
)

// ErrLoadLimit says that the other reconciliations of the namespace have as much in memory as they may.
var ErrLoadLimit = errors.New("other Installations of the namespace are at work with large blueprints")

// IsBusy says that other reconciliations have to end first: the job goes on as if nothing had happened.
func IsBusy(err error) bool {
	return errors.Is(err, ErrLoadLimit) || errors.Is(err, repository.ErrBusy)
}

// loadLimit bounds the blueprints that reconciliations have in memory, which are more than what is cached where a namespace has many large ones.
// The zero value is ready. It is safe for concurrent use.
type loadLimit struct {
	mu         sync.Mutex
	namespaces map[string]*namespaceLoad
}

// namespaceLoad is what is free for a namespace, and how many reservations there are or are waited for.
type namespaceLoad struct {
	*semaphore.Weighted
	users int
}

// reservation is memory that a reconciliation may use until it calls give; nil is none.
type reservation struct {
	limit     *loadLimit
	namespace string
	load      *namespaceLoad
	bytes     int64
}

// reserve waits until a namespace may have another blueprint in memory. The error is errLoadLimit, or that of ctx.
func (l *loadLimit) reserve(ctx context.Context, namespace string) (*reservation, error) {
	r := &reservation{limit: l, namespace: namespace, load: l.use(namespace)}
	waiting, cancel := context.WithTimeout(ctx, reserveTimeout)
	defer cancel()
	if err := r.load.Acquire(waiting, unknownSize); err != nil {
		r.Give()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, ErrLoadLimit
	}
	r.bytes = unknownSize
	return r, nil
}

func (l *loadLimit) use(namespace string) *namespaceLoad {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.namespaces == nil {
		l.namespaces = map[string]*namespaceLoad{}
	}
	if l.namespaces[namespace] == nil {
		l.namespaces[namespace] = &namespaceLoad{Weighted: semaphore.NewWeighted(namespaceLimit)}
	}
	l.namespaces[namespace].users++
	return l.namespaces[namespace]
}

// shrink gives back what a blueprint of that size does not need.
func (r *reservation) shrink(bytes int64) {
	if bytes <= smallBlueprint {
		bytes = 0
	}
	if free := r.bytes - bytes; free > 0 {
		r.load.Release(free)
		r.bytes = bytes
	}
}

// Give ends the reservation.
func (r *reservation) Give() {
	if r == nil {
		return
	}
	r.load.Release(r.bytes)
	r.limit.mu.Lock()
	defer r.limit.mu.Unlock()
	if r.load.users--; r.load.users == 0 {
		delete(r.limit.namespaces, r.namespace)
	}
}

// blueprintOf reads a blueprint into memory once the namespace may have another one there. Its files have to be on disk: nobody waits for the downloads
// of others.
func (r *Reader) blueprintOf(ctx context.Context, namespace string, files fs.FS) (*Blueprint, *reservation, error) {
	reserved, err := r.loading.reserve(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	snapshot, digest, err := model.Snapshot(files)
	if err != nil {
		reserved.Give()
		return nil, nil, tooLarge{err}
	}
	blueprint := load(namespace, snapshot, digest)
	reserved.shrink(blueprint.bytes)
	return blueprint, reserved, nil
}

// tooLarge is why a directory cannot be a blueprint.
type tooLarge struct{ error }

// Unwrap returns the cause.
func (t tooLarge) Unwrap() error { return t.error }
