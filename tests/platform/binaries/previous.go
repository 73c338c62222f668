// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// ErrNoPrevious says that a commit before that of this checkout is not there: no Git, no history, or one that is cut off.
var ErrNoPrevious = errors.New("there is no such former commit")

// Previous is what a commit before that of this checkout holds.
type Previous struct {
	// Commit is its hash.
	Commit string
	// Source is a folder with its files.
	Source string
}

// CheckOutPrevious writes the files of a former commit into the cache: 1 back is the one before that of this checkout. The cache keeps them until
// another commit is so far back. It changes nothing in the repository. The error is ErrNoPrevious where there is none.
func CheckOutPrevious(ctx context.Context, back int) (*Previous, error) {
	store, err := openStore(os.Stderr)
	if err != nil {
		return nil, err
	}
	commit, err := git(ctx, store.source, "rev-parse", "--verify", "HEAD~"+strconv.Itoa(back))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoPrevious, programs.LastLines(err.Error(), 1))
	}
	checkout := sha256.Sum256([]byte(store.source))
	home := filepath.Join(cacheDir(), "previous", hex.EncodeToString(checkout[:8]), strconv.Itoa(back))
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	release, err := store.lockFile(ctx, filepath.Join(home, "lock"), "a former commit")
	if err != nil {
		return nil, err
	}
	defer release()
	previous := &Previous{Commit: strings.TrimSpace(commit), Source: filepath.Join(home, "source")}
	noted := filepath.Join(home, "commit")
	if known, err := os.ReadFile(noted); err == nil && string(known) == previous.Commit {
		return previous, nil
	}
	if err := errors.Join(os.RemoveAll(noted), os.RemoveAll(previous.Source), os.MkdirAll(previous.Source, 0o755)); err != nil {
		return nil, err
	}
	archive := filepath.Join(home, "source.tar")
	defer func() { _ = os.Remove(archive) }()
	if _, err := git(ctx, store.source, "archive", "--format=tar", "--output="+archive, previous.Commit); err != nil {
		return nil, err
	}
	if _, err := programs.Output(ctx, exec.Command("tar", "-xf", archive, "-C", previous.Source)); err != nil {
		return nil, err
	}
	return previous, os.WriteFile(noted, []byte(previous.Commit), 0o644)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	return programs.Output(ctx, cmd)
}

// Build builds a main package of the former commit like BuildStatic, and returns the path of the program.
func (p *Previous) Build(ctx context.Context, pkg string) (string, error) {
	path := filepath.Join(filepath.Dir(p.Source), filepath.Base(pkg))
	store, err := openStore(os.Stderr)
	if err != nil {
		return "", err
	}
	release, err := store.lockFile(ctx, path+".lock", filepath.Base(pkg)+" of a former commit")
	if err != nil {
		return "", err
	}
	defer release()
	cmd := exec.Command("go", append(buildFlags(), "-o", path, pkg)...)
	cmd.Dir, cmd.Env = p.Source, append(os.Environ(), "CGO_ENABLED=0")
	if _, err := programs.Output(ctx, cmd); err != nil {
		return "", fmt.Errorf("cannot build %s of commit %s: %w", pkg, p.Commit, err)
	}
	return path, nil
}
