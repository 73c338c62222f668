// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package mortal lets a process that runs within a test die at one of its writes to an API server: from then on each of its requests fails, as if the
// process did not exist. The test starts another one and checks how that goes on.
package mortal

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrDead is the answer to each request of a dead process. Controllers see a cancelled context, so they neither log nor count a failure.
var ErrDead = fmt.Errorf("the process is dead: %w", context.Canceled)

// Life counts the writes of one process and ends it at one of them. The zero value lives for ever.
type Life struct {
	mu     sync.Mutex
	writes int
	dieAt  int
	after  bool
	isDead bool
	dead   chan struct{}
}

// Arm begins a new life, which ends at the n-th write from now on; 0 is never. after says whether that write is still carried out; its answer
// reaches nobody either way.
func (l *Life) Arm(n int, after bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes, l.dieAt, l.after, l.isDead, l.dead = 0, n, after, false, make(chan struct{})
}

// IsDead reports whether the life that was armed last has ended.
func (l *Life) IsDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isDead && l.isOver()
}

// isOver reports whether the last write has been carried out.
func (l *Life) isOver() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// Writes returns the number of writes since the life was armed, the last one included.
func (l *Life) Writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// Client returns a client that sends requests through c as long as the life lasts.
func (l *Life) Client(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return l.read(func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return l.read(func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return l.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return l.write(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return l.write(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return l.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return l.write(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return l.write(func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, with client.Object, opts ...client.SubResourceCreateOption) error {
			return l.write(func() error { return c.SubResource(sub).Create(ctx, o, with, opts...) })
		},
	})
}

func (l *Life) read(send func() error) error {
	l.mu.Lock()
	isDead := l.isDead
	l.mu.Unlock()
	if isDead {
		return ErrDead
	}
	return send()
}

func (l *Life) write(send func() error) error {
	l.mu.Lock()
	if l.isDead {
		l.mu.Unlock()
		return ErrDead
	}
	l.writes++
	l.isDead = l.dieAt == l.writes
	isLast, after, dead := l.isDead, l.after, l.dead
	l.mu.Unlock()
	if !isLast {
		return send()
	}
	defer close(dead)
	if after {
		if err := send(); err != nil {
			return err
		}
	}
	return ErrDead
}
