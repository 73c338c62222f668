// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package scratch makes temporary directories for caches. They end with their process, also when it is killed: the next process with the same
// temporary directory removes what is left, as the container of a Pod does that is started again. It promises nothing to others.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the file in a directory that is locked as long as its process lives. It appears locked.
const lockName = "lock"

// Directory is one that belongs to this process alone.
type Directory struct {
	// Path is where it lies.
	Path string
	lock *os.File
}

// Make makes a directory whose name begins with a prefix, and removes those of processes that are gone.
func Make(prefix string) (*Directory, error) {
	sweep(prefix)
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	d := &Directory{Path: path}
	if d.lock, err = lockIn(path); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		_ = os.RemoveAll(path)
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return d, nil
}

// Remove removes the directory with its content.
func (d *Directory) Remove() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	return err
}

// lockIn makes the locked file. Where the system cannot lock files there is none, and nobody removes the directory.
func lockIn(path string) (*os.File, error) {
	file, err := os.CreateTemp(path, "new-"+lockName+"-")
	if err != nil {
		return nil, err
	}
	if err = lock(file); err == nil {
		err = os.Rename(file.Name(), filepath.Join(path, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return file, nil
}

// sweep removes the directories of processes that are gone. What it cannot remove stays.
func sweep(prefix string) {
	entries, _ := os.ReadDir(os.TempDir())
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), prefix) && info.IsDir() && isOwn(info) {
			_ = bury(filepath.Join(os.TempDir(), entry.Name()))
		}
	}
}

// bury removes a directory whose lock nobody holds, the lock last: until then another process can go on with it.
func bury(path string) error {
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0) // #nosec G304 -- in a directory of the own user
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := lock(file); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}
