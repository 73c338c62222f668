// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const progressInterval = 15 * time.Second

// build compiles the component from its tool module and copies the CRDs that belong to it into the cache.
func (s *store) build(ctx context.Context, r recipe) (string, error) {
	dir := s.dir(r)
	if err := s.copyModule(r, dir); err != nil {
		return "", err
	}
	if r.rare() {
		if err := fetch(ctx, dir, r); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, string(r.component))
	stop := s.progress(r)
	_, err := goTool(ctx, dir, "build", "-ldflags", r.ldflags, "-o", path+".partial", r.pkg)
	took := stop()
	if err != nil {
		return "", err
	}
	if r.crds != "" {
		if err := copyCRDs(ctx, dir, r.crds, s.crdDir(r)); err != nil {
			return "", err
		}
	}
	s.sayf("built %s in %s", r.component, took)
	return path, os.Rename(path+".partial", path)
}

// definitions returns the CRDs of the component, and downloads their module where the cache has none.
func (s *store) definitions(ctx context.Context, r recipe) (string, error) {
	release, err := s.lockFor(ctx, r)
	if err != nil {
		return "", err
	}
	defer release()
	folder := s.crdDir(r)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	dir := s.dir(r)
	if err := s.copyModule(r, dir); err != nil {
		return "", err
	}
	if _, err := goTool(ctx, dir, "mod", "download", r.crds); err != nil {
		return "", err
	}
	return folder, copyCRDs(ctx, dir, r.crds, folder)
}

// copyModule copies go.mod and go.sum, so that what the go command adds for this machine never dirties the checkout.
func (s *store) copyModule(r recipe, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := copyFile(filepath.Join(s.moduleSource(r), name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("cannot copy the tool module %s: %w", r.module, err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// progress says what is being built now and every progressInterval, until the returned function is called.
func (s *store) progress(r recipe) (stop func() time.Duration) {
	started, done := time.Now(), make(chan struct{})
	s.sayf("building %s from %s (cold about %s on 2 cores)", r.component, r.pkg, r.cold)
	go func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				s.sayf("still building %s, %s of about %s", r.component, since(started), r.cold)
			}
		}
	}()
	return func() time.Duration {
		close(done)
		return since(started)
	}
}

func since(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Millisecond) }

// copyCRDs takes the generated CRDs out of a module that has been downloaded.
func copyCRDs(ctx context.Context, dir, module, to string) error {
	out, err := goTool(ctx, dir, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(out), "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("module %s has no CRDs below config/crd/bases: %w", module, err)
	}
	partial := to + ".partial"
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := copyFile(file, filepath.Join(partial, filepath.Base(file))); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(partial, to)
}

// goTool runs the go command in dir, free to complete go.mod and go.sum there, and returns what it printed.
// The error carries the end of its messages.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -buildvcs=false -trimpath", "GOWORK=off")
	return programs.Output(ctx, cmd)
}
