// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// What an agent that has nothing to do may need. What it has mapped of its program's file is the kernel's to take away.
const (
	idleMemory = 40 << 20
	idleWindow = 20 * time.Second
	idlePace   = 10 * time.Second
)

func TestIdleAgentIsSmallAndQuiet(t *testing.T) {
	s := newScene(t, "idle")
	s.memory = memoryGroup(t)
	agent := s.startAgent()
	ours := func(since time.Time) int {
		count := 0
		for _, cluster := range []*platform.Cluster{s.Cluster, s.fence.Cluster} {
			requests, err := cluster.Requests(s.ctx, since)
			require.NoError(t, err)
			for _, request := range requests {
				if strings.HasPrefix(request.User, "system:serviceaccount:") && strings.HasSuffix(request.User, ":"+s.account) {
					count++
				}
			}
		}
		return count
	}
	require.Eventually(t, func() bool { return ours(time.Now().Add(-2*time.Second)) == 0 }, patience, time.Second)
	began := time.Now()
	require.Never(t, func() bool { return !agent.Running() }, idleWindow, time.Second)
	sent := ours(began)
	resident, own := agent.Memory()
	t.Logf("an idle agent has sent %d requests in %s and has %d MiB beside %d MiB of its program's file", sent, idleWindow, own>>20, (resident-own)>>20)
	assert.LessOrEqual(t, sent, int(idleWindow/idlePace))
	assert.LessOrEqual(t, own, programs.Sanitized(idleMemory))
	if s.memory == nil {
		return
	}
	set, err := s.memory.WorkingSet()
	require.NoError(t, err)
	t.Logf("its working set, as the kubelet counts it, is %d MiB", set>>20)
	assert.LessOrEqual(t, set, programs.Sanitized(idleMemory))
}

// memoryGroup returns a control group that is removed after the processes of the test, or nil where there can be none.
func memoryGroup(t *testing.T) *programs.MemoryGroup {
	t.Helper()
	group, err := programs.NewMemoryGroup(fmt.Sprintf("agent-%d", os.Getpid()))
	if err != nil {
		t.Logf("the working set is not measured: %v", err)
		return nil
	}
	t.Cleanup(func() {
		assert.Eventually(t, func() bool { return group.Close() == nil }, patience, 10*time.Millisecond, "the control group is not empty")
	})
	return group
}
