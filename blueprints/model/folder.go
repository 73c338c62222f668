// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Beside returns the folder of an artifact that a blueprint in the folder from names by the path to. It is an error if that leads out of the
// artifact, or to the blueprint itself.
func Beside(from, to string) (string, error) {
	own := path.Clean(strings.TrimLeft(from, "/"))
	found := path.Join(own, to)
	switch {
	case path.IsAbs(to):
		return "", fmt.Errorf("path %q is absolute; write it from the folder of this blueprint on, as ../database", to)
	case !fs.ValidPath(found):
		return "", fmt.Errorf("path %q leads out of the artifact that this blueprint, in %q, comes from; name a folder in it", to, own)
	case found == own:
		return "", fmt.Errorf("path %q is this blueprint itself; name the folder of another", to)
	}
	return found, nil
}

// Folder returns a folder of an artifact, all of it for the path "".
func Folder(artifact fs.FS, folder string) (fs.FS, error) {
	name := path.Clean(strings.TrimLeft(folder, "/"))
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("path %q leads out of the artifact; name a folder in it", folder)
	}
	if info, err := fs.Stat(artifact, name); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("path %q is no folder of the artifact; correct the path", folder)
	}
	return fs.Sub(artifact, name)
}
