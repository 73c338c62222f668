// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"sync"

	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/go-logr/logr"
)

// setLogger makes a logger with options that of the process and its libraries.
func setLogger(options logger.Options) {
	logger.SetLogger(lateValues(logger.NewLogger(options)))
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
