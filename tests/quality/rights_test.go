// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestWhoReachesEverything fails when rights of manifests change who is worth an administrator, until the table is made anew and read.
func TestWhoReachesEverything(t *testing.T) {
	holders, err := Holders(loaded(t))
	require.NoError(t, err)
	fresh, err := RenderSecurity(loaded(t), holders)
	require.NoError(t, err)
	written, err := os.ReadFile(loaded(t).Path(SecurityPage))
	require.NoError(t, err)
	assert.Equal(t, fresh, string(written), "run make generate")
	for _, holder := range holders {
		assert.NotContains(t, holder.Ways, "grants any right", "nothing of ours needs that: %s", holder.Account)
		assert.NotContains(t, holder.Ways, "acts as anybody", "nothing of ours needs that: %s", holder.Account)
		assert.NotContains(t, holder.Ways, "runs Pods as any ServiceAccount", "nothing of ours needs that: %s", holder.Account)
		assert.NotContains(t, holder.Ways, "runs commands in any Pod", "nothing of ours needs that: %s", holder.Account)
	}
}

func TestTokensAreOffByDefault(t *testing.T) {
	holders, err := Holders(loaded(t))
	require.NoError(t, err)
	who := map[string][]string{}
	for _, holder := range holders {
		if slices.Contains(holder.Ways, "requests tokens of every ServiceAccount") {
			who[holder.With] = append(who[holder.With], holder.Account)
		}
	}
	assert.Equal(t, map[string][]string{
		"`flux/install/target-tokens`":       {"landscaper-helm-deployer", "landscaper-manifest-deployer"},
		"`flux/install/registry-identities`": {"landscaper-controller"},
	}, who)
}

func TestWaysToEverything(t *testing.T) {
	rule := func(resource, verb string, names ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names}}
	}
	assert.Len(t, waysOf(rule("*", "*")), len(ways))
	assert.Equal(t, []string{"requests tokens of every ServiceAccount"}, waysOf(rule("serviceaccounts/token", "create")))
	assert.Empty(t, waysOf(rule("secrets", "get", "one")), "one object is not everything")
	assert.Empty(t, waysOf(rule("secrets", "delete")))
	assert.Empty(t, waysOf(rule("serviceaccounts", "get")))
}

var (
	threatTest = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	testHeader = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// TestThreatsNameTestsThatExist also fails where a threat names none.
func TestThreatsNameTestsThatExist(t *testing.T) {
	has := map[string]bool{}
	root := loaded(t).Path(".")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range testHeader.FindAllStringSubmatch(string(text), -1) {
			has[found[1]] = true
		}
		return err
	}))
	rows := 0
	for line := range strings.SplitSeq(string(content(t, "docs/dev/threats.md")), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Class ") {
			continue
		}
		rows++
		named := threatTest.FindAllStringSubmatch(line, -1)
		assert.NotEmpty(t, named, "no test holds: %s", line)
		for _, name := range named {
			assert.True(t, has[name[1]], "%s does not exist", name[1])
		}
	}
	assert.Greater(t, rows, 15)
}
