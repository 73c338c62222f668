// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
)

// report is what a child writes to its standard error: what its job does, line by line, and what the runtime says when it ends the process. All of it
// has been read when the end of the process is known.
type report struct {
	mu sync.Mutex
	// job is the number of the job that runs; lines of others are late.
	job  uint64
	step string
	// line is what has come of the line about a step that is being read, without its mark.
	line   []byte
	inLine bool
	// complaint is the beginning of everything else.
	complaint bytes.Buffer
}

const (
	// stepMark begins a line about a step.
	stepMark = 1
	// maxStep is how long the name of a step may be, and maxStepLine the line about it.
	maxStep     = 512
	maxStepLine = maxStep + 32
	// maxComplaint is how much of everything else is kept.
	maxComplaint = 4 << 10
)

// stepLine returns the line that says what the job of a number does.
func stepLine(job uint64, step string) string {
	step = strings.ToValidUTF8(step[:min(len(step), maxStep)], "")
	return string([]byte{stepMark}) + strconv.FormatUint(job, 10) + " " + strings.NewReplacer("\n", " ", string([]byte{stepMark}), " ").Replace(step) + "\n"
}

// Write takes in what the child has written. It never fails.
func (r *report) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range b {
		switch {
		case c == stepMark:
			r.line, r.inLine = r.line[:0], true
		case !r.inLine && r.complaint.Len() < maxComplaint:
			r.complaint.WriteByte(c)
		case r.inLine && c == '\n':
			r.note()
			r.inLine = false
		case r.inLine && len(r.line) < maxStepLine:
			r.line = append(r.line, c)
		}
	}
	return len(b), nil
}

// note notes the step of a line, unless that is about another job.
func (r *report) note() {
	number, step, _ := strings.Cut(string(r.line), " ")
	if number == strconv.FormatUint(r.job, 10) {
		r.step = strings.ToValidUTF8(step[:min(len(step), maxStep)], "")
	}
}

// begin forgets what was about other jobs than that of a number.
func (r *report) begin(job uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.job, r.step = job, ""
	r.complaint.Reset()
}

// at is what the job did last.
func (r *report) at() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.step
}

func (r *report) contains(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.complaint.String(), text)
}

func (r *report) begins(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.HasPrefix(r.complaint.String(), text)
}

// first is the first line of a complaint.
func (r *report) first() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, _, _ := strings.Cut(r.complaint.String(), "\n")
	return line
}
