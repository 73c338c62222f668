// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Changes says how trees change, line by line, where no terminal can show them in place.
type Changes struct{ shown map[ID]string }

// Lines returns a line for each object that was not there, or looked otherwise, in the trees of the last call, and for each that is gone.
func (c *Changes) Lines(roots []*Node, now time.Time) []string {
	seen := map[ID]string{}
	var lines []string
	add := func(title, text string) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s  %-28s %s", now.UTC().Format("15:04:05Z"), title, text), " "))
	}
	Walk(roots, func(n *Node) {
		if n.Status == nil {
			return
		}
		first, _, _ := strings.Cut(strings.TrimSpace(n.Status.Text()), "\n")
		text := fmt.Sprintf("%-12s %-24s %s", n.Status.Word(), Short(cmp.Or(n.Status.Revision, n.Detail)), first)
		if flags := n.Status.Flags(); flags != "" {
			text += " (" + flags + ")"
		}
		if before, known := c.shown[n.ID]; !known || before != text {
			add(n.Title, text)
		}
		seen[n.ID] = text
	})
	gone := slices.SortedFunc(maps.Keys(c.shown), func(a, b ID) int { return strings.Compare(a.String(), b.String()) })
	for _, id := range gone {
		if _, still := seen[id]; !still {
			add(id.String(), "Gone")
		}
	}
	c.shown = seen
	return lines
}
