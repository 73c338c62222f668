// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

var (
	errAbsent = fault.Class(fault.Stalled, "not found")
	errGone   = fault.Class(fault.Waiting, "gone")
)

func TestErrorsJoinClassAndCause(t *testing.T) {
	err := error(&fault.Error{Class: errAbsent, Cause: context.DeadlineExceeded, Subject: "chart x", Problem: "it is not there", Cure: "publish it"})
	assert.ErrorIs(t, err, errAbsent)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.EqualError(t, err, "chart x: it is not there; publish it")
}

func TestKindOf(t *testing.T) {
	plain := errors.New("connection reset")
	for name, tc := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"none":                      {nil, fault.Retry},
		"of another package":        {plain, fault.Retry},
		"without class":             {&fault.Error{Kind: fault.Stalled}, fault.Stalled},
		"to be tried again":         {&fault.Error{}, fault.Retry},
		"a class":                   {fmt.Errorf("x: %w", errGone), fault.Waiting},
		"of a class":                {&fault.Error{Class: errAbsent}, fault.Stalled},
		"of a class without kind":   {&fault.Error{Class: plain, Kind: fault.Waiting}, fault.Waiting},
		"marked":                    {fault.Of(fault.Stalled, plain), fault.Stalled},
		"the outermost counts":      {fault.Of(fault.Stalled, &fault.Error{Class: errGone}), fault.Stalled},
		"one of several":            {errors.Join(plain, errGone), fault.Waiting},
		"ended with its context":    {fault.Of(fault.Stalled, context.Canceled), fault.Retry},
		"took longer than it might": {&fault.Error{Class: errAbsent, Cause: context.DeadlineExceeded}, fault.Retry},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, fault.KindOf(tc.err)) })
	}
}

func TestBareErrorsNameNeitherURLNorPath(t *testing.T) {
	plain := errors.New("no such thing")
	assert.Equal(t, plain, fault.WithoutURL(fault.WithoutPath(plain)))
	assert.Equal(t, plain, fault.WithoutURL(fmt.Errorf("x: %w", &url.Error{Op: "Get", URL: "https://user:secret@host", Err: plain})))
	assert.Equal(t, plain, fault.WithoutPath(&fs.PathError{Op: "open", Path: "/machine", Err: plain}))
	assert.NoError(t, fault.WithoutURL(fault.WithoutPath(nil)))
}
