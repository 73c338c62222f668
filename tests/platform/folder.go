// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"os"
	"path/filepath"
	"time"
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
	owner, err := tryLock(filepath.Join(path, ownerFile))
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
		if owner, err := tryLock(filepath.Join(path, ownerFile)); err == nil {
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
