// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// link is the target of a link of Markdown, without its anchor.
var link = regexp.MustCompile(`\]\(([^)#\s]+)`)

var (
	// anchored is a link of Markdown to a heading; the page is empty where it is the own one.
	anchored = regexp.MustCompile(`\]\(([^)#\s]*)#([^)\s]+)\)`)
	// heading is a heading of Markdown.
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// unanchored is what of a heading does not come into its anchor.
	unanchored = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the anchors of the headings of a page, as Git servers show it. Of headings that are the same only the first has one.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, each := range heading.FindAllStringSubmatch(page, -1) {
		found[strings.ReplaceAll(unanchored.ReplaceAllString(strings.ToLower(each[1]), ""), " ", "-")] = true
	}
	return found
}

func TestLinksLeadToHeadings(t *testing.T) {
	pages := map[string]string{}
	texts(t, func(file, content string) {
		if path.Ext(file) == ".md" {
			pages[file] = content
		}
	})
	checked := 0
	for file, content := range pages {
		for _, found := range anchored.FindAllStringSubmatch(content, -1) {
			to := file
			if found[1] != "" {
				to = path.Join(path.Dir(file), found[1])
			}
			if page, ok := pages[to]; ok {
				checked++
				assert.True(t, anchors(page)[found[2]], "%s links to #%s of %s, which has no such heading", file, found[2], to)
			}
		}
	}
	assert.Greater(t, checked, 50)
}

// published is a repository of the project in a registry.
var published = regexp.MustCompile(`ghcr\.io/flux-landscaper/([a-z0-9/-]+)`)

// TestPagesNameWhatAReleasePublishes keeps references in pages at what cmd/release and make components push below a registry.
func TestPagesNameWhatAReleasePublishes(t *testing.T) {
	named := 0
	texts(t, func(file, content string) {
		if path.Ext(file) != ".md" {
			return
		}
		for _, found := range published.FindAllStringSubmatch(content, -1) {
			named++
			if strings.HasPrefix(found[1], "charts/") {
				assert.FileExists(t, path.Join("../..", found[1], "Chart.yaml"), "%s names %s, which no release pushes", file, found[0])
				continue
			}
			assert.Contains(t, []string{"landscaper", "manifests", "components"}, found[1], "%s names %s, which no release pushes", file, found[0])
		}
	})
	assert.Greater(t, named, 5)
}

func TestLinksLeadSomewhere(t *testing.T) {
	module := loaded(t)
	texts(t, func(file, content string) {
		if path.Ext(file) != ".md" {
			return
		}
		for _, found := range link.FindAllStringSubmatch(content, -1) {
			if !strings.Contains(found[1], "://") {
				to := path.Join(path.Dir(file), found[1])
				assert.True(t, exists(module.Path(to)), "%s links to %s, which does not exist", file, to)
			}
		}
	})
}
