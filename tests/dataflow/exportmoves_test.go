// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestProducerAndConsumerSwap(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]func(*scene){
		"the new producer comes first": {
			func(s *scene) { s.install("two", producer("shared", "new", "")); s.failed("two") },
			func(s *scene) { s.install("one", consumer("shared", "one", "other")) },
		},
		"the new consumer comes first": {
			func(s *scene) { s.install("one", consumer("shared", "one", "other")) },
			func(s *scene) { s.install("two", producer("shared", "new", "")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.install("one", producer("shared", "old", ""))
			s.succeeded("one")
			for _, step := range steps {
				step(s)
			}
			s.AwaitState("one", func(inst *v1alpha1.Installation) bool {
				return inst.Status.Phase == v1alpha1.PhaseSucceeded && inst.Status.IsIdle() && s.exists(s.config("one")) && s.configValue("one") == "new"
			})
			s.succeeded("two")
			s.Delete(s.Installation("one"))
			s.Gone(s.Installation("one"))
			assert.Equal(t, `"new"`, s.value("shared"), "the former producer leaves it alone")
		})
	}
}

// as lets a sub-installation export under another name than its own.
func as(name string, sub object) object {
	sub["exports"] = object{"data": list{object{"name": "out", "dataRef": name}}}
	return sub
}

func TestSubinstallationsSwapWhatTheyExport(t *testing.T) {
	s := newScene(t)
	s.install("root", landscapeOf(as("v", appender("p", "P")), as("d", appender("c", "C", "v"))))
	s.succeeded("root")
	require.Equal(t, `"PC"`, s.value("result"))
	s.install("root", landscapeOf(as("d", appender("p", "P", "v")), as("v", appender("c", "C"))))
	s.succeeded("root")
	assert.Equal(t, `"CP"`, s.value("result"))
	s.RequireJobs(2, "root")
	s.requireOneJobEach("root", "p", "c")
}
