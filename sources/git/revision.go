// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// ArchiveLocal writes the files of a revision of the repository around a directory on this machine to w, as Archive does, and returns the full hash of the
// commit. A revision is anything that names a commit, such as a branch, a tag, or HEAD~1.
func (c *Client) ArchiveLocal(ctx context.Context, dir, revision string, w io.Writer) (string, error) {
	repository, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return "", fmt.Errorf("there is no Git repository around %s: %w", dir, err)
	}
	hash, err := repository.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return "", fmt.Errorf("the repository around %s has no revision %s: %w; fetch it, or name another one", dir, revision, err)
	}
	commit, err := repository.CommitObject(*hash)
	if err != nil {
		return "", fmt.Errorf("read commit %s: %w", hash, err)
	}
	return commit.Hash.String(), c.write(ctx, Location{URL: "file://" + dir, Commit: hash.String()}, repository.Storer, commit, "", w)
}

// Remotes returns the addresses of the remotes of the repository around a directory, none where there is no repository.
func Remotes(dir string) []string {
	repository, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return nil
	}
	remotes, err := repository.Remotes()
	if err != nil {
		return nil
	}
	var addresses []string
	for _, remote := range remotes {
		addresses = append(addresses, remote.Config().URLs...)
	}
	return addresses
}
