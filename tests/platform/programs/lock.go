// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"errors"
	"os"
	"syscall"
)

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
