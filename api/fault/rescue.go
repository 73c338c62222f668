// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// Describe says in one line what panicked, and where, as "what in where". It has to be called while the panic is handled. What the runtime says of a mistake
// names types and numbers; any other value may quote what a user wrote, and only its type is told.
func Describe(value any) string {
	text := fmt.Sprintf("a value of type %T", value)
	if err, isError := value.(error); isError {
		if broken := runtime.Error(nil); errors.As(err, &broken) {
			line, _, _ := strings.Cut(broken.Error(), "\n")
			text = strings.ToValidUTF8(line[:min(len(line), maxDescription)], "")
		}
	}
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	panicked := false
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			parts := strings.Split(frame.File, "/")
			return fmt.Sprintf("%s in %s (%s:%d)", text, frame.Function, strings.Join(parts[max(0, len(parts)-2):], "/"), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
	}
	return text
}
