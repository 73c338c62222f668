// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/term"
)

// A Screen shows lines that stay and, on a terminal, a block below them that changes in place.
type Screen struct {
	// Live reports whether the output is a terminal that can change a block in place.
	Live bool
	// Paint colours text where the output is a terminal and $NO_COLOR is not set.
	Paint Palette

	mu     sync.Mutex
	out    io.Writer
	size   func() (width, height int, err error)
	block  []string
	height int // lines of the block that are on the terminal
}

// NewScreen makes a screen on a file. What is no terminal, and the terminal "dumb", gets plain lines.
func NewScreen(file *os.File) *Screen {
	descriptor := int(file.Fd())
	live := term.IsTerminal(descriptor) && os.Getenv("TERM") != "dumb"
	return &Screen{
		Live: live, Paint: Palette(live && os.Getenv("NO_COLOR") == ""), out: file,
		size: func() (int, int, error) { return term.GetSize(descriptor) },
	}
}

// Width is how many characters fit into a line: $COLUMNS, or what the terminal says; 0 is any number.
func (s *Screen) Width() int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	width, _, err := s.size()
	if err != nil {
		return 0
	}
	return width
}

// Say prints lines that stay, above the block.
func (s *Screen) Say(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repaint(lines)
}

// Sayf prints one formatted line that stays.
func (s *Screen) Sayf(format string, args ...any) { s.Say(fmt.Sprintf(format, args...)) }

// Show replaces the block; without a terminal it does nothing.
func (s *Screen) Show(block []string) {
	if !s.Live {
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
func (s *Screen) repaint(lines []string) {
	var out bytes.Buffer
	if s.height > 0 {
		fmt.Fprintf(&out, upLines, s.height)
	}
	if s.Live {
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
func (s *Screen) fitting() []string {
	_, height, err := s.size()
	if err != nil || height < 2 || len(s.block) < height {
		return s.block
	}
	cut := append([]string{}, s.block[:height-2]...)
	return append(cut, s.Paint.Dim(fmt.Sprintf("… %d more lines, enlarge the terminal to see them", len(s.block)-len(cut))))
}

// A Palette colours text, or does not.
type Palette bool

func (p Palette) in(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Green is for what is well.
func (p Palette) Green(text string) string { return p.in("32", text) }

// Yellow is for what goes on.
func (p Palette) Yellow(text string) string { return p.in("33", text) }

// Red is for what has failed.
func (p Palette) Red(text string) string { return p.in("31", text) }

// Dim is for what matters less.
func (p Palette) Dim(text string) string { return p.in("2", text) }

// Bold is for what a person looks for first.
func (p Palette) Bold(text string) string { return p.in("1", text) }
