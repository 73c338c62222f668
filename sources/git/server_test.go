// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/require"
)

// server serves one repository with Git's own HTTP backend.
type server struct {
	url, dir string
	repo     *gogit.Repository
	requests atomic.Int32
	// user and password, if set, are needed.
	user, password string
}

func serve(t *testing.T) *server {
	command, err := exec.LookPath("git")
	require.NoError(t, err, "the test needs the git command")
	root := t.TempDir()
	dir := filepath.Join(root, "shop")
	repo, err := gogit.PlainInitWithOptions(dir, &gogit.PlainInitOptions{InitOptions: gogit.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName("main")}})
	require.NoError(t, err)
	s := &server{dir: dir, repo: repo}
	backend := &cgi.Handler{
		Path: command, Args: []string{"http-backend"}, Dir: root, Logger: log.New(io.Discard, "", 0), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + root,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if user, password, _ := r.BasicAuth(); user != s.user || password != s.password {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "no "+password, http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	s.url = listening.URL + "/shop/.git"
	return s
}

// commit writes files (nil deletes) and returns the hash.
func (s *server) commit(t *testing.T, files map[string]string) string {
	work, err := s.repo.Worktree()
	require.NoError(t, err)
	for name, content := range files {
		path := filepath.Join(s.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		_, err := work.Add(name)
		require.NoError(t, err)
	}
	hash, err := work.Commit("a change", &gogit.CommitOptions{Author: &object.Signature{Name: "Test", Email: "test@example.com", When: time.Unix(1, 0)}, AllowEmptyCommits: true})
	require.NoError(t, err)
	return hash.String()
}

func (s *server) tag(t *testing.T, name string, annotated bool) {
	head, err := s.repo.Head()
	require.NoError(t, err)
	var options *gogit.CreateTagOptions
	if annotated {
		options = &gogit.CreateTagOptions{Tagger: &object.Signature{Name: "Test", When: time.Unix(1, 0)}, Message: name}
	}
	_, err = s.repo.CreateTag(name, head.Hash(), options)
	require.NoError(t, err)
}

// allowAnyCommit lets the server hand out commits that no ref names, as public hosts do.
func (s *server) allowAnyCommit(t *testing.T) {
	c, err := s.repo.Config()
	require.NoError(t, err)
	c.Raw.Section("uploadpack").SetOption("allowAnySHA1InWant", "true")
	require.NoError(t, s.repo.Storer.SetConfig(c))
}
