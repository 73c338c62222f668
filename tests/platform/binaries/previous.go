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

// ErrNoPrevious says that a former commit is not there: no Git, no history, or one that is cut off.
var ErrNoPrevious = errors.New("there is no such former commit")

// UpgradedFrom is the commit whose landscapes have to be upgraded without a job.
const UpgradedFrom = "9a3c9e5303a6671b834e6d9950c91068b5de3784"

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
	checkout := sha256.Sum256([]byte(store.source))
	home := filepath.Join(cacheDir(), "previous", hex.EncodeToString(checkout[:8]), strconv.Itoa(back))
	return store.checkOut(ctx, "HEAD~"+strconv.Itoa(back), home)
}

// CheckOut writes the files of a former commit, given by its whole hash, into the cache, which keeps them. It changes nothing in the repository. The error
// is ErrNoPrevious where the history does not have it.
func CheckOut(ctx context.Context, commit string) (*Previous, error) {
	store, err := openStore(os.Stderr)
	if err != nil {
		return nil, err
	}
	return store.checkOut(ctx, commit, filepath.Join(cacheDir(), "previous", commit))
}

// checkOut writes the files of a revision below a folder, unless they are there.
func (s *store) checkOut(ctx context.Context, revision, home string) (*Previous, error) {
	commit, err := git(ctx, s.source, "rev-parse", "--verify", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s", ErrNoPrevious, revision, programs.LastLines(err.Error(), 1))
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	release, err := s.lockFile(ctx, filepath.Join(home, "lock"), "a former commit")
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
	if _, err := git(ctx, s.source, "archive", "--format=tar", "--output="+archive, previous.Commit); err != nil {
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

// CRDs is the folder of its CRDs.
func (p *Previous) CRDs() string { return filepath.Join(p.Source, "config", "crd", "bases") }

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
