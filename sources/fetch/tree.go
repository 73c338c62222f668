// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Tree is the verified content of one archive, read-only for its users and shared between them.
type Tree struct {
	// Digest is the digest of the archive that the files come from.
	Digest digest.Digest

	name    string
	root    *os.Root
	release func()
}

// newTree returns the files below root. A Tree that is dropped without Close releases its hold when it is collected.
func newTree(root *os.Root, c Content, release func()) *Tree {
	t := &Tree{Digest: c.Digest, name: c.Name, root: root, release: release}
	runtime.AddCleanup(t, func(release func()) { release() }, release)
	return t
}

// Close gives the tree back: its file systems must not be used any more, and the cache may drop it. Closing twice is
// harmless.
func (t *Tree) Close() error {
	err := t.root.Close()
	t.release()
	if err != nil {
		return fmt.Errorf("%s: close: %w", t.name, err)
	}
	return nil
}

// rootFS is what os.Root.FS offers.
type rootFS interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
}

// treeFS keeps its Tree from being collected while it is in use.
type treeFS struct {
	rootFS
	tree *Tree
}

// FS returns all files. No path, and nothing in the archive, leads out of it.
func (t *Tree) FS() fs.FS { return treeFS{t.root.FS().(rootFS), t} }

// Sub returns the directory dir, such as "./blueprints/shop" or "" for the whole, as a file system of its own. The error
// is an ErrUnsafe if dir leaves the archive, or wraps fs.ErrNotExist and names what is there instead.
func (t *Tree) Sub(dir string) (fs.FS, error) {
	name, info, err := t.find(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: path %q is a file; name the directory that holds it: %w", t.name, dir, fs.ErrInvalid)
	}
	sub, err := fs.Sub(t.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("%s: path %q: %w", t.name, dir, err)
	}
	return sub, nil
}

// find cleans a path that a person wrote and looks it up.
func (t *Tree) find(written string) (string, fs.FileInfo, error) {
	name := path.Clean(strings.TrimLeft(written, "/"))
	if !fs.ValidPath(name) {
		return "", nil, refuse(ErrUnsafe, t.name, fmt.Sprintf("path %q leaves the artifact", written),
			"name a path below its root")
	}
	info, err := fs.Stat(t.FS(), name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isInTheWay(err):
		return "", nil, t.missing(written, name)
	case err != nil:
		return "", nil, fmt.Errorf("%s: path %q: %w", t.name, written, err)
	}
	return name, info, nil
}

// shownNames is how many names an error lists.
const shownNames = 12

// missing lists the names in the deepest directory on the way to name that does exist.
func (t *Tree) missing(written, name string) error {
	at := path.Dir(name)
	found, err := fs.ReadDir(t.FS(), at)
	for err != nil && at != "." {
		at = path.Dir(at)
		found, err = fs.ReadDir(t.FS(), at)
	}
	names := make([]string, 0, shownNames)
	for i, f := range found {
		if i == shownNames {
			names = append(names, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		names = append(names, fmt.Sprintf("%q", f.Name()))
	}
	there := cmp.Or(strings.Join(names, ", "), "nothing")
	return fmt.Errorf("%s: path %q is not in it; %q holds %s; correct the path: %w", t.name, written, at, there, fs.ErrNotExist)
}

// File is content kept on disk. It must be closed.
type File struct {
	*os.File
	// Size in bytes.
	Size int64

	release func()
}

func openFile(path string, release func()) (*File, error) {
	f, err := os.Open(path) // #nosec G304 -- below the own directory
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	kept := &File{File: f, Size: info.Size(), release: release}
	runtime.AddCleanup(kept, func(release func()) { release() }, release)
	return kept, nil
}

// Close gives the file back; the cache may drop it then.
func (f *File) Close() error {
	err := f.File.Close()
	f.release()
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
