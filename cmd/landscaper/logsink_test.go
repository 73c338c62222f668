// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
)

// counted is a sink that counts how often it gets values.
type counted struct {
	logr.LogSink
	with *int
}

func (c counted) WithValues(values ...any) logr.LogSink {
	*c.with++
	return counted{c.LogSink.WithValues(values...), c.with}
}

// logTo returns a logger with late values, and an eager one, that write to the same lines.
func logTo(lines *[]string, with *int) (late, eager logr.Logger) {
	eager = funcr.New(func(prefix, line string) { *lines = append(*lines, prefix+" "+line) }, funcr.Options{LogCaller: funcr.All})
	return lateValues(logr.New(counted{eager.GetSink(), with})), eager
}

func TestLateValuesSayTheSame(t *testing.T) {
	for name, write := range map[string]func(logr.Logger){
		"plain":  func(l logr.Logger) { l.Info("hello", "a", 1) },
		"error":  func(l logr.Logger) { l.WithValues("a", 1).Error(errors.New("broken"), "hello", "b", 2) },
		"values": func(l logr.Logger) { l.WithValues("a", 1).WithValues("b", 2).Info("hello", "c", 3) },
		"name":   func(l logr.Logger) { l.WithValues("a", 1).WithName("x").WithValues("b", 2).WithName("y").Info("hello") },
		"two branches": func(l logr.Logger) {
			one := l.WithValues("a", 1)
			one.WithValues("b", 2).Info("b")
			one.WithValues("c", 3).Info("c")
			one.Info("a")
		},
		"too detailed": func(l logr.Logger) { l.V(1).WithValues("a", 1).Info("hello") },
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			var with int
			late, eager := logTo(&lines, &with)
			write(late)
			said := lines
			lines = nil
			write(eager)
			assert.Equal(t, withoutCaller(lines), withoutCaller(said))
		})
	}
}

// withoutCaller takes out where a line was written, which differs by the sink in between.
func withoutCaller(lines []string) []string {
	var kept []string
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, "}")
		kept = append(kept, strings.Fields(line)[0]+rest)
	}
	return kept
}

func TestValuesCostNothingBeforeALine(t *testing.T) {
	var lines []string
	var with int
	late, _ := logTo(&lines, &with)
	of := late.WithValues("a", 1).WithValues("b", 2)
	assert.Zero(t, with)
	of.Info("first")
	of.Info("second")
	assert.Equal(t, 1, with)
	assert.Len(t, lines, 2)
}

// TestLinesOfLibrariesAreFew has a library write without a pause.
func TestLinesOfLibrariesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		library := log.New(fewLines(&written), "", 0)
		for i := range 10 * linesAtOnce {
			library.Print(i)
		}
		assert.Equal(t, linesAtOnce, strings.Count(written.String(), "\n"))
		time.Sleep(time.Second)
		library.Print("later")
		assert.Contains(t, written.String(), fmt.Sprintln("later"))
	})
}
