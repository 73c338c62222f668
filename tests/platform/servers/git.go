// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"
	"maps"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	gitBranch = "main"
	gitUser   = "Platform"
	gitEmail  = "platform@example.com"
)

// GitServer serves repositories over smart HTTP, for reading and pushing, without credentials.
type GitServer struct {
	// URL is the server's address, e.g. "http://127.0.0.1:34567".
	URL string

	dir    string
	server *server
}

// StartGit serves the bare repositories below dir with Git's own HTTP backend.
func StartGit(dir string) (*GitServer, error) {
	if err := os.MkdirAll(filepath.Join(dir, "bare"), 0o755); err != nil {
		return nil, err
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("the Git server needs the git command, install it: %w", err)
	}
	running, err := serveHTTP(&cgi.Handler{
		Path:   git,
		Args:   []string{"http-backend"},
		Dir:    dir,
		Env:    append(gitEnv(dir), "GIT_PROJECT_ROOT="+filepath.Join(dir, "bare"), "GIT_HTTP_EXPORT_ALL=1"),
		Logger: discardLog,
	})
	if err != nil {
		return nil, err
	}
	return &GitServer{URL: "http://" + running.address, dir: dir, server: running}, nil
}

// gitEnv keeps the person's and the machine's Git configuration out, and background work that would outlive a command.
func gitEnv(home string) []string {
	return []string{
		"HOME=" + home, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=receive.autogc", "GIT_CONFIG_VALUE_2=false",
		"GIT_AUTHOR_NAME=" + gitUser, "GIT_AUTHOR_EMAIL=" + gitEmail,
		"GIT_COMMITTER_NAME=" + gitUser, "GIT_COMMITTER_EMAIL=" + gitEmail,
	}
}

// Unavailable makes the server answer 503 to everything, or serve again.
func (s *GitServer) Unavailable(down bool) { s.server.down.Store(down) }

// Stop ends the server.
func (s *GitServer) Stop() error { return s.server.stop() }

// GitRepo is one repository of the platform's Git server, with one branch "main".
type GitRepo struct {
	// CloneURL is what a GitRepository's spec.url takes; pushing to it works as well.
	CloneURL string
	// Dir is a clone that Commit works in; it holds the files of the newest commit.
	Dir string

	mu     sync.Mutex
	server *GitServer
}

// CreateRepository makes an empty repository. Names are unique per server and may contain slashes.
func (s *GitServer) CreateRepository(ctx context.Context, name string) (*GitRepo, error) {
	bare, clone := filepath.Join(s.dir, "bare", name+".git"), filepath.Join(s.dir, "clones", name)
	repo := &GitRepo{CloneURL: s.URL + "/" + name + ".git", Dir: clone, server: s}
	if _, err := os.Stat(bare); err == nil {
		return nil, fmt.Errorf("repository %s exists, choose another name", name)
	}
	steps := [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=" + gitBranch, bare},
		{"--git-dir=" + bare, "config", "http.receivepack", "true"},
		{"init", "--quiet", "--initial-branch=" + gitBranch, clone},
		{"-C", clone, "remote", "add", "origin", bare},
	}
	for _, step := range steps {
		if _, err := s.git(ctx, step...); err != nil {
			return nil, fmt.Errorf("cannot create repository %s: %w", name, err)
		}
	}
	return repo, nil
}

// Commit writes the files (path relative to the root → content; nil deletes), commits and pushes them to main, and
// returns the revision as Flux writes it: "main@sha1:…". Files that stay the same still make a commit.
func (r *GitRepo) Commit(ctx context.Context, message string, files map[string][]byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := writeOrDelete(filepath.Join(r.Dir, filepath.FromSlash(path)), files[path]); err != nil {
			return "", fmt.Errorf("cannot change %s: %w", path, err)
		}
	}
	steps := [][]string{
		{"add", "--all"},
		{"commit", "--quiet", "--allow-empty", "--message", message},
		{"push", "--quiet", "origin", gitBranch},
		{"rev-parse", "HEAD"},
	}
	var out string
	for _, step := range steps {
		var err error
		if out, err = r.server.git(ctx, append([]string{"-C", r.Dir}, step...)...); err != nil {
			return "", err
		}
	}
	return gitBranch + "@sha1:" + strings.TrimSpace(out), nil
}

func writeOrDelete(path string, content []byte) error {
	if content == nil {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

func (s *GitServer) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(gitEnv(s.dir), "PATH="+os.Getenv("PATH"))
	return programs.Output(ctx, cmd)
}
