// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package rescue keeps panics in goroutines of our own from ending the process for everybody: what these work on comes from tenants and from servers of
// theirs, and a library may trip over it. Workers of controllers are rescued by controller-runtime; whoever starts a goroutine for one has its panic
// carried to the worker. It promises nothing to others.
package rescue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// maxDescription is the length of what the runtime says of a panic, in bytes.
const maxDescription = 1024

// Survived returns what work returns. A panic of work is told to the PanicHandlers of apimachinery, as those of workers are, and becomes an error in one
// line, which quotes nothing that a user wrote.
func Survived(ctx context.Context, work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			for _, handle := range utilruntime.PanicHandlers {
				handle(ctx, value)
			}
			err = errors.New("it broke off by a panic: " + Describe(value))
		}
	}()
	return work()
}

// Carried is a panic that goes on in another goroutine than the one where it began.
type Carried struct {
	description string
	stack       []byte
}

// Carry returns the panic with a value, for another goroutine to panic with. It has to be called by the deferred function that recovered it.
func Carry(value any) *Carried {
	if err, isError := value.(error); isError {
		if carried := (*Carried)(nil); errors.As(err, &carried) {
			return carried
		}
	}
	return &Carried{Describe(value), debug.Stack()}
}

// Error returns what it is, and the stack where it began.
func (c *Carried) Error() string { return c.description + "\n\n" + string(c.stack) }

// Caught returns what work returns, and a panic of work as an error, for Landed in the goroutine that waits for it.
func Caught(work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = Carry(value)
		}
	}()
	return work()
}

// Landed returns an error as it is. One that Caught made of a panic goes on as a panic.
func Landed(err error) error {
	if carried := (*Carried)(nil); errors.As(err, &carried) {
		panic(carried)
	}
	return err
}

// inPlace stands between what panicked and where.
const inPlace = " in "

// Describe says in one line what panicked, and where. It has to be called while the panic is handled. What the runtime says of a mistake names types and
// numbers; any other value may quote what a user wrote, and only its type is told.
func Describe(value any) string {
	text := fmt.Sprintf("a value of type %T", value)
	if err, isError := value.(error); isError {
		if carried := (*Carried)(nil); errors.As(err, &carried) {
			return carried.description
		}
		if broken := runtime.Error(nil); errors.As(err, &broken) {
			line, _, _ := strings.Cut(broken.Error(), "\n")
			text = strings.ToValidUTF8(line[:min(len(line), maxDescription)], "")
		}
	}
	if place := place(); place != "" {
		text += inPlace + place
	}
	return text
}

// PlaceOf returns the place in a description, or the whole where it names none.
func PlaceOf(description string) string {
	return description[strings.LastIndex(description, inPlace)+1:]
}

// place returns the function and the line that panicked.
func place() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	panicked := false
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			parts := strings.Split(frame.File, "/")
			return fmt.Sprintf("%s (%s:%d)", frame.Function, strings.Join(parts[max(0, len(parts)-2):], "/"), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
	}
	return ""
}
