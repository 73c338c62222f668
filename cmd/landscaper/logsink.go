// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"os"
	"slices"
	"sync"

	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// setLogger makes a logger with options that of the process and its libraries.
func setLogger(options logger.Options) {
	logger.SetLogger(lateValues(logger.NewLogger(options)))
	log.SetOutput(fewLines(os.Stderr))
}

// Package log may write so many lines in a second, and at once.
const linesPerSecond, linesAtOnce = 10, 100

// fewLines returns a writer for package log, of which libraries choose when they write: that of HTTP/2 writes a line for each nine bytes that a server sends
// it as a frame of no known kind. What is more than a few lines a second is dropped.
func fewLines(to io.Writer) io.Writer {
	return &limitedLines{to: to, lines: rate.NewLimiter(linesPerSecond, linesAtOnce)}
}

type limitedLines struct {
	to    io.Writer
	lines *rate.Limiter
}

// Write writes a line, or drops it.
func (l *limitedLines) Write(line []byte) (int, error) {
	if !l.lines.Allow() {
		return len(line), nil
	}
	return l.to.Write(line)
}

// lateValues returns a logger that encodes values when it writes its first line with them. Each reconciliation has a logger with values of its own,
// and most write nothing.
func lateValues(eager logr.Logger) logr.Logger {
	sink := eager.GetSink()
	if deep, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deep.WithCallDepth(1) // the methods of lateSink
	}
	return logr.New(&lateSink{base: sink})
}

// lateSink is a LogSink whose values another one gets when it is needed.
type lateSink struct {
	base   logr.LogSink
	values []any

	once sync.Once
	full logr.LogSink
}

// Init does nothing: base has been set up.
func (*lateSink) Init(logr.RuntimeInfo) {}

func (s *lateSink) sink() logr.LogSink {
	s.once.Do(func() {
		s.full = s.base
		if len(s.values) > 0 {
			s.full = s.base.WithValues(s.values...)
		}
	})
	return s.full
}

// Enabled reports whether lines of a level are written.
func (s *lateSink) Enabled(level int) bool { return s.base.Enabled(level) }

// Info writes a line.
func (s *lateSink) Info(level int, message string, values ...any) {
	s.sink().Info(level, message, values...)
}

// Error writes a line about an error.
func (s *lateSink) Error(err error, message string, values ...any) {
	s.sink().Error(err, message, values...)
}

// WithValues returns a sink with more values.
func (s *lateSink) WithValues(values ...any) logr.LogSink {
	return &lateSink{base: s.base, values: append(slices.Clip(s.values), values...)}
}

// WithName returns a sink with a longer name.
func (s *lateSink) WithName(name string) logr.LogSink {
	return &lateSink{base: s.sink().WithName(name)}
}

// WithCallDepth returns a sink that names a caller further up.
func (s *lateSink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.sink().(logr.CallDepthLogSink); ok {
		return &lateSink{base: deep.WithCallDepth(depth)}
	}
	return s
}
