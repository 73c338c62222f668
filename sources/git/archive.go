// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// walk is the way through one tree.
type walk struct {
	at      Location
	tar     *tar.Writer
	objects storer.EncodedObjectStorer
	options Options
	entries int
	bytes   int64
}

// maxDepth is how many directories may lie in each other.
const maxDepth = 100

// write puts the files below folder into a tar.
func (c *Client) write(ctx context.Context, at Location, objects storer.EncodedObjectStorer, commit *object.Commit, folder string, w io.Writer) error {
	root, err := commit.Tree()
	if err != nil {
		return explain(at, "read the files of the commit", err)
	}
	clean := strings.TrimPrefix(path.Clean("/"+folder), "/")
	if clean != "" {
		if root, err = root.Tree(clean); err != nil {
			return fail(ErrNotFound, at, fmt.Sprintf("commit %s has no directory %q", commit.Hash, folder), "correct the path")
		}
	}
	out := &walk{at: at, tar: tar.NewWriter(w), objects: objects, options: c.options}
	if err := out.tree(ctx, root, "", 0); err != nil {
		return explain(at, "read the files of the commit", err)
	}
	return out.tar.Close()
}

func (w *walk) tree(ctx context.Context, t *object.Tree, at string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("directories in each other: %w", errTooLarge)
	}
	for _, entry := range t.Entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.entries++; w.entries > w.options.MaxEntries {
			return fmt.Errorf("files and directories: %w", errTooLarge)
		}
		if err := w.entry(ctx, t, &entry, path.Join(at, entry.Name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(ctx context.Context, t *object.Tree, entry *object.TreeEntry, name string, depth int) error {
	if unsafe(entry.Name) {
		return fail(ErrInvalid, w.at, fmt.Sprintf("it has an entry with the name %q", entry.Name), "remove it from the repository")
	}
	switch entry.Mode {
	case filemode.Dir:
		child, err := object.GetTree(w.objects, entry.Hash)
		if err != nil {
			return err
		}
		return w.tree(ctx, child, name, depth+1)
	case filemode.Submodule:
		return nil
	default:
		return w.file(t, entry, name)
	}
}

// unsafe reports whether a name is none that a file in a directory can have.
func unsafe(name string) bool {
	return name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00")
}

func (w *walk) file(t *object.Tree, entry *object.TreeEntry, name string) (err error) {
	file, err := t.TreeEntryFile(entry)
	if err != nil {
		return err
	}
	if w.bytes += file.Size; file.Size > w.options.MaxFile || w.bytes > w.options.MaxTotal {
		return fmt.Errorf("files: %w", errTooLarge)
	}
	content, err := file.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if entry.Mode == filemode.Symlink {
		return w.link(name, content)
	}
	mode := int64(0o644)
	if entry.Mode == filemode.Executable {
		mode = 0o755
	}
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: file.Size, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(w.tar, content)
	return err
}

func (w *walk) link(name string, content io.Reader) error {
	const longest = 4096
	target, err := io.ReadAll(io.LimitReader(content, longest))
	if err != nil {
		return err
	}
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: string(target), Mode: 0o777, Format: tar.FormatPAX})
}
