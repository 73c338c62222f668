// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// loadingBytes is what a blueprint may take in memory whose size is not known yet.
	loadingBytes = 32 << 20
	// namespaceBytes is what the blueprints may take that the reconciliations of a namespace have loaded for themselves.
	namespaceBytes = 2 * loadingBytes
	// smallBlueprint is the size in bytes up to which a blueprint counts for nothing once it is loaded.
	smallBlueprint = 256 << 10
	// crowdPatience is for how long a reconciliation waits for others to end. It may hold what one of them waits for, and begins anew then.
	crowdPatience = 10 * time.Second
)

// errCrowded says that the other reconciliations of the namespace hold as much as they may.
var errCrowded = errors.New("other Installations of the namespace are at work with large blueprints")

// crowd bounds what reconciliations hold of blueprints, which is more than what is cached where a namespace has many large ones. The zero value is
// ready. It is safe for concurrent use.
type crowd struct {
	mu         sync.Mutex
	namespaces map[string]*share
}

// share is what a namespace has, and how many hold or wait for a part of it.
type share struct {
	*semaphore.Weighted
	users int
}

// stay is a part that a reconciliation holds until give is called; a nil one is nothing.
type stay struct {
	crowd     *crowd
	namespace string
	share     *share
	held      int64
}

// enter waits until a namespace has room for another blueprint. The error is errCrowded, or that of ctx.
func (c *crowd) enter(ctx context.Context, namespace string) (*stay, error) {
	s := &stay{crowd: c, namespace: namespace, share: c.use(namespace)}
	waiting, cancel := context.WithTimeout(ctx, crowdPatience)
	defer cancel()
	if err := s.share.Acquire(waiting, loadingBytes); err != nil {
		s.give()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errCrowded
	}
	s.held = loadingBytes
	return s, nil
}

func (c *crowd) use(namespace string) *share {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.namespaces == nil {
		c.namespaces = map[string]*share{}
	}
	if c.namespaces[namespace] == nil {
		c.namespaces[namespace] = &share{Weighted: semaphore.NewWeighted(namespaceBytes)}
	}
	c.namespaces[namespace].users++
	return c.namespaces[namespace]
}

// shrink leaves to the others what the blueprint, now that its size is known, does not take.
func (s *stay) shrink(bytes int64) {
	if bytes <= smallBlueprint {
		bytes = 0
	}
	if left := s.held - bytes; left > 0 {
		s.share.Release(left)
		s.held = bytes
	}
}

// give ends the stay.
func (s *stay) give() {
	if s == nil {
		return
	}
	s.share.Release(s.held)
	s.crowd.mu.Lock()
	defer s.crowd.mu.Unlock()
	if s.share.users--; s.share.users == 0 {
		delete(s.crowd.namespaces, s.namespace)
	}
}
