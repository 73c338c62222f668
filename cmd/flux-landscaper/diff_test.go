// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDiffStatus compares with a commit, without a cluster.
func TestDiffStatus(t *testing.T) {
	p := start(t)
	require.NoError(t, os.CopyFS(p.home, os.DirFS(filepath.Join("..", "..", "landscape", "forecast", "testdata", "landscape"))))
	repository, err := git.PlainInit(p.home, false)
	require.NoError(t, err)
	tree, err := repository.Worktree()
	require.NoError(t, err)
	require.NoError(t, tree.AddGlob("."))
	_, err = tree.Commit("first", &git.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(0, 0)}})
	require.NoError(t, err)
	p.write("kubeconfig", "apiVersion: v1\nkind: Config\n")
	diff := func(args ...string) (stdout, stderr string, status int) {
		return p.run(append([]string{"diff", "-f", "installations"}, args...)...)
	}

	stdout, stderr, status := diff("--against", "HEAD")
	assert.Zero(t, status, stderr)
	assert.Empty(t, stdout)
	assert.Equal(t, "► no job would start, and nothing would change\n", stderr)

	p.write("installations/reports.yaml", "# gone\n")
	stdout, stderr, status = diff("--against", "HEAD")
	assert.Equal(t, statusDiffers, status, stderr)
	assert.Contains(t, stdout, "- ConfigMap reports/reports deleted")
	assert.Equal(t, "► jobs that start: 1; objects on targets added: 0, changed: 0, deleted: 1; not known: 1\n", stderr)
	stdout, stderr, status = diff("--against", "HEAD", "-o", "json")
	assert.Equal(t, statusDiffers, status, stderr)
	assert.True(t, json.Valid([]byte(stdout)))
	stdout, stderr, status = diff("--against", "HEAD", "-o", "markdown")
	assert.Equal(t, statusDiffers, status, stderr)
	assert.Contains(t, stdout, "**Installation team/reports deleted")

	for says, args := range map[string][]string{
		"has no revision HEAD~7":                {"--against", "HEAD~7"},
		`--output "yaml" is not known`:          {"--against", "HEAD", "-o", "yaml"},
		`context "none" does not exist`:         {"--kubeconfig", "kubeconfig", "--context", "none"},
		"--path nowhere cannot be read":         {"-f", "nowhere"},
		"if any flags in the group [all-namesp": {"-A", "-n", "team"},
	} {
		stdout, stderr, status = diff(args...)
		assert.Equal(t, statusError, status, says)
		assert.Contains(t, stderr, says)
		assert.Empty(t, stdout)
	}
}
