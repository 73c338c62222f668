// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// maxExports is how many bytes of exports fit into a Secret.
const maxExports = 1<<20 - 4<<10

// readExports returns the exports in a file as JSON, nil where there is no file. The file may be anything that the user's program made: its
// directory cannot be left by links, and pipes do not block.
func readExports(path string) ([]byte, error) {
	shared, err := os.OpenRoot(filepath.Dir(filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	defer shared.Close()
	name := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
	file, err := shared.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be read: %w; write a file to the path in EXPORTS_PATH", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("the exports are no file; write a file to the path in EXPORTS_PATH")
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxExports+1))
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be read: %w", err)
	}
	return parseExports(raw)
}

// parseExports returns a map written as JSON or YAML as JSON; nil for an empty document. Errors do not quote it.
func parseExports(raw []byte) ([]byte, error) {
	if len(raw) > maxExports {
		return nil, fmt.Errorf("the exports have more than %d bytes; export less", maxExports)
	}
	var values map[string]any
	asJSON, err := foreign.ToJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be used: the file %s; write a map of keys and values as JSON or YAML", foreign.Problem(err))
	}
	if json.Unmarshal(asJSON, &values) != nil {
		return nil, errors.New("the exports are not a map; write a map of keys and values as JSON or YAML")
	}
	if values == nil {
		return nil, nil
	}
	if len(asJSON) > maxExports {
		return nil, fmt.Errorf("the exports have more than %d bytes as JSON; export less", maxExports)
	}
	return asJSON, nil
}
