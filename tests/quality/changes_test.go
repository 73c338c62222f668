// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// inBackticks is a word in backticks.
	inBackticks = regexp.MustCompile("`([^`]+)`")
	// placeOf is a folder, and the files of it that stand in parentheses behind it.
	placeOf = regexp.MustCompile("^`([^`]+)`(?: \\((.+)\\))?$")
)

func TestChangesGoToRoomsThatExist(t *testing.T) {
	module := loaded(t)
	page, err := os.ReadFile(module.Path("docs/architecture.md"))
	require.NoError(t, err)
	_, chapter, found := strings.Cut(string(page), "\n## A change goes to\n")
	require.True(t, found)
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|([^|]*)\|$`).FindAllStringSubmatch(chapter, -1)
	require.Greater(t, len(rows), 12)
	for _, row := range rows[1:] {
		if place := placeOf.FindStringSubmatch(row[2]); place != nil {
			assert.True(t, exists(module.Path(place[1])), "%s: there is no %s", row[1], place[1])
			for _, file := range inBackticks.FindAllStringSubmatch(place[2], -1) {
				assert.True(t, exists(module.Path(path.Join(place[1], file[1]))), "%s: there is no %s in %s", row[1], file[1], place[1])
			}
		}
		for _, named := range inBackticks.FindAllStringSubmatch(row[3], -1) {
			if strings.Contains(named[1], "/") {
				assert.True(t, exists(module.Path(named[1])), "%s: there is no %s", row[1], named[1])
			}
		}
	}
}

func TestArchitectureNamesFilesThatExist(t *testing.T) {
	module := loaded(t)
	page, err := os.ReadFile(module.Path("docs/architecture.md"))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(strings.Fields(string(page))), 2500, "words")
	_, way, found := strings.Cut(string(page), "\n## The way of an Installation\n")
	require.True(t, found)
	way, _, _ = strings.Cut(way, "\n## ")
	named := 0
	for _, word := range inBackticks.FindAllStringSubmatch(way, -1) {
		if strings.HasSuffix(word[1], ".go") && strings.Contains(word[1], "/") {
			named++
			assert.True(t, exists(module.Path(word[1])), "there is no %s", word[1])
		}
	}
	assert.Greater(t, named, 12)
}
