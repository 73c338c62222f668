// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	gotemplate "text/template"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// FileInfo describes a file of the blueprint to templates.
type FileInfo struct {
	// Name of the file without directory.
	Name string
	// IsDir reports whether it is a directory.
	IsDir bool
	// Size in bytes.
	Size int64
	// Mode bits.
	Mode fs.FileMode
}

func (r *goRun) fileFunctions() gotemplate.FuncMap {
	return gotemplate.FuncMap{
		"include":  r.include,
		"readFile": func(name string) ([]byte, error) { return ReadFile(r.in.Files, name) },
		"readDir":  func(name string) ([]FileInfo, error) { return readDir(r.in.Files, name) },
	}
}

// include renders another file of the blueprint.
func (r *goRun) include(name string, binding any) (string, error) {
	if r.includes >= maxIncludes {
		return "", fmt.Errorf("rendering template has a nested reference name: %s: %w", name, errIncludes)
	}
	r.includes++
	defer func() { r.includes-- }()
	source, err := ReadFile(r.in.Files, name)
	if err != nil {
		return "", err
	}
	return r.run(cleanPath(name), string(source), binding)
}

// cleanPath makes a path of a blueprint relative to its root; leading and extra slashes and dots do not matter, and it never leads
// out of the root.
func cleanPath(name string) string {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	if clean == "" {
		return "."
	}
	return clean
}

// ReadFile reads a file of a blueprint. The path may begin with a slash. It fails when there is no such file, naming what is in its
// directory, or when the file is too large.
func ReadFile(files fs.FS, name string) ([]byte, error) {
	if files == nil {
		return nil, fmt.Errorf("file %q cannot be read, because there are no files here", name)
	}
	file, err := files.Open(cleanPath(name))
	if err != nil {
		return nil, missingFile(files, name, err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("file %q of the blueprint cannot be read: %w", name, fault.WithoutPath(err))
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("file %q of the blueprint is larger than %d bytes; split it", name, maxFile)
	}
	return data, nil
}

func missingFile(files fs.FS, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file %q of the blueprint cannot be read: %w", name, fault.WithoutPath(err))
	}
	siblings, err := readDir(files, path.Dir(cleanPath(name)))
	if err != nil {
		return fmt.Errorf("file %q is not in the blueprint, nor is its directory: %w", name, fs.ErrNotExist)
	}
	var names []string
	for _, sibling := range siblings[:min(len(siblings), 20)] {
		names = append(names, sibling.Name)
	}
	return fmt.Errorf("file %q is not in the blueprint; its directory has: %s: %w", name, strings.Join(names, ", "), fs.ErrNotExist)
}

func readDir(files fs.FS, name string) ([]FileInfo, error) {
	if files == nil {
		return nil, fmt.Errorf("directory %q cannot be read, because there are no files here", name)
	}
	entries, err := fs.ReadDir(files, cleanPath(name))
	if err != nil {
		return nil, fmt.Errorf("directory %q of the blueprint cannot be read: %w", name, fault.WithoutPath(err))
	}
	out := make([]FileInfo, 0, len(entries))
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("directory %q of the blueprint cannot be read: %w", name, fault.WithoutPath(err))
		}
		out = append(out, FileInfo{Name: info.Name(), IsDir: info.IsDir(), Size: info.Size(), Mode: info.Mode()})
	}
	return out, nil
}
