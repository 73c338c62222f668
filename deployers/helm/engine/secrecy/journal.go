// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package secrecy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

const (
	keptLogLines  = 10
	maxLogLine    = 300
	withheldStart = "list: failed to decode release"
)

// Journal keeps the last lines that Helm logged during one operation; they explain errors that Helm itself words as "failed to delete
// release".
type Journal struct {
	mu sync.Mutex
	// Secrets are not shown: hide takes them out of a text. Nil hides nothing.
	secrets []string
	hide    func(string) string
	lines   []string
}

// Withhold notes texts that nothing about the operation may show. Its error may be worded at the same time, when its context ends.
func (j *Journal) Withhold(secrets []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.secrets = slices.Concat(j.secrets, secrets)
	j.hide = hider(j.secrets)
}

// Withheld returns the texts that are not to be shown.
func (j *Journal) Withheld() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.secrets
}

// Log is Helm's log function.
func (j *Journal) Log(format string, args ...any) {
	// This line of Helm prints whole release Secrets.
	if strings.HasPrefix(format, withheldStart) {
		return
	}
	// Before the line is cut: half a secret is not found.
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.hide != nil {
		text = j.hide(text)
	}
	j.lines = append(j.lines, beginning.Of(text, maxLogLine))
	if surplus := len(j.lines) - keptLogLines; surplus > 0 {
		j.lines = append(j.lines[:0], j.lines[surplus:]...)
	}
}

// String returns the kept lines, oldest first.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "; ")
}
