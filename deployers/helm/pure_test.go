// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

func TestDecide(t *testing.T) {
	now := time.Now()
	mine := map[string]string{jobLabel: "job", contentLabel: "content", ownerLabel: "item"}
	with := func(label, value string) map[string]string {
		changed := map[string]string{jobLabel: "job", contentLabel: "content", ownerLabel: "item"}
		changed[label] = value
		return changed
	}
	for name, tc := range map[string]struct {
		last *engine.Release
		want action
	}{
		"no release":                    {nil, actionInstall},
		"history only":                  {&engine.Release{Status: engine.StatusUninstalled}, actionReplace},
		"uninstall interrupted":         {&engine.Release{Status: engine.StatusUninstalling}, actionFinishUninstall},
		"deployed by this job":          {&engine.Release{Status: engine.StatusDeployed, Labels: mine}, actionNone},
		"deployed by another job":       {&engine.Release{Status: engine.StatusDeployed, Labels: with(jobLabel, "old")}, actionUpgrade},
		"deployed from other content":   {&engine.Release{Status: engine.StatusDeployed, Labels: with(contentLabel, "old")}, actionUpgrade},
		"deployed by another item":      {&engine.Release{Status: engine.StatusDeployed, Labels: with(ownerLabel, "other")}, actionUpgrade},
		"failed in this job":            {&engine.Release{Status: engine.StatusFailed, Labels: mine}, actionUpgrade},
		"superseded":                    {&engine.Release{Status: "superseded", Labels: mine}, actionUpgrade},
		"this job interrupted":          {&engine.Release{Status: "pending-upgrade", Labels: mine, Began: now}, actionForget},
		"another job interrupted":       {&engine.Release{Status: "pending-install", Labels: with(jobLabel, "old"), Began: now}, actionGiveUp},
		"this job with other content":   {&engine.Release{Status: "pending-install", Labels: with(contentLabel, "old"), Began: now}, actionGiveUp},
		"somebody else at work":         {&engine.Release{Status: "pending-upgrade", Began: now.Add(-foreignPending / 2)}, actionStandBack},
		"somebody else left it pending": {&engine.Release{Status: "pending-rollback", Began: now.Add(-foreignPending)}, actionGiveUp},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, decide(tc.last, mine, now)) })
	}
}

func TestLabelValue(t *testing.T) {
	for text, isKept := range map[string]bool{
		"0b6f1c1e-6f0f-4a55-9e8c-5d1c2d6c1a11": true, "job with spaces": false, strings.Repeat("x", 64): false,
	} {
		value := labelValue(text)
		assert.Equal(t, isKept, value == text, text)
		assert.LessOrEqual(t, len(value), 63)
	}
}

func TestLongestPrefix(t *testing.T) {
	auths := []repositoryAuth{
		{URL: "https://example.org"}, {URL: "https://example.org/charts/"}, {URL: "example.org/charts/private"}, {URL: ""},
	}
	for location, want := range map[string]string{
		"https://example.org/index.yaml":                "https://example.org",
		"https://example.org/charts/index.yaml":         "https://example.org/charts/",
		"https://example.org/charts/private/a.tgz":      "example.org/charts/private",
		"https://example.org/charts/privateer/a.tgz":    "https://example.org/charts/",
		"https://example.org.evil.example/charts/a.tgz": "",
		"http://example.org/charts/a.tgz":               "",
		"https://other.example/charts":                  "",
	} {
		t.Run(location, func(t *testing.T) {
			found := longestPrefix(auths, location)
			if want == "" {
				assert.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			assert.Equal(t, want, found.URL)
		})
	}
}

func TestResolveURL(t *testing.T) {
	for location, want := range map[string]string{
		"a.tgz":                     "https://example.org/charts/a.tgz",
		"files/a.tgz":               "https://example.org/charts/files/a.tgz",
		"/a.tgz":                    "https://example.org/a.tgz",
		"https://cdn.example/a.tgz": "https://cdn.example/a.tgz",
		"file:///etc/passwd":        "",
		"oci://example.org/a:1.0.0": "",
	} {
		t.Run(location, func(t *testing.T) {
			resolved, err := resolveURL("https://example.org/charts", location)
			assert.Equal(t, want, resolved)
			assert.Equal(t, want == "", err != nil)
		})
	}
}

func TestShownHidesCredentials(t *testing.T) {
	assert.Equal(t, "https://example.org/a.tgz", shown("https://user:secret@example.org/a.tgz?token=secret#secret"))
}

func TestMerged(t *testing.T) {
	result, err := merged(map[string]any{"a": map[string]any{"b": 1}}, map[string]any{"a": map[string]any{"c": 2}, "d": 3})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": map[string]any{"b": 1, "c": 2}, "d": 3}, result)

	_, err = merged(map[string]any{"a": 1}, map[string]any{"a": 2})
	require.ErrorContains(t, err, "two of them write to a")
}

func FuzzFindEntry(f *testing.F) {
	f.Add([]byte("entries: {a: [{version: 1.0.0, urls: [a.tgz]}]}"))
	f.Add([]byte("entries: {a: null}"))
	f.Add([]byte("&a [*a]"))
	repository := &helmv1alpha1.HelmChartRepo{HelmChartName: "a", HelmChartVersion: "1.0.0"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		entry, err := findEntry(raw, "https://example.org", repository)
		if err == nil {
			assert.NotEmpty(t, entry.URLs)
		}
	})
}
