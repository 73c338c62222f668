// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// The agents of the two commits before work with the controller of this one, and are replaced by that of this commit, and back, as a commit in the repository
// of the fence does it: nothing is done twice, and the Environment is the same.
func TestAFormerAgentIsServedAndReplaced(t *testing.T) {
	for _, back := range []int{1, 2} {
		t.Run(strconv.Itoa(back)+" back", func(t *testing.T) { requireServedAndReplaced(t, back) })
	}
}

func requireServedAndReplaced(t *testing.T, back int) {
	t.Helper()
	s := newScene(t, "former-"+strconv.Itoa(back))
	previous, err := binaries.CheckOutPrevious(s.ctx, back)
	if errors.Is(err, binaries.ErrNoPrevious) {
		t.Skipf("there is no former agent: %v", err)
	}
	require.NoError(t, err)
	former, err := previous.Build(s.ctx, "./cmd/landscaper")
	require.NoError(t, err)
	s.startController("--deployer-management")
	args, newest, name := s.agentArgs(), s.binary, "settings-"+s.environment
	run := func(binary string) *member {
		s.binary = binary
		agent := s.start(s.environment+"-agent", s.account, args...)
		agent.awaitReady()
		s.awaitEnvironment(isConnected)
		return agent
	}

	agent := run(former)

	first := s.registered()
	s.managed()
	s.deploy(name, "first")
	s.succeeded(s.home(), name)
	require.Equal(t, []string{"1"}, s.revisions(name))
	for _, next := range []struct{ text, binary string }{{"newest", newest}, {"again", former}} {
		require.NoError(t, agent.Stop(20*time.Second))
		before := s.revisions(name)
		agent = run(next.binary)
		assert.Equal(t, before, s.revisions(name), "another agent deploys nothing anew")
		s.deploy(name, next.text)
		s.succeeded(s.home(), name)
		assert.Equal(t, next.text, s.configMap(name)["text"])
		assert.Len(t, s.revisions(name), len(before)+1)
	}
	last := s.registered()
	assert.Equal(t, first.UID, last.UID)
	assert.Equal(t, first.Generation, last.Generation, "they do not write it in turn")
	assert.Equal(t, []string{v1alpha1.AgentFinalizer, v1alpha1.DeployerManagementFinalizer}, last.Finalizers)
}
