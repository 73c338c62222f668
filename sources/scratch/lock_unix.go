// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package scratch

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed, also by the end of the process. It fails at once where another one has locked it.
func lock(file *os.File) error {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- descriptors are small
}

// isOwn reports whether a directory is of the own user: nobody else can put another one in its place.
func isOwn(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(of.Uid) == int64(os.Getuid())
}
