// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// BuildLandscaper builds cmd/landscaper of this checkout into the cache, once for a test binary, and returns the binary's path. The go
// command decides whether anything is to do, so calling it in every suite is cheap. A test binary with the race detector builds
// one with it, and a test that uses the platform fails when a process has reported a data race.
func BuildLandscaper(ctx context.Context) (string, error) {
	return buildOwn(ctx, ownCommand("landscaper"))
}

// BuildCLI builds cmd/flux-landscaper of this checkout like BuildLandscaper.
func BuildCLI(ctx context.Context) (string, error) {
	return buildOwn(ctx, ownCommand("flux-landscaper"))
}

// BuildProgram builds another main package of this checkout like BuildLandscaper. pkg is its path below the module, e.g. ./docs/example-deployer.
func BuildProgram(ctx context.Context, pkg string) (string, error) {
	return buildOwn(ctx, ownProgram{pkg: pkg, name: filepath.Base(pkg)})
}

// BuildStatic builds a main package of this checkout without C, for images, and returns the path of the program.
func BuildStatic(ctx context.Context, pkg string) (string, error) {
	return buildOwn(ctx, ownProgram{pkg: pkg, name: filepath.Base(pkg), static: true})
}

// built holds the binaries that this process has built.
var built struct {
	sync.Mutex
	paths map[ownProgram]string
}

// An ownProgram is a main package of this checkout.
type ownProgram struct {
	pkg, name string
	static    bool // without C and race detector, for images
}

func ownCommand(name string) ownProgram { return ownProgram{pkg: "./cmd/" + name, name: name} }

func buildOwn(ctx context.Context, program ownProgram) (string, error) {
	built.Lock()
	defer built.Unlock()
	if path, ok := built.paths[program]; ok {
		return path, nil
	}
	path, err := compileOwn(ctx, program)
	if err != nil {
		return "", err
	}
	if built.paths == nil {
		built.paths = map[ownProgram]string{}
	}
	built.paths[program] = path
	return path, nil
}

func compileOwn(ctx context.Context, program ownProgram) (string, error) {
	store, err := openStore(os.Stderr)
	if err != nil {
		return "", err
	}
	if err := noteSources(store.source, program.pkg); err != nil {
		return "", err
	}
	checkout := sha256.Sum256([]byte(store.source))
	folder, flags := hex.EncodeToString(checkout[:8]), buildFlags()
	if programs.RaceDetector && !program.static {
		folder, flags = folder+"-race", append(flags, "-race")
	}
	path := filepath.Join(cacheDir(), "own", folder, program.name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	release, err := store.lockFile(ctx, path+".lock", program.name)
	if err != nil {
		return "", err
	}
	defer release()
	cmd := exec.Command("go", append(flags, "-o", path, program.pkg)...)
	cmd.Dir = store.source
	if program.static || !programs.RaceDetector {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if _, err := programs.Output(ctx, cmd); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", program.name, err)
	}
	return path, nil
}

// buildFlags are those of the Makefile: programs, tests and images of all checkouts share the compiled packages.
func buildFlags() []string { return []string{"build", "-buildvcs=false", "-trimpath"} }

// ownRooms are the folders that our binaries are made of.
var ownRooms = []string{"agent", "api", "blueprints", "cmd", "confined", "controllers", "deployers", "publishing", "sources", "go.mod", "go.sum"}

// noteSources looks at every file that our binaries are made of, and at those of one program. The go command takes the result of a test from its cache unless a file
// changed that the test itself has looked at: without this, a suite that runs a binary would count as passed when the binary is another.
func noteSources(root, program string) error {
	for _, room := range append([]string{program}, ownRooms...) {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.Stat(path)
			return err
		})
		if err != nil {
			return fmt.Errorf("cannot look at the sources of our binaries: %w", err)
		}
	}
	return nil
}
