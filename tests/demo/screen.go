// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/term"
)

// A screen shows lines that stay and, on a terminal, a block below them that changes in place.
type screen struct {
	// live reports whether the output is a terminal that can change a block in place.
	live bool

	mu     sync.Mutex
	out    io.Writer
	size   func() (width, height int, err error)
	paint  palette
	block  []string
	height int // lines of the block that are on the terminal
}

// newScreen makes a screen on a file. What is no terminal, and the terminal "dumb", gets plain lines.
func newScreen(file *os.File) *screen {
	descriptor := int(file.Fd())
	live := term.IsTerminal(descriptor) && os.Getenv("TERM") != "dumb"
	return &screen{
		live: live, out: file, paint: palette(live && os.Getenv("NO_COLOR") == ""),
		size: func() (int, int, error) { return term.GetSize(descriptor) },
	}
}

// say prints lines that stay, above the block.
func (s *screen) say(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repaint(lines)
}

// sayf prints one formatted line that stays.
func (s *screen) sayf(format string, args ...any) { s.say(fmt.Sprintf(format, args...)) }

// show replaces the block; without a terminal it does nothing.
func (s *screen) show(block []string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(block, s.block) {
		return
	}
	s.block = block
	s.repaint(nil)
}

const (
	upLines   = "\x1b[%dA"
	clearDown = "\r\x1b[J"
	wrapOff   = "\x1b[?7l" // the terminal cuts long lines, so a line of the block is always one row
	wrapOn    = "\x1b[?7h"
)

// repaint writes everything in one go, so that nothing flickers.
func (s *screen) repaint(lines []string) {
	var out bytes.Buffer
	if s.height > 0 {
		fmt.Fprintf(&out, upLines, s.height)
	}
	if s.live {
		out.WriteString(clearDown)
	}
	writeLines(&out, lines)
	block := s.fitting()
	if len(block) > 0 {
		out.WriteString(wrapOff)
		writeLines(&out, block)
		out.WriteString(wrapOn)
	}
	s.height = len(block)
	_, _ = s.out.Write(out.Bytes())
}

func writeLines(out *bytes.Buffer, lines []string) {
	for _, line := range lines {
		out.WriteString(line + "\n")
	}
}

// fitting is the part of the block that the terminal can hold: lines that have scrolled out cannot be changed any more.
func (s *screen) fitting() []string {
	_, height, err := s.size()
	if err != nil || height < 2 || len(s.block) < height {
		return s.block
	}
	cut := append([]string{}, s.block[:height-2]...)
	return append(cut, s.paint.dim(fmt.Sprintf("… %d more lines, enlarge the terminal to see them", len(s.block)-len(cut))))
}

// A palette colours text, or does not.
type palette bool

func (p palette) in(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p palette) green(text string) string  { return p.in("32", text) }
func (p palette) yellow(text string) string { return p.in("33", text) }
func (p palette) red(text string) string    { return p.in("31", text) }
func (p palette) dim(text string) string    { return p.in("2", text) }
func (p palette) bold(text string) string   { return p.in("1", text) }
