// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

const (
	keptLogLines  = 10
	maxLogLine    = 300
	withheldStart = "list: failed to decode release"
)

// journal keeps the last lines that Helm logged during one operation; they explain errors that Helm itself words as "failed to delete
// release".
type journal struct {
	// secrets are not shown: hide takes them out of a text. Nil hides nothing.
	secrets []string
	hide    func(string) string

	mu    sync.Mutex
	lines []string
}

// log is Helm's log function.
func (j *journal) log(format string, args ...any) {
	// This line of Helm prints whole release Secrets.
	if strings.HasPrefix(format, withheldStart) {
		return
	}
	// Before the line is cut: half a secret is not found.
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if j.hide != nil {
		text = j.hide(text)
	}
	line := beginning.Of(text, maxLogLine)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	if surplus := len(j.lines) - keptLogLines; surplus > 0 {
		j.lines = append(j.lines[:0], j.lines[surplus:]...)
	}
}

// String returns the kept lines, oldest first.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "; ")
}
