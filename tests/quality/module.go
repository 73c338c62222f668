// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// ModulePath is the path of this module.
const ModulePath = "github.com/flux-landscaper/flux-landscaper"

// Package is what the rules need to know of one package.
type Package struct {
	// ImportPath is the full path of the package.
	ImportPath string
	// Dir is the absolute folder of the sources.
	Dir string
	// Standard reports whether the package is part of Go.
	Standard bool
	// Imports are the paths imported by files that are no tests.
	Imports []string
	// TestImports and XTestImports are the paths imported by tests.
	TestImports, XTestImports []string
	// Deps are all paths imported, also indirectly, by files that are no tests.
	Deps []string
	// Error is set when the package does not load.
	Error *struct{ Err string }
}

// Room returns the path below the module, "" for packages of others.
func (p *Package) Room() string {
	room, _ := strings.CutPrefix(p.ImportPath, ModulePath+"/")
	if room == p.ImportPath {
		return ""
	}
	return room
}

// Module is this module with everything it depends on.
type Module struct {
	// Root is the absolute folder of go.mod.
	Root string
	// Packages by import path, those of others included.
	Packages map[string]*Package
}

// Load returns the module around the working directory. It asks the go command once per process.
var Load = sync.OnceValues(load)

func load() (*Module, error) {
	root, err := goCommand("", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	module := &Module{Root: strings.TrimSpace(string(root)), Packages: map[string]*Package{}}
	listed, err := goCommand(module.Root, "list", "-e", "-deps",
		"-json=ImportPath,Dir,Standard,Imports,TestImports,XTestImports,Deps,Error", "./...")
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(listed))
	for {
		p := &Package{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return module, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		module.Packages[p.ImportPath] = p
	}
}

// Own returns the packages of this module.
func (m *Module) Own() []*Package {
	var own []*Package
	for _, p := range m.Packages {
		if p.Room() != "" {
			own = append(own, p)
		}
	}
	return own
}

// Path returns the absolute path of a file or folder of the module, given with slashes.
func (m *Module) Path(relative string) string {
	return filepath.Join(m.Root, filepath.FromSlash(relative))
}

// goCommand runs the go command in a folder and returns what it printed.
func goCommand(dir string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}
