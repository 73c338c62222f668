// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

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
