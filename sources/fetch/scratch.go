// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// directory is a temporary one for a cache, which belongs to this process alone. It ends with the process, or when a later one takes its place after it was
// killed, as the container of a Pod does that is started again.
type directory struct {
	path string
	// lock is a file beside it that is locked as long as the process lives; nil where the system cannot lock files.
	lock *os.File
}

// mostDirectories is how many processes have a directory with the same prefix at the same time.
const mostDirectories = 1000

// makeDirectory makes an empty directory whose name begins with a prefix: the first whose lock nobody holds.
func makeDirectory(prefix string) (*directory, error) {
	for i := range mostDirectories {
		path := filepath.Join(os.TempDir(), prefix+strconv.Itoa(i))
		file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- in the temporary directory
		if err != nil {
			continue // that of another user
		}
		err = lock(file)
		if err == nil {
			if err = os.RemoveAll(path); err == nil {
				err = os.Mkdir(path, 0o700)
			}
		}
		if err == nil {
			return &directory{path, file}, nil
		}
		_ = file.Close()
		if errors.Is(err, errors.ErrUnsupported) {
			break
		}
	}
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	return &directory{path: path}, nil
}

// remove removes the directory with its content.
func (d *directory) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if err != nil {
		return fmt.Errorf("remove a temporary directory: %w", err)
	}
	return nil
}
