// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const modulePath = "github.com/flux-landscaper/flux-landscaper"

// A store is the cache folder of built programs: one folder per tool module and key of everything that shapes a build.
type store struct {
	root    string // the cache folder
	source  string // the folder of this repository
	log     io.Writer
	offline bool // a download has failed, do not try again
}

func openStore(log io.Writer) (*store, error) {
	source, err := RepositoryRoot()
	if err != nil {
		return nil, err
	}
	root := filepath.Join(cacheDir(), "platform")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create the cache folder of the platform: %w", err)
	}
	return &store{root: root, source: source, log: log}, nil
}

// cacheDir is the user's cache folder for this project, or a folder below the temporary one where there is no home.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "flux-landscaper")
}

// RepositoryRoot walks up from the working directory to the go.mod of this repository.
func RepositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot tell the working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if declaresModule(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", errors.New("cannot find the go.mod of " + modulePath + ": run inside a checkout of the repository")
}

func declaresModule(goMod string) bool {
	content, err := os.ReadFile(goMod)
	first, _, _ := strings.Cut(string(content), "\n")
	return err == nil && strings.TrimSpace(first) == "module "+modulePath
}

// moduleSource is the folder of the checkout that holds go.mod and go.sum of the recipe.
func (s *store) moduleSource(r recipe) string {
	return filepath.Join(s.source, "tests", "platform", "tools", r.module)
}

// dir is the folder of the recipe's module in the cache; its name changes whenever the build could come out differently.
func (s *store) dir(r recipe) string {
	hash := sha256.New()
	goMod, _ := os.ReadFile(filepath.Join(s.moduleSource(r), "go.mod"))
	fmt.Fprintf(hash, "%s\n%s/%s\n%s\n%s", runtime.Version(), runtime.GOOS, runtime.GOARCH, r.ldflags, goMod)
	return filepath.Join(s.root, r.module+"-"+hex.EncodeToString(hash.Sum(nil))[:16])
}

func (s *store) crdDir(r recipe) string { return filepath.Join(s.dir(r), "crds-"+string(r.component)) }

func (s *store) cached(r recipe) (string, bool) {
	path := filepath.Join(s.dir(r), string(r.component))
	if r.crds != "" {
		if _, err := os.Stat(s.crdDir(r)); err != nil {
			return "", false
		}
	}
	return path, isExecutable(path)
}

func (s *store) sayf(format string, args ...any) {
	fmt.Fprintf(s.log, "platform: "+format+"\n", args...)
}
