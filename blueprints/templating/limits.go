// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// Limits of one execution, so that honest mistakes get a message with a place. What a hostile template may use is limited by whoever runs it:
// time, memory and stack are those of its process.
const (
	// maxOutput is how large the output may be.
	maxOutput = 4 << 20
	// maxIncludes is how deep includes may call each other.
	maxIncludes = 100
	// maxFile is how large the template and each file that it reads may be.
	maxFile = 1 << 20
)

var errOutput = fmt.Errorf("its output is larger than %d bytes; make less in one template", maxOutput)

func checkSource(source string) error {
	if len(source) > maxFile {
		return fmt.Errorf("the template is larger than %d bytes; split it", maxFile)
	}
	return nil
}

// guarded turns a panic of an engine into an error that names the place and leaves out what was thrown, because it may contain data.
func guarded(f func() (Output, error)) (out Output, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine panicked (%T) at %s", r, firstFrame(debug.Stack()))
		}
	}()
	return f()
}

// firstFrame finds the function that panicked in a stack trace.
func firstFrame(stack []byte) string {
	_, rest, found := strings.Cut(string(stack), "\npanic(")
	if !found {
		return runtime.Version()
	}
	for _, line := range strings.Split(rest, "\n")[2:] {
		name, _, _ := strings.Cut(line, "(")
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(name, "runtime") && !strings.HasPrefix(name, "panic") {
			return path.Base(name)
		}
	}
	return runtime.Version()
}

// errIncludes is the end of includes that call each other.
var errIncludes = errors.New("files include each other too deep; look for one that includes itself")
