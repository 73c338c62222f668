// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forbidden are texts that belong to a machine or are secret, with the reason.
var forbidden = map[string]*regexp.Regexp{
	"path of a machine": regexp.MustCompile("(^|[\\s\"'`=:(])/" + "(root|home|Users|work|build|workspace)/[A-Za-z]"),
	"private key":       regexp.MustCompile("-----BEGIN" + " [A-Z ]*PRIVATE KEY-----\\s+[A-Za-z0-9+/=]{16}"),
	"access token":      regexp.MustCompile("(ghp|gho|github_pat|glpat|xox[bp])" + "[-_][A-Za-z0-9]{20}|AKIA[0-9A-Z]{16}"),
}

// texts calls visit with every text file of the module.
func texts(t *testing.T, visit func(path, content string)) {
	t.Helper()
	module := loaded(t)
	require.NoError(t, module.Walk(func(path string) error {
		content, err := os.ReadFile(module.Path(path))
		if err == nil && utf8.Valid(content) {
			visit(path, string(content))
		}
		return err
	}))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestNothingOfAMachineAndNoSecrets(t *testing.T) {
	texts(t, func(path, content string) {
		for what, pattern := range forbidden {
			if found := pattern.FindString(content); found != "" {
				t.Errorf("%s contains a %s: %.40q", path, what, found)
			}
		}
	})
}

func TestNoConflictIsLeftOpen(t *testing.T) {
	open := regexp.MustCompile(`(?m)^(<{7}|>{7}) `)
	texts(t, func(path, content string) {
		assert.Empty(t, open.FindString(content), "%s has the two sides of a merge", path)
	})
}

func TestNoProxyOfAMachine(t *testing.T) {
	answer, err := goCommand("", "env", "GOPROXY")
	require.NoError(t, err)
	var hosts []string
	for _, proxy := range strings.FieldsFunc(string(answer), func(r rune) bool { return strings.ContainsRune(",|\n", r) }) {
		if address, err := url.Parse(proxy); err == nil && address.Host != "" && address.Host != "proxy.golang.org" {
			hosts = append(hosts, address.Hostname())
		}
	}
	texts(t, func(path, content string) {
		for _, host := range hosts {
			assert.False(t, strings.Contains(content, host), "%s names the module proxy of this machine", path)
		}
	})
}

func TestNoLocalReplacements(t *testing.T) {
	module := loaded(t)
	texts(t, func(path, _ string) {
		if filepath.Base(path) != "go.mod" {
			return
		}
		answer, err := goCommand(module.Root, "mod", "edit", "-json", module.Path(path))
		require.NoError(t, err)
		var edited struct {
			Replace []struct {
				Old, New struct{ Path, Version string }
			}
		}
		require.NoError(t, json.Unmarshal(answer, &edited))
		for _, replace := range edited.Replace {
			assert.NotEmpty(t, replace.New.Version, "%s replaces %s by a folder", path, replace.Old.Path)
		}
	})
}
