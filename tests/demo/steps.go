// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// steps shows what is done before the landscape can be watched: on a terminal a line per step that is being worked on, which stays when
// the step has ended; else lines as things happen.
type steps struct {
	screen *landscape.Screen

	mu     sync.Mutex
	active []*step
	done   chan struct{}
}

// A step is one thing to do. As an io.Writer it takes progress in plain lines.
type step struct {
	steps   *steps
	title   string
	detail  string
	started time.Time
	partial bytes.Buffer
}

const (
	frameInterval = 120 * time.Millisecond
	plainInterval = 15 * time.Second
)

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// newSteps returns steps that repeat themselves until end is called.
func newSteps(screen *landscape.Screen) *steps {
	s := &steps{screen: screen, done: make(chan struct{})}
	go s.animate()
	return s
}

// end stops the animation.
func (s *steps) end() {
	close(s.done)
	s.screen.Show(nil)
}

func (s *steps) animate() {
	interval := plainInterval
	if s.screen.Live {
		interval = frameInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			s.refresh()
		}
	}
}

// refresh shows the active steps.
func (s *steps) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.screen.Live {
		s.screen.Show(s.lines())
		return
	}
	for _, active := range s.active {
		s.screen.Sayf("still at work: %s, %s", active.title, took(time.Since(active.started)))
	}
}

func (s *steps) lines() []string {
	lines := make([]string, 0, len(s.active))
	for _, active := range s.active {
		line := fmt.Sprintf("%s %-*s %7s", spinner(s.screen.Paint), titleWidth, active.title, took(time.Since(active.started)))
		lines = append(lines, line+"  "+s.screen.Paint.Dim(active.detail))
	}
	return lines
}

const titleWidth = 44

// spinner shows that something is going on.
func spinner(paint landscape.Palette) string {
	return paint.Yellow(string(frame(time.Now())))
}

// frame is what a spinner shows at a time.
func frame(now time.Time) rune {
	return frames[now.UnixMilli()/frameInterval.Milliseconds()%int64(len(frames))]
}

// do works on one step and tells how it ended.
func (s *steps) do(title string, work func(progress io.Writer) error) error {
	current := s.begin(title)
	err := work(current)
	s.finish(current, err)
	return err
}

func (s *steps) begin(title string) *step {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := &step{steps: s, title: title, started: time.Now()}
	s.active = append(s.active, begun)
	return begun
}

func (s *steps) finish(ended *step, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, active := range s.active {
		if active == ended {
			s.active = append(s.active[:i], s.active[i+1:]...)
			break
		}
	}
	mark := s.screen.Paint.Green("✓")
	if err != nil {
		mark = s.screen.Paint.Red("✗")
	}
	s.screen.Show(s.lines())
	s.screen.Sayf("%s %-*s %7s", mark, titleWidth, ended.title, took(time.Since(ended.started)))
}

// Write takes lines of progress; the latest is shown beside the title.
func (s *step) Write(p []byte) (int, error) {
	s.steps.mu.Lock()
	defer s.steps.mu.Unlock()
	s.partial.Write(p)
	for {
		line, err := s.partial.ReadString('\n')
		if err != nil {
			s.partial.WriteString(line)
			return len(p), nil
		}
		s.detail = strings.TrimPrefix(strings.TrimSpace(line), "platform: ")
		if !s.steps.screen.Live {
			s.steps.screen.Say("  " + s.detail)
		}
	}
}

// took formats a duration for a person: 0.4s, 12.3s, 3m12s.
func took(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
