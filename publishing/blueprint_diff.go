// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"
)

// Change is one file that differs.
type Change struct {
	// Path of the file.
	Path string `json:"path"`
	// Kind is added, removed or changed, seen from the registry to the directory.
	Kind string `json:"kind"`
	// Text is a unified diff, or a line that says why there is none.
	Text string `json:"diff,omitempty"`
}

// Kinds of changes.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// maxText is how large a file may be to be compared line by line.
const maxText = 1 << 20

// DiffBlueprint compares the artifact behind url with a directory, packed as PushBlueprint does it. An empty result means that they have equal files.
func DiffBlueprint(ctx context.Context, r Registry, url, dir string, o PackOptions) ([]Change, error) {
	pulled, err := PullBlueprint(ctx, r, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = pulled.Close() }()
	local, err := readPacked(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	return compare(url, pulled.FS(), dir, local.FS())
}

// readPacked returns what would be pushed.
func readPacked(ctx context.Context, dir string, o PackOptions) (extracted reader, err error) {
	workspace, err := NewWorkspace()
	if err != nil {
		return reader{}, err
	}
	defer func() { err = errors.Join(err, workspace.Close()) }()
	blob, err := workspace.Keep(func(w io.Writer) error {
		_, err := Pack(w, dir, o)
		return err
	})
	if err != nil {
		return reader{}, err
	}
	return extract(ctx, dir, blob.Digest, io.NewSectionReader(blob.Content, 0, blob.Size))
}

func compare(oldName string, old fs.FS, newName string, current fs.FS) ([]Change, error) {
	before, err := contents(old)
	if err != nil {
		return nil, err
	}
	after, err := contents(current)
	if err != nil {
		return nil, err
	}
	both := maps.Clone(before)
	maps.Copy(both, after)
	changes := []Change{}
	for _, name := range slices.Sorted(maps.Keys(both)) {
		was, wasThere := before[name]
		is, isThere := after[name]
		change := Change{Path: name, Kind: Changed}
		switch {
		case !wasThere:
			change.Kind = Added
		case !isThere:
			change.Kind = Removed
		case bytes.Equal(was, is):
			continue
		}
		if change.Text, err = unified(oldName+"/"+name, was, newName+"/"+name, is); err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// contents reads all files.
func contents(files fs.FS) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if found[name], err = fs.ReadFile(files, name); err != nil {
			return fmt.Errorf("file %s cannot be read: %w", name, err)
		}
		return nil
	})
	return found, err
}

func unified(oldName string, before []byte, newName string, after []byte) (string, error) {
	if !isText(before) || !isText(after) {
		return fmt.Sprintf("binary files %s (%d bytes) and %s (%d bytes) differ\n", oldName, len(before), newName, len(after)), nil
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines(before), B: lines(after), FromFile: oldName, ToFile: newName, Context: 3,
	})
}

// lines keeps the ends of lines; a last line without one gets the mark that diff programs print.
func lines(text []byte) []string {
	var out []string
	for line := range bytes.Lines(text) {
		out = append(out, string(line))
	}
	if n := len(out); n > 0 && out[n-1][len(out[n-1])-1] != '\n' {
		out[n-1] += "\n\\ No newline at end of file\n"
	}
	return out
}

func isText(content []byte) bool {
	return len(content) <= maxText && utf8.Valid(content) && !bytes.ContainsRune(content, 0)
}
