// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// target is one fuzz target.
type target struct {
	// dir is the folder of the package, below the module.
	dir  string
	name string
}

func (t target) String() string { return filepath.Base(t.dir) + "." + t.name }

// declaration finds a fuzz target in a test file.
var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

// find returns the targets whose package and name match, ordered by folder. The module is the current folder.
func find(pattern *regexp.Regexp) ([]target, error) {
	var found []target
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range declaration.FindAllSubmatch(source, -1) {
			if t := (target{dir: filepath.Dir(path), name: string(match[1])}); pattern.MatchString(t.String()) {
				found = append(found, t)
			}
		}
		return nil
	})
	return found, err
}

// limits hold for one target.
type limits struct {
	time    time.Duration
	memory  int64
	workers int
}

// run builds the instrumented test of the package and fuzzes. It returns the most memory that one process held. Crossing the
// limit is an error that leaves the input in testdata/fuzz, as every other crash does.
func (t target) run(ctx context.Context, l limits) (peak int64, err error) {
	work, err := os.MkdirTemp("", "fuzz-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	binary := filepath.Join(work, "fuzz.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-fuzz=^"+t.name+"$", "-o", binary, "./"+t.dir)
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	if err := os.MkdirAll(t.found(), 0o755); err != nil {
		return 0, err
	}
	fuzz := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+l.time.String(), "-test.fuzzminimizetime=1s",
		"-test.fuzzcachedir="+cache(t.dir), fmt.Sprintf("-test.parallel=%d", l.workers))
	fuzz.Dir, fuzz.Stdout, fuzz.Stderr = t.dir, os.Stdout, os.Stderr
	fuzz.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", l.memory/2))
	fuzz.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := fuzz.Start(); err != nil {
		return 0, err
	}
	guard := watch(fuzz.Process.Pid, l.memory)
	err = fuzz.Wait()
	return guard.end(err)
}

// cache is where the inputs that reach new code are kept between runs.
func cache(dir string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "flux-landscaper", "fuzz", filepath.FromSlash(dir))
}

// found is the folder of the target below the cache.
func (t target) found() string { return filepath.Join(cache(t.dir), t.name) }

// seedBytes is the largest input that is kept as a seed.
const seedBytes = 4 << 10

// keepSeeds copies small inputs from the cache beside the target until there are as many as wanted. It returns how many it
// copied.
func (t target) keepSeeds(wanted int) (int, error) {
	seeds := filepath.Join(t.dir, "testdata", "fuzz", t.name)
	if err := os.MkdirAll(seeds, 0o755); err != nil {
		return 0, err
	}
	present, err := os.ReadDir(seeds)
	if err != nil {
		return 0, err
	}
	fresh, err := os.ReadDir(t.found())
	if err != nil {
		return 0, err
	}
	copied := 0
	for _, entry := range fresh {
		if len(present)+copied >= wanted {
			break
		}
		known := slices.ContainsFunc(present, func(p os.DirEntry) bool { return p.Name() == entry.Name() })
		if content, err := os.ReadFile(filepath.Join(t.found(), entry.Name())); err != nil || known || len(content) > seedBytes {
			continue
		} else if err := os.WriteFile(filepath.Join(seeds, entry.Name()), content, 0o644); err != nil {
			return copied, err
		}
		copied++
	}
	return copied, nil
}
