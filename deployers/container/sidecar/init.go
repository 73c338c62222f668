// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package sidecar is what runs in a Pod of the container deployer beside the user's program: Init prepares its files, Wait stores what
// it leaves. Both find everything by environment variables, see layout.go, which names all that the deployer and these
// containers agree on; archive.go turns directories into archives and back. The user's program may have written anything to the
// volume that they share, so Wait never follows a link out of it.
package sidecar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	container "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
)

// maxDocument bounds a document from a Secret.
const maxDocument = 2 << 20

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
		ImportsPath: true, ExportsPath: true, TargetPath: true, ContentPath: false, StatePath: false,
	} {
		path, err := env.need(name)
		if err != nil {
			return err
		}
		if isFile {
			path = filepath.Dir(path)
		}
		if err := os.MkdirAll(path, DirectoryMode); err != nil { // #nosec G301 -- containers of another user read it
			return fmt.Errorf("make the directory of %s: %w", name, err)
		}
	}
	return nil
}

// writeImports writes importValues of the provider configuration; without any it writes an empty object.
func writeImports(env Environment) error {
	source, err := env.need(ConfigurationPath)
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
	return writeDocument(env(ImportsPath), imports)
}

// writeTarget copies the target; without one the file holds null.
func writeTarget(env Environment) error {
	raw, err := readDocument(env(TargetSourcePath))
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = []byte("null"), nil
	}
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	return writeDocument(env(TargetPath), raw)
}

// unpackSupply writes component descriptors and content, if there are any.
func unpackSupply(env Environment) error {
	content, err := env.need(ContentPath)
	if err != nil {
		return err
	}
	return unpack("component descriptor and content", env(SupplyPath), filepath.Dir(content))
}

// restoreState writes the state that the last run saved, if there is one.
func restoreState(env Environment) error {
	return unpack("state", env(StateSourcePath), env(StatePath))
}

// unpack extracts the archive whose pieces lie in a directory; without pieces there is nothing to do.
func unpack(what, source, into string) error {
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
	if err := Unpack(io.MultiReader(readers...), root); err != nil {
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
	if err := root.WriteFile(name, content, FileMode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Environment returns the value of an environment variable, as os.Getenv does.
type Environment func(name string) string

// need returns the value of a variable that has to be set.
func (e Environment) need(name string) (string, error) {
	value := e(name)
	if value == "" {
		return "", fmt.Errorf("the environment variable %s is not set; this command is started by the container deployer", name)
	}
	return value, nil
}

// number returns the value of a variable that has to be a positive number.
func (e Environment) number(name string) (int64, error) {
	value, err := strconv.ParseInt(e(name), 10, 64)
	if err != nil || value <= 0 {
		return 0, fmt.Errorf("the environment variable %s is not a positive number; this command is started by the container deployer", name)
	}
	return value, nil
}

// openBelow opens the directory that a path lies in and returns it with the name of the path in it.
func openBelow(path string) (*os.Root, string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	return root, filepath.Base(path), err
}
