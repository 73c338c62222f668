// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

func TestE08ANewRevisionIsNotForgotten(t *testing.T) {
	state := func(kind, revision, content string) v1alpha1.SourceStatus {
		return v1alpha1.SourceStatus{Kind: kind, Namespace: "n", Name: "s", Revision: revision, ContentDigest: content}
	}
	used := []v1alpha1.SourceStatus{state("GitRepository", "main@1", "abc")}
	now := func(revision, content string) *resolvedSource {
		return &resolvedSource{status: state("GitRepository", revision, content)}
	}
	gone := &fault.Error{Class: fetch.ErrDigest}
	for name, c := range map[string]struct {
		current *resolvedSource
		err     error
		starts  bool
		again   bool
	}{
		"the same revision":                      {current: now("main@1", "abc")},
		"the same revision, not readable":        {current: now("main@1", ""), err: io.ErrUnexpectedEOF},
		"a new revision with the same content":   {current: now("main@2", "abc")},
		"a new revision with other content":      {current: now("main@2", "def"), starts: true},
		"a new revision that cannot be fetched":  {current: now("main@2", ""), err: io.ErrUnexpectedEOF, again: true},
		"a new revision that is refused":         {current: now("main@2", ""), err: gone, starts: true},
		"a new revision without the path":        {current: now("main@2", ""), err: protocol.Stall("o", "BlueprintNotFound", "x"), starts: true},
		"a source that is not ready":             {err: &flux.Error{Reason: flux.NotReady, Waiting: true}},
		"a source that is not there":             {err: &flux.Error{Reason: flux.NotFound, Waiting: true}},
		"a kind that the cluster does not serve": {err: &flux.Error{Reason: flux.NotInstalled}, again: true},
		"a reference that the policy forbids":    {err: &flux.Error{Reason: flux.AccessDenied}},
		"an incomplete Context":                  {err: incompleteContext(t)},
		"an API server that does not answer":     {err: io.EOF, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			reason, err := judgeSource(used, c.current, c.err)
			assert.Equal(t, c.starts, reason != "")
			assert.Equal(t, c.again, errors.As(err, new(UnreadSource)))
			assert.Equal(t, c.again, err != nil)
		})
	}
}
