// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

const (
	folderPattern = "flux-landscaper-platform-"
	ownerFile     = "owner"
	sweepAge      = time.Minute // a younger folder may not have its owner yet
)

// A folder holds every file of one platform. Its owner holds a lock inside, which the kernel releases when the owner dies.
type folder struct {
	path  string
	owner *os.File
}

// newFolder makes a folder and removes those that killed processes have left behind, with the control groups that have their
// names.
func newFolder() (*folder, error) {
	sweepFolders()
	path, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return nil, err
	}
	owner, err := binaries.TryLock(filepath.Join(path, ownerFile))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path: path, owner: owner}, nil
}

func sweepFolders() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPattern+"*"))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if owner, err := binaries.TryLock(filepath.Join(path, ownerFile)); err == nil {
			_ = removeGroups(filepath.Base(path))
			_ = os.RemoveAll(path)
			_ = owner.Close()
		}
	}
}

// remove deletes the folder with everything in it, then lets go of it.
func (f *folder) remove() error {
	return errors.Join(removeGroups(filepath.Base(f.path)), os.RemoveAll(f.path), ignoreClosed(f.owner.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// cgroupRoots are where the kernel shows control groups: all of them in one tree, or one tree for each kind.
var cgroupRoots = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"}

// removeGroups removes a control group with those below it, from every tree. Nothing runs in them any more. A group that does not exist is
// no error.
func removeGroups(name string) error {
	var failures []error
	for _, root := range cgroupRoots {
		tops, err := filepath.Glob(filepath.Join(root, name))
		failures = append(failures, err)
		for _, top := range tops {
			failures = append(failures, removeTree(top))
		}
	}
	return errors.Join(failures...)
}

// removeTree removes the folders of a control group, the deepest first. Their files are the kernel's and go with them.
func removeTree(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return ignoreMissing(err)
	})
	failures := []error{err}
	for _, folder := range slices.Backward(folders) {
		failures = append(failures, ignoreMissing(os.Remove(folder)))
	}
	return errors.Join(failures...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
