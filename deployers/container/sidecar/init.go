// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	container "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/archive"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
)

const (
	// maxDocument bounds a document from a Secret, maxSupply the archive with component descriptors and content.
	maxDocument = 2 << 20
	maxSupply   = 64 << 20
	// maxUnpacked bounds what an archive becomes.
	maxUnpacked = 1 << 30
)

// Init makes the files that the user's program finds: imports, target, component descriptors, content and the last state. What a Pod
// mounts comes from the deployer alone, so it needs no network. It may run again in the same volume. Errors name the file and repeat none of
// its content.
func Init(env Environment) error {
	for _, step := range []func(Environment) error{makeDirectories, writeImports, writeTarget, unpackSupply, restoreState} {
		if err := step(env); err != nil {
			return err
		}
	}
	return nil
}

func makeDirectories(env Environment) error {
	for name, isFile := range map[string]bool{
		layout.ImportsPath: true, layout.ExportsPath: true, layout.TargetPath: true, layout.ContentPath: false, layout.StatePath: false,
	} {
		path, err := env.need(name)
		if err != nil {
			return err
		}
		if isFile {
			path = filepath.Dir(path)
		}
		if err := os.MkdirAll(path, archive.DirectoryMode); err != nil { // #nosec G301 -- containers of another user read it
			return fmt.Errorf("make the directory of %s: %w", name, err)
		}
	}
	return nil
}

// writeImports writes importValues of the provider configuration; without any it writes an empty object.
func writeImports(env Environment) error {
	source, err := env.need(layout.ConfigurationPath)
	if err != nil {
		return err
	}
	raw, err := readDocument(source)
	if err != nil {
		return fmt.Errorf("read the provider configuration: %w", err)
	}
	config, err := container.DecodeConfiguration(raw)
	if err != nil {
		return fmt.Errorf("read the provider configuration: %w", err)
	}
	imports := []byte("{}")
	if values := config.ImportValues; values != nil && len(values.RawMessage) > 0 && string(values.RawMessage) != "null" {
		imports = values.RawMessage
	}
	return writeDocument(env(layout.ImportsPath), imports)
}

// writeTarget copies the target; without one the file holds null.
func writeTarget(env Environment) error {
	raw, err := readDocument(env(layout.TargetSourcePath))
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = []byte("null"), nil
	}
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	return writeDocument(env(layout.TargetPath), raw)
}

// unpackSupply writes component descriptors and content, if there are any.
func unpackSupply(env Environment) error {
	content, err := env.need(layout.ContentPath)
	if err != nil {
		return err
	}
	return unpack("component descriptor and content", env(layout.SupplyPath), filepath.Dir(content), limitsOf(maxSupply, maxUnpacked))
}

// restoreState writes the state that the last run saved, if there is one.
func restoreState(env Environment) error {
	pieces, err := env.number(layout.StateLimit)
	if err != nil {
		return err
	}
	bytes, err := env.number(layout.StateBytes)
	if err != nil {
		return err
	}
	return unpack("state", env(layout.StateSourcePath), env(layout.StatePath), limitsOf(pieces*layout.PieceBytes, bytes))
}

// unpack extracts the archive whose pieces lie in a directory; without pieces there is nothing to do.
func unpack(what, source, into string, limits archive.Limits) error {
	pieces, err := openPieces(source)
	if err != nil || len(pieces) == 0 {
		return err
	}
	readers := make([]io.Reader, len(pieces))
	for i, piece := range pieces {
		defer piece.Close()
		readers[i] = piece
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", what, err)
	}
	defer root.Close()
	if err := archive.Unpack(io.MultiReader(readers...), root, limits); err != nil {
		return fmt.Errorf("unpack %s: %w", what, err)
	}
	return nil
}

// openPieces opens the files of a directory in the order of their names. Kubernetes keeps entries of its own there, which begin with two dots.
func openPieces(dir string) ([]*os.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var opened []*os.File
	for _, entry := range entries { // sorted by name
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		file, err := os.Open(filepath.Join(dir, entry.Name())) // #nosec G304 -- a path that the deployer sets
		if err != nil {
			for _, other := range opened {
				_ = other.Close()
			}
			return nil, err
		}
		opened = append(opened, file)
	}
	return slices.Clip(opened), nil
}

func readDocument(path string) ([]byte, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	file, err := os.Open(path) // #nosec G304 -- a path that the deployer sets
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err == nil && len(raw) > maxDocument {
		err = fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	return raw, err
}

// writeDocument replaces a file in the shared volume without following links out of its directory.
func writeDocument(path string, content []byte) error {
	root, name, err := openBelow(path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.WriteFile(name, content, archive.FileMode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
