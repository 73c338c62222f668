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
