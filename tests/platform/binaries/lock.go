// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const lockRetry = 250 * time.Millisecond

// lock takes the lock of the cache folder and notes the purpose in it for those who wait; the returned function releases
// it. The kernel releases the lock of a process that dies.
func (s *store) lock(ctx context.Context, purpose string) (release func(), err error) {
	return s.lockFile(ctx, filepath.Join(s.root, "lock"), purpose)
}

// lockFor is the lock for obtaining a component. A rare one has a lock of its own, so that nobody waits for it who needs another.
func (s *store) lockFor(ctx context.Context, r recipe) (release func(), err error) {
	if r.rare() {
		return s.lockFile(ctx, filepath.Join(s.root, r.module+".lock"), string(r.component))
	}
	return s.lock(ctx, string(r.component))
}

// lockFile is lock with a file of its own.
func (s *store) lockFile(ctx context.Context, path, purpose string) (release func(), err error) {
	var announced time.Time
	for {
		file, err := TryLock(path)
		if err == nil {
			_ = file.Truncate(0)
			_, _ = fmt.Fprintf(file, "process %d, which provides %s", os.Getpid(), purpose)
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		if time.Since(announced) > progressInterval {
			holder, _ := os.ReadFile(path)
			s.sayf("waiting for %s", strings.TrimSpace(string(holder)))
			announced = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gave up waiting for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}

// TryLock opens path and takes its exclusive lock, or fails with syscall.EWOULDBLOCK if somebody else holds it. The kernel
// releases the lock when the file is closed or its process dies.
func TryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
