// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package fetch

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed, also by the end of the process. It fails at once where another one has locked it.
func lock(file *os.File) error {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- descriptors are small
}
